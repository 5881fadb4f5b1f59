//! The program of a switch.

use crate::abi;
use crate::calls::Inner;
use crate::foreign::PortView;
use crate::state::State;
use fanin_cc::schemes::own::Params;
use fanin_cc::{Actions, Cx, Header, Ports, Queued, SwitchInfo, SwitchProgram, Verdict, flags};
use fanin_units::Time;
use std::sync::Arc;

type C<'a> = Cx<'a, Params>;

/// A switch program in a library.
pub struct CSwitch {
    wake_at: u64,
    hooks: &'static abi::Switch,
    state: State,
    node: u32,
    /// See [`SwitchInfo::numbered_paths`].
    numbered_paths: bool,
    now: Time,
    /// Whether a hook has failed: then none is called any more, and the defaults hold.
    failed: bool,
    scheme: Arc<Inner>,
}

impl CSwitch {
    /// A switch comes up.
    pub fn open(scheme: Arc<Inner>, switch: &SwitchInfo<'_>) -> Self {
        let (hooks, state, now) = (scheme.of.switch, State::new(scheme.of.switch.size), Time::ZERO);
        let (node, numbered_paths) = (switch.node.0, switch.numbered_paths);
        let mut program = Self { wake_at: abi::NEVER, hooks, state, node, numbered_paths, now, failed: false, scheme };
        if let Some(open) = hooks.open {
            let ports: Vec<abi::Port> = switch.ports.iter().map(Into::into).collect();
            let info = abi::SwitchInfo::new(switch, &ports);
            program.run("switch_program.open", now, &mut Actions::default(), |me, cx| open(me, &info, cx));
        }
        program
    }

    /// Runs a hook, and checks what it has set.
    #[inline(always)]
    fn run<T>(
        &mut self,
        name: &str,
        now: Time,
        actions: &mut Actions,
        hook: impl FnOnce(abi::State, &mut abi::Cx) -> T,
    ) -> Option<T> {
        if self.failed {
            return None;
        }
        let mut c = self.scheme.cx(now, actions, self.wake_at);
        let result = hook(self.state.at(), &mut c);
        self.now = now;
        if !c.problem.is_null() | (c.wake_at != self.wake_at && c.wake_at <= c.now) {
            self.fail(name, &self.scheme.complaint(&c, c.wake_at));
        }
        self.wake_at = c.wake_at;
        Some(result)
    }

    #[cold]
    fn fail(&mut self, hook: &str, problem: &str) {
        self.failed = true;
        self.scheme.fail(hook, &format!("switch {}", self.node), self.now, problem);
    }

    /// Writes what a hook has changed of a packet.
    #[inline(always)]
    fn write(&mut self, hook: &str, c: &abi::Packet, packet: &mut Header) {
        if let Err(problem) = c.write_to(packet, self.numbered_paths) {
            self.fail(hook, problem);
        }
    }

    #[cold]
    fn lacks(&mut self, hook: &str, port: u32, count: u16) {
        self.fail(hook, &format!("named port {port}, but the switch has {count}: they are numbered from 0"));
    }
}

/// The verdict that an `on_enqueue` has answered, where the packet is now `c`.
///
/// # Errors
/// If it is none.
pub fn decided(answer: u32, c: &abi::Packet, packet: &Header) -> Result<Verdict, String> {
    match answer {
        abi::ADMIT if c.marks(packet) => Ok(Verdict::Mark),
        abi::ADMIT => Ok(Verdict::Admit),
        abi::MARK if packet.has(flags::ECT) => Ok(Verdict::Mark),
        abi::MARK => Ok(Verdict::Admit),
        abi::DROP => Ok(Verdict::Drop),
        abi::TRIM => Ok(Verdict::Trim),
        other => Err(format!("answered {other}: return FANIN_ADMIT, FANIN_MARK, FANIN_DROP or FANIN_TRIM")),
    }
}

impl SwitchProgram for CSwitch {
    type Params = Params;

    fn new(_: &Params, switch: &SwitchInfo<'_>) -> Self {
        unreachable!("switch programs are opened by the scheme's program, not for {switch:?}")
    }
    fn route(&mut self, packet: &mut Header, ingress: u16, minimal: u16, ports: &dyn Ports, cx: &mut C<'_>) -> u16 {
        let Some(hook) = self.hooks.route else { return minimal };
        let mut c = abi::Packet::from(&*packet);
        let (to, asked) = PortView::new(ports, Some(packet)).show(|ports| {
            self.run("switch_program.route", cx.now, cx.actions, |me, cx| {
                hook(me, &mut c, ingress.into(), minimal.into(), ports, cx)
            })
        });
        let Some(to) = to.filter(|_| !self.failed) else { return minimal };
        let named = asked.unwrap_or(to);
        if named >= ports.count().into() {
            self.lacks("switch_program.route", named, ports.count());
            return minimal;
        }
        self.write("switch_program.route", &c, packet);
        to as u16
    }
    fn on_enqueue(&mut self, packet: &mut Queued<'_>, cx: &mut C<'_>) -> Verdict {
        let Some(hook) = self.hooks.on_enqueue else { return Verdict::Admit };
        let (mut c, queue) = (abi::Packet::from(&*packet.packet), abi::Queue::from(&*packet));
        let verdict = self.run("switch_program.on_enqueue", cx.now, cx.actions, |me, cx| hook(me, &mut c, &queue, cx));
        let Some(verdict) = verdict.filter(|_| !self.failed) else { return Verdict::Admit };
        if packet.own {
            self.write("switch_program.on_enqueue", &c, packet.packet);
        }
        decided(verdict, &c, packet.packet).unwrap_or_else(|problem| {
            self.fail("switch_program.on_enqueue", &problem);
            Verdict::Admit
        })
    }
    fn on_dequeue(&mut self, packet: &mut Queued<'_>, cx: &mut C<'_>) {
        let Some(hook) = self.hooks.on_dequeue else { return };
        let (mut c, queue) = (abi::Packet::from(&*packet.packet), abi::Queue::from(&*packet));
        self.run("switch_program.on_dequeue", cx.now, cx.actions, |me, cx| hook(me, &mut c, &queue, cx));
        if self.failed {
            return;
        }
        if packet.own {
            self.write("switch_program.on_dequeue", &c, packet.packet);
        }
        if c.marks(packet.packet) {
            packet.packet.flags |= flags::CE;
        }
    }
    fn on_drop(&mut self, packet: &Header, cx: &mut C<'_>) {
        let Some(hook) = self.hooks.on_drop else { return };
        let c = packet.into();
        self.run("switch_program.on_drop", cx.now, cx.actions, |me, cx| hook(me, &c, cx));
    }
    fn on_link_down(&mut self, port: u16, cx: &mut C<'_>) {
        let Some(hook) = self.hooks.on_link_down else { return };
        self.run("switch_program.on_link_down", cx.now, cx.actions, |me, cx| hook(me, port.into(), cx));
    }
    fn on_timer(&mut self, ports: &dyn Ports, cx: &mut C<'_>) {
        self.wake_at = abi::NEVER;
        let Some(hook) = self.hooks.on_timer else { return };
        let (_, asked) = PortView::new(ports, None)
            .show(|ports| self.run("switch_program.on_timer", cx.now, cx.actions, |me, cx| hook(me, ports, cx)));
        if let Some(asked) = asked.filter(|_| !self.failed) {
            self.lacks("switch_program.on_timer", asked, ports.count());
        }
    }
    fn wake_at(&self) -> Time {
        // A timer that was set where the simulator does not ask for it may have passed by now.
        if self.failed { Time::NEVER } else { Time::from_ps(self.wake_at).max(self.now) }
    }
    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(watch) = self.hooks.watch.filter(|_| !self.failed) {
            let of = ("switch_program.watch", format!("switch {}", self.node));
            self.scheme.watch(watch, of, self.state.read(), self.now, see);
        }
    }
}
