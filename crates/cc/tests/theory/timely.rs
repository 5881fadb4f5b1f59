//! TIMELY by gradients has no fixed point, its patched form has one (Zhu et al., ECN or Delay, CoNEXT 2016, theorems
//! 3 to 5). With the sum of rates at C the queue is level, so gradients are 0, whatever the queue and each rate are: by
//! the gradient nothing tells a long queue from a short one, nor an unequal division from an equal one. Rates rise all
//! the same, by delta, and the queue drifts. The patched form rests where delta (1 - w) = R beta w (r - Tlow)/Tlow with
//! w = 1/2 at gradient 0: for the same r only at one R, C/N, and so at r = Tlow (1 + delta N/(beta C)).
//!
//! Here senders are the scheme's own, over a fluid queue at C = 10 Gb/s with a round trip of 20 us: a segment of 16 KB
//! that ends after 16 KB/R tells base + queue/C. That its news is not a round trip late, and that packets come as a
//! fluid, is assumed; Tlow = 50 us and Thigh = 500 us bound the queue. The patched law moves by beta (r - Tlow)/Tlow =
//! 0.2 % of R in a step, so that 1 % of R and r is five steps of noise.

use crate::common::point::{G, Point};
use fanin_cc::schemes::timely::{Flow, Timely};
use fanin_cc::{Ack, Scheme, Sender};
use fanin_units::{Bytes, Time};

const C: f64 = 10e9;
const SEGMENT: u64 = 16_000;
const BASE: f64 = 20e-6;

/// Senders at a fluid queue. Times in seconds, the queue in bits.
struct Link {
    flows: Vec<Sending>,
    queue: f64,
    now: f64,
}

struct Sending {
    point: Point<Flow>,
    segments: u64,
    /// When the segment on its way is complete.
    next: f64,
}

impl Sending {
    /// A sender that cuts have brought from C to this rate.
    fn new(preset: &str, start: u64) -> Self {
        let mut params = Timely::preset(preset);
        (params.segment, params.bursts) = (Bytes(SEGMENT), false);
        let beta = params.beta;
        let mut it = Self { point: Point::new(params, 10, 0), segments: 0, next: 0.0 };
        loop {
            // 1 - beta (1 - Thigh/r) at most beta of a rate: as far as it goes at once.
            let left = start as f64 / it.rate();
            if left > 0.999_999 {
                break;
            }
            let share = (1.0 - left).min(0.9 * beta);
            it.complete(500e-6 / (1.0 - share / beta));
        }
        it.next = SEGMENT as f64 * 8.0 / it.rate();
        it
    }

    fn rate(&self) -> f64 {
        self.point.flow.rate() as f64
    }

    fn complete(&mut self, rtt: f64) {
        self.segments += 1;
        let seq = self.segments * SEGMENT;
        // The scheme takes the packet's own time off again, 832 ns.
        let rtt = Time::from_ps((rtt * 1e12) as u64) + Time::from_ns(832);
        let ack = Ack { seq, acked_to: seq, sent_to: seq, rtt, ..Ack::default() };
        self.point.hook(|flow, cx| flow.on_ack(&ack, cx));
    }
}

impl Link {
    fn new(preset: &str, starts: &[u64]) -> Self {
        Self { flows: starts.iter().map(|start| Sending::new(preset, *start)).collect(), queue: 0.0, now: 0.0 }
    }

    fn rtt(&self) -> f64 {
        BASE + self.queue / C
    }

    fn rates(&self) -> Vec<f64> {
        self.flows.iter().map(Sending::rate).collect()
    }

    fn run(&mut self, until: f64) {
        loop {
            let first = (0..self.flows.len()).min_by(|a, b| self.flows[*a].next.total_cmp(&self.flows[*b].next));
            let first = first.expect("a flow");
            let at = self.flows[first].next;
            if at > until {
                break;
            }
            let sum: f64 = self.rates().iter().sum();
            self.queue = (self.queue + (sum - C) * (at - self.now)).max(0.0);
            self.now = at;
            let rtt = self.rtt();
            let flow = &mut self.flows[first];
            flow.complete(rtt);
            flow.next = at + SEGMENT as f64 * 8.0 / flow.rate();
        }
    }
}

#[test]
fn by_gradients_rates_stay_unequal_and_the_queue_drifts() {
    for starts in [[5 * G, 5 * G], [6 * G, 4 * G], [7 * G, 3 * G], [9 * G, G], [4 * G, 2 * G]] {
        let mut link = Link::new("timely", &starts);
        let (mut rates, mut rtts) = (Vec::new(), Vec::new());
        for until in [0.05, 0.1, 0.2, 0.4] {
            link.run(until);
            rates = link.rates();
            rtts.push(link.rtt() * 1e6);
            // All that is at rest is the sum.
            assert!((rates.iter().sum::<f64>() / C - 1.0).abs() < 0.02, "{rates:?}");
        }
        println!("{starts:?}: {rates:.0?} bit/s after 400 ms, round trips {rtts:.0?} us");
        let ratio = starts[0] as f64 / starts[1] as f64;
        if ratio == 1.0 {
            assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
        } else {
            // They do not even come nearer.
            assert!(rates[0] / rates[1] >= ratio, "{starts:?}: {rates:?}");
        }
        // The round trip is not at rest: it has grown by a tenth and more each time, though the sum has not.
        assert!(rtts.windows(2).all(|pair| pair[1] > 1.1 * pair[0]), "{rtts:?}");
    }
}

#[test]
fn the_patched_form_has_one_fixed_point_from_anywhere() {
    for starts in [vec![5 * G, 5 * G], vec![9 * G, G], vec![4 * G, 2 * G], vec![6 * G, 2 * G, G, G / 2, G / 2]] {
        let mut link = Link::new("timely-patched", &starts);
        link.run(0.4);
        let (n, rates) = (starts.len() as f64, link.rates());
        // 10 Mb/s and 0.008.
        let rtt = 50e-6 * (1.0 + 10e6 * n / (0.008 * C));
        println!("{starts:?}: {rates:.0?} bit/s, round trip {:.2} us, expected {:.2}", link.rtt() * 1e6, rtt * 1e6);
        for rate in &rates {
            assert!((rate * n / C - 1.0).abs() < 0.01, "{starts:?}: {rates:?}");
        }
        assert!((link.rtt() / rtt - 1.0).abs() < 0.01, "{} {rtt}", link.rtt());
    }
}
