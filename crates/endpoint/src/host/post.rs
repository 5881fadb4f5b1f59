//! Starting messages: each gets a queue pair or a connection of its own, or the open one between its hosts.

use super::state::Opening;
use super::{Carrier, Hosts, Io, NO_SLOT, Needs, PathQuery, Recovery, TrafficConfig};
use crate::{Pacer, rc, selective};
use alloc::boxed::Box;
use fanin_cc::PathInfo;
use fanin_units::{MessageId, NodeId, Time};

/// A queue pair on a path.
fn carrier_of(config: &TrafficConfig, path: &PathInfo) -> Carrier {
    match config.endpoint.recovery {
        Recovery::GoBackN | Recovery::GoBack0 => Carrier::Rdma(rc::SendHalf::default()),
        Recovery::Selective(rules) => {
            // IRN 3.2 counts a round trip from a packet to its ACK.
            let round_trips = if config.scheme.acks_once_per_rtt() { 2 } else { 1 };
            let cap = rules.cap.packets(round_trips * path.network_bdp, path.wire);
            Carrier::Selective(Box::new(selective::SendHalf::new(rules, cap)))
        }
    }
}

impl<P: Copy> Hosts<P> {
    /// Gives a posted message to its endpoint.
    pub fn send_message<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, message: MessageId) {
        let record = *io.record(message);
        let config = &io.traffic(record.traffic).config;
        if config.tcp.is_some() {
            self.open_stream(io, host, message);
            return;
        }
        let (endpoint, bytes) = (config.endpoint, record.bytes);
        let connection = endpoint.connection;
        if connection && self.waits_for_close(io, (record.traffic, host, NodeId(record.dst)), message) {
            return;
        }
        let mut query = PathQuery {
            message,
            from: NodeId(record.src),
            to: NodeId(record.dst),
            back: false,
            per_pair: connection,
            same_as: None,
        };
        if connection
            && let Some(first) = io.connection(record.traffic, record.src, record.dst)
            && io.ends(first).send != NO_SLOT
        {
            let ends = io.ends(first);
            let slot = ends.send;
            *io.ends_mut(message) = ends;
            let sender = &mut self.senders[slot as usize];
            let anew = endpoint.anew && sender.rdma().done();
            sender.rdma_mut().post(message, bytes);
            query.same_as = Some(sender.path);
            self.set_out(io, slot);
            let route = io.route(&query, if anew { Needs::Both } else { Needs::Ideal });
            let row = io.record_mut(message);
            (row.ideal, row.hops) = (route.ideal, route.hops);
            io.announce_message(message, Some(first));
            // Without a path there is nothing to begin anew with.
            if anew && route.nic.is_some() {
                self.begin_anew(io, slot, &route.info);
            }
            self.send_requests(io, slot);
            self.activate(io, slot);
            return;
        }
        if connection {
            io.open_connection(message);
        }
        let route = io.route(&query, Needs::Both);
        let Some(nic) = route.nic else {
            // No link is up, and no timer runs for data never sent: it waits for the next link that comes up.
            self.stranded.push(message.0);
            return;
        };
        let row = io.record_mut(message);
        (row.ideal, row.hops) = (route.ideal, route.hops);
        let opening = Opening {
            id: message,
            traffic: record.traffic,
            host,
            nic,
            to: query.to,
            path: route.path,
            info: route.info,
            carrier: carrier_of(&io.traffic(record.traffic).config, &route.info),
            at: io.now(),
        };
        let slot = self.open_sender(io, opening);
        self.senders[slot as usize].rdma_mut().post(message, bytes);
        self.set_out(io, slot);
        io.ends_mut(message).send = slot;
        io.announce_message(message, connection.then_some(message));
        self.send_requests(io, slot);
        self.activate(io, slot);
    }

    /// Whether the other end may not know yet that the last connection between these hosts was given up. The message is
    /// posted again when it does, behind those that wait too.
    fn waits_for_close<I: Io<Path = P>>(&mut self, io: &mut I, pair: (u16, u32, NodeId), message: MessageId) -> bool {
        let Some((until, waiting)) = self.closing.get_mut(&pair) else { return false };
        if *until <= io.now() {
            self.closing.remove(&pair);
            return false;
        }
        // A picosecond apart, so that they keep their order.
        io.post_again(message, until.saturating_add(Time::from_ps(*waiting)));
        *waiting += 1;
        true
    }

    /// An open queue pair gets a new sender of its scheme, which knows nothing of what was sent before.
    fn begin_anew<I: Io<Path = P>>(&mut self, io: &mut I, slot: u32, path: &PathInfo) {
        let now = io.now();
        let (scheme, cc) = self.senders[slot as usize].scheme();
        let control = io.scheme(scheme).reopen(cc, path, now);
        let credit = io.traffic(self.senders[slot as usize].traffic).config.endpoint.pacing_credit;
        self.senders[slot as usize].pacer = Pacer::new(&control, credit);
        self.apply(io, slot, &control);
    }

    /// A link came up: starts the messages that waited for one.
    pub fn send_stranded<I: Io<Path = P>>(&mut self, io: &mut I) {
        for message in core::mem::take(&mut self.stranded).into_iter().map(MessageId) {
            if let Some(host) = io.host(NodeId(io.record(message).src)) {
                self.send_message(io, host, message);
            }
        }
    }

    /// Routes have changed. `blocks` decides, for a sender whose messages are pinned to their path (Dart IV-C), whether
    /// its messages in flight are lost, given its host, its receiver, its path and these messages. Their sender
    /// restarts when it detects the loss, or at once where nothing is in flight whose loss it could detect. Returns
    /// those messages with the first attempt that may go on.
    pub fn on_routes_changed<I: Io<Path = P>>(
        &mut self,
        io: &mut I,
        mut blocks: impl FnMut(NodeId, NodeId, P, &[MessageId]) -> bool,
    ) -> alloc::vec::Vec<(MessageId, u16)> {
        let mut blocked = alloc::vec::Vec::new();
        for sender in &mut self.senders {
            if matches!(sender.carrier, Carrier::Tcp(_)) || sender.id == MessageId::NONE || !sender.options.pinned {
                continue;
            }
            let half = sender.rdma();
            // A connection may have several messages.
            let under_way: alloc::vec::Vec<MessageId> = half.under_way().collect();
            let from = self.hosts[sender.host as usize].node;
            if under_way.is_empty() || !blocks(from, sender.to, sender.path, &under_way) {
                continue;
            }
            let next = sender.attempt.saturating_add(1);
            blocked.extend(under_way.into_iter().map(|message| (message, next)));
            if half.in_flight() == 0 {
                sender.attempt = next;
                if sender.options.whole
                    && let Carrier::Rdma(half) = &mut sender.carrier
                {
                    half.restart();
                }
            }
        }
        self.choose_nics_again(io);
        blocked
    }
}
