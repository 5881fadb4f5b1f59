//! What a switch may change. The rest is the packet's identity: with another of that it is a stranger.

use crate::event::Hop;
use crate::law::Law;
use crate::net::Net;
use crate::report::Tally;
use fanin_wire::Ecn;

pub struct Unchanged;

impl Law for Unchanged {
    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        let (before, after, name) = (hop.before, hop.after, &net.at(hop.out).name);
        let hops = before.ttl == 0 || after.ttl + 1 == before.ttl || after.ttl == 1 && before.ttl == 1;
        tally.check(hops, hop.left, name, || {
            format!("the time to live was {} and is {}; a switch takes one", before.ttl, after.ttl)
        });
        let marked = after.ecn == Ecn::CongestionExperienced;
        let capable = matches!(before.ecn, Ecn::Capable0 | Ecn::Capable1) && before.class != 0;
        let same = !hop.certain || before.ecn == after.ecn || marked && capable;
        tally.check(same, hop.left, name, || {
            format!("the congestion bits were {:?} and are {:?}, of class {}", before.ecn, after.ecn, before.class)
        });
        tally.check(before.class == after.class || net.setup.has.programs, hop.left, name, || {
            format!("the class was {} and is {}", before.class, after.class)
        });
    }
}
