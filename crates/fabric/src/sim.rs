//! A running network: dispatches its events.

use crate::clock::{
    ANSWERS, PAUSE_TIMER, SHAPER, START_AFTER_OVERHEAD, START_GIVEN_UP, START_POSTED, kind, kind_of, number_of, source,
};
use crate::config::{Message, NetworkConfig, TrafficConfig};
use crate::failure;
use crate::graphs::Graphs;
use crate::layout::{Layout, Share};
use crate::messages::{Messages, traffics};
use crate::network::Network;
use crate::network::switch::AtHost;
use crate::path::FlowPath;
use crate::plan::Plan;
use crate::port::PortIx;
use crate::results::DropCause;
use crate::trace::Tracer;
use crate::world::World;
use fanin_endpoint::host::{Hosts, Io, Timer, Traffic};
use fanin_engine::{CalendarQueue, Event, EventQueue, prefetch};
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::iter::Peekable;
use std::sync::Arc;

/// Messages are inserted into the event queue this long ahead, seldom into its heap.
const LOAD_AHEAD: Time = Time::from_us(5);

/// Messages of a run, in the order of their start.
pub(crate) type MessageIter = Box<dyn Iterator<Item = Message> + Send>;

/// The messages not loaded yet. They are loaded one period ahead, so that all events of a period are known before any
/// of them runs.
pub(crate) struct Loader {
    messages: Peekable<MessageIter>,
    loaded_to: Time,
}

impl Loader {
    /// Start of the next one.
    pub fn first_at(&mut self) -> Time {
        self.messages.peek().map_or(Time::NEVER, |message| message.start)
    }
}

/// A network with its traffic, running.
pub struct Simulation<Q: EventQueue = CalendarQueue> {
    pub(crate) world: World<Q>,
    pub(crate) hosts: Hosts<FlowPath>,
    pub(crate) loader: Loader,
    pub(crate) tracer: Tracer,
}

impl Simulation<CalendarQueue> {
    /// A network at time zero. Messages come in the order of their start.
    pub fn new(config: NetworkConfig, traffics: Vec<TrafficConfig>, messages: MessageIter) -> Self {
        let (spacing, horizon) = config.event_spacing(1);
        let queue = CalendarQueue::new(config.seed, spacing, horizon);
        let mut sim = Self::with_queue(config, traffics, messages, queue);
        sim.world.net.allow_lazy();
        sim
    }
}

impl<Q: EventQueue> Simulation<Q> {
    /// As [`Simulation::new`], on a given queue; the order of events does not depend on it. Each departure is an event.
    pub fn with_queue(config: NetworkConfig, configs: Vec<TrafficConfig>, messages: MessageIter, queue: Q) -> Self {
        let (traffics, schemes) = traffics(&configs);
        let layout = Layout::whole(&config.graph);
        let share = layout.shares(&config.graph).swap_remove(0);
        let plan = Arc::new(Plan::new(config, layout, &schemes));
        Self::partition(plan, &share, traffics, &schemes, messages, queue)
    }

    /// One partition of a network.
    pub(crate) fn partition(
        plan: Arc<Plan>,
        share: &Share,
        traffics: Vec<Traffic>,
        schemes: &[fanin_cc::Settings],
        messages: MessageIter,
        queue: Q,
    ) -> Self {
        let mut hosts = Hosts::new(share.hosts.iter().map(|host| NodeId(*host)), schemes.len());
        let net = Network::new(plan, share, schemes, queue, |host, port| hosts.add_nic(host, port.0));
        let mut sim = Self {
            world: World::new(net, Messages::new(traffics)),
            hosts,
            loader: Loader { messages: messages.peekable(), loaded_to: Time::ZERO },
            tracer: Tracer::default(),
        };
        sim.world.net.schedule_outages();
        sim.world.net.start_programs();
        sim.world.net.schedule_faults();
        sim
    }

    /// Makes each departure an event of its own from now on, for callers that read the network after every event. The
    /// results stay the same.
    pub fn make_departures_eager(&mut self) {
        self.world.net.forbid_lazy();
    }

    /// Runs all events before `until`, at most about `budget` of them. Returns whether it reached `until`.
    pub fn run_until(&mut self, until: Time, budget: u64) -> bool {
        let arrived = self.run_unflushed(until, budget);
        self.world.net.flush_all();
        arrived
    }

    /// The same, after which ports may be lazy.
    pub(crate) fn run_unflushed(&mut self, until: Time, budget: u64) -> bool {
        match self.world.net.core().probes.traces() || self.world.messages.follows_hops() {
            false => self.advance(until, budget),
            true => self.run_traced(until, budget),
        }
    }

    /// As [`Simulation::run_until`], for a partition or one of many steps: its ports may be lazy when it returns.
    #[inline(never)]
    pub(crate) fn advance(&mut self, until: Time, budget: u64) -> bool {
        if self.world.messages.has_actors() {
            return self.run_with_actors(until, budget);
        }
        let mut left = budget.max(1);
        loop {
            let to = until.min(self.loader.loaded_to);
            while let Some(event) = self.world.net.core_mut().clock.next(to) {
                self.prefetch_upcoming();
                self.world.net.core_mut().probes.totals.events += 1;
                self.handle(event);
                left -= 1;
                if left == 0 {
                    // Not only when messages are loaded: the last of them may be loaded early.
                    self.pack_messages();
                    return false;
                }
            }
            if to == until {
                self.world.net.core_mut().clock.advance_to(until.min(Time::from_ps(u64::MAX - 1)));
                self.pack_when_due(until);
                return true;
            }
            self.load_more();
        }
    }

    /// The same where graphs or a program outside act after all events of an instant; ends where the program is told.
    #[inline(never)]
    fn run_with_actors(&mut self, until: Time, budget: u64) -> bool {
        let mut left = budget.max(1);
        'due: loop {
            if left == 0 {
                self.pack_messages();
                return false;
            }
            let to = until.min(self.loader.loaded_to);
            let due = self.world.messages.acts_at();
            let limit = to.min(due.saturating_add(Time::from_ps(1)));
            while let Some(event) = self.world.net.core_mut().clock.next(limit) {
                self.prefetch_upcoming();
                self.world.net.core_mut().probes.totals.events += 1;
                self.handle(event);
                left -= 1;
                if left == 0 || std::mem::take(&mut self.world.messages.reached_graphs) {
                    continue 'due;
                }
            }
            if due < to {
                if let Some(caller) = self.world.messages.caller() {
                    caller.tell(due);
                    self.world.net.core_mut().clock.advance_to(due);
                    return false;
                }
                self.step_graphs(due);
                left -= 1;
            } else if to == until {
                self.world.net.core_mut().clock.advance_to(until.min(Time::from_ps(u64::MAX - 1)));
                self.pack_when_due(until);
                return true;
            } else {
                self.load_more();
            }
        }
    }

    /// Nodes end and start by themselves, and messages are posted.
    fn step_graphs(&mut self, now: Time) {
        self.world.net.core_mut().clock.advance_to(now);
        self.world.messages.graphs_mut().into_iter().for_each(|graphs| graphs.step(now));
        while let Some(message) = self.world.messages.graphs_mut().and_then(Graphs::next_post) {
            self.post_now(MessageId(message));
        }
    }

    /// Posts a message as if an event did.
    pub(crate) fn post_now(&mut self, message: MessageId) {
        self.world.net.core_mut().clock.set_cause(source(kind::START, message.0));
        self.start_message(message, START_POSTED);
        if self.world.net.core().probes.traces() {
            self.tracer.after_event(&mut self.world, &self.hosts);
        }
    }

    fn load_more(&mut self) {
        self.load_messages();
        if self.world.net.core().clock.is_empty() && self.loader.messages.peek().is_none() {
            // No event will ever follow, but by graphs.
            self.loader.loaded_to = Time::NEVER;
        }
    }

    /// As [`Simulation::advance`], and checks the senders of traced messages after each event.
    fn run_traced(&mut self, until: Time, budget: u64) -> bool {
        self.tracer.stepping = true;
        let mut arrived = false;
        for _ in 0..budget.max(1) {
            arrived = self.advance(until, 1);
            if arrived || self.world.messages.caller().is_some_and(|caller| !caller.told().is_empty()) {
                break;
            }
            self.tracer.after_event(&mut self.world, &self.hosts);
        }
        self.tracer.stepping = false;
        self.pack_messages();
        arrived
    }

    /// Prefetches the memory of upcoming events.
    #[inline(always)]
    fn prefetch_upcoming(&self) {
        self.world.net.prefetch_upcoming(|host| prefetch(self.hosts.all(), host as usize));
    }

    /// Inserts the messages of the next period into the queue.
    fn load_messages(&mut self) {
        self.pack_when_due(self.loader.loaded_to);
        let first = self.loader.first_at();
        if first == Time::NEVER {
            self.loader.loaded_to = Time::NEVER;
            return;
        }
        // Idle periods are skipped.
        let to = self.loader.loaded_to.max(first).saturating_add(LOAD_AHEAD);
        self.loader.loaded_to = to;
        while let Some(message) = self.loader.messages.next_if(|m| m.start < to) {
            let outbox = &self.world.net.core().outbox;
            let (sends, receives) = (outbox.is_here(NodeId(message.src)), outbox.is_here(NodeId(message.dst)));
            let (start, dependency, of_graph) = (message.start, message.dependency, message.sent_by.is_some());
            let (number, traced) = self.world.messages.load(message, sends, receives);
            if traced {
                self.trace(number);
            }
            if dependency.after.is_none() && sends && !of_graph {
                let at = start.saturating_add(dependency.delay);
                self.world.net.core_mut().clock.schedule(at, source(kind::START, number), START_POSTED);
            }
        }
    }

    /// A partition runs in windows, most of them shorter than any budget.
    fn pack_when_due(&mut self, now: Time) {
        if self.world.messages.pack_is_due(now) {
            self.pack_messages();
        }
    }

    /// Packs the rows of finished messages.
    pub(crate) fn pack_messages(&mut self) {
        if !self.tracer.stepping {
            let outbox = &self.world.net.core().outbox;
            self.world.messages.pack(|host| outbox.is_here(NodeId(host)));
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let (number, arg) = (number_of(event.source), event.arg);
        let Self { world, hosts, .. } = self;
        match kind_of(event.source) {
            kind::ARRIVE => {
                let at_host = world.net.arrive(PortId(number), arg);
                self.at_host(PortId(number), at_host);
            }
            kind::PORT => {
                let at_host = world.net.port_wakes(PortIx(arg));
                self.at_host(PortId(number), at_host);
            }
            kind::SENDER => hosts.on_timer(world, Timer::Sender { number, slot: arg }),
            kind::HOST if number & ANSWERS != 0 => hosts.on_timer(world, Timer::Answers { host: arg }),
            kind::HOST => hosts.on_timer(world, Timer::Host { host: arg }),
            kind::RECEIVER => {
                let scheme = (number / world.net.config().graph.hosts) as u16;
                hosts.on_timer(world, Timer::Receiver { host: arg, scheme });
            }
            kind::START => self.start_message(MessageId(number), arg),
            kind::LINK if number & PAUSE_TIMER != 0 => {
                let at_host = world.net.pause_timer(PortIx(arg));
                self.at_host(PortId(number & !PAUSE_TIMER).reverse(), at_host);
            }
            kind::LINK => failure::link_changes(world, hosts, number, arg),
            _ if number & SHAPER != 0 => {
                let at_host = world.net.refill(PortIx(arg));
                self.at_host(PortId(number & !SHAPER), at_host);
            }
            _ => world.net.program_timer(arg),
        }
    }

    /// Handles the part of an event that concerns a host.
    #[inline(always)]
    fn at_host(&mut self, link: PortId, at_host: Option<AtHost>) {
        match at_host {
            None => {}
            Some(AtHost::Nic(nic)) => self.hosts.serve(&mut self.world, nic),
            Some(AtHost::Packet(node, host, ix)) => {
                let head = &self.world.net.core().packets[ix].head;
                self.hosts.count_received(host, head.wire);
                let dst = head.dst;
                if self.world.net.core().probes.traces() {
                    self.world.net.trace_hop(None, node, ix);
                }
                if dst == node {
                    self.hosts.on_packet(&mut self.world, host, ix);
                } else {
                    // Hosts never forward.
                    let ingress = self.world.net.plan().far_ends[link.ix()].ingress;
                    self.world.net.drop_arriving(node, ingress, ix, DropCause::WrongHost);
                }
            }
        }
    }

    /// The application posts a message; it reaches the endpoint at once, or after the host's overhead.
    #[inline(never)]
    fn start_message(&mut self, message: MessageId, step: u32) {
        if step == START_GIVEN_UP {
            let host = self.world.net.plan().layout.home(NodeId(self.world.record(message).dst));
            self.hosts.on_given_up(&mut self.world, host, message);
            return;
        }
        if step == START_POSTED {
            let now = self.world.now();
            let overhead = self.world.messages.post(message, now);
            self.world.net.core_mut().probes.see_message(now, message.0, false);
            if overhead > Time::ZERO {
                let at = now.saturating_add(overhead);
                self.world.net.core_mut().clock.schedule(at, source(kind::START, message.0), START_AFTER_OVERHEAD);
                return;
            }
        }
        if self.world.net.core().probes.captures() {
            self.world.note_incast(message);
        }
        let host = self.world.net.plan().layout.home(NodeId(self.world.record(message).src));
        self.hosts.send_message(&mut self.world, host, message);
    }

    /// Now: everything before this time has happened.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Discards all messages that have not been inserted into the queue yet.
    pub fn stop_messages(&mut self) {
        self.loader.messages = (Box::new(std::iter::empty()) as MessageIter).peekable();
    }

    /// Whether all messages have been loaded.
    pub(crate) fn all_loaded(&mut self) -> bool {
        self.loader.messages.peek().is_none()
    }

    /// Flushes all lazy departures that are due, so that the state read is that of now.
    pub(crate) fn flush(&mut self) {
        self.world.net.flush_all();
    }

    /// Records each hop of a message's data packets from now on, and its waits at its host.
    pub fn trace(&mut self, message: u32) {
        if self.world.net.core_mut().probes.trace(MessageId(message)) {
            self.tracer.add(message, self.world.now());
        }
    }
}
