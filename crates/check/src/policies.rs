//! The check of load balancing and of queue disciplines: a few switches, whose ports and packets are drawn at random.
//!
//! The replay shows the same packets to one switch after the other, as a run on several threads might: what a switch
//! answers depends on what it has seen itself, and on nothing else.

use crate::answers::Broken;
use crate::search::{Case, Checked, Found, Plan, caught, search};
use fanin_cc::own::Failure;
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};
use proptest::prelude::*;
use serde_json::Map;
use std::collections::VecDeque;
use std::sync::Arc;

/// Makes a policy of load balancing of switches anew.
pub type MakesBalancer<'a> = &'a dyn Fn() -> Arc<dyn BalancerProgram>;
/// Makes a queue discipline anew.
pub type MakesDiscipline<'a> = &'a dyn Fn() -> Arc<dyn DisciplineProgram>;

pub const SWITCHES: u8 = 3;
const PORTS: u8 = 8;
/// Of every port.
const LINE: Rate = Rate::from_gbps(10);
/// Bytes of a full packet on the wire.
const WIRE: u16 = 1040;
/// Classes of a port: control and data.
const CLASSES: usize = 2;
/// Packets that an empty queue may refuse one after the other.
const REFUSED: u32 = 1_000;
/// Time between those.
const APART: Time = Time::from_us(100);

/// A packet as it is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packet {
    flow: u8,
    /// Payload of its flow, else an ACK.
    data: bool,
    /// Whether it may be marked.
    ect: bool,
}

impl Packet {
    const SIMPLEST: Self = Self { flow: 0, data: true, ect: true };

    fn header(self) -> Header {
        let (from, to) = (NodeId(u32::from(self.flow)), NodeId(1000 + u32::from(self.flow) % 7));
        let kind = if self.data { Kind::Data } else { Kind::Ack };
        Header {
            flow: MessageId(u32::from(self.flow)),
            src: if self.data { from } else { to },
            dst: if self.data { to } else { from },
            wire: if self.data { WIRE } else { 84 },
            payload: if self.data { 1000 } else { 0 },
            class: u8::from(self.data),
            flags: if self.ect { flags::ECT } else { 0 },
            hops: 1,
            kind,
            ..Header::default()
        }
    }

    fn told(self) -> String {
        let what = if self.data { "a data packet" } else { "an ACK" };
        let ect = if self.ect || !self.data { "" } else { ", which cannot be marked" };
        format!("{what} of flow {}{ect}", self.flow)
    }
}

fn packet() -> impl Strategy<Value = Packet> {
    (0u8..12, prop::bool::weighted(0.8), prop::bool::weighted(0.8)).prop_map(|(flow, data, ect)| Packet {
        flow,
        data,
        ect,
    })
}

/// What happens at a switch, or at a sender, so long after the event before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At<E> {
    after: Time,
    switch: u8,
    event: E,
}

pub fn at_switches<E: std::fmt::Debug + Clone>(event: impl Strategy<Value = E>) -> impl Strategy<Value = Vec<At<E>>> {
    let after =
        prop_oneof![(0u64..2_000).prop_map(Time::from_ns), (1u64..200).prop_map(Time::from_us), Just(Time::ZERO),];
    let one = (after, 0..SWITCHES, event).prop_map(|(after, switch, event)| At { after, switch, event });
    prop::collection::vec(one, 1..150)
}

/// Simpler forms of an event.
pub trait Event: Copy + PartialEq + std::fmt::Debug {
    fn simpler(self) -> Vec<Self>;
}

impl<E: Event> Case for Vec<At<E>> {
    fn parts(&self) -> usize {
        self.len()
    }
    fn without(&self, part: usize) -> Self {
        let mut fewer = self.clone();
        fewer.remove(part);
        fewer
    }
    fn simpler(&self, part: usize) -> Vec<Self> {
        let At { after, event, .. } = self[part];
        let events = event.simpler().into_iter().map(|event| At { event, ..self[part] });
        let all = [At { switch: 0, ..self[part] }, At { after: Time::from_us(1).min(after), ..self[part] }];
        let put = |one| {
            let mut simpler = self.clone();
            simpler[part] = one;
            simpler
        };
        all.into_iter().chain(events).map(put).collect()
    }
}

/// The policy of one switch, with the queues there, or of one sender.
pub trait Model {
    /// Where it is, in words.
    const PLACE: &'static str = "switch";
    type Event: Event;
    /// What happened, in words, and what the policy answered.
    fn step(&mut self, now: Time, event: Self::Event) -> Result<String, Broken>;
    /// What must hold after the events, in the same way.
    fn end(&mut self, now: Time) -> Result<String, Broken>;
}

/// The switches of one run, and what happened at them, in words: when, where, and the number of the event.
struct Switches<'a, M> {
    models: Vec<M>,
    failure: &'a dyn Fn() -> Option<Failure>,
    log: Vec<(Time, u8, usize, String)>,
}

impl<M: Model> Switches<'_, M> {
    /// Events in this order.
    fn run(&mut self, events: &[(Time, usize, At<M::Event>)], end: Time) -> Result<(), Broken> {
        self.no_failure()?;
        for (now, number, At { switch, event, .. }) in events {
            let said = caught(|| self.models[*switch as usize].step(*now, *event));
            self.note(*now, *switch, *number, said)?;
        }
        for switch in 0..SWITCHES {
            let said = caught(|| self.models[switch as usize].end(end));
            self.note(end, switch, events.len() + switch as usize, said)?;
        }
        Ok(())
    }

    fn note(&mut self, now: Time, switch: u8, number: usize, said: Result<String, Broken>) -> Result<(), Broken> {
        let (said, kept) = match said {
            Ok(said) => (said, self.no_failure()),
            Err(broken) => (broken.detail.clone(), Err(Broken { at: now, ..broken })),
        };
        if !said.is_empty() {
            self.log.push((now, switch, number, format!("{} {switch}: {said}", M::PLACE)));
        }
        kept
    }

    fn no_failure(&self) -> Result<(), Broken> {
        match (self.failure)() {
            Some(Failure { at, problem }) => Err(Broken { rule: "no hook fails", detail: problem, at }),
            None => Ok(()),
        }
    }

    fn told(&self) -> Vec<(Time, String)> {
        let mut told: Vec<_> = self.log.iter().map(|(at, _, _, said)| (*at, said.clone())).collect();
        told.sort_by_key(|(at, _)| *at);
        told
    }
}

/// Runs the policies of all switches, given with the first failure of one, if there is any.
pub type Runs<'a, M> = &'a mut dyn FnMut(Vec<M>, &dyn Fn() -> Option<Failure>);

/// One case, twice.
pub fn twice<M: Model>(build: &dyn Fn(Runs<'_, M>), case: &[At<M::Event>]) -> Result<(), Found> {
    let mut now = Time::from_us(1);
    let mut events = Vec::new();
    for (number, one) in case.iter().enumerate() {
        now += one.after;
        events.push((now, number, *one));
    }
    let end = now + APART;
    let one_run = |events: &[(Time, usize, At<M::Event>)]| {
        let mut ran = Ok(Vec::new());
        build(&mut |models, failure| {
            let mut switches = Switches { models, failure, log: Vec::new() };
            let kept = switches.run(events, end);
            let found = |broken| Found { broken, events: switches.told(), parameters: Map::new() };
            ran = kept.map_err(found).map(|()| std::mem::take(&mut switches.log));
        });
        ran
    };
    let first = one_run(&events)?;
    events.sort_by_key(|(_, _, one)| one.switch);
    let again = one_run(&events)?;
    for (at, _, number, said) in &first {
        let other = again.iter().find(|(.., other, _)| other == number).map_or("nothing", |(.., said)| said);
        if other != said {
            let detail = format!("first: {said}; in the replay, one {} after the other: {other}", M::PLACE);
            let broken = Broken { rule: "a replay gives the same answers", detail, at: *at };
            let before = first.iter().filter(|(.., other, _)| other <= number);
            let events = before.map(|(at, _, _, said)| (*at, said.clone())).collect();
            return Err(Found { broken, events, parameters: Map::new() });
        }
    }
    Ok(())
}

/// The ports of a switch that comes up.
fn with_switches(mut build: impl FnMut(&SwitchInfo<'_>)) {
    let ports: Vec<PortView> =
        (0..PORTS).map(|port| PortView { to_switch: port % 2 == 1, ..PortView::new(LINE) }).collect();
    for switch in 0..SWITCHES {
        let node = NodeId(100 + u32::from(switch));
        let seed = u64::from(switch) + 1;
        build(&SwitchInfo { seed, network_rtt: Time::from_us(10), ..SwitchInfo::new(node, &ports) });
    }
}

/// A packet with a choice between ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Choose {
    packet: Packet,
    /// A bit for each port that leads to its destination.
    ports: u8,
    /// Packets that wait at each port.
    queued: [u8; PORTS as usize],
    /// A bit for each port that is paused.
    paused: u8,
}

impl Event for Choose {
    fn simpler(self) -> Vec<Self> {
        vec![
            Self { packet: Packet::SIMPLEST, ..self },
            Self { packet: Packet { flow: 0, ..self.packet }, ..self },
            Self { queued: [0; PORTS as usize], ..self },
            Self { paused: 0, ..self },
            Self { ports: 0b11, ..self },
        ]
    }
}

struct AtBalancer(Box<dyn Balancer>);

impl Model for AtBalancer {
    type Event = Choose;

    fn step(&mut self, now: Time, event: Choose) -> Result<String, Broken> {
        let Choose { packet, mut ports, queued, paused } = event;
        if ports.count_ones() < 2 {
            ports = 0b11;
        }
        let choices: Vec<Choice> = (0..PORTS)
            .filter(|port| ports & (1 << port) != 0)
            .map(|port| Choice {
                port: u16::from(port),
                rate: LINE,
                queued: u64::from(queued[port as usize]) * u64::from(WIRE),
                paused: paused & (1 << port) != 0,
            })
            .collect();
        // The same for all packets of one direction of a flow.
        let direction = 2 * u32::from(packet.flow) + u32::from(packet.data);
        let chosen = self.0.choose(now, &packet.header(), direction.wrapping_mul(0x9E37_79B1), &choices);
        let told: Vec<String> = choices
            .iter()
            .map(|choice| {
                let paused = if choice.paused { ", paused" } else { "" };
                format!("{} ({} B wait{paused})", choice.port, choice.queued)
            })
            .collect();
        let asked = format!("{} may take port {}", packet.told(), told.join(" or "));
        match choices.get(chosen) {
            Some(choice) => Ok(format!("{asked}; it takes {}", choice.port)),
            None => Err(Broken {
                rule: "the answer is the index of a choice",
                detail: format!("{asked}: the answer is {chosen}, and the indices are 0 to {}", choices.len() - 1),
                at: now,
            }),
        }
    }

    fn end(&mut self, _: Time) -> Result<String, Broken> {
        Ok(String::new())
    }
}

/// Checks a policy of load balancing with random switches and packets.
pub fn check_balancer(make: MakesBalancer<'_>, plan: Plan<'_>) -> Checked {
    let event = (packet(), any::<u8>(), any::<[u8; PORTS as usize]>(), any::<u8>())
        .prop_map(|(packet, ports, queued, paused)| Choose { packet, ports, queued, paused: paused & (paused >> 4) });
    let run = |case: &Vec<At<Choose>>| {
        twice::<AtBalancer>(
            &|run| {
                let program = make();
                let mut models = Vec::new();
                with_switches(|switch| models.push(AtBalancer(program.build(switch))));
                run(models, &|| program.failure());
            },
            case,
        )
    };
    search(&at_switches(event), &run, plan)
}

/// What happens at the queue of a class of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtQueue {
    /// Packets are about to join; the queue must not send now, or it may.
    Join { packet: Packet, port: u8, packets: u8, stopped: bool },
    /// Packets leave.
    Leave { port: u8, data: bool, packets: u8 },
}

impl Event for AtQueue {
    fn simpler(self) -> Vec<Self> {
        match self {
            Self::Join { packet, port, packets, stopped } => vec![
                Self::Join { packet: Packet::SIMPLEST, port, packets, stopped },
                Self::Join { packet, port: 0, packets, stopped },
                Self::Join { packet, port, packets: 1, stopped },
                Self::Join { packet, port, packets: packets.saturating_sub(1).max(1), stopped },
                Self::Join { packet, port, packets, stopped: false },
            ],
            Self::Leave { port, data, packets } => vec![
                Self::Leave { port: 0, data, packets },
                Self::Leave { port, data: true, packets },
                Self::Leave { port, data, packets: 1 },
                Self::Leave { port, data, packets: packets.saturating_sub(1).max(1) },
            ],
        }
    }
}

struct AtDiscipline {
    discipline: Box<dyn Discipline>,
    /// By port and class.
    queues: Vec<[VecDeque<Header>; CLASSES]>,
}

impl AtDiscipline {
    fn view(&self, port: u8, class: usize, stopped: bool) -> PortView {
        let bytes = |class: usize| self.queues[port as usize][class].iter().map(|packet| u64::from(packet.wire)).sum();
        let lane = LaneView { queued: bytes(class), stopped, ..LaneView::NONE };
        PortView { to_switch: port % 2 == 1, queued: bytes(1), lane, ..PortView::new(LINE) }
    }

    fn join(&mut self, now: Time, port: u8, packet: Packet, stopped: bool) -> Verdict {
        let mut header = packet.header();
        let class = usize::from(header.class);
        let view = self.view(port, class, stopped);
        let mut queued = Queued { port: u16::from(port), view, packet: &mut header, own: true };
        let verdict = self.discipline.on_enqueue(now, &mut queued);
        if verdict == Verdict::Mark && header.has(flags::ECT) {
            header.flags |= flags::CE;
        }
        if verdict == Verdict::Trim {
            (header.kind, header.class) = (Kind::Trimmed, 0);
        }
        if verdict != Verdict::Drop {
            self.queues[port as usize][usize::from(header.class)].push_back(header);
        }
        verdict
    }

    /// Whether a packet left, and whether it was marked then.
    fn leave(&mut self, now: Time, port: u8, class: usize) -> Option<bool> {
        let mut header = self.queues[port as usize][class].pop_front()?;
        let view = self.view(port, class, false);
        let mut queued = Queued { port: u16::from(port), view, packet: &mut header, own: true };
        Some(self.discipline.on_dequeue(now, &mut queued))
    }
}

/// `3 admitted, 1 dropped`: the parts that are not 0.
fn counted(parts: &[(u32, &str)]) -> String {
    let told: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    told.join(", ")
}

impl Model for AtDiscipline {
    type Event = AtQueue;

    fn step(&mut self, now: Time, event: AtQueue) -> Result<String, Broken> {
        match event {
            AtQueue::Join { packet, port, packets, stopped } => {
                let waiting = self.view(port, usize::from(packet.data), stopped).lane.queued;
                let (mut admitted, mut marked, mut dropped, mut trimmed) = (0, 0, 0, 0);
                // In the order of the verdicts, so that a replay sees every one.
                let mut order = String::new();
                for _ in 0..packets {
                    let (count, letter) = match self.join(now, port, packet, stopped) {
                        Verdict::Admit => (&mut admitted, 'a'),
                        Verdict::Mark => (&mut marked, 'm'),
                        Verdict::Drop => (&mut dropped, 'd'),
                        Verdict::Trim => (&mut trimmed, 't'),
                    };
                    *count += 1;
                    order.push(letter);
                }
                let mixed = [admitted, marked, dropped, trimmed].iter().filter(|n| **n > 0).count() > 1;
                let order = if mixed { format!(" (in order: {order})") } else { String::new() };
                let times = if packets == 1 { String::new() } else { format!(", {packets} times,") };
                let paused = if stopped { ", paused" } else { "" };
                let verdicts =
                    counted(&[(admitted, "admitted"), (marked, "marked"), (dropped, "dropped"), (trimmed, "trimmed")]);
                let packet = packet.told();
                Ok(format!("{packet}{times} comes to port {port} ({waiting} B wait{paused}): {verdicts}{order}"))
            }
            AtQueue::Leave { port, data, packets } => {
                let left: Vec<bool> = (0..packets).map_while(|_| self.leave(now, port, usize::from(data))).collect();
                if left.is_empty() {
                    return Ok(String::new());
                }
                let which: Vec<String> =
                    (1..).zip(&left).filter(|(_, marked)| **marked).map(|(n, _): (u32, _)| n.to_string()).collect();
                let marked = if which.is_empty() { "none".into() } else { format!("number {}", which.join(", ")) };
                let what = if data { "data packets" } else { "ACKs" };
                Ok(format!("{} {what} leave port {port}, of which it marks {marked}", left.len()))
            }
        }
    }

    fn end(&mut self, mut now: Time) -> Result<String, Broken> {
        let mut said = Vec::new();
        for port in 0..PORTS {
            for class in 0..CLASSES {
                while self.leave(now, port, class).is_some() {}
            }
            let mut refused = 0;
            while self.join(now, port, Packet::SIMPLEST, false) == Verdict::Drop {
                refused += 1;
                if refused == REFUSED {
                    return Err(Broken {
                        rule: "an empty queue lets packets in",
                        detail: format!(
                            "port {port} is empty, and it drops {REFUSED} data packets that come {APART} apart"
                        ),
                        at: now,
                    });
                }
                now += APART;
            }
            self.leave(now, port, 1);
            said.push(refused.to_string());
        }
        Ok(format!("all queues are emptied; dropped then, by port: {}", said.join(" ")))
    }
}

/// Checks a queue discipline with random switches and packets.
pub fn check_discipline(make: MakesDiscipline<'_>, plan: Plan<'_>) -> Checked {
    let port = || prop_oneof![3 => Just(0u8), 1 => 0..PORTS];
    let packets = || prop_oneof![3 => 1u8..4, 1 => 1u8..60];
    let join = (packet(), port(), packets(), prop::bool::weighted(0.1))
        .prop_map(|(packet, port, packets, stopped)| AtQueue::Join { packet, port, packets, stopped });
    let leave = (port(), prop::bool::weighted(0.8), packets()).prop_map(|(port, data, packets)| AtQueue::Leave {
        port,
        data,
        packets,
    });
    let run = |case: &Vec<At<AtQueue>>| {
        twice::<AtDiscipline>(
            &|run| {
                let program = make();
                let mut models = Vec::new();
                with_switches(|switch| {
                    let queues = (0..PORTS).map(|_| Default::default()).collect();
                    models.push(AtDiscipline { discipline: program.build(switch), queues });
                });
                run(models, &|| program.failure());
            },
            case,
        )
    };
    search(&at_switches(prop_oneof![3 => join, 2 => leave]), &run, plan)
}
