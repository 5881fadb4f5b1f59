//! InfiniBand's congestion control in a network, with credits and with PFC: an incast whose congestion tree holds up a
//! flow that only passes by.

use crate::common::random::{Case, congested, credited};
use crate::common::*;
use fanin_cc::schemes::infiniband::{Becn, Cct, InfiniBand, Params, Scope, Shifted, VictimMask};
use fanin_cc::{Action, Scheme, Settings};
use fanin_fabric::parallel::why_not_cut;
use fanin_fabric::topology::{Dumbbell, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

/// The scheme with parameters of its own.
fn infiniband(change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let mut traffic = traffic("infiniband");
    let Settings::InfiniBand(_, params) = &mut traffic.scheme else { panic!("infiniband has other parameters") };
    change(params);
    traffic
}

/// Six hosts at each of two switches, 10 Gb/s, and 100 Gb/s between these. Hosts 0 to 3 send to 6, host 4 to 7.
fn tree(buffer: BufferPolicy, traffic: TrafficConfig, until: Time) -> Simulation {
    let (host_link, bottleneck) = (cable(gbps(10), us(1)), cable(gbps(100), us(1)));
    let graph = Dumbbell { left: 6, right: 6, host_link, bottleneck }.build().unwrap();
    let config = NetworkConfig { classes: vec![class(true, Marking::Off)], buffer, ..network(graph) };
    let flow = |src, dst| message(ns(u64::from(src)), src, dst, Message::ENDLESS);
    let mut sim = simulation(config, vec![traffic], vec![flow(0, 6), flow(1, 6), flow(2, 6), flow(3, 6), flow(4, 7)]);
    run_to(&mut sim, until);
    sim
}

/// When the index of each sender has settled.
const LATER: Time = Time::from_ms(6);
const CREDITS: BufferPolicy = BufferPolicy::Credits { bytes: None };
/// The switches, on the left and on the right.
const LEFT: u32 = 12;
const RIGHT: u32 = 13;

/// The passing flow's rate and that of the incast from now on, in Gb/s; the mean queues of the trunk and of the root.
struct Shares {
    passing: f64,
    incast: f64,
    trunk: u64,
    root: u64,
}

fn shares(sim: &mut Simulation) -> Shares {
    let delivered = |sim: &Simulation| (0..5).map(|message| sim.delivered(message)).collect::<Vec<u64>>();
    let (before, start) = (delivered(sim), sim.now());
    let (mut trunk, mut root) = (0, 0);
    for sample in 1..=60 {
        run_to(sim, start + us(50 * sample));
        trunk += sim.queued(port(sim, LEFT, RIGHT)) / 60;
        root += sim.queued(port(sim, RIGHT, 6)) / 60;
    }
    let gbps = |which: core::ops::Range<usize>| {
        let bytes: u64 = which.map(|at| sim.delivered(at as u32) - before[at]).sum();
        bytes as f64 * 8.0 / 3e6
    };
    Shares { passing: gbps(4..5), incast: gbps(0..4), trunk, root }
}

/// The index of a message's sender.
fn ccti(sim: &Simulation, message: u32) -> f64 {
    sim.watch(message).iter().find(|(name, _)| *name == "ccti").expect("the sender is open").1
}

#[test]
fn an_incast_over_credits_holds_up_who_passes_by_and_gaps_free_it() {
    let mut without = tree(CREDITS, traffic("none"), LATER);
    let off = shares(&mut without);
    // The trunk's credits go to the five in turn, so that each gets a quarter of the root's rate.
    assert!((2.0..3.5).contains(&off.passing) && off.incast > 9.5, "{} {}", off.passing, off.incast);
    assert!(counters(&without, LEFT, RIGHT).credit_wait > Time::from_ms(6));

    let mut with = tree(CREDITS, infiniband(|_| ()), LATER);
    let on = shares(&mut with);
    assert!(on.passing > 9.0, "{}", on.passing);
    assert!(on.incast > 8.0, "{}", on.incast);
    assert!(on.trunk * 4 < off.trunk && on.root < off.root, "{} {} {} {}", on.trunk, off.trunk, on.root, off.root);
    // The root marks, and the trunk, which only waits for credits, does not.
    assert!(counters(&with, RIGHT, 6).marked > 100);
    assert_eq!((counters(&with, LEFT, RIGHT).marked, ccti(&with, 4)), (0, 0.0));
    assert!((0..4).all(|message| ccti(&with, message) > 0.0));
    for sim in [&without, &with] {
        assert_eq!((sim.totals().drops, sim.incidents().seen.pauses), (Drops::default(), 0));
    }
}

#[test]
fn where_victims_are_marked_too_they_are_slowed() {
    // While the tree stands, before the incast has slowed down.
    let run = |mask| {
        let sim = tree(CREDITS, infiniband(|p| (p.victim_mask, p.marking_rate) = (mask, 0)), Time::from_ms(3));
        (counters(&sim, LEFT, RIGHT).marked, ccti(&sim, 4), sim.delivered(4))
    };
    let (all, hosts) = (run(VictimMask::All), run(VictimMask::Hosts));
    // A few packets pass while the trunk happens to have credits for several.
    assert!(hosts.0 * 20 < all.0 && hosts.1 * 2.0 < all.1 && all.2 * 10 < hosts.2 * 8, "{all:?} {hosts:?}");
}

#[test]
fn a_pause_is_a_lack_of_credits() {
    let buffer = lossless(100_000, None);
    let mut without = tree(buffer, traffic("none"), LATER);
    let off = shares(&mut without);
    assert!((2.0..3.5).contains(&off.passing), "{}", off.passing);
    let mut with = tree(buffer, infiniband(|_| ()), LATER);
    let on = shares(&mut with);
    assert!(on.passing > 9.0 && on.trunk < off.trunk, "{}", on.passing);
    assert!(counters(&without, LEFT, RIGHT).pauses > 0 && counters(&with, RIGHT, 6).marked > 100);
    // What joins the trunk's queue between two pauses may pass for a root's.
    let marked = [counters(&with, LEFT, RIGHT).marked, counters(&with, RIGHT, 6).marked];
    assert!(marked[0] * 50 < marked[1] && ccti(&with, 4) == 0.0, "{marked:?}");
}

#[test]
fn a_service_level_slows_all_flows_of_a_host() {
    // Host 0 takes part in an incast and sends to host 4 as well.
    let graph = star(5, us(1));
    let run = |scope| {
        let config =
            NetworkConfig { classes: vec![class(true, Marking::Off)], buffer: CREDITS, ..network(graph.clone()) };
        let flow = |src, dst| message(ns(u64::from(src)), src, dst, Message::ENDLESS);
        let messages = vec![flow(0, 3), flow(1, 3), flow(2, 3), flow(0, 4)];
        let mut sim = simulation(config, vec![infiniband(|p| p.scope = scope)], messages);
        run_to(&mut sim, Time::from_ms(30));
        sim.delivered(3)
    };
    let (own, shared) = (run(Scope::QueuePair), run(Scope::ServiceLevel));
    assert!(shared * 10 < own * 9, "{shared} {own}");
}

#[test]
fn idle_networks_see_no_action_and_any_number_of_threads_the_same() {
    let graph = || {
        let (host_link, fabric_link) = (cable(gbps(10), us(1)), cable(gbps(10), us(1)));
        LeafSpine { leaves: 2, hosts: 4, spines: 2, host_link, fabric_link }.build().unwrap()
    };
    for preset in ["infiniband", "infiniband-mellanox", "infiniband-simula", "infiniband-gran"] {
        let config = || NetworkConfig { classes: vec![class(true, Marking::Off)], buffer: CREDITS, ..network(graph()) };
        let mut sim = simulation(config(), vec![traffic(preset)], vec![message(Time::ZERO, 0, 5, 200 * PAYLOAD)]);
        finish(&mut sim);
        assert!(sim.traffic_counters()[0].actions.iter().all(|(_, n)| n == 0), "{preset}");
        let incast = || (1..8).map(|h| message(ns(u64::from(h)), h, 0, 1500 * PAYLOAD)).collect::<Vec<_>>();
        let mut sim = simulation(config(), vec![traffic(preset)], incast());
        finish(&mut sim);
        check_all_arrived(&sim);
        let get = |action| sim.traffic_counters()[0].actions.get(action);
        assert!(get(Action::MarkSeen) > 0 && get(Action::Cut) > 0 && get(Action::Increase) > 0, "{preset}");
        assert_eq!(get(Action::MarkSeen), sim.port_counters().iter().map(|port| port.marked).sum::<u64>());
        // Leaves apart.
        let of = fanin_fabric::parallel::cut(&sim.config().graph, 2);
        assert!(of.contains(&1));
        let mut cut = ParallelSimulation::cut(config(), vec![traffic(preset)], Box::new(incast().into_iter()), &of);
        cut.always_share();
        assert!(cut.run_until(sim.now(), u64::MAX));
        assert_eq!(cut.totals(), sim.totals(), "{preset}");
        assert_eq!(cut.flows(), sim.flows());
        assert_eq!(cut.port_counters(), sim.port_counters());
    }
}

/// Any parameters under which the slowest source still sends at a two hundredth of its line.
fn any_params() -> impl Strategy<Value = Params> {
    let preset = prop::sample::select(InfiniBand::PRESETS);
    let switch = (0u8..=15, prop_oneof![Just(0u32), 0u32..20], 1u32..30);
    let masks = prop::sample::select(vec![VictimMask::None, VictimMask::Hosts, VictimMask::All]);
    let source = (1u16..20, 1u16..200, 0u16..20, 1u32..300, 0u16..200, 0u8..=3);
    let kinds = (masks, any::<(bool, bool, bool, bool)>());
    (preset, switch, kinds, source).prop_map(|(preset, switch, (victim_mask, kinds), source)| {
        let (ccti_increase, more, ccti_min, ccti_timer, cct_max, cct_shift) = source;
        let (threshold, marking_rate, packet_size) = switch;
        let mut params = Params {
            threshold,
            marking_rate,
            packet_size,
            victim_mask,
            becn: if kinds.0 { Becn::Ack } else { Becn::Cnp },
            scope: if kinds.1 { Scope::QueuePair } else { Scope::ServiceLevel },
            shifted: if kinds.2 { Shifted::Multiplier } else { Shifted::Time },
            ccti_increase,
            ccti_min,
            ccti_limit: ccti_min + more,
            ccti_timer,
            cct_max,
            cct_shift,
            ..InfiniBand::preset(preset)
        };
        if kinds.3 || params.multiplier(params.ccti_limit) > 200 {
            params.cct = Cct::Linear;
        }
        params
    })
}

/// Fan-in without losses, by credits or with PFC, all of it under this scheme, each traffic with parameters of its own.
fn any_case() -> impl Strategy<Value = Case> {
    (prop_oneof![congested(), credited()], proptest::collection::vec(any_params(), 3)).prop_map(|(mut case, params)| {
        for (traffic, params) in case.traffics.iter_mut().zip(params) {
            traffic.scheme = infiniband(|p| *p = params).scheme;
        }
        case.messages.sort_by_key(|message| message.start);
        case
    })
}

/// The parameters of a traffic whose queue pairs have an index each.
fn own(traffic: &TrafficConfig) -> Option<&Params> {
    match &traffic.scheme {
        Settings::InfiniBand(_, params) if params.scope == Scope::QueuePair => Some(params),
        _ => None,
    }
}

/// Runs a case to its end; every index that is seen on the way is within its bounds.
fn within_bounds(case: &Case) -> Simulation {
    let mut sim = case.build();
    let mut done = false;
    while !done {
        done = sim.run_until(Time::from_s(60), 1000);
        for (at, message) in (0..).zip(&case.messages) {
            let Some(params) = own(&case.traffics[message.traffic as usize]) else { continue };
            let Some((_, ccti)) = sim.watch(at).into_iter().find(|(name, _)| *name == "ccti") else { continue };
            let bounds = f64::from(params.ccti_min)..=f64::from(params.ccti_limit);
            assert!(bounds.contains(&ccti), "{ccti} of {bounds:?}");
        }
    }
    assert!(sim.is_over(), "{} messages wait", sim.open_messages());
    sim
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn any_messages_all_arrive_and_indices_keep_their_bounds(case in any_case(), partitions in 2usize..5) {
        let sim = within_bounds(&case);
        check_all_arrived(&sim);
        prop_assert_eq!((sim.totals().drops, sim.totals().hosts.timeouts), (Drops::default(), 0));
        // Never faster than the line, and no step up without a mark.
        prop_assert!(sim.flows().iter().all(|flow| flow.finished - flow.start >= flow.ideal));
        for counters in sim.traffic_counters() {
            let get = |action| counters.actions.get(action);
            prop_assert!(get(Action::Cut) <= get(Action::MarkSeen));
            // The last one may come when all is acknowledged.
            prop_assert!(get(Action::CnpReceived) <= get(Action::CnpSent));
        }
        let mut again = case.build();
        finish(&mut again);
        prop_assert_eq!((again.totals(), again.flows()), (sim.totals(), sim.flows()), "again");
        prop_assert_eq!(again.port_counters(), sim.port_counters());
        let of = fanin_fabric::parallel::cut(&case.config.graph, partitions);
        prop_assume!(of.contains(&1) && why_not_cut(&case.config, &case.traffics).is_none());
        let messages = Box::new(case.messages.clone().into_iter());
        let mut cut = ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages, &of);
        cut.always_share();
        prop_assert!(cut.run_until(Time::from_s(60), u64::MAX));
        prop_assert_eq!((cut.totals(), cut.flows()), (sim.totals(), sim.flows()), "{} partitions", partitions);
        prop_assert_eq!(cut.port_counters(), sim.port_counters());
    }
}
