//! The layouts of headers that no standard has, as tables: the dissector for Wireshark and the page of headers are made
//! from them, and tests hold the codecs to them.

/// A field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its width in bits.
    pub bits: u32,
    /// Its meaning and unit.
    pub about: &'static str,
}

/// A header: its fields without gaps, from the highest bit of its first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name in display filters.
    pub key: &'static str,
    /// Its name for people, and where it stands.
    pub about: &'static str,
    /// Whether numbers begin with their lowest byte; their fields are whole bytes then.
    pub little_endian: bool,
    /// Its fields.
    pub fields: &'static [Field],
}

impl Header {
    /// Its bytes.
    pub const fn len(&self) -> usize {
        let (mut bits, mut at) = (0, 0);
        while at < self.fields.len() {
            bits += self.fields[at].bits;
            at += 1;
        }
        bits as usize / 8
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field's value in the bytes of a header; `None` where there is no such field, or too few bytes.
    pub fn value(&self, bytes: &[u8], field: &str) -> Option<u64> {
        let place = self.fields.iter().position(|of| of.name == field)?;
        let (from, bits) = (self.fields[..place].iter().map(|of| of.bits).sum::<u32>(), self.fields[place].bits);
        let bit = |at: u32| bytes.get(at as usize / 8).map(|byte| u64::from(byte >> (7 - at % 8) & 1));
        let value = (from..from + bits).try_fold(0, |value, at| Some(value << 1 | bit(at)?))?;
        Some(if self.little_endian { value.swap_bytes() >> (64 - bits) } else { value })
    }
}

const fn field(name: &'static str, bits: u32, about: &'static str) -> Field {
    Field { name, bits, about }
}

/// [`DartData`](crate::DartData) without its list.
pub const DART_DATA: Header = Header {
    key: "dart",
    about: "Dart's header in data packets, behind the BTH (opcode 0xC0)",
    little_endian: false,
    fields: &[
        field("start", 1, "the packet starts a message"),
        field("end", 1, "it ends a message"),
        field("list", 1, "a list of senders follows"),
        field("lane", 1, "virtual lane: 0 escape, 1 may be deflected"),
        field("tokens", 3, "deflections that the message may still take"),
        field("reserved", 1, "0"),
        field("tenant", 8, "tenant"),
        field("weight", 16, "weight of the message among those of other senders"),
        field("message", 32, "number of the message"),
        field("attempt", 16, "earlier attempts of the message, modulo 2^16"),
        field("reserved2", 16, "0"),
    ],
};

/// The head of a [`SenderList`](crate::SenderList).
pub const SENDER_LIST: Header = Header {
    key: "senders",
    about: "list of an incast's senders, behind Dart's header (look-ahead)",
    little_endian: false,
    fields: &[field("incast", 32, "number of the incast"), field("count", 16, "senders, 2 B each, that follow")],
};

/// [`DartAck`](crate::DartAck).
pub const DART_ACK: Header = Header {
    key: "dart_ack",
    about: "Dart's header in ACKs, behind the AETH (opcode 0xD1)",
    little_endian: false,
    fields: &[
        field("parts", 16, "parts of the line that are the sender's"),
        field("of", 16, "parts that the line has; 0 of 0 says nothing"),
    ],
};

/// The head of an [`IntHeader`](crate::IntHeader).
pub const INT: Header = Header {
    key: "int",
    about: "HPCC's telemetry, between UDP and BTH (HPCC Fig. 7)",
    little_endian: false,
    fields: &[
        field("hops", 4, "nHop: switches so far; the first five have a record"),
        field("path", 12, "pathID: XOR of the switches' numbers"),
    ],
};

/// [`IntRecord`](crate::IntRecord).
pub const INT_RECORD: Header = Header {
    key: "int_record",
    about: "record of a switch in HPCC's telemetry",
    little_endian: false,
    fields: &[
        field("speed", 4, "B: number of the egress port's rate"),
        field("time", 24, "TS: when the packet left, ns modulo 2^24"),
        field("sent", 20, "txBytes: sent by the port so far, units of 128 B modulo 2^20"),
        field("queued", 16, "qLen: queue of the port, units of 80 B"),
    ],
};

/// What is behind the Ethernet header of a packet without a standard layout.
pub const PLAIN: Header = Header {
    key: "credit",
    about: "credit or request, behind an Ethernet header of type 0x88B5",
    little_endian: false,
    fields: &[
        field("kind", 8, "kind of packet"),
        field("class", 8, "class"),
        field("connection", 32, "number of its connection"),
        field("tag", 32, "field of its scheme"),
        field("source", 32, "host that sent it"),
        field("destination", 32, "host that it goes to"),
        field("hops", 8, "links crossed"),
    ],
};

/// What processes of a run on a wire exchange over UDP.
pub const DATAGRAM: Header = Header {
    key: "datagram",
    about: "datagram between the processes of a run on a wire, over UDP; items follow",
    little_endian: true,
    fields: &[
        field("token", 64, "token of the run"),
        field("number", 32, "its number, from 1; 0 where it only acknowledges"),
        field("arrived", 32, "number of the last datagram that arrived in order"),
        field("promise", 64, "nothing that is sent later arrives before this time, ps"),
    ],
};

/// A part of a [`DATAGRAM`].
pub const ITEM: Header = Header {
    key: "item",
    about: "item of a datagram; an extension and a frame follow, or a message about a connection",
    little_endian: true,
    fields: &[
        field("kind", 8, "0 for a frame, 1 for a message about a connection"),
        field("number", 32, "the port that sent it, or the host that it goes to"),
        field("arrives", 64, "when its last bit arrives at the other end of its link, ps"),
        field("length", 32, "bytes that follow"),
    ],
};

/// What schemes need and no standard header has, in front of each frame of a [`DATAGRAM`].
pub const EXTENSION: Header = Header {
    key: "extension",
    about: "extension in front of each frame of a datagram",
    little_endian: false,
    fields: &[
        field("offset", 64, "first byte in the queue pair's stream; of an ACK, the next byte expected"),
        field("sent_at", 64, "when the data left its sender, ps; an ACK echoes it"),
        field("tag", 32, "field of the scheme, forward"),
        field("feedback", 32, "field of the scheme, backward"),
        field("key", 32, "path: hash key"),
        field("route", 32, "path: source route"),
        field("message", 32, "number of its message"),
        field("wire", 16, "bytes that the packet counts on the link"),
        field("attempt", 16, "attempt of its message"),
        field("scheme", 16, "number of its scheme"),
        field("flags", 8, "flags without a bit in the frame"),
        field("lane", 8, "virtual lane"),
        field("tokens", 8, "tokens for deflections"),
        field("deflections", 8, "deflections so far"),
        field("records", 8, "records of telemetry, 32 B each, that follow; 255 without telemetry"),
        field("reserved", 8, "0"),
        field("path", 16, "path of the telemetry"),
    ],
};

/// All of them.
pub const ALL: [Header; 9] = [DART_DATA, SENDER_LIST, DART_ACK, INT, INT_RECORD, PLAIN, DATAGRAM, ITEM, EXTENSION];
