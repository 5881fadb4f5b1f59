//! Calls of the operating system that the standard library does not have. The only unsafe code of the wire is in this
//! file, behind safe functions.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

// ---- Time, and networks of a process's own ----

/// The time since the machine started, the same for all processes of it.
pub fn monotonic() -> Duration {
    clock(libc::CLOCK_MONOTONIC)
}

/// The same, with the time for which the machine was suspended.
#[cfg(target_os = "linux")]
pub fn since_boot() -> Duration {
    clock(libc::CLOCK_BOOTTIME)
}

/// The same, with the time for which the machine was suspended.
#[cfg(not(target_os = "linux"))]
pub fn since_boot() -> Duration {
    monotonic()
}

fn clock(id: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec, which the call fills; it fails only for clocks that do not exist.
    let failed = unsafe { libc::clock_gettime(id, &mut time) } != 0;
    if failed { Duration::ZERO } else { Duration::new(time.tv_sec as u64, time.tv_nsec as u32) }
}

#[cfg(target_os = "linux")]
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Waits until one of these sockets has something to receive, but no longer than this. Returns whether one has.
///
/// # Errors
/// Where the system refuses.
#[cfg(target_os = "linux")]
pub fn wait_readable<'a>(sockets: impl Iterator<Item = &'a UdpSocket>, timeout: Duration) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    let each = |socket: &UdpSocket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut all: Vec<libc::pollfd> = sockets.map(each).collect();
    let time =
        libc::timespec { tv_sec: timeout.as_secs() as libc::time_t, tv_nsec: timeout.subsec_nanos() as libc::c_long };
    // SAFETY: the array is valid for its length during the call, the time is valid, and no signal mask is given.
    let ready = unsafe { libc::ppoll(all.as_mut_ptr(), all.len() as libc::nfds_t, &time, std::ptr::null()) };
    match checked(ready) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits a little: this system has no precise wait for several sockets.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn wait_readable<'a>(_sockets: impl Iterator<Item = &'a UdpSocket>, timeout: Duration) -> io::Result<bool> {
    std::thread::sleep(timeout.min(Duration::from_micros(50)));
    Ok(true)
}

/// Lets timers of this thread expire when they are due, and not up to 50 us later, which saves power.
pub fn precise_timers() {
    #[cfg(target_os = "linux")]
    // SAFETY: this call takes numbers only. Where it fails, timers are less precise, which the run measures.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

/// Moves this thread, and the processes that it starts from now on, into a new network namespace. It ends with them.
///
/// # Errors
/// Where the system refuses: it needs privileges.
#[cfg(target_os = "linux")]
pub fn enter_own_network() -> io::Result<()> {
    // SAFETY: this call takes a number only, and changes what names of network interfaces mean to this thread.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// A socket for whole frames of this Ethernet type on a network interface. `send` and `recv` are those of the link.
///
/// # Errors
/// Where there is no such interface, and where the system refuses: it needs privileges.
#[cfg(target_os = "linux")]
pub fn frame_socket(interface: &str, ether_type: u16) -> io::Result<UdpSocket> {
    use std::os::fd::{FromRawFd, OwnedFd};
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: the name is a valid string that ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let protocol = i32::from(ether_type.to_be());
    // SAFETY: this call takes numbers only.
    let socket = checked(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the call above has made this descriptor, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    bind_to_interface(&socket, index, ether_type)?;
    // The standard library's type for sockets that send and receive datagrams.
    Ok(UdpSocket::from(socket))
}

#[cfg(target_os = "linux")]
fn bind_to_interface(socket: &std::os::fd::OwnedFd, index: u32, ether_type: u16) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ether_type.to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is valid during the call and has this length; the descriptor is open.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Asks for a receive buffer of so many bytes. Returns how many the system gives.
///
/// # Errors
/// Where the system refuses.
#[cfg(target_os = "linux")]
pub fn set_receive_buffer(socket: &UdpSocket, bytes: usize) -> io::Result<usize> {
    use std::os::fd::AsRawFd;
    let (fd, asked) = (socket.as_raw_fd(), bytes.min(i32::MAX as usize) as libc::c_int);
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value is an int, as this option needs, and valid during the call.
    checked(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, (&raw const asked).cast(), len) })?;
    let mut given: libc::c_int = 0;
    // SAFETY: the value is an int, as this option needs, and valid during the call, as is its length.
    checked(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, (&raw mut given).cast(), &mut len) })?;
    Ok(given.max(0) as usize)
}

/// What only Linux has.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::*;

    fn unsupported<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this needs Linux"))
    }
    /// See the function of Linux.
    pub fn enter_own_network() -> io::Result<()> {
        unsupported()
    }
    /// See the function of Linux.
    pub fn frame_socket(_interface: &str, _ether_type: u16) -> io::Result<UdpSocket> {
        unsupported()
    }
    /// See the function of Linux.
    pub fn set_receive_buffer(_socket: &UdpSocket, _bytes: usize) -> io::Result<usize> {
        unsupported()
    }
}
#[cfg(not(target_os = "linux"))]
pub use elsewhere::*;

/// UDP datagrams with the ECN bits of their IP header.
pub mod datagrams {
    use std::io;
    use std::net::{SocketAddr, UdpSocket};
    use std::time::Duration;

    /// A datagram that has arrived.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Received {
        /// Its length. One that is longer than the buffer has been cut to it.
        pub len: usize,
        /// Whether it was longer than the buffer.
        pub cut: bool,
        /// Its sender.
        pub from: SocketAddr,
        /// The two ECN bits of its IP header (RFC 3168 section 5).
        pub ecn: u8,
    }

    #[cfg(target_os = "linux")]
    pub use linux::{enable, random, receive, send, wait};
    #[cfg(not(target_os = "linux"))]
    pub use others::{enable, random, receive, send, wait};

    #[cfg(target_os = "linux")]
    mod linux {
        use super::{Duration, Received, SocketAddr, UdpSocket, io};
        use libc::{c_int, c_void, socklen_t};
        use std::mem::{MaybeUninit, size_of, zeroed};
        use std::net::{Ipv4Addr, SocketAddrV4};
        use std::os::fd::AsRawFd;

        /// Room for one control message with an int, aligned as the system wants it.
        type Room = [u64; 8];

        fn set(socket: &UdpSocket, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
            // SAFETY: the value and its length are those of an int that lives until the call returns.
            let result = unsafe {
                let at = (&raw const value).cast::<c_void>();
                libc::setsockopt(socket.as_raw_fd(), level, option, at, size_of::<c_int>() as socklen_t)
            };
            if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }

        /// Lets a socket report the ECN bits of what arrives, and asks for buffers of so many bytes. The system may
        /// give less.
        pub fn enable(socket: &UdpSocket, buffers: usize) -> io::Result<()> {
            let bytes = c_int::try_from(buffers).unwrap_or(c_int::MAX);
            set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)?;
            set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)?;
            set(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)
        }

        /// Sends a datagram with these ECN bits.
        pub fn send(socket: &UdpSocket, to: SocketAddr, ecn: u8, bytes: &[u8]) -> io::Result<()> {
            let SocketAddr::V4(to) = to else { return Err(io::ErrorKind::Unsupported.into()) };
            let mut room: Room = [0; 8];
            // SAFETY: all pointers are to locals or to `bytes` and live until the call returns; `room` is aligned and
            // large enough for the one control message, which CMSG_LEN and CMSG_SPACE measure.
            let sent = unsafe {
                let mut name: libc::sockaddr_in = zeroed();
                name.sin_family = libc::AF_INET as libc::sa_family_t;
                name.sin_port = to.port().to_be();
                name.sin_addr.s_addr = u32::from(*to.ip()).to_be();
                let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
                let mut message: libc::msghdr = zeroed();
                message.msg_name = (&raw mut name).cast();
                message.msg_namelen = size_of::<libc::sockaddr_in>() as socklen_t;
                message.msg_iov = &raw mut part;
                message.msg_iovlen = 1;
                message.msg_control = room.as_mut_ptr().cast();
                message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as _;
                let control = libc::CMSG_FIRSTHDR(&raw const message);
                (*control).cmsg_level = libc::IPPROTO_IP;
                (*control).cmsg_type = libc::IP_TOS;
                (*control).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
                libc::CMSG_DATA(control).cast::<c_int>().write_unaligned(c_int::from(ecn & 3));
                libc::sendmsg(socket.as_raw_fd(), &raw const message, 0)
            };
            if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        }

        /// Takes a datagram that has arrived; `None` where there is none.
        pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<Received>> {
            let mut room: Room = [0; 8];
            let mut name = MaybeUninit::<libc::sockaddr_in>::zeroed();
            // SAFETY: as in `send`. A zeroed sockaddr_in is valid, so it may be read whatever the system has written.
            let (len, flags, ecn, name) = unsafe {
                let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
                let mut message: libc::msghdr = zeroed();
                message.msg_name = name.as_mut_ptr().cast();
                message.msg_namelen = size_of::<libc::sockaddr_in>() as socklen_t;
                message.msg_iov = &raw mut part;
                message.msg_iovlen = 1;
                message.msg_control = room.as_mut_ptr().cast();
                message.msg_controllen = size_of::<Room>() as _;
                let len = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT);
                if len < 0 {
                    let error = io::Error::last_os_error();
                    let none = matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused
                    );
                    return if none { Ok(None) } else { Err(error) };
                }
                let mut ecn = 0;
                let mut control = libc::CMSG_FIRSTHDR(&raw const message);
                while !control.is_null() {
                    if (*control).cmsg_level == libc::IPPROTO_IP && (*control).cmsg_type == libc::IP_TOS {
                        ecn = libc::CMSG_DATA(control).read() & 3;
                    }
                    control = libc::CMSG_NXTHDR(&raw const message, control);
                }
                (len as usize, message.msg_flags, ecn, name.assume_init())
            };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            let from = SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(name.sin_port)));
            Ok(Some(Received { len: len.min(buffer.len()), cut: flags & libc::MSG_TRUNC != 0, from, ecn }))
        }

        /// Waits until a datagram has arrived, but no longer than this. Returns whether a signal came.
        pub fn wait(socket: &UdpSocket, most: Duration) -> io::Result<bool> {
            let mut of = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the two structures live until the call returns, and there is one pollfd.
            let result = unsafe {
                let mut time: libc::timespec = zeroed();
                time.tv_sec = libc::time_t::try_from(most.as_secs()).unwrap_or(libc::time_t::MAX);
                time.tv_nsec = most.subsec_nanos() as _;
                libc::ppoll(&raw mut of, 1, &raw const time, std::ptr::null())
            };
            if result >= 0 {
                return Ok(false);
            }
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted { Ok(true) } else { Err(error) }
        }

        /// Unpredictable numbers.
        pub fn random() -> io::Result<[u64; 4]> {
            let mut words = [0u64; 4];
            // SAFETY: the memory is that of the array, all of whose contents are valid.
            let got = unsafe { libc::getrandom(words.as_mut_ptr().cast(), size_of::<[u64; 4]>(), 0) };
            if got == size_of::<[u64; 4]>() as isize { Ok(words) } else { Err(io::Error::last_os_error()) }
        }
    }

    /// Systems other than Linux: without ECN.
    #[cfg(not(target_os = "linux"))]
    mod others {
        use super::{Duration, Received, SocketAddr, UdpSocket, io};
        use std::hash::{BuildHasher, Hasher, RandomState};

        pub fn enable(_socket: &UdpSocket, _buffers: usize) -> io::Result<()> {
            Ok(())
        }

        pub fn send(socket: &UdpSocket, to: SocketAddr, _ecn: u8, bytes: &[u8]) -> io::Result<()> {
            socket.send_to(bytes, to).map(|_| ())
        }

        fn none(error: &io::Error) -> bool {
            matches!(
                error.kind(),
                io::ErrorKind::WouldBlock
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::Interrupted
                    | io::ErrorKind::ConnectionRefused
            )
        }

        pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<Received>> {
            socket.set_nonblocking(true)?;
            let received = socket.recv_from(buffer);
            socket.set_nonblocking(false)?;
            match received {
                Ok((len, from)) => Ok(Some(Received { len, cut: false, from, ecn: 0 })),
                Err(error) if none(&error) => Ok(None),
                Err(error) => Err(error),
            }
        }

        pub fn wait(socket: &UdpSocket, most: Duration) -> io::Result<bool> {
            socket.set_read_timeout(Some(most.max(Duration::from_micros(1))))?;
            match socket.peek_from(&mut [0]) {
                Err(error) if !none(&error) => Err(error),
                Err(error) => Ok(error.kind() == io::ErrorKind::Interrupted),
                Ok(_) => Ok(false),
            }
        }

        pub fn random() -> io::Result<[u64; 4]> {
            Ok(std::array::from_fn(|_| RandomState::new().build_hasher().finish()))
        }
    }

    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;
        use std::time::Instant;

        #[test]
        fn a_datagram_arrives_with_the_ecn_bits_that_it_was_sent_with() {
            let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
            let (a, b) = (bind(), bind());
            enable(&b, 1 << 20).unwrap();
            let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
            let mut buffer = [0; 8];
            assert_eq!(receive(&b, &mut buffer).unwrap(), None);
            for ecn in 0..4 {
                send(&a, to, ecn, &[ecn, 9]).unwrap();
                assert!(!wait(&b, Duration::from_secs(5)).unwrap());
                let found = receive(&b, &mut buffer).unwrap();
                assert_eq!(found, Some(Received { len: 2, cut: false, from, ecn }));
                assert_eq!(buffer[..2], [ecn, 9]);
            }
            send(&a, to, 0, &[1; 9]).unwrap();
            wait(&b, Duration::from_secs(5)).unwrap();
            assert!(receive(&b, &mut buffer).unwrap().is_some_and(|of| of.cut && of.len == 8));
            let began = Instant::now();
            wait(&b, Duration::from_millis(20)).unwrap();
            assert!(began.elapsed() >= Duration::from_millis(20), "nothing comes");
            assert!(send(&a, "[::1]:9".parse().unwrap(), 0, &[1]).is_err());
            assert_ne!(random().unwrap(), random().unwrap());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_wait_ends_with_its_time_or_with_a_datagram() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let began = monotonic();
        assert!(!wait_readable([&socket].into_iter(), Duration::from_millis(3)).unwrap());
        assert!(monotonic() - began >= Duration::from_millis(3));
        socket.send_to(&[1], socket.local_addr().unwrap()).unwrap();
        assert!(wait_readable([&socket].into_iter(), Duration::from_secs(60)).unwrap());
    }

    #[test]
    fn an_interface_that_is_not_there_has_no_socket() {
        assert!(frame_socket("no-such-one", 0x88B5).is_err());
    }
}
