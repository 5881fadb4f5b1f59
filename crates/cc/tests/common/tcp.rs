//! A sender of TCP with its stream on a virtual clock: fills its window with whole segments, takes scripted ACKs.

use super::point::Point;
use super::{PAYLOAD, WIRE, us};
use fanin_cc::{Ack, Action, Loss, Sender, Sent};
use fanin_units::Time;

/// One segment.
pub const MSS: u64 = PAYLOAD as u64;

pub struct Stream<F: Sender<Shared = ()>> {
    pub point: Point<F>,
    pub sent_to: u64,
    pub acked_to: u64,
    /// The stamps of the new segments, by number.
    pub stamps: Vec<u32>,
    /// The round-trip time that ACKs report.
    pub rtt: Time,
    recovery_point: Option<u64>,
}

impl<F: Sender<Shared = ()>> Stream<F> {
    pub fn new(params: F::Params) -> Self {
        let point = Point::new(params, 10, 25_000);
        Self { point, sent_to: 0, acked_to: 0, stamps: Vec::new(), rtt: us(100), recovery_point: None }
    }

    pub fn window(&mut self) -> u64 {
        self.point.control().window
    }

    pub fn in_flight(&self) -> u64 {
        self.sent_to - self.acked_to
    }

    pub fn count(&self, action: Action) -> u64 {
        self.point.count(action)
    }

    pub fn at(&mut self, now: Time) -> &mut Self {
        self.point.now = now;
        self
    }

    /// Sends one segment, new or the first that is not acknowledged. Its `cc_tag`.
    pub fn send(&mut self, retransmitted: bool) -> u32 {
        let sent_to = if retransmitted { self.acked_to + MSS } else { self.sent_to + MSS };
        self.sent_to = self.sent_to.max(sent_to);
        let sent = Sent { retransmitted, ..Sent::new(WIRE, PAYLOAD, sent_to) };
        let mut cc_tag = 0;
        self.point.hook(|flow, cx| cc_tag = flow.on_send(&sent, cx));
        if !retransmitted {
            self.stamps.push(cc_tag);
        }
        cc_tag
    }

    /// Sends as many new segments as fit.
    pub fn fill(&mut self) -> &mut Self {
        while self.in_flight() + MSS <= self.window() {
            self.send(false);
        }
        self
    }

    /// An ACK for so many more bytes.
    pub fn ack_bytes(&mut self, bytes: u64, echo: bool) -> &mut Self {
        let in_flight = self.in_flight();
        self.acked_to += bytes;
        assert!(self.acked_to <= self.sent_to, "nobody acknowledges what was not sent");
        if self.recovery_point.is_some_and(|point| self.acked_to >= point) {
            self.recovery_point = None;
        }
        let ack = Ack {
            newly_acked: bytes,
            acked_to: self.acked_to,
            seq: self.acked_to,
            sent_to: self.sent_to,
            in_flight,
            recovering: self.recovery_point.is_some(),
            ecn_echo: echo,
            rtt: self.rtt,
            ..Ack::default()
        };
        self.point.hook(|flow, cx| flow.on_ack(&ack, cx));
        self
    }

    /// An ACK for so many more segments, upon which the window is filled.
    pub fn ack(&mut self, segments: u64, echo: bool) -> &mut Self {
        self.ack_bytes(segments * MSS, echo).fill()
    }

    /// Acknowledges each segment that is in flight now, one by one. The window after each.
    pub fn round(&mut self, echo: impl Fn(u64) -> bool) -> Vec<u64> {
        (0..self.in_flight() / MSS).map(|n| self.ack(1, echo(n)).window()).collect()
    }

    /// The endpoint finds the first segment lost, and sends it again.
    pub fn loss(&mut self) -> &mut Self {
        self.lose(self.in_flight(), false)
    }

    /// So, with so many bytes in flight, of a segment that may have timed out before.
    pub fn lose(&mut self, in_flight: u64, retransmitted: bool) -> &mut Self {
        self.recovery_point = Some(self.sent_to);
        let loss = Loss { in_flight, retransmitted, ..Loss::new(self.acked_to, self.sent_to) };
        self.point.hook(|flow, cx| flow.on_loss(&loss, cx));
        self.send(true);
        self
    }

    /// The retransmission timer runs out with so many bytes in flight; the first segment goes out again.
    pub fn timeout(&mut self, in_flight: u64, retransmitted: bool) -> &mut Self {
        self.recovery_point = None;
        let loss = Loss { in_flight, retransmitted, ..Loss::new(self.acked_to, self.sent_to) };
        self.point.hook(|flow, cx| flow.on_timeout(&loss, cx));
        self.send(true);
        self
    }
}
