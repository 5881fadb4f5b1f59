//! RCP: R' = R (1 + (T/d) (alpha (C - y) - beta q/d)/C) rests only where alpha (C - y) = beta q/d. With n flows that
//! all send at R and the queue at rest, q' = y - C = 0, so y = n R = C and q = 0: R = C/n, whatever the gains.
//!
//! Assumed: a fluid. Packets of n paced flows queue as n periodic sources do even at full load: about (pi n/8)^(1/2)
//! packets (HPCC A.1), and R is then below C/n by beta/alpha (q/d)/C. Twice that queue is allowed, and what it takes
//! off the rate.

use crate::common::*;
use fanin_cc::Settings;
use fanin_fabric::*;
use fanin_units::Time;

#[test]
fn ports_offer_an_nth_of_the_link_and_no_queue_stays() {
    for (alpha, beta) in [(0.4, 0.4), (0.2, 0.3)] {
        for n in [1, 2, 5, 20] {
            let mut rcp = traffic("rcp");
            let Settings::Rcp(_, params) = &mut rcp.scheme else { panic!("rcp has other parameters") };
            (params.alpha, params.beta) = (alpha, beta);
            let mut star = star(n + 1, us(5));
            star.links.iter_mut().for_each(|link| link.rate = gbps(100));
            let messages = (1..=n).map(|host| message(ns(137 * host as u64), host, 0, Message::ENDLESS)).collect();
            let mut sim = simulation(network(star), vec![rcp], messages);
            let port = port(&sim, n + 1, 0);
            let (mut rate, mut queue, samples) = (0.0, 0.0, 200);
            for sample in 0..samples {
                run_to(&mut sim, Time::from_ms(2) + us(9).saturating_mul(sample));
                let seen = sim.watch_switch(0, 0);
                rate += seen.iter().find(|(name, _)| *name == "least_rate_bps").unwrap().1 / samples as f64;
                queue += sim.queued(port) as f64 / samples as f64;
            }
            let packets = 2.0 * (std::f64::consts::PI * n as f64 / 8.0).sqrt();
            let share = rate * n as f64 / 100e9;
            // C d is 250 KB.
            let off = beta / alpha * packets * WIRE as f64 / 250e3;
            println!("{alpha} {beta}, {n} flows: R n/C {share:.4} (1 +- {off:.4}), {queue:.0} B queued");
            assert!((share - 1.0).abs() <= off, "{n} flows: {share}, and not within {off} of 1");
            assert!(queue <= packets * WIRE as f64, "{n} flows: {queue} B, and not {packets} packets");
        }
    }
}
