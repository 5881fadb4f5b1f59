//! A program of datagrams against an endpoint, from outside and from a peer that lies.
//!
//! An endpoint with a peer, and a message in each direction, takes the datagrams of a program: each begins with a byte
//! that says what it is, two for its length, and two for the time since the one before, in 16 us. From outside it comes
//! as it is (0), or from another address (1); from the peer (2 + kind) it is a body that gets a header and a tag that
//! hold.

use super::config::{Config, Limits};
use super::core::{Core, Event, PeerId};
use super::datagram::{HEADER, kind};
use crate::{Carried, Path};
use fanin_cc::{Header, Kind, Settings};
use fanin_endpoint::host::Recovery;
use fanin_endpoint::selective::{Cap, Rules};
use fanin_units::{NodeId, Rate, Time};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

const SCHEMES: [&str; 8] = ["dcqcn", "dart", "hpcc", "timely", "expresspass", "infiniband", "dctcp-rate", "cubic"];

fn at(host: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, host).into()
}

/// An endpoint and its peer, connected.
pub struct Pair {
    /// The endpoint.
    pub end: Core,
    /// The peer.
    pub peer: Core,
    /// The connection at the endpoint, and at the peer.
    pub ids: [PeerId; 2],
    /// The time.
    pub now: Time,
    /// Datagrams that arrived at the endpoint so far: the peer's and all others.
    pub taken: u64,
}

impl Pair {
    /// Connected, with a message of 3000 bytes in each direction announced. Schemes and ways of recovery by number.
    pub fn new(which: u8) -> Option<Self> {
        let mut config = Config::new(Settings::preset(SCHEMES[usize::from(which) % SCHEMES.len()])?);
        // A packet takes a millisecond.
        config.rate = Rate::from_mbps(10);
        let rules = Rules { cap: Cap::Off, timeout_high: Time::from_ms(50), low_up_to: 3, nacks: 1, tell_scheme: true };
        config.endpoint.recovery = match which / SCHEMES.len() as u8 % 3 {
            0 => Recovery::GoBackN,
            1 => Recovery::Selective(rules),
            _ => Recovery::GoBack0,
        };
        config.limits = Limits { messages: 4, message: 100_000, unfinished: 100_000, ahead: 20_000, ..config.limits };
        let (end, peer) = (Core::new(config.clone(), [1, 2, 3, 4]).ok()?, Core::new(config, [5, 6, 7, 8]).ok()?);
        let mut pair = Self { end, peer, ids: [PeerId(0); 2], now: Time::ZERO, taken: 0 };
        pair.ids[1] = pair.peer.connect(Time::ZERO, at(1));
        for _ in 0..4 {
            pair.pass(true);
        }
        while let Some(event) = pair.end.take_event() {
            if let Event::Accepted { peer, .. } = event {
                pair.ids[0] = peer;
            }
        }
        let content: Arc<[u8]> = [7; 3000].into();
        pair.end.post(pair.now, pair.ids[0], content.clone(), None).ok()?;
        pair.peer.post(pair.now, pair.ids[1], content, Some((1, &[1, 2]))).ok()?;
        Some(pair)
    }

    /// Lets half a millisecond pass, and all datagrams arrive; `both` or only those from the peer. Returns these.
    pub fn pass(&mut self, both: bool) -> Vec<Vec<u8>> {
        self.now = self.now.saturating_add(Time::from_us(500));
        self.end.run(self.now);
        self.peer.run(self.now);
        while let Some(of) = self.end.take_datagram() {
            if both {
                self.peer.on_datagram(self.now, at(1), false, &of.bytes);
            }
        }
        self.peer.run(self.now);
        let mut sent = Vec::new();
        while let Some(of) = self.peer.take_datagram() {
            self.take(at(2), false, &of.bytes);
            sent.push(of.bytes);
        }
        sent
    }

    /// A datagram arrives at the endpoint.
    pub fn take(&mut self, from: SocketAddr, ce: bool, bytes: &[u8]) {
        self.taken += 1;
        self.end.on_datagram(self.now, from, ce, bytes);
        self.end.run(self.now);
    }

    /// The peer sends this body, whatever it is.
    pub fn lie(&mut self, of: u8, body: &[u8]) {
        self.peer.send(self.ids[1].0, of, false, |bytes| bytes.extend_from_slice(body));
        while let Some(of) = self.peer.take_datagram() {
            self.take(at(2), body.len().is_multiple_of(2), &of.bytes);
        }
    }

    /// The peer acknowledges this byte of the endpoint's message, or all before it and a packet so far behind it, with
    /// a frame that is whole.
    pub fn acknowledge(&mut self, kind: Kind, seq: u64, cc_tag: u32) {
        self.packet(Header { seq, kind, cc_tag, wire: 200, ..Header::default() });
    }

    /// The peer sends a packet of its first message, with ones as payload.
    pub fn packet(&mut self, head: Header) {
        let head = Header { src: NodeId(0), dst: NodeId(1), ..head };
        let path = Path { key: 0, route: 0 };
        let carried = Carried { head, channel: head.flow, path, scheme: 0, deflections: 0, telemetry: None };
        let (mut body, payload) = (Vec::new(), vec![1; usize::from(head.payload)]);
        if carried.encode_with(&self.peer.formats, (NodeId(0), NodeId(1)), None, &payload, &mut body).is_ok() {
            self.lie(kind::FRAME, &body);
        }
    }

    /// Panics if the endpoint keeps more than it may.
    pub fn check(&mut self) {
        while self.end.take_datagram().is_some() {}
        while let Some(event) = self.end.take_event() {
            if let Event::Arrived { content, .. } = event {
                assert!(content.len() <= 100_000, "a message is longer than it may be");
            }
        }
        let [peers, messages, bytes, known] = self.end.memory();
        assert!(peers <= 2 && messages <= 4 && bytes <= 2 * 100_000 + 4 * 20_000 && known <= 5, "it keeps too much");
    }
}

/// Runs a program; panics if something is wrong.
pub fn run(program: &[u8]) {
    let Some((which, mut rest)) = program.split_first() else { return };
    let Some(mut pair) = Pair::new(*which) else { return };
    while let [what, a, b, c, d, more @ ..] = rest {
        let (len, wait) = (usize::from(u16::from_be_bytes([*a, *b])), u64::from(u16::from_be_bytes([*c, *d])));
        let (body, behind) = more.split_at(len.min(more.len()));
        rest = behind;
        pair.now = pair.now.saturating_add(Time::from_us(16 * wait));
        match what {
            0 => pair.take(at(2), false, body),
            1 => pair.take(at(3), false, body),
            of => pair.lie(of - 2, body),
        }
        pair.check();
    }
    pair.now = pair.now.saturating_add(Time::from_s(1));
    pair.end.run(pair.now);
    pair.check();
}

/// Programs that are what a peer sends: as it is, and as bodies.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for which in 0..3 * SCHEMES.len() as u8 {
        let Some(mut pair) = Pair::new(which) else { continue };
        let sent: Vec<Vec<u8>> = (0..8).flat_map(|_| pair.pass(true)).collect();
        for lies in [false, true] {
            let mut program = vec![which];
            for bytes in sent.iter().take(12) {
                let (what, body) = if lies { (2 + bytes[1], &bytes[HEADER..]) } else { (0, &bytes[..]) };
                if bytes[1] < kind::FRAME && lies {
                    continue;
                }
                program.push(what);
                program.extend((body.len() as u16).to_be_bytes());
                program.extend([0, 31]);
                program.extend_from_slice(body);
            }
            seeds.push(program);
        }
    }
    seeds
}
