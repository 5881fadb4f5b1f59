//! Hosts that were started by hand, on this machine or on others: each connects to the process with the switches, which
//! tells it what to do over that connection.
//!
//! | byte | field of a host's first message |
//! |---|---|
//! | 0-7 | `fanin-w1` |
//! | 8-15 | token that the process with the switches has shown |
//! | 16-19 | number of the host |
//!
//! The answer is one byte: 1 where it may take part. Then come the messages of [`crate::member`]. Numbers are
//! little-endian.

use crate::member::serve;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const MAGIC: [u8; 8] = *b"fanin-w1";
/// Longest wait for a host's first message.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most connections that have not said theirs; the oldest is closed for a further one.
const CALLERS: usize = 256;
/// How long a host waits for the switches to listen.
const SOON: Duration = Duration::from_secs(10);
/// Time between two looks for a host.
const LOOK: Duration = Duration::from_millis(20);

/// Takes part in a run as a host, until it ends. Where it does, this process ends.
///
/// # Errors
/// Where nothing listens at this address, and where it does not let this host take part.
pub fn join(switches: SocketAddrV4, token: u64, host: u32) -> io::Result<()> {
    let began = Instant::now();
    let mut stream = loop {
        match TcpStream::connect(switches) {
            // They may only be about to listen.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && began.elapsed() < SOON => {
                std::thread::sleep(LOOK);
            }
            connected => break connected?,
        }
    };
    stream.set_nodelay(true)?;
    let mut hello = MAGIC.to_vec();
    hello.extend(token.to_le_bytes());
    hello.extend(host.to_le_bytes());
    stream.write_all(&hello)?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    if answer != [1] {
        return Err(io::Error::other("the switches do not let this host take part: another token, or a number taken"));
    }
    serve(stream.try_clone()?, stream);
    Ok(())
}

/// A connection whose first message has not arrived completely.
struct Caller {
    stream: TcpStream,
    hello: [u8; 20],
    read: usize,
    since: Instant,
}

impl Caller {
    /// Nothing here waits for the other end.
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, hello: [0; 20], read: 0, since: Instant::now() })
    }

    /// Reads what has arrived. Whether more may come; an error ends the connection.
    fn go_on(&mut self) -> io::Result<bool> {
        while self.read < self.hello.len() {
            match self.stream.read(&mut self.hello[self.read..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(more) => self.read += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.since.elapsed() < PATIENCE => {
                    return Ok(true);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The number of the host at the other end, if it has the token and the number is free; the answer is sent.
    fn admit(mut self, token: u64, taken: &[Option<TcpStream>]) -> io::Result<Option<(usize, TcpStream)>> {
        let hello = self.hello;
        let number = u32::from_le_bytes([hello[16], hello[17], hello[18], hello[19]]) as usize;
        let right = hello[..8] == MAGIC && hello[8..16] == token.to_le_bytes();
        let free = taken.get(number).is_some_and(Option::is_none);
        // A byte always fits into the buffer of a new connection.
        self.stream.write_all(&[u8::from(right && free)])?;
        self.stream.set_nonblocking(false)?;
        Ok((right && free).then_some((number, self.stream)))
    }
}

/// Waits for so many hosts. `waiting` is called often with how many there are, and ends the wait by returning false.
pub(crate) fn gather(
    listener: &TcpListener,
    token: u64,
    hosts: u32,
    waiting: &mut dyn FnMut(usize) -> bool,
) -> io::Result<Option<Vec<TcpStream>>> {
    listener.set_nonblocking(true)?;
    let mut taken: Vec<Option<TcpStream>> = (0..hosts).map(|_| None).collect();
    let mut callers: VecDeque<Caller> = VecDeque::new();
    loop {
        let there = taken.iter().flatten().count();
        if there == taken.len() {
            return Ok(Some(taken.into_iter().flatten().collect()));
        }
        if !waiting(there) {
            return Ok(None);
        }
        let mut idle = true;
        match listener.accept() {
            Ok((stream, _)) => {
                idle = false;
                // Whatever is wrong with it, it is no host of this run.
                callers.extend(Caller::new(stream).ok());
                if callers.len() > CALLERS {
                    callers.pop_front();
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        for _ in 0..callers.len() {
            let Some(mut caller) = callers.pop_front() else { break };
            match caller.go_on() {
                Ok(true) => callers.push_back(caller),
                Ok(false) => {
                    idle = false;
                    if let Ok(Some((number, stream))) = caller.admit(token, &taken) {
                        taken[number] = Some(stream);
                    }
                }
                Err(_) => {}
            }
        }
        if idle {
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn connect(to: SocketAddrV4, hello: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(hello).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    }

    #[test]
    fn hosts_with_the_token_and_a_free_number_take_part_and_no_others() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port());
        let hello = |token: u64, number: u32| [&MAGIC[..], &token.to_le_bytes(), &number.to_le_bytes()].concat();
        let mut other_magic = hello(7, 0);
        other_magic[0] = b'F';
        let tried = [
            other_magic,
            hello(8, 0),
            hello(7, 2),
            hello(7, 1),
            hello(7, 1),
            b"GET / HTTP/1.1\r\n\r\n".into(),
            hello(7, 0),
        ];
        let mut streams: Vec<TcpStream> = tried.iter().map(|hello| connect(to, hello)).collect();
        // One that says nothing more.
        streams[5].shutdown(std::net::Shutdown::Write).unwrap();
        let found = gather(&listener, 7, 2, &mut |_| true).unwrap().unwrap();
        assert_eq!(found.len(), 2);
        let mut answers = Vec::new();
        for stream in &mut streams {
            let mut answer = [0];
            let read = stream.read(&mut answer).unwrap_or(0);
            answers.push((read == 1).then_some(answer[0]));
        }
        assert_eq!(answers, [Some(0), Some(0), Some(0), Some(1), Some(0), None, Some(1)]);
        assert!(gather(&listener, 7, 1, &mut |_| false).unwrap().is_none());
    }

    #[test]
    fn connections_that_say_nothing_delay_no_host() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port());
        let began = Instant::now();
        let silent: Vec<TcpStream> = (0..20).map(|_| connect(to, b"fanin-w1")).collect();
        let host = connect(to, &[&MAGIC[..], &7u64.to_le_bytes(), &0u32.to_le_bytes()].concat());
        assert_eq!(gather(&listener, 7, 1, &mut |_| true).unwrap().unwrap().len(), 1);
        assert!(began.elapsed() < PATIENCE, "20 silent ones took {:?}", began.elapsed());
        drop((silent, host));
    }
}
