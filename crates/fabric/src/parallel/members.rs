//! A network in partitions.

use super::crew::Crew;
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

/// A network in one or more partitions, each of which has a thread. One partition is a [`Simulation`] and nothing else.
///
/// While a lookahead window holds fewer than [`super::WORTH`] events, the caller's thread runs all partitions in turn.
pub struct ParallelSimulation {
    /// `None` while another thread runs it.
    pub(super) members: Vec<Option<Box<Simulation>>>,
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
        Self::of(vec![Some(Box::new(one))], Time::NEVER, plan)
    }

    /// Partitions that have not run yet.
    fn of(members: Vec<Option<Box<Simulation>>>, window: Time, plan: Arc<Plan>) -> Self {
        Self {
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
        let members = Reader::all(messages, partitions).into_iter().enumerate().map(|(number, reader)| {
            let share = plan.layout.share(&plan.config.graph, number as u16);
            let queue = CalendarQueue::new(plan.config.seed, spacing, horizon);
            let mut sim =
                Simulation::partition(plan.clone(), &share, traffics.clone(), &schemes, Box::new(reader), queue);
            sim.world.net.allow_lazy();
            Some(Box::new(sim))
        });
        Self::of(members.collect(), window, plan)
    }

    /// The number of partitions, which is the largest number of threads that run.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Gives each partition a thread even where one thread is faster, for tests.
    pub fn always_share(&mut self) {
        (self.sharing, self.always) = (self.count() > 1, true);
    }

    /// How many threads ran most of the events so far.
    pub fn threads(&self) -> usize {
        let [shared, alone] = self.ran;
        if shared > alone { self.count() } else { 1 }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Simulation> {
        self.members.iter().map(|member| member.as_deref().expect("members are here between runs"))
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Simulation> {
        self.members.iter_mut().map(|member| member.as_deref_mut().expect("members are here between runs"))
    }

    /// Any partition, for state that all of them have.
    pub(super) fn any(&self) -> &Simulation {
        self.members[0].as_deref().expect("members are here between runs")
    }

    pub(super) fn only_mut(&mut self) -> &mut Simulation {
        self.members[0].as_deref_mut().expect("members are here between runs")
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
        let partition = self.plan.layout.partition(node) as usize;
        self.members[partition].as_deref().expect("members are here between runs")
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
