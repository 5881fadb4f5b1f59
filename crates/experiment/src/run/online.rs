//! A run whose messages a program posts as it goes on: it is told when they end, and decides what comes next.
//!
//! The program's answers are part of the simulation: the run stands still at each instant at which it is told
//! something, until it asks for the next. So the results are a function of the spec and of the calls alone.

use super::{DRAIN_STEP, EVENTS_PER_LOADED, EVENTS_PER_LOOK, EVENTS_PER_TAKE, Engine, Outcome, Runner, runner, sent};
use crate::built::Built;
use crate::spec::NO_WAY;
use fanin_fabric::topology::{Graph, Reach};
use fanin_fabric::{Message, News, ParallelSimulation, Simulation};
use fanin_units::Time;

/// Numbers of messages are below this.
const MOST: u32 = 1 << 28;
/// So many numbers beyond those that were used before may be left out: each costs memory.
const AHEAD: u64 = 1 << 20;
/// How far the run goes at first without looking whether anything is left to happen; twice as far each time.
const FIRST_STEP: Time = Time::from_us(100);

/// Such a run. It has one traffic, to which all messages belong.
pub struct Online {
    runner: Runner<'static, Box<dyn Engine>>,
    graph: Graph,
    /// Which hosts reach each other, where some may not.
    reach: Option<Reach>,
    /// The end of the measured window, after which nothing happens.
    end: Time,
    /// The numbers used so far, one bit each.
    used: Vec<u64>,
    posted: u64,
    told: Vec<News>,
}

impl Online {
    /// The run of a spec whose only traffic has the pattern "posted", at time zero.
    pub fn new(mut built: Built) -> Self {
        let messages = std::mem::replace(&mut built.messages, Box::new(std::iter::empty()));
        let mut sim = ParallelSimulation::whole(built.network.clone(), built.traffics.clone(), messages);
        let end = built.measure.warm_up.saturating_add(built.measure.window);
        if let Some(one) = sim.one_mut() {
            one.expect_posts();
            // What the network itself does at time zero comes before the first post.
            one.wake(Time::ZERO, 0);
        }
        let sim: Box<dyn Engine> = Box::new(sim);
        let (mut runner, graph, _) = runner(built, sim, |_: &_| true);
        runner.sent_before = sent(&*runner.sim);
        let reach = Reach::of(&graph);
        let mut online = Self { runner, graph, reach, end, used: Vec::new(), posted: 0, told: Vec::new() };
        online.run();
        online.told.clear();
        online
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The instant at which the run stands: that of what [`advance`](Self::advance) told last.
    pub fn now(&self) -> Time {
        self.runner.sim.now()
    }

    /// Messages posted of whose arrival their senders do not know yet.
    pub fn under_way(&mut self) -> u64 {
        self.one().map_or(0, Simulation::posts_under_way)
    }

    /// Posts a message of at least a byte between two hosts now, under a number that is not used before. Numbers choose
    /// among equal paths, and should follow each other.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn post(&mut self, src: u32, dst: u32, bytes: u64, number: u32) -> Result<(), String> {
        let hosts = self.graph.hosts;
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if let Some(host) = [src, dst].into_iter().find(|host| *host >= hosts) {
            return Err(format!("message {number}: there is no host {host}; the network has {hosts}, from 0"));
        }
        if src == dst {
            return Err(format!("message {number}: host {src} sends to itself; messages are between different hosts"));
        }
        if self.reach.as_ref().is_some_and(|reach| !reach.joins(src, dst)) {
            return Err(format!("message {number}: no way leads from host {src} to host {dst}; {NO_WAY}"));
        }
        if bytes == 0 || bytes > fanin_graph::LARGEST {
            return Err(format!("message {number}: it has {bytes} bytes; give 1 to 2^50"));
        }
        if number >= MOST || u64::from(number) > self.posted + AHEAD {
            let right = "count messages up from 0";
            return Err(format!("message {number}: the number is too large after {} messages; {right}", self.posted));
        }
        if self.used.get(word).is_some_and(|used| used & bit != 0) {
            return Err(format!("message {number}: the number was used before; give each message one of its own"));
        }
        if word >= self.used.len() {
            self.used.resize(word + 1, 0);
        }
        self.used[word] |= bit;
        self.posted += 1;
        let start = self.now();
        let message = Message { start, src, dst, bytes, group: u32::MAX, ..Message::default() };
        if let Some(sim) = self.one() {
            sim.post(number, &message);
        }
        Ok(())
    }

    /// Has the program woken at a time that is not over.
    ///
    /// # Errors
    /// If it is over.
    pub fn wake(&mut self, at: Time, name: u64) -> Result<(), String> {
        let now = self.now();
        if at < now {
            return Err(format!("wake {name}: {at} is over, it is {now}; wake at that time or later"));
        }
        if let Some(sim) = self.one() {
            sim.wake(at, name);
        }
        Ok(())
    }

    /// Runs to the first instant at which a message has arrived, its sender has learned of that, or the program is
    /// woken, and returns all of that instant: messages by number, then wakes in the order of the calls. Nothing if no
    /// message is under way and no wake is left.
    ///
    /// # Errors
    /// Messages are under way and will never arrive, or the measured window is over.
    pub fn advance(&mut self) -> Result<&[News], String> {
        self.told.clear();
        self.run();
        if let Some(failure) = &self.runner.failure {
            return Err(failure.problem.clone());
        }
        if !self.told.is_empty() {
            return Ok(&self.told);
        }
        let now = self.now();
        match self.under_way() {
            _ if now >= self.end => Err(format!("the measured window is over at {now}; lengthen measure.window")),
            0 => Ok(&self.told),
            left => Err(format!("{left} messages are under way at {now}, and nothing will ever happen to them")),
        }
    }

    /// Ends the run. What is under way is left so; otherwise the measured window ends where that of a run ends which
    /// stops when all is done, so that what trails behind the last message counts.
    pub fn finish(mut self) -> Outcome {
        self.runner.cancelled |= self.under_way() > 0;
        let now = self.now();
        let step = DRAIN_STEP.as_ps();
        let end = match self.runner.cancelled {
            true => now.max(Time::from_ps(1)),
            false => Time::from_ps((now.as_ps() / step + 1) * step).min(self.end),
        };
        // With its samples, and what is captured of it.
        self.runner.advance(end);
        self.runner.window_end = end;
        self.runner.close_window();
        self.runner.finish(self.graph, Vec::new())
    }

    fn one(&mut self) -> Option<&mut Simulation> {
        self.runner.sim.simulator_mut().and_then(ParallelSimulation::one_mut)
    }

    /// Runs until there is something to tell, or nothing will happen any more.
    fn run(&mut self) {
        let budget = match (self.runner.traces.any(), self.runner.loaded.is_empty()) {
            (true, _) => EVENTS_PER_TAKE,
            (false, false) => EVENTS_PER_LOADED,
            (false, true) => EVENTS_PER_LOOK,
        };
        let mut step = FIRST_STEP;
        let mut to = self.now().saturating_add(step);
        loop {
            let sample = self.runner.samplers.iter().map(|sampler| sampler.next).min().unwrap_or(Time::NEVER);
            let now = self.now();
            let limit = to.min(sample).min(self.end).min(self.runner.loaded.next_check(now));
            let mut told = std::mem::take(&mut self.told);
            let Some(sim) = self.runner.sim.simulator_mut().and_then(ParallelSimulation::one_mut) else { return };
            let reached = !sim.has_nothing_to_tell() && sim.run_to_news(limit, budget, &mut told);
            // Only where nothing was told: whether the network stands still takes a while to find out.
            let idle = told.is_empty() && (sim.has_nothing_to_tell() || sim.is_over());
            if self.runner.traces.any() {
                self.runner.traces.take(sim);
            }
            self.told = told;
            if !self.told.is_empty() || self.runner.has_failed() || idle || reached && limit == self.end {
                return;
            }
            if reached && limit == sample {
                self.runner.sample(sample);
            }
            if reached && limit == to {
                step = step.saturating_add(step);
                to = to.saturating_add(step);
            }
        }
    }
}
