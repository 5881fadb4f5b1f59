//! The sender of a flow.

use crate::abi;
use crate::calls::Inner;
use crate::convert::{Argument, told, with};
use crate::state::State;
use fanin_cc::schemes::own::{Params, Shared};
use fanin_cc::{Ack, Control, Cx, Loss, Notice, PathInfo, Sender, Sent, Trim, sender_hooks};
use fanin_units::{Rate, Time};
use std::ptr::null_mut;
use std::sync::Arc;

type C<'a> = Cx<'a, Params, Shared>;

/// Most requests that follow each other without any other event: more are a loop without end.
const MOST_REQUESTS: u32 = 1 << 16;

/// A sender in a library.
pub struct CSender {
    control: abi::Control,
    hooks: &'static abi::Sender,
    state: State,
    id: u32,
    now: Time,
    requests: u32,
    /// Whether a hook has failed: then none is called any more, and the flow sends nothing.
    failed: bool,
    scheme: Arc<Inner>,
}

impl CSender {
    /// A flow opens.
    pub fn open(scheme: Arc<Inner>, path: &PathInfo, cx: &mut C<'_>) -> Self {
        let control = abi::Control {
            window: u64::MAX,
            rate: path.line_rate.as_bps(),
            wake_at: abi::NEVER,
            not_before: 0,
            retime: 0,
        };
        let (hooks, state) = (scheme.of.sender, State::new(scheme.of.sender.size));
        let mut sender = Self { control, hooks, state, id: path.id.0, now: cx.now, requests: 0, failed: false, scheme };
        if let Some(open) = hooks.open {
            let path = path.into();
            sender.call("sender.open", cx, |me, control, cx| open(me, control, &path, cx));
        }
        sender
    }

    /// Runs a hook, and checks what it has set.
    #[inline(always)]
    fn call<T>(
        &mut self,
        name: &str,
        cx: &mut C<'_>,
        hook: impl FnOnce(abi::State, &mut abi::Control, &mut abi::Cx) -> T,
    ) -> Option<T> {
        if self.failed {
            return None;
        }
        let before = self.control.wake_at;
        let mut c = self.scheme.cx(cx.now, cx.actions, abi::NEVER);
        if self.scheme.of.shared_size > 0 {
            c.shared = shared(cx.shared, self.scheme.of.shared_size);
        }
        let result = hook(self.state.at(), &mut self.control, &mut c);
        self.now = cx.now;
        cx.shared_changed |= c.shared_changed != 0;
        let wake_at = self.control.wake_at;
        if !c.problem.is_null() | (wake_at != before && wake_at <= c.now) {
            self.fail(name, &self.scheme.complaint(&c, wake_at));
        }
        Some(result)
    }

    #[cold]
    fn fail(&mut self, hook: &str, problem: &str) {
        self.failed = true;
        self.scheme.fail(hook, &format!("flow {}", self.id), self.now, problem);
    }
}

/// The memory that flows share.
#[inline(never)]
fn shared(shared: &mut Shared, bytes: u64) -> abi::State {
    let state = shared.0.get_or_insert_with(|| Box::new(State::new(bytes)));
    state.downcast_mut::<State>().map_or(null_mut(), State::at)
}

/// A hook without an answer.
macro_rules! one {
    ($name:ident $this:ident ($($arg:ident: $type:ty),*) $or:block $cx:ident) => {
        #[inline]
        fn $name(&mut $this, $($arg: $type,)* $cx: &mut C<'_>) {
            let name = concat!("sender.", stringify!($name));
            if name == "sender.on_timer" {
                $this.control.wake_at = abi::NEVER;
            }
            let Some(hook) = $this.hooks.$name else { return $or };
            with!(($($arg)*) $this.call(name, $cx, |me, control, cx| hook(me, control, $($arg,)* cx)));
        }
    };
}

impl Sender for CSender {
    type Params = Params;
    type Shared = Shared;

    fn open(path: &PathInfo, cx: &mut C<'_>) -> Self {
        unreachable!("flows are opened by the scheme's program, not for {path:?} at {}", cx.now)
    }
    #[inline]
    fn control(&self, _: &C<'_>) -> Control {
        if self.failed {
            return Control::rate(Rate::ZERO);
        }
        let abi::Control { window, rate, wake_at, not_before, retime } = self.control;
        Control {
            window,
            rate: Rate::from_bps(rate),
            wake_at: Time::from_ps(wake_at),
            retime: retime != 0,
            not_before: Time::from_ps(not_before),
        }
    }
    #[inline]
    fn on_send(&mut self, sent: &Sent, cx: &mut C<'_>) -> u32 {
        let Some(hook) = self.hooks.on_send else { return 0 };
        let sent = sent.into();
        self.call("sender.on_send", cx, |me, control, cx| hook(me, control, &sent, cx)).unwrap_or(0)
    }
    fn poll_request(&mut self, left: u64, cx: &mut C<'_>) -> Option<u32> {
        let hook = self.hooks.poll_request?;
        let mut tag = 0;
        let asks = self.call("sender.poll_request", cx, |me, control, cx| hook(me, control, left, &mut tag, cx));
        if asks.unwrap_or(0) == 0 {
            self.requests = 0;
            return None;
        }
        self.requests += 1;
        if self.requests > MOST_REQUESTS {
            self.fail("sender.poll_request", &endless(MOST_REQUESTS));
        }
        (!self.failed).then_some(tag)
    }
    sender_hooks!(told);
    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(watch) = self.hooks.watch.filter(|_| !self.failed) {
            let of = ("sender.watch", format!("flow {}", self.id));
            self.scheme.watch(watch, of, self.state.read(), self.now, see);
        }
    }
    fn close(&mut self, cx: &mut C<'_>) {
        if let Some(hook) = self.hooks.close {
            self.call("sender.close", cx, |me, control, cx| hook(me, control, cx));
        }
    }
}

/// What is wrong with a hook that is called until it answers 0, and never does.
pub fn endless(times: u32) -> String {
    format!("did not answer 0 in {times} calls: it is called until it does")
}
