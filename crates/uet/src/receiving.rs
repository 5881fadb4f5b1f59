//! What a receiver does with each packet.
//!
//! Source: uet-htsim's sink of UEC; Ultra Ethernet 1.0, packet delivery (selective acknowledgements).

use crate::network::Network;
use crate::packet::{Packet, Sending, Type};
use crate::receiver::Receiver;
use crate::settings::HEADER;

impl Network<'_> {
    /// A packet for a receiver.
    pub(crate) fn receive(&mut self, packet: &Packet) {
        match (packet.of, packet.header) {
            (Type::Data, false) if packet.sending == Sending::Probe => {
                let base = self.receiver(packet).base(packet.psn);
                self.acknowledge(packet, base, packet.marked, false);
            }
            (Type::Data, false) => self.receive_data(packet),
            (Type::Data, true) => self.receive_trimmed(packet),
            _ => self.receive_rts(packet),
        }
    }

    fn receiver(&mut self, packet: &Packet) -> &mut Receiver {
        &mut self.receivers[packet.connection as usize]
    }

    fn receive_data(&mut self, packet: &Packet) {
        self.count_for_share(packet);
        let r = self.receiver(packet);
        r.accepted = r.accepted.wrapping_add(packet.size);
        r.arrivals.count(packet);
        self.demand(packet.connection, packet.pull);
        let r = self.receiver(packet);
        if r.has(packet.psn) {
            let base = if packet.marked { packet.psn } else { r.base(packet.psn) };
            r.accepted = 0;
            self.print_duplicate(packet);
            return self.acknowledge(packet, base, packet.marked, false);
        }
        // The first payload is acknowledged at once, so that the sender need not speculate any longer.
        let mut force = r.payload == 0;
        r.payload += u64::from(packet.size) - HEADER as u64;
        r.total += u64::from(packet.size);
        if packet.ask {
            force = true;
            r.ack_wanted = true;
        }
        if r.take(packet.psn) && r.ack_wanted {
            force = true;
            r.ack_wanted = false;
        }
        if packet.marked || u32::from(r.accepted) >= self.sack_threshold || force {
            let r = self.receiver(packet);
            r.accepted = 0;
            let base = if packet.marked || packet.ask { packet.psn } else { r.base(packet.psn) };
            self.acknowledge(packet, base, packet.marked, false);
        }
    }

    fn receive_trimmed(&mut self, packet: &Packet) {
        self.count_for_share(packet);
        let r = self.receiver(packet);
        if r.has(packet.psn) {
            let base = r.base(packet.psn);
            return self.acknowledge(packet, base, false, false);
        }
        self.demand(packet.connection, packet.pull);
        let r = self.receiver(packet);
        let nack = Packet {
            of: Type::Nack,
            flow: r.flow,
            to: r.sender_host,
            size: HEADER as u16,
            header: true,
            ask: false,
            ..*packet
        };
        let host = r.host;
        let at = self.packets.add(nack);
        self.send_control(host, at);
        self.join(packet.connection);
    }

    fn receive_rts(&mut self, packet: &Packet) {
        self.count_for_share(packet);
        self.demand(packet.connection, packet.pull);
        self.join(packet.connection);
        let r = self.receiver(packet);
        if r.has(packet.psn) {
            r.accepted = 0;
            let base = r.base(packet.psn);
            self.print_duplicate(packet);
            return self.acknowledge(packet, base, false, true);
        }
        if r.take(packet.psn) {
            r.ack_wanted = false;
        }
        self.acknowledge(packet, packet.psn, false, true);
    }

    fn print_duplicate(&mut self, packet: &Packet) {
        let line = format!("{} flowid {} Spurious {}", self.time(), packet.flow, packet.psn);
        self.duplicates += 1;
        self.print(&line);
    }

    fn acknowledge(&mut self, packet: &Packet, base: u32, marked: bool, rts: bool) {
        // The original uses ACK objects again, the one freed last first, and never clears this flag.
        let flag = self.ack_flags.pop().unwrap_or(false) || rts;
        let r = self.receiver(packet);
        let ack = Packet {
            of: Type::Ack,
            connection: packet.connection,
            flow: r.flow,
            to: r.sender_host,
            entropy: packet.entropy,
            size: HEADER as u16,
            header: true,
            marked,
            psn: packet.psn,
            again: packet.sending == Sending::Again,
            sending: packet.sending,
            pull: if packet.sending == Sending::Probe { packet.pull } else { 0 },
            flag,
            cumulative: r.expected,
            base,
            bitmap: r.bitmap(base),
            bytes: r.total,
            ahead: r.ahead,
            ..Packet::default()
        };
        let host = r.host;
        let at = self.packets.add(ack);
        self.send_control(host, at);
    }
}
