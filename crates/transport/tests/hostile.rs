//! Hostile input: from outside, from peers that lie, and from peers that vanish. Nothing panics, what is kept is
//! bounded, and every other message arrives as it was.

mod common;

use common::{Wire, World, address, arrived, content, scheme};
use fanin_cc::{Header, Kind};
use fanin_engine::Streams;
use fanin_transport::endpoint::fuzz::{self, Pair};
use fanin_transport::endpoint::{Config, Counts, Event, Reason};
use fanin_units::Time;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddr};

fn cases() -> u64 {
    std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

fn config() -> Config {
    Config::new(scheme("dcqcn"))
}

/// Hosts 1 and 2 send to host 0. The world has begun, and nothing has happened.
fn two_flows(seed: u64, more: usize, config: &Config) -> (World, Vec<u64>) {
    let mut world = World::new(seed, vec![config.clone(); 3 + more], Wire::default());
    world.captured = Some(Vec::new());
    let mut hashes = Vec::new();
    for from in 1..3 {
        let to = world.connect(from, 0);
        let of = content(from as u64, 400_000);
        hashes.push(hash(&of));
        world.post(from, to, of);
    }
    (world, hashes)
}

fn sent(events: &[(usize, Event)], hosts: std::ops::Range<usize>) -> usize {
    let of = |(host, event): &&(usize, Event)| hosts.contains(host) && matches!(event, Event::Sent { .. });
    events.iter().filter(of).count()
}

/// Both messages arrive at host 0 once, as they were.
fn finish(world: &mut World, hashes: &[u64]) {
    assert!(world.run(world.now + Time::from_s(20), |events| sent(events, 1..3) == 2), "a flow did not finish");
    let mut found: Vec<u64> =
        arrived(&world.events, 0).into_iter().map(hash).filter(|of| hashes.contains(of)).collect();
    found.sort_unstable();
    let mut hashes = hashes.to_vec();
    hashes.sort_unstable();
    assert_eq!(found, hashes);
}

#[test]
fn forged_cut_and_replayed_datagrams_of_others_change_nothing() {
    let (mut world, hashes) = two_flows(1, 0, &config());
    let mut draws = Streams::new(1).stream("hostile", 0);
    let mut done = 0;
    while !world.run(world.now + Time::from_us(200), |events| sent(events, 1..3) == 2) {
        let known = world.captured.take().unwrap();
        for _ in 0..20 {
            let mut of = known[draws.below(known.len() as u64) as usize].clone();
            match draws.below(6) {
                0 => {}
                1 => of.bytes.truncate(draws.below(of.bytes.len() as u64) as usize),
                2 => of.from = (Ipv4Addr::LOCALHOST, 9).into(),
                3 => of.bytes.extend([0; 7]),
                4 => of.ce = true,
                _ => {
                    let at = draws.below(of.bytes.len() as u64) as usize;
                    of.bytes[at] ^= 1 << draws.below(8);
                }
            }
            done += 1;
            world.put(world.now + Time::from_us(draws.below(300)), of);
        }
        world.captured = Some(known);
        assert!(world.now < Time::from_s(20));
    }
    finish(&mut world, &hashes);
    assert_eq!(arrived(&world.events, 0).len(), 2);
    let Counts { malformed, unknown, forged, replayed, out_of_place, .. } = world.hosts[0].counts();
    assert!(done > 300 && malformed > 0 && unknown > 10 && forged > 20 && replayed > 20 && out_of_place == 0);
}

#[test]
fn floods_of_set_ups_take_no_memory_without_a_cookie_and_little_with() {
    let mut config = config();
    (config.limits.half_open, config.limits.quiet) = (5, Time::from_s(2));
    let (mut world, hashes) = two_flows(2, 2, &config);
    world.run(Time::from_ms(1), |_| false);
    assert_eq!(world.hosts[0].memory()[0], 2);
    // HELLOs of host 3, and what it would say to cookies, from addresses that it does not have.
    world.connect(3, 0);
    let hello = world.hosts[3].take_datagram();
    assert!(hello.is_none(), "it is sent when it runs");
    let now = world.now;
    world.hosts[3].run(now);
    let hello = world.hosts[3].take_datagram().unwrap().bytes;
    let elsewhere = |n: u32| SocketAddr::from((Ipv4Addr::from(0x0A00_0000 + n), 7));
    for n in 0..20_000 {
        world.hosts[0].on_datagram(now, elsewhere(n), false, &hello);
        let answer = world.hosts[0].take_datagram().unwrap();
        assert!(answer.to == elsewhere(n) && answer.bytes.len() <= hello.len());
    }
    assert_eq!(world.hosts[0].memory()[0], 2, "a HELLO leaves nothing");
    // With the cookie of one address from others.
    world.hosts[0].on_datagram(now, address(3), false, &hello);
    let cookie = world.hosts[0].take_datagram().unwrap().bytes;
    world.hosts[3].on_datagram(now, address(0), false, &cookie);
    world.hosts[3].run(now);
    let open = world.hosts[3].take_datagram().unwrap().bytes;
    for n in 0..1000 {
        world.hosts[0].on_datagram(now, elsewhere(n), false, &open);
        assert!(world.hosts[0].take_datagram().is_none());
    }
    assert_eq!((world.hosts[0].counts().without_cookie, world.hosts[0].memory()[0]), (1000, 2));
    // With cookies of their own, as someone who reads what is sent to many addresses.
    let mut refused = 0;
    for n in 0..200 {
        let to = world.hosts[3].connect(now, address(0));
        world.hosts[3].run(now);
        let hello = world.hosts[3].take_datagram().unwrap().bytes;
        world.hosts[0].on_datagram(now, elsewhere(n), false, &hello);
        let cookie = world.hosts[0].take_datagram().unwrap().bytes;
        world.hosts[3].on_datagram(now, address(0), false, &cookie);
        world.hosts[3].run(now);
        let open = world.hosts[3].take_datagram().unwrap().bytes;
        for _ in 0..2 {
            world.hosts[0].on_datagram(now, elsewhere(n), false, &open);
            refused += u64::from(world.hosts[0].take_datagram().unwrap().bytes[1] == 5);
        }
        world.hosts[3].close(now, to);
    }
    assert_eq!((refused, world.hosts[0].memory()[0]), (2 * 195, 7));
    finish(&mut world, &hashes);
    // Those that never came are forgotten, and there is room again.
    world.run(Time::from_s(5), |_| false);
    world.connect(4, 0);
    assert!(world.run(Time::from_s(6), |events| events.iter().any(|(host, _)| *host == 4)));
    assert!(matches!(world.events.last(), Some((4, Event::Connected { .. }))));
}

#[test]
fn what_a_peer_announces_is_bounded_whatever_it_says() {
    let mut pair = Pair::new(0).unwrap();
    for _ in 0..3 {
        pair.pass(true);
    }
    let body = |number: u32, bytes: u64, oldest: u32| {
        let mut of = oldest.to_be_bytes().to_vec();
        of.extend(number.to_be_bytes());
        of.extend([0; 8]);
        // A set-up of this message, from client to server.
        of.extend([1, 0, 0, 0]);
        of.extend([9; 8]);
        of.extend(number.to_be_bytes());
        of.extend([0xFF; 4]);
        of.extend([0, 0, 0, 0, 0, 0, 0, 1]);
        of.extend(bytes.to_be_bytes());
        of.extend([0; 8]);
        of.extend([0xFF; 4]);
        of.extend([0, 1, 0, 0]);
        of
    };
    let before = pair.end.memory();
    for number in 1..2000 {
        for bytes in [1, 40_000, 100_001, u64::MAX] {
            pair.lie(9, &body(number, bytes, 0));
            pair.check();
        }
    }
    let [_, messages, bytes, known] = pair.end.memory();
    assert!(messages > before[1] && messages <= 4 && bytes < 5000 && known <= 5, "{:?}", pair.end.memory());
    // What it has released is not kept, and it cannot begin again below.
    pair.lie(12, &body(0, 1, 5000)[..16]);
    assert_eq!(pair.end.memory()[1], 0);
    pair.lie(9, &body(4999, 1, 0));
    assert_eq!(pair.end.memory()[1], 0);
    pair.lie(9, &body(5000, 1, 0));
    assert_eq!(pair.end.memory()[1], 1);
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_acknowledges_nothing() {
    // The first packet of three has been sent.
    for (seq, tag) in [(3000, 0), (2048, 0), (1024, 1976), (u64::MAX, 1), (5, 0), (3001, 0)] {
        for kind in [Kind::Ack, Kind::Nack] {
            for which in 0..24 {
                let mut pair = Pair::new(which).unwrap();
                pair.pass(true);
                pair.acknowledge(kind, seq, tag);
                assert!(pair.end.take_event().is_none(), "{kind:?} {seq}");
                assert_eq!(pair.end.unsent(pair.ids[0]), 3000);
                let mut found = Vec::new();
                for _ in 0..400 {
                    pair.pass(true);
                    while let Some(event) = pair.peer.take_event() {
                        if let Event::Arrived { content, .. } = event {
                            found.push(content);
                        }
                    }
                }
                assert_eq!(found, [[7; 3000]], "{kind:?} {seq} {tag} {which}");
                assert_eq!(pair.end.unsent(pair.ids[0]), 0);
            }
        }
    }
}

#[test]
fn data_that_no_packet_of_its_message_can_be_is_refused() {
    use fanin_cc::flags::{ECT, END, START, TCP};
    // DCQCN with each way of recovery; the message of 3000 bytes is announced.
    for which in [0, 8, 16] {
        let mut pair = Pair::new(which).unwrap();
        pair.pass(true);
        let before = pair.end.counts().out_of_place;
        let lies = [
            (1, 1024, ECT),
            (0, 1023, ECT | START),
            (0, 1024, ECT),
            (0, 1024, ECT | START | END),
            (1024, 1024, ECT | END),
            (1024, 1024, ECT | START),
            (2048, 952, ECT),
            (2048, 1024, ECT | END),
            (3000, 1, ECT | END),
            (u64::MAX, 1024, ECT | END),
            (1024, 1024, TCP),
        ];
        for (seq, payload, flags) in lies {
            pair.packet(Header { seq, payload, flags, wire: 1200, ..Header::default() });
            pair.check();
        }
        assert_eq!(pair.end.counts().out_of_place - before, lies.len() as u64);
        pair.packet(Header { seq: 1024, payload: 1024, flags: ECT, wire: 1200, ..Header::default() });
        assert_eq!(pair.end.counts().out_of_place - before, lies.len() as u64, "this one may be");
    }
}

#[test]
fn a_peer_that_vanishes_is_forgotten_and_others_finish() {
    let mut config = config();
    config.limits.quiet = Time::from_s(1);
    let (mut world, hashes) = two_flows(4, 1, &config);
    let to = world.connect(3, 0);
    world.post(3, to, content(3, 4_000_000));
    world.run(Time::from_ms(8), |_| false);
    let back = world.events.iter().find_map(|(host, event)| match event {
        Event::Accepted { peer, address: of, .. } if *host == 0 && *of == address(3) => Some(*peer),
        _ => None,
    });
    let message = world.post(0, back.unwrap(), content(5, 300_000));
    world.run(Time::from_ms(9), |_| false);
    assert!(world.hosts[0].memory()[2] > 10_000, "some of its message has arrived");
    world.gone[3] = true;
    finish(&mut world, &hashes);
    world.run(world.now + Time::from_s(2), |_| false);
    let peer = back.unwrap();
    for event in [Event::Failed { peer, message, reason: Reason::Silent }, Event::Lost { peer, reason: Reason::Silent }]
    {
        assert!(world.events.contains(&(0, event)));
    }
    let [peers, messages, bytes, known] = world.hosts[0].memory();
    assert!(peers == 2 && messages <= 2 && bytes == 0 && known <= 2, "{:?}", world.hosts[0].memory());
    assert_eq!(arrived(&world.events, 0).len(), 2);
}

#[test]
fn random_and_broken_datagrams_of_outsiders_and_liars_do_no_harm() {
    let mut draws = Streams::new(7).stream("broken", 0);
    let seeds = fuzz::seeds();
    let (mut taken, most) = (0, 500 * cases());
    let mut number = 0;
    while taken < most {
        let program = &seeds[number % seeds.len()];
        number += 1;
        let mut pair = Pair::new(program[0]).unwrap();
        let bodies: Vec<(u8, Vec<u8>)> = datagrams(program);
        for _ in 0..100 {
            let (what, of) = &bodies[draws.below(bodies.len() as u64) as usize];
            let mut of = of.clone();
            for _ in 0..draws.below(4) {
                if of.is_empty() {
                    break;
                }
                let at = draws.below(of.len() as u64) as usize;
                match draws.below(4) {
                    0 => of[at] ^= 1 << draws.below(8),
                    1 => of[at] = draws.bits() as u8,
                    2 => of.truncate(at),
                    _ => of.insert(at, draws.bits() as u8),
                }
            }
            let from = (Ipv4Addr::LOCALHOST, 2 + draws.below(2) as u16).into();
            match what {
                0 => pair.take(from, draws.below(2) == 0, &of),
                what => pair.lie(what - 2, &of),
            }
            pair.now += Time::from_us(draws.below(200));
            pair.check();
        }
        taken += pair.taken;
    }
}

/// The datagrams of a program, with what they are.
fn datagrams(program: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut all, mut rest) = (Vec::new(), &program[1..]);
    while let [what, a, b, _, _, more @ ..] = rest {
        let (body, behind) = more.split_at(usize::from(u16::from_be_bytes([*a, *b])));
        all.push((*what, body.to_vec()));
        rest = behind;
    }
    all
}

#[test]
fn the_programs_that_others_are_made_of_are_taken() {
    for program in fuzz::seeds() {
        fuzz::run(&program);
        let mut pair = Pair::new(program[0]).unwrap();
        for (what, of) in datagrams(&program) {
            pair.now += Time::from_us(500);
            pair.end.run(pair.now);
            match what {
                0 => pair.take((Ipv4Addr::LOCALHOST, 2).into(), false, &of),
                what => pair.lie(what - 2, &of),
            }
        }
        let of = pair.end.counts();
        assert_eq!((of.malformed, of.out_of_place, of.unknown, of.forged), (0, 0, 0, 0));
    }
}
