//! Load balancing and queue disciplines.

use crate::abi;
use crate::calls::{Inner, reported};
use crate::state::State;
use crate::switch::decided;
use fanin_cc::schemes::own::Failure;
use fanin_cc::{
    Actions, Balancer, BalancerProgram, Choice, Discipline, DisciplineProgram, Header, Queued, SwitchInfo, Verdict,
};
use fanin_units::Time;
use std::sync::Arc;

/// A policy of a library with its parameters.
pub type Shared = Inner<&'static abi::Policy>;

/// It, as a program of a network.
#[derive(Debug)]
pub struct MadePolicy(pub Arc<Shared>);

impl BalancerProgram for MadePolicy {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Balancer> {
        Box::new(CPolicy::open(self.0.clone(), switch))
    }
    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }
}

impl DisciplineProgram for MadePolicy {
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Discipline> {
        Box::new(CPolicy::open(self.0.clone(), switch))
    }
    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }
}

/// A policy at one switch.
struct CPolicy {
    policy: Arc<Shared>,
    state: State,
    node: u32,
    /// See [`SwitchInfo::numbered_paths`].
    numbered_paths: bool,
    /// Whether a hook has failed: then none is called any more, and the defaults hold.
    failed: bool,
    /// What hooks count, which no result has.
    counts: Actions,
    /// The choices of a call, kept for their memory.
    choices: Vec<abi::Choice>,
}

impl CPolicy {
    /// A switch comes up.
    fn open(policy: Arc<Shared>, switch: &SwitchInfo<'_>) -> Self {
        let (hooks, state) = (policy.of, State::new(policy.of.size));
        let (counts, choices) = (Actions::default(), Vec::new());
        let (node, numbered_paths) = (switch.node.0, switch.numbered_paths);
        let mut policy = Self { policy, state, node, numbered_paths, failed: false, counts, choices };
        if let Some(open) = hooks.open {
            let ports: Vec<abi::Port> = switch.ports.iter().map(Into::into).collect();
            let info = abi::SwitchInfo::new(switch, &ports);
            policy.run("open", Time::ZERO, |me, _, cx| open(me, &info, cx));
        }
        policy
    }

    /// Runs a hook with the state, the choices and the context; `None` if one has failed, this one or an earlier one.
    #[inline(always)]
    fn run<T>(
        &mut self,
        name: &str,
        now: Time,
        hook: impl FnOnce(abi::State, &[abi::Choice], &mut abi::Cx) -> T,
    ) -> Option<T> {
        if self.failed {
            return None;
        }
        let mut c = self.policy.cx(now, &mut self.counts, abi::NEVER);
        let result = hook(self.state.at(), &self.choices, &mut c);
        if !c.problem.is_null() | (c.wake_at != abi::NEVER) {
            let timer = || "set wake_at, but load balancing and queue disciplines have no timer: leave it".to_string();
            self.fail(name, now, &reported(&c).unwrap_or_else(timer));
            return None;
        }
        Some(result)
    }

    /// Writes what a hook has changed of a packet.
    #[inline(always)]
    fn write(&mut self, hook: &str, now: Time, c: &abi::Packet, packet: &mut Header) {
        if let Err(problem) = c.write_to(packet, self.numbered_paths) {
            self.fail(hook, now, problem);
        }
    }

    #[cold]
    fn fail(&mut self, hook: &str, now: Time, problem: &str) {
        self.failed = true;
        self.policy.fail(hook, &format!("switch {}", self.node), now, problem);
    }
}

impl Balancer for CPolicy {
    fn choose(&mut self, now: Time, packet: &Header, hash: u32, choices: &[Choice]) -> usize {
        let Some(choose) = self.policy.of.choose else { return 0 };
        let packet = packet.into();
        self.choices.clear();
        self.choices.extend(choices.iter().map(abi::Choice::from));
        let chosen = self.run("choose", now, |me, choices, cx| {
            choose(me, &packet, hash, choices.as_ptr(), choices.len() as u32, cx)
        });
        match chosen {
            None => 0,
            Some(chosen) if (chosen as usize) < choices.len() => chosen as usize,
            Some(chosen) => {
                let said = format!("chose {chosen} of {} ports: they are numbered from 0", choices.len());
                self.fail("choose", now, &said);
                0
            }
        }
    }
}

/// The queue that a packet joins or leaves. A discipline also sees that of the packet's class.
fn queue(queued: &Queued<'_>) -> abi::Queue {
    let mut queue = abi::Queue::from(queued);
    queue.view.of_class = queued.view.lane.queued;
    queue.view.paused = queued.view.lane.stopped.into();
    queue
}

impl Discipline for CPolicy {
    fn on_enqueue(&mut self, now: Time, queued: &mut Queued<'_>) -> Verdict {
        let Some(hook) = self.policy.of.on_enqueue else { return Verdict::Admit };
        let (mut c, queue) = (abi::Packet::from(&*queued.packet), queue(queued));
        let Some(answer) = self.run("on_enqueue", now, |me, _, cx| hook(me, &mut c, &queue, cx)) else {
            return Verdict::Admit;
        };
        self.write("on_enqueue", now, &c, queued.packet);
        decided(answer, &c, queued.packet).unwrap_or_else(|problem| {
            self.fail("on_enqueue", now, &problem);
            Verdict::Admit
        })
    }

    fn on_dequeue(&mut self, now: Time, queued: &mut Queued<'_>) -> bool {
        let Some(hook) = self.policy.of.on_dequeue else { return false };
        let (mut c, queue) = (abi::Packet::from(&*queued.packet), queue(queued));
        if self.run("on_dequeue", now, |me, _, cx| hook(me, &mut c, &queue, cx)).is_none() {
            return false;
        }
        self.write("on_dequeue", now, &c, queued.packet);
        c.marks(queued.packet)
    }
}
