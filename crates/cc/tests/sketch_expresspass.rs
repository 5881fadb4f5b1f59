//! A sketch of ExpressPass, to try the roles on a scheme that sends only with credits.
//!
//! It is a test and no registered scheme. The receiver paces credits per flow and adapts their rate to how many are
//! lost; the switch limits credits so that the data they ask for fits the link, and drops the others; the sender sends
//! one packet per credit and echoes its number. Credits beyond the limit are dropped as a queue of eight would drop
//! them, but those let through are not spaced out: a program admits or drops, it cannot delay.

mod common;

use common::net::{Crossed, LINE, Net};
use common::{WIRE, us};
use fanin_cc::*;
use fanin_units::{Rate, Time};
use std::collections::{BTreeSet, VecDeque};

const CREDIT: u32 = 84;

/// The share of a link that credits may take: each brings one packet back.
fn credit_rate(line: Rate) -> Rate {
    Rate::from_bps(line.as_bps() * CREDIT as u64 / (CREDIT + WIRE) as u64)
}

struct ExpressPass;

#[derive(Clone, Debug, PartialEq)]
struct Params {
    /// Share of lost credits that is aimed at.
    target: f64,
    w_first: f64,
    w_least: f64,
    w_most: f64,
    /// Credits that may wait at a port.
    queue: u64,
    /// Time between two changes of the credit rate.
    rtt: Time,
}

impl Scheme for ExpressPass {
    type Params = Params;
    type Sender = Credited;
    type Receiver = Crediter;
    type Switch = CreditLimit;
    const PRESETS: &'static [&'static str] = &["expresspass-sketch"];
    fn preset(_: &str) -> Params {
        Params { target: 0.1, w_first: 0.5, w_least: 0.01, w_most: 0.5, queue: 8, rtt: us(12) }
    }
}

/// Numbers of the credits not yet used. Without one it is silent.
struct Credited(VecDeque<u32>);

impl Sender for Credited {
    type Params = Params;
    type Shared = ();
    fn open(_: &PathInfo, _: &mut Cx<'_, Params>) -> Self {
        Self(VecDeque::new())
    }
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let rate = if self.0.is_empty() { Rate::ZERO } else { LINE };
        Control::rate(rate)
    }
    fn on_notice(&mut self, notice: Notice, _: &mut Cx<'_, Params>) {
        if let Notice::Credit(number) = notice {
            self.0.push_back(number);
        }
    }
    fn on_send(&mut self, _: &Sent, _: &mut Cx<'_, Params>) -> u32 {
        self.0.pop_front().expect("nothing is sent without a credit")
    }
}

/// One flow that gets credits.
struct Granted {
    flow: ReceiverFlow,
    rate: f64,
    w: f64,
    rose: bool,
    next_at: Time,
    number: u32,
    /// Number expected in the next data packet, and this period's gaps and arrivals.
    expected: u32,
    lost: u32,
    seen: u32,
    change_at: Time,
}

struct Crediter {
    most: f64,
    random: u64,
    flows: Vec<Granted>,
    ready: VecDeque<Emit>,
}

impl Receiver for Crediter {
    type Params = Params;
    type Flow = ();

    fn new(_: &Params, nic: &NicInfo) -> Self {
        Self {
            most: credit_rate(nic.line_rate).as_bps() as f64,
            random: nic.seed,
            flows: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    fn on_open(&mut self, info: &FlowInfo, _: &mut (), cx: &mut Cx<'_, Params>) {
        self.flows.push(Granted {
            flow: info.flow,
            rate: self.most * cx.params.w_first,
            w: cx.params.w_first,
            rose: false,
            next_at: cx.now,
            number: 0,
            expected: 0,
            lost: 0,
            seen: 0,
            change_at: cx.now + cx.params.rtt,
        });
        self.grant(cx);
    }

    fn on_data(&mut self, data: &Data, _: &mut (), _: &mut Cx<'_, Params>) -> AckPlan {
        if let Some(f) = self.flows.iter_mut().find(|f| f.flow == data.flow) {
            f.lost += data.cc_tag.saturating_sub(f.expected);
            f.seen += 1;
            f.expected = data.cc_tag + 1;
        }
        AckPlan { before: None, now: data.ack_due.then_some(AckFields::default()) }
    }

    fn on_close(&mut self, flow: ReceiverFlow, _: &mut (), _: &mut Cx<'_, Params>) {
        self.flows.retain(|f| f.flow != flow);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, Params>) {
        self.grant(cx);
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        let emit = self.ready.pop_front()?;
        cx.count(Action::CreditSent);
        Some(emit)
    }

    fn wake_at(&self) -> Time {
        self.flows.iter().map(|f| f.next_at.min(f.change_at)).min().unwrap_or(Time::NEVER)
    }
}

impl Crediter {
    fn grant(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        for f in &mut self.flows {
            if f.change_at <= cx.now {
                f.change(self.most, p);
                f.change_at = cx.now + p.rtt;
            }
            if f.next_at <= cx.now {
                self.ready.push_back(Emit::Credit { flow: f.flow, number: f.number, wire: CREDIT });
                f.number += 1;
                // ExpressPass: gaps vary by 10 %, or the same receiver's credits would meet a full queue each time.
                self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let vary = 0.9 + 0.2 * (self.random >> 32) as f64 / (1u64 << 32) as f64;
                f.next_at = cx.now + Rate::from_bps((f.rate * vary) as u64).tx_time(CREDIT as u64);
            }
        }
    }
}

impl Granted {
    /// ExpressPass Alg. 1, once per RTT in which credits were counted.
    fn change(&mut self, most: f64, p: &Params) {
        if self.lost + self.seen == 0 {
            return;
        }
        let loss = self.lost as f64 / (self.lost + self.seen) as f64;
        if loss <= p.target {
            if self.rose {
                self.w = (self.w + p.w_most) / 2.0;
            }
            self.rate = (1.0 - self.w) * self.rate + self.w * most * (1.0 + p.target);
        } else {
            self.rate *= (1.0 - loss) * (1.0 + p.target);
            self.w = (self.w / 2.0).max(p.w_least);
        }
        self.rose = loss <= p.target;
        (self.lost, self.seen) = (0, 0);
    }
}

/// Per port, when the credits let through would all have left at the limited rate.
struct CreditLimit(Vec<Time>);

impl SwitchProgram for CreditLimit {
    const WATCHES: bool = true;
    type Params = Params;
    fn new(_: &Params, switch: &SwitchInfo<'_>) -> Self {
        Self(vec![Time::ZERO; switch.ports.len()])
    }
    fn on_enqueue(&mut self, at: &mut Queued<'_>, cx: &mut Cx<'_, Params>) -> Verdict {
        let Queued { port, view, packet, .. } = at;
        if packet.kind != Kind::Credit {
            return Verdict::Admit;
        }
        let each = credit_rate(view.rate).tx_time(packet.wire as u64);
        let empty_at = &mut self.0[*port as usize];
        if empty_at.saturating_sub(cx.now) > each.saturating_mul(cx.params.queue - 1) {
            return Verdict::Drop;
        }
        *empty_at = (*empty_at).max(cx.now) + each;
        Verdict::Admit
    }
}

/// Two receivers credit one sender, each up to the whole link.
fn two_receivers() -> Net<ExpressPass> {
    let mut net = Net::new(ExpressPass::preset(""), 2);
    net.open(0, 100_000);
    net.open(1, 100_000);
    net.run_until(Time::from_ms(10));
    net
}

#[test]
fn the_sender_sends_one_packet_per_credit_and_none_without() {
    let net = two_receivers();
    for flow in 0..2 {
        let mut unused = BTreeSet::new();
        let mut sent = 0;
        for (at, what) in net.of(flow) {
            match what {
                Crossed::CreditArrived(number) => assert!(unused.insert(number), "credit {number} came twice"),
                Crossed::Sent { cc_tag, .. } => {
                    sent += 1;
                    assert!(unused.remove(&cc_tag), "sent at {at} without credit {cc_tag}");
                }
                _ => {}
            }
        }
        assert!(sent > 1000, "flow {flow} sent {sent}");
        assert!(unused.len() <= 2, "flow {flow} left {} credits unused", unused.len());
    }
}

#[test]
fn credits_beyond_the_limit_are_dropped() {
    let net = two_receivers();
    let count = |what: fn(&Crossed) -> bool| net.log.iter().filter(|e| what(&e.2)).count() as u64;
    let (sent, dropped) =
        (count(|w| matches!(w, Crossed::CreditSent(_))), count(|w| matches!(w, Crossed::CreditDropped(_))));
    assert_eq!(sent, net.actions().get(Action::CreditSent));
    assert!(dropped > 50, "{dropped} of {sent} credits dropped");
    // In no stretch do more credits pass than the limit and a full queue allow.
    let passed: Vec<Time> = net.log.iter().filter(|e| matches!(e.2, Crossed::CreditArrived(_))).map(|e| e.0).collect();
    let each = credit_rate(LINE).tx_time(CREDIT as u64);
    for stretch in [9, 50, 1000] {
        for ends in passed.windows(stretch + 1) {
            let least = each.saturating_mul(stretch as u64 - 8);
            assert!(ends[stretch] - ends[0] >= least, "{} credits in {}", stretch + 1, ends[stretch] - ends[0]);
        }
    }
}

#[test]
fn feedback_fills_the_link_shares_it_and_loses_few_credits() {
    let net = two_receivers();
    let late = |e: &&(Time, u32, Crossed)| e.0 > Time::from_ms(2);
    let count = |flow: Option<u32>, what: fn(&Crossed) -> bool| {
        net.log.iter().filter(late).filter(|e| flow.is_none_or(|f| f == e.1) && what(&e.2)).count() as f64
    };
    let arrived = |flow| count(flow, |w| matches!(w, Crossed::Arrived { .. }));
    let full = LINE.bytes_in(Time::from_ms(8)) as f64 / WIRE as f64;
    assert!(arrived(None) > 0.85 * full, "{} of {full} packets", arrived(None));
    let share = arrived(Some(0)) / arrived(None);
    assert!((0.4..0.6).contains(&share), "flow 0 has {share} of the link");
    let lost =
        count(None, |w| matches!(w, Crossed::CreditDropped(_))) / count(None, |w| matches!(w, Crossed::CreditSent(_)));
    assert!(lost < 0.3, "{lost} of the credits lost, where half would be without feedback");
}

#[test]
fn credits_stop_when_the_flow_ends() {
    let mut net = Net::<ExpressPass>::new(ExpressPass::preset(""), 1);
    let flow = net.open(0, 100);
    net.run_until(Time::from_ms(1));
    let end = net.of(flow).find(|e| e.1 == Crossed::Arrived { n: 99 }).expect("the flow finishes").0;
    assert!(net.of(flow).filter(|e| matches!(e.1, Crossed::CreditSent(_))).all(|e| e.0 <= end));
}
