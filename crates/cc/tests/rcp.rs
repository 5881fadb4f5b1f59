//! RCP on a virtual clock, with numbers computed by hand. A port has 10 Gb/s: 1.25e9 bytes per second.

use crate::common::point::{G, Point};
use crate::common::us;
use fanin_cc::schemes::dcqcn::RateOrShare;
use fanin_cc::schemes::rcp::{Flow, Params, Rcp, Router};
use fanin_cc::*;
use fanin_units::{NodeId, Rate, Time};

/// One port, its clock at the end of its first interval: d is 20 us, R is 5 % of the link.
struct Port {
    router: Router,
    params: Params,
    now: Time,
    queued: u64,
}

impl Port {
    fn new(change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Rcp::preset("rcp");
        change(&mut params);
        Rcp::check(&params).unwrap();
        let ports = [PortView::new(Rate::from_gbps(10))];
        let info = SwitchInfo { seed: 7, network_rtt: us(20), ..SwitchInfo::new(NodeId(3), &ports) };
        let router = Router::new(&params, &info);
        Self { router, params, now: Time::ZERO, queued: 0 }
    }

    fn with<T>(&mut self, hook: impl FnOnce(&mut Router, &mut Cx<'_, Params>) -> T) -> T {
        hook(&mut self.router, &mut Cx::new(self.now, &self.params, &mut (), &mut Actions::default()))
    }

    fn view(&self) -> PortView {
        PortView { queued: self.queued, ..PortView::new(Rate::from_gbps(10)) }
    }

    /// A packet of this scheme that tells a round-trip time.
    fn arrives(&mut self, wire: u16, rtt: Time) {
        let mut head = Header { wire, cc_tag: (rtt.as_ps() / 1000) as u32, ..Header::default() };
        let view = self.view();
        let mut at = Queued { port: 0, view, packet: &mut head, own: true };
        assert_eq!(self.with(|router, cx| router.on_enqueue(&mut at, cx)), Verdict::Admit);
    }

    /// The rate that a packet leaves with, in kb/s, that came with one.
    fn leaves(&mut self, rate: u32, own: bool) -> u32 {
        let mut head = Header { cc_feedback: rate, ..Header::default() };
        let view = self.view();
        let mut at = Queued { port: 0, view, packet: &mut head, own };
        self.with(|router, cx| router.on_dequeue(&mut at, cx));
        head.cc_feedback
    }

    /// Runs the interval that ends next, with this many bytes in the queue at its end.
    fn interval(&mut self, queued: u64) {
        self.now = self.router.wake_at();
        self.queued = queued;
        let views = vec![self.view()];
        self.with(|router, cx| router.on_timer(&views, cx));
    }
}

#[test]
fn packets_leave_with_the_lower_rate() {
    let mut port = Port::new(|_| ());
    // 5 % of 10 Gb/s; 0 is any.
    assert_eq!(
        [port.leaves(0, true), port.leaves(400_000, true), port.leaves(600_000, true)],
        [500_000, 400_000, 500_000]
    );
    assert_eq!(port.leaves(0, false), 0, "what belongs to other schemes stays as it is");
}

#[test]
fn the_first_interval_is_random_and_the_next_ones_are_d() {
    let mut port = Port::new(|_| ());
    let first = port.router.wake_at();
    assert!(first >= us(12) && first <= us(28), "{first}");
    port.arrives(1000, Time::ZERO);
    port.interval(0);
    assert_eq!(port.router.wake_at(), first + us(20));
    // At most the longest interval.
    let mut port = Port::new(|p| p.most_interval = us(5));
    port.interval(0);
    assert_eq!(port.router.wake_at(), port.now + us(5));
}

#[test]
fn the_rate_follows_the_spare_capacity_and_the_queue() {
    let mut port = Port::new(|_| ());
    port.interval(0);
    let start = port.leaves(0, true) as f64;
    // 5,000 of 25,000 bytes in 20 us: R (1 + 0.4 * 0.8). The packets tell no round-trip time, so d stays.
    (0..5).for_each(|_| port.arrives(1000, Time::ZERO));
    port.interval(0);
    let spare = port.leaves(0, true) as f64;
    assert!((spare / start - 1.32).abs() < 1e-5, "{}", spare / start);
    // All of the link, and 10,000 bytes in the queue: R (1 - 0.4 * 10,000 / 25,000).
    (0..25).for_each(|_| port.arrives(1000, Time::ZERO));
    port.interval(10_000);
    let queue = port.leaves(0, true) as f64;
    assert!((queue / spare - 0.84).abs() < 1e-5, "{}", queue / spare);
    // Nothing arrives: R (1 + 0.4), until the link is the bound.
    port.interval(0);
    assert!((port.leaves(0, true) as f64 / queue - 1.4).abs() < 1e-5);
    (0..20).for_each(|_| {
        if port.router.wake_at() < Time::NEVER {
            port.interval(0);
        }
    });
    assert_eq!(port.leaves(0, true), 10_000_000);
    // Then nothing can change, and no timer runs, until something arrives.
    assert_eq!(port.router.wake_at(), Time::NEVER);
    port.now += us(1000);
    port.arrives(1000, Time::ZERO);
    assert_eq!(port.router.wake_at(), port.now + us(20));
    // A queue that stays forces it down to 0.01 packets of 1000 bytes per d: 10 B in 20 us are 4 Mb/s.
    (0..100).for_each(|_| port.interval(1_000_000));
    assert_eq!(port.leaves(0, true), 4_000);
}

#[test]
fn d_rises_fast_and_falls_slowly() {
    let mut port = Port::new(|p| p.most_interval = us(10));
    port.interval(0);
    // Weighted by bytes: (3 * 50 + 1 * 10) / 4 = 40 us; gain T/d = 1/2: d = 30 us. No queue, y = 0.4 of 10 us' worth.
    port.arrives(3000, us(50));
    port.arrives(1000, us(10));
    let before = port.leaves(0, true) as f64;
    port.interval(0);
    // The new d counts: T/d = 1/3, y = 4000/12,500: 1 + 0.4 (1 - 0.32) / 3.
    let ratio = port.leaves(0, true) as f64 / before;
    assert!((ratio - (1.0 + 0.4 * 0.68 / 3.0)).abs() < 1e-5, "{ratio}");
    // Down to 15 us: gain (R/C) (15/30) (10/30).
    let share = port.leaves(0, true) as f64 / 10e6;
    let d = 30.0 + share * 0.5 / 3.0 * (15.0 - 30.0);
    port.arrives(1000, us(15));
    let before = port.leaves(0, true) as f64;
    port.interval(0);
    let ratio = port.leaves(0, true) as f64 / before;
    assert!((ratio - (1.0 + 10.0 / d * 0.4 * 0.92)).abs() < 1e-5, "{ratio}");
}

#[test]
fn of_a_packet_that_ends_after_the_interval_the_rest_counts_for_the_next() {
    let mut port = Port::new(|_| ());
    port.interval(0);
    let start = port.leaves(0, true) as f64;
    // 5 us before the end 10,000 bytes arrive, which take 8 us: 6,250 count now, 3,750 for the next.
    port.now += us(15);
    port.arrives(10_000, Time::ZERO);
    port.interval(0);
    let now = port.leaves(0, true) as f64;
    assert!((now / start - (1.0 + 0.4 * 0.75)).abs() < 1e-5, "{}", now / start);
    port.interval(0);
    let next = port.leaves(0, true) as f64;
    assert!((next / now - (1.0 + 0.4 * 0.85)).abs() < 1e-5, "{}", next / now);
}

/// A flow whose idle path has 10 us.
fn flow() -> Point<Flow> {
    Point::new(Rcp::preset("rcp"), 10, 25_000)
}

fn ask(flow: &mut Point<Flow>) -> Option<u32> {
    let mut asked = None;
    flow.hook(|flow, cx| asked = flow.poll_request(1, cx));
    asked
}

fn told(flow: &mut Point<Flow>, kbps: u32, rtt: Time) {
    let ack = Ack { cc_feedback: kbps, rtt, ..Ack::default() };
    flow.hook(|flow, cx| flow.on_ack(&ack, cx));
}

#[test]
fn it_asks_first_and_again_until_it_is_told_a_rate() {
    let mut f = flow();
    assert_eq!((ask(&mut f), ask(&mut f), f.rate()), (Some(0), None, 0));
    f.at(us(20));
    assert_eq!((ask(&mut f), ask(&mut f), f.rate()), (Some(0), None, 0));
    // Twice as long each time.
    assert_eq!(f.control().wake_at, us(60));
    told(&mut f, 5_000_000, us(12));
    assert_eq!((f.rate(), f.control().retime, f.control().wake_at), (5 * G, true, Time::NEVER));
    // Packets tell the round-trip time from then on.
    let mut tag = 0;
    f.hook(|flow, cx| tag = flow.on_send(&Sent::new(1040, 1000, 1000), cx));
    assert_eq!(tag, 12_000);
    assert_eq!((f.count(Action::Cut), f.count(Action::Increase)), (0, 0), "the first rate is no change");
    told(&mut f, 4_000_000, us(12));
    told(&mut f, 6_000_000, us(12));
    told(&mut f, 0, us(12));
    assert_eq!((f.rate(), f.count(Action::Cut), f.count(Action::Increase)), (6 * G, 1, 1));
}

#[test]
fn a_slow_flow_asks_between_its_packets() {
    let mut f = flow();
    ask(&mut f);
    f.now = us(10);
    // 1040 bytes at 500 Mb/s: 16.6 us.
    told(&mut f, 500_000, us(10));
    assert_eq!(f.control().wake_at, us(20));
    f.at(us(20));
    assert_eq!((ask(&mut f), f.control().wake_at), (Some(10_000), us(40)));
    f.at(us(40));
    assert_eq!((ask(&mut f), f.control().wake_at), (Some(10_000), us(80)));
    // An answer, even with the same rate, ends that.
    f.now = us(50);
    told(&mut f, 500_000, us(10));
    assert_eq!(f.control().wake_at, us(60));
    f.at(us(60));
    assert_eq!((ask(&mut f), f.control().wake_at), (Some(10_000), us(80)));
    // At 20 Mb/s it takes 416 us: a request in each quarter of it.
    told(&mut f, 20_000, us(10));
    assert_eq!(f.control().wake_at, us(60) + us(104));
    // At 1 Gb/s a packet takes 8.3 us, and its own ACK brings news soon enough.
    told(&mut f, 1_000_000, us(10));
    assert_eq!(f.control().wake_at, Time::NEVER);
}

#[test]
fn the_receiver_returns_the_rate_of_data_and_of_requests() {
    let params = Params { initial_rate: RateOrShare::Share(0.5), ..Rcp::preset("rcp") };
    let mut pool: Pool<Rcp> = Pool::new(params);
    pool.add_host(&crate::common::nic(10));
    pool.receiver_open(0, us(1), &FlowInfo::new(ReceiverFlow(0), fanin_units::MessageId(0), NodeId(1)));
    let data = Data { cc_feedback: 77, ..crate::common::data(0, 0, true) };
    let fields = pool.receiver_data(0, us(1), &data).now.expect("an ACK is due");
    assert_eq!((fields.cc_feedback, fields.ecn_echo), (77, false));
    assert_eq!(pool.receiver_data(0, us(1), &Data { ack_due: false, ..data }), AckPlan::default());
    assert_eq!(pool.receiver_request(0, us(1), &data).map(|fields| fields.cc_feedback), Some(77));
}
