//! Loss recovery of option `-sleek`: a sender that does without trimming finds losses by packets that have overtaken
//! others, and by probes.
//!
//! Source: uet-htsim's SLEEK, as it was read. There are no recorded runs of it, so that nothing holds this file to the
//! original, as `tests/micro.rs` does the others. Three rules are ours, where the reading leaves them open: a probe
//! takes no sequence number; only a sender with packets under way sends one; and while a recovery goes on only the
//! answer to a probe begins another, since every ACK shows the same gap.

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Packet, Sending, Type};
use crate::settings::HEADER;

/// The fewest packets that have come ahead of a gap by which it is a loss.
const FEWEST_AHEAD: i64 = 5;

impl Network<'_> {
    /// An ACK has been taken. `delay` is the queueing delay of the probe that it answers.
    pub(crate) fn look_for_losses(&mut self, s: u32, ack: &Packet, delay: Option<u64>) {
        if !self.settings.sleek {
            return;
        }
        let (mss, target) = (self.settings.mss, self.nscc.target);
        let sender = &mut self.senders[s as usize];
        sender.recovery.until = sender.recovery.until.filter(|until| sender.cumulative < *until);
        // 1.5 windows of packets ahead of a gap, but no more than the largest window, and 5 packets at least.
        let window = sender.nscc.window;
        let most = (window.saturating_mul(3) / 2).min(sender.nscc.most).max(FEWEST_AHEAD * mss);
        let overtaken = i64::from(ack.ahead) * mss >= most && !sender.recovery.goes_on();
        if overtaken || delay.is_some_and(|delay| delay < target) {
            self.recover(s);
        }
        let sender = &self.senders[s as usize];
        let base = sender.nscc.base;
        self.set_probe(s, if sender.backlog == 0 { base.saturating_add(target) } else { base.saturating_mul(3) });
    }

    /// What is under way within a window from the first missing packet on is lost, and is to be sent again.
    fn recover(&mut self, s: u32) {
        let mss = self.settings.mss;
        let sender = self.sender(s);
        sender.recovery.until = Some(sender.highest);
        let packets = u32::try_from(sender.nscc.window / mss).unwrap_or(u32::MAX);
        let from = sender.cumulative;
        for psn in from..from.saturating_add(packets).min(sender.highest) {
            let sender = self.sender(s);
            let Some(record) = sender.window.unsend(psn) else { continue };
            sender.in_flight -= record.size;
            sender.window.wait(psn);
            sender.counters.sleek += 1;
            self.renew_timer_of(s, &record);
        }
    }

    fn set_probe(&mut self, s: u32, after: u64) {
        self.sender(s).recovery.timer = self.events.after(after, Event::Probe(s)).unwrap_or(0);
    }

    /// The timer of a probe expires, unless another one was set since.
    pub(crate) fn probe(&mut self, s: u32) {
        let sender = &self.senders[s as usize];
        if sender.recovery.timer != self.events.taken() || sender.finished.is_some() {
            return;
        }
        self.note_event(Event::Probe(s));
        let base = self.senders[s as usize].nscc.base;
        if self.senders[s as usize].window.oldest().is_some() {
            let entropy = self.entropy(s);
            let sender = &self.senders[s as usize];
            let probe = Packet {
                of: Type::Data,
                connection: s,
                flow: sender.flow,
                to: sender.to,
                entropy,
                size: HEADER as u16,
                psn: sender.highest,
                sending: Sending::Probe,
                pull: self.events.now(),
                ..Packet::default()
            };
            let host = sender.host;
            let at = self.packets.add(probe);
            self.send_control(host, at);
        }
        self.set_probe(s, base.saturating_mul(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::run::Results;
    use crate::setup::Setup;

    fn setup(options: &str, matrix: &str) -> Setup {
        let options = Options::parse(options.split_whitespace()).expect("good options");
        Setup::new(options, matrix, None).expect("good input")
    }

    const LONG: &str = "Nodes 16\nConnections 1\n0->5 start 0 size 4000000\n";

    /// A sender with 40 packets under way, before the first ACK, of which three are acknowledged, and what it does when
    /// so many have come ahead of a gap: packets to send again, and whether a loss is repaired.
    fn ahead(window: i64, packets: u32) -> (u64, bool) {
        let (setup, mut output) = (setup("-disable_trim -sleek", LONG), |_: &str| {});
        let mut network = Network::new(&setup, &mut output, None);
        while network.sender(0).highest < 40 {
            assert!(network.step());
        }
        let sender = network.sender(0);
        sender.nscc.window = window;
        sender.cumulative = 3;
        let before = sender.in_flight;
        let ack = Packet { of: Type::Ack, ahead: packets, ..Packet::default() };
        network.look_for_losses(0, &ack, None);
        let sender = network.sender(0);
        let queued = sender.counters.sleek;
        assert_eq!(
            (i64::from(sender.window.waiting()), before - sender.in_flight),
            (queued as i64, queued as i64 * 4150)
        );
        (queued, sender.recovery.goes_on())
    }

    #[test]
    fn so_many_packets_ahead_of_a_gap_are_a_loss() {
        // 1.5 windows of ten packets are 15; those within ten packets of the gap are sent again.
        assert_eq!(ahead(10 * 4086, 14), (0, false));
        assert_eq!(ahead(10 * 4086, 15), (10, true));
        // Five at least, and of a large window no more than the largest, 262,926 bytes; of 40 packets 37 are missing.
        assert_eq!(ahead(4150, 4), (0, false));
        assert_eq!(ahead(4150, 5), (1, true));
        assert_eq!(ahead(262_926, 64), (0, false));
        assert_eq!(ahead(262_926, 65), (37, true));
    }

    #[test]
    fn a_recovery_sends_whatever_the_window_and_ends_where_it_began() {
        let (setup, mut output) = (setup("-disable_trim -sleek", LONG), |_: &str| {});
        let mut network = Network::new(&setup, &mut output, None);
        while network.sender(0).highest < 30 {
            network.step();
        }
        network.sender(0).nscc.window = 5 * 4086;
        let ack = |ahead| Packet { of: Type::Ack, ahead, ..Packet::default() };
        network.look_for_losses(0, &ack(8), None);
        assert_eq!(network.sender(0).counters.sleek, 5);
        // 25 packets are under way and the window is 5. Of the NIC's turns five are for what is lost.
        let highest = network.sender(0).highest;
        while network.sender(0).counters.again < 5 {
            assert!(network.step());
        }
        assert_eq!(network.sender(0).highest, highest);
        // The gap is there still, but only a probe's answer with little delay shows that it was lost again.
        network.look_for_losses(0, &ack(20), None);
        network.look_for_losses(0, &ack(20), Some(network.nscc.target));
        assert_eq!(network.sender(0).counters.sleek, 5);
        network.look_for_losses(0, &ack(20), Some(network.nscc.target - 1));
        assert_eq!(network.sender(0).counters.sleek, 10);
        network.sender(0).cumulative = highest - 1;
        network.look_for_losses(0, &ack(0), None);
        assert!(network.sender(0).recovery.goes_on());
        network.sender(0).cumulative = highest;
        network.look_for_losses(0, &ack(0), None);
        assert!(!network.sender(0).recovery.goes_on());
    }

    /// Ten packets whose last ones find no room at the first switch; the event log, and what it comes to.
    fn tail_lost(options: &str) -> (Vec<String>, u64, Option<u64>) {
        let setup = setup(options, "Nodes 16\nConnections 1\n0->5 start 0 size 40860\n");
        let (mut log, mut output) = (Vec::new(), |_: &str| {});
        let mut record = |line: &str| log.push(line.to_owned());
        let mut network = Network::new(&setup, &mut output, Some(&mut record));
        let left = |network: &Network<'_>| network.ports.iter().map(|port| port.counts.packets).sum::<u64>();
        let first = setup.settings().queue;
        while network.sender(0).highest < 10 || left(&network) < 20 {
            assert!(network.step());
        }
        network.ports.iter_mut().for_each(|port| port.limit = 0);
        let dropped = |network: &Network<'_>| network.ports.iter().map(|port| port.counts.dropped).sum::<u64>();
        while dropped(&network) == 0 {
            assert!(network.step(), "nothing was dropped");
        }
        network.ports.iter_mut().for_each(|port| port.limit = first);
        while network.step() {}
        let (timeouts, finished) = (network.sender(0).counters.timeouts, network.sender(0).finished);
        drop(network);
        (log, timeouts, finished)
    }

    #[test]
    fn a_probe_finds_that_the_last_packets_are_lost() {
        let (log, timeouts, finished) = tail_lost("-disable_trim -sleek");
        let number = |line: &str, before: &str| -> u64 {
            let rest = line.split_once(before).expect("a field").1;
            rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
        };
        let probe = log.iter().position(|line| line.starts_with("H+ ") && line.contains(" kind=3 ")).expect("a probe");
        let ack = log[..probe].iter().rev().find(|line| line.starts_with("A ")).expect("an ACK before it");
        // Without backlog a target after the last ACK, which is a round-trip time without trimming: 14,022,720 ps.
        assert_eq!(number(&log[probe], "H+ "), number(ack, "A ") + number(ack, "base_rtt=") + 14_022_720);
        assert!(log.iter().any(|line| line.contains(" probe=1")));
        assert_eq!(timeouts, 0);
        let (_, timeouts, late) = tail_lost("-disable_trim");
        assert!(timeouts > 0 && finished < late && finished.is_some(), "{finished:?} {late:?}");
    }

    #[test]
    fn an_incast_that_drops_recovers_without_timeouts() {
        let flows: String = (1..9).map(|from| format!("{from}->0 start 0 size 400000\n")).collect();
        let matrix = format!("Nodes 16\nConnections 8\n{flows}");
        let run = |options: &str| -> (Results, Vec<String>) {
            let mut lines = Vec::new();
            let results = setup(options, &matrix).run(&mut |line| lines.push(line.to_owned()), None, &mut |_| true);
            assert!(results.flows.iter().all(|flow| flow.finished.is_some()), "{options}");
            (results, lines)
        };
        let options = "-disable_trim -end 100000";
        let (without, lines) = run(options);
        assert!(lines.last().is_some_and(|line| line.ends_with("sleek_pkts: 0")));
        assert!(without.sums.timeouts > 100 && without.sums.again == without.sums.timeouts, "{:?}", without.sums);
        let (with, lines) = run(&format!("{options} -sleek"));
        assert!(lines.last().is_some_and(|line| line.ends_with(&format!("sleek_pkts: {}", with.sums.sleek))));
        // Each packet that was dropped is sent again, once, and no other.
        let dropped: u64 = with.links.iter().map(|(_, counts)| counts.dropped).sum();
        assert_eq!((with.sums.timeouts, with.sums.again, with.sums.sleek), (0, dropped, dropped));
        let last = |of: &Results| of.flows.iter().map(|flow| flow.finished).max();
        assert!(last(&with) < last(&without), "{:?} {:?}", last(&with), last(&without));
    }
}
