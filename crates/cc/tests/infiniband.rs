//! InfiniBand's congestion control on a virtual clock, with numbers computed by hand.

use fanin_cc::schemes::infiniband::{Becn, Cct, Flow, InfiniBand, Marker, Notifier, Params, Scope, Shifted, Source};
use fanin_cc::*;
use fanin_units::{Bytes, NodeId, Rate, Time};

/// A unit of the timer.
const UNIT: Time = Time::from_ns(1024);

fn preset(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = InfiniBand::preset("infiniband");
    change(&mut params);
    InfiniBand::check(&params).unwrap();
    params
}

/// Two flows of a host at 10 Gb/s, with what they share and a clock.
struct Host {
    flows: Vec<Flow>,
    params: Params,
    shared: Source,
    now: Time,
    actions: Actions,
    told: bool,
}

impl Host {
    fn new(change: impl FnOnce(&mut Params)) -> Self {
        let (params, shared) = (preset(change), Source::default());
        let mut host =
            Self { flows: vec![], params, shared, now: Time::ZERO, actions: Actions::default(), told: false };
        host.open();
        host.open();
        host
    }

    fn open(&mut self) {
        let path = PathInfo::new(Rate::from_gbps(10), Time::from_us(10), 1460, 1500);
        let mut cx = Cx::new(self.now, &self.params, &mut self.shared, &mut self.actions);
        self.flows.push(Flow::open(&path, &mut cx));
    }

    fn with<T>(&mut self, flow: usize, hook: impl FnOnce(&mut Flow, &mut Cx<'_, Params, Source>) -> T) -> T {
        let mut cx = Cx::new(self.now, &self.params, &mut self.shared, &mut self.actions);
        let result = hook(&mut self.flows[flow], &mut cx);
        self.told |= cx.shared_changed;
        result
    }

    fn control(&mut self, flow: usize) -> Control {
        self.with(flow, |flow, cx| flow.control(cx))
    }

    /// An ACK with a BECN.
    fn becn(&mut self, flow: usize) {
        self.with(flow, |flow, cx| flow.on_ack(&Ack { ecn_echo: true, ..Ack::default() }, cx));
    }

    /// Goes to `t` by the timers of a flow.
    fn at(&mut self, flow: usize, t: Time) {
        while self.control(flow).wake_at <= t {
            self.now = self.control(flow).wake_at;
            self.with(flow, |flow, cx| flow.on_timer(cx));
        }
        self.now = t;
    }

    /// How long nothing may leave after a packet of 1,500 bytes, its own 1.2 us included.
    fn gap(&mut self, flow: usize) -> Time {
        self.with(flow, |flow, cx| flow.on_send(&Sent::new(1500, 1460, 1460), cx));
        self.control(flow).not_before.saturating_sub(self.now)
    }
}

#[test]
fn a_becn_takes_a_step_up_and_only_the_timer_takes_one_down() {
    let mut host = Host::new(|_| ());
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (0, Time::NEVER), "the timer is idle");
    host.becn(0);
    let first = UNIT.saturating_mul(150);
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (1, first));
    // The second one does not restart it.
    host.now = Time::from_us(100);
    host.becn(0);
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (2, first));
    // ACKs without a BECN, losses and timeouts are nothing.
    host.with(0, |flow, cx| {
        flow.on_ack(&Ack { newly_acked: 100_000, ..Ack::default() }, cx);
        flow.on_loss(&Loss::new(0, 1000), cx);
        flow.on_timeout(&Loss::new(0, 1000), cx);
    });
    assert_eq!(host.flows[0].ccti(), 2);
    host.at(0, first);
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (1, first + first));
    host.at(0, first + first);
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (0, Time::NEVER));
    assert_eq!([Action::Cut, Action::Increase].map(|a| host.actions.get(a)), [2, 2]);
    assert_eq!(host.flows[1].ccti(), 0, "each queue pair has its own");
}

#[test]
fn steps_down_that_are_due_come_before_a_step_up() {
    let mut host = Host::new(|_| ());
    host.becn(0);
    host.becn(0);
    // The timer was due twice, and has not been called yet.
    host.now = UNIT.saturating_mul(310);
    host.becn(0);
    // Down to 0, where the timer stops; then up, and it starts anew.
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (1, UNIT.saturating_mul(310 + 150)));
    assert_eq!([Action::Cut, Action::Increase].map(|a| host.actions.get(a)), [3, 2]);
}

#[test]
fn the_index_stays_between_its_bounds() {
    let mut host = Host::new(|p| (p.ccti_increase, p.ccti_limit, p.ccti_min) = (5, 12, 3));
    for expected in [8, 12, 12] {
        host.becn(0);
        assert_eq!(host.flows[0].ccti(), expected);
    }
    assert_eq!(host.actions.get(Action::Cut), 2, "what changes nothing is none");
    let falls = UNIT.saturating_mul(150 * 9);
    host.at(0, falls - Time::from_ps(1));
    assert_eq!(host.flows[0].ccti(), 4);
    host.at(0, falls);
    assert_eq!((host.flows[0].ccti(), host.control(0).wake_at), (3, Time::NEVER));
}

#[test]
fn tables_are_those_of_the_study() {
    // Entries as the study's generator computes them: floor(7 i^2 / 95^2 / 0.218), shift 0.
    let mellanox = InfiniBand::preset("infiniband-mellanox");
    assert_eq!([0, 16, 17, 24, 64, 95, 127].map(|i| mellanox.multiplier(i)), [0, 0, 1, 2, 14, 32, 57]);
    // floor(7 i^2 / 106^2 / 0.218), shift 3.
    let simula = InfiniBand::preset("infiniband-simula");
    assert_eq!([18, 19, 106, 127].map(|i| simula.multiplier(i)), [0, 1, 32, 46]);
    assert_eq!((mellanox.cct_shift, simula.cct_shift), (0, 3));
    let gran = InfiniBand::preset("infiniband-gran");
    assert_eq!([0, 1, 64, 127].map(|i| gran.multiplier(i)), [0, 1, 64, 127]);
    // 14 bits.
    let most = Params { cct_base: 0.001, ..mellanox };
    assert_eq!(most.multiplier(127), 16_383);
}

#[test]
fn a_gap_follows_each_packet_and_sets_the_rate() {
    // A linear table: index 1 waits once the packet's time, 3 three times.
    let mut host = Host::new(|p| p.cct = Cct::Linear);
    let packet = Time::from_ns(1200);
    assert_eq!(host.gap(0), Time::ZERO, "at index 0 the line alone is the limit");
    host.becn(0);
    assert_eq!(host.gap(0), packet.saturating_mul(2));
    host.becn(0);
    assert_eq!(host.control(0).not_before, packet.saturating_mul(2), "a gap that runs stays as it is");
    host.becn(0);
    host.now = Time::from_us(5);
    assert_eq!(host.gap(0), packet.saturating_mul(4), "a quarter of the rate");
    assert_eq!(host.gap(1), Time::ZERO);
    assert_eq!(host.control(0).rate, Rate::from_gbps(10), "gaps, and no pacing");
    // The shift: of the multiplier, 5 >> 1 is 2; of the time, half of it five times.
    let mut params = preset(|p| (p.cct, p.cct_shift) = (Cct::Linear, 1));
    assert_eq!(params.gap(5, packet), packet.saturating_mul(2));
    params.shifted = Shifted::Time;
    assert_eq!(params.gap(5, packet), Time::from_ns(600 * 5));
}

#[test]
fn a_service_level_shares_index_timer_and_gap() {
    let mut host = Host::new(|p| (p.scope, p.cct) = (Scope::ServiceLevel, Cct::Linear));
    assert_eq!(InfiniBand::sharing(&host.params), Sharing::Host);
    host.told = false;
    host.becn(0);
    assert!(host.told, "the other flows of the host learn of it");
    let first = UNIT.saturating_mul(150);
    assert_eq!([0, 1].map(|flow| host.control(flow).wake_at), [first; 2]);
    assert_eq!(host.gap(1), Time::from_ns(2400));
    assert_eq!(host.control(0).not_before, Time::from_ns(2400), "its gap is behind the packets of all");
    host.becn(1);
    // Both timers fire at one time, for one step.
    host.now = first;
    host.with(0, |flow, cx| flow.on_timer(cx));
    host.with(1, |flow, cx| flow.on_timer(cx));
    assert_eq!(host.control(0).wake_at, first + first);
    // Without flows it falls all the same, as the next one finds.
    host.now = first.saturating_mul(5);
    host.open();
    assert_eq!(host.control(2).wake_at, Time::NEVER);
    assert_eq!(InfiniBand::sharing(&InfiniBand::preset("infiniband")), Sharing::Nothing);
}

#[test]
fn receivers_answer_marks_on_acks_or_with_notices() {
    let data = |ce, ack_due| Data { ce, ack_due, ..Data::default() };
    let nic = NicInfo::new(Rate::from_gbps(10), Time::from_us(10), 1460, 1500);
    let (mut params, mut actions) = (preset(|_| ()), Actions::default());
    let (mut notifier, mut marked) = (Notifier::new(&params, &nic), false);
    let mut acks = |packets: &[Data], marked: &mut bool, params: &Params| {
        let mut nothing = ();
        let mut cx = Cx::new(Time::ZERO, params, &mut nothing, &mut actions);
        let of = |data: &Data| notifier.on_data(data, marked, &mut cx).now.map(|ack| ack.ecn_echo);
        let acks: Vec<_> = packets.iter().map(of).collect();
        (acks, notifier.poll_transmit(&mut cx))
    };
    let packets = [data(false, true), data(true, true), data(false, true), data(true, false), data(false, true)];
    let (echoes, notice) = acks(&packets, &mut marked, &params);
    assert_eq!(echoes, [Some(false), Some(true), Some(false), None, Some(true)], "one BECN per marked packet");
    assert_eq!(notice, None);
    params.becn = Becn::Cnp;
    let (echoes, notice) = acks(&packets[..2], &mut marked, &params);
    assert_eq!((echoes, notice), (vec![Some(false); 2], Some(Emit::Cnp(ReceiverFlow(0)))));
    // A notice is a BECN.
    let mut host = Host::new(|p| p.becn = Becn::Cnp);
    host.with(0, |flow, cx| flow.on_notice(Notice::Cnp, cx));
    assert_eq!(host.flows[0].ccti(), 1);
}

/// The queue of class 1 at a port with a buffer of 16,000 bytes, of packets of 1,000.
struct Port {
    marker: Marker,
    params: Params,
    lane: LaneView,
    to_switch: bool,
}

impl Port {
    fn new(change: impl FnOnce(&mut Params)) -> Self {
        // Every packet, from half of the buffer on, and not at hosts.
        let params = preset(|p| {
            (p.marking_rate, p.threshold) = (0, 8);
            change(p);
        });
        let ports = [PortView::new(Rate::from_gbps(10)); 2];
        let marker = Marker::new(&params, &SwitchInfo { seed: 5, ..SwitchInfo::new(NodeId(0), &ports) });
        Self { marker, params, lane: LaneView { buffer: 16_000, ..LaneView::NONE }, to_switch: true }
    }

    fn hook<T>(
        &mut self,
        head: &mut Header,
        own: bool,
        hook: impl FnOnce(&mut Marker, &mut Queued<'_>, &Params) -> T,
    ) -> T {
        let view = PortView { lane: self.lane, to_switch: self.to_switch, ..PortView::new(Rate::from_gbps(10)) };
        hook(&mut self.marker, &mut Queued { port: 1, view, packet: head, own }, &self.params)
    }

    fn joins(&mut self, packets: u64) {
        for _ in 0..packets {
            let mut head = Header { wire: 1000, payload: 960, class: 1, ..Header::default() };
            self.hook(&mut head, true, |marker, at, params| {
                marker.on_enqueue(at, &mut Cx::new(Time::ZERO, params, &mut (), &mut Actions::default()));
            });
            self.lane.queued += 1000;
        }
    }

    /// Whether the packet that leaves next gets a mark.
    fn leaves_as(&mut self, own: bool) -> bool {
        self.lane.queued -= 1000;
        let mut head = Header { wire: 1000, payload: 960, class: 1, ..Header::default() };
        self.hook(&mut head, own, |marker, at, params| {
            marker.on_dequeue(at, &mut Cx::new(Time::ZERO, params, &mut (), &mut Actions::default()));
        });
        head.has(flags::CE)
    }

    fn leave(&mut self, packets: usize) -> Vec<bool> {
        (0..packets).map(|_| self.leaves_as(true)).collect()
    }
}

#[test]
fn a_root_marks_above_its_share_of_the_buffer() {
    // Threshold 8 is (16 - 8)/16 of 16,000 bytes.
    let mut port = Port::new(|_| ());
    port.joins(11);
    assert_eq!(port.leave(4), [true, true, false, false], "ten and nine packets behind it are more than 8,000 bytes");
    // 15 is a sixteenth; 1 is fifteen of them; a buffer of its own.
    for (threshold, buffer, least) in [(15, 0, 1001), (1, 0, 15_001), (15, 80_000, 5001)] {
        let mut port = Port::new(|p| (p.threshold, p.buffer) = (threshold, Bytes(buffer)));
        port.joins(17);
        let marked = port.leave(17).iter().filter(|marked| **marked).count() as u64;
        assert_eq!(marked, 16 - least / 1000, "{threshold}");
    }
    let off = preset(|p| p.threshold = 0);
    assert!(!Marker::active(&off) && Marker::active(&port.params));
    // No limit, no share.
    let mut port = Port::new(|_| ());
    port.lane.buffer = u64::MAX;
    port.joins(100);
    assert_eq!(port.leave(3), [false; 3]);
}

#[test]
fn a_victim_is_not_marked_and_what_joins_later_is_no_victim() {
    let mut port = Port::new(|_| ());
    // Four packets wait while credits are lacking, twelve more join after.
    port.joins(3);
    port.lane.stopped = true;
    port.joins(1);
    (port.lane.stopped, port.lane.stopped_until) = (false, Time::from_us(1));
    port.joins(12);
    assert_eq!(port.leave(6), [false, false, false, false, true, true]);
    // A lack that began and ended between two departures makes victims of all that wait.
    port.joins(4);
    port.lane.stopped_until = Time::from_us(2);
    assert_eq!(port.leave(2), [false, false]);
    port.joins(3);
    assert_eq!(port.leave(1), [false]);
    // Where the mask names the port, it marks all the same.
    for (to_switch, expected) in [(true, false), (false, true)] {
        let mut port = Port { to_switch, ..Port::new(|_| ()) };
        port.lane.stopped = true;
        port.joins(11);
        assert_eq!(port.leave(1), [expected]);
    }
}

#[test]
fn packets_of_others_and_small_ones_are_not_marked() {
    let mut port = Port::new(|p| p.packet_size = 15);
    port.joins(12);
    assert!(!port.leaves_as(false) && port.leaves_as(true), "1,000 bytes are 15.6 units");
    let mut port = Port::new(|p| p.packet_size = 16);
    port.joins(12);
    assert!(!port.leaves_as(true));
}

#[test]
fn the_marking_rate_is_the_mean_number_between_two_marks() {
    for rate in [1, 10, 80] {
        let mut port = Port::new(|p| p.marking_rate = rate);
        port.joins(200_000);
        let marked = port.leave(190_000).iter().filter(|marked| **marked).count() as f64;
        let expected = 190_000.0 / (f64::from(rate) + 1.0);
        assert!((marked / expected - 1.0).abs() < 0.08, "{rate}: {marked} {expected}");
    }
}

#[test]
fn impossible_values_are_refused() {
    let refused = |change: &dyn Fn(&mut Params), word: &str| {
        let mut params = InfiniBand::preset("infiniband");
        change(&mut params);
        let why = InfiniBand::check(&params).expect_err(word);
        assert!(why.contains(word), "{why}");
    };
    refused(&|p| p.threshold = 16, "threshold");
    refused(&|p| p.ccti_increase = 0, "ccti_increase");
    refused(&|p| p.ccti_limit = 0, "ccti_limit");
    refused(&|p| p.ccti_min = 127, "ccti_min");
    refused(&|p| p.ccti_timer = 0, "ccti_timer");
    refused(&|p| p.cct_base = 0.0, "cct_base");
    refused(&|p| p.cct_divisor = f64::NAN, "cct_divisor");
    refused(&|p| p.cct_max = 16_384, "cct_max");
    refused(&|p| p.cct_shift = 4, "cct_shift");
}
