//! ACKs and NACKs of RDMA that leave some time after the packets that they answer, which the CPU of their host takes.

use super::cpu::{Answer, Cpu};
use super::io::{AckBitmap, names};
use super::{Beside, CpuTime, Hosts, Io, Timer};
use core::cmp::Reverse;
use fanin_cc::{Header, Telemetry, flags};
use fanin_units::{MessageId, Time};

impl<P: Copy> Hosts<P> {
    /// An answer of this host waits for the CPU. `slot`: its receiver, whose answers keep their order; `None` where
    /// that is gone.
    #[inline(never)]
    pub(super) fn hold_answer<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        slot: Option<u32>,
        head: &Header,
        (path, scheme): (P, u16),
        time: CpuTime,
    ) {
        let Some(host) = io.host(head.src) else { return };
        let telemetry = match slot {
            Some(slot) if head.has(flags::INT) => self.telemetry[slot as usize],
            _ => Telemetry::default(),
        };
        let bitmap = slot.filter(|_| names(head)).map_or(0, |slot| self.kept[slot as usize].answer());
        if self.cpus.len() <= host as usize {
            self.cpus.resize_with(self.hosts.len(), Cpu::new);
        }
        let cpu = &mut self.cpus[host as usize];
        let time = time.draw(|| {
            cpu.words += 1;
            io.random(host, cpu.words)
        });
        let mut at = io.now().saturating_add(time);
        if let Some(slot) = slot {
            let slot = slot as usize;
            if self.answered.len() <= slot {
                self.answered.resize(slot + 1, (MessageId::NONE, Time::ZERO));
            }
            let (id, last) = self.answered[slot];
            if id == self.receivers[slot].id {
                at = at.max(last);
            }
            self.answered[slot] = (self.receivers[slot].id, at);
        }
        cpu.answers += 1;
        cpu.waiting.push(Reverse(Answer { at, number: cpu.answers, head: *head, path, scheme, telemetry, bitmap }));
        if at < cpu.event {
            cpu.event = at;
            io.set_timer(Timer::Answers { host }, at);
        }
    }

    /// Sends the answers whose time has come.
    #[inline(never)]
    pub(super) fn answers_timer<I: Io<Path = P>>(&mut self, io: &mut I, host: u32) {
        let now = io.now();
        if self.cpus[host as usize].event != now {
            return;
        }
        self.cpus[host as usize].event = Time::NEVER;
        while let Some(Reverse(first)) = self.cpus[host as usize].waiting.peek() {
            let at = first.at;
            if at > now {
                self.cpus[host as usize].event = at;
                io.set_timer(Timer::Answers { host }, at);
                break;
            }
            let Some(Reverse(answer)) = self.cpus[host as usize].waiting.pop() else { break };
            let telemetry = answer.head.has(flags::INT).then_some(&answer.telemetry);
            let arrived = AckBitmap { bitmap: answer.bitmap, telemetry };
            let beside = match telemetry {
                _ if names(&answer.head) => Beside::Arrived(&arrived),
                Some(telemetry) => Beside::Telemetry(telemetry),
                None => Beside::Nothing,
            };
            let nic = io.make_control(&answer.head, answer.path, answer.scheme, beside);
            if let Some(nic) = nic {
                self.serve(io, nic);
            }
        }
    }
}
