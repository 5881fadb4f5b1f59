//! Recording while a network runs: totals, incidents, observations for the tap, and the hops of traced messages.

use crate::packet::{PacketIx, Slab};
use crate::pause_log::PauseLog;
use crate::port::Port;
use crate::results::{Hop, Incidents, Totals, What};
use crate::tap::{Captured, Seen, Wanted};
use fanin_cc::{Header, Kind, flags};
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Probes of a partition.
#[derive(Default)]
pub(crate) struct Probes {
    pub totals: Totals,
    /// Packets dropped, by the number of their scheme; it ends after the last one with a drop.
    pub dropped_by_scheme: Vec<u64>,
    incidents: Incidents,
    /// In a network that is cut, the cause of each stored incident.
    causes: Option<Vec<u32>>,
    /// Whether a scheme wants telemetry.
    telemetry: bool,
    /// Whether packets are observed as they leave, for telemetry, the tap or the trace of a message; for the latter
    /// two.
    watches_links: bool,
    watches_packets: bool,
    /// By port; empty where none is requested.
    links: Vec<bool>,
    queues: Vec<bool>,
    pauses: bool,
    messages: bool,
    seen: Vec<Seen>,
    /// Incasts announced by messages, where packets are captured.
    incasts: BTreeMap<MessageId, (u32, Arc<[u32]>)>,
    trace: Trace,
    /// Pauses and their causes, where they are recorded.
    pause_log: Option<Box<PauseLog>>,
}

/// The hops of traced messages.
#[derive(Default)]
struct Trace {
    /// Messages whose packets are recorded hop by hop, in order.
    messages: Vec<MessageId>,
    /// Positions of traced messages in TCP streams, by the connection and the sending host.
    streams: BTreeMap<(MessageId, NodeId), Vec<StreamRange>>,
    hops: Vec<Hop>,
    /// Hops above [`Hop::KEPT`].
    left_out: u64,
    /// Packets that left their hosts in this event.
    departures: Vec<Departure>,
}

/// A message in a TCP stream.
#[derive(Clone, Copy)]
struct StreamRange {
    message: u32,
    from: u64,
    to: u64,
}

/// A packet that leaves its host.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    pub port: PortId,
    pub head: Header,
    pub deflections: u8,
    /// When its last bit has left.
    pub left: Time,
}

impl Probes {
    /// The probes of a partition. `telemetry`: whether a scheme wants it; `cut`: whether the network is cut.
    pub fn new(telemetry: bool, cut: bool) -> Self {
        Self { telemetry, watches_links: telemetry, causes: cut.then(Vec::new), ..Self::default() }
    }

    /// Records an incident at a port, caused by an event.
    pub fn incident(&mut self, now: Time, port: PortId, what: What, cause: u32) {
        let before = self.incidents.kept.len();
        self.incidents.add(now, port, what);
        if let Some(causes) = &mut self.causes
            && self.incidents.kept.len() > before
        {
            causes.push(cause);
        }
    }

    /// Drops and pauses, the first ones with time and place.
    pub fn incidents(&self) -> &Incidents {
        &self.incidents
    }

    /// In a network that is cut, the cause of each stored incident.
    pub fn causes(&self) -> &[u32] {
        self.causes.as_deref().unwrap_or_default()
    }

    /// Sets the observations from now on, for `ports` ports; earlier requests are replaced.
    pub fn tap(&mut self, wanted: &Wanted, ports: usize) {
        let marks = |chosen: &[PortId]| {
            let mut marks = vec![false; if chosen.is_empty() { 0 } else { ports }];
            chosen.iter().for_each(|port| marks[port.ix()] = true);
            marks
        };
        (self.links, self.queues) = (marks(&wanted.links), marks(&wanted.queues));
        (self.pauses, self.messages) = (wanted.pauses, wanted.messages);
        self.watch();
    }

    fn watch(&mut self) {
        self.watches_packets = !self.links.is_empty() || !self.trace.messages.is_empty();
        self.watches_links = self.telemetry || self.watches_packets;
    }

    /// Whether departing packets are observed.
    #[inline(always)]
    pub fn watches_links(&self) -> bool {
        self.watches_links
    }

    /// Whether that is more than telemetry.
    #[inline(always)]
    pub fn watches_packets(&self) -> bool {
        self.watches_packets
    }

    /// Whether the tap observes departures as they happen, so that none may be lazy.
    pub fn needs_eager_departures(&self) -> bool {
        !self.links.is_empty() || !self.queues.is_empty()
    }

    /// Whether packets are captured.
    pub fn captures(&self) -> bool {
        !self.links.is_empty()
    }

    /// Notes the incast announced by a message, where packets are captured.
    pub fn add_incast(&mut self, message: MessageId, incast: Option<(u32, Arc<[u32]>)>) {
        if let Some(incast) = incast {
            self.incasts.insert(message, incast);
        }
    }

    /// The incast announced by a message, where packets are captured.
    pub fn incast(&self, message: MessageId) -> Option<(u32, Arc<[u32]>)> {
        self.incasts.get(&message).cloned()
    }

    /// The observations since the last call, in order of time. `into` is emptied first and its memory reused.
    pub fn take_seen(&mut self, into: &mut Vec<Seen>) {
        into.clear();
        core::mem::swap(into, &mut self.seen);
    }

    /// A packet starts to leave.
    #[cold]
    #[inline(never)]
    pub fn see_departure(&mut self, now: Time, port: &Port, ix: PacketIx, packets: &Slab) {
        let packet = &packets[ix];
        let head = packet.head;
        // Flow control packets of credits have no form on Ethernet.
        if self.links.get(port.id.ix()).copied().unwrap_or(false) && head.kind != Kind::FlowControl {
            // Notices of TCP's flows and pause frames are no segments.
            let segment = head.has(flags::TCP) && matches!(head.kind, Kind::Data | Kind::Ack);
            self.seen.push(Seen::Packet(Box::new(Captured {
                time: now,
                port: port.id,
                head,
                segment: segment.then(|| packets.segment(ix)),
                telemetry: head.has(flags::INT).then(|| *packets.telemetry(ix)),
                traffic: None,
                channel: head.flow,
                opener: NodeId::NONE,
                incast: None,
            })));
        }
        if !self.trace.messages.is_empty() && port.of_host() && head.kind == Kind::Data {
            let left = now + port.tx_time(head.wire as u32);
            self.trace.departures.push(Departure {
                port: port.id,
                head,
                deflections: packet.next_hop.deflections(),
                left,
            });
        }
    }

    /// The queue of a port changed.
    #[inline(always)]
    pub fn see_queue(&mut self, now: Time, port: &Port) {
        if !self.queues.is_empty() {
            self.see_chosen_queue(now, port);
        }
    }

    #[cold]
    fn see_chosen_queue(&mut self, time: Time, port: &Port) {
        if !self.queues[port.id.ix()] {
            return;
        }
        let (port, bytes) = (port.id, port.queued);
        // A packet that joins and leaves at the same instant never waited.
        if let Some(Seen::Queue { time: then, port: same, bytes: held }) = self.seen.last_mut()
            && (*then, *same) == (time, port)
        {
            *held = bytes;
            return;
        }
        self.seen.push(Seen::Queue { time, port, bytes });
    }

    /// A class of a port was paused or resumed.
    pub fn see_pause(&mut self, time: Time, port: PortId, class: u8, paused: bool) {
        if let Some(log) = &mut self.pause_log {
            log.see(time, port, class, paused);
        }
        if self.pauses {
            self.seen.push(Seen::Pause { time, port, class, paused });
        }
    }

    /// Records pauses and their causes from now on.
    pub fn log_pauses(&mut self) {
        self.pause_log = Some(Box::default());
    }

    /// The pauses recorded, to add to them.
    pub fn pause_log(&mut self) -> Option<&mut PauseLog> {
        self.pause_log.as_deref_mut()
    }

    /// The pauses recorded, where they are.
    pub fn pauses(&self) -> Option<&PauseLog> {
        self.pause_log.as_deref()
    }

    /// A message was posted, or has arrived.
    pub fn see_message(&mut self, time: Time, message: u32, arrived: bool) {
        if self.messages {
            self.seen.push(if arrived { Seen::Arrived { time, message } } else { Seen::Posted { time, message } });
        }
    }

    /// Records each hop of a message's data packets from now on. Returns whether that is new.
    pub fn trace(&mut self, message: MessageId) -> bool {
        let at = self.trace.messages.binary_search(&message);
        if let Err(at) = at {
            self.trace.messages.insert(at, message);
        }
        self.watch();
        at.is_err()
    }

    /// Whether messages are traced.
    #[inline(always)]
    pub fn traces(&self) -> bool {
        !self.trace.messages.is_empty()
    }

    /// Notes the position of a traced message in the stream of a TCP connection.
    pub fn trace_stream(&mut self, flow: MessageId, host: NodeId, message: u32, (from, to): (u64, u64)) {
        let known = self.trace.streams.entry((flow, host)).or_default();
        if known.iter().all(|stretch| stretch.message != message) {
            known.push(StreamRange { message, from, to });
        }
    }

    /// Packets that left their hosts since the last call.
    pub fn take_departures(&mut self) -> Vec<Departure> {
        core::mem::take(&mut self.trace.departures)
    }

    /// A data packet passes a node, or leaves its host, by a port where `queued` bytes are ahead of it in its lane.
    #[cold]
    #[inline(never)]
    pub fn add_hop(&mut self, time: Time, node: NodeId, port: Option<(PortId, u64)>, head: &Header, deflected: u8) {
        if head.kind != Kind::Data {
            return;
        }
        let of: Vec<u32> = if head.has(flags::TCP) {
            let known = self.trace.streams.get(&(head.flow, head.src));
            let of = known.into_iter().flatten().filter(|known| overlaps(head, (known.from, known.to)));
            of.map(|known| known.message).collect()
        } else {
            self.trace.messages.binary_search(&head.flow).is_ok().then_some(head.flow.0).into_iter().collect()
        };
        for message in of {
            if self.trace.hops.len() >= Hop::KEPT {
                self.trace.left_out += 1;
                continue;
            }
            self.trace.hops.push(Hop {
                time,
                message,
                seq: head.seq,
                attempt: head.attempt,
                wire: head.wire,
                node,
                port: port.map(|(port, _)| port),
                queued: port.map_or(0, |(_, queued)| queued),
                tokens: head.tokens,
                lane: head.lane,
                deflected,
            });
        }
    }

    /// The recorded hops, in order of time, and the number of hops not recorded.
    pub fn hops(&self) -> (&[Hop], u64) {
        (&self.trace.hops, self.trace.left_out)
    }
}

/// Whether a TCP segment holds bytes of a range of its stream. Byte numbers start after the SYN's.
pub(crate) fn overlaps(head: &Header, (from, to): (u64, u64)) -> bool {
    let first = head.seq.saturating_sub(1);
    first < to && first + head.payload as u64 > from
}
