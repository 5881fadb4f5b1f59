//! A network in partitions.

use super::crew::{Crew, Members};
use super::reasons::{lookahead, why_not_cut};
use super::source::Reader;
use crate::config::{NetworkConfig, TrafficConfig};
use crate::layout::Layout;
use crate::messages::traffics;
use crate::plan::Plan;
use crate::sim::{MessageIter, Simulation};
use fanin_engine::CalendarQueue;
use fanin_units::{NodeId, Time};
use std::sync::Arc;

/// A network in one or more partitions. Each has a thread, unless [`Self::on`] asks for fewer. One partition is a
/// [`Simulation`] and nothing else.
///
/// While a lookahead window holds fewer than [`super::WORTH`] events, the caller's thread runs all partitions in turn
/// and looks for the next event after each window.
pub struct ParallelSimulation {
    /// In order; while threads run them only those of the caller's.
    pub(super) members: Members,
    /// The most threads that run them.
    pub(super) most_threads: usize,
    /// How far partitions may run ahead of each other: the lookahead.
    pub(super) window: Time,
    /// The other threads, once a run has used them.
    pub(super) crew: Option<Crew>,
    /// Whether they are used now, and whether they always are.
    pub(super) sharing: bool,
    pub(super) always: bool,
    /// Lookahead windows and events since that was last decided.
    pub(super) since: [u64; 2],
    /// Events run by many threads, and by one.
    pub(super) ran: [u64; 2],
    /// Recent events per lookahead window.
    pub(super) density: u64,
    pub(super) plan: Arc<Plan>,
}

impl ParallelSimulation {
    /// A network at time zero, whole. Messages come in the order of their start.
    pub fn whole(config: NetworkConfig, traffics: Vec<TrafficConfig>, messages: MessageIter) -> Self {
        let one = Simulation::new(config, traffics, messages);
        let plan = one.world.net.plan().clone();
        Self::of(vec![Box::new(one)], Time::NEVER, plan)
    }

    /// Partitions that have not run yet.
    fn of(members: Members, window: Time, plan: Arc<Plan>) -> Self {
        Self {
            most_threads: members.len(),
            members,
            window,
            crew: None,
            sharing: false,
            always: false,
            since: [0; 2],
            ran: [0; 2],
            density: u64::MAX,
            plan,
        }
    }

    /// The same cut into partitions, given for each node: `0..partitions`, each at least once.
    ///
    /// [`why_not_cut`] must be `None` for the network, and links between partitions must have a delay.
    ///
    /// # Panics
    /// Where a partition is missing, or a link between two has no delay.
    pub fn cut(config: NetworkConfig, configs: Vec<TrafficConfig>, messages: MessageIter, of: &[u16]) -> Self {
        if of.iter().all(|partition| *partition == 0) {
            return Self::whole(config, configs, messages);
        }
        assert_eq!(of.len(), config.graph.names.len(), "a partition for each node");
        debug_assert_eq!(why_not_cut(&config, &configs), None, "the network cannot be cut");
        // Partitions without a link between them never have to wait for each other.
        let window = lookahead(&config.graph, of).unwrap_or(Time::from_ms(1));
        assert!(window > Time::ZERO, "a link without delay between two partitions");
        let (traffics, schemes) = traffics(&configs);
        let layout = Layout::new(&config.graph, of.to_vec());
        let partitions = layout.partitions();
        let (spacing, horizon) = config.event_spacing(partitions);
        let plan = Arc::new(Plan::new(config, layout, &schemes));
        let shares = plan.layout.shares(&plan.config.graph);
        let members = Reader::all(messages, partitions).into_iter().zip(shares).map(|(reader, share)| {
            let queue = CalendarQueue::new(plan.config.seed, spacing, horizon);
            let mut sim =
                Simulation::partition(plan.clone(), &share, traffics.clone(), &schemes, Box::new(reader), queue);
            sim.world.net.allow_lazy();
            Box::new(sim)
        });
        Self::of(members.collect(), window, plan)
    }

    /// The number of partitions.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Runs it on at most so many threads: partitions are then taken in turn, so that the memory of each stays in a
    /// core's cache while it runs. The result does not depend on it.
    #[must_use]
    pub fn on(mut self, threads: usize) -> Self {
        self.most_threads = threads.clamp(1, self.count());
        self
    }

    /// The largest number of threads that run.
    pub fn most_threads(&self) -> usize {
        self.most_threads
    }

    /// Uses threads even where one is faster, for tests.
    pub fn always_share(&mut self) {
        (self.sharing, self.always) = (self.count() > 1, true);
    }

    /// How many threads ran most of the events so far.
    pub fn threads(&self) -> usize {
        let [shared, alone] = self.ran;
        if shared > alone { self.most_threads } else { 1 }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Simulation> {
        self.members.iter().map(|member| &**member)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Simulation> {
        self.members.iter_mut().map(|member| &mut **member)
    }

    /// Any partition, for state that all of them have.
    pub(super) fn any(&self) -> &Simulation {
        &self.members[0]
    }

    pub(super) fn only_mut(&mut self) -> &mut Simulation {
        &mut self.members[0]
    }

    /// The network, where it is in one partition.
    pub fn one_mut(&mut self) -> Option<&mut Simulation> {
        if self.members.len() == 1 { Some(self.only_mut()) } else { None }
    }

    /// See [`Self::one_mut`].
    pub fn one(&self) -> Option<&Simulation> {
        (self.members.len() == 1).then(|| self.any())
    }

    /// The partition with a node.
    pub(super) fn with(&self, node: NodeId) -> &Simulation {
        &self.members[self.plan.layout.partition(node) as usize]
    }

    /// The partition with a host.
    pub(super) fn with_host(&self, host: u32) -> &Simulation {
        self.with(NodeId(host))
    }

    /// Events so far.
    pub(super) fn events(&self) -> u64 {
        self.all().map(Simulation::events).sum()
    }
}
