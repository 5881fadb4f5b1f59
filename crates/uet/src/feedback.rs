//! What a sender does with ACKs, NACKs, pulls and timeouts.
//!
//! Source: uet-htsim's source of UEC.

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Packet, Sending};
use crate::settings::HEADER;
use fanin_cc::paths::Feedback;

impl Network<'_> {
    /// An ACK arrives.
    pub(crate) fn on_ack(&mut self, ack: &Packet) {
        let (s, now) = (ack.connection, self.events.now());
        let sender = &mut self.senders[s as usize];
        let new = ack.bytes.saturating_sub(sender.received) as i64;
        sender.received = sender.received.max(ack.bytes);
        sender.nscc.count(new);
        sender.counters.acks += 1;
        sender.in_flight -= new;
        sender.cumulative = sender.cumulative.max(ack.cumulative);
        let probed = (ack.sending == Sending::Probe).then(|| (now - ack.pull).saturating_sub(sender.nscc.base));
        let delay = if probed.is_some() { sender.nscc.average } else { self.delay_of(ack) };
        self.free_below(s, ack.cumulative);
        self.free_bitmap(s, ack);
        let sender = &mut self.senders[s as usize];
        let feedback = if ack.marked { Feedback::Marked } else { Feedback::Good };
        sender.paths.feedback(ack.entropy, feedback, now);
        if self.settings.nscc {
            sender.nscc.on_ack(&self.nscc, now, ack.marked, delay, new, sender.in_flight);
        }
        self.log_ack(s, ack.cumulative, new, delay);
        let sender = self.sender(s);
        sender.credit.stop_speculating();
        if sender.finished.is_none() {
            self.finish_if_done(s);
        }
        if self.sender(s).finished.is_none() {
            self.look_for_losses(s, ack, probed);
            self.try_to_send(s);
        }
    }

    /// The queueing delay that an ACK shows; the average if it shows none.
    fn delay_of(&mut self, ack: &Packet) -> u64 {
        let now = self.events.now();
        let sender = &mut self.senders[ack.connection as usize];
        let nscc = &mut sender.nscc;
        let Some(record) = sender.window.sent(ack.psn) else { return nscc.average };
        if record.again != u32::from(ack.again) {
            return nscc.average;
        }
        let rtt = now - record.time;
        if !ack.flag {
            nscc.sample_base(&self.nscc, rtt);
        }
        if rtt < nscc.base {
            return nscc.average;
        }
        let delay = rtt - nscc.base;
        nscc.sample_delay(&self.nscc, delay, ack.marked);
        delay
    }

    /// Packets below the cumulative acknowledgement have arrived.
    fn free_below(&mut self, s: u32, cumulative: u32) {
        let first = self.sender(s).window.first();
        for psn in first..cumulative.min(self.sender(s).highest) {
            self.free_packet(s, psn);
        }
        self.sender(s).window.forget(cumulative);
    }

    /// Packets in the bitmap have arrived.
    fn free_bitmap(&mut self, s: u32, ack: &Packet) {
        let mut left = ack.bitmap;
        while left != 0 {
            self.free_packet(s, ack.base + left.trailing_zeros());
            left &= left - 1;
        }
    }

    fn free_packet(&mut self, s: u32, psn: u32) {
        let sender = self.sender(s);
        if let Some(record) = sender.window.unsend(psn) {
            sender.acknowledged += (record.size - HEADER) as u64;
            self.renew_timer_of(s, &record);
        } else if let Some(size) = sender.window.unwait(psn) {
            sender.acknowledged += (size - HEADER) as u64;
            sender.in_flight += size;
        }
    }

    fn finish_if_done(&mut self, s: u32) {
        self.finish_if_whole(s);
        loop {
            let sender = self.sender(s);
            let Some(trigger) = sender.messages.ended(sender.acknowledged) else { break };
            self.beyond("a message of a reused connection activates a trigger");
            self.activate(trigger);
        }
    }

    fn finish_if_whole(&mut self, s: u32) {
        let (mss, reuse, now) = (self.settings.mss as u64, self.reuse, self.events.now());
        let sender = self.sender(s);
        let bytes = u64::from(sender.cumulative).saturating_sub(sender.counters.rts) * mss;
        let reached = if reuse { sender.acknowledged } else { bytes };
        if reached < sender.size {
            return;
        }
        if sender.messages.to_come() {
            return self.beyond("all messages so far of a reused connection are acknowledged before the next is due");
        }
        sender.finished = Some(now);
        self.finished += 1;
        let time = self.time();
        let sender = self.sender(s);
        let a = &sender.nscc.account;
        let line = format!(
            "Flow {} flowId {} uecSrc {s} finished at {time} total messages {} total packets {} RTS {} total bytes \
             {bytes} in_flight now {} fair_inc {} prop_inc {} fast_inc {} eta_inc {} multi_dec -{} quick_dec -{} \
             nack_dec -{}",
            sender.name,
            sender.flow,
            sender.messages.count().max(1),
            sender.cumulative,
            sender.counters.rts,
            sender.in_flight,
            a.fair,
            a.proportional,
            a.fast,
            a.eta,
            a.multiplicative,
            a.quick,
            a.nack,
        );
        let trigger = sender.done_trigger;
        self.print(&line);
        if let Some(trigger) = trigger {
            self.activate(trigger);
        }
        self.cancel_timer(s);
    }

    /// A NACK arrives.
    pub(crate) fn on_nack(&mut self, nack: &Packet) {
        let (s, now) = (nack.connection, self.events.now());
        let sender = &mut self.senders[s as usize];
        sender.counters.nacks += 1;
        let Some(&record) = sender.window.sent(nack.psn) else { return };
        if self.nack_rtt {
            sender.nscc.sample_base(&self.nscc, now - record.time);
        }
        if self.settings.nscc {
            let spare = self.settings.rccc && nack.last_hop;
            sender.nscc.on_nack(&self.nscc, now, record.size, spare, sender.in_flight);
        }
        sender.window.unsend(nack.psn);
        sender.in_flight -= record.size;
        sender.credit.stop_speculating();
        self.send_again_later(s, nack.psn);
        self.renew_timer_of(s, &record);
        self.log_nack(s, nack.psn);
        let feedback = match (nack.last_hop, nack.marked) {
            (false, _) => Feedback::Trimmed,
            (true, true) => Feedback::Marked,
            (true, false) => Feedback::Good,
        };
        self.sender(s).paths.feedback(nack.entropy, feedback, now);
        self.try_to_send(s);
    }

    fn send_again_later(&mut self, s: u32, psn: u32) {
        let sender = self.sender(s);
        sender.window.wait(psn);
        if !(self.senders[s as usize].credit.speculating && self.settings.rccc) {
            self.try_to_send(s);
        }
    }

    /// A pull arrives.
    pub(crate) fn on_pull(&mut self, pull: &Packet) {
        let (s, first) = (pull.connection, self.first_window);
        let sender = self.sender(s);
        sender.counters.pulls += 1;
        sender.credit.on_pull(pull.pull, first);
        self.try_to_send(s);
    }

    /// A timer expires, unless it was cancelled.
    pub(crate) fn on_timeout(&mut self, s: u32) {
        let (now, nscc, rccc) = (self.events.now(), self.settings.nscc, self.settings.rccc);
        if !self.expires(s) {
            return;
        }
        self.note_event(Event::Timeout(s));
        self.cancel_timer(s);
        let Some((psn, _)) = self.sender(s).window.oldest() else { return };
        self.log_timeout(s, psn);
        self.sender(s).counters.timeouts += 1;
        let sender = &mut self.senders[s as usize];
        sender.paths.feedback(0, Feedback::Timeout, now);
        let size = sender.window.unsend(psn).map_or(0, |record| record.size);
        self.renew_timer(s);
        let sender = &mut self.senders[s as usize];
        if nscc {
            sender.in_flight -= size;
            sender.nscc.on_timeout(&self.nscc, size);
        }
        if sender.window.waiting() > 0 {
            sender.credit.stop_speculating();
            self.send_again_later(s, psn);
            if rccc {
                self.request(s);
            }
            return;
        }
        self.send_again_later(s, psn);
        let sender = self.sender(s);
        let no_window = nscc && sender.nscc.window < size + sender.in_flight;
        if no_window || rccc && sender.credit.bytes <= 0 {
            return self.request(s);
        }
        let host = sender.host;
        // Two defects of the original: the packet occupies the NIC for a byte only, and a sender that the NIC refuses
        // here does not know that it waits, so it can wait twice.
        if self.ask_nic(host, s) {
            self.send_again(s);
            self.occupy_nic(host, s, 1);
        }
    }
}
