//! What a switch's port does with a packet: queue it, trim it, drop it, mark it, send it.
//!
//! Source: uet-htsim's composite queue.

use crate::events::Event;
use crate::network::Network;
use crate::port::{Port, Serving, Waiting, chance};

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
        let size = u32::from(self.packets.get(at).size);
        let port = self.port(link);
        if port.low_bytes + u64::from(size) > port.limit {
            // A coin decides whether the arrival or the newest packet is cut.
            if self.random.fraction() >= 0.5 {
                return self.cut_arrival(link, at);
            }
            self.cut_newest(link);
        }
        let port = self.port(link);
        port.low.push_back(Waiting { packet: at, size });
        port.low_bytes += u64::from(size);
        port.counts.peak = port.counts.peak.max(port.low_bytes);
        self.serve_if_idle(link);
    }

    /// Makes a header of a packet with payload.
    fn trim(&mut self, link: u32, at: u32) {
        let (size, last_hop) = (self.trim_size, self.port(link).last_hop);
        let packet = self.packets.get_mut(at);
        packet.size = size;
        packet.header = true;
        packet.last_hop = last_hop;
        self.port(link).counts.trimmed += 1;
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
        let Some(Waiting { packet: at, size }) = self.port(link).low.pop_back() else { return };
        self.port(link).low_bytes -= u64::from(size);
        if !self.trims {
            return self.drop_at_port(link, at);
        }
        self.trim(link, at);
        let size = u32::from(self.trim_size);
        self.log_port("TB", link, at);
        let port = self.port(link);
        if port.high_bytes + u64::from(size) > 2 * port.limit {
            port.counts.dropped += 1;
            self.free(at);
        } else {
            port.high.push_back(Waiting { packet: at, size });
            port.high_bytes += u64::from(size);
        }
    }

    fn queue_header(&mut self, link: u32, at: u32) {
        let size = u32::from(self.packets.get(at).size);
        let port = self.port(link);
        if port.high_bytes + u64::from(size) > 2 * port.limit {
            self.log_port("QD", link, at);
            return self.drop_at_port(link, at);
        }
        port.high.push_back(Waiting { packet: at, size });
        port.high_bytes += u64::from(size);
        self.serve_if_idle(link);
    }

    fn drop_at_port(&mut self, link: u32, at: u32) {
        let flow = self.packets.get(at).flow;
        let port = self.port(link);
        let line = format!("B[ {} {} ] DROP {flow}", port.low.len(), port.high.len());
        port.counts.dropped += 1;
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
        let delay = u64::from(first.size) * port.ps_per_byte;
        self.events.after(delay, Event::Port(link));
    }

    /// A port has sent its packet.
    pub(crate) fn port_done(&mut self, link: u32) {
        let index = (link - self.topology.hosts) as usize;
        let port = &mut self.ports[index];
        let first = if port.serving == Serving::Payload { port.low.pop_front() } else { port.high.pop_front() };
        let Some(Waiting { packet: at, size }) = first else { return };
        let size = u64::from(size);
        port.counts.packets += 1;
        port.counts.bytes += size;
        if port.serving == Serving::Payload {
            port.low_bytes -= size;
            let (left, from, above) = (port.low_bytes, port.mark_from, port.mark_above);
            if left > above || left > from && self.random.draw() < chance(left - from, above - from) {
                self.packets.get_mut(at).marked = true;
                port.counts.marked += 1;
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
