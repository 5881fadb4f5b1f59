//! ExpressPass on a virtual clock, with numbers computed by hand. The line has 10 Gb/s, a full packet 1040 bytes and a
//! credit 84, so that C is 84/1124 of the line: a credit per 899.2 ns.

use crate::common::point::Point;
use crate::common::{PAYLOAD, WIRE, cases, data, nic, us};
use fanin_cc::schemes::expresspass::{Crediter, ExpressPass, Flow, Params, Place};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};
use proptest::prelude::*;

/// The receiver of a host with one flow, and what it has sent.
struct Host {
    crediter: Crediter,
    params: Params,
    place: Place,
    now: Time,
    actions: Actions,
    credits: Vec<(Time, u32, u32)>,
    acks: Vec<Time>,
    /// The number that data echoes next if none is lost.
    next: u32,
}

impl Host {
    fn new(id: &str, change: impl FnOnce(&mut Params)) -> Self {
        let mut params = ExpressPass::preset(id);
        params.jitter = 0.0;
        change(&mut params);
        ExpressPass::check(&params).unwrap();
        let crediter = Crediter::new(&params, &nic(10));
        let (place, actions) = (Place::default(), Actions::default());
        let (credits, acks) = (Vec::new(), Vec::new());
        let mut host = Self { crediter, params, place, now: us(1), actions, credits, acks, next: 0 };
        let info = FlowInfo::new(ReceiverFlow(0), MessageId(7), NodeId(1));
        host.with(|crediter, place, cx| crediter.on_open(&info, place, cx));
        host
    }

    fn with<T>(&mut self, hook: impl FnOnce(&mut Crediter, &mut Place, &mut Cx<'_, Params>) -> T) -> T {
        let mut shared = ();
        let mut cx = Cx::new(self.now, &self.params, &mut shared, &mut self.actions);
        let answer = hook(&mut self.crediter, &mut self.place, &mut cx);
        while let Some(emit) = self.crediter.poll_transmit(&mut cx) {
            match emit {
                Emit::Credit { number, wire, .. } => self.credits.push((self.now, number, wire)),
                Emit::Ack(..) => self.acks.push(self.now),
                Emit::Cnp(_) => panic!("it sends no CNPs"),
            }
        }
        answer
    }

    /// A sender asks with so many packets, or asks to stop with none.
    fn ask(&mut self, packets: u32) -> Option<AckFields> {
        let request = Data { cc_tag: packets, ..Data::default() };
        self.with(|crediter, place, cx| crediter.on_request(&request, place, cx))
    }

    fn at(&mut self, time: Time) -> &mut Self {
        while self.crediter.wake_at() <= time {
            self.now = self.crediter.wake_at();
            self.with(|crediter, _, cx| crediter.on_timer(0, cx));
        }
        self.now = time;
        self
    }

    /// Data comes back after so many credits were lost.
    fn echo(&mut self, lost: u32, end: bool) -> AckPlan {
        let packet = Data { cc_tag: self.next + lost, end, ..data(0, 1, false) };
        self.next += lost + 1;
        self.with(|crediter, place, cx| crediter.on_data(&packet, place, cx))
    }

    /// 50 us later the data of all credits has come back but for a share of the first ones, and a credit is sent. The
    /// share that was lost and the rate then, as a share of C.
    fn period(&mut self, lost: f64) -> (f64, f64) {
        self.at(self.now + us(50));
        let sent = self.credits.len() as u32 - self.next;
        let lost = (f64::from(sent) * lost) as u32;
        (0..sent - lost).for_each(|n| {
            self.echo(if n == 0 { lost } else { 0 }, false);
        });
        let next = self.crediter.wake_at();
        self.at(next);
        (f64::from(lost) / f64::from(sent), self.share())
    }

    /// The same without a loss.
    fn quiet(&mut self) -> f64 {
        self.period(0.0).1
    }

    fn share(&self) -> f64 {
        let mut share = 0.0;
        self.crediter.watch(&mut |name, value| {
            if name == "credit_rate_share" {
                share = value
            }
        });
        share
    }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn credits_begin_with_the_request_at_a_share_of_the_rate_and_are_numbered() {
    let mut host = Host::new("expresspass", |_| ());
    host.at(us(100));
    assert!(host.credits.is_empty(), "nothing before a request");
    assert_eq!(host.ask(1000), None);
    near(host.share(), 0.5);
    host.at(us(110));
    let times: Vec<u64> = host.credits.iter().map(|(at, ..)| at.as_ps() - 100_000_000).collect();
    // Half of C: 1,798.4 ns apart.
    assert_eq!(times[..4], [0, 1_798_400, 3_596_800, 5_395_200]);
    assert!(host.credits.iter().zip(0..).all(|((_, number, wire), n)| (*number, *wire) == (n, 84)));
    assert_eq!(host.actions.get(Action::CreditSent), host.credits.len() as u64);
    // A second request changes nothing.
    host.ask(5);
    assert_eq!(host.credits.len(), 6);
}

#[test]
fn without_much_loss_the_rate_rises_by_algorithm_1() {
    let mut host = Host::new("expresspass", |p| p.w_init = 0.25);
    host.ask(1000);
    // 0.75 * 0.5 + 0.25 * 1.1
    near(host.quiet(), 0.65);
    // w = (0.25 + 0.5) / 2: 0.625 * 0.65 + 0.375 * 1.1
    near(host.quiet(), 0.81875);
    // w = 0.4375, and a tenth lost is within the target: 0.5625 * 0.81875 + 0.4375 * 1.1
    let (loss, share) = host.period(0.1);
    assert!(loss > 0.05 && loss <= 0.1, "{loss}");
    near(share, 0.941796875);
    assert_eq!((host.actions.get(Action::Increase), host.actions.get(Action::Cut)), (3, 0));
}

#[test]
fn with_more_loss_it_falls_by_the_loss_and_w_halves() {
    let mut host = Host::new("expresspass", |_| ());
    host.ask(1000);
    let (loss, mut share) = host.period(0.3);
    assert!(loss > 0.25);
    near(share, 0.5 * (1.0 - loss) * 1.1);
    // After a fall w stays for one increase, at 0.25, and then rises to 0.375.
    for w in [0.25, 0.375] {
        let before = share;
        share = host.quiet();
        near(share, (1.0 - w) * before + w * 1.1);
    }
    // Halved again and again, but at least w_min.
    for _ in 0..8 {
        let before = share;
        let (loss, now) = host.period(0.2);
        share = now;
        near(share, before * (1.0 - loss) * 1.1);
    }
    near(host.quiet(), 0.99 * share + 0.01 * 1.1);
    assert_eq!((host.actions.get(Action::Cut), host.actions.get(Action::Increase)), (9, 3));
}

#[test]
fn it_updates_once_per_round_trip_in_which_data_came_back() {
    let mut host = Host::new("expresspass", |_| ());
    host.ask(1000);
    host.at(us(500));
    near(host.share(), 0.5);
    // The first credit, of 1 us, comes back at 7 us: that is the round-trip time, whatever the network's.
    let mut host = Host::new("expresspass", |_| ());
    host.ask(1000);
    host.at(us(7)).echo(0, false);
    let first = host.crediter.wake_at();
    host.at(first);
    near(host.share(), 0.8);
    // The credit of then is the next that measures it, and it comes back after 16 us. Until then nothing is known.
    let number = host.credits.last().unwrap().1;
    host.at(first + us(16));
    near(host.share(), 0.8);
    (host.next..=number).for_each(|_| {
        host.echo(0, false);
    });
    let second = host.crediter.wake_at();
    host.at(second);
    near(host.share(), 0.95);
    // 0.8 * 6 + 0.2 * 16 = 8 us until the next one, in which something has to come back.
    host.echo(0, false);
    host.at(second + us(8) - Time::from_ps(1));
    near(host.share(), 0.95);
    host.at(second + us(10));
    near(host.share(), 1.025);
    host.at(second + us(100));
    near(host.share(), 1.025);
}

#[test]
fn the_ns2_form_aims_at_less_loss_the_faster_it_is() {
    let mut host = Host::new("expresspass-ns2", |p| p.w_init = 0.25);
    host.ask(1000);
    // At r = C/2 the target is 0.0625, and a little less is lost. 0.25 + 0.75 * 0.5
    let (loss, share) = host.period(0.06);
    assert!(loss > 0.03, "{loss}");
    near(share, 0.625);
    // The target is 0.046875: the rate that came back in the time since the last update.
    let (before, sent) = (host.credits.last().unwrap().0, host.next);
    let (loss, fell) = host.period(0.06);
    assert!(loss > 0.046875 && loss < 0.0625, "{loss}");
    let elapsed = (host.credits.last().unwrap().0 - before).as_ps() as f64;
    let back = f64::from(host.next - sent) * (1.0 - loss);
    near(fell, back * 899_200.0 / elapsed * 1.046875);
    // w is 0.125, and stays for one increase; then it grows by 0.05.
    let once = host.quiet();
    near(once, 0.125 + 0.875 * fell);
    near(host.quiet(), 0.175 + 0.825 * once);
    // Never above C, and there any loss is too much.
    let mut share = 0.0;
    for _ in 0..200 {
        share = host.quiet();
    }
    assert!(share <= 1.0 && share > 1.0 - 1e-9, "{share}");
    let (loss, fell) = host.period(0.02);
    assert!(loss > 0.0 && fell < share, "{loss}: {fell}");
    // At least a credit per round trip.
    for _ in 0..50 {
        share = host.period(0.999).1;
    }
    assert!(share > 0.0 && host.crediter.wake_at() - host.now <= us(60), "{share}");
}

#[test]
fn in_the_ns2_form_a_message_of_a_few_packets_begins_slowly() {
    for (packets, share) in [(10, 0.125), (20, 0.25), (40, 0.5), (1000, 0.5)] {
        let mut host = Host::new("expresspass-ns2", |_| ());
        host.ask(packets);
        near(host.share(), share);
    }
}

#[test]
fn a_flow_has_a_credit_every_longest_gap() {
    let mut host = Host::new("expresspass", |_| ());
    host.ask(1000);
    for _ in 0..60 {
        host.at(host.now + us(500));
        host.period(0.999);
    }
    let (last, before) = (host.credits[host.credits.len() - 1].0, host.credits[host.credits.len() - 2].0);
    assert_eq!(last - before, us(100));
}

#[test]
fn a_round_trip_shorter_than_the_gap_of_two_credits_does_not_raise_the_rate_above_c() {
    for id in ["expresspass", "expresspass-ns2"] {
        let mut host = Host::new(id, |_| {});
        host.ask(1);
        // The first sample of the round-trip time: it is the least, 1 ns.
        host.echo(0, true);
        host.ask(0);
        host.ask(1);
        let (share, most) = (host.share(), 1.0 + host.params.target_loss);
        assert!(share <= most + 1e-9, "{id}: {share} of C, and at most {most}");
    }
}

#[test]
fn gaps_and_sizes_are_random_within_their_bounds() {
    let mut host = Host::new("expresspass", |p| {
        (p.jitter, p.credit_least, p.credit_most) = (0.1, 76, 92);
    });
    host.ask(1000);
    host.at(Time::from_ms(20));
    let gaps: Vec<u64> = host.credits.windows(2).map(|two| (two[1].0 - two[0].0).as_ps()).collect();
    let (least, most) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
    assert!((1_618_000..1_630_000).contains(&least) && (1_966_000..1_979_000).contains(&most), "{least} to {most}");
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    assert!((1_788_000..1_808_000).contains(&mean), "{mean}");
    let sizes: std::collections::BTreeSet<u32> = host.credits.iter().map(|(.., wire)| *wire).collect();
    assert!(sizes.iter().copied().eq(76..=92), "{sizes:?}");
}

#[test]
fn a_stop_ends_the_credits_and_the_next_request_begins_anew() {
    let mut host = Host::new("expresspass", |_| ());
    host.ask(1000);
    host.quiet();
    // Most of the next credits are never used.
    host.at(host.now + us(100));
    host.echo(0, false);
    host.echo(0, false);
    let sent = host.credits.len();
    // The ACK that was held goes out with the stop.
    assert!(host.ask(0).is_some());
    host.at(Time::from_ms(10));
    assert_eq!(host.credits.len(), sent);
    assert_eq!(host.ask(0), None);
    host.ask(1000);
    near(host.share(), 0.5);
    // The credits of before that nobody used are not lost ones.
    host.next = host.credits.last().unwrap().1;
    host.at(host.now + us(50));
    near(host.quiet(), 0.8);
}

#[test]
fn it_acknowledges_once_per_round_trip_and_the_end_at_once() {
    let mut host = Host::new("expresspass", |_| ());
    host.ask(1000);
    host.at(us(11));
    assert!(host.echo(0, false).now.is_some(), "the first");
    assert!(host.echo(0, false).now.is_none() && host.acks.is_empty(), "held");
    // With the first credit after a round trip of 10 us.
    host.at(us(25));
    assert!(host.acks.len() == 1 && host.acks[0] >= us(21) && host.acks[0] < us(23), "{:?}", host.acks);
    assert!(host.echo(0, true).now.is_some(), "an end");
    let duplicate = Data { in_order: false, cc_tag: host.next, ..data(0, 1, false) };
    assert!(host.with(|crediter, place, cx| crediter.on_data(&duplicate, place, cx)).now.is_some());
    // A request that begins before what has arrived shows that an ACK was lost.
    let request = Data { cc_tag: 3, seq: 0, acked_to: 1000, ..Data::default() };
    assert!(host.with(|crediter, place, cx| crediter.on_request(&request, place, cx)).is_some());
}

/// A sender, on a path of 10 us.
fn sender(id: &str, change: impl FnOnce(&mut Params)) -> Point<Flow> {
    let mut params = ExpressPass::preset(id);
    change(&mut params);
    Point::new(params, 10, 0)
}

fn poll(point: &mut Point<Flow>, packets: u64) -> Option<u32> {
    let mut request = None;
    point.hook(|flow, cx| request = flow.poll_request(packets * PAYLOAD as u64, cx));
    request
}

fn credit(point: &mut Point<Flow>, number: u32) -> bool {
    point.hook(|flow, cx| flow.on_notice(Notice::Credit(number), cx));
    point.control().rate > Rate::ZERO
}

/// Sends a packet, behind which so many are left. The number that it carries.
fn send(point: &mut Point<Flow>, left: u64) -> u32 {
    let mut tag = 0;
    let sent = Sent { left: left * PAYLOAD as u64, ..Sent::new(WIRE, PAYLOAD, 0) };
    point.hook(|flow, cx| tag = flow.on_send(&sent, cx));
    tag
}

#[test]
fn a_sender_asks_and_sends_a_packet_per_credit_with_its_number() {
    let mut f = sender("expresspass", |_| ());
    assert_eq!(f.control().rate, Rate::ZERO);
    assert_eq!((poll(&mut f, 3), poll(&mut f, 3)), (Some(3), None));
    assert!(credit(&mut f, 17) && credit(&mut f, 19));
    assert_eq!((send(&mut f, 2), f.control().rate), (17, Rate::from_gbps(10)));
    assert_eq!((send(&mut f, 1), f.control().rate), (19, Rate::ZERO));
    assert!(credit(&mut f, 20) && credit(&mut f, 21));
    assert_eq!(send(&mut f, 0), 20);
    // Nothing is left: what is not used is gone, and the stop follows the last packet of 832 ns.
    assert_eq!((f.control().rate, f.control().wake_at), (Rate::ZERO, Time::from_ns(832)));
    assert_eq!(poll(&mut f, 0), None);
    assert_eq!(poll(f.at(us(1)), 0), Some(0));
    assert!(!credit(&mut f, 22));
    assert_eq!(poll(&mut f, 0), None);
    let counts = [Action::CreditRequest, Action::CreditStop, Action::CreditWasted].map(|action| f.count(action));
    assert_eq!(counts, [1, 1, 1]);
    // What is posted later, or lost, needs new credits.
    assert_eq!(poll(&mut f, 2), Some(2));
}

#[test]
fn a_request_is_repeated_after_its_timeout_and_then_less_often() {
    let mut f = sender("expresspass", |_| ());
    poll(&mut f, 3);
    let mut times = Vec::new();
    for us_now in 0..200_000 {
        if f.control().wake_at <= us(us_now) && poll(f.at(us(us_now)), 3).is_some() {
            times.push(us_now / 1000);
        }
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 127, 191]);
    // A credit ends that, and its absence brings it back.
    credit(&mut f, 1);
    send(&mut f, 2);
    let now = f.now;
    assert_eq!(poll(f.at(now + us(999)), 2), None);
    assert_eq!(poll(f.at(now + us(1000)), 2), Some(2));
}

#[test]
fn credits_that_still_come_long_after_a_stop_are_answered_by_another() {
    let mut f = sender("expresspass", |_| ());
    poll(&mut f, 1);
    credit(&mut f, 1);
    send(&mut f, 0);
    assert_eq!(poll(f.at(us(1)), 0), Some(0));
    credit(f.at(us(1999)), 2);
    assert_eq!(poll(&mut f, 0), None);
    credit(f.at(us(2001)), 3);
    assert_eq!(poll(&mut f, 0), Some(0));
    assert_eq!(poll(&mut f, 0), None);
}

#[test]
fn the_ns2_form_stops_early_and_asks_again_if_that_was_too_early() {
    let mut f = sender("expresspass-ns2", |_| ());
    assert_eq!(poll(&mut f, 20), Some(20));
    for n in 0..10 {
        credit(f.at(us(n)), n as u32);
        send(&mut f, 19 - n);
        assert_eq!(poll(&mut f, 19 - n), None);
    }
    // After a round trip of 10 us: 11 credits are less than twice the 10 packets left.
    credit(f.at(us(10)), 10);
    assert_eq!(poll(&mut f, 10), None);
    for n in 10..18 {
        send(&mut f, 19 - n);
        credit(f.at(us(n + 1)), n as u32 + 1);
        assert_eq!(poll(&mut f, 19 - n), None);
    }
    // 10 credits later 2 packets are left: that is enough.
    credit(f.at(us(20)), 19);
    assert_eq!(poll(&mut f, 2), Some(0));
    // Credits under way are used.
    assert_eq!(send(&mut f, 1), 18);
    // Two round trips later one is still missing.
    f.flow.clone_from(&{
        let mut flow = f.flow.clone();
        flow.on_send(
            &Sent { left: PAYLOAD as u64, ..Sent::new(WIRE, PAYLOAD, 0) },
            &mut Cx::new(f.now, &f.params, &mut (), &mut Actions::default()),
        );
        flow
    });
    assert_eq!(poll(f.at(us(39)), 1), None);
    assert_eq!(poll(f.at(us(40)), 1), Some(1));
}

#[test]
fn impossible_parameters_are_refused() {
    type Change = fn(&mut Params);
    let broken: [(&str, Change); 8] = [
        ("target_loss", |p| p.target_loss = 0.0),
        ("initial_rate", |p| p.initial_rate = 1.1),
        ("w_min", |p| p.w_min = 0.6),
        ("w_init", |p| p.w_init = 0.6),
        ("jitter", |p| p.jitter = 1.0),
        ("credit_most", |p| p.credit_most = 83),
        ("credit_queue", |p| p.credit_queue = 83),
        ("request_timeout", |p| p.request_timeout = Time::ZERO),
    ];
    for (name, change) in broken {
        let mut params = ExpressPass::preset("expresspass");
        change(&mut params);
        assert!(ExpressPass::check(&params).unwrap_err().starts_with(name), "{name}");
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Whatever comes back, the rate stays between its bounds and the next credit comes.
    #[test]
    fn the_rate_stays_within_its_bounds(
        id in prop::sample::select(vec!["expresspass", "expresspass-ns2"]),
        periods in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.0f64], 1..60),
    ) {
        let mut host = Host::new(id, |p| p.jitter = 0.1);
        host.ask(1000);
        for lost in periods {
            let share = host.period(lost).1;
            prop_assert!(share > 0.0 && share <= 1.125, "{}", share);
            prop_assert!(host.crediter.wake_at() > host.now);
            prop_assert!(host.crediter.wake_at() <= host.now + us(111), "{}", host.crediter.wake_at());
        }
    }
}
