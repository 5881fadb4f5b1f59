//! HPCC's form with a register for each link (appendix A.3), rule by rule.

use crate::common::{PAYLOAD, WIRE, cases, us};
use fanin_cc::schemes::hpcc_alpha::{Flow, HpccAlpha, Params, bound, combine};
use fanin_cc::schemes::{hpcc, hpcc_alpha};
use fanin_cc::{Ack, Action, Actions, Cx, IntHop, Loss, PathInfo, Scheme, Sender, Telemetry};
use fanin_units::{Bytes, NodeId, Rate, Time};
use proptest::prelude::*;

const MSS: u64 = PAYLOAD as u64;
/// What 100 Gb/s carries in T = 13 us.
const BDP: f64 = 162_500.0;

/// A sender at 100 Gb/s with its clock and counters.
struct Bed<F: Sender<Shared = ()>> {
    flow: F,
    params: F::Params,
    actions: Actions,
}

impl<F: Sender<Shared = ()>> Bed<F> {
    fn new(params: F::Params) -> Self {
        let mut actions = Actions::default();
        let path = PathInfo::new(Rate::from_gbps(100), us(13), PAYLOAD, WIRE);
        let flow = F::open(&path, &mut Cx::new(Time::ZERO, &params, &mut (), &mut actions));
        Self { flow, params, actions }
    }

    fn hook(&mut self, hook: impl FnOnce(&mut F, &mut Cx<'_, F::Params>)) {
        hook(&mut self.flow, &mut Cx::new(Time::ZERO, &self.params, &mut (), &mut self.actions));
    }

    fn ack(&mut self, acked_to: u64, sent_to: u64, telemetry: &Telemetry) {
        let ack = Ack { seq: acked_to, acked_to, sent_to, telemetry: Some(telemetry), ..Ack::default() };
        self.hook(|flow, cx| flow.on_ack(&ack, cx));
    }
}

/// Links of 100 Gb/s that are read every T, so that each U_i is the last reading.
struct Steady {
    bed: Bed<Flow>,
    sent: Vec<u64>,
    reads: u64,
    packet: u64,
}

impl Steady {
    fn new(links: usize, change: impl FnOnce(&mut Params)) -> Self {
        let mut params = HpccAlpha::preset("hpcc-alpha");
        change(&mut params);
        HpccAlpha::check(&params).unwrap();
        let mut it = Self { bed: Bed::new(params), sent: vec![0; links], reads: 0, packet: 0 };
        it.ack(&vec![0.0; links], &[0; 5], 0);
        it
    }

    fn telemetry(&mut self, loads: &[f64], queued: &[u64], first_switch: u32) -> Telemetry {
        self.reads += 1;
        let mut telemetry = Telemetry::default();
        for (i, load) in loads.iter().enumerate() {
            self.sent[i] += (BDP * load) as u64;
            let (rate, time) = (Rate::from_gbps(100), us(13 * self.reads));
            let hop = IntHop { rate, time, sent: self.sent[i], queued: queued[i] };
            telemetry.push(NodeId(first_switch + i as u32), hop);
        }
        telemetry
    }

    /// An ACK that reports these loads and queues, with `flight` packets on the way. The registers after it, in W_init.
    fn ack(&mut self, loads: &[f64], queued: &[u64], flight: u64) -> Vec<f64> {
        let telemetry = self.telemetry(loads, queued, 1);
        self.packet += 1;
        self.bed.ack(self.packet * MSS, (self.packet + flight) * MSS, &telemetry);
        self.bed.flow.registers().map(|register| register / BDP).collect()
    }

    fn window(&self) -> f64 {
        self.bed.flow.window() / BDP
    }
}

fn near(ours: f64, expected: f64) {
    assert!((ours / expected - 1.0).abs() < 1e-9, "{ours}, and not {expected}");
}

#[test]
fn eq_7_combines_registers() {
    let of = |registers: &[f64], alpha| combine(registers.iter().copied(), alpha);
    // One link alone: whatever alpha is.
    [0.01, 1.0, 50.0].iter().for_each(|alpha| near(of(&[7.0], *alpha), 7.0));
    // 1/(1/3 + 1/6) = 2; (1/4 + 1/4)^(-1/2).
    near(of(&[3.0, 6.0], 1.0), 2.0);
    near(of(&[2.0, 2.0], 2.0), 2.0f64.sqrt());
    // Equal ones: n^(-1/alpha) of each.
    near(of(&[5.0; 4], 0.5), 5.0 / 16.0);
    // The least, for alpha to infinity; no power overflows.
    near(of(&[3.0, 6.0, 1e250], 1000.0), 3.0);
    assert!(of(&[1e250, 1e-3], 1000.0) == 1e-3);
}

#[test]
fn it_starts_at_line_rate_and_registers_begin_with_that() {
    let mut it = Steady::new(3, |p| p.alpha = 2.0);
    let mut control = None;
    it.bed.hook(|flow, cx| control = Some(flow.control(cx)));
    let control = control.unwrap();
    assert_eq!((control.window, control.rate, control.retime), (162_500, Rate::from_gbps(100), true));
    // Three equal registers of which eq. (7) makes W_init.
    it.bed.flow.registers().for_each(|register| near(register, BDP * 3.0f64.sqrt()));
    near(it.window(), 1.0);
}

#[test]
fn each_register_follows_its_own_link() {
    let step = 80.0 / BDP;
    let mut it = Steady::new(2, |_| ());
    // Twice W_init each at first. Loads of 190 % and 50 %: 0.95/1.9 and 0.95/0.5.
    let registers = it.ack(&[1.9, 0.5], &[0; 2], 0);
    near(registers[0], 1.0 + step);
    near(registers[1], 3.8 + step);
    near(it.window(), 1.0 / (1.0 / (1.0 + step) + 1.0 / (3.8 + step)));
    // A queue of a bandwidth-delay product that stays counts as a load of 1.
    it.ack(&[0.95, 0.95], &[0, 162_500], 0);
    let before: Vec<f64> = it.bed.flow.registers().map(|register| register / BDP).collect();
    let registers = it.ack(&[0.95, 0.95], &[0, 162_500], 0);
    near(registers[0], before[0] + step);
    near(registers[1], before[1] * 0.95 / 1.95 + step);
    assert_eq!((it.bed.actions.get(Action::Cut), it.bed.actions.get(Action::ReferenceUpdate)), (2, 3));
}

#[test]
fn the_reference_changes_once_per_round_trip() {
    let step = 80.0 / BDP;
    let mut it = Steady::new(1, |_| ());
    near(it.ack(&[1.9], &[0], 10)[0], 0.5 + step);
    // Packets 2 to 11 were in flight at that update: each ACK computes from the same reference.
    for _ in 0..10 {
        near(it.ack(&[0.5], &[0], 10)[0], ((0.5 + step) * 1.9 + step).min(1.0));
    }
    // The next one sets it.
    it.ack(&[0.95], &[0], 10);
    near(it.ack(&[1.9], &[0], 10)[0], 0.25 + 2.0 * step);
    near(it.ack(&[1.9], &[0], 10)[0], 0.25 + 2.0 * step);
    // What is sent again after a loss is newer than the last update.
    it.bed.hook(|flow, cx| flow.on_loss(&Loss::new(0, 100_000), cx));
    let before = it.ack(&[1.9], &[0], 10)[0];
    near(it.ack(&[0.95], &[0], 10)[0], before + step);
}

#[test]
fn links_without_congestion_cost_little_and_come_back() {
    for (alpha, links) in [(0.5, 5), (1.0, 2), (1.0, 5), (4.0, 3), (20.0, 5)] {
        let mut it = Steady::new(links, |p| p.alpha = alpha);
        let mut run = |rounds: usize, first: f64, second: f64| {
            let loads: Vec<f64> = [first, second].into_iter().chain([0.3; 3]).take(links).collect();
            let mut after = (0..rounds).map(|_| it.ack(&loads, &[0; 5], 0)).last().expect("a round");
            after.push(it.window());
            after
        };
        // The first link takes the rate below a quarter; the others have no congestion, for long.
        let rounds = 3 + (libm::log2(links as f64) / alpha) as usize;
        run(rounds, 1.9, 0.3);
        let after = run(400, 0.95, 0.3);
        let (first, window, most) = (after[0], after[links], bound(links, alpha, 0.01));
        assert!(first < 0.5, "{first}");
        after[1..links].iter().for_each(|register| near(*register, most));
        assert!((0.0..=0.01).contains(&(1.0 - window / first)), "alpha {alpha}, {links} links: {window} of {first}");
        // One of them fills: it has the say after as many halvings as its bound is above the rate.
        let rounds = 2 + libm::log2(most / first) as usize;
        let full = run(rounds, 0.95, 1.9);
        assert!(full[links] < 0.75 * window, "alpha {alpha}, {links} links: {full:?} after {rounds}");
    }
    // One link: W_init, as in HPCC.
    assert_eq!(bound(1, 1.0, 0.01), 1.0);
    near(bound(5, 1.0, 0.01), 396.0);
    assert!(bound(5, 0.001, 0.01).is_finite());
}

#[test]
fn a_new_path_begins_anew_with_the_window_that_there_is() {
    let mut it = Steady::new(2, |_| ());
    it.ack(&[1.9, 1.9], &[0; 2], 0);
    let window = it.window();
    assert!(window < 0.51);
    let other = it.telemetry(&[0.1, 0.1], &[0; 2], 7);
    it.bed.ack(10 * MSS, 10 * MSS, &other);
    near(it.window(), window);
    it.bed.flow.registers().for_each(|register| near(register, 2.0 * window * BDP));
    assert_eq!(it.bed.actions.get(Action::PathChange), 1);
}

#[test]
fn the_window_is_never_below_a_step_nor_above_the_first() {
    let mut it = Steady::new(2, |p| p.alpha = 0.05);
    (0..200).for_each(|_| {
        it.ack(&[3.0, 3.0], &[0; 2], 0);
    });
    near(it.window(), 80.0 / BDP);
    let mut it = Steady::new(2, |p| p.expected_flows = 100);
    (0..40).for_each(|_| {
        it.ack(&[0.4, 0.4], &[0; 2], 0);
    });
    near(it.window(), 1.0);
    // A step that is more than W_init is W_init.
    let mut it = Steady::new(1, |p| p.additive_increase = Bytes(10_000_000));
    it.ack(&[1.9], &[0], 0);
    near(it.window(), 1.0);
}

proptest! {
    #![proptest_config(cases())]

    /// Over one link eq. (7) changes nothing: HPCC without additive stages.
    #[test]
    fn over_one_link_it_is_hpcc_without_stages(
        alpha in prop::sample::select(vec![0.1, 1.0, 7.0]),
        reads in prop::collection::vec((1u64..30_000, 0u64..300_000, 0u64..200_000, 0u64..40), 2..60),
    ) {
        let mut alone: Bed<Flow> = Bed::new(Params { alpha, ..HpccAlpha::preset("hpcc-alpha") });
        let mut theirs: Bed<hpcc::Flow> = Bed::new(hpcc::Params { max_stage: 0, ..hpcc::Hpcc::preset("hpcc") });
        let (mut ns, mut sent) = (0, 0);
        for (packet, (gap, bytes, queued, flight)) in (1u64..).zip(reads) {
            (ns, sent) = (ns + gap, sent + bytes);
            let mut telemetry = Telemetry::default();
            let time = Time::from_ns(ns);
            telemetry.push(NodeId(9), IntHop { rate: Rate::from_gbps(100), time, sent, queued });
            alone.ack(packet * MSS, (packet + flight) * MSS, &telemetry);
            theirs.ack(packet * MSS, (packet + flight) * MSS, &telemetry);
            let (ours, theirs) = (alone.flow.window(), theirs.flow.window());
            prop_assert!((ours / theirs - 1.0).abs() < 1e-9, "packet {}: {} and {}", packet, ours, theirs);
        }
    }

    /// No reading makes a window that is no number, below `a` or above W_init.
    #[test]
    fn any_telemetry_gives_a_window_within_its_bounds(
        alpha in 0.001f64..1000.0,
        reads in prop::collection::vec(
            prop::collection::vec((0u64..30_000, 0u64..300_000, 0u64..2_000_000), 1..7), 1..60),
    ) {
        let mut bed: Bed<hpcc_alpha::Flow> = Bed::new(Params { alpha, ..HpccAlpha::preset("hpcc-alpha") });
        let mut links = [(0, 0); 7];
        for (packet, hops) in (1u64..).zip(reads) {
            let mut telemetry = Telemetry::default();
            for (i, (gap, bytes, queued)) in hops.iter().enumerate() {
                links[i] = (links[i].0 + gap, links[i].1 + bytes);
                let (time, sent) = (Time::from_ns(links[i].0), links[i].1);
                telemetry.push(NodeId(1), IntHop { rate: Rate::from_gbps(100), time, sent, queued: *queued });
            }
            bed.ack(packet * MSS, (packet + 7) * MSS, &telemetry);
            prop_assert!((80.0..=BDP).contains(&bed.flow.window()), "{}", bed.flow.window());
            prop_assert!(bed.flow.registers().all(|register| register.is_finite() && register > 0.0));
        }
    }
}
