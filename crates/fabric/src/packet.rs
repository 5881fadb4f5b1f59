//! Packets in a slab: 64 bytes each, addressed by index.

use crate::path::FlowPath;
use crate::port::PortIx;
use fanin_cc::{Header, IntHop, Telemetry};
use fanin_endpoint::tcp::Segment;
use fanin_engine::prefetch;
use fanin_units::NodeId;

/// Index of a packet in the [`Slab`].
pub type PacketIx = u32;

/// No packet.
const NIL: PacketIx = u32::MAX;

/// A packet: its header for schemes, and the state of the fabric.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Packet {
    /// Its header.
    pub head: Header,
    /// Its path; in a free place, the key is the next free place.
    pub path: FlowPath,
    /// The number of state changes of its link when it was sent; a different number on arrival means that it was lost.
    pub epoch: u16,
    /// The scheme of its traffic.
    pub scheme: u16,
    /// Its egress port at the next node.
    pub next_hop: NextHop,
}

/// The egress port of a packet at the next node (three bytes), and its deflections so far (one byte).
#[derive(Clone, Copy, Debug, Default)]
pub struct NextHop(u32);

impl NextHop {
    /// Number of ports that it can represent.
    pub const PORTS: usize = 1 << 24;

    /// The port, if the packet has a source route and routes have not changed since the start; else unspecified.
    #[inline(always)]
    pub fn port(self) -> PortIx {
        PortIx(self.0 >> 8)
    }

    /// Sets the port.
    #[inline(always)]
    pub fn set_port(&mut self, port: PortIx) {
        self.0 = port.0 << 8 | self.0 & 0xFF;
    }

    /// Deflections so far.
    #[inline(always)]
    pub fn deflections(self) -> u8 {
        self.0 as u8
    }

    /// Counts a deflection.
    pub fn deflect(&mut self) {
        self.0 += u32::from(self.deflections() < u8::MAX);
    }
}

const _: () = assert!(core::mem::size_of::<Packet>() == 64);

/// All existing packets, and free places.
#[derive(Default)]
pub struct Slab {
    packets: Vec<Packet>,
    free: PacketIx,
    any_free: bool,
    /// Segments of TCP packets, by the same index; of the same length once there was one.
    segments: Vec<Segment>,
    /// Telemetry of packets, by the same index; of the same length once there was one.
    telemetry: Vec<Telemetry>,
    /// Bitmaps of ACKs, by the same index; of the same length once there was one.
    bitmaps: Vec<u64>,
}

impl Slab {
    /// An empty slab with a capacity in packets: untouched memory costs nothing, and a slab that never moves does not
    /// fragment the heap.
    pub fn with_capacity(packets: usize) -> Self {
        Self { packets: Vec::with_capacity(packets), ..Self::default() }
    }

    /// Copies a packet in, directly and not via the stack.
    #[inline(always)]
    pub fn add(&mut self, packet: &Packet) -> PacketIx {
        if self.any_free {
            let ix = self.free;
            let place = &mut self.packets[ix as usize];
            self.any_free = place.path.key != NIL;
            self.free = place.path.key;
            place.clone_from(packet);
            ix
        } else {
            self.packets.extend_from_slice(core::slice::from_ref(packet));
            (self.packets.len() - 1) as PacketIx
        }
    }

    /// Removes a packet. Its header stays readable until the next `add`.
    #[inline(always)]
    pub fn remove(&mut self, ix: PacketIx) {
        let packet = &mut self.packets[ix as usize];
        packet.head.wire = 0;
        packet.path.key = if self.any_free { self.free } else { NIL };
        self.free = ix;
        self.any_free = true;
    }

    /// All packets that exist.
    pub fn all(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|packet| packet.head.wire > 0)
    }

    /// Sets the TCP segment of a packet.
    #[inline(always)]
    pub fn set_segment(&mut self, ix: PacketIx, segment: Segment) {
        if self.segments.len() <= ix as usize {
            self.segments.resize(self.packets.len(), Segment::default());
        }
        self.segments[ix as usize] = segment;
    }

    /// The TCP segment of a packet that has one.
    #[inline(always)]
    pub fn segment(&self, ix: PacketIx) -> Segment {
        self.segments[ix as usize]
    }

    /// Sets the bitmap of an ACK.
    pub fn set_bitmap(&mut self, ix: PacketIx, bitmap: u64) {
        if self.bitmaps.len() <= ix as usize {
            self.bitmaps.resize(self.packets.len(), 0);
        }
        self.bitmaps[ix as usize] = bitmap;
    }

    /// The bitmap of an ACK that has one.
    pub fn bitmap(&self, ix: PacketIx) -> u64 {
        self.bitmaps[ix as usize]
    }

    /// Gives a new packet telemetry without records.
    #[inline(always)]
    pub fn start_telemetry(&mut self, ix: PacketIx) {
        self.telemetry_mut(ix).clear();
    }

    /// Sets the telemetry that an ACK carries back.
    #[inline(always)]
    pub fn set_telemetry(&mut self, ix: PacketIx, telemetry: &Telemetry) {
        *self.telemetry_mut(ix) = *telemetry;
    }

    #[inline(always)]
    fn telemetry_mut(&mut self, ix: PacketIx) -> &mut Telemetry {
        if self.telemetry.len() <= ix as usize {
            self.telemetry.resize(self.packets.len(), Telemetry::default());
        }
        &mut self.telemetry[ix as usize]
    }

    /// A switch writes its record into a packet that has telemetry.
    #[inline(always)]
    pub fn record_hop(&mut self, ix: PacketIx, switch: NodeId, hop: IntHop) {
        self.telemetry[ix as usize].push(switch, hop);
    }

    /// The telemetry of a packet that has it; like the header, it stays readable until the next `add`.
    #[inline(always)]
    pub fn telemetry(&self, ix: PacketIx) -> &Telemetry {
        &self.telemetry[ix as usize]
    }

    /// Exchanges two packets, with all that belongs to them.
    pub fn swap(&mut self, a: PacketIx, b: PacketIx) {
        let (a, b) = (a as usize, b as usize);
        self.packets.swap(a, b);
        let most = a.max(b);
        if !self.telemetry.is_empty() {
            self.telemetry.resize(self.telemetry.len().max(most + 1), Telemetry::default());
            self.telemetry.swap(a, b);
        }
    }

    /// Prefetches a packet, if there is one in this place.
    #[inline(always)]
    pub fn prefetch(&self, ix: PacketIx) {
        prefetch(&self.packets, ix as usize);
    }

    /// The packet in a place, if there is one.
    #[inline(always)]
    pub fn get(&self, ix: PacketIx) -> Option<&Packet> {
        self.packets.get(ix as usize)
    }

    /// Bytes of all existing packets, counted by a walk.
    pub fn live_bytes(&self) -> u64 {
        self.packets.iter().map(|p| p.head.wire as u64).sum()
    }
}

impl Packet {
    /// A new packet.
    #[inline(always)]
    pub fn new(head: Header, path: FlowPath) -> Self {
        Self { head, path, ..Self::default() }
    }
}

impl core::ops::Index<PacketIx> for Slab {
    type Output = Packet;
    #[inline(always)]
    fn index(&self, ix: PacketIx) -> &Packet {
        &self.packets[ix as usize]
    }
}

impl core::ops::IndexMut<PacketIx> for Slab {
    #[inline(always)]
    fn index_mut(&mut self, ix: PacketIx) -> &mut Packet {
        &mut self.packets[ix as usize]
    }
}
