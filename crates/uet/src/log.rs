//! Lines of output, and of the event log.
//!
//! Source: what uet-htsim prints; the event log is that of a build of it with print statements.

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Packet, Sending, Type};
use crate::topology::Node;

fn fields(packet: &Packet) -> String {
    let bit = u8::from;
    let p = packet;
    match p.of {
        Type::Data => {
            let kind = match p.sending {
                Sending::Normal => 0,
                Sending::Speculative => 1,
                Sending::Again => 2,
                Sending::Probe => 3,
            };
            format!("DATA psn={} kind={kind} ar={} target={}", p.psn, bit(p.ask), p.pull)
        }
        Type::Rts => format!("RTS psn={} target={}", p.psn, p.pull),
        Type::Ack => format!(
            "ACK cum={} ref={} acked={} bitmap={:x} ecn={} bytes={} ooo={} rtx={} rts={} probe={}",
            p.cumulative,
            p.base,
            p.psn,
            p.bitmap,
            bit(p.marked),
            p.bytes,
            p.ahead,
            bit(p.again),
            bit(p.flag),
            bit(p.sending == Sending::Probe)
        ),
        Type::Nack => format!("NACK psn={} ecn={} lasthop={}", p.psn, bit(p.marked), bit(p.last_hop)),
        Type::Pull => format!("PULL no={} slow={}", p.pull, bit(p.flag)),
    }
}

impl Network<'_> {
    fn link_name(&self, link: u32) -> String {
        let cable = &self.cables[link as usize];
        let b = cable.bundle;
        match (cable.from, cable.to) {
            (Node::Host(h), Node::Tor(t)) => format!("SRC{h}->LS{t}({b})"),
            (Node::Tor(t), Node::Host(h)) => format!("LS{t}->DST{h}({b})"),
            (Node::Tor(t), Node::Aggregation(a)) => format!("LS{t}->US{a}({b})"),
            (Node::Aggregation(a), Node::Tor(t)) => format!("US{a}->LS_{t}({b})"),
            (Node::Aggregation(a), Node::Core(c)) => format!("US{a}->CS{c}({b})"),
            (Node::Core(c), Node::Aggregation(a)) => format!("CS{c}->US{a}({b})"),
            (from, to) => format!("{from:?}->{to:?}({b})"),
        }
    }

    fn switch_name(&self, switch: u32) -> String {
        let (tors, aggregations) = (self.topology.tors(), self.topology.aggregations());
        if switch < tors {
            format!("Switch_LowerPod_{switch}")
        } else if switch < tors + aggregations {
            format!("Switch_UpperPod_{}", switch - tors)
        } else {
            format!("Switch_Core_{}", switch - tors - aggregations)
        }
    }

    fn event_name(&self, event: Event) -> String {
        match event {
            Event::Start(s) | Event::Timeout(s) | Event::Probe(s) => self.senders[s as usize].name.clone(),
            Event::Messages(_) => "uecPdcSes".to_owned(),
            Event::Nic(h) => format!("uecNIC{h}"),
            Event::Pull(h) => format!("uecPull{h}"),
            Event::Share(h) => format!("uecShare{h}"),
            Event::HostQueue(l) | Event::Port(l) => self.link_name(l),
            Event::Pipe(l) => {
                let name = self.link_name(l);
                format!("Pipe-{}", if name.starts_with("US") { name.replace("->LS_", "->LS") } else { name })
            }
            Event::Switch(s) => format!("SW-{}", self.switch_name(s)),
        }
    }

    /// Passes a line to the event log, after the random numbers drawn since the last one.
    #[inline(always)]
    pub(crate) fn log(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.record.is_some() {
            self.log_line(line);
        }
    }

    #[cold]
    fn log_line(&mut self, line: impl FnOnce(&Self) -> String) {
        let line = line(self);
        self.log_draws();
        if let Some(record) = &mut self.record {
            record(&line);
        }
    }

    /// Passes the random numbers drawn since the last line to the event log.
    pub(crate) fn log_draws(&mut self) {
        if let (Some(record), Some(drawn)) = (&mut self.record, &mut self.random.drawn) {
            for number in drawn.drain(..) {
                record(&format!("R {number}"));
            }
        }
    }

    /// An event happens: counts and logs it.
    #[inline(always)]
    pub(crate) fn note_event(&mut self, event: Event) {
        self.events.happens();
        self.log(|n| format!("E {} {}", n.events.now(), n.event_name(event)));
    }

    fn packet_line(&self, what: &str, link: u32, (low, high): (u64, u64), at: u32) -> String {
        let (now, name, p) = (self.events.now(), self.link_name(link), self.packets.get(at));
        let (header, marked) = (u8::from(p.header), u8::from(p.marked && p.of == Type::Data));
        let (flow, to, entropy, size, own) = (p.flow, p.to, p.entropy, p.size, fields(p));
        format!(
            "{what} {now} {name} low={low} high={high} flow={flow} dst={to} ev={entropy} size={size} hdr={header} \
             ce={marked} {own}"
        )
    }

    pub(crate) fn log_host(&mut self, what: &str, host: u32, at: u32) {
        self.log(|n| n.packet_line(what, host, (n.host_queues[host as usize].bytes(), 0), at));
    }

    pub(crate) fn log_port(&mut self, what: &str, link: u32, at: u32) {
        self.log(|n| n.packet_line(what, link, n.ports[(link - n.topology.hosts) as usize].bytes(), at));
    }

    pub(crate) fn log_ack(&mut self, s: u32, cumulative: u32, new: i64, delay: u64) {
        self.log(|n| {
            let (s, c) = (&n.senders[s as usize], &n.senders[s as usize].nscc);
            format!(
                "A {} {} cum={cumulative} newly={new} cwnd={} inflight={} maxwnd={} base_rtt={} delay={delay} avg={} \
                 inc={} achieved={} received={} ignored={} toignore={} fi={} fast={} qaend={} lastadj={} lastdec={} \
                 credit={}",
                n.events.now(),
                s.name,
                c.window,
                s.in_flight,
                c.most,
                c.base,
                c.average,
                c.increase,
                c.achieved,
                c.received,
                c.ignored,
                c.to_ignore,
                c.fast_count,
                u8::from(c.fast),
                c.quick_end,
                c.adjusted,
                c.cut,
                s.credit.bytes
            )
        });
    }

    pub(crate) fn log_nack(&mut self, s: u32, psn: u32) {
        self.log(|n| {
            let (s, c) = (&n.senders[s as usize], &n.senders[s as usize].nscc);
            format!(
                "N {} {} psn={psn} cwnd={} inflight={} base_rtt={} avg={} achieved={} ignored={} toignore={} qaend={}",
                n.events.now(),
                s.name,
                c.window,
                s.in_flight,
                c.base,
                c.average,
                c.achieved,
                c.ignored,
                c.to_ignore,
                c.quick_end
            )
        });
    }

    pub(crate) fn log_timeout(&mut self, s: u32, psn: u32) {
        self.log(|n| {
            let s = &n.senders[s as usize];
            format!("T {} {} psn={psn} cwnd={} inflight={}", n.events.now(), s.name, s.nscc.window, s.in_flight)
        });
    }
}
