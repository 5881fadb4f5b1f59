//! NSCC: its law against recorded runs of uet-htsim, and its scheme.

use crate::common::{PAYLOAD, WIRE, path, us};
use fanin_cc::schemes::nscc::{Ground, Law, Parameters, Window, most};
use fanin_cc::{Ack, Settings, Trim};
use fanin_units::Time;

/// The network of those runs: 100 Gb/s, three tiers, 1 us a link.
const GROUND: Ground = Ground {
    mtu: 4150,
    mss: 4086,
    rate: 100_000_000_000,
    rtt: 14_022_720,
    target: 10_517_040,
    gate: 3,
    law: Law::Nscc,
};

fn start(ground: Ground) -> (Parameters, Window) {
    let most = most(ground.rtt, ground.rate);
    (Parameters::new(&ground), Window::new(ground.rtt, most, most))
}

/// Runs a recorded sender; each line is an event, and the state after it.
fn replay(text: &str) -> (Window, usize) {
    let (p, mut w) = start(GROUND);
    let mut lines = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (event, expected) = line.split_once(" > ").unwrap();
        let words: Vec<&str> = event.split(' ').collect();
        let number = |at: usize| words[at].parse::<i64>().unwrap();
        let (now, bytes, in_flight) = (number(1) as u64, number(4), number(5));
        if words[0] == "T" {
            // The log has the state before a timeout.
            assert_eq!(w.window.to_string(), expected, "{line}");
            w.on_timeout(&p, bytes);
            continue;
        }
        let marked = words[2] == "1";
        let seen: Vec<u64> = if words[0] == "A" {
            w.count(bytes);
            let mut delay = w.average;
            if let Ok(rtt) = words[3].parse() {
                w.sample_base(&p, rtt);
                delay = rtt - w.base;
                w.sample_delay(&p, delay, marked);
            }
            w.on_ack(&p, now, marked, delay, bytes, in_flight);
            let bytes = [w.achieved, w.received, w.ignored].map(|x| x as u64);
            let first = [w.window as u64, w.most as u64, w.base, w.average, w.increase.into()];
            let rest = [w.to_ignore.into(), w.fast_count.into(), w.fast.into(), w.quick_end, w.adjusted, w.cut];
            [&first[..], &bytes, &rest].concat()
        } else {
            w.sample_base(&p, number(3) as u64);
            w.on_nack(&p, now, bytes, false, in_flight);
            let [achieved, ignored] = [w.achieved, w.ignored].map(|x| x as u64);
            vec![w.window as u64, w.base, w.average, achieved, ignored, w.to_ignore.into(), w.quick_end]
        };
        let seen: Vec<String> = seen.iter().map(u64::to_string).collect();
        assert_eq!(seen.join(" "), expected, "{line}");
        lines += 1;
    }
    (w, lines)
}

#[test]
fn the_law_repeats_what_uet_htsim_logged_under_trims_and_timeouts() {
    let (w, lines) = replay(include_str!("common/nscc_trims.txt"));
    assert_eq!((lines, w.account.nack), (43, 22 * 4150));
}

#[test]
fn the_law_repeats_what_uet_htsim_logged_as_a_window_grows() {
    let (w, lines) = replay(include_str!("common/nscc_fast.txt"));
    assert_eq!(lines, 40);
    assert!(w.fast);
}

#[test]
fn a_marked_delay_cuts_once_a_round_trip_by_how_far_the_average_is_above_the_target() {
    let (p, mut w) = start(GROUND);
    w.average = 2 * p.target;
    // The constant increase of each round trip stays out of the way.
    w.adjusted = 90_000_000;
    let before = w.window;
    w.on_ack(&p, 90_000_000, true, p.target, 4150, 0);
    // 1 - 0.8 (2 T - T) / 2 T = 0.6
    assert_eq!(w.window, (before as f64 * 0.6) as i64);
    assert_eq!(w.account.multiplicative, before - w.window);
    let cut = w.window;
    w.on_ack(&p, 100_000_000, true, p.target, 4150, 0);
    assert_eq!(w.account.multiplicative, before - cut, "less than a round trip later");
    // Far above the target, at most half; an average below it cuts nothing.
    w.average = 100 * p.target;
    let high = w.window;
    w.adjusted = 110_000_000;
    w.on_ack(&p, 110_000_000, true, p.target, 1, 0);
    assert_eq!(w.account.multiplicative, before - cut + high - high / 2);
    w.average = p.target;
    let account = w.account;
    w.on_ack(&p, 190_000_000, true, p.target, 1, 0);
    assert_eq!(w.account.multiplicative, account.multiplicative);
}

#[test]
fn the_other_laws_follow_marks_or_nothing() {
    for (law, after) in [(Law::Dctcp, [100_000 + 4150 * 4150 / 100_000, 98_789, 94_639]), (Law::Constant, [100_000; 3])]
    {
        let (p, mut w) = start(Ground { law, ..GROUND });
        w.window = 100_000;
        let mut seen = [0; 3];
        w.on_ack(&p, 1, false, 0, 4150, 0);
        seen[0] = w.window;
        w.on_ack(&p, 2, true, 0, 4150, 0);
        seen[1] = w.window;
        w.on_nack(&p, 3, 4150, false, 0);
        seen[2] = w.window;
        assert_eq!(seen, after, "{law:?}");
    }
}

#[test]
fn windows_count_bytes_on_the_wire() {
    let mut scheme = Settings::preset("nscc").unwrap().build();
    let slot = scheme.open(0, &path(10, 12_500), Time::ZERO).slot;
    // The payload in flight below which a packet leaves, for a window of so many bytes on the wire.
    let (wire, payload) = (u64::from(WIRE), u64::from(PAYLOAD));
    let room = |window: u64| (window - wire) * payload / wire + 1;
    assert_eq!(scheme.control(slot, us(1)).window, room(18_750));
    // So 18 packets fit, and no 19th.
    let fits = |packets: u64| packets * payload < room(18_750);
    assert!(fits(18_750 / wire - 1) && !fits(18_750 / wire));
    let after = scheme.on_trim(slot, us(2), &Trim::new(0, PAYLOAD, WIRE, 5000, 5000));
    assert_eq!(after.window, room(18_750 - wire));
    let Some(Settings::Nscc(id, mut params)) = Settings::preset("nscc") else { panic!("there is nscc") };
    params.window.law = Law::Dctcp;
    let mut scheme = Settings::Nscc(id, params).build();
    let slot = scheme.open(0, &path(10, 12_500), Time::ZERO).slot;
    let rtt = us(13);
    let ack = Ack { ecn_echo: true, rtt, newly_acked: payload, in_flight: 5 * payload, ..Ack::default() };
    assert_eq!(scheme.on_ack(slot, us(20), &ack).window, room(18_750 - wire / 3));
}

#[test]
fn packets_that_were_sent_again_more_than_once_give_no_sample_of_the_delay() {
    let window = |sent_again| {
        let mut scheme = Settings::preset("nscc").unwrap().build();
        let slot = scheme.open(0, &path(10, 12_500), Time::ZERO).slot;
        for _ in 0..6 {
            scheme.on_trim(slot, us(2), &Trim::new(0, PAYLOAD, WIRE, 5000, 5000));
        }
        let nine = 9 * u64::from(PAYLOAD);
        let ack = Ack { rtt: us(60), sent_again, newly_acked: nine, in_flight: nine, ..Ack::default() };
        scheme.on_ack(slot, us(70), &ack).window
    };
    // The delay of 47 us is above the target, the average of six trims is not: they raise the window by unlike rules.
    assert_eq!((window(0), window(2)), (window(1), window(255)));
    assert_ne!(window(0), window(2));
}
