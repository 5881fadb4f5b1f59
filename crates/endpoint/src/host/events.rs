//! Events of hosts: a packet arrives, or a timer is due.

use super::{Host, Hosts, Io, Timer};
use fanin_cc::{Kind, flags};

impl<P: Copy> Hosts<P> {
    /// A packet for a host reached it.
    #[inline(never)]
    pub fn on_packet<I: Io<Path = P>>(&mut self, io: &mut I, host: u32, packet: I::Packet) {
        let head = io.header(packet);
        if head.has(flags::TCP) {
            self.on_tcp_packet(io, host, packet);
        } else if head.kind == Kind::Data {
            self.on_data(io, host, packet);
        } else if head.kind == Kind::Request {
            self.on_request(io, host, packet);
        } else if head.kind == Kind::Trimmed {
            self.on_trimmed(io, host, packet);
        } else {
            self.on_control(io, packet);
        }
    }

    /// The hosts, for prefetching.
    #[inline(always)]
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// Bytes of a packet have entered a host, whatever its destination.
    #[inline(always)]
    pub fn count_received(&mut self, host: u32, wire: u16) {
        self.hosts[host as usize].received += wire as u64;
    }

    /// A timer that was set with [`Io::set_timer`] is due.
    pub fn on_timer<I: Io<Path = P>>(&mut self, io: &mut I, timer: Timer) {
        match timer {
            Timer::Sender { number, slot } => self.sender_timer(io, number, slot),
            Timer::Host { host } => self.host_timer(io, host),
            Timer::Receiver { host, scheme } => self.receiver_timer(io, host, scheme),
            Timer::Answers { host } => self.answers_timer(io, host),
        }
    }
}
