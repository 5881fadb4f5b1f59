//! The part of a packet that schemes may read and write, embedded in the 64-byte packet of the fabric.

use fanin_units::{MessageId, NodeId, Time};

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a flow.
    #[default]
    Data,
    /// Cumulative acknowledgement.
    Ack,
    /// Negative acknowledgement: `seq` is the next byte expected. With selective retransmission, `seq + cc_tag` is the
    /// first byte of the packet that it answers, which has arrived or, with [`flags::CUT`], is to be sent again.
    Nack,
    /// Congestion notification packet.
    Cnp,
    /// Permission to send one packet.
    Credit,
    /// Priority flow control. Of `cc_tag`, bits 8 to 15 are the classes that change, and bits 0 to 7 those that stop.
    Pause,
    /// A packet without payload in which the sender's scheme asks for something ahead of its data or beside it: a rate
    /// (RCP), credits (ExpressPass). It goes the way of the data, in its class.
    Request,
    /// Credit flow control of a link: InfiniBand's flow control packet, in its layout. Of `cc_tag`, bits 16 to 27 are
    /// the blocks sent so far (FCTBS), 12 to 15 the virtual lane, and 0 to 11 the limit of credits (FCCL).
    FlowControl,
    /// The header of a data packet whose payload a switch cut: `payload` still says how much it had, `wire` is what is
    /// left. It goes on in the control class, and the receiver answers it with a NACK.
    Trimmed,
}

impl Kind {
    /// Whether it is from one end of a link to the other, for flow control.
    #[inline(always)]
    pub const fn is_of_link(self) -> bool {
        matches!(self, Self::Pause | Self::FlowControl)
    }
}

/// Bits of [`Header::flags`].
pub mod flags {
    /// Congestion experienced: set by a queue that marks.
    pub const CE: u8 = 1;
    /// ECN-capable transport: the packet may be marked.
    pub const ECT: u8 = 2;
    /// First packet of a message.
    pub const START: u8 = 4;
    /// Last packet of a message.
    pub const END: u8 = 8;
    /// The same bit as [`START`] on ACKs and NACKs, where senders choose paths: the packet that it answers was marked,
    /// whatever its scheme's receiver echoes.
    pub const MARKED: u8 = START;
    /// The same bit as [`END`] on a NACK: a switch cut the packet that it names.
    pub const CUT: u8 = END;
    /// The same bit as [`END`] on an ACK of RDMA: it names the packet that it answers, which begins `cc_tag`, with a
    /// sign, behind `seq`, and has a bitmap of those around it.
    pub const NAMES: u8 = END;
    /// An ACK that echoes a mark.
    pub const ECHO: u8 = 16;
    /// The same bit on data of RDMA: selective retransmission sends it again, so that it is no reordering.
    pub const RESENT: u8 = ECHO;
    /// An ACK that asks for immediate loss recovery (RCC's PSH).
    pub const PUSH: u8 = 32;
    /// The same bit on data of RDMA whose receiver acknowledges several packets at a time: it asks for an ACK at once.
    pub const ASKS: u8 = PUSH;
    /// It belongs to a TCP connection, whose segment is stored beside the header.
    pub const TCP: u8 = 64;
    /// Switches write telemetry into it.
    pub const INT: u8 = 128;
}

/// The header, 48 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Header {
    /// Data: offset of the first payload byte in its channel. ACK and NACK: next byte expected.
    pub seq: u64,
    /// When the data left its sender; an ACK echoes the value of the packet that it answers.
    pub sent_at: Time,
    /// The channel it belongs to.
    pub flow: MessageId,
    /// The sending host.
    pub src: NodeId,
    /// The destination host.
    pub dst: NodeId,
    /// One field of the sender's scheme on data and requests, for switches and the receiver (a credit's number, RCP's
    /// round-trip time). On a NACK see [`Kind::Nack`], on an ACK [`flags::NAMES`].
    pub cc_tag: u32,
    /// One field of the receiver's scheme on ACKs (Dart's share, RCP's rate). On data and requests it begins at 0, and
    /// switches may write it (RCP's rate); where senders choose paths, it is the number of the packet's path.
    pub cc_feedback: u32,
    /// Bytes on the wire, every header included.
    pub wire: u16,
    /// Payload bytes. Where senders choose paths, on ACKs and NACKs the path of the packet that they answer.
    pub payload: u16,
    /// Which transmission of the message this is, from 0.
    pub attempt: u16,
    /// Its kind.
    pub kind: Kind,
    /// Service class: 0 is control and served first.
    pub class: u8,
    /// Bits of [`flags`].
    pub flags: u8,
    /// Links crossed so far.
    pub hops: u8,
    /// Remaining deflections.
    pub tokens: u8,
    /// Virtual lane within its class.
    pub lane: u8,
}

impl Header {
    /// Whether `flag` is set.
    #[inline(always)]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether a sender that chooses paths puts the number of one into `cc_feedback`.
    #[inline(always)]
    pub const fn has_path_number(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Trimmed)
    }
}

const _: () = assert!(core::mem::size_of::<Header>() == 48);
