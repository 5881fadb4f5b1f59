//! Queue pairs: the two ends of a flow, as their hosts keep them.

use super::io::names;
use super::{NO_SLOT, TcpEnd, Traffic};
use crate::{Pacer, rc, selective, whole};
use alloc::boxed::Box;
use fanin_cc::{Control, Header, Kind, SendOptions, flags};
use fanin_units::{MessageId, NodeId, Time};

/// A sender's place at its NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Turn {
    /// Nothing to send, or not allowed to.
    #[default]
    Idle,
    /// In the ring of senders that may send now.
    Ready,
    /// In the heap of senders that wait for their time.
    Paced,
}

/// The transport of a sender.
#[derive(Debug)]
pub enum Carrier {
    /// A reliable connection of RDMA.
    Rdma(rc::SendHalf),
    /// One with selective retransmission.
    Selective(Box<selective::SendHalf>),
    /// An end of a TCP connection.
    Tcp(Box<TcpEnd>),
}

/// A sender: the sending end of an RDMA queue pair, or an end of a TCP connection.
#[derive(Debug)]
pub struct SendQp<P> {
    /// Its number: the message that opened it; `NONE` when the slot is free.
    pub(super) id: MessageId,
    /// Its transport, which chooses the data to send.
    pub(super) carrier: Carrier,
    /// Its window and pacing.
    pub(super) pacer: Pacer,
    /// Its slot in the scheme's pool.
    pub(super) cc: u32,
    pub(super) scheme: u16,
    pub(super) traffic: u16,
    /// The NIC it leaves by.
    pub(super) nic: u32,
    /// Its host.
    pub(super) host: u32,
    /// Its receiver.
    pub(super) to: NodeId,
    pub(super) path: P,
    /// The message that its next packet belongs to.
    pub(super) message: MessageId,
    /// The send options of that message.
    pub(super) options: SendOptions,
    /// The class of its packets.
    pub(super) class: u8,
    /// Dense number of the (host, receiver) pair, or [`NO_SLOT`] where its scheme shares no state within a pair.
    pub(super) pair: u32,
    pub(super) turn: Turn,
    /// Closed while it was in the ring.
    pub(super) dead: bool,
    /// The next sender in the ring.
    pub(super) next_ready: u32,
    /// When it is due in the heap.
    pub(super) paced_at: Time,
    /// Order of senders of a NIC that are due at the same time: a sender's number, or, if it shares state with others
    /// of its pair (Dart's bucket), its last turn, so that these alternate packet by packet.
    pub(super) order: u32,
    /// The scheme's timer.
    pub(super) timer_at: Time,
    /// The one valid timer event.
    pub(super) timer_event: Time,
    /// When the retransmission timer runs out.
    pub(super) deadline: Time,
    /// Its place in the host's list of senders.
    pub(super) at_host: u32,
    /// Data packets sent, and those of them that had been sent before.
    pub(super) sent: u32,
    pub(super) resent: u32,
    /// Number of restarts.
    pub(super) attempt: u16,
    /// How long it has tried without progress.
    pub(super) tried: Tried,
}

/// What a queue pair has tried in vain. It is only compared when something is tried again, so that progress costs
/// nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tried {
    /// Timeouts in a row with everything before this byte acknowledged.
    timeouts: u32,
    acked_to: u64,
    /// Requests in a row with everything before this byte sent.
    requests: u32,
    sent_to: u64,
}

impl Tried {
    /// A timeout is due. Returns whether it is one too many.
    pub fn is_over(&self, acked_to: u64, retries: u32) -> bool {
        self.acked_to == acked_to && self.timeouts >= retries && retries < u32::MAX
    }

    /// A timeout. After it, everything before `after` counts as acknowledged.
    pub fn note_timeout(&mut self, acked_to: u64, after: u64) {
        let again = self.acked_to == acked_to;
        self.timeouts = if again { self.timeouts.saturating_add(1) } else { 1 };
        self.acked_to = after;
    }

    /// A request that data waits for.
    pub fn note_request(&mut self, sent_to: u64) {
        self.requests = if self.sent_to == sent_to { self.requests.saturating_add(1) } else { 1 };
        self.sent_to = sent_to;
    }

    /// The scheme's timer is due, with data left. Returns whether it has asked often enough.
    pub fn asked_enough(&self, sent_to: u64, retries: u32) -> bool {
        self.sent_to == sent_to && self.requests > retries
    }
}

impl<P> SendQp<P> {
    /// A sender without data to send.
    pub(super) fn new(id: MessageId, carrier: Carrier, control: &Control, credit: u32, path: P) -> Self {
        Self {
            id,
            carrier,
            pacer: Pacer::new(control, credit),
            cc: 0,
            scheme: 0,
            traffic: 0,
            nic: 0,
            host: 0,
            to: NodeId::NONE,
            path,
            message: MessageId::NONE,
            options: SendOptions::default(),
            class: 0,
            pair: NO_SLOT,
            turn: Turn::Idle,
            dead: false,
            next_ready: NO_SLOT,
            paced_at: Time::NEVER,
            order: id.0,
            timer_at: Time::NEVER,
            timer_event: Time::NEVER,
            deadline: Time::NEVER,
            at_host: 0,
            sent: 0,
            resent: 0,
            attempt: 0,
            tried: Tried::default(),
        }
    }

    /// The order of its timer events: both ends of a TCP connection have the number of the message that opened it.
    pub(super) fn timer_number(&self) -> u32 {
        match &self.carrier {
            Carrier::Tcp(end) => self.id.0 | (end.passive as u32) << 28,
            Carrier::Rdma(_) | Carrier::Selective(_) => self.id.0,
        }
    }

    /// Whether it has data that its window allows it to send.
    #[inline(always)]
    pub fn can_send(&self, now: Time) -> bool {
        match &self.carrier {
            Carrier::Rdma(half) => half.has_data() && self.pacer.open(half.in_flight()),
            Carrier::Selective(half) => half.has_data() && self.pacer.open(half.against_window()),
            Carrier::Tcp(end) => end.connection.can_transmit(now, self.pacer.window()),
        }
    }

    /// Payload bytes of its queue pair in flight.
    #[inline(always)]
    pub(super) fn in_flight(&self) -> u64 {
        match &self.carrier {
            Carrier::Selective(half) => half.in_flight(),
            _ => self.rdma().in_flight(),
        }
    }

    /// Whether its NIC has more segments of a burst, which follow at once.
    #[inline]
    pub(super) fn in_burst(&self) -> bool {
        matches!(&self.carrier, Carrier::Tcp(end) if end.connection.in_burst())
    }

    /// Its end of a TCP connection.
    ///
    /// # Panics
    /// If it is none: only called for senders of traffics over TCP.
    #[inline(always)]
    pub(super) fn tcp(&self) -> &TcpEnd {
        match &self.carrier {
            Carrier::Tcp(end) => end,
            _ => unreachable!("the sender is an end of a TCP connection"),
        }
    }

    /// The same to change it.
    ///
    /// # Panics
    /// As [`SendQp::tcp`].
    #[inline(always)]
    pub(super) fn tcp_mut(&mut self) -> &mut TcpEnd {
        match &mut self.carrier {
            Carrier::Tcp(end) => end,
            _ => unreachable!("the sender is an end of a TCP connection"),
        }
    }

    /// The sending half of its queue pair.
    ///
    /// # Panics
    /// If it is none: only called for senders of traffics over RDMA.
    #[inline(always)]
    pub(super) fn rdma_mut(&mut self) -> &mut rc::SendHalf {
        match &mut self.carrier {
            Carrier::Rdma(half) => half,
            Carrier::Selective(half) => half.stream_mut(),
            Carrier::Tcp(_) => unreachable!("the sender is a queue pair of RDMA"),
        }
    }

    /// See [`SendQp::rdma_mut`].
    ///
    /// # Panics
    /// As [`SendQp::rdma_mut`].
    #[inline(always)]
    pub(super) fn rdma(&self) -> &rc::SendHalf {
        match &self.carrier {
            Carrier::Rdma(half) => half,
            Carrier::Selective(half) => half.stream(),
            Carrier::Tcp(_) => unreachable!("the sender is a queue pair of RDMA"),
        }
    }

    /// Takes the next packet of its queue pair, whose payload is at most what `payload` says of a packet that is the
    /// first of its message or is not.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time, payload: impl Fn(bool) -> u32) -> rc::Segment {
        match &mut self.carrier {
            Carrier::Rdma(half) => half.take(payload(half.at_start())),
            Carrier::Selective(half) => half.take(now, payload(half.at_start())),
            Carrier::Tcp(_) => unreachable!("the sender is a queue pair of RDMA"),
        }
    }

    /// Whether its queue pair has a packet to send, whatever its window.
    pub fn has_data(&self) -> bool {
        match &self.carrier {
            Carrier::Selective(half) => half.has_data(),
            _ => self.rdma().has_data(),
        }
    }

    /// Payload bytes of its queue pair that are to be sent: posted and not sent yet, and of selective retransmission at
    /// least one where something is to be sent again.
    #[inline(always)]
    pub(super) fn left(&self) -> u64 {
        match &self.carrier {
            Carrier::Selective(half) => half.stream().left().max(half.has_data() as u64),
            _ => self.rdma().left(),
        }
    }

    /// The message that the next packet of its queue pair belongs to.
    #[inline(always)]
    pub fn next_message(&self) -> MessageId {
        match &self.carrier {
            Carrier::Selective(half) => half.next_message(),
            _ => self.rdma().next_message(),
        }
    }

    /// [`flags::ASKS`] for a packet behind which `left` bytes are to be sent, where ACKs name packets.
    ///
    /// uet-htsim: the last packet that is there to send, and the last one that the window lets out.
    #[inline(never)]
    pub(super) fn asks(&self, left: u64, traffic: &Traffic) -> u8 {
        let asks = left == 0 || !self.pacer.open(self.in_flight());
        if asks && traffic.config.endpoint.names_packets() { flags::ASKS } else { 0 }
    }

    /// Its queue pair takes an ACK or NACK. Returns the bytes newly acknowledged and calls `finished` for each message
    /// that is now complete.
    #[inline(always)]
    pub(super) fn take_ack(&mut self, head: &Header, finished: impl FnMut(MessageId)) -> u64 {
        match &mut self.carrier {
            Carrier::Rdma(half) => half.on_ack(head.seq, finished),
            Carrier::Selective(half) => {
                let arrived = match head.kind {
                    Kind::Nack => Some(head.seq + u64::from(head.cc_tag)),
                    _ if names(head) => Some(head.seq.wrapping_add_signed((head.cc_tag as i32).into())),
                    _ => None,
                };
                half.on_ack(head.seq, arrived, finished)
            }
            Carrier::Tcp(_) => unreachable!("the sender is a queue pair of RDMA"),
        }
    }
}

/// The transport of a receiver.
#[derive(Clone, Copy, Debug)]
pub enum Incoming {
    /// The receiving half of an RDMA queue pair.
    Rdma(rc::ReceiveHalf),
    /// That of one with go-back-0.
    Whole(whole::ReceiveHalf),
    /// That of one with selective retransmission, which is stored beside the receivers under the receiver's slot.
    Kept,
    /// The TCP connection whose end at this host has this slot among the senders.
    Tcp(u32),
    /// That of a queue pair for many messages which was given up: what still comes is ignored.
    Gone,
}

impl Incoming {
    /// Whether it is kept beside the receivers.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Kept)
    }
}

/// A receiver: one flow of a scheme's receiver role.
#[derive(Clone, Copy, Debug)]
pub struct RecvQp<P> {
    /// Its number: the message that opened it; `NONE` when the slot is free.
    pub(super) id: MessageId,
    /// Its transport, which tracks the received data.
    pub(super) incoming: Incoming,
    /// Its sender, and its own host.
    pub(super) from: NodeId,
    pub(super) here: NodeId,
    /// The path of its ACKs.
    pub(super) path: P,
    /// Data packets that arrived, and those of them that were marked.
    pub(super) arrived: u32,
    pub(super) marked: u32,
    pub(super) traffic: u16,
    pub(super) scheme: u16,
    /// When the data packet that an ACK answers was sent.
    pub(super) last_sent_at: Time,
    /// The number of its path, where senders choose them, and its flags.
    pub(super) last_path: u16,
    pub(super) last_flags: u8,
    /// Whether it is an end of a connection that stays open.
    pub(super) connection: bool,
    /// The current attempt, and the offset after its furthest packet.
    pub(super) attempt: u16,
    pub(super) furthest: u64,
    /// Data packets that arrived after a later one of their attempt.
    pub(super) reordered: u32,
}

impl<P> RecvQp<P> {
    /// A receiver that no packet has reached yet.
    pub(super) fn new(
        id: MessageId,
        incoming: Incoming,
        (from, here): (NodeId, NodeId),
        path: P,
        (traffic, scheme): (u16, u16),
    ) -> Self {
        Self {
            id,
            incoming,
            from,
            here,
            path,
            arrived: 0,
            marked: 0,
            traffic,
            scheme,
            last_sent_at: Time::ZERO,
            last_path: 0,
            last_flags: 0,
            connection: false,
            attempt: 0,
            furthest: 0,
            reordered: 0,
        }
    }
}
