//! The states of a connection (RFC 9293 section 3.10), its halves and its timers. Its segments are built in `emit.rs`.

use super::receive::{LARGEST_SCALE, ReceiveHalf};
use super::send::SendHalf;
use super::{Acked, Config, Expired, Outcome, Segment, State, bits};
use fanin_units::Time;

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) config: Config,
    pub(super) state: State,
    pub(super) ecn: bool,
    pub(super) send: SendHalf,
    pub(super) receive: ReceiveHalf,
    /// Whether the answer to the peer's SYN waits for [`Connection::answer_syn`].
    pub(super) held: bool,
    /// When TIME-WAIT ends.
    quiet_at: Time,
}

impl Connection {
    /// The active end: [`Connection::transmit`] returns its SYN.
    pub fn connect(config: &Config) -> Self {
        Self { state: State::SynSent, ..Self::listen(config) }
    }

    /// The passive end, which waits for a SYN.
    pub fn listen(config: &Config) -> Self {
        Self {
            config: *config,
            state: State::Listen,
            ecn: false,
            send: SendHalf::new(config),
            receive: ReceiveHalf::new(config),
            held: false,
            quiet_at: Time::NEVER,
        }
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether both ends agreed to ECN.
    #[inline(always)]
    pub fn ecn(&self) -> bool {
        self.ecn
    }

    /// Whether both ends agreed to SACK.
    pub fn sack(&self) -> bool {
        self.send.sack
    }

    /// Its own window scale (a shift) on the wire; zero until both ends agreed to scaling.
    pub fn window_scale(&self) -> u8 {
        self.receive.scale
    }

    /// The application adds bytes to the stream; before the handshake they are buffered. After [`Connection::close`]
    /// they are ignored.
    pub fn write(&mut self, bytes: u64) {
        self.send.write(bytes);
    }

    /// The application has no more bytes: a FIN is sent after the last one.
    pub fn close(&mut self) {
        self.send.closed = true;
    }

    /// The application reads `bytes` of the data received in order. Returns whether a window update should be sent.
    pub fn read(&mut self, bytes: u64) -> bool {
        self.receive.read(bytes) && matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Whether its NIC has more segments of a burst ([`Config::offload`]), which follow at once.
    #[inline(always)]
    pub fn in_burst(&self) -> bool {
        self.send.in_burst()
    }

    /// Bytes received in order and not yet read.
    pub fn available(&self) -> u64 {
        self.receive.available()
    }

    /// Offset of the first stream byte that is not acknowledged.
    #[inline]
    pub fn acked_to(&self) -> u64 {
        self.send.offset(self.send.una)
    }

    /// Offset of the next stream byte to send for the first time.
    #[inline]
    pub fn sent_to(&self) -> u64 {
        self.send.offset(self.send.high)
    }

    /// Offset of the next stream byte to send, regardless of the windows; `None` where all written bytes are sent and
    /// none is to be retransmitted.
    pub fn next_offset(&self) -> Option<u64> {
        // The peer's window may be closed even with an unlimited congestion window.
        match self.send.choose(u64::MAX) {
            Some(choice) => (choice.len > 0).then(|| self.send.offset(choice.seq)),
            None => (self.send.nxt < self.send.data_end).then(|| self.send.offset(self.send.nxt)),
        }
    }

    /// Offset up to which the peer's stream has arrived completely.
    #[inline]
    pub fn arrived_to(&self) -> u64 {
        self.receive.arrived_to()
    }

    /// Stream bytes in flight: pipe in recovery by SACK, otherwise sent less acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.send.in_flight()
    }

    /// The peer's window: how many bytes behind the acknowledged ones it accepts.
    pub fn peer_window(&self) -> u64 {
        self.send.peer.edge.saturating_sub(self.send.una)
    }

    /// The retransmission timeout now, backoff included.
    pub fn rto(&self) -> Time {
        self.send.rto.current()
    }

    /// Whether there is received data that no ACK covers yet.
    pub fn owes_ack(&self) -> bool {
        self.receive.owes_ack()
    }

    /// Whether some of that is data, and not a FIN or a duplicate alone.
    pub fn owes_ack_of_data(&self) -> bool {
        self.receive.owes_ack_of_data()
    }

    /// No timer makes an ACK due from now on: the receiver role decides when each is sent.
    pub fn hold_acks(&mut self) {
        self.receive.hold_acks();
    }

    /// The SYN-ACK waits for [`Connection::answer_syn`], where it has not been sent yet.
    pub fn hold_syn(&mut self) {
        self.held = self.state == State::SynReceived && self.send.high == 0;
    }

    /// Where the connection waits for the peer's ACK of its SYN-ACK: that is sent, or sent again. Returns whether it
    /// was so.
    pub fn answer_syn(&mut self) -> bool {
        let opening = self.state == State::SynReceived;
        if opening {
            self.held = false;
            self.send.nxt = 0;
        }
        opening
    }

    /// A segment arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> Outcome {
        if segment.flags & (bits::SYN | bits::RST | bits::ACK) != bits::ACK
            || matches!(self.state, State::Listen | State::SynSent | State::SynReceived | State::Closed)
        {
            return self.on_control(now, segment);
        }
        self.on_open(now, segment)
    }

    /// Segments that open or end a connection, or arrive before it is open.
    fn on_control(&mut self, now: Time, segment: &Segment) -> Outcome {
        if self.state == State::Closed {
            return Outcome::default();
        }
        if segment.has(bits::RST) {
            if self.state != State::Listen {
                self.state = State::Closed;
            }
            return Outcome::default();
        }
        self.on_handshake(now, segment)
    }

    /// Segments of a handshake (RFC 9293 sections 3.10.7.2 to 3.10.7.4).
    fn on_handshake(&mut self, now: Time, segment: &Segment) -> Outcome {
        let syn = segment.has(bits::SYN) && segment.seq == 0;
        match self.state {
            State::Listen if syn && !segment.has(bits::ACK) => {
                self.agree(segment);
                // RFC 3168 section 6.1.1.
                self.ecn = self.config.ecn && segment.has(bits::ECE | bits::CWR);
                self.state = State::SynReceived;
                Outcome { asked: true, ..Outcome::default() }
            }
            State::SynSent if syn && segment.has(bits::ACK) && segment.ack == 1 && self.send.high > 0 => {
                self.agree(segment);
                self.ecn = self.config.ecn && segment.has(bits::ECE) && !segment.has(bits::CWR);
                self.receive.echo_if_alone(segment.sent_at);
                self.send.open(now, 1 + u64::from(segment.window));
                self.state = State::Established;
                Outcome { opened: true, must_ack: true, ..Outcome::default() }
            }
            State::SynSent if syn && !segment.has(bits::ACK) => {
                // RFC 9293 section 3.5, simultaneous open: both SYNs crossed, and each is answered.
                self.agree(segment);
                self.ecn = self.config.ecn && segment.has(bits::ECE | bits::CWR);
                self.send.nxt = 0;
                self.state = State::SynReceived;
                Outcome { asked: true, ..Outcome::default() }
            }
            State::SynReceived if syn && segment.has(bits::ACK) && segment.ack == 1 && self.send.high > 0 => {
                // Its end: the answers crossed too.
                self.receive.echo_if_alone(segment.sent_at);
                self.send.nxt = 1;
                self.send.open(now, self.send.peer.edge);
                self.state = State::Established;
                Outcome { opened: true, ..Outcome::default() }
            }
            State::SynReceived if segment.has(bits::SYN) => {
                // The peer has not seen the answer to its SYN: it is sent again.
                if syn {
                    self.send.nxt = 0;
                }
                Outcome::default()
            }
            State::SynReceived if segment.has(bits::ACK) && segment.ack == 1 && self.send.high > 0 => {
                self.send.open(now, self.send.peer.edge);
                self.state = State::Established;
                Outcome { opened: true, ..self.on_open(now, segment) }
            }
            State::Listen | State::SynSent | State::SynReceived => Outcome::default(),
            // RFC 9293 section 3.10.7.4: the peer repeats its SYN, because the ACK of it was lost.
            _ => Outcome { must_ack: segment.has(bits::SYN), ..Outcome::default() },
        }
    }

    /// Options of the peer's SYN.
    fn agree(&mut self, syn: &Segment) {
        self.receive.open();
        self.send.sack = self.config.sack && syn.sack_permitted;
        // RFC 7323 section 2.2: only if both SYNs carry it, and never for the window of a SYN.
        if let Some(scale) = syn.scale.filter(|_| self.config.window_scaling) {
            self.send.peer.scale = scale.min(LARGEST_SCALE);
            self.receive.scale = self.receive.offered_scale();
            self.receive.scaling = true;
        }
        self.send.peer.edge = 1 + u64::from(syn.window);
    }

    /// A segment with an ACK, on a connection that is or was open.
    #[inline]
    fn on_open(&mut self, now: Time, segment: &Segment) -> Outcome {
        let mut outcome = Outcome::default();
        if segment.ack > self.send.high {
            // RFC 9293 section 3.10.7.4: an ACK of a number never sent.
            outcome.must_ack = true;
            return outcome;
        }
        if self.state == State::TimeWait {
            if segment.has(bits::FIN) {
                self.wait_quietly(now);
            }
            outcome.must_ack = segment.len > 0 || segment.has(bits::FIN);
            return outcome;
        }
        let burst = self.send.next_burst();
        let effect = self.send.on_ack(now, segment);
        let ecn_echo = self.ecn && segment.has(bits::ECE);
        if effect.newly_acked > 0 || effect.duplicate || ecn_echo {
            outcome.acked = Some(Acked {
                newly_acked: effect.newly_acked,
                acked_to: self.acked_to(),
                sent_to: self.sent_to(),
                in_flight: effect.in_flight,
                burst,
                recovering: self.send.recovery.active,
                ecn_echo,
                rtt: now.saturating_sub(segment.echo),
                loss: effect.loss,
            });
        }
        if self.send.fin_acked() {
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.wait_quietly(now),
                State::LastAck => {
                    self.state = State::Closed;
                    return outcome;
                }
                _ => {}
            }
        }
        let taken = self.receive.on_segment(now, segment);
        outcome.arrived = taken.arrived;
        outcome.must_ack = taken.must_ack;
        if taken.fin {
            outcome.peer_closed = true;
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 => self.state = State::Closing,
                State::FinWait2 => self.wait_quietly(now),
                _ => {}
            }
        }
        outcome
    }

    fn wait_quietly(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.quiet_at = now.saturating_add(self.send.rto.current().saturating_mul(2));
    }

    /// The time of [`Connection::deadline`] has come (or an earlier one that has moved: then nothing happens).
    pub fn on_deadline(&mut self, now: Time) -> Expired {
        let mut expired = Expired::default();
        match self.state {
            State::Closed | State::Listen => return expired,
            State::TimeWait if now >= self.quiet_at => {
                self.state = State::Closed;
                return expired;
            }
            _ => {}
        }
        if now >= self.receive.timer {
            self.receive.timer = Time::NEVER;
            expired.ack_due = true;
        }
        let (probe, repeat) = (now >= self.send.probe_at(), now >= self.send.timer && self.send.timer.is_some());
        if (probe || repeat) && self.send.exhausted(probe) {
            self.state = State::Closed;
            return Expired { given_up: true, ..expired };
        }
        if probe {
            self.send.on_probe_time(now);
        }
        if repeat {
            expired.timeout = self.send.on_timeout(now);
            expired.control_timeout = expired.timeout.is_none();
        }
        expired
    }

    /// When to call [`Connection::on_deadline`].
    #[inline]
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Closed | State::Listen => Time::NEVER,
            State::TimeWait => self.quiet_at.min(self.receive.timer),
            _ => self.send.timer.min(self.receive.timer).min(self.send.probe_at()),
        }
    }
}
