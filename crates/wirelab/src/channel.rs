//! Reliable datagrams between two parts of a network, over UDP on loopback, or over a pair of virtual Ethernet
//! interfaces behind an Ethernet header.
//!
//! [`layouts::DATAGRAM`] and [`layouts::ITEM`] say what stands where.

use crate::node::Item;
use fanin_transport::Sent;
use fanin_transport::layouts;
use fanin_units::{NodeId, PortId, Time};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

const HEADER: usize = layouts::DATAGRAM.len();
const ITEM: usize = layouts::ITEM.len();
/// Most bytes of items in a datagram, but for one that is longer by itself.
const FULL: usize = 24_000;
/// Most datagrams without an acknowledgement, so that no receive buffer overflows.
const WINDOW: usize = 4;
/// The same where time is real and datagrams are short, and most bytes of them.
const REAL_WINDOW: usize = 64;
const REAL_BYTES: usize = 64_000;
/// They are sent again after this time without progress.
const AGAIN: Duration = Duration::from_millis(20);

/// One end of a connection to a neighbour.
pub struct Channel {
    socket: UdpSocket,
    /// In front of each datagram.
    front: &'static [u8],
    token: u64,
    window: usize,
    /// Sent and not acknowledged, with their numbers.
    sent: VecDeque<(u32, Vec<u8>)>,
    waiting: VecDeque<Vec<u8>>,
    next: u32,
    /// The last one that arrived in order.
    arrived: u32,
    /// How many arrived since this end last sent something.
    unacknowledged: u32,
    progress: Instant,
    buffer: Vec<u8>,
}

fn is_nothing(error: &io::Error) -> bool {
    // A neighbour that has not bound its socket yet, or has ended.
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused)
}

impl Channel {
    /// An end at an address of this machine, on a port of the system's choice.
    ///
    /// # Errors
    /// If the system has no sockets, or the address is not local.
    pub fn bind(token: u64, address: Ipv4Addr) -> io::Result<Self> {
        Ok(Self::over(UdpSocket::bind((address, 0))?, &[], token))
    }

    /// An end over a socket that has only one other end. In front of each datagram are these bytes.
    pub fn over(socket: UdpSocket, front: &'static [u8], token: u64) -> Self {
        Self {
            socket,
            front,
            token,
            window: WINDOW,
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
            next: 1,
            arrived: 0,
            unacknowledged: 0,
            progress: Instant::now(),
            buffer: vec![0; 1 << 17],
        }
    }

    /// The same where time is real: more datagrams may be on their way.
    pub fn in_real_time(self) -> Self {
        Self { window: REAL_WINDOW, ..self }
    }

    /// Its socket.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Its port.
    ///
    /// # Errors
    /// Where the system says none.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Connects it to the neighbour's end; datagrams from elsewhere are not received.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        self.socket.connect(to)
    }

    /// Sends items and a promise.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn send(&mut self, items: &mut Vec<Item>, promise: Time, promised: Time) -> io::Result<()> {
        let mut datagram = self.datagram();
        for item in items.drain(..) {
            let (kind, number, arrives, bytes) = match item {
                Item::Frame(Sent { port, arrives, bytes }) => (0, port.0, arrives, bytes),
                Item::Control(host, bytes) => (1, host.0, Time::ZERO, bytes),
            };
            if datagram.len() > self.at(HEADER) && datagram.len() + ITEM + bytes.len() > FULL {
                // More comes before the new promise holds.
                self.wait(core::mem::take(&mut datagram), promised);
                datagram = self.datagram();
            }
            datagram.push(kind);
            datagram.extend(number.to_le_bytes());
            datagram.extend(arrives.as_ps().to_le_bytes());
            datagram.extend((bytes.len() as u32).to_le_bytes());
            datagram.extend(bytes);
        }
        self.wait(datagram, promise);
        self.pump()
    }

    fn datagram(&self) -> Vec<u8> {
        let mut datagram = self.front.to_vec();
        datagram.resize(self.at(HEADER), 0);
        datagram
    }

    /// Where a byte of a datagram is behind what is in front.
    fn at(&self, byte: usize) -> usize {
        self.front.len() + byte
    }

    fn fill<const N: usize>(&self, datagram: &mut [u8], byte: usize, with: [u8; N]) {
        let at = self.at(byte);
        datagram[at..at + N].copy_from_slice(&with);
    }

    fn wait(&mut self, mut datagram: Vec<u8>, promise: Time) {
        self.fill(&mut datagram, 0, self.token.to_le_bytes());
        self.fill(&mut datagram, 16, promise.as_ps().to_le_bytes());
        self.waiting.push_back(datagram);
    }

    /// Sends what may be sent.
    fn pump(&mut self) -> io::Result<()> {
        while self.may_send() {
            let Some(mut datagram) = self.waiting.pop_front() else { break };
            self.fill(&mut datagram, 8, self.next.to_le_bytes());
            if self.sent.is_empty() {
                self.progress = Instant::now();
            }
            self.put(&mut datagram)?;
            self.sent.push_back((self.next, datagram));
            self.next = self.next.wrapping_add(1).max(1);
        }
        Ok(())
    }

    fn may_send(&self) -> bool {
        let few = self.sent.len() < self.window;
        few && (self.sent.len() < WINDOW
            || self.sent.iter().map(|(_, datagram)| datagram.len()).sum::<usize>() < REAL_BYTES)
    }

    fn put(&mut self, datagram: &mut [u8]) -> io::Result<()> {
        self.fill(datagram, 12, self.arrived.to_le_bytes());
        self.unacknowledged = 0;
        match self.socket.send(datagram) {
            Ok(_) => Ok(()),
            // No buffers, and an interface that is not up yet.
            Err(error) if is_nothing(&error) || matches!(error.raw_os_error(), Some(105 | 100)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn acknowledge(&mut self) -> io::Result<()> {
        let mut datagram = self.datagram();
        self.fill(&mut datagram, 0, self.token.to_le_bytes());
        self.put(&mut datagram)
    }

    /// Acknowledges what has not been acknowledged yet.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn settle(&mut self) -> io::Result<()> {
        if self.unacknowledged > 0 { self.acknowledge() } else { Ok(()) }
    }

    /// Sends again what has been lost.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn repeat(&mut self) -> io::Result<()> {
        if self.sent.is_empty() || self.progress.elapsed() < AGAIN {
            return Ok(());
        }
        self.progress = Instant::now();
        let mut sent = core::mem::take(&mut self.sent);
        for (_, datagram) in &mut sent {
            self.put(datagram)?;
        }
        self.sent = sent;
        Ok(())
    }

    /// Waits for a datagram, but no longer than this; not at all where it is zero. Calls `each` with its items and
    /// returns its promise, if it is the next one.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn receive(&mut self, timeout: Duration, mut each: impl FnMut(Item)) -> io::Result<Option<Time>> {
        if timeout.is_zero() {
            self.socket.set_nonblocking(true)?;
        } else {
            self.socket.set_nonblocking(false)?;
            self.socket.set_read_timeout(Some(timeout))?;
        }
        let len = match self.socket.recv(&mut self.buffer) {
            Ok(len) => len,
            Err(error) if is_nothing(&error) || error.raw_os_error() == Some(100) => return Ok(None),
            Err(error) => return Err(error),
        };
        let buffer = core::mem::take(&mut self.buffer);
        let promise = self.take(buffer.get(self.front.len()..len).unwrap_or_default(), &mut each);
        self.buffer = buffer;
        self.pump()?;
        if self.unacknowledged as usize >= self.window / 2 {
            self.acknowledge()?;
        }
        Ok(promise)
    }

    /// Reads a datagram. One that is not of this run, or not whole, is ignored.
    fn take(&mut self, datagram: &[u8], each: &mut impl FnMut(Item)) -> Option<Time> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(datagram.get(at..at + 8)?.try_into().ok()?));
        if u64_at(0)? != self.token {
            return None;
        }
        let (number, arrived, promise) = (u32_at(8)?, u32_at(12)?, u64_at(16)?);
        while self.sent.front().is_some_and(|(sent, _)| *sent <= arrived) {
            self.sent.pop_front();
            self.progress = Instant::now();
        }
        if number == 0 {
            return None;
        }
        self.unacknowledged += 1;
        if number != self.arrived.wrapping_add(1).max(1) {
            // It came twice, or behind a gap; the other end gets to know what has arrived.
            self.unacknowledged += self.window as u32;
            return None;
        }
        let mut items = Vec::new();
        let mut at = HEADER;
        while at < datagram.len() {
            let (named, arrives) = (u32_at(at + 1)?, Time::from_ps(u64_at(at + 5)?));
            let len = u32_at(at + 13)? as usize;
            let bytes = datagram.get(at + ITEM..at + ITEM + len)?.to_vec();
            items.push(match datagram[at] {
                0 => Item::Frame(Sent { port: PortId(named), arrives, bytes }),
                _ => Item::Control(NodeId(named), bytes),
            });
            at += ITEM + len;
        }
        self.arrived = number;
        items.into_iter().for_each(each);
        Some(Time::from_ps(promise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, Channel) {
        let here = Ipv4Addr::LOCALHOST;
        let (a, b) = (Channel::bind(7, here).unwrap(), Channel::bind(7, here).unwrap());
        a.connect(SocketAddrV4::new(here, b.port().unwrap())).unwrap();
        b.connect(SocketAddrV4::new(here, a.port().unwrap())).unwrap();
        (a, b)
    }

    fn frame(number: u32, len: usize) -> Item {
        Item::Frame(Sent { port: PortId(number), arrives: Time::from_ns(number.into()), bytes: vec![1; len] })
    }

    #[test]
    fn all_items_arrive_in_order_with_the_promise_behind_the_last() {
        let (mut a, mut b) = pair();
        let sent: Vec<Item> = (0..200).map(|number| frame(number, 1_500)).collect();
        a.send(&mut sent.clone(), Time::from_us(9), Time::from_us(8)).unwrap();
        let (mut found, mut promises) = (Vec::new(), Vec::new());
        while promises.last() != Some(&Time::from_us(9)) {
            promises.extend(b.receive(Duration::from_millis(50), |item| found.push(item)).unwrap());
            while a.receive(Duration::ZERO, |_| {}).unwrap().is_some() {}
            a.repeat().unwrap();
            assert!(found.len() <= 200);
        }
        assert_eq!(found, sent);
        assert!(promises.len() > 10 && promises[..promises.len() - 1].iter().all(|of| *of == Time::from_us(8)));
    }

    #[test]
    fn datagrams_are_as_their_tables_say() {
        let (mut a, b) = pair();
        a.arrived = 0x0102_0304;
        a.send(&mut vec![frame(5, 10), frame(6, 11)], Time::from_us(9), Time::ZERO).unwrap();
        let mut bytes = [0; 2000];
        b.socket.recv(&mut bytes).unwrap();
        let of = |name: &str| layouts::DATAGRAM.value(&bytes, name);
        let promise = Time::from_us(9).as_ps();
        let expected = [7, 1, 0x0102_0304, promise].map(Some);
        assert_eq!(["token", "number", "arrived", "promise"].map(of), expected);
        let second = &bytes[HEADER + ITEM + 10..];
        let of = |name: &str| layouts::ITEM.value(second, name);
        assert_eq!(["kind", "number", "arrives", "length"].map(of), [0, 6, 6000, 11].map(Some));
    }

    #[test]
    fn a_datagram_of_another_run_is_ignored() {
        let (mut a, mut b) = pair();
        a.token = 8;
        a.send(&mut vec![frame(1, 10)], Time::from_us(1), Time::ZERO).unwrap();
        assert_eq!(b.receive(Duration::from_millis(20), |_| panic!("it has another token")).unwrap(), None);
    }

    #[test]
    fn what_was_lost_is_sent_again_and_taken_once() {
        let (mut a, mut b) = pair();
        a.send(&mut vec![frame(1, 10)], Time::from_us(1), Time::ZERO).unwrap();
        let mut lost = [0; 2000];
        b.socket.recv(&mut lost).unwrap();
        std::thread::sleep(AGAIN);
        a.repeat().unwrap();
        std::thread::sleep(AGAIN);
        a.repeat().unwrap();
        let mut found = Vec::new();
        for _ in 0..3 {
            b.receive(Duration::from_millis(20), |item| found.push(item)).unwrap();
        }
        assert_eq!(found, [frame(1, 10)]);
    }
}
