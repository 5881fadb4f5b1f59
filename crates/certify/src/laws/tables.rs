//! The tables of a run count what its capture has.

use crate::event::{Begin, Hop, Lost, Port};
use crate::law::Law;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;
use fanin_wire::Ecn;

#[derive(Default)]
pub struct Tables {
    /// By port: packets, bytes and marks.
    sent: Vec<[u64; 3]>,
    lost: u64,
}

impl Tables {
    fn of(&mut self, port: Port) -> &mut [u64; 3] {
        if self.sent.len() <= port as usize {
            self.sent.resize(port as usize + 1, [0; 3]);
        }
        &mut self.sent[port as usize]
    }
}

impl Law for Tables {
    fn begin(&mut self, begin: &Begin<'_>, net: &Net, _: &mut Tally) {
        let of_host = net.at(begin.port).hosts.0;
        let of = self.of(begin.port);
        of[0] += 1;
        of[1] += begin.packet.wire;
        of[2] += u64::from(of_host && begin.packet.ecn == Ecn::CongestionExperienced);
    }

    fn hop(&mut self, hop: &Hop<'_>, _: &Net, _: &mut Tally) {
        let marked = |ecn| ecn == Ecn::CongestionExperienced;
        self.of(hop.out)[2] += u64::from(marked(hop.after.ecn) && !marked(hop.before.ecn));
    }

    fn lost(&mut self, _: &Lost<'_>, _: &Net, _: &mut Tally) {
        self.lost += 1;
    }

    fn end(&mut self, now: Time, net: &Net, tally: &mut Tally) {
        if net.cut {
            return;
        }
        let has = &net.setup.has;
        for (at, info) in net.ports.iter().enumerate() {
            let Some(told) = net.facts.ports.get(&info.name) else { continue };
            let found = self.sent.get(at).copied().unwrap_or_default();
            for (what, (found, told)) in ["packets", "bytes", "marked packets"].iter().zip(found.iter().zip(told)) {
                // Of copies that are alike, it is not known which was marked before.
                let holds = found == told || *what == "marked packets" && (net.doubts > 0 || has.programs);
                tally.check(holds, now, &info.name, || {
                    format!("{found} {what} are in the capture, and {told} in the table of ports")
                });
            }
        }
        let explained = has.errors || has.outages || has.programs || has.spraying || has.trimming || has.watchdog;
        if !net.facts.ports.is_empty() && !explained && !has.credit_queues && !has.faults {
            let told: u64 = net.facts.ports.values().map(|row| row[3]).sum();
            tally.check((self.lost..=self.lost + net.waiting).contains(&told), now, "all ports", || {
                format!("{} packets never left a switch, and {told} are dropped in the table of ports", self.lost)
            });
        }
    }
}
