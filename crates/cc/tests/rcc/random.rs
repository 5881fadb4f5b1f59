//! All of it, at random.

use super::world::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Open(Option<u64>),
    /// Data that the windows allow arrives, or is lost until the receiver or the sender asks.
    Deliver(u8, bool),
    Lose(u8),
    Fin(u8),
    Wait(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => prop::option::of(1u64..200).prop_map(Op::Open),
        20 => (any::<u8>(), any::<bool>()).prop_map(|(f, ce)| Op::Deliver(f, ce)),
        2 => any::<u8>().prop_map(Op::Lose),
        1 => any::<u8>().prop_map(Op::Fin),
        3 => (1u64..40_000).prop_map(Op::Wait),
    ]
}

/// What the senders of a world may have in flight.
struct Senders {
    /// Per flow: the segments under way, in order; the next to send; the end of the window; whether the SYN-ACK came.
    flows: Vec<(std::collections::VecDeque<u64>, u64, u64, bool)>,
    sizes: Vec<u64>,
    open: Vec<u32>,
}

impl Senders {
    fn told(&mut self, w: &World, left: &[Left]) {
        for (flow, window, push) in left {
            let acked = w.next[*flow as usize];
            let sender = &mut self.flows[*flow as usize];
            sender.3 = true;
            sender.2 = sender.2.max(acked + window);
            if *push && sender.0.is_empty() && sender.1 > acked {
                sender.1 = acked;
            }
            while sender.1 < sender.2.min(self.sizes[*flow as usize]) {
                sender.0.push_back(sender.1);
                sender.1 += 1;
            }
        }
    }

    fn under_way(&self) -> u64 {
        self.open.iter().map(|f| self.flows[*f as usize].0.len() as u64).sum()
    }
}

/// Runs operations. Without loss and pauses, the windows in flight are never below what is under way, and never above
/// the budget by more than the window of one ACK and what Algorithm 1 already had promised.
fn at_random(params: Params, ops: &[Op], lossless: bool) {
    let budget = params.queue_maxsize as u64;
    let mut w = World::new(params);
    let mut senders = Senders { flows: Vec::new(), sizes: Vec::new(), open: Vec::new() };
    let step = |w: &mut World, senders: &mut Senders, op: Op| {
        let pick = |senders: &Senders, f: u8| {
            (!senders.open.is_empty()).then(|| senders.open[f as usize % senders.open.len()])
        };
        match op {
            Op::Open(size) if senders.open.len() < 60 => {
                let flow = w.open(size);
                senders.sizes.push(size.unwrap_or(1_000_000));
                senders.flows.push((Default::default(), 0, 0, false));
                senders.open.push(flow);
            }
            Op::Deliver(f, ce) => {
                if let Some(flow) = pick(senders, f)
                    && let Some(n) = senders.flows[flow as usize].0.pop_front()
                {
                    let next = w.next[flow as usize];
                    if n >= next {
                        w.arrive(flow, n, ce);
                    }
                }
            }
            Op::Lose(f) if !lossless => {
                if let Some(flow) = pick(senders, f) {
                    // What was behind it is sent again too: go-back-N.
                    senders.flows[flow as usize].0.clear();
                }
            }
            Op::Fin(f) => {
                if let Some(flow) = pick(senders, f)
                    && senders.flows[flow as usize].0.is_empty()
                    && senders.flows[flow as usize].3
                {
                    senders.open.retain(|open| *open != flow);
                    let left = w.fin(flow);
                    senders.told(w, &left);
                }
            }
            Op::Wait(micros) if !lossless => {
                let to = w.now + us(micros);
                while w.host.wake_at() <= to {
                    let at = w.host.wake_at();
                    let left: Vec<Left> = w.until(at).into_iter().map(|(_, ack)| ack).collect();
                    senders.told(w, &left);
                }
                w.now = to;
            }
            Op::Wait(micros) => w.now += us(micros % 50),
            _ => {}
        }
        // One ACK after the other, to see what each adds.
        loop {
            let before = w.host.in_flight();
            let Some(emit) = w.hook(|host, _, cx| host.poll_transmit(cx)) else { break };
            let Emit::Ack(flow, fields) = emit else { panic!("{emit:?}") };
            let window = fields.window.map_or(0, |bytes| bytes as u64);
            assert!(before <= budget * SEGMENT || fields.window.is_none(), "released at {before}");
            assert!(w.host.in_flight() <= budget * SEGMENT + window, "{} with {window}", w.host.in_flight());
            senders.told(w, &[(flow.0, window / SEGMENT, fields.push)]);
        }
        if lossless {
            assert!(senders.under_way() * SEGMENT <= w.host.in_flight(), "{} under way", senders.under_way());
        }
    };
    for op in ops {
        step(&mut w, &mut senders, *op);
    }
    // Everything that can still arrive does, and time passes: then no ACK waits.
    let mut still = 0;
    for round in 0.. {
        let (sent, before) = (senders.under_way() > 0, w.next.iter().sum::<u64>());
        for f in 0..senders.open.len() as u8 {
            let room = senders.sizes[senders.open[f as usize] as usize] < 1_000_000;
            if room || round < 4 {
                step(&mut w, &mut senders, Op::Deliver(f, false));
            }
        }
        if !sent && w.host.waiting().next().is_none() {
            break;
        }
        step(&mut w, &mut senders, Op::Wait(if lossless { 1 } else { 5000 }));
        // A second without data: all timers of the receiver have expired, or there are none.
        still = if w.next.iter().sum::<u64>() == before { still + 1 } else { 0 };
        if still >= 200 {
            break;
        }
    }
    if !lossless {
        w.until(w.now + Time::from_s(60));
    }
    let held: Vec<_> = w.host.waiting().collect();
    let endless = senders.open.iter().any(|f| senders.sizes[*f as usize] == 1_000_000);
    assert!(held.is_empty() || (lossless && endless), "held for ever: {held:?}");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn windows_in_flight_keep_their_limit(
        ops in prop::collection::vec(op(), 1..400), max in 1u32..60, lossless: bool, priority in 0..3u8, code: bool,
    ) {
        let params = with(if code { "rcc-ns3" } else { "rcc" }, |p| {
            p.queue_maxsize = max;
            p.priority = [Priority::Size, Priority::Remaining, Priority::None][priority as usize];
        });
        at_random(params, &ops, lossless);
    }
}
