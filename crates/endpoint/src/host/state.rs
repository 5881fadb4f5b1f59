//! The state of hosts, and their timers.

use super::cpu::Cpu;
use super::{Carrier, HostTotals, Io, NO_SLOT, Nic, RecvQp, SendQp, TcpEnd, Timer, Turn};
use crate::{rc, selective};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem;
use fanin_cc::paths::Sprayer;
use fanin_cc::{PathInfo, Sharing, Telemetry};
use fanin_units::{MessageId, NodeId, Time};

/// One host.
#[derive(Debug)]
#[repr(align(64))]
pub struct Host {
    /// Its name in the network.
    pub(super) node: NodeId,
    /// Slots of its senders.
    pub(super) senders: Vec<u32>,
    /// The one valid retransmission timer event.
    pub(super) timer_event: Time,
    /// Bytes on the wire that have entered it.
    pub(super) received: u64,
}

/// Hosts: senders, receivers, and the NICs at which senders take turns. `P` is the route that packets carry.
pub struct Hosts<P> {
    pub(super) hosts: Vec<Host>,
    pub(super) nics: Vec<Nic>,
    pub(super) senders: Vec<SendQp<P>>,
    pub(super) free_senders: Vec<u32>,
    /// The paths of senders that choose them, by slot, each with the number of its queue pair.
    pub(super) sprayers: Vec<Option<(MessageId, Sprayer)>>,
    /// Memory of closed ends of TCP connections, the last one closed at the end: it is in the cache.
    #[expect(clippy::vec_box, reason = "a sender takes the box")]
    pub(super) spare_ends: Vec<Box<TcpEnd>>,
    pub(super) receivers: Vec<RecvQp<P>>,
    pub(super) free_receivers: Vec<u32>,
    /// Receiving halves with selective retransmission, by the slot of their receiver.
    pub(super) kept: Vec<selective::ReceiveHalf>,
    /// The telemetry of the last data packet of each receiver, by its slot.
    pub(super) telemetry: Vec<Telemetry>,
    /// Dense numbers of (host, receiver, scheme), assigned when a sender opens.
    pub(super) pairs: BTreeMap<(u32, u32, u16), u32>,
    /// The senders that are open of each pair, in the order of their numbers.
    pub(super) pair_senders: Vec<Vec<u32>>,
    /// The valid receiver timer event, by scheme and host.
    pub(super) receiver_events: Vec<Time>,
    /// Messages posted while no link of their host was up.
    pub(super) stranded: Vec<u32>,
    /// Answers that wait for the CPU, by host; empty where none ever did.
    pub(super) cpus: Vec<Cpu<P>>,
    /// The receiver whose answers waited last in a slot, and when the last of them leaves.
    pub(super) answered: Vec<(MessageId, Time)>,
    /// Until when the other end of a connection may not know that it was given up, and the messages that wait for that,
    /// by traffic, host and receiver.
    pub(super) closing: BTreeMap<(u16, u32, NodeId), (Time, u64)>,
    pub(super) totals: HostTotals,
}

impl<P: Copy> Hosts<P> {
    /// Hosts without NICs, with `schemes` schemes.
    pub fn new(nodes: impl Iterator<Item = NodeId>, schemes: usize) -> Self {
        let host = |node| Host { node, senders: Vec::new(), timer_event: Time::NEVER, received: 0 };
        let hosts: Vec<Host> = nodes.map(host).collect();
        Self {
            receiver_events: alloc::vec![Time::NEVER; schemes * hosts.len()],
            hosts,
            nics: Vec::new(),
            senders: Vec::new(),
            free_senders: Vec::new(),
            sprayers: Vec::new(),
            spare_ends: Vec::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            kept: Vec::new(),
            telemetry: Vec::new(),
            pairs: BTreeMap::new(),
            pair_senders: Vec::new(),
            stranded: Vec::new(),
            cpus: Vec::new(),
            answered: Vec::new(),
            closing: BTreeMap::new(),
            totals: HostTotals::default(),
        }
    }

    /// Gives a host a NIC at a port. Returns its number.
    pub fn add_nic(&mut self, host: u32, port: u32) -> u32 {
        self.nics.push(Nic::new(port, host));
        self.nics.len() as u32 - 1
    }

    /// The name of a host.
    pub(super) fn node_of(&self, host: u32) -> NodeId {
        self.hosts[host as usize].node
    }

    /// A sender of its traffic's scheme, with nothing to send yet. Returns its slot.
    pub(super) fn open_sender<I: Io<Path = P>>(&mut self, io: &mut I, open: Opening<P>) -> u32 {
        let Opening { id, traffic, host, nic, to, path, info, carrier, at } = open;
        let (scheme, class) = (io.traffic(traffic).scheme, io.traffic(traffic).config.class);
        let credit = io.traffic(traffic).config.endpoint.pacing_credit;
        let from = self.node_of(host);
        let with = match io.scheme(scheme).sharing() {
            Sharing::Nothing => None,
            Sharing::Pair => Some(to),
            Sharing::Host => Some(NodeId::NONE),
        };
        let pair = with.map_or(NO_SLOT, |with| {
            let pairs = self.pairs.len() as u32;
            let pair = *self.pairs.entry((from.0, with.0, scheme)).or_insert(pairs);
            if pair == pairs {
                self.pair_senders.push(Vec::new());
            }
            pair
        });
        let opened = io.scheme(scheme).open(pair, &info, at);
        let mut sender = SendQp::new(id, carrier, &opened.control, credit, path);
        let slot = match self.free_senders.pop() {
            Some(slot) => slot,
            None => {
                self.senders.push(SendQp::new(
                    MessageId::NONE,
                    Carrier::Rdma(rc::SendHalf::default()),
                    &opened.control,
                    0,
                    path,
                ));
                self.senders.len() as u32 - 1
            }
        };
        // Its lists keep their allocations.
        match (&mut sender.carrier, &mut self.senders[slot as usize].carrier) {
            (Carrier::Rdma(new), Carrier::Rdma(old)) => {
                core::mem::swap(new, old);
                new.reset();
            }
            (Carrier::Selective(new), Carrier::Selective(old)) => new.reuse(old),
            _ => {}
        }
        let senders = &mut self.hosts[host as usize].senders;
        sender.at_host = senders.len() as u32;
        senders.push(slot);
        (sender.cc, sender.scheme, sender.traffic, sender.class) = (opened.slot, scheme, traffic, class);
        (sender.nic, sender.host, sender.to, sender.pair) = (nic, host, to, pair);
        self.senders[slot as usize] = sender;
        if pair != NO_SLOT {
            let senders = &mut self.pair_senders[pair as usize];
            let at = senders.partition_point(|other| self.senders[*other as usize].id < id);
            senders.insert(at, slot);
            self.had_turn(slot);
        }
        self.set_scheme_timer(io, slot, opened.control.wake_at);
        slot
    }

    /// Frees a sender's slot; if it is in a ring, as soon as it reaches the front.
    pub(super) fn release_sender<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.id = MessageId::NONE;
        sender.deadline = Time::NEVER;
        let (scheme, cc, host, at) = (sender.scheme, sender.cc, sender.host, sender.at_host);
        let in_ring = sender.turn == Turn::Ready;
        sender.dead = in_ring;
        if sender.turn == Turn::Paced {
            // It was given up, or all of it was acknowledged while a packet waited to be sent again. It would be served
            // when its time in the heap comes.
            sender.turn = Turn::Idle;
        }
        if sender.pair != NO_SLOT {
            self.pair_senders[sender.pair as usize].retain(|other| *other != slot);
        }
        let now = io.now();
        io.scheme(scheme).close(cc, now);
        let senders = &mut self.hosts[host as usize].senders;
        senders.swap_remove(at as usize);
        if let Some(&moved) = senders.get(at as usize) {
            self.senders[moved as usize].at_host = at;
        }
        if !in_ring {
            self.free_sender(slot);
        }
    }

    /// The slot may be used again.
    pub(super) fn free_sender(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.dead = false;
        if let Carrier::Tcp(_) = sender.carrier
            && let Carrier::Tcp(end) = mem::replace(&mut sender.carrier, Carrier::Rdma(rc::SendHalf::default()))
        {
            self.spare_ends.push(end);
        }
        self.free_senders.push(slot);
    }

    /// A receiver. Returns its slot.
    pub(super) fn place_receiver(&mut self, receiver: RecvQp<P>) -> u32 {
        match self.free_receivers.pop() {
            Some(slot) => {
                self.receivers[slot as usize] = receiver;
                slot
            }
            None => {
                self.receivers.push(receiver);
                self.receivers.len() as u32 - 1
            }
        }
    }

    /// Frees a receiver's slot.
    pub(super) fn release_receiver(&mut self, slot: u32) {
        self.receivers[slot as usize].id = MessageId::NONE;
        self.free_receivers.push(slot);
    }

    /// A sender that shares state with others of its pair moves behind them.
    #[inline(never)]
    pub(super) fn had_turn(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let nic = &mut self.nics[sender.nic as usize];
        nic.turns = nic.turns.wrapping_add(1);
        sender.order = nic.turns;
    }

    /// Sets the timer of a sender's scheme.
    #[inline(always)]
    pub(super) fn set_scheme_timer<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, at: Time) {
        let sender = &mut self.senders[slot as usize];
        if at == sender.timer_at {
            return;
        }
        sender.timer_at = at;
        self.wake_sender(io, slot, at);
    }

    /// Makes sure that a sender's timers are checked at `at`. One event serves all of a sender's timers; if a timer has
    /// moved later, the event comes too early and is set again.
    #[inline(always)]
    pub(super) fn wake_sender<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, at: Time) {
        let sender = &mut self.senders[slot as usize];
        if at < sender.timer_event {
            let at = at.max(io.now());
            sender.timer_event = at;
            io.set_timer(Timer::Sender { number: sender.timer_number(), slot }, at);
        }
    }

    /// Sets the retransmission timer of a host's queue pairs.
    #[inline(always)]
    pub(super) fn wake_host<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, at: Time) {
        let event = &mut self.hosts[host as usize].timer_event;
        if at < *event {
            *event = at;
            io.set_timer(Timer::Host { host }, at);
        }
    }
}

/// The parameters of a new sender.
pub(super) struct Opening<P> {
    pub id: MessageId,
    pub traffic: u16,
    pub host: u32,
    pub nic: u32,
    pub to: NodeId,
    pub path: P,
    pub info: PathInfo,
    pub carrier: Carrier,
    /// The time: now, or when its remote end opened.
    pub at: Time,
}
