//! Messages between endpoints, in virtual time and over sockets.

mod common;

use common::{Wire, World, arrived, content, scheme};
use fanin_cc::Settings;
use fanin_endpoint::host::Recovery;
use fanin_endpoint::selective::{Cap, Rules};
use fanin_transport::Endpoint;
use fanin_transport::endpoint::{Config, Event, PeerId, PostError, Reason};
use fanin_units::{Rate, Time};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Selective repeat.
const RULES: Rules =
    Rules { cap: Cap::Off, timeout_high: Time::from_ms(50), low_up_to: 3, nacks: 1, tell_scheme: true };

/// Every scheme that RDMA carries.
fn schemes() -> Vec<&'static str> {
    let all = fanin_cc::rows().iter().map(|row| row.presets[0]);
    all.filter(|id| scheme(id).tcp_only().is_none() && scheme(id).needs_switches().is_none()).collect()
}

fn bad() -> Wire {
    Wire { lost: 20, twice: 10, late: 10, ..Wire::default() }
}

/// Three senders to one receiver; all contents arrive as they were.
fn incast(config: &Config, wire: Wire, sizes: [usize; 3]) -> World {
    let configs = (0..4).map(|host| Config { host: Some(host), ..config.clone() }).collect();
    let mut world = World::new(9, configs, wire);
    let contents: Vec<_> = sizes.iter().zip(1..).map(|(len, seed)| content(seed, *len)).collect();
    for (from, content) in (1..).zip(&contents) {
        let to = world.connect(from, 0);
        let now = world.now;
        world.hosts[from].post(now, to, content.clone(), Some((5, &[1, 2, 3]))).unwrap();
    }
    let all =
        |events: &[(usize, Event)]| events.iter().filter(|(_, event)| matches!(event, Event::Sent { .. })).count() == 3;
    assert!(world.run(Time::from_s(8), all), "{:?} {:?}", world.now, world.events.len());
    let mut found = arrived(&world.events, 0);
    found.sort_by_key(|content| content.len());
    let mut expected: Vec<&[u8]> = contents.iter().map(|content| &content[..]).collect();
    expected.sort_by_key(|content| content.len());
    assert_eq!(found, expected);
    world
}

#[test]
fn messages_arrive_whole_under_every_scheme_of_rdma() {
    for id in schemes() {
        println!("{id}");
        incast(&Config::new(scheme(id)), Wire::default(), [1, 60_000, 61_001]);
    }
    assert!(schemes().len() >= 10);
}

#[test]
fn losses_copies_and_late_datagrams_are_repaired_by_each_way_of_recovery() {
    for recovery in [Recovery::GoBackN, Recovery::GoBack0, Recovery::Selective(RULES)] {
        let mut config = Config::new(scheme("dcqcn"));
        config.endpoint.recovery = recovery;
        // Go-back-0 needs a message that gets through.
        let most = if recovery == Recovery::GoBack0 { 20_000 } else { 200_000 };
        let world = incast(&config, bad(), [1500, most, most + 1]);
        let of = world.hosts.iter().map(|host| host.totals().host);
        assert!(of.map(|of| of.nacks + of.timeouts + of.duplicates).sum::<u64>() > 0, "nothing was lost");
    }
}

#[test]
fn set_ups_that_are_lost_are_sent_again() {
    let mut config = Config::new(scheme("dcqcn"));
    config.endpoint.timeout = Time::from_ms(5);
    for lost in [200, 300] {
        incast(&config, Wire { lost, ..Wire::default() }, [1, 2, 3]);
    }
}

#[test]
fn marks_of_the_network_reach_the_scheme() {
    let wire = Wire { rate: Rate::from_mbps(400), drop_above: Time::from_s(1), ..Wire::default() };
    let world = incast(&Config::new(scheme("dcqcn")), wire, [300_000, 300_002, 300_001]);
    assert!(world.marks > 50);
    assert_eq!(world.hosts[0].counts().marked, world.marks);
    assert!(world.hosts[0].totals().host.cnps > 0, "DCQCN's receiver tells its senders");
}

#[test]
fn the_rate_of_the_nic_is_kept_and_the_round_trip_time_measured() {
    let config = Config { rate: Rate::from_mbps(100), ..Config::new(scheme("none")) };
    let mut world = World::new(3, vec![config.clone(), config], Wire::default());
    let to = world.connect(0, 1);
    world.post(0, to, content(1, 1_000_000));
    assert!(world.run(Time::from_s(2), |events| events.iter().any(|(_, of)| matches!(of, Event::Sent { .. }))));
    // 977 packets of up to 1202 bytes at 100 Mb/s.
    let (least, most) = (Time::from_ms(93), Time::from_ms(97));
    assert!(world.now > least && world.now < most, "{}", world.now);
    let rtt = world.hosts[0].rtt(to).unwrap();
    assert!(rtt >= Time::from_us(40) && rtt < Time::from_us(60), "{rtt}");
}

#[test]
fn both_ends_send_and_many_messages_keep_their_order_of_posting() {
    let config = Config::new(scheme("dart"));
    let mut world = World::new(4, vec![config.clone(), config], bad());
    let to = world.connect(0, 1);
    assert!(world.run(Time::from_s(1), |events| events.len() >= 2));
    let back = world.events.iter().find_map(|(host, event)| match event {
        Event::Accepted { peer, .. } if *host == 1 => Some(*peer),
        _ => None,
    });
    for number in 0..100 {
        assert_eq!(world.post(0, to, content(number, 100 + number as usize)), number as u32);
        world.post(1, back.unwrap(), content(number + 200, 100 + number as usize));
    }
    let sent =
        |events: &[(usize, Event)]| events.iter().filter(|(_, of)| matches!(of, Event::Sent { .. })).count() == 200;
    assert!(world.run(Time::from_s(20), sent));
    for (host, seed) in [(1, 0), (0, 200)] {
        let mut found = 0;
        for (_, event) in world.events.iter().filter(|(at, _)| *at == host) {
            if let Event::Arrived { message, content: of, .. } = event {
                assert_eq!(of[..], content(seed + u64::from(*message), 100 + *message as usize)[..]);
                found += 1;
            }
        }
        assert_eq!(found, 100);
    }
    // Nothing but the last messages is kept, and no content.
    let [peers, messages, bytes, known] = world.hosts[1].memory();
    assert!(peers == 1 && messages <= 16 && bytes == 0 && known <= 16, "{:?}", world.hosts[1].memory());
}

#[test]
fn connections_that_cannot_be_say_why() {
    let config = Config::new(scheme("dcqcn"));
    let other = Config { payload: 512, ..config.clone() };
    let secret = Config { secret: [1, 2], ..config.clone() };
    let mut named = Config { host: Some(3), ..config.clone() };
    named.limits.peers = 1;
    let same = Config { host: Some(3), ..config.clone() };
    let mut world = World::new(5, vec![named, other, secret, same, config.clone(), config], Wire::default());
    for from in 1..5 {
        world.connect(from, 0);
    }
    world.run(Time::from_ms(30), |_| false);
    world.connect(5, 0);
    world.run(Time::from_s(15), |_| false);
    let why = |host: usize| {
        world.events.iter().find_map(|(at, event)| match event {
            Event::Lost { reason, .. } if *at == host => Some(*reason),
            _ => None,
        })
    };
    assert_eq!(why(1), Some(Reason::Different));
    assert_eq!(why(2), Some(Reason::Silent), "with another secret it is not even answered");
    assert_eq!(why(3), Some(Reason::HostTaken));
    assert_eq!((why(4), why(5)), (None, Some(Reason::Full)));
    assert_eq!(world.hosts[0].post(world.now, PeerId(99), content(1, 1), None), Err(PostError::NoPeer));
    for (id, why) in [("ictcp", "RDMA"), ("rcp", "switches")] {
        assert!(Config::new(scheme(id)).check().is_err_and(|error| error.contains(why)), "{id}");
    }
}

#[test]
fn a_message_that_is_too_long_fails_and_the_next_arrives() {
    let config = Config::new(scheme("dcqcn"));
    let mut small = config.clone();
    small.limits.message = 1000;
    let mut world = World::new(6, vec![config, small], Wire::default());
    let to = world.connect(0, 1);
    world.post(0, to, content(1, 1001));
    world.post(0, to, content(2, 1000));
    assert!(world.run(Time::from_s(1), |events| events.iter().any(|(_, of)| matches!(of, Event::Sent { .. }))));
    let failed = Event::Failed { peer: to, message: 0, reason: Reason::TooLong };
    assert!(world.events.contains(&(0, failed)));
    assert_eq!(arrived(&world.events, 1), [&content(2, 1000)[..]]);
}

/// Polls endpoints in turn until `done`.
fn poll(ends: &mut [Endpoint], mut done: impl FnMut(usize, Event) -> bool) {
    let began = Instant::now();
    loop {
        for (at, end) in ends.iter_mut().enumerate() {
            for event in end.poll(Duration::from_micros(200)).unwrap() {
                if done(at, event) {
                    return;
                }
            }
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it takes too long");
    }
}

#[test]
fn messages_over_sockets_arrive_whole_and_the_end_is_told() {
    let config = |id: &str| Config::new(Settings::preset(id).unwrap());
    for id in ["dcqcn", "dart", "hpcc"] {
        let mut ends: Vec<_> = (0..3).map(|_| Endpoint::bind((Ipv4Addr::LOCALHOST, 0), config(id)).unwrap()).collect();
        let server = ends[0].address().unwrap();
        assert!(server.ip().is_loopback());
        let contents = [content(1, 300_000), content(2, 300_001)];
        for (end, of) in ends[1..].iter_mut().zip(&contents) {
            let to = end.connect(server).unwrap();
            end.post(to, of.clone(), None).unwrap();
        }
        let (mut found, mut sent) = (Vec::new(), 0);
        poll(&mut ends, |_, event| {
            match event {
                Event::Arrived { content, .. } => found.push(content),
                Event::Sent { .. } => sent += 1,
                Event::Failed { .. } | Event::Lost { .. } => panic!("{event:?}"),
                _ => {}
            }
            sent == 2
        });
        found.sort_by_key(Vec::len);
        assert_eq!(found, [contents[0].to_vec(), contents[1].to_vec()]);
        // A client that ends tells so.
        ends.truncate(2);
        let mut lost = 0;
        poll(&mut ends, |at, event| {
            lost += usize::from(at == 0 && matches!(event, Event::Lost { reason: Reason::Ended, .. }));
            lost == 1
        });
    }
}
