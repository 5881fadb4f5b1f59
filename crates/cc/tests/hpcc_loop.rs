//! HPCC flows in a closed loop over one link of 100 Gb/s with T = 13 us: when W_c is set.

use crate::common::{PAYLOAD, us};
use fanin_cc::schemes::hpcc::Hpcc;
use fanin_cc::{Ack, Action, Control, IntHop, PathInfo, Pool, Scheme, Sent, Telemetry};
use fanin_units::{NodeId, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const LINE: Rate = Rate::from_gbps(100);
const WIRE: u32 = 1082;
/// From the end of a packet on the link to its ACK at the sender.
const BACK: Time = Time::from_ns(12_900);

/// An ACK that arrived, in order of time.
#[derive(Debug)]
struct Seen {
    at: Time,
    acked_to: u64,
    sent_to: u64,
    /// When the data that it answers was sent.
    data_sent: Time,
    /// W_c after it, and whether it set it.
    reference: f64,
    updated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Join(usize),
    Send(usize),
    Served,
    Ack(usize, usize),
}

struct Flow {
    slot: u32,
    control: Control,
    next: u64,
    acked: u64,
    last_sent: Time,
    /// Time of its next event; its other events are stale.
    wake_at: Time,
    stop_at: Time,
    seen: Vec<Seen>,
}

struct Loop {
    pool: Pool<Hpcc>,
    now: Time,
    flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    /// Packets: flow, offset behind it, time of sending, telemetry.
    packets: Vec<(usize, u64, Time, Telemetry)>,
    queue: VecDeque<usize>,
    busy: bool,
    sent: u64,
}

impl Loop {
    fn run(preset: &str, joins: &[(Time, Time)], until: Time) -> Self {
        let mut params = Hpcc::preset(preset);
        params.base_rtt = us(13);
        let mut it = Self {
            pool: Pool::new(params),
            now: Time::ZERO,
            flows: Vec::new(),
            events: joins.iter().enumerate().map(|(i, (at, _))| Reverse((*at, Event::Join(i)))).collect(),
            packets: Vec::new(),
            queue: VecDeque::new(),
            busy: false,
            sent: 0,
        };
        while let Some(Reverse((at, event))) = it.events.pop().filter(|Reverse((at, _))| *at <= until) {
            it.now = at;
            match event {
                Event::Join(i) => {
                    let path = PathInfo::new(LINE, us(13), PAYLOAD, WIRE);
                    let opened = it.pool.open(0, &path, at);
                    let (slot, control, stop_at) = (opened.slot, opened.control, joins[i].1);
                    let seen = Vec::new();
                    it.flows.push(Flow {
                        slot,
                        control,
                        next: 0,
                        acked: 0,
                        last_sent: Time::ZERO,
                        wake_at: Time::NEVER,
                        stop_at,
                        seen,
                    });
                    it.send(i);
                }
                Event::Send(i) if it.flows[i].wake_at == at => it.send(i),
                Event::Send(_) => {}
                Event::Served => {
                    it.busy = false;
                    it.serve();
                }
                Event::Ack(i, packet) => it.ack(i, packet),
            }
        }
        it
    }

    /// Sends as window and rate allow, now or at its time.
    fn send(&mut self, i: usize) {
        let f = &mut self.flows[i];
        if f.next - f.acked >= f.control.window || self.now >= f.stop_at {
            return;
        }
        let due = if f.next == 0 { self.now } else { f.last_sent + f.control.rate.tx_time(WIRE as u64) };
        if due > self.now {
            self.wake(i, due);
            return;
        }
        f.next += PAYLOAD as u64;
        f.last_sent = self.now;
        let sent = Sent::new(WIRE, PAYLOAD, f.next);
        self.packets.push((i, f.next, self.now, Telemetry::default()));
        self.queue.push_back(self.packets.len() - 1);
        f.control = self.pool.on_send(f.slot, self.now, &sent).0;
        let next = self.now + f.control.rate.tx_time(WIRE as u64);
        self.wake(i, next);
        self.serve();
    }

    fn wake(&mut self, i: usize, at: Time) {
        if self.flows[i].wake_at != at {
            self.flows[i].wake_at = at;
            self.events.push(Reverse((at, Event::Send(i))));
        }
    }

    fn serve(&mut self) {
        if self.busy {
            return;
        }
        let Some(packet) = self.queue.pop_front() else { return };
        self.busy = true;
        let queued = self.queue.len() as u64 * WIRE as u64;
        self.packets[packet].3.push(NodeId(9), IntHop { rate: LINE, time: self.now, sent: self.sent, queued });
        self.sent += WIRE as u64;
        let end = self.now + LINE.tx_time(WIRE as u64);
        self.events.push(Reverse((end, Event::Served)));
        self.events.push(Reverse((end + BACK, Event::Ack(self.packets[packet].0, packet))));
    }

    fn ack(&mut self, i: usize, packet: usize) {
        let (_, acked_to, data_sent, telemetry) = self.packets[packet];
        let updates = self.pool.actions().get(Action::ReferenceUpdate);
        let f = &mut self.flows[i];
        let in_flight = f.next - f.acked;
        f.acked = acked_to;
        let ack = Ack {
            seq: acked_to,
            newly_acked: PAYLOAD as u64,
            acked_to,
            sent_to: f.next,
            in_flight,
            rtt: self.now - data_sent,
            telemetry: Some(&telemetry),
            ..Ack::default()
        };
        f.control = self.pool.on_ack(f.slot, self.now, &ack);
        let mut reference = 0.0;
        self.pool.watch(f.slot, &mut |name, value| {
            if name == "reference_window" {
                reference = value;
            }
        });
        let updated = self.pool.actions().get(Action::ReferenceUpdate) > updates;
        let sent_to = f.next;
        f.seen.push(Seen { at: self.now, acked_to, sent_to, data_sent, reference, updated });
        self.send(i);
    }
}

#[test]
fn hpcc_alg1_reference() {
    let never = Time::NEVER;
    let joins = [(us(0), never), (us(200), never), (us(430), us(900)), (us(431), never)];
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for n in [1, 2, 4] {
        let end = us(3000);
        let it = Loop::run("hpcc", &joins[..n], end);
        for (i, f) in it.flows.iter().enumerate() {
            let first = &f.seen[0];
            // Line 24 of the first ACK, which has nothing to compute from: no update, but its place.
            let (mut last_update_seq, mut updated_at, mut reference) = (first.sent_to, first.at, first.reference);
            let (mut updates, mut round_trips) = (0, 0.0);
            let from = us(1000);
            let mut rounds_from = None;
            for seen in &f.seen[1..] {
                assert_eq!(seen.updated, seen.acked_to > last_update_seq, "flow {i} of {n}: {seen:?}");
                if seen.updated {
                    // The ACK answers a packet sent after the last update, not before it.
                    assert!(seen.data_sent >= updated_at, "flow {i} of {n}: {seen:?}");
                    (last_update_seq, updated_at) = (seen.sent_to, seen.at);
                    if seen.at >= from && f.stop_at == never {
                        rounds_from.get_or_insert(seen.at);
                        updates += 1;
                        round_trips = (seen.at - rounds_from.unwrap()).as_secs_f64() / 13e-6;
                    }
                } else {
                    assert_eq!(seen.reference, reference, "flow {i} of {n}: {seen:?}");
                }
                reference = seen.reference;
            }
            if f.stop_at == never {
                // One a round trip, which is T and a wait for the next packet, and at times a queue.
                let per_round = (updates - 1) as f64 / round_trips;
                assert!((0.9..=1.0).contains(&per_round), "flow {i} of {n}: {updates} in {round_trips} T");
                (least, most) = (least.min(per_round), most.max(per_round));
            }
        }
    }
    // In an interval of n round trips of one flow alone: n updates, one more or less.
    let it = Loop::run("hpcc", &joins[..1], us(3000));
    let times: Vec<Time> = it.flows[0].seen.iter().filter(|s| s.updated).map(|s| s.at).collect();
    for n in [1u64, 5, 20, 100] {
        // Its round trip, with the packet that waits for its turn: R = eta B, one packet each 91 ns.
        let rtt = it.flows[0].seen.iter().rev().find(|s| s.updated).map(|s| s.at - s.data_sent).unwrap();
        for start in [us(300), us(711), us(1500)] {
            let within = times.iter().filter(|t| **t >= start && **t < start + rtt.saturating_mul(n)).count() as u64;
            assert!(within.abs_diff(n) <= 1, "{within} updates in {n} round trips of {rtt}");
        }
    }
    let mut rows = fanin_claims::claim!("hpcc-alg1-reference");
    rows.asserted("changes of W_c at ACKs of packets sent before its last change", "0", "0");
    rows.asserted("changes of W_c in a time T, by flow", "one a round trip", format!("{least:.2} to {most:.2}"));
}

/// The flow whose competitor stops takes the whole link: five additive rounds, then one that doubles.
#[test]
fn after_a_competitor_stops_the_sixth_round_trip_takes_the_link() {
    let it = Loop::run("hpcc", &[(us(0), Time::NEVER), (us(0), us(1000))], us(1500));
    let updates: Vec<&Seen> = it.flows[0].seen.iter().filter(|s| s.updated && s.at > us(1000)).collect();
    let jump = updates.windows(2).find(|w| w[1].reference > 1.3 * w[0].reference).expect("it takes the link");
    let waited = (jump[1].at - us(1000)).as_secs_f64() / 13e-6;
    assert!((4.0..9.0).contains(&waited), "after {waited} T");
    let settled = it.flows[0].seen.last().unwrap().reference;
    assert!((0.94..0.97).contains(&(settled / 162_500.0)), "{settled}");
}
