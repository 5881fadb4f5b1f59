//! HPCC's telemetry: the fields of Fig. 7, changes of the path, and the table for division (4.1, 4.3).

use crate::common::{PAYLOAD, WIRE, us};
use fanin_cc::schemes::hpcc::{
    Division, Flow, HEADER_OVERHEAD, Hpcc, MOST_N, Params, Precision, entries, fill, lookup, reciprocal,
};
use fanin_cc::{Ack, Action, Actions, Cx, IntFields, IntHop, PathInfo, Scheme, Sender, Telemetry};
use fanin_claims::strict;
use fanin_units::{NodeId, Rate, Time};

const MSS: u64 = PAYLOAD as u64;
/// 2^24 ns and 2^20 x 128 B: where the fields wrap.
const TIME_WRAP: u64 = 1 << 24;
const SENT_WRAP: u64 = 128 << 20;

fn hop(gbps: u64, ns: u64, sent: u64, queued: u64) -> IntHop {
    IntHop { rate: Rate::from_gbps(gbps), time: Time::from_ns(ns), sent, queued }
}

fn path(switches: &[u32], hops: &[IntHop]) -> Telemetry {
    let mut telemetry = Telemetry::default();
    switches.iter().zip(hops).for_each(|(switch, hop)| telemetry.push(NodeId(*switch), *hop));
    telemetry
}

/// A flow that receives ACKs at given times.
struct Bed {
    flow: Flow,
    params: Params,
    actions: Actions,
    acked: u64,
}

impl Bed {
    fn new(change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Hpcc::preset("hpcc");
        params.base_rtt = us(13);
        change(&mut params);
        let mut actions = Actions::default();
        let shared = &mut ();
        let mut cx = Cx::new(Time::ZERO, &params, shared, &mut actions);
        let line = Rate::from_gbps(400);
        let path = PathInfo { network_bdp: 1, ..PathInfo::new(line, us(12), PAYLOAD, WIRE) };
        let flow = Flow::open(&path, &mut cx);
        Self { flow, params, actions, acked: 0 }
    }

    fn wire() -> Self {
        Self::new(|p| p.telemetry = Precision::Wire)
    }

    /// U after an ACK for one more packet, none of which is an update of W_c but the first.
    fn ack(&mut self, now: Time, telemetry: &Telemetry) -> Option<f64> {
        self.acked += MSS;
        let ack = Ack {
            seq: self.acked,
            newly_acked: MSS,
            acked_to: self.acked,
            sent_to: 1_000_000 * MSS,
            in_flight: MSS,
            rtt: us(13),
            telemetry: Some(telemetry),
            ..Ack::default()
        };
        self.flow.on_ack(&ack, &mut Cx::new(now, &self.params, &mut (), &mut self.actions));
        self.flow.utilisation()
    }

    /// U of two records of one link, the second read `apart` later.
    fn pair(mut self, first: IntHop, second: IntHop, apart: Time) -> Option<f64> {
        assert_eq!(self.ack(us(1), &path(&[7], &[first])), None);
        self.ack(us(1) + apart, &path(&[7], &[second]))
    }
}

/// Layout, sizes and the bytes themselves are `wire`'s (`crates/wire/tests/int.rs`); here are the values of the fields.
#[test]
fn hpcc_fig7_int_format() {
    assert_eq!((HEADER_OVERHEAD.data, HEADER_OVERHEAD.ack, HEADER_OVERHEAD.telemetry), (42, 42, true));
    let of = |ns: u64, sent, queued| {
        let f = IntFields::of(&hop(100, ns, sent, queued), 1);
        (f.time, f.sent, f.queued)
    };
    assert_eq!(of(TIME_WRAP - 1, SENT_WRAP - 1, 79), (0xFF_FFFF, 0xF_FFFF, 0));
    assert_eq!(of(TIME_WRAP, SENT_WRAP, 80), (0, 0, 1));
    // A queue saturates at 5.24 MB and does not wrap.
    assert_eq!([5_242_799, 5_242_800, 5_242_880, 50_000_000].map(|q| of(0, 0, q).2), [65_534, 65_535, 65_535, 65_535]);

    // Differences over a wrap of either counter, at 100 and 400 Gb/s: 1,300 ns apart and half of the link used, from a
    // record before the wrap to one after it.
    for (gbps, bytes) in [(100, 8_064), (400, 32_512)] {
        for (ns, sent) in [(0, 0), (TIME_WRAP - 600, 5), (5, SENT_WRAP - 64), (3 * TIME_WRAP - 1, 9 * SENT_WRAP - 1)] {
            let (first, second) =
                (hop(gbps, ns, sent / 128 * 128, 0), hop(gbps, ns + 1300, sent / 128 * 128 + bytes, 0));
            let u = Bed::wire().pair(first, second, us(1)).unwrap();
            let expected = bytes as f64 * 8.0 / 1300.0 / gbps as f64;
            assert!((u - expected).abs() < 1e-12, "{gbps} Gb/s from {ns} ns, {sent} B: {u} {expected}");
        }
    }
    // How long a link needs for the wrap of its bytes; that of the time is 16.8 ms.
    let wrap = |gbps| Rate::from_gbps(gbps).tx_time(SENT_WRAP).as_secs_f64() * 1e3;
    assert!((wrap(100) - 10.7).abs() < 0.05 && (wrap(400) - 2.7).abs() < 0.05);
    // Longer without an ACK than `wire_gap`, and the next one is a first one; just as long, and it is not.
    let (first, second) = (hop(100, 0, 0, 0), hop(100, 2_000_000, 12_800_000, 0));
    assert_eq!(Bed::wire().pair(first, second, Time::from_ms(2)), Some(0.512));
    assert_eq!(Bed::wire().pair(first, second, Time::from_ms(2) + Time::from_ps(1)), None);
    assert_eq!(Bed::new(|_| ()).pair(first, second, Time::from_ms(9)), Some(0.512));

    // The error of txRate from one packet to the next at line rate (1,082 B: 86.56 ns): bytes to 128 B, times to 1 ns.
    let mut worst: f64 = 0.0;
    for start in 0..2000 {
        let first = IntHop { time: Time::from_ps(start * 86_560), sent: start * 1082, ..hop(100, 0, 0, 0) };
        let second = IntHop { time: Time::from_ps((start + 1) * 86_560), sent: (start + 1) * 1082, ..first };
        worst = worst.max((Bed::wire().pair(first, second, us(1)).unwrap() - 1.0).abs());
    }
    println!("txRate over the gap of one packet is wrong by up to {:.1} %", 100.0 * worst);
    assert!(worst < 128.0 / 1082.0 + 1.0 / 86.0, "{worst}");

    // Coarser units for faster links.
    let f = IntFields::of(&hop(400, 0, 512 * 5 + 511, 320 * 7 + 319), 4);
    assert_eq!((f.sent, f.queued), (5, 7));
    let bed = Bed::new(|p| (p.telemetry, p.wire_unit) = (Precision::Wire, 4));
    let u = bed.pair(hop(400, 0, 0, 6500), hop(400, 1280, 32_256, 32_500), us(1)).unwrap();
    // 6,400 B of queue (6,500 in units of 320 B) of 650,000 B, and 63 units in 1,280 ns.
    assert!((u - (6400.0 / 650_000.0 + 32_256.0 * 8.0 / 1280.0 / 400.0)).abs() < 1e-12, "{u}");
    let mut rows = fanin_claims::claim!("hpcc-fig7-int-format");
    rows.asserted(
        "bytes of five records, in data and ACK",
        "42",
        format!("{}, {}", HEADER_OVERHEAD.data, HEADER_OVERHEAD.ack),
    );
    rows.asserted("differences of times and bytes that are wrong across a wrap", "0", "0");
    rows.asserted("longest queue that the field can say", "5.24 MB", format!("{:.2} MB", 65_535.0 * 80.0 / 1e6));
    let ours = format!("{:.1} %", 100.0 * worst);
    rows.shown(
        "largest error of the rate over the gap of one packet",
        "-",
        ours,
        "its units",
        strict(worst < 128.0 / 1082.0 + 1.0 / 86.0),
    );
}

#[test]
fn a_rate_that_the_field_cannot_say_is_written_as_the_next_lower_one() {
    let said = |rate: Rate| IntFields::SPEEDS[IntFields::of(&IntHop { rate, ..IntHop::default() }, 1).speed as usize];
    for speed in &IntFields::SPEEDS[1..] {
        assert_eq!(said(*speed), *speed);
        assert_eq!(said(Rate::from_bps(speed.as_bps() + 1)), *speed);
    }
    assert!(IntFields::SPEEDS.is_sorted());
    assert_eq!(said(Rate::from_bps(3_333_333_333)), Rate::from_mbps(2_500));
    assert_eq!(said(Rate::from_gbps(99)), Rate::from_gbps(50));
    // Below all of them, the slowest: a link that is never there has no number.
    assert_eq!(said(Rate::from_mbps(1)), Rate::from_mbps(10));
    assert_eq!(said(Rate::from_gbps(10_000)), Rate::from_gbps(3_200));
    // So the sender thinks such a link fuller than it is, and holds it at eta of the lower rate.
    let link = |ns, sent| IntHop { rate: Rate::from_gbps(80), ..hop(1, ns, sent, 0) };
    assert_eq!(Bed::wire().pair(link(0, 0), link(1280, 12_800), us(1)), Some(80.0 / 50.0));
    assert_eq!(Bed::new(|_| ()).pair(link(0, 0), link(1280, 12_800), us(1)), Some(1.0));
}

#[test]
fn wire_and_exact_numbers_agree_within_their_units() {
    // Over T, where the units weigh least: 128 B and 80 B of 162,500 B, and 1 ns of 13 us.
    for i in 0..5000 {
        let (ps, sent, queued) = (i * 7_919_333, i * 104_729, i * 37 % 400_000);
        let first = IntHop { time: Time::from_ps(ps), ..hop(100, 0, sent, queued) };
        let second = IntHop {
            time: Time::from_ps(ps + 13_000_000),
            sent: sent + 162_500 - i * 13,
            queued: queued + i % 999,
            ..first
        };
        let exact = Bed::new(|_| ()).pair(first, second, us(13)).unwrap();
        let wire = Bed::wire().pair(first, second, us(13)).unwrap();
        let units = (128.0 + 80.0) / 162_500.0 + 1.0 / 13_000.0;
        assert!((exact - wire).abs() <= units, "{exact} {wire}");
    }
}

#[test]
fn hpcc_fig7_pathid() {
    for precision in [Precision::Exact, Precision::Wire] {
        let mut bed = Bed::new(|p| p.telemetry = precision);
        let link = |ns, sent, queued| hop(100, ns, sent, queued);
        let (a, b) = ([10, 20, 30], [10, 21, 30]);
        let old = [link(100_000, 9_000_000, 50_000); 3];
        let on =
            |hops: &[IntHop; 3], by: u64| hops.map(|h| link(h.time.as_ps() / 1000 + by, h.sent + 12 * by, h.queued));
        bed.ack(us(1), &path(&a, &old));
        bed.ack(us(2), &path(&a, &on(&old, 1300)));
        let (w, wc) = (bed.flow.window(), bed.flow.reference());
        assert!(w < wc && bed.flow.utilisation().is_some());
        // Another switch in the middle, whose clock and counter are behind: nothing is computed across. W and W_c stay.
        let new = [link(103_000, 9_030_000, 0), link(40_000, 77, 0), link(104_000, 9_040_000, 0)];
        assert_eq!(path(&b, &new).path(), 10 ^ 21 ^ 30);
        assert_eq!(bed.ack(us(3), &path(&b, &new)), None);
        assert_eq!((bed.flow.window(), bed.flow.reference()), (w, wc));
        assert_eq!(bed.actions.get(Action::PathChange), 1);
        // The next one of that path is compared with it, and with it alone.
        let u = bed.ack(us(4), &path(&b, &on(&new, 1300))).unwrap();
        assert!((u - 12.0 * 8.0 / 100.0).abs() < 0.01, "{u}");
        assert_eq!(bed.actions.get(Action::PathChange), 1);
        // A switch more is another path, although its number is 0 of 12 bits.
        let longer = path(&[10, 21, 30, 4096], &[new[0]; 4]);
        assert_eq!(longer.path(), path(&b, &new).path());
        assert_eq!(bed.ack(us(5), &longer), None);
        assert_eq!(bed.actions.get(Action::PathChange), 2);
    }
    // Two switches of a path replaced by two with the same XOR: the sender cannot see that. Of all pairs of different
    // paths over two of 64 switches, so many have the same number.
    let (mut alike, mut pairs) = (0, 0);
    let paths: Vec<(u32, u32)> = (0..64).flat_map(|x| (0..64).map(move |y| (x, y))).filter(|(x, y)| x != y).collect();
    for (i, p) in paths.iter().enumerate() {
        for q in &paths[..i] {
            pairs += 1;
            alike += (p.0 ^ p.1 == q.0 ^ q.1) as u32;
        }
    }
    println!("{alike} of {pairs} pairs of two-switch paths have one pathID");
    assert!((0.015..0.017).contains(&(alike as f64 / pairs as f64)), "{alike} of {pairs}");
    // And if it does happen, with a counter that went back, exact numbers are left out and U stays.
    let mut bed = Bed::new(|_| ());
    bed.ack(us(1), &path(&[1, 2], &[hop(100, 5000, 90_000, 0); 2]));
    assert_eq!(bed.ack(us(2), &path(&[2, 1], &[hop(100, 4000, 90_001, 0), hop(100, 6000, 80_000, 0)])), None);
    let mut rows = fanin_claims::claim!("hpcc-fig7-pathid");
    rows.asserted("rates computed across a change of path, and windows that change by it", "0, 0", "0, 0");
    let ours = format!("{:.1} %", 100.0 * alike as f64 / pairs as f64);
    rows.shown("pairs of paths over two of 64 switches with the same id", "-", ours, "-", strict(true));
}

#[test]
fn hpcc_sec43_division() {
    // Epsilon near 0.4 %, and at most 10 KB at 4 bytes each.
    const ENTRIES: usize = entries(4_200);
    let table: [f32; ENTRIES] = fill(4_200);
    assert_eq!((ENTRIES, size_of_val(&table)), (2_470, 9_880));
    assert_eq!((table[0] as f64, table[ENTRIES - 1]), (1.0 / MOST_N as f64, 1.0));
    assert!(table.is_sorted_by(|a, b| a < b));
    // n of 1 to 2^22, each one.
    let mut worst: f64 = 0.0;
    for n in 1..=MOST_N {
        worst = worst.max((lookup(&table, n) * n as f64 - 1.0).abs());
    }
    println!("{ENTRIES} entries, relative error at most {worst}");
    assert!(worst <= 0.0042, "{worst}");
    assert!(worst > 0.0040, "fewer entries would do");
    // Other epsilons: the error follows, and the number of entries is about ln(2^22 eps)/eps + 1/eps.
    const COARSE: usize = entries(40_000);
    let coarse: [f32; COARSE] = fill(40_000);
    assert!((1..=MOST_N).all(|n| (lookup(&coarse, n) * n as f64 - 1.0).abs() <= 0.04));
    assert!((320..=330).contains(&COARSE), "{COARSE}");

    // Its effect on W: at most half a percent wherever U/eta is between 1/20 and 256.
    let mut k = 0.05;
    while k < 256.0 {
        assert!((reciprocal(k) * k - 1.0).abs() <= 0.005, "{k}: {}", reciprocal(k));
        k *= 1.000_37;
    }
    // Beyond: the ends of the table.
    assert_eq!((reciprocal(0.0), reciprocal(1e9)), (16_384.0, 1.0 / 256.0));
    // And in the scheme.
    let w = |division| {
        let mut bed = Bed::new(|p| p.division = division);
        bed.ack(us(1), &path(&[1], &[hop(100, 0, 0, 700_000)]));
        bed.ack(us(14), &path(&[1], &[hop(100, 13_000, 162_500, 700_000)]));
        bed.flow.window()
    };
    let (exact, table_w) = (w(Division::Exact), w(Division::Table));
    assert!(exact < 200_000.0 && exact != table_w && (exact / table_w - 1.0).abs() <= 0.005, "{exact} {table_w}");
    let mut rows = fanin_claims::claim!("hpcc-sec43-division");
    let size = size_of_val(&table);
    rows.row("table, B", "10 KB", format!("{size}"), "at most 10,000", strict(size <= 10_000));
    rows.asserted("largest error of 1/n for n up to 2^22", "epsilon", format!("{:.2} %", 100.0 * worst));
    let off = 100.0 * (exact / table_w - 1.0).abs();
    rows.row("difference of W", "-", format!("{off:.2} %"), "at most 0.5 %", strict(off <= 0.5));
}
