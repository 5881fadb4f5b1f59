//! The switch: the deflected flow table and its policies (Dart IV).
//!
//! Order rests on one invariant: whenever a message visits a switch, all its packets arrive with the same number of
//! tokens. The first packet decides, an entry under (message, attempt, tokens) stores the decision for the others, and
//! each spends as many tokens as the first, so that they arrive with equal numbers at the next switch as well, and at
//! this one when they return.

use super::params::{Blocked, Deflect, Escape, LaneCount, Params, TableKey};
use crate::{Action, Header, flags, roles::*};
use alloc::vec::Vec;
use fanin_units::{MessageId, Time};

/// The lane that is never deflected; lane 1 is the other one.
const ESCAPE_LANE: u8 = 0;

/// An entry of the deflected flow table: a message that leaves its shortest path here, on this visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The message.
    pub flow: MessageId,
    /// Its attempt number.
    pub attempt: u16,
    /// Tokens of its packets when they arrive.
    pub tokens: u8,
    /// The port where they leave.
    pub port: u16,
    /// Whether they continue in the escape lane without tokens (row D14), instead of being deflected.
    pub to_escape: bool,
    /// When its start packet arrived.
    pub made: Time,
    /// When the latest of its packets arrived.
    pub used: Time,
}

/// The deflected flow table of a switch.
pub struct Table {
    /// Few, in no order; never more than `limit`.
    entries: Vec<Entry>,
    limit: usize,
    /// Most entries so far.
    peak: usize,
    /// A lower bound of the first entry's reclaim time; [`Time::NEVER`] without entries. Packets only delay that time,
    /// so it is corrected when it comes and not per packet.
    wake_at: Time,
    random: Random,
}

impl Table {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in no order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of this packet (Fig. 7).
    #[inline(always)]
    fn find(&self, packet: &Header, key: TableKey) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        // row D7
        let by_tokens = key == TableKey::MessageAndTokens;
        self.entries.iter().position(|e| {
            e.flow == packet.flow && e.attempt == packet.attempt && (!by_tokens || e.tokens == packet.tokens)
        })
    }

    fn insert(&mut self, packet: &Header, port: u16, to_escape: bool, cx: &Cx<'_, Params>) {
        if self.entries.is_empty() {
            self.wake_at = cx.now.saturating_add(cx.params.reclaim_after);
        }
        let Header { flow, attempt, tokens, .. } = *packet;
        self.entries.push(Entry { flow, attempt, tokens, port, to_escape, made: cx.now, used: cx.now });
        self.peak = self.peak.max(self.entries.len());
    }

    fn remove(&mut self, index: usize, why: Action, cx: &mut Cx<'_, Params>) {
        let entry = self.entries.swap_remove(index);
        cx.count(why);
        cx.actions.add_up(Action::EntryTime, cx.now.saturating_sub(entry.made).as_ps() / 1000);
        if self.entries.is_empty() {
            self.wake_at = Time::NEVER;
        }
    }

    fn remove_all(&mut self, gone: impl Fn(&Entry) -> bool, why: Action, cx: &mut Cx<'_, Params>) {
        for index in (0..self.entries.len()).rev() {
            if gone(&self.entries[index]) {
                self.remove(index, why, cx);
            }
        }
    }

    fn has_room(&self) -> bool {
        self.entries.len() < self.limit
    }

    /// The port to which a start packet is deflected, if it is. `alone`: no other packet follows that needs an entry.
    fn target(
        &mut self,
        packet: &Header,
        ingress: u16,
        minimal: u16,
        alone: bool,
        ports: &dyn Ports,
        cx: &mut Cx<'_, Params>,
    ) -> Option<u16> {
        let p = cx.params;
        let threshold = p.threshold.get();
        // IV-B; rows D1, D2: the bytes ahead in the lane of the packet, itself not counted
        if ports.queued(minimal, packet, packet.lane) <= threshold {
            return None;
        }
        // row D5: a message at its destination's switch is not deflected
        if !p.last_hop && !ports.view(minimal).to_switch {
            return None;
        }
        // IV-A; rows D9, D11: no entry is overwritten; a message of one packet needs none
        if !alone && !self.has_room() {
            cx.count(Action::TableFull);
            return None;
        }
        // row D3; IV-A: never to a host
        let fits = |port: &u16| {
            let view = ports.view(*port);
            let other = *port != ingress && *port != minimal && view.to_switch && view.up;
            other && !(p.avoid_full && ports.queued(*port, packet, packet.lane) > threshold)
        };
        let count = (0..ports.count()).filter(fits).count();
        if count == 0 {
            cx.count(Action::NoPortFit);
            return None;
        }
        let pick = self.random.below(count as u64) as usize;
        (0..ports.count()).filter(fits).nth(pick)
    }
}

/// Moves a packet to the escape lane, for good (IV-B).
#[inline]
fn enter_escape(packet: &mut Header, cx: &mut Cx<'_, Params>) {
    packet.lane = ESCAPE_LANE;
    if packet.has(flags::START) {
        cx.count(Action::Escaped);
    }
}

/// A packet is deflected and pays a token, as all packets of its message do (row D8).
#[inline]
fn spend(packet: &mut Header, cx: &mut Cx<'_, Params>) {
    packet.tokens -= 1;
    cx.count(Action::TokenSpent);
    // row D12, the literal reading
    let p = cx.params;
    if packet.tokens == 0 && p.escape == Escape::OnLastMisroute && p.lanes == LaneCount::Two {
        enter_escape(packet, cx);
    }
}

impl SwitchProgram for Table {
    type Params = Params;

    fn active(params: &Params) -> bool {
        params.deflect != Deflect::Off
    }

    fn new(params: &Params, switch: &SwitchInfo<'_>) -> Self {
        let limit = params.table_entries as usize;
        Self {
            entries: Vec::with_capacity(limit),
            limit,
            peak: 0,
            wake_at: Time::NEVER,
            random: Random { state: switch.seed },
        }
    }

    fn route(
        &mut self,
        packet: &mut Header,
        ingress: u16,
        minimal: u16,
        ports: &dyn Ports,
        cx: &mut Cx<'_, Params>,
    ) -> u16 {
        let p = cx.params;
        let two_lanes = p.lanes == LaneCount::Two;
        if packet.tokens == 0 {
            // row D12, one hop later than the paper: the queue of the last misroute still belongs to the other lane, so
            // that the escape lane has shortest paths only (IV-B: "the escape VL is not deflected")
            if packet.lane != ESCAPE_LANE && two_lanes && p.escape == Escape::AfterLastMisroute {
                enter_escape(packet, cx);
            }
            return minimal;
        }
        // the counter-example treats each packet as a message of its own
        let single = p.deflect == Deflect::Packet;
        let (first, last) = (single || packet.has(flags::START), single || packet.has(flags::END));

        // Fig. 7: every packet looks up the table, whose entry holds whatever the present queues
        if let Some(index) = self.find(packet, p.table_key) {
            let entry = &mut self.entries[index];
            entry.used = cx.now;
            let (port, to_escape) = (entry.port, entry.to_escape);
            if last {
                // row D10
                self.remove(index, Action::EntryFreed, cx);
            }
            if to_escape {
                packet.tokens = 0;
                enter_escape(packet, cx);
            } else {
                spend(packet, cx);
            }
            return port;
        }
        if !first {
            return minimal;
        }
        if let Some(port) = self.target(packet, ingress, minimal, last, ports, cx) {
            if !last {
                self.insert(packet, port, false, cx);
            }
            if packet.has(flags::START) {
                cx.count(Action::MessageDeflected);
            }
            spend(packet, cx);
            return port;
        }
        // row D14: the rest of the message has to follow, so this needs an entry too
        let stuck = p.blocked == Blocked::Duato
            && two_lanes
            && packet.lane != ESCAPE_LANE
            && ports.paused(minimal, packet, packet.lane)
            && !ports.paused(minimal, packet, ESCAPE_LANE);
        if stuck && (last || self.has_room()) {
            if !last {
                self.insert(packet, minimal, true, cx);
            }
            packet.tokens = 0;
            enter_escape(packet, cx);
        }
        minimal
    }

    fn on_drop(&mut self, packet: &Header, cx: &mut Cx<'_, Params>) {
        // IV-C, row D17: the sender retransmits the whole message as another attempt
        let Header { flow, attempt, .. } = *packet;
        self.remove_all(|e| e.flow == flow && e.attempt == attempt, Action::EntryFlushed, cx);
    }

    fn on_link_down(&mut self, port: u16, cx: &mut Cx<'_, Params>) {
        // IV-C, row D17
        self.remove_all(|e| e.port == port, Action::EntryFlushed, cx);
    }

    fn on_timer(&mut self, _: &dyn Ports, cx: &mut Cx<'_, Params>) {
        // row D17: an end packet that was lost elsewhere does not free its entry here
        let (now, after) = (cx.now, cx.params.reclaim_after);
        self.remove_all(|e| e.used.saturating_add(after) <= now, Action::EntryReclaimed, cx);
        self.wake_at = self.entries.iter().map(|e| e.used.saturating_add(after)).min().unwrap_or(Time::NEVER);
    }

    fn wake_at(&self) -> Time {
        self.wake_at
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("table_entries", self.entries.len() as f64);
        see("table_peak", self.peak as f64);
    }
}

/// Random numbers of a switch: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random {
    state: u64,
}

impl Random {
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in 0..n, for n above 0.
    fn below(&mut self, n: u64) -> u64 {
        // Lemire's method: the high word of a product, with rejection of the few biased low words
        let reject_below = n.wrapping_neg() % n;
        loop {
            let product = self.bits() as u128 * n as u128;
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the published generator for seed 0.
    #[test]
    fn random_is_splitmix() {
        let mut r = Random { state: 0 };
        assert_eq!(
            [r.bits(), r.bits(), r.bits()],
            [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]
        );
        assert!((0..100).all(|_| r.below(1) == 0));
    }
}
