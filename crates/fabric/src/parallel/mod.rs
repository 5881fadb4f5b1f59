//! One run on many threads: the network is cut into parts, each a whole [`Simulation`] in which only the events of its own
//! nodes run.
//!
//! A part may run a window ahead of the others that is as long as the shortest link between two of them, for what one sends to
//! another arrives after that. It looks into its mail four times in a window, and waits for those that are a window behind; now
//! and then all meet and go on from the next event that any of them has. Events have one order that depends neither on the queue
//! they stand in nor on when they joined it, every random stream belongs to one node or port, and facts add up; so a run gives
//! the same result for any cut.
//!
//! What would act on two parts at once is not cut: see [`why_not_cut`]. What a receiver looks up of its sender's decisions
//! travels ahead of the packets (`part::News`). Tables are merged by who owns a row (`together.rs`): the sender's half of a
//! message, the receiver's half, a port.

mod barrier;
mod cut;
mod part;
mod reasons;
mod source;
mod together;

pub(crate) use part::{ELSEWHERE, News, Part};

pub use cut::cut;
pub use reasons::{plan, why_not_cut, window};

use crate::config::{Message, NetworkConfig, TrafficConfig};
use crate::sim::{Simulation, event_spacing};
use barrier::{Barrier, Presence};
use fanin_engine::CalendarQueue;
use fanin_units::Time;
use part::Mail;
use source::Reader;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Events per window from which on threads are worth their meeting at its end: some tens of microseconds of work.
pub const WORTH: u64 = 400;
/// Windows between two looks at whether they are.
const LOOK: u64 = 64;
/// Most windows between two meetings of all threads.
const STRETCH: u64 = 16;
/// Events after which they should meet where a window holds many: a second's work, or less.
const SOON: u64 = 1_000_000;
/// Steps of a window.
const AHEAD: u64 = 4;
/// Mailboxes from part to part.
const BOXES: usize = 2 * AHEAD as usize;
/// What it takes to start all threads and to wait for their end, in windows.
const START: u64 = 2;

/// A network in one or more parts, each of which has a thread. One part is a [`Simulation`] and nothing else.
///
/// Where a window holds less than [`WORTH`] events, the caller's thread runs all parts in turn, until there are more again.
pub struct Parts {
    /// Those of the other threads are away while they run.
    members: Vec<Option<Box<Simulation>>>,
    /// How far parts may run ahead of each other.
    window: Time,
    /// The other threads, once they were worth it.
    crew: Option<Crew>,
    /// Whether they are now.
    sharing: bool,
    /// Whether they always are.
    always: bool,
    /// Windows and events since the last look at whether they are.
    since: [u64; 2],
    /// Events that many threads ran, and one.
    ran: [u64; 2],
    /// Events of a window, lately.
    density: u64,
    /// The part of each node; empty where there is one part.
    of: Arc<[u16]>,
}

/// The threads of a run but the first, which is the caller's.
struct Crew {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// How far the part of a thread is. A line of the cache each, since each is written by another thread.
#[derive(Default)]
#[repr(align(128))]
struct State {
    /// When something happens next there, in picoseconds.
    next: AtomicU64,
    /// Events since the run began.
    events: AtomicU64,
    /// Steps of this stretch that it has done.
    done: AtomicU64,
}

/// What threads of a run share.
struct Shared {
    parts: usize,
    window: Time,
    barrier: Barrier,
    states: Vec<State>,
    /// From part to part, by `from * parts + to`, and by the step it was sent in: as many as those in which it was not read yet
    /// and those in which it is written, for a part is never more than two windows ahead of another.
    mail: Vec<[Mutex<Mail>; BOXES]>,
    /// Where the members of the other threads lie before and after a run.
    desks: Vec<Mutex<Option<Box<Simulation>>>>,
    task: Mutex<Task>,
}

/// What the threads are to do.
#[derive(Clone, Copy)]
enum Task {
    Run { until: Time, budget: u64, density: u64 },
    Stop,
}

/// Why a stretch of a run ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Arrived,
    Spent,
    /// It is time to look whether threads are worth it.
    Look,
}

/// Windows until all threads meet again, where each holds so many events: whoever waits for the end of a budget, or wants to
/// stop, does not wait for long.
fn stretch_of(density: u64) -> u64 {
    (SOON / density.max(1)).clamp(1, STRETCH)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Parts {
    /// A network at time zero, whole. Messages come in the order of their start.
    pub fn whole(
        config: NetworkConfig,
        traffics: Vec<TrafficConfig>,
        messages: Box<dyn Iterator<Item = Message> + Send>,
    ) -> Self {
        Self::of_one(Simulation::new(config, traffics, messages))
    }

    fn of_one(sim: Simulation) -> Self {
        Self::of(vec![Some(Box::new(sim))], Time::NEVER, Arc::new([]))
    }

    /// Parts that have not run yet.
    fn of(members: Vec<Option<Box<Simulation>>>, window: Time, of: Arc<[u16]>) -> Self {
        Self {
            members,
            window,
            crew: None,
            sharing: false,
            always: false,
            since: [0; 2],
            ran: [0; 2],
            density: u64::MAX,
            of,
        }
    }

    /// The same cut into parts, given for each node: `0..parts`, each at least once.
    ///
    /// The network must be one that [`why_not_cut`] has nothing against, and links between parts must have a delay.
    ///
    /// # Panics
    /// Where a part is missing, or a link between two has no delay.
    pub fn cut(
        config: NetworkConfig,
        traffics: Vec<TrafficConfig>,
        messages: Box<dyn Iterator<Item = Message> + Send>,
        of: &[u16],
    ) -> Self {
        let parts = of.iter().max().map_or(1, |most| *most as usize + 1);
        if parts == 1 {
            return Self::whole(config, traffics, messages);
        }
        assert_eq!(of.len(), config.graph.names.len(), "a part for each node");
        debug_assert_eq!(why_not_cut(&config, &traffics), None, "the network cannot be cut");
        // Parts between which there is no link never have to wait for each other.
        let window = window(&config.graph, of).unwrap_or(Time::from_ms(1));
        assert!(window > Time::ZERO, "a link without delay between two parts");
        let of: Arc<[u16]> = of.into();
        let (spacing, horizon) = event_spacing(&config);
        let spacing = Time::from_ps(spacing.as_ps().saturating_mul(parts as u64));
        let build = |(number, reader): (usize, Reader)| {
            let part = Part::new(of.clone(), number as u16, parts);
            let queue = CalendarQueue::new(config.seed, spacing, horizon);
            let mut sim = Simulation::part_of_network(config.clone(), traffics.clone(), Box::new(reader), queue, part);
            sim.be_patient();
            Some(Box::new(sim))
        };
        let readers = Reader::all(messages, parts);
        let members = std::thread::scope(|scope| {
            let build = &build;
            let threads: Vec<_> =
                readers.into_iter().enumerate().map(|reader| scope.spawn(move || build(reader))).collect();
            let built = threads.into_iter().map(|thread| thread.join());
            built.map(|member| member.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        Self::of(members, window, of)
    }

    /// How many parts there are, which is the most threads that run.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Gives each part a thread even where that is not worth it, for tests.
    pub fn always_share(&mut self) {
        (self.sharing, self.always) = (self.count() > 1, true);
    }

    /// How many threads ran most of the events so far.
    pub fn threads(&self) -> usize {
        let [shared, alone] = self.ran;
        if shared > alone { self.count() } else { 1 }
    }

    /// Runs all events before `until`, at most about `budget` of them; a cut network stops where all threads meet. Returns
    /// whether it got there.
    pub fn run_until(&mut self, until: Time, budget: u64) -> bool {
        if self.members.len() == 1 {
            return self.only_mut().run_until(until, budget);
        }
        let mut left = budget;
        loop {
            let before = self.events();
            let (ended, windows) =
                if self.sharing { self.run_shared(until, left) } else { self.run_alone(until, left) };
            let ran = self.events() - before;
            self.ran[usize::from(!self.sharing)] += ran;
            self.density = ran.checked_div(windows).unwrap_or(self.density);
            self.look(windows + START, ran);
            left = left.saturating_sub(ran);
            if ended != Ended::Look {
                self.all_mut().for_each(Simulation::all_catch_up);
                return ended == Ended::Arrived;
            }
        }
    }

    /// Counts windows and their events, and now and then decides who runs the next ones.
    fn look(&mut self, windows: u64, events: u64) {
        let [all, held] = &mut self.since;
        *all += windows;
        *held += events;
        if *all >= LOOK || *held >= LOOK * WORTH {
            // It takes less to go on than to begin, so that they do not change their minds all the time.
            let worth = if self.sharing { WORTH / 2 } else { WORTH };
            self.sharing = self.always || *held / *all >= worth;
            self.since = [0; 2];
        }
    }

    /// All parts in turn. Answers why that ended, and after how many windows.
    fn run_alone(&mut self, until: Time, budget: u64) -> (Ended, u64) {
        let window = self.window;
        let mut members: Vec<&mut Simulation> = self.members.iter_mut().filter_map(Option::as_deref_mut).collect();
        let events = |members: &[&mut Simulation]| members.iter().map(|member| member.totals.events).sum::<u64>();
        let before = events(&members);
        let mut windows = 0;
        loop {
            let next = members.iter_mut().map(|member| member.next_at()).min().unwrap_or(Time::NEVER);
            if next >= until {
                members.iter_mut().for_each(|member| _ = member.advance(until, u64::MAX));
                return (Ended::Arrived, windows);
            }
            if events(&members) - before >= budget {
                return (Ended::Spent, windows);
            }
            if windows == LOOK {
                return (Ended::Look, windows);
            }
            windows += 1;
            let end = next.saturating_add(window).min(until);
            for member in &mut members {
                member.advance(end, u64::MAX);
                member.collect_mail();
            }
            for from in 0..members.len() {
                for to in (0..members.len()).filter(|to| *to != from) {
                    let mut mail = core::mem::take(&mut members[from].part.out[to]);
                    members[to].take_mail(&mut mail);
                    members[from].part.out[to] = mail;
                }
            }
        }
    }

    /// Each part on a thread of its own.
    fn run_shared(&mut self, until: Time, budget: u64) -> (Ended, u64) {
        let (count, window, density) = (self.members.len(), self.window, self.density);
        let crew = self.crew.get_or_insert_with(|| Crew::new(count, window));
        let shared = crew.shared.clone();
        *lock(&shared.task) = Task::Run { until, budget, density };
        for (desk, member) in shared.desks.iter().zip(&mut self.members).skip(1) {
            *lock(desk) = member.take();
        }
        let own = self.members[0].as_mut().expect("members are here between runs");
        let ended = {
            let _present = Presence(&shared.barrier);
            let begun = shared.barrier.wait();
            let ended = begun.then(|| shared.run(own, 0, until, (budget, density))).flatten();
            ended.filter(|_| shared.barrier.wait())
        };
        let Some(ended) = ended else { crew.tell_panic() };
        for (desk, member) in shared.desks.iter().zip(&mut self.members).skip(1) {
            *member = lock(desk).take();
        }
        ended
    }
}

impl Shared {
    /// Runs one part until all find the same reason to end, where a window is expected to hold so many events; nothing when
    /// another one panicked.
    fn run(
        &self,
        member: &mut Simulation,
        number: usize,
        until: Time,
        (budget, mut density): (u64, u64),
    ) -> Option<(Ended, u64)> {
        let before = member.totals.events;
        let mut windows = 0;
        loop {
            let state = &self.states[number];
            state.next.store(member.next_at().as_ps(), Relaxed);
            state.events.store(member.totals.events - before, Relaxed);
            state.done.store(0, Relaxed);
            // The barrier orders what is written before it and what is read after it.
            if !self.barrier.wait() {
                return None;
            }
            let all = self.states.iter();
            let next = all.clone().map(|state| state.next.load(Relaxed)).min().map_or(Time::NEVER, Time::from_ps);
            let events: u64 = all.map(|state| state.events.load(Relaxed)).sum();
            if next >= until {
                member.advance(until, u64::MAX);
                return Some((Ended::Arrived, windows));
            }
            if events >= budget {
                return Some((Ended::Spent, windows));
            }
            if windows >= 4 * LOOK {
                return Some((Ended::Look, windows));
            }
            density = events.checked_div(windows).unwrap_or(density);
            windows += self.stretch(member, number, next, until, stretch_of(density))?;
        }
    }

    /// Runs so many windows of one part from `next` on, in steps of which [`AHEAD`] make a window. What others send in a step
    /// arrives [`AHEAD`] steps later or after that, so a step has to wait only for what they did so long before: nobody waits
    /// for a part that has much to do in one step until it is a window behind. Answers how many windows these were.
    fn stretch(&self, member: &mut Simulation, number: usize, next: Time, until: Time, windows: u64) -> Option<u64> {
        let step = self.window.as_ps() / AHEAD;
        let (step, ahead) = if step > 0 { (step, AHEAD) } else { (self.window.as_ps(), 1) };
        let others = || (0..self.parts).filter(|other| *other != number);
        let take = |sim: &mut Simulation, of: u64| {
            for from in others() {
                sim.take_mail(&mut lock(&self.mail[from * self.parts + number][of as usize % BOXES]));
            }
        };
        let mut done = 0;
        let mut end = next;
        while done < windows * ahead && end < until {
            let read = done.checked_sub(ahead);
            if let Some(read) = read {
                // What is written before a part says that it is done is read after that.
                let behind = || others().any(|other| self.states[other].done.load(Acquire) <= read);
                if !self.barrier.wait_while(behind) {
                    return None;
                }
                take(member, read);
            }
            end = end.saturating_add(Time::from_ps(step)).min(until);
            member.advance(end, u64::MAX);
            member.collect_mail();
            for (to, mail) in member.part.out.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
                core::mem::swap(mail, &mut *lock(&self.mail[number * self.parts + to][done as usize % BOXES]));
            }
            done += 1;
            self.states[number].done.store(done, Release);
        }
        if !self.barrier.wait() {
            return None;
        }
        (done.saturating_sub(ahead)..done).for_each(|of| take(member, of));
        Some(done.div_ceil(ahead))
    }

    /// What one of the other threads does all its life.
    fn work(&self, number: usize) {
        let _present = Presence(&self.barrier);
        while self.barrier.wait() {
            let task = *lock(&self.task);
            let Task::Run { until, budget, density } = task else { return };
            let Some(mut member) = lock(&self.desks[number]).take() else { return };
            if self.run(&mut member, number, until, (budget, density)).is_none() {
                return;
            }
            *lock(&self.desks[number]) = Some(member);
            if !self.barrier.wait() {
                return;
            }
        }
    }
}

impl Crew {
    fn new(parts: usize, window: Time) -> Self {
        let shared = Arc::new(Shared {
            parts,
            window,
            barrier: Barrier::new(parts),
            states: (0..parts).map(|_| State::default()).collect(),
            mail: (0..parts * parts).map(|_| Default::default()).collect(),
            desks: (0..parts).map(|_| Mutex::new(None)).collect(),
            task: Mutex::new(Task::Stop),
        });
        let work = |number: usize| {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("part {number}"));
            thread.spawn(move || shared.work(number)).expect("the system starts a thread")
        };
        let threads = (1..parts).map(work).collect();
        Self { shared, threads }
    }

    /// One of the threads panicked: so does the caller, with what that one said.
    fn tell_panic(&mut self) -> ! {
        let mut said: Option<Box<dyn std::any::Any + Send>> = None;
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                said = Some(panic);
            }
        }
        match said {
            Some(panic) => std::panic::resume_unwind(panic),
            None => panic!("a part of the network was lost"),
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        *lock(&self.shared.task) = Task::Stop;
        // After a panic here the others are on their way out.
        self.shared.barrier.wait();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_meet_soon_even_where_a_window_holds_much() {
        assert_eq!([0, 1, 62_500, 250_000, 600_000, 2_000_000, u64::MAX].map(stretch_of), [16, 16, 16, 4, 1, 1, 1]);
    }
}
