//! The segments that a connection sends.

use super::{Connection, Covers, Segment, State, bits};
use fanin_units::Time;

impl Connection {
    /// Whether [`Connection::transmit`] would return a segment.
    #[inline]
    pub fn can_transmit(&self, _now: Time, window: u64) -> bool {
        match self.state {
            State::SynSent | State::SynReceived => self.send.nxt == 0 && !self.held,
            State::Listen | State::TimeWait | State::Closed => false,
            _ => self.send.choose(window).is_some(),
        }
    }

    /// The next SYN, data or FIN segment that may be sent with `window` bytes allowed in flight. It carries an ACK, so
    /// a pending one is no longer due.
    #[inline]
    pub fn transmit(&mut self, now: Time, window: u64) -> Option<Segment> {
        match self.state {
            State::SynSent | State::SynReceived => {
                return (self.send.nxt == 0 && !self.held).then(|| self.syn(now));
            }
            State::Listen | State::TimeWait | State::Closed => return None,
            _ => {}
        }
        let choice = self.send.choose(window)?;
        self.send.commit(now, &choice, window);
        let mut flags = bits::ACK;
        if choice.fin {
            flags |= bits::FIN;
            match self.state {
                State::Established => self.state = State::FinWait1,
                State::CloseWait => self.state = State::LastAck,
                _ => {}
            }
        }
        let (ack, echo) = self.receive.ack_all();
        Some(Segment {
            seq: choice.seq,
            ack,
            sent_at: now,
            echo,
            len: choice.len as u32,
            window: self.receive.window(ack),
            flags,
            retransmitted: choice.retransmitted,
            probe: choice.is_probe(),
            sack: if self.send.sack { self.receive.blocks(false) } else { Default::default() },
            ..Segment::default()
        })
    }

    /// The SYN or SYN-ACK.
    fn syn(&mut self, now: Time) -> Segment {
        let answers = self.state == State::SynReceived;
        let retransmitted = self.send.high > 0;
        self.send.nxt = 1;
        self.send.on_sent(now, 1, retransmitted);
        let (ack, ..) = self.receive.ack_all();
        // RFC 3168 section 6.1.1: a SYN offers ECN by both bits, a SYN-ACK accepts it by one.
        let ecn = match (answers, self.ecn, self.config.ecn) {
            (true, true, _) => bits::ECE,
            (false, _, true) => bits::ECE | bits::CWR,
            _ => 0,
        };
        // A SYN-ACK carries only options that the SYN offered.
        let scaling = if answers { self.receive.scaling } else { self.config.window_scaling };
        Segment {
            ack,
            sent_at: now,
            window: self.receive.syn_window(),
            flags: bits::SYN | ecn | if answers { bits::ACK } else { 0 },
            scale: scaling.then(|| self.receive.offered_scale()),
            sack_permitted: if answers { self.send.sack } else { self.config.sack },
            retransmitted,
            ..Segment::default()
        }
    }

    /// An ACK without data.
    #[inline]
    pub fn ack(&mut self, now: Time, covers: Covers) -> Segment {
        let without_last = covers == Covers::AllButLast;
        let sack = if self.send.sack { self.receive.blocks(without_last) } else { Default::default() };
        let (ack, echo) = if without_last { self.receive.ack_but_last(now) } else { self.receive.ack_all() };
        Segment {
            // The highest number sent, or as much of it as the peer's window accepts after a probe.
            seq: self.send.high.min(self.send.peer.edge.max(self.send.una)),
            ack,
            sent_at: now,
            echo,
            window: self.receive.window(ack),
            flags: bits::ACK,
            sack,
            ..Segment::default()
        }
    }
}
