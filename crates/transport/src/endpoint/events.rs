//! What happens to an endpoint: a datagram arrives, or time has passed.

use super::core::{Core, Event, PeerId, Reason};
use super::datagram::{self, HEADER, Head, Note, VERSION, kind};
use super::peer::State;
use fanin_units::Time;
use std::net::SocketAddr;

impl Core {
    /// A datagram has arrived; `ce` is whether its IP header had the mark of congestion.
    pub fn on_datagram(&mut self, now: Time, from: SocketAddr, ce: bool, bytes: &[u8]) {
        self.now = self.now.max(now);
        self.counts.arrived += 1;
        let Some(head) = Head::read(bytes) else {
            self.counts.malformed += 1;
            return;
        };
        if head.kind <= kind::REFUSE {
            self.on_opening(from, &head, bytes);
        } else if head.version != VERSION {
            self.counts.malformed += 1;
        } else {
            self.on_session(from, &head, ce, bytes);
        }
    }

    /// A datagram of a connection.
    fn on_session(&mut self, from: SocketAddr, head: &Head, ce: bool, bytes: &[u8]) {
        let known = self.peers.get_mut(&head.session);
        let Some(peer) = known.filter(|peer| peer.address == from && matches!(peer.state, State::Half | State::Open))
        else {
            self.counts.unknown += 1;
            return;
        };
        if !datagram::is_sealed(peer.keys.receive, bytes) {
            self.counts.forged += 1;
            return;
        }
        if !peer.seen.is_new(head.number) {
            self.counts.replayed += 1;
            return;
        }
        peer.heard = self.now;
        if peer.state == State::Half {
            peer.state = State::Open;
            let (address, host) = (peer.address, peer.host);
            self.events.push_back(Event::Accepted { peer: PeerId(head.session), address, host });
            self.ask_at(head.session, self.now);
        }
        if head.kind == kind::FRAME {
            return self.on_frame(head.session, ce, &bytes[HEADER..]);
        }
        if head.kind == kind::BYE {
            return self.lose(head.session, Reason::Ended);
        }
        match Note::read(bytes) {
            Some((note, rest)) => self.on_note(head.session, head.kind, note, rest),
            None => self.counts.malformed += 1,
        }
    }

    /// Lets everything happen that is due.
    pub fn run(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.run_station();
        while self.due <= self.now {
            self.due = Time::NEVER;
            let all: Vec<u32> = self.peers.keys().copied().collect();
            for peer in all {
                self.run_peer(peer);
            }
            self.run_station();
        }
    }

    /// What a peer is due for: the set-up of the connection and of messages, and probes.
    fn run_peer(&mut self, id: u32) {
        let Some(peer) = self.peers.get(&id) else { return };
        let ends = peer.heard.saturating_add(self.config.limits.quiet);
        if self.now >= ends {
            return self.lose(id, Reason::Silent);
        }
        let at = peer.again;
        if self.now >= at {
            match peer.state {
                State::Asking | State::Opening { .. } => self.ask_to_open(id),
                State::Half => self.ask_at(id, ends),
                State::Open => self.probe(id),
            }
        }
        let Some(peer) = self.peers.get(&id) else { return };
        self.due = self.due.min(ends).min(peer.again);
        self.announce_again(id);
    }

    /// Asks whether the other end is there, which also measures the round-trip time.
    fn probe(&mut self, id: u32) {
        let Some(peer) = self.peers.get(&id) else { return };
        let note = Note { oldest: peer.oldest_outgoing(), message: 0, time: self.now.as_ps() };
        // A few at once measure, later ones keep the connection.
        let wait = match peer.samples {
            0..4 => peer.rtt.unwrap_or(Time::ZERO).saturating_mul(2).max(Time::from_ms(20)),
            _ => Time::from_ps(self.config.limits.quiet.as_ps() / 4),
        };
        self.send(id, kind::PING, false, |bytes| note.write(bytes));
        self.ask_at(id, self.now.saturating_add(wait));
    }
}
