//! Two ends and a wire that delays every segment by the same time, unless the script says otherwise. Sending takes no
//! time, so segments that leave together arrive together, in order.

use fanin_endpoint::tcp::{Acked, Config, Connection, Covers, Expired, Outcome, Segment, State, bits};
use fanin_units::Time;
use std::collections::BTreeMap;

pub const MSS: u64 = 1000;
/// One way. A round trip is 10 ms.
pub const DELAY: Time = Time::from_ms(5);

/// Every second segment acknowledged; SACK, ECN and scaling offered.
pub fn config() -> Config {
    Config {
        mss: MSS as u32,
        sack: true,
        ecn: true,
        window_scaling: true,
        receive_buffer: 1 << 20,
        ack_every: 2,
        ack_delay: Time::from_ms(40),
        initial_rto: Time::from_s(1),
        min_rto: Time::from_ms(200),
        max_rto: Time::from_s(60),
        timestamps: false,
        offload: 0,
        retries: u32::MAX,
    }
}

/// What the wire does to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// It arrives that much later.
    Late(Time),
    /// It arrives twice, the second time that much later.
    Twice(Time),
}

/// A segment as the script and the trace see it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub from: usize,
    /// How many segments with this number and SYN, data or FIN this end had sent before.
    pub nth: usize,
    pub segment: Segment,
    pub fate: Fate,
}

impl Sent {
    /// Stream offset of its first byte, for data.
    pub fn offset(&self) -> u64 {
        self.segment.seq - 1
    }
    pub fn is_data(&self) -> bool {
        self.segment.len > 0
    }
    pub fn has(&self, bits: u8) -> bool {
        self.segment.has(bits)
    }
    /// The `nth` time that the segment at this offset leaves the client.
    pub fn is(&self, offset: u64, nth: usize) -> bool {
        self.from == CLIENT && self.is_data() && self.offset() == offset && self.nth == nth
    }
    /// An ACK without data, SYN or FIN.
    pub fn is_pure_ack(&self) -> bool {
        !self.is_data() && !self.has(bits::SYN) && !self.has(bits::FIN)
    }
}

pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// How many bytes may be in flight.
#[derive(Clone, Copy, Debug)]
pub enum Window {
    Constant(u64),
    /// RFC 5681 in short.
    Reno {
        cwnd: u64,
        ssthresh: u64,
    },
}

impl Window {
    pub fn reno() -> Self {
        Self::Reno { cwnd: 10 * MSS, ssthresh: u64::MAX }
    }
    pub fn now(&self) -> u64 {
        match self {
            Self::Constant(bytes) => *bytes,
            Self::Reno { cwnd, .. } => *cwnd,
        }
    }
    fn on_ack(&mut self, acked: &Acked) {
        let Self::Reno { cwnd, ssthresh } = self else { return };
        if let Some(loss) = acked.loss {
            *ssthresh = (loss.in_flight / 2).max(2 * MSS);
            *cwnd = *ssthresh;
        } else if !acked.recovering && acked.newly_acked > 0 {
            *cwnd += if *cwnd < *ssthresh { acked.newly_acked.min(MSS) } else { (MSS * MSS / *cwnd).max(1) };
        }
    }
    fn on_timeout(&mut self, loss: &fanin_cc::Loss) {
        let Self::Reno { cwnd, ssthresh } = self else { return };
        if !loss.retransmitted {
            *ssthresh = (loss.in_flight / 2).max(2 * MSS);
        }
        *cwnd = MSS;
    }
}

/// Two ends and the wire between them.
pub struct Wire {
    pub now: Time,
    pub ends: [Connection; 2],
    pub window: [Window; 2],
    /// Whether an end's application takes what arrives at once.
    pub reads: [bool; 2],
    /// Stop keeping `trace` and the logs.
    pub silent: bool,
    pub trace: Vec<Sent>,
    /// The effects at each end, with their times.
    pub acked: [Vec<(Time, Acked)>; 2],
    pub outcomes: [Vec<(Time, Segment, Outcome)>; 2],
    pub expired: [Vec<(Time, Expired)>; 2],
    /// Stream bytes delivered to each end, checked to be consecutive.
    pub delivered: [u64; 2],
    script: Box<dyn FnMut(&Sent) -> Fate>,
    change: Box<dyn FnMut(&mut Segment)>,
    delay: Time,
    copies: BTreeMap<(usize, u64, bool), usize>,
    queue: BTreeMap<(Time, u64), (usize, Segment)>,
    count: u64,
}

impl Wire {
    pub fn new(config: &Config) -> Self {
        Self::between(config, config)
    }

    pub fn between(client: &Config, server: &Config) -> Self {
        Self {
            now: Time::ZERO,
            ends: [Connection::connect(client), Connection::listen(server)],
            window: [Window::Constant(10 * MSS); 2],
            reads: [true; 2],
            silent: false,
            trace: Vec::new(),
            acked: Default::default(),
            outcomes: Default::default(),
            expired: Default::default(),
            delivered: [0; 2],
            script: Box::new(|_| Fate::Deliver),
            change: Box::new(|_| ()),
            delay: DELAY,
            copies: BTreeMap::new(),
            queue: BTreeMap::new(),
            count: 0,
        }
    }

    /// Open, the handshake behind it, and nothing in the trace.
    pub fn open(config: &Config) -> Self {
        let mut wire = Self::new(config);
        wire.run();
        assert_eq!(wire.states(), [State::Established; 2]);
        wire.forget();
        wire
    }

    pub fn forget(&mut self) {
        self.trace.clear();
        self.copies.clear();
        self.acked = Default::default();
        self.outcomes = Default::default();
        self.expired = Default::default();
    }

    pub fn script(&mut self, script: impl FnMut(&Sent) -> Fate + 'static) {
        self.script = Box::new(script);
    }

    /// Changes every segment with an ACK, as a receiver role may.
    pub fn change(&mut self, change: impl FnMut(&mut Segment) + 'static) {
        self.change = Box::new(change);
    }

    /// Drops what this holds for.
    pub fn lose(&mut self, mut which: impl FnMut(&Sent) -> bool + 'static) {
        self.script(move |sent| if which(sent) { Fate::Drop } else { Fate::Deliver });
    }

    pub fn states(&self) -> [State; 2] {
        [self.ends[0].state(), self.ends[1].state()]
    }

    fn put(&mut self, from: usize, mut segment: Segment) {
        if segment.has(bits::ACK) {
            (self.change)(&mut segment);
        }
        let key = (from, segment.seq, segment.len > 0 || segment.has(bits::SYN) || segment.has(bits::FIN));
        let mut sent = Sent { at: self.now, from, nth: 0, segment, fate: Fate::Deliver };
        if !self.silent {
            let nth = self.copies.entry(key).or_default();
            sent.nth = *nth;
            *nth += 1;
        }
        sent.fate = (self.script)(&sent);
        if !self.silent {
            self.trace.push(sent);
        }
        let mut deliver = |later: Time| {
            self.count += 1;
            self.queue.insert((self.now + self.delay + later, self.count), (1 - from, segment));
        };
        match sent.fate {
            Fate::Deliver => deliver(Time::ZERO),
            Fate::Drop => {}
            Fate::Late(later) => deliver(later),
            Fate::Twice(later) => {
                deliver(Time::ZERO);
                deliver(later);
            }
        }
    }

    /// Puts a segment on the wire that no end sent.
    pub fn inject(&mut self, from: usize, segment: Segment) {
        self.put(from, segment);
    }

    /// Sends all that an end may send.
    pub fn pump(&mut self, end: usize) {
        loop {
            let window = self.window[end].now();
            let can = self.ends[end].can_transmit(self.now, window);
            let next = self.ends[end].next_offset();
            let segment = self.ends[end].transmit(self.now, window);
            assert_eq!(can, segment.is_some());
            if let Some(data) = segment.filter(|segment| segment.len > 0) {
                assert_eq!(next, Some(data.seq - 1), "the window says when, and not what");
            }
            match segment {
                Some(segment) => self.put(end, segment),
                None => break,
            }
        }
    }

    pub fn write(&mut self, end: usize, bytes: u64) {
        self.ends[end].write(bytes);
        self.pump(end);
    }

    pub fn close(&mut self, end: usize) {
        self.ends[end].close();
        self.pump(end);
    }

    /// The application reads bytes, and sends a window update if necessary.
    pub fn read(&mut self, end: usize, bytes: u64) {
        if self.ends[end].read(bytes) {
            self.send_ack(end);
        }
    }

    pub fn send_ack(&mut self, end: usize) {
        let ack = self.ends[end].ack(self.now, Covers::All);
        self.put(end, ack);
    }

    fn arrive(&mut self, end: usize, segment: &Segment) {
        if self.ends[end].state() == State::Closed {
            if !segment.has(bits::RST) {
                let seq = if segment.has(bits::ACK) { segment.ack } else { 0 };
                self.put(end, Segment { seq, flags: bits::RST, sent_at: self.now, ..Segment::default() });
            }
            return;
        }
        let outcome = self.ends[end].on_segment(self.now, segment);
        if !self.silent {
            self.outcomes[end].push((self.now, *segment, outcome));
        }
        if let Some(acked) = outcome.acked {
            self.window[end].on_ack(&acked);
            if !self.silent {
                self.acked[end].push((self.now, acked));
            }
        }
        let mut ack = outcome.must_ack;
        if let Some(arrived) = outcome.arrived {
            assert_eq!(arrived.arrived_to, self.delivered[end] + arrived.delivered, "delivered ranges are consecutive");
            if arrived.in_order {
                assert!(arrived.offset <= self.delivered[end] && arrived.delivered > 0);
            } else {
                assert_eq!(arrived.delivered, 0);
            }
            self.delivered[end] = arrived.arrived_to;
            ack |= arrived.ack_due;
        }
        if self.reads[end] {
            ack |= self.ends[end].read(u64::MAX);
        }
        if ack {
            self.send_ack(end);
        }
        self.pump(end);
    }

    /// The next event, if it is not later. Whether there was one.
    pub fn step(&mut self, until: Time) -> bool {
        for end in 0..2 {
            self.pump(end);
        }
        let arrival = self.queue.keys().next().map_or(Time::NEVER, |key| key.0);
        let deadlines = [self.ends[0].deadline(), self.ends[1].deadline()];
        let next = arrival.min(deadlines[0]).min(deadlines[1]);
        if !next.is_some() || next > until {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == next {
            let (_, (end, segment)) = self.queue.pop_first().unwrap();
            self.arrive(end, &segment);
            return true;
        }
        let end = usize::from(deadlines[1] == next);
        let expired = self.ends[end].on_deadline(self.now);
        assert!(self.ends[end].deadline() != next || expired.ack_due, "a deadline that does not move");
        if let Some(loss) = &expired.timeout {
            self.window[end].on_timeout(loss);
        }
        if !self.silent {
            self.expired[end].push((self.now, expired));
        }
        if expired.ack_due {
            self.send_ack(end);
        }
        self.pump(end);
        true
    }

    /// Runs until nothing happens any more.
    pub fn run(&mut self) {
        self.run_until(Time::from_s(100_000));
    }

    pub fn run_until(&mut self, until: Time) {
        let mut steps = 0u64;
        while self.step(until) {
            steps += 1;
            assert!(steps < 200_000_000, "it never ends");
        }
        if until < Time::from_s(100_000) {
            self.now = until;
        }
    }

    /// Data segments of the client: offset and whether it was sent before.
    pub fn client_data(&self) -> Vec<(u64, bool)> {
        let data = self.trace.iter().filter(|s| s.from == CLIENT && s.is_data());
        data.map(|s| (s.offset(), s.segment.retransmitted)).collect()
    }

    /// Offsets that the client sent again.
    pub fn repaired(&self) -> Vec<u64> {
        self.client_data().into_iter().filter(|(_, again)| *again).map(|(offset, _)| offset).collect()
    }

    /// The losses that the client's ACKs showed, and its timeouts.
    pub fn losses(&self) -> (Vec<fanin_cc::Loss>, Vec<fanin_cc::Loss>) {
        let found = self.acked[CLIENT].iter().filter_map(|(_, acked)| acked.loss).collect();
        (found, self.expired[CLIENT].iter().filter_map(|(_, expired)| expired.timeout).collect())
    }

    /// ACKs without data that this end sent.
    pub fn acks(&self, from: usize) -> Vec<&Sent> {
        self.trace.iter().filter(|s| s.from == from && s.is_pure_ack()).collect()
    }

    /// Everything written has arrived at the server.
    pub fn assert_arrived(&self, bytes: u64) {
        assert_eq!((self.delivered[SERVER], self.ends[CLIENT].acked_to()), (bytes, bytes));
    }
}

pub fn ms(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// What the client sent again, and when after `start`.
pub fn repairs(wire: &Wire, start: Time) -> Vec<(u64, Time)> {
    let again = wire.trace.iter().filter(|s| s.from == CLIENT && s.is_data() && s.segment.retransmitted);
    again.map(|s| (s.offset(), s.at - start)).collect()
}
