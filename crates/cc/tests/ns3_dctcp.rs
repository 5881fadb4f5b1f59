//! `dctcp-ns3` by hand, and against a second implementation of that simulator's rules, line by line.

use crate::common::cases;
use crate::common::ns3::{Flow, ack, path_of, to_u64};
use fanin_cc::schemes::dctcp_ns3::{DctcpNs3, Params};
use fanin_cc::{Ack, Scheme, Settings};
use fanin_units::{Rate, Time};
use proptest::prelude::*;

fn flow(change: impl FnOnce(&mut Params)) -> Flow {
    let mut params = DctcpNs3::preset("dctcp-ns3");
    change(&mut params);
    Flow::new(&Settings::DctcpNs3("dctcp-ns3", params), &path_of(100, 153_000, 12_240))
}

fn take(flow: &mut Flow, seq: u64, sent_to: u64, ecn_echo: bool) -> u64 {
    flow.ack(0, &Ack { ecn_echo, ..ack(seq, sent_to) }).0
}

#[test]
fn it_counts_the_first_mark_twice() {
    let mut f = flow(|_| ());
    assert_eq!((f.rate(), f.control.window, f.control.wake_at), (100_000_000_000, 153_000, Time::NEVER));
    assert!(!f.control.retime);
    // Alpha is 1 and the first ACK is marked: half, and no increase with it.
    assert_eq!(take(&mut f, 1000, 20_000, true), 50_000_000_000);
    assert_eq!(f.control.window, 76_500);
    assert_eq!(take(&mut f, 2000, 21_000, true), 50_000_000_000);
    // The number must be above the mark, not at it.
    assert_eq!(take(&mut f, 20_000, 39_000, false), 50_000_000_000);
    assert_eq!(f.watch("alpha"), 1.0);
    // Two marked ACKs, the first's among them, in a batch of 20000/1000 + 1 packets.
    assert_eq!(take(&mut f, 21_000, 40_000, false), 50_615_000_000);
    let alpha = 0.9375 + 0.0625 * (2.0 / 21.0);
    assert_eq!(f.watch("alpha"), alpha);
    // Nothing marked in the next of (40000 - 21000)/1000 + 1, so a quiet batch.
    assert_eq!(take(&mut f, 41_000, 60_000, false), 51_230_000_000);
    assert_eq!(f.watch("alpha"), 0.9375 * alpha);
    // A cut is remembered up to the next byte to send at the cut, and prevents the increase of its own ACK.
    let marked = 0.9375 * (0.9375 * alpha) + 0.0625 * (1.0 / 20.0);
    let rate = take(&mut f, 61_000, 80_000, true);
    assert_eq!(rate, (51_230_000_000.0 * (1.0 - marked / 2.0)) as u64);
    assert_eq!(take(&mut f, 80_000, 99_000, true), rate);
    assert_eq!(take(&mut f, 81_000, 100_000, false), rate + 615_000_000);
}

#[test]
fn it_stays_between_the_least_rate_and_the_line() {
    let mut f = flow(|p| p.min_rate = Rate::from_gbps(60));
    assert_eq!(take(&mut f, 1000, 2000, true), 60_000_000_000);
    let mut f = flow(|p| p.dctcp_rate_ai = Rate::from_gbps(30));
    take(&mut f, 1000, 2000, true);
    assert_eq!(
        [(3000, 4000), (5000, 6000)].map(|(seq, next)| take(&mut f, seq, next, false)),
        [80_000_000_000, 100_000_000_000]
    );
    let mut f = flow(|p| (p.window, p.var_win) = (false, false));
    assert_eq!((take(&mut f, 1000, 2000, true), f.control.window), (50_000_000_000, u64::MAX));
}

#[test]
fn a_batch_wraps_around_where_the_sender_has_gone_back() {
    let mut f = flow(|_| ());
    take(&mut f, 1000, 2000, false);
    // The next byte to send is 500 below the number: (2^64 - 500)/1000 + 1 packets, of which 32 bits are kept.
    take(&mut f, 3000, 2500, false);
    let batch = ((u64::MAX - 499) / 1000 + 1) as u32;
    assert_eq!(take(&mut f, 3001, 4000, true), (1e11 * (1.0 - f.watch("alpha") / 2.0)) as u64);
    assert_eq!(f.watch("alpha"), 0.9375 * 0.9375 + 0.0625 * (1.0 / batch as f64));
}

/// The rules line by line.
struct Oracle {
    rate: u64,
    last_update: u64,
    in_cwr: bool,
    high: u64,
    alpha: f64,
    ecn: u32,
    batch: u32,
}

impl Oracle {
    fn ack(&mut self, p: &Params, max: u64, seq: u64, next: u64, cnp: bool) {
        let mut new_batch = false;
        self.ecn += cnp as u32;
        if seq > self.last_update {
            new_batch = true;
            if self.last_update == 0 {
                self.last_update = next;
                self.batch = (next / 1000) as u32 + 1;
            } else {
                let mut f = self.ecn as f64 / self.batch as f64;
                if f > 1.0 || f.is_nan() {
                    f = 1.0;
                }
                let old = (1.0 - p.g) * self.alpha;
                let new = p.g * f;
                self.alpha = old + new;
                self.last_update = next;
                self.ecn = 0;
                let left = (next as u128 + (1 << 64) - seq as u128) % (1 << 64);
                self.batch = ((left / 1000 + 1) % (1 << 32)) as u32;
            }
        }
        if self.in_cwr && seq > self.high {
            self.in_cwr = false;
        }
        if cnp && !self.in_cwr {
            let factor = 1.0 - self.alpha / 2.0;
            self.rate = to_u64(self.rate as f64 * factor).max(p.min_rate.as_bps());
            self.in_cwr = true;
            self.high = next;
        }
        if !self.in_cwr && new_batch {
            self.rate = max.min(self.rate + p.dctcp_rate_ai.as_bps());
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn it_is_that_simulators(
        acks in prop::collection::vec((0u64..9_000, 0u64..40_000, any::<bool>(), any::<bool>()), 1..300),
        gbps in prop_oneof![Just(100u64), Just(25), Just(400)],
        seldom in any::<bool>(),
        gain in prop_oneof![Just(0.0625), Just(0.0), Just(1.0), 0.0f64..1.0],
    ) {
        let params = Params { g: gain, ..DctcpNs3::preset("dctcp-ns3") };
        let max = gbps * 1_000_000_000;
        let mut f = Flow::new(&Settings::DctcpNs3("dctcp-ns3", params.clone()), &path_of(gbps, 153_000, 12_240));
        let mut oracle = Oracle { rate: max, last_update: 0, in_cwr: false, high: 0, alpha: 1.0, ecn: 0, batch: 0 };
        let mut seq = 0;
        for (n, &(ahead, flying, a, b)) in acks.iter().enumerate() {
            let this = if n % 13 == 12 { seq / 2 } else { seq + ahead };
            seq = seq.max(this);
            // Sometimes the sender has gone back below the number.
            let next = if n % 7 == 6 { seq.saturating_sub(500) } else { seq + flying };
            let cnp = if seldom { a && b } else { a || b };
            oracle.ack(&params, max, this, next, cnp);
            let seen = f.ack(n as u64, &Ack { ecn_echo: cnp, ..ack(this, next) });
            prop_assert_eq!(seen, (oracle.rate, (153_000 * oracle.rate / max).max(1)));
            prop_assert_eq!(f.watch("alpha").to_bits(), oracle.alpha.to_bits());
        }
    }
}
