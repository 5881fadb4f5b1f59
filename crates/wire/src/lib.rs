//! Header layouts as bytes: what the packets of the simulator look like on a real link.
//!
//! Every header is a plain struct with `LEN`, `encode` and `decode`. `decode` takes any bytes: it gives the header and
//! the bytes after it, or a [`WireError`] that names the header at fault. [`Packet`] does the same for whole frames,
//! from the destination address to the frame check sequence (FCS). Nothing here allocates.
//!
//! TCP is separate ([`Tcp`]): a segment is not one of the packets above.
//!
//! Not modelled: preamble and inter-frame gap (20 B of link time per frame), VLAN tags (a class is a DSCP here), IPv4
//! options and fragments, IPv6, RDMA WRITE and READ (their RETH).
#![no_std]
#![forbid(unsafe_code)]

mod crc;
pub mod dart;
mod error;
mod ethernet;
pub mod int;
mod ip;
pub mod layouts;
mod packet;
mod pfc;
mod roce;
mod tcp;

pub use crc::Crc32;
pub use dart::{DartAck, DartData, SenderList, Senders};
pub use error::WireError;
pub use ethernet::{Ethernet, FCS_LEN, MIN_FRAME, Mac, ethertype, fcs};
pub use int::{IntHeader, IntRecord};
pub use ip::{Ecn, Ipv4, PROTOCOL_UDP, ROCE_PORT, Udp};
pub use packet::{Cnp, DartSend, Data, Envelope, Packet, Response};
pub use pfc::{PFC_ADDRESS, Pfc};
pub use roce::{Aeth, Bth, CNP_RESERVED, DEFAULT_PARTITION, ICRC_LEN, Syndrome, icrc, opcode};
pub use tcp::{PROTOCOL_TCP, Runs, Tcp, checksum as tcp_checksum};

/// Bytes on the wire by kind of packet: the whole Ethernet frame with its FCS. Defaults of the simulator.
pub mod size {
    use super::{
        Aeth, Bth, CNP_RESERVED, DartAck, DartData, Ethernet, FCS_LEN, ICRC_LEN, IntHeader, Ipv4, MIN_FRAME, Pfc, Udp,
    };
    use fanin_units::Bytes;

    /// All headers and trailers of a RoCEv2 data packet.
    pub const DATA_HEADER: Bytes = Bytes((Ethernet::LEN + Ipv4::LEN + Udp::LEN + Bth::LEN + ICRC_LEN + FCS_LEN) as u64);
    /// An acknowledgement.
    pub const ACK: Bytes = data(Aeth::LEN as u64);
    /// A negative acknowledgement; its layout is that of an ACK.
    pub const NACK: Bytes = ACK;
    /// A congestion notification packet.
    pub const CNP: Bytes = data(CNP_RESERVED as u64);
    /// A PFC frame, PAUSE or RESUME.
    pub const PAUSE: Bytes = frame((Ethernet::LEN + Pfc::LEN + FCS_LEN) as u64);

    /// All headers and trailers of a data packet of Dart without a list of senders.
    pub const DART_DATA_HEADER: Bytes = Bytes(DATA_HEADER.0 + DartData::LEN as u64);
    /// An acknowledgement of Dart.
    pub const DART_ACK: Bytes = data((Aeth::LEN + DartAck::LEN) as u64);

    /// A data packet of Dart with this many bytes of payload and, where it has one, list of senders
    /// ([`SenderList::wire_len`](super::SenderList::wire_len)), padded like [`data`]. Saturates.
    pub const fn dart_data(list_and_payload: u64) -> Bytes {
        data(list_and_payload.saturating_add(DartData::LEN as u64))
    }

    /// All headers and trailers of a data packet with telemetry of five switches (HPCC).
    pub const INT_DATA_HEADER: Bytes = Bytes(DATA_HEADER.0 + IntHeader::MOST_LEN as u64);
    /// An acknowledgement with as much. (42 bytes are no multiple of 4, but padding is of the payload alone.)
    pub const INT_ACK: Bytes = frame(DATA_HEADER.0 + (Aeth::LEN + IntHeader::MOST_LEN) as u64);

    /// A data packet with this many payload bytes. The payload is padded to a multiple of 4 bytes (its BTH says by how
    /// much) and the frame to [`MIN_FRAME`]. Saturates.
    pub const fn data(payload: u64) -> Bytes {
        let padding = payload.wrapping_neg() % 4;
        frame(payload.saturating_add(padding).saturating_add(DATA_HEADER.0))
    }

    const fn frame(bytes: u64) -> Bytes {
        Bytes(if bytes < MIN_FRAME as u64 { MIN_FRAME as u64 } else { bytes })
    }
}
