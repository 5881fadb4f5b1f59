//! The queue of a switch's port: payload and headers apart, trimming, marks.
//!
//! Source: uet-htsim, compositequeue.cpp.

use std::collections::VecDeque;

use crate::events::Event;
use crate::network::Network;
use crate::random::LARGEST;

/// Which of its two queues a port serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Serving {
    #[default]
    Nothing,
    Payload,
    Headers,
}

/// Headers in a row after which one packet with payload is served.
const HEADERS_IN_A_ROW: u32 = 100_000;

/// A port. Bytes include the packet in service.
#[derive(Default)]
pub struct Port {
    low: VecDeque<u32>,
    high: VecDeque<u32>,
    low_bytes: u64,
    high_bytes: u64,
    serving: Serving,
    row: u32,
    limit: u64,
    mark_from: u64,
    mark_above: u64,
    ps_per_byte: u64,
    last_hop: bool,
}

impl Port {
    /// A port of a size. Without thresholds of marks it marks nothing. `last_hop` tells that a host is behind it.
    pub fn new(limit: u64, marks: Option<(u64, u64)>, ps_per_byte: u64, last_hop: bool) -> Self {
        let (mark_from, mark_above) = marks.unwrap_or((2 * limit, 2 * limit));
        Self { limit, mark_from, mark_above, ps_per_byte, last_hop, ..Self::default() }
    }

    /// Bytes of payload packets, and of headers.
    pub fn bytes(&self) -> (u64, u64) {
        (self.low_bytes, self.high_bytes)
    }

    fn choose(&mut self) {
        self.serving = match (self.low.is_empty(), self.high.is_empty()) {
            (true, true) => Serving::Nothing,
            (true, false) => Serving::Headers,
            (false, true) => Serving::Payload,
            (false, false) => {
                self.row += 1;
                if self.row > HEADERS_IN_A_ROW {
                    self.row = 0;
                }
                if self.row < HEADERS_IN_A_ROW { Serving::Headers } else { Serving::Payload }
            }
        };
    }
}

impl Network<'_> {
    fn port(&mut self, link: u32) -> &mut Port {
        &mut self.ports[(link - self.topology.hosts) as usize]
    }

    /// A packet comes to a port.
    pub(crate) fn queue_at_port(&mut self, link: u32, at: u32) {
        self.log_port("Q+", link, at);
        if self.packets.get(at).header {
            return self.queue_header(link, at);
        }
        let size = u64::from(self.packets.get(at).size);
        let port = self.port(link);
        if port.low_bytes + size > port.limit {
            if self.random.fraction() >= 0.5 {
                return self.cut_arrival(link, at);
            }
            self.cut_newest(link);
        }
        let port = self.port(link);
        port.low.push_back(at);
        port.low_bytes += size;
        self.serve_if_idle(link);
    }

    /// Makes a header of a packet with payload.
    fn trim(&mut self, link: u32, at: u32) {
        let (size, last_hop) = (self.trim_size, self.port(link).last_hop);
        let packet = self.packets.get_mut(at);
        packet.size = size;
        packet.header = true;
        packet.last_hop = last_hop;
    }

    fn cut_arrival(&mut self, link: u32, at: u32) {
        if self.trims {
            self.trim(link, at);
            self.log_port("TA", link, at);
            self.queue_header(link, at);
        } else {
            self.drop_at_port(link, at);
        }
    }

    fn cut_newest(&mut self, link: u32) {
        let Some(at) = self.port(link).low.pop_back() else { return };
        let size = u64::from(self.packets.get(at).size);
        self.port(link).low_bytes -= size;
        if !self.trims {
            return self.drop_at_port(link, at);
        }
        self.trim(link, at);
        let size = u64::from(self.trim_size);
        self.log_port("TB", link, at);
        let port = self.port(link);
        if port.high_bytes + size > 2 * port.limit {
            self.free(at);
        } else {
            port.high.push_back(at);
            port.high_bytes += size;
        }
    }

    fn queue_header(&mut self, link: u32, at: u32) {
        let size = u64::from(self.packets.get(at).size);
        let port = self.port(link);
        if port.high_bytes + size > 2 * port.limit {
            self.log_port("QD", link, at);
            return self.drop_at_port(link, at);
        }
        port.high.push_back(at);
        port.high_bytes += size;
        self.serve_if_idle(link);
    }

    fn drop_at_port(&mut self, link: u32, at: u32) {
        let flow = self.packets.get(at).flow;
        let port = self.port(link);
        let line = format!("B[ {} {} ] DROP {flow}", port.low.len(), port.high.len());
        self.dropped += 1;
        self.print(&line);
        self.free(at);
    }

    fn serve_if_idle(&mut self, link: u32) {
        if self.port(link).serving == Serving::Nothing {
            self.serve(link);
        }
    }

    fn serve(&mut self, link: u32) {
        let port = self.port(link);
        port.choose();
        let first = match port.serving {
            Serving::Nothing => return,
            Serving::Payload => port.low[0],
            Serving::Headers => port.high[0],
        };
        let delay = u64::from(self.packets.get(first).size) * self.port(link).ps_per_byte;
        self.events.after(delay, Event::Port(link));
    }

    /// A port has sent its packet.
    pub(crate) fn port_done(&mut self, link: u32) {
        let index = (link - self.topology.hosts) as usize;
        let port = &mut self.ports[index];
        let first = if port.serving == Serving::Payload { port.low.pop_front() } else { port.high.pop_front() };
        let Some(at) = first else { return };
        let size = u64::from(self.packets.get(at).size);
        if port.serving == Serving::Payload {
            port.low_bytes -= size;
            let (left, from, above) = (port.low_bytes, port.mark_from, port.mark_above);
            if left > above || left > from && self.random.draw() < chance(left - from, above - from) {
                self.packets.get_mut(at).marked = true;
            }
        } else {
            port.high_bytes -= size;
        }
        self.log_port("Q-", link, at);
        self.hops += 1;
        self.send_into(link, at);
        self.serve(link);
    }
}

/// The bound below which a random number marks.
fn chance(over: u64, range: u64) -> u32 {
    (u128::from(LARGEST) * u128::from(over) / u128::from(range)) as u32
}
