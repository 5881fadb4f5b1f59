//! Set-up and end of connections.
//!
//! A client says HELLO. The server answers with a COOKIE, a keyed hash of the client's address, its number and the
//! time, and remembers nothing. A client that is where it says comes with the cookie in OPEN. The server keeps a
//! connection from then on, and answers ACCEPT, or REFUSE. Client and server draw a number each; the keys of the
//! connection are hashes of both under the shared secret. HELLO and OPEN are sent again, at growing intervals, until
//! they are answered.

use super::config::{FIRST_UNNAMED, UNNAMED};
use super::core::{Core, Datagram, Event, PeerId, Reason};
use super::datagram::{self, Head, Opening, VERSION, kind};
use super::peer::{Keys, Peer, State, wait};
use super::sip;
use fanin_units::{NodeId, Time};
use std::net::{IpAddr, SocketAddr};

/// A cookie holds for so long.
const HOLDS: Time = Time::from_s(10);
const REASONS: [Reason; 4] = [Reason::Full, Reason::Different, Reason::Version, Reason::HostTaken];

impl Core {
    /// Begins a connection.
    pub fn connect(&mut self, now: Time, to: SocketAddr) -> PeerId {
        self.now = self.now.max(now);
        let id = self.new_peer();
        let drawn = self.draw();
        let node = self.unnamed();
        self.peers.insert(id, Peer::new(to, State::Asking, (drawn, 0), node, self.now));
        self.openings.insert((to, drawn), id);
        self.ask_at(id, self.now);
        PeerId(id)
    }

    fn new_peer(&mut self) -> u32 {
        let id = self.next_peer;
        self.next_peer = id.wrapping_add(1).max(1);
        id
    }

    /// A name for a peer that has none.
    fn unnamed(&self) -> NodeId {
        let taken = |node: u32| self.peers.values().any(|peer| peer.node.0 == node);
        let free = (u32::from(FIRST_UNNAMED)..).find(|node| !taken(*node));
        NodeId(free.unwrap_or_default())
    }

    /// Ends a connection.
    pub fn close(&mut self, now: Time, peer: PeerId) {
        self.now = self.now.max(now);
        if self.peers.get(&peer.0).is_some_and(|peer| matches!(peer.state, State::Half | State::Open)) {
            self.send(peer.0, kind::BYE, false, |_| {});
        }
        self.lose(peer.0, Reason::Closed);
    }

    /// The connections.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.peers.keys().map(|id| PeerId(*id))
    }

    /// A connection has ended.
    pub(super) fn lose(&mut self, id: u32, reason: Reason) {
        let Some(peer) = self.peers.remove(&id) else { return };
        self.openings.remove(&(peer.address, peer.drawn.0));
        for (number, of) in peer.outgoing {
            self.forget(of.local);
            self.events.push_back(Event::Failed { peer: PeerId(id), message: number, reason });
        }
        for of in peer.incoming.into_values() {
            self.forget(of.local);
        }
        self.station.directory_mut().rtts.remove(&peer.node.0);
        if peer.state != State::Half {
            self.events.push_back(Event::Lost { peer: PeerId(id), reason });
        }
    }

    fn send_opening(&mut self, to: SocketAddr, of: u8, number: u64, body: &Opening) {
        let mut bytes = Head { version: VERSION, kind: of, session: 0, number }.write();
        body.write(&mut bytes);
        datagram::seal(self.config.secret, &mut bytes);
        self.out.push_back(Datagram { to, ect: false, bytes });
    }

    fn host_number(&self) -> u16 {
        self.config.host.unwrap_or(UNNAMED)
    }

    /// HELLO or OPEN, for the first time or again.
    pub(super) fn ask_to_open(&mut self, id: u32) {
        let (fingerprint, host, now) = (self.fingerprint, self.host_number(), self.now);
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let next = now.saturating_add(wait(peer.tries));
        (peer.asked, peer.tries) = (now, peer.tries + 1);
        let (to, drawn, state) = (peer.address, peer.drawn.0, peer.state);
        let body = Opening { client: id, ..Opening::default() };
        match state {
            State::Opening { time, cookie } => {
                self.send_opening(to, kind::OPEN, drawn, &Opening { time, cookie, fingerprint, host, ..body });
            }
            _ => self.send_opening(to, kind::HELLO, drawn, &body),
        }
        self.ask_at(id, next);
    }

    /// A datagram of the set-up of a connection.
    pub(super) fn on_opening(&mut self, from: SocketAddr, head: &Head, bytes: &[u8]) {
        let Some(body) = Opening::read(bytes).filter(|_| head.session == 0) else {
            self.counts.malformed += 1;
            return;
        };
        if !datagram::is_sealed(self.config.secret, bytes) {
            self.counts.forged += 1;
            return;
        }
        if head.version != VERSION {
            self.counts.malformed += 1;
            if head.kind == kind::HELLO {
                self.refuse(from, head.number, &body, Reason::Version);
            }
            return;
        }
        match head.kind {
            kind::HELLO => {
                let time = self.now.as_ps();
                let cookie = self.cookie(from, head.number, body.client, time);
                let body = Opening { client: body.client, time, cookie, ..Opening::default() };
                self.send_opening(from, kind::COOKIE, head.number, &body);
            }
            kind::OPEN => self.on_open(from, head.number, &body),
            _ => self.on_opening_answered(from, head, &body),
        }
    }

    fn cookie(&self, from: SocketAddr, number: u64, session: u32, time: u64) -> u64 {
        let ip = match from.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.extend(time.to_be_bytes());
        bytes.extend(ip.octets());
        bytes.extend(from.port().to_be_bytes());
        bytes.extend(session.to_be_bytes());
        sip::hash(self.cookies, &[], &bytes)
    }

    fn refuse(&mut self, to: SocketAddr, number: u64, body: &Opening, reason: Reason) {
        self.counts.refused += 1;
        let reason = REASONS.iter().position(|of| *of == reason).unwrap_or_default() as u16;
        self.send_opening(to, kind::REFUSE, number, &Opening { client: body.client, reason, ..Opening::default() });
    }

    /// A client comes with its cookie.
    fn on_open(&mut self, from: SocketAddr, number: u64, body: &Opening) {
        let age = self.now.as_ps().checked_sub(body.time);
        let holds = age.is_some_and(|age| age <= HOLDS.as_ps())
            && body.cookie == self.cookie(from, number, body.client, body.time);
        if !holds {
            self.counts.without_cookie += 1;
            return;
        }
        if let Some(id) = self.openings.get(&(from, number)).copied() {
            // ACCEPT was lost.
            return self.accept(id, number);
        }
        let half = self.peers.values().filter(|peer| peer.state == State::Half).count();
        let host = (body.host < FIRST_UNNAMED).then_some(body.host);
        let taken = |host: u16| {
            self.config.host == Some(host) || self.peers.values().any(|peer| peer.node.0 == u32::from(host))
        };
        if body.fingerprint != self.fingerprint {
            return self.refuse(from, number, body, Reason::Different);
        }
        if self.peers.len() >= self.config.limits.peers || half >= self.config.limits.half_open {
            return self.refuse(from, number, body, Reason::Full);
        }
        if host.is_some_and(taken) {
            return self.refuse(from, number, body, Reason::HostTaken);
        }
        let (id, drawn) = (self.new_peer(), self.draw());
        let node = host.map_or_else(|| self.unnamed(), |host| NodeId(u32::from(host)));
        let mut peer = Peer::new(from, State::Half, (number, drawn), node, self.now);
        (peer.host, peer.session) = (host, body.client);
        peer.keys = Keys::new(self.config.secret, number, drawn, false);
        self.peers.insert(id, peer);
        self.openings.insert((from, number), id);
        self.accept(id, number);
        self.ask_at(id, self.now.saturating_add(self.config.limits.quiet));
    }

    fn accept(&mut self, id: u32, number: u64) {
        let Some(peer) = self.peers.get(&id).filter(|peer| !peer.is_client) else { return };
        let (to, drawn, client) = (peer.address, peer.drawn.1, peer.session);
        let (fingerprint, host) = (self.fingerprint, self.host_number());
        let body = Opening { client, server: id, time: drawn, fingerprint, host, ..Opening::default() };
        self.send_opening(to, kind::ACCEPT, number, &body);
    }

    /// The server has answered.
    fn on_opening_answered(&mut self, from: SocketAddr, head: &Head, body: &Opening) {
        let known = self.openings.get(&(from, head.number)).copied().filter(|id| *id == body.client);
        let Some(peer) = known.and_then(|id| self.peers.get_mut(&id)).filter(|peer| peer.is_client) else {
            self.counts.unknown += 1;
            return;
        };
        let (id, now) = (body.client, self.now);
        match (head.kind, peer.state) {
            (kind::COOKIE, State::Asking) => {
                let asked = (peer.tries == 1).then_some(peer.asked);
                peer.state = State::Opening { time: body.time, cookie: body.cookie };
                (peer.heard, peer.tries) = (now, 0);
                self.ask_at(id, now);
                if let Some(asked) = asked {
                    self.measured(id, asked.as_ps());
                }
            }
            (kind::ACCEPT, State::Opening { .. }) => {
                if body.fingerprint != self.fingerprint {
                    return self.lose(id, Reason::Different);
                }
                let asked = (peer.tries == 1).then_some(peer.asked);
                (peer.state, peer.session, peer.heard) = (State::Open, body.server, now);
                peer.drawn.1 = body.time;
                peer.keys = Keys::new(self.config.secret, peer.drawn.0, peer.drawn.1, true);
                self.name(id, body.host);
                if let Some(asked) = asked {
                    self.measured(id, asked.as_ps());
                }
                self.events.push_back(Event::Connected { peer: PeerId(id) });
                // A probe tells the server that it is heard.
                self.ask_at(id, now);
            }
            (kind::REFUSE, State::Asking | State::Opening { .. }) => {
                let reason = REASONS.get(usize::from(body.reason)).copied().unwrap_or(Reason::Full);
                self.lose(id, reason);
            }
            _ => {}
        }
    }

    /// The number of a server, where it has one that is free here. No message to it has begun.
    fn name(&mut self, id: u32, host: u16) {
        let node = NodeId(u32::from(host));
        let free = self.config.host != Some(host) && self.peers.values().all(|peer| peer.node != node);
        if let Some(peer) = self.peers.get_mut(&id).filter(|_| host < FIRST_UNNAMED && free) {
            self.station.directory_mut().rtts.remove(&peer.node.0);
            (peer.node, peer.host) = (node, Some(host));
        }
    }
}
