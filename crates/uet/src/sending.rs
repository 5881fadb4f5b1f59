//! What a sender sends, and when.
//!
//! Source: uet-htsim's source of UEC.

use crate::network::Network;
use crate::packet::{Packet, Sending, Type};
use crate::settings::HEADER;
use fanin_cc::uet::Wanted;

impl Network<'_> {
    /// A connection starts.
    pub(crate) fn start(&mut self, s: u32) {
        let (now, time, first) = (self.events.now(), self.time(), self.first_window);
        let sender = self.sender(s);
        sender.started = Some(now);
        sender.credit.bytes = first;
        self.started += 1;
        let sender = self.sender(s);
        let line = format!("Flow {} flowId {} uecSrc {s} starting at {time}", sender.name, sender.flow);
        self.print(&line);
    }

    /// Sends new packets, as long as that is permitted.
    pub(crate) fn send_first(&mut self, s: u32) {
        let host = self.sender(s).host;
        while self.permitted(s) {
            if !self.ask_nic(host, s) {
                self.sender(s).blocked = true;
                return;
            }
            self.send_new(s);
        }
    }

    fn permitted(&mut self, s: u32) -> bool {
        let (nscc, rccc, mtu) = (self.settings.nscc, self.settings.rccc, self.settings.mtu);
        let sender = self.sender(s);
        let (size, free) = match sender.window.first_waiting() {
            Some((_, size)) => (size, sender.recovery.goes_on()),
            None if sender.backlog > 0 => (sender.backlog.min(mtu), false),
            None => return false,
        };
        (!rccc || sender.credit.bytes > 0) && (!nscc || free || sender.nscc.window >= sender.in_flight + size)
    }

    /// After feedback: sends what is permitted.
    pub(crate) fn try_to_send(&mut self, s: u32) {
        let host = self.sender(s).host;
        while !self.sender(s).blocked && self.permitted(s) {
            if self.ask_nic(host, s) {
                self.send_one(s);
            } else {
                self.sender(s).blocked = true;
            }
        }
    }

    /// The NIC gives a sender its turn; tells whether it has sent.
    pub(crate) fn turn_of(&mut self, s: u32) -> bool {
        self.sender(s).blocked = false;
        if !self.permitted(s) {
            return false;
        }
        self.send_one(s);
        let host = self.sender(s).host;
        if self.permitted(s) && !self.ask_nic(host, s) {
            self.sender(s).blocked = true;
        }
        true
    }

    fn send_one(&mut self, s: u32) {
        if self.sender(s).window.waiting() > 0 {
            let size = self.send_again(s);
            let host = self.sender(s).host;
            self.occupy_nic(host, s, size);
        } else {
            self.send_new(s);
        }
    }

    fn send_new(&mut self, s: u32) {
        let (mtu, mss, reuse) = (self.settings.mtu, self.settings.mss, self.reuse);
        let sender = self.sender(s);
        let size = if reuse { sender.messages.next_payload(mss) + HEADER } else { sender.backlog.min(mtu) };
        sender.backlog -= size;
        let sending = if sender.credit.speculating { Sending::Speculative } else { Sending::Normal };
        let psn = sender.highest;
        sender.counters.new += 1;
        self.send_data(s, psn, size, sending);
        let host = self.sender(s).host;
        self.occupy_nic(host, s, size);
    }

    /// Sends the first packet that waits again; returns its bytes.
    pub(crate) fn send_again(&mut self, s: u32) -> i64 {
        let sender = self.sender(s);
        let Some((psn, size)) = sender.window.first_waiting() else { return 1 };
        sender.window.unwait(psn);
        sender.counters.again += 1;
        self.send_data(s, psn, size, Sending::Again);
        size
    }

    fn send_data(&mut self, s: u32, psn: u32, size: i64, sending: Sending) {
        let (nscc, rccc, now) = (self.settings.nscc, self.settings.rccc, self.events.now());
        let sender = &mut self.senders[s as usize];
        if rccc {
            sender.credit.bytes -= size;
        }
        sender.in_flight += size;
        self.set_target(s);
        let entropy = self.entropy(s);
        let sender = &mut self.senders[s as usize];
        let ask = sending == Sending::Again
            || sender.backlog == 0
            || rccc && sender.credit.bytes <= 0
            || nscc && sender.in_flight + size >= sender.nscc.window;
        sender.window.send(psn, size, now);
        sender.highest = sender.highest.max(psn + 1);
        let packet = Packet {
            of: Type::Data,
            connection: s,
            flow: sender.flow,
            to: sender.to,
            entropy,
            size: size as u16,
            psn,
            sending,
            ask,
            pull: sender.credit.target,
            ..Packet::default()
        };
        let host = sender.host;
        let at = self.packets.add(packet);
        self.queue_at_host(host, at);
        self.start_timer(s, now);
    }

    /// The entropy of the next packet.
    pub(crate) fn entropy(&mut self, s: u32) -> u16 {
        let sender = &mut self.senders[s as usize];
        let window = (sender.nscc.window / self.settings.mss) as u64;
        sender.paths.next_path(sender.highest, window, &mut || self.random.draw())
    }

    /// Computes the pull target, in quanta: what is to be sent and has no credit yet.
    fn set_target(&mut self, s: u32) {
        if !self.settings.rccc {
            return;
        }
        let (mtu, first) = (self.settings.mtu, self.first_window);
        let sender = &mut self.senders[s as usize];
        let wanted = Wanted {
            backlog: sender.backlog,
            again: sender.window.waiting_bytes(),
            window: self.settings.nscc.then_some(sender.nscc.window),
            mtu,
            // Only those that wait at the NIC count, as in the original.
            sharers: self.nics[sender.host as usize].senders() as i64,
        };
        sender.credit.demand(&wanted, first);
    }

    /// Requests credit, unless that was done less than a round-trip time ago.
    pub(crate) fn request(&mut self, s: u32) {
        let now = self.events.now();
        let sender = &self.senders[s as usize];
        if sender.counters.rts > 0 && now - sender.last_rts < self.nscc.network_rtt {
            return;
        }
        let entropy = self.entropy(s);
        let sender = self.sender(s);
        sender.last_rts = now;
        let psn = sender.highest;
        sender.window.send(psn, HEADER, now);
        sender.highest += 1;
        sender.counters.rts += 1;
        let rts = Packet {
            of: Type::Rts,
            connection: s,
            flow: sender.flow,
            to: sender.to,
            entropy,
            size: HEADER as u16,
            header: true,
            psn,
            ask: true,
            pull: sender.credit.target,
            ..Packet::default()
        };
        let host = sender.host;
        let at = self.packets.add(rts);
        self.send_control(host, at);
        self.start_timer(s, now);
    }
}
