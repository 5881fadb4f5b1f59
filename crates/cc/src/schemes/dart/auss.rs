//! The active unique sender set (Dart III-B, III-D, III-E): the present senders to this host, each of them once.
//!
//! A sender is in the set while it has an open message, or while a list of an incast's senders names it and its message
//! has not started. Packets find their sender by a [`Ticket`]; only starts, ends and lists need a lookup.

use super::fields::{LONGEST_LIST, Share};
use super::params::Params;
use crate::roles::*;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use fanin_units::{MessageId, NodeId, Time};

/// Incasts whose lists a set remembers in order to ignore later copies. Beyond that the oldest is forgotten, which
/// bounds the memory that a flood of lists can take.
pub const REMEMBERED_LISTS: usize = 4096;
/// Tenants' shares are rounded to millionths.
const MILLION: u64 = 1_000_000;

/// A sender's position in the set, valid until it leaves. The default belongs to no sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket {
    slot: u32,
    generation: u32,
}

/// A message of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its run-wide number.
    pub id: MessageId,
    /// Its flow.
    pub flow: ReceiverFlow,
    /// The sending host.
    pub from: NodeId,
    /// Its set: [`Auss::set_of`] its tenant.
    pub set: u16,
    /// Its weight, at least 1.
    pub weight: u16,
}

/// The outcome of a list of an incast's senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There was no list.
    NoList,
    /// All of them count from now on.
    Accepted,
    /// It had arrived before.
    Repeated,
    /// It exceeds the rate of lists, or the number of announced senders.
    Refused,
}

/// A sender in the set.
#[derive(Clone, Debug, Default)]
struct Entry {
    generation: u32,
    set: u16,
    host: NodeId,
    weight: u16,
    /// When its last packet arrived.
    last_seen: Time,
    /// Its open messages: flow and weight of each.
    messages: BTreeMap<MessageId, (ReceiverFlow, u16)>,
    /// Incasts that named it and whose message has not started: the time, and the weight of the announcing message.
    announced: BTreeMap<u32, (Time, u16)>,
}

/// A known incast.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Whether its list has arrived, accepted or not.
    listed: bool,
    /// Members whose message started before the list arrived.
    early: Vec<NodeId>,
}

/// The senders of one tenant, or of all.
#[derive(Clone, Debug, Default)]
struct Set {
    /// Share of the line in millionths.
    share: u64,
    senders: u32,
    weight: u64,
    /// Announced messages that have not started.
    silent: u32,
    /// Token bucket of lists, and the time of its last update.
    lists: f64,
    lists_at: Time,
    groups: BTreeMap<u32, Group>,
    /// Keys of `groups`, oldest first.
    order: VecDeque<u32>,
}

/// The set of a host, or its sets if tenants have one each.
#[derive(Clone, Debug)]
pub struct Auss {
    entries: Vec<Entry>,
    free: Vec<u32>,
    slots: BTreeMap<(u16, NodeId), u32>,
    sets: Vec<Set>,
    soft_state: Time,
    /// Lower bound of the times of all senders and announcements: none expires until `soft_state` after it.
    oldest: Time,
}

impl Auss {
    /// Empty.
    pub fn new(p: &Params) -> Self {
        let set = |share| Set { share, lists: p.look_ahead_burst as f64, ..Set::default() };
        let mut sets: Vec<Set> = p.tenant_shares.iter().map(|s| set((s * MILLION as f64 + 0.5) as u64)).collect();
        // Tenants that are not listed have one set, and the rest of the line.
        let given: u64 = sets.iter().map(|s| s.share).sum();
        sets.push(set(MILLION.saturating_sub(given).max(MILLION / 1000)));
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            slots: BTreeMap::new(),
            sets,
            soft_state: p.soft_state,
            oldest: Time::NEVER,
        }
    }

    /// The set of a tenant.
    pub fn set_of(&self, tenant: u8) -> u16 {
        (tenant as u16).min(self.sets.len() as u16 - 1)
    }

    /// n of a set: its senders.
    #[inline]
    pub fn count(&self, set: u16) -> u32 {
        self.sets[set as usize].senders
    }

    /// Senders in all sets.
    pub fn senders(&self) -> u32 {
        self.slots.len() as u32
    }

    #[inline(always)]
    fn live(&self, ticket: Ticket) -> Option<&Entry> {
        self.entries.get(ticket.slot as usize).filter(|e| e.generation == ticket.generation)
    }

    /// A packet of a sender arrived. Returns whether the sender is still in the set.
    #[inline(always)]
    pub fn touch(&mut self, ticket: Ticket, now: Time) -> bool {
        match self.entries.get_mut(ticket.slot as usize) {
            Some(entry) if entry.generation == ticket.generation => {
                entry.last_seen = now;
                true
            }
            _ => false,
        }
    }

    /// A message starts, or continues after its sender expired. It counts once, however often this is called.
    pub fn start(&mut self, message: &Message, incast: Option<u32>, now: Time) -> Ticket {
        let slot = self.enter(message.set, message.from, now);
        let entry = &mut self.entries[slot as usize];
        entry.last_seen = now;
        entry.messages.insert(message.id, (message.flow, message.weight));
        // row B4: the actual start replaces its announcement
        if let Some(incast) = incast
            && entry.announced.remove(&incast).is_some()
        {
            self.sets[message.set as usize].silent -= 1;
        }
        self.settle(slot);
        Ticket { slot, generation: self.entries[slot as usize].generation }
    }

    /// A message ends. Repeated calls have no effect.
    pub fn end(&mut self, ticket: Ticket, id: MessageId) {
        if self.live(ticket).is_some() {
            self.entries[ticket.slot as usize].messages.remove(&id);
            self.settle(ticket.slot);
        }
    }

    /// `message`, which has started, belongs to an incast and may carry its list.
    pub fn announce(&mut self, message: &Message, incast: &Incast<'_>, p: &Params, now: Time) -> Outcome {
        let set = &mut self.sets[message.set as usize];
        if !set.groups.contains_key(&incast.id) {
            if set.order.len() == REMEMBERED_LISTS
                && let Some(oldest) = set.order.pop_front()
            {
                set.groups.remove(&oldest);
            }
            set.order.push_back(incast.id);
        }
        let group = set.groups.entry(incast.id).or_default();
        if incast.senders.is_empty() {
            if !group.listed && group.early.len() < LONGEST_LIST && !group.early.contains(&message.from) {
                group.early.push(message.from);
            }
            return Outcome::NoList;
        }
        if group.listed {
            // row B7: the first list of an incast counts, refused or not
            return Outcome::Repeated;
        }
        group.listed = true;
        let early = core::mem::take(&mut group.early);
        // III-E: the rate of lists, from any sender
        let refill = now.saturating_sub(set.lists_at).as_ps() as f64 * 1e-12 * p.look_ahead_rate;
        set.lists = (set.lists + refill).min(p.look_ahead_burst as f64);
        set.lists_at = now;
        if set.lists < 1.0 {
            return Outcome::Refused;
        }
        set.lists -= 1.0;
        let others =
            || incast.senders.iter().map(|&host| NodeId(host)).filter(|h| *h != message.from && !early.contains(h));
        if set.silent as usize + others().count() > p.look_ahead_silent as usize {
            return Outcome::Refused;
        }
        // III-D: a flow begins when the notification arrives
        for host in others() {
            let slot = self.enter(message.set, host, now);
            let entry = &mut self.entries[slot as usize];
            if entry.announced.insert(incast.id, (now, message.weight)).is_none() {
                self.sets[message.set as usize].silent += 1;
            }
            self.settle(slot);
        }
        Outcome::Accepted
    }

    /// Forgets the senders that have been silent for `soft_state`, and returns their number. Cheap while none is due.
    #[inline]
    pub fn sweep(&mut self, now: Time) -> u64 {
        if self.sweep_at() > now { 0 } else { self.sweep_all(now) }
    }

    /// When a sender may expire; [`Time::NEVER`] without senders.
    #[inline(always)]
    pub fn sweep_at(&self) -> Time {
        self.oldest.saturating_add(self.soft_state)
    }

    #[cold]
    fn sweep_all(&mut self, now: Time) -> u64 {
        let (mut expired, mut oldest) = (0, Time::NEVER);
        let soft_state = self.soft_state;
        let dead = |seen: Time| seen.saturating_add(soft_state) <= now;
        for slot in 0..self.entries.len() as u32 {
            let entry = &mut self.entries[slot as usize];
            if entry.messages.is_empty() && entry.announced.is_empty() {
                continue;
            }
            let before = entry.announced.len();
            // row B8: an announcement lasts `soft_state`, whatever else its sender sends
            entry.announced.retain(|_, (at, _)| !dead(*at));
            self.sets[entry.set as usize].silent -= (before - entry.announced.len()) as u32;
            if dead(entry.last_seen) {
                entry.messages.clear();
            }
            for (at, _) in entry.announced.values() {
                oldest = oldest.min(*at);
            }
            if !entry.messages.is_empty() {
                oldest = oldest.min(entry.last_seen);
            }
            expired += self.settle(slot) as u64;
        }
        self.oldest = oldest;
        expired
    }

    /// The share of a sender of `set` with messages of `weight`, which may just have left.
    #[inline]
    pub fn share(&self, ticket: Ticket, set: u16, weight: u16) -> Share {
        let set = &self.sets[set as usize];
        let own = self.live(ticket).map_or(weight, |e| e.weight) as u64;
        // row B11: with no sender left n is 1
        let all = set.weight.max(own);
        if own == 1 && set.share == MILLION && all <= u16::MAX as u64 {
            // III: 1/n
            return Share { parts: 1, of: all as u16 };
        }
        // row B10: own weight over all weights, times the tenant's share
        ratio(own * set.share, all * MILLION)
    }

    /// Senders of a set besides `host`.
    pub fn others(&self, set: u16, host: NodeId) -> impl Iterator<Item = Ticket> + '_ {
        let all = self.slots.range((set, NodeId(0))..=(set, NodeId(u32::MAX)));
        all.filter(move |((_, who), _)| *who != host)
            .map(|(_, &slot)| Ticket { slot, generation: self.entries[slot as usize].generation })
    }

    /// An open message of a sender: its flow, and the set and weight of the sender.
    pub fn open_message(&self, ticket: Ticket) -> Option<(ReceiverFlow, u16, u16)> {
        let entry = self.live(ticket)?;
        entry.messages.values().next().map(|(flow, _)| (*flow, entry.set, entry.weight))
    }

    /// Adds a host to the set and returns its slot.
    fn enter(&mut self, set: u16, host: NodeId, now: Time) -> u32 {
        self.oldest = self.oldest.min(now);
        if let Some(&slot) = self.slots.get(&(set, host)) {
            return slot;
        }
        let slot = self.free.pop().unwrap_or(self.entries.len() as u32);
        if slot as usize == self.entries.len() {
            self.entries.push(Entry { generation: 1, ..Entry::default() });
        }
        let entry = &mut self.entries[slot as usize];
        (entry.set, entry.host, entry.weight, entry.last_seen) = (set, host, 0, now);
        self.slots.insert((set, host), slot);
        self.sets[set as usize].senders += 1;
        slot
    }

    /// Updates a sender's weight, and removes the sender if it has no message. Returns whether it was removed.
    fn settle(&mut self, slot: u32) -> bool {
        let entry = &mut self.entries[slot as usize];
        let set = &mut self.sets[entry.set as usize];
        set.weight -= entry.weight as u64;
        // The weight of its heaviest message; if it is only announced, that of the announcing message.
        let open = entry.messages.values().map(|(_, weight)| *weight).max();
        let weight = open.or_else(|| entry.announced.values().map(|(_, weight)| *weight).max());
        entry.weight = weight.unwrap_or(0);
        set.weight += entry.weight as u64;
        if weight.is_some() {
            return false;
        }
        entry.generation = entry.generation.wrapping_add(1).max(1);
        set.senders -= 1;
        self.slots.remove(&(entry.set, entry.host));
        self.free.push(slot);
        if self.slots.is_empty() {
            self.oldest = Time::NEVER;
        }
        true
    }
}

/// `parts/of` in lowest terms, or the last convergent of its continued fraction that fits 16 bits each.
fn ratio(parts: u64, of: u64) -> Share {
    let (mut a, mut b) = (parts, of);
    let (mut last, mut share) = ((0u64, 1u64), (1u64, 0u64));
    while b > 0 {
        let digit = a / b;
        let next = (
            digit.saturating_mul(share.0).saturating_add(last.0),
            digit.saturating_mul(share.1).saturating_add(last.1),
        );
        if next.0.max(next.1) > u16::MAX as u64 {
            break;
        }
        (last, share) = (share, next);
        (a, b) = (b, a % b);
    }
    // A smaller ratio is rounded up to 1/65,535, because 0 is no share.
    if share.0 == 0 { Share { parts: 1, of: u16::MAX } } else { Share { parts: share.0 as u16, of: share.1 as u16 } }
}
