//! # infiniband: a table of gaps between packets, climbed by marks and left by a timer
//!
//! ## Idea
//! Congestion control of the InfiniBand architecture (annex A10). A switch marks packets that leave the root of a
//! congestion tree, and not those of queues that only wait for credits behind it. Each mark makes the source take a
//! step up in a table of gaps between its packets; a timer alone takes it down again. Made for networks with credits
//! (`network.buffer = { credits = "per-link" }`); with PFC, "without credits" means paused.
//!
//! ## Signals
//! * Switch: the queue of a packet's class at its port, and whether the class lacked credits there (or was paused).
//! * Receiver: a marked packet (FECN) sets BECN on its ACK, or sends a CNP.
//! * Sender: BECNs and a timer. Losses, rates and round-trip times change nothing.
//!
//! ## Control law
//! Switch: the queue of a class is in congestion while it holds more than (16 - `threshold`)/16 of the class's buffer
//! at the port, without the packet that leaves; `threshold` 0 is off. A packet that leaves it is marked if all of this
//! holds:
//!
//! * It is a packet of this scheme and has at least `packet_size` units of 64 bytes.
//! * Its queue is a root: the class did not lack credits while the packet waited. Else it is a victim, and
//!   `victim_mask` must name the port.
//! * Chance: on average `marking_rate` such packets pass between two that are marked; 0 marks all.
//!
//! Source: an index CCTI into a table of 14-bit multipliers with a 2-bit shift, at first `ccti_min`.
//!
//! * On a BECN: CCTI = min(CCTI + `ccti_increase`, `ccti_limit`). If the timer is idle it starts.
//! * Every `ccti_timer` (units of 1.024 us): CCTI = max(CCTI - 1, `ccti_min`). At `ccti_min` the timer stops.
//! * After a packet that takes a time t the source waits t (multiplier >> shift), so that its rate is C/(1 +
//!   (multiplier >> shift)). With `shifted = "time"` it waits (t >> shift) multiplier.
//! * `scope`: each queue pair has its own CCTI, timer and gap, or all of a host have one (service level).
//! * `cct = "quadratic"`: multiplier of index i = floor(7 i^2/`cct_base`^2/`cct_divisor`). `cct = "linear"`: floor(i
//!   `cct_max`/`ccti_limit`).
//!
//! Presets: `infiniband` has the values of Mellanox's manager and its table. `infiniband-mellanox` and
//! `infiniband-simula` are the settings of a study at Lawrence Livermore National Laboratory with its tables "mellanox
//! default" and "simula optimal". Entries of these tables are 0 up to index 16, and with its shift up to 52 in
//! `infiniband-simula`: a source slows down only after so many BECNs. `infiniband-gran` has the values of Gran et al.,
//! with a linear table.
//!
//! ## Parameters
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `threshold` | 0 (off) to 15 | 15 | A10; Mellanox's manager and Gran et al. 15, the study 0 to 15 |
//! | `buffer` | bytes, 0 is the network's | 0 B | A10 leaves to the vendor what the threshold is a share of |
//! | `marking_rate` | packets | 10 | Mellanox's manager 10; Gran et al. 0; the study 0 to 80; a model of it 3 to 5 |
//! | `packet_size` | 64 B | 8 | Mellanox's manager 512 B; Gran et al. 8; the study 1 |
//! | `victim_mask` | `none`, `hosts` or `all` | hosts | A10's example; the study has all ports |
//! | `becn` | `ack` or `cnp` | ack | A10: ACK on reliable, CNP on unreliable connections |
//! | `scope` | `queue-pair` or `service-level` | queue-pair | A10's port control; the study has service levels |
//! | `ccti_increase` | steps | 1 | Mellanox's manager, Gran et al., the study, Linux's qib |
//! | `ccti_limit` | index | 127 | tables of 128 entries; Linux's qib 31 |
//! | `ccti_min` | index | 0 | all |
//! | `ccti_timer` | 1.024 us | 150 | Gran et al.; the study 2 to 8192; that model 10 to 30 us; Mellanox's manager 0, for one that it computes |
//! | `cct` | `quadratic` or `linear` | quadratic | the study's four tables; linear: Intel's manager |
//! | `cct_base` | number | 95.0 | the study: "mellanox default"; 106 in "simula optimal" |
//! | `cct_divisor` | number | 0.218 | the study; 0.408 in its other two tables |
//! | `cct_max` | multiplier | 127 | of the linear table: index i sends at C/(1 + i) |
//! | `cct_shift` | 0 to 3 | 0 | the study: "mellanox default"; 3 in "simula optimal" |
//! | `shifted` | `multiplier` or `time` | multiplier | `time`: Linux's hfi1 |
//!
//! ## Where we differ from the paper and why
//! * A10 was not at hand; the rules are those of public managers, drivers and models that implement it. What they leave
//!   open is ours: the share of the buffer that `threshold` means (even steps), and the test for a victim.
//! * A root "has credits to send". Asked at one instant, a port that gets credits for half of its rate has them half of
//!   the time. We ask whether the class ever lacked them while the packet waited.
//! * Gran et al.'s values and the number of marks between two are from secondary sources; their table is not among
//!   these, and `infiniband-gran` has a linear one. A manager's value 0 of `ccti_timer` is not possible here.
//! * The trigger threshold, at which a source logs an event, changes nothing and is left out, and so is the credit
//!   mask.
//! * One timer runs per index, from its first BECN; the annex has one per service level that runs for all queue pairs.
//! * Marks are drawn at random with the mean `marking_rate`, so that flows that take turns are marked alike.
//!
//! ## References
//! * InfiniBand Architecture Specification volume 1, annex A10, congestion control.
//! * Gran et al., First Experiences with Congestion Control in InfiniBand Hardware, IPDPS 2010.
//! * Lawrence Livermore National Laboratory, generator of the settings of its InfiniBand congestion control study.
//! * Mellanox's subnet manager; Linux's drivers qib and hfi1; Mellanox's InfiniBand model for OMNeT++.

use crate::Action;
use crate::roles::*;
use alloc::vec::Vec;
use fanin_units::{Bytes, Rate, Time};

/// The scheme.
pub struct InfiniBand;

/// Ports that mark even what lacked credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum VictimMask {
    /// None.
    None,
    /// Those to hosts, since what a slow host holds up has no other root.
    Hosts,
    /// All.
    All,
}

/// How a receiver answers a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Becn {
    /// On the packet's ACK.
    Ack,
    /// In a packet of its own.
    Cnp,
}

/// What has an index of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// Each queue pair.
    QueuePair,
    /// Each host: all its queue pairs of this traffic's scheme.
    ServiceLevel,
}

/// The shape of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Cct {
    /// Multipliers grow with the square of the index.
    Quadratic,
    /// They grow with the index.
    Linear,
}

/// What an entry's shift is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Shifted {
    /// The multiplier.
    Multiplier,
    /// The packet's time.
    Time,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// 0 for no marks, to 15 for marks from the shortest queue on.
    pub threshold: u8,
    /// What the threshold is a share of; zero is the buffer of the packet's class at the port.
    pub buffer: Bytes,
    /// Mean number of packets that pass between two marks.
    pub marking_rate: u32,
    /// Packets of fewer units of 64 bytes are not marked.
    pub packet_size: u32,
    /// Ports that mark even what lacked credits.
    pub victim_mask: VictimMask,
    /// How a receiver answers a mark.
    pub becn: Becn,
    /// What has an index of its own.
    pub scope: Scope,
    /// Steps of a BECN.
    pub ccti_increase: u16,
    /// Largest index.
    pub ccti_limit: u16,
    /// Smallest index.
    pub ccti_min: u16,
    /// Time of a step down, in units of 1.024 us.
    pub ccti_timer: u32,
    /// The shape of the table.
    pub cct: Cct,
    /// Of the quadratic table.
    pub cct_base: f64,
    /// Of the quadratic table.
    pub cct_divisor: f64,
    /// Multiplier of the largest index of the linear table.
    pub cct_max: u16,
    /// The shift of all entries.
    pub cct_shift: u8,
    /// What the shift is applied to.
    pub shifted: Shifted,
}

/// Largest multiplier of an entry.
const MULTIPLIER: u64 = (1 << 14) - 1;

impl Params {
    /// The multiplier of an entry of the table.
    pub fn multiplier(&self, index: u16) -> u64 {
        let i = index as f64;
        let multiplier = match self.cct {
            Cct::Quadratic => i * i * 7.0 / (self.cct_base * self.cct_base) / self.cct_divisor,
            Cct::Linear => i * self.cct_max as f64 / self.ccti_limit.max(1) as f64,
        };
        (multiplier as u64).min(MULTIPLIER)
    }

    /// The gap behind a packet that takes a time to leave.
    pub fn gap(&self, index: u16, packet: Time) -> Time {
        let multiplier = self.multiplier(index);
        match self.shifted {
            Shifted::Multiplier => packet.saturating_mul(multiplier >> self.cct_shift),
            Shifted::Time => Time::from_ps(packet.as_ps() >> self.cct_shift).saturating_mul(multiplier),
        }
    }

    /// The time of a step down.
    fn step(&self) -> Time {
        Time::from_ns(1024).saturating_mul(self.ccti_timer as u64)
    }
}

impl Scheme for InfiniBand {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Notifier;
    type Switch = Marker;
    const PRESETS: &'static [&'static str] =
        &["infiniband", "infiniband-mellanox", "infiniband-simula", "infiniband-gran"];

    fn preset(id: &str) -> Params {
        let manager = Params {
            threshold: 15,
            buffer: Bytes(0),
            marking_rate: 10,
            packet_size: 8,
            victim_mask: VictimMask::Hosts,
            becn: Becn::Ack,
            scope: Scope::QueuePair,
            ccti_increase: 1,
            ccti_limit: 127,
            ccti_min: 0,
            ccti_timer: 150,
            cct: Cct::Quadratic,
            cct_base: 95.0,
            cct_divisor: 0.218,
            cct_max: 127,
            cct_shift: 0,
            shifted: Shifted::Multiplier,
        };
        let study =
            Params { packet_size: 1, victim_mask: VictimMask::All, scope: Scope::ServiceLevel, ..manager.clone() };
        match id {
            "infiniband-mellanox" => study,
            "infiniband-simula" => Params { cct_base: 106.0, cct_shift: 3, ..study },
            "infiniband-gran" => Params { marking_rate: 0, cct: Cct::Linear, ..manager },
            _ => manager,
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn sharing(p: &Params) -> Sharing {
        match p.scope {
            Scope::QueuePair => Sharing::Nothing,
            Scope::ServiceLevel => Sharing::Host,
        }
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some("answers the marks of its switches, and TCP's ACKs echo only those of ECN")
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.threshold <= 15, "threshold must be 0 (off) to 15 (the shortest queue)"),
            (p.ccti_increase >= 1, "ccti_increase must be at least 1, or no mark has an effect"),
            ((1..=4095).contains(&p.ccti_limit), "ccti_limit must be 1 to 4095, like 127"),
            (p.ccti_min < p.ccti_limit, "ccti_min must be below ccti_limit"),
            (p.ccti_timer >= 1, "ccti_timer must be at least 1 unit of 1.024 us, like 150"),
            (p.cct_base > 0.0 && p.cct_base.is_finite(), "cct_base must be above 0, like 95"),
            (p.cct_divisor > 0.0 && p.cct_divisor.is_finite(), "cct_divisor must be above 0, like 0.218"),
            (p.cct_max as u64 <= MULTIPLIER, "cct_max must be at most 16383: a multiplier has 14 bits"),
            (p.cct_shift <= 3, "cct_shift must be 0 to 3: it has 2 bits"),
        ])
    }
}

/// The index of a queue pair or a host, with its timer and its gap.
#[derive(Clone, Debug, Default)]
pub struct Source {
    ccti: u16,
    /// When the index falls next, if the timer runs.
    falls_at: Option<Time>,
    /// Nothing leaves before.
    next_at: Time,
}

impl Source {
    /// Takes the steps down that are due.
    fn fall(&mut self, now: Time, p: &Params, actions: &mut crate::Actions) {
        self.ccti = self.ccti.max(p.ccti_min);
        while let Some(at) = self.falls_at.filter(|at| *at <= now) {
            self.ccti = self.ccti.saturating_sub(1).max(p.ccti_min);
            actions.count(Action::Increase);
            self.falls_at = (self.ccti > p.ccti_min).then(|| at.saturating_add(p.step()));
        }
    }

    fn climb(&mut self, now: Time, p: &Params, actions: &mut crate::Actions) {
        self.fall(now, p, actions);
        let before = self.ccti;
        self.ccti = before.saturating_add(p.ccti_increase).min(p.ccti_limit);
        if self.ccti > before {
            actions.count(Action::Cut);
        }
        self.falls_at.get_or_insert(now.saturating_add(p.step()));
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    own: Source,
    line: Rate,
}

impl Flow {
    /// Changes the source that this flow belongs to, and tells the others of its host.
    fn change(
        &mut self,
        cx: &mut Cx<'_, Params, Source>,
        act: impl FnOnce(&mut Source, Time, &Params, &mut crate::Actions),
    ) {
        let (now, shared) = (cx.now, cx.params.scope == Scope::ServiceLevel);
        let source = if shared { &mut *cx.shared } else { &mut self.own };
        act(source, now, cx.params, cx.actions);
        cx.shared_changed |= shared;
    }

    /// The index CCTI of a queue pair's own source.
    pub fn ccti(&self) -> u16 {
        self.own.ccti
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = Source;

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params, Source>) -> Self {
        let mut flow = Self { own: Source::default(), line: path.line_rate };
        flow.change(cx, Source::fall);
        flow
    }

    #[inline(always)]
    fn control(&self, cx: &Cx<'_, Params, Source>) -> Control {
        let source = if cx.params.scope == Scope::ServiceLevel { &*cx.shared } else { &self.own };
        let wake_at = source.falls_at.unwrap_or(Time::NEVER);
        Control { wake_at, not_before: source.next_at, ..Control::rate(self.line) }
    }

    #[inline(always)]
    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params, Source>) -> u32 {
        let packet = self.line.tx_time(sent.wire as u64);
        self.change(cx, |source, now, p, _| {
            let gap = p.gap(source.ccti, packet);
            if gap > Time::ZERO {
                source.next_at = now.saturating_add(packet).saturating_add(gap);
            }
        });
        0
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params, Source>) {
        if ack.ecn_echo && cx.params.becn == Becn::Ack {
            self.change(cx, Source::climb);
        }
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params, Source>) {
        if notice == Notice::Cnp && cx.params.becn == Becn::Cnp {
            cx.count(Action::CnpReceived);
            self.change(cx, Source::climb);
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params, Source>) {
        self.change(cx, Source::fall);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("ccti", self.own.ccti as f64);
    }
}

/// The receiver of a host: answers marks.
#[derive(Debug, Default)]
pub struct Notifier {
    ready: Option<ReceiverFlow>,
}

impl Receiver for Notifier {
    type Params = Params;
    /// Whether a mark is still to be answered by an ACK.
    type Flow = bool;

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self::default()
    }

    fn on_data(&mut self, data: &Data, marked: &mut bool, cx: &mut Cx<'_, Params>) -> AckPlan {
        if data.ce {
            cx.count(Action::MarkSeen);
            match cx.params.becn {
                Becn::Ack => *marked = true,
                Becn::Cnp => self.ready = Some(data.flow),
            }
        }
        let fields = |marked: &mut bool| AckFields { ecn_echo: core::mem::take(marked), ..AckFields::default() };
        AckPlan { before: None, now: data.ack_due.then(|| fields(marked)) }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        let flow = self.ready.take()?;
        cx.count(Action::CnpSent);
        Some(Emit::Cnp(flow))
    }
}

/// The queue of one class at a port.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// Bytes that have left it.
    left: u64,
    /// Packets up to this byte have waited while credits were lacking.
    victims_to: u64,
    /// End of the last lack of credits that was noticed.
    seen: Time,
}

impl Lane {
    /// Notices a lack of credits that is over: these bytes have waited through it.
    fn look(&mut self, view: &LaneView, waiting: u64) {
        if view.stopped_until > self.seen {
            self.victims_to = self.left + waiting;
            self.seen = view.stopped_until;
        }
    }
}

/// The ports of a switch.
pub struct Marker {
    lanes: Vec<Lane>,
    chance: u64,
}

/// Classes of a port, with control.
const CLASSES: usize = 8;

impl Marker {
    /// Whether this packet is one in `marking_rate` and one.
    fn draws(&mut self, p: &Params) -> bool {
        // xorshift64
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance >> 32).is_multiple_of(p.marking_rate as u64 + 1)
    }
}

impl SwitchProgram for Marker {
    type Params = Params;
    fn watches(_: &Params) -> bool {
        true
    }
    fn lanes() -> bool {
        true
    }

    fn active(p: &Params) -> bool {
        p.threshold > 0
    }

    fn new(_: &Params, switch: &SwitchInfo<'_>) -> Self {
        Self { lanes: alloc::vec![Lane::default(); CLASSES * switch.ports.len()], chance: switch.seed | 1 }
    }

    fn on_enqueue(&mut self, at: &mut Queued<'_>, _: &mut Cx<'_, Params>) -> Verdict {
        let (view, wire) = (at.view.lane, at.packet.wire as u64);
        let lane = &mut self.lanes[at.port as usize * CLASSES + at.packet.class as usize];
        lane.look(&view, view.queued);
        if view.stopped {
            lane.victims_to = lane.left + view.queued + wire;
        }
        Verdict::Admit
    }

    fn on_dequeue(&mut self, at: &mut Queued<'_>, cx: &mut Cx<'_, Params>) {
        let (p, wire, view) = (cx.params, at.packet.wire as u64, at.view.lane);
        let lane = &mut self.lanes[at.port as usize * CLASSES + at.packet.class as usize];
        lane.look(&view, view.queued + wire);
        let victim = lane.left < lane.victims_to;
        lane.left += wire;
        let buffer = if p.buffer.0 > 0 { p.buffer.0 } else { view.buffer };
        let congested = view.queued as u128 * 16 > buffer as u128 * (16 - p.threshold as u128);
        let masked = match p.victim_mask {
            VictimMask::None => false,
            VictimMask::Hosts => !at.view.to_switch,
            VictimMask::All => true,
        };
        let eligible = at.own && at.packet.payload > 0 && wire >= 64 * p.packet_size as u64;
        if eligible && congested && (!victim || masked) && self.draws(p) {
            at.packet.flags |= crate::flags::CE;
        }
    }
}
