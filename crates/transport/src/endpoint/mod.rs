//! Messages between hosts: reliable messages with contents under any scheme for RDMA, over UDP.
//!
//! [`Endpoint`] is a socket and a clock around [`Core`], which has neither: datagrams and the time go into it,
//! datagrams and events come out. Below it is a [`crate::Station`], and so the host code of the simulator. A message
//! has a queue pair of its own. Its packets are whole frames inside of UDP, as in a tunnel: the ECN bits of the outer
//! IP header are those of the packet (RFC 6040). `datagram.rs` has the layout of all datagrams, `opening.rs` the
//! set-up of connections, `transfer.rs` that of messages.
//!
//! Nothing but the set-up of connections is taken without the tag of a connection, a hash keyed by numbers that the
//! two ends drew and the secret that they share, and no datagram is taken twice. Contents are not encrypted. What is
//! kept for a peer is bounded ([`Limits`]), and nothing is kept for one that has not shown that it is where it says.

mod around;
mod config;
mod core;
mod datagram;
mod events;
pub mod fuzz;
mod opening;
mod peer;
mod sip;
mod transfer;

pub use self::core::{Core, Counts, Datagram, Event, Number, PeerId, PostError, Reason};
pub use config::{Config, Limits};

use crate::os::datagrams as os;
use fanin_units::Time;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// ECN bits of the IP header (RFC 3168 section 5).
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;
/// Bytes that an endpoint asks the system for, for datagrams that have arrived.
const BUFFERS: usize = 8 << 20;
/// Datagrams taken in between two looks at what is to be sent.
const AT_ONCE: usize = 64;
/// Longest wait without looking at the clock.
const LONGEST: Duration = Duration::from_secs(1);

/// A host that sends and receives messages.
pub struct Endpoint {
    socket: UdpSocket,
    core: Core,
    began: Instant,
    /// What the clock of the host is behind the machine's.
    lost: Duration,
    buffer: Vec<u8>,
    /// Datagrams that the system did not send.
    unsent: u64,
}

impl Endpoint {
    /// An endpoint at a local address, which may connect and be connected to.
    ///
    /// # Errors
    /// Where the configuration or the address is impossible.
    pub fn bind(address: impl ToSocketAddrs, config: Config) -> io::Result<Self> {
        let core = Core::new(config, os::random()?).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let socket = UdpSocket::bind(address)?;
        if !socket.local_addr()?.is_ipv4() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "an endpoint has an address of IPv4"));
        }
        os::enable(&socket, BUFFERS)?;
        let buffer = vec![0; 1 << 16];
        Ok(Self { socket, core, began: Instant::now(), lost: Duration::ZERO, buffer, unsent: 0 })
    }

    /// Where it is.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Begins a connection. [`Event::Connected`] or [`Event::Lost`] follows. Messages may be posted at once.
    ///
    /// # Errors
    /// Where the address is none of IPv4.
    pub fn connect(&mut self, to: impl ToSocketAddrs) -> io::Result<PeerId> {
        let to = to.to_socket_addrs()?.find(SocketAddr::is_ipv4);
        let to = to.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "connect to an address of IPv4"))?;
        let now = self.now();
        let peer = self.core.connect(now, to);
        self.core.run(now);
        self.flush();
        Ok(peer)
    }

    /// Posts a message. [`Event::Sent`] or [`Event::Failed`] follows. `incast` has a number that all messages of an
    /// incast share, and the numbers of the hosts that send them ([`Config::host`]).
    ///
    /// # Errors
    /// Where there is no such connection, or the message is impossible.
    pub fn post(
        &mut self,
        to: PeerId,
        content: impl Into<Arc<[u8]>>,
        incast: Option<(u32, &[u16])>,
    ) -> Result<Number, PostError> {
        let now = self.now();
        let number = self.core.post(now, to, content.into(), incast)?;
        self.core.run(now);
        self.flush();
        Ok(number)
    }

    /// Sends and receives until something has happened, but no longer than this, and returns what has happened.
    /// Nothing moves between calls. It also returns when a signal has come.
    ///
    /// # Errors
    /// Where the system refuses to receive.
    pub fn poll(&mut self, timeout: Duration) -> io::Result<Vec<Event>> {
        let until = Instant::now() + timeout;
        loop {
            self.turn()?;
            let events: Vec<Event> = std::iter::from_fn(|| self.core.take_event()).collect();
            let now = Instant::now();
            if !events.is_empty() || now >= until {
                return Ok(events);
            }
            let due = self.instant(self.core.next_at()).unwrap_or(until);
            let wait = until.min(due).saturating_duration_since(now).min(LONGEST);
            if !wait.is_zero() && os::wait(&self.socket, wait)? {
                self.turn()?;
                return Ok(std::iter::from_fn(|| self.core.take_event()).collect());
            }
        }
    }

    /// Ends a connection, and tells the other end.
    pub fn close(&mut self, peer: PeerId) {
        let now = self.now();
        self.core.close(now, peer);
        self.core.run(now);
        self.flush();
    }

    /// What is below it, for what it counts.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Datagrams that the system did not send. They count as lost.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Takes what has arrived, and lets everything happen that is due.
    fn turn(&mut self) -> io::Result<()> {
        loop {
            let now = self.now();
            let mut taken = 0;
            while taken < AT_ONCE {
                let Some(of) = os::receive(&self.socket, &mut self.buffer)? else { break };
                taken += 1;
                if !of.cut {
                    self.core.on_datagram(now, of.from, of.ecn == CE, &self.buffer[..of.len]);
                }
            }
            self.core.run(now);
            self.flush();
            if taken < AT_ONCE {
                return Ok(());
            }
        }
    }

    fn flush(&mut self) {
        while let Some(of) = self.core.take_datagram() {
            let sent = os::send(&self.socket, of.to, if of.ect { ECT_0 } else { 0 }, &of.bytes);
            self.unsent += u64::from(sent.is_err());
        }
    }

    /// The time of the host. It stands still while the endpoint is behind by more than it may be.
    fn now(&mut self) -> Time {
        let now = time_of(self.began.elapsed().saturating_sub(self.lost));
        let most = self.core.next_at().max(self.core.now()).saturating_add(self.core.slack());
        let behind = now.saturating_sub(most);
        self.lost += Duration::from_nanos(behind.as_ps() / 1000);
        now.min(most)
    }

    /// When the clock of the host will show a time.
    fn instant(&self, at: Time) -> Option<Instant> {
        let after = Duration::from_nanos(at.as_ps().div_ceil(1000));
        (at != Time::NEVER).then(|| self.began.checked_add(after)?.checked_add(self.lost)).flatten()
    }
}

impl Drop for Endpoint {
    /// Tells all peers that it ends.
    fn drop(&mut self) {
        let peers: Vec<PeerId> = self.core.peers().collect();
        peers.into_iter().for_each(|peer| self.close(peer));
    }
}

fn time_of(duration: Duration) -> Time {
    Time::from_ps(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
}
