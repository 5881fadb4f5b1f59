//! How a traffic's queue pairs work: validates the keys of `rdma`, and fills in those that its recovery has.

use super::document::{
    Bdp, Buffer, Cap, CpuTime, Document, LogNormal, PerPort, Policy, Pool, Rdma, RdmaRestart, Recovery, Timeout,
};
use super::one::One;
use fanin_fabric as fabric;
use fanin_fabric::{EndpointConfig, Rules};
use fanin_units::{Bytes, Time};

impl One<'_, '_> {
    /// The endpoint, or `None` after adding a problem.
    pub fn rdma(&mut self, rdma: &mut Rdma, packet: u64) -> Option<EndpointConfig> {
        let before = self.checker.problems.len();
        self.keys_of_other_recoveries(rdma);
        let selective = matches!(rdma.recovery, Recovery::SelectiveRepeat | Recovery::Irn | Recovery::Unordered);
        // IRN: RTO_high. 4 ms is the value of common NICs; the HPCC simulator has no timeout.
        let usual = if selective { Time::from_us(320) } else { Time::from_ms(4) };
        let timeout = match *rdma.timeout.get_or_insert(Timeout::After(usual)) {
            Timeout::Off(_) => Time::NEVER,
            Timeout::After(time) => time,
        };
        self.bound::<Rdma>("rdma.timeout", rdma.timeout);
        if !self.bound::<Rdma>("rdma.ack_chunk", rdma.ack_chunk) {
            return None;
        }
        // HPCC 4.2 names no size: with two packets a flow that waits for one of another makes up for it.
        let credit = *rdma.pacing_credit.get_or_insert(Bytes(2 * packet));
        if !self.bound::<Rdma>("rdma.pacing_credit", credit) {
            return None;
        }
        // As in the HPCC simulator.
        let nack_interval = match rdma.recovery {
            Recovery::GoBackN => *rdma.nack_interval.get_or_insert(Time::from_us(500)),
            _ => Time::ZERO,
        };
        let (recovery, first_timeout) = match rdma.recovery {
            Recovery::GoBackN => (fabric::Recovery::GoBackN, timeout),
            Recovery::GoBack0 => (fabric::Recovery::GoBack0, timeout),
            Recovery::SelectiveRepeat => {
                (fabric::Recovery::Selective(self.selective(rdma, fabric::Cap::Off, timeout)), timeout)
            }
            Recovery::Unordered => {
                let tell_scheme = *rdma.loss_reaction.get_or_insert(true);
                let (cap, nacks) = (fabric::Cap::Off, Rules::UNORDERED);
                let rules = Rules { cap, timeout_high: timeout, low_up_to: 0, nacks, tell_scheme };
                (fabric::Recovery::Selective(rules), timeout)
            }
            Recovery::Irn => {
                let cap = self.cap(rdma, packet);
                let low = self.timeout_low(rdma, timeout);
                (fabric::Recovery::Selective(self.selective(rdma, cap, timeout)), low)
            }
        };
        let connection = rdma.persistent;
        if connection && rdma.recovery == Recovery::Unordered && rdma.ack_chunk.get() > 0 {
            let problem = "with recovery = \"unordered\" an ACK for several packets counts packets of equal size, \
                           which several messages on a queue pair are not";
            self.fail("rdma.ack_chunk", problem, "leave it out, or leave out persistent = true");
        }
        let anew = rdma.restart == RdmaRestart::Request;
        if anew && !connection {
            let problem = "each message has a queue pair of its own and starts anew";
            self.fail("rdma.restart", problem, "write persistent = true");
        }
        if self.bound::<Rdma>("rdma.retries", rdma.retries) && rdma.retries.is_some() && timeout == Time::NEVER {
            self.fail("rdma.retries", "timeout = \"off\"", "leave it out, or give timeout a time");
        }
        let retries = rdma.retries.unwrap_or(u32::MAX);
        let timeout = first_timeout;
        let cpu_time = rdma.cpu_time.map_or(fabric::CpuTime::Zero, |time| self.cpu_time(time));
        let endpoint = EndpointConfig {
            timeout,
            nack_interval,
            ack_chunk: rdma.ack_chunk.get() as u32,
            connection,
            anew,
            pacing_credit: credit.get() as u32,
            recovery,
            cpu_time,
            retries,
        };
        (self.checker.problems.len() == before).then_some(endpoint)
    }

    /// CPU time of the receiving hosts.
    fn cpu_time(&mut self, time: CpuTime) -> fabric::CpuTime {
        match time {
            CpuTime::Constant(Time::ZERO) | CpuTime::Uniform([_, Time::ZERO]) => fabric::CpuTime::Zero,
            CpuTime::Constant(time) => fabric::CpuTime::Constant(time),
            CpuTime::Uniform([from, to]) => {
                if from > to {
                    let problem = format!("{from} is above {to}");
                    self.fail("rdma.cpu_time", problem, "the shorter time comes first");
                }
                fabric::CpuTime::Uniform(from, to)
            }
            CpuTime::LogNormal(log_normal) => {
                let LogNormal { median, p999 } = log_normal;
                if self.bounds("rdma.cpu_time", &log_normal) && median > p999 {
                    let problem = format!("{p999} is below the median of {median}");
                    self.fail("rdma.cpu_time.p999", problem, "it is at least the median");
                }
                fabric::CpuTime::LogNormal { median, p999 }
            }
        }
    }

    /// Keys that the traffic's recovery does not have.
    fn keys_of_other_recoveries(&mut self, rdma: &Rdma) {
        use Recovery::{GoBackN, Irn, SelectiveRepeat, Unordered};
        let keys: [(&str, bool, &[Recovery]); 6] = [
            ("nack_interval", rdma.nack_interval.is_some(), &[GoBackN]),
            ("cap", rdma.cap.is_some(), &[Irn]),
            ("timeout_low", rdma.timeout_low.is_some(), &[Irn]),
            ("timeout_low_packets", rdma.timeout_low_packets.is_some(), &[Irn]),
            ("nack_threshold", rdma.nack_threshold.is_some(), &[SelectiveRepeat, Irn]),
            ("loss_reaction", rdma.loss_reaction.is_some(), &[SelectiveRepeat, Irn, Unordered]),
        ];
        for (key, given, of) in keys {
            if given && !of.contains(&rdma.recovery) {
                let names: Vec<String> = of.iter().map(|recovery| format!("\"{}\"", name(*recovery))).collect();
                let problem = format!("recovery = \"{}\" has no such rule", name(rdma.recovery));
                let right = format!("leave it out, or write recovery = {}", names.join(" or "));
                self.fail(&format!("rdma.{key}"), problem, right);
            }
        }
    }

    /// The rules that IRN and selective repeat share.
    fn selective(&mut self, rdma: &mut Rdma, cap: fabric::Cap, timeout_high: Time) -> Rules {
        let nacks = *rdma.nack_threshold.get_or_insert(1);
        self.bound::<Rdma>("rdma.nack_threshold", nacks);
        let tell_scheme = *rdma.loss_reaction.get_or_insert(false);
        Rules { cap, timeout_high, low_up_to: rdma.timeout_low_packets.unwrap_or(0), nacks, tell_scheme }
    }

    /// The limit to packets in flight. `packet`: bytes on the wire of a full one.
    fn cap(&mut self, rdma: &mut Rdma, packet: u64) -> fabric::Cap {
        let cap = match *rdma.cap.get_or_insert(Cap::Bdp(Bdp::Bdp)) {
            Cap::Bdp(_) => fabric::Cap::Bdp,
            Cap::Bytes(bytes) => fabric::Cap::Bytes(bytes.get()),
            Cap::Packets(number) => fabric::Cap::Packets(number.packets),
        };
        let bytes = match cap {
            fabric::Cap::Bytes(bytes) => Some(bytes),
            fabric::Cap::Packets(packets) => Some(u64::from(packets) * packet),
            fabric::Cap::Bdp | fabric::Cap::Off => None,
        };
        if bytes == Some(0) {
            self.fail("rdma.cap", "nothing could leave", "write \"bdp\", a size, or { packets = 110 }");
        } else if let Some(bytes) = bytes
            && rdma.ack_chunk.get() > bytes
        {
            let problem = format!("an ACK for {} never comes where {bytes} B may be in flight", rdma.ack_chunk);
            self.fail("rdma.ack_chunk", problem, "leave it out, or make it smaller than rdma.cap");
        }
        cap
    }

    /// The short timeout.
    fn timeout_low(&mut self, rdma: &mut Rdma, timeout: Time) -> Time {
        rdma.timeout_low_packets.get_or_insert(3);
        if timeout == Time::NEVER {
            if rdma.timeout_low.is_some() {
                self.fail("rdma.timeout_low", "timeout = \"off\"", "leave it out, or give timeout a time");
            }
            return Time::NEVER;
        }
        let low = *rdma.timeout_low.get_or_insert(Time::from_us(100).min(timeout));
        if self.bound::<Rdma>("rdma.timeout_low", low) && low > timeout {
            let problem = format!("{low} is above timeout = {timeout}");
            self.fail("rdma.timeout_low", problem, "lower it, or raise timeout");
        }
        low
    }
}

/// How a network and its RDMA deal with losses, as HPCC 5.3 compares it, by a name behind that of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPolicy {
    name: &'static str,
    policy: Policy,
    recovery: Recovery,
}

impl LossPolicy {
    const ALL: [Self; 5] = [
        Self { name: "pfc", policy: Policy::Lossless, recovery: Recovery::GoBackN },
        Self { name: "gbn", policy: Policy::Lossy, recovery: Recovery::GoBackN },
        Self { name: "gb0", policy: Policy::Lossy, recovery: Recovery::GoBack0 },
        Self { name: "sr", policy: Policy::Lossy, recovery: Recovery::SelectiveRepeat },
        Self { name: "irn", policy: Policy::Lossy, recovery: Recovery::Irn },
    ];

    /// The one of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name == name)
    }

    /// Gives it to a spec: the policy of its buffers and the recovery of its traffics, whose keys for other recoveries
    /// are left out. The name of the spec says so too, which tells apart the runs of one scheme.
    pub fn apply(self, document: &mut Document) {
        document.name = format!("{}+{}", document.name, self.name);
        match &mut document.network.buffer {
            Buffer::PerPort(PerPort { policy, .. }) | Buffer::Pool(Pool { policy, .. }) => *policy = self.policy,
            Buffer::Credits(_) | Buffer::Unlimited(_) => {}
        }
        for traffic in &mut document.traffic {
            let old = &traffic.rdma;
            let is = |of: &[Recovery]| of.contains(&self.recovery);
            let (back, irn) = (is(&[Recovery::GoBackN]), is(&[Recovery::Irn]));
            let selective = irn || is(&[Recovery::SelectiveRepeat]);
            traffic.rdma = Rdma {
                recovery: self.recovery,
                timeout: old.timeout,
                nack_interval: old.nack_interval.filter(|_| back),
                cap: old.cap.filter(|_| irn),
                timeout_low: old.timeout_low.filter(|_| irn),
                timeout_low_packets: old.timeout_low_packets.filter(|_| irn),
                nack_threshold: old.nack_threshold.filter(|_| selective),
                loss_reaction: old.loss_reaction.filter(|_| selective),
                ..old.clone()
            };
        }
    }
}

/// As a spec has it.
fn name(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::GoBackN => "go-back-n",
        Recovery::GoBack0 => "go-back-0",
        Recovery::SelectiveRepeat => "selective-repeat",
        Recovery::Irn => "irn",
        Recovery::Unordered => "unordered",
    }
}
