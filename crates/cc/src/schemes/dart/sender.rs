//! The sender: DCQCN limited by the share of the line that all messages of a host to one receiver have together.

use super::fields::Share;
use super::params::Params;
use crate::Action;
use crate::roles::*;
use crate::schemes::dcqcn;
use fanin_units::Time;

/// A byte in bits times picoseconds per second, so that dividing by a rate gives picoseconds.
const BYTE: u128 = 8_000_000_000_000;

/// A message at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    dcqcn: dcqcn::Flow,
    line: u64,
    bdp: u64,
    /// Whether it has unacknowledged data, and so counts in [`Pair::open`]. False only on an idle connection that stays
    /// open.
    busy: bool,
    /// Whether it has had an ACK: from then on the bucket limits it.
    acked: bool,
    /// The last share received, for watching.
    share: Share,
}

/// State that a host's messages to one receiver share: the share, and a bucket of one packet (rows C2, C3, C5 to C7).
///
/// The bucket is a debt: each packet adds its bits, and it drains at C times the share. It is stored as the time at
/// which it reaches zero, exact to the last bit: `free_at` and `rest / (C parts)` of a picosecond.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    /// Open messages; those that follow one another on a connection without a pause count as one.
    pub open: u32,
    /// The last share received; the whole line before the first.
    share: Option<Share>,
    free_at: Time,
    rest: u64,
}

impl Pair {
    /// The share of the line.
    #[inline(always)]
    pub fn share(&self) -> Share {
        self.share.unwrap_or(Share::ALL)
    }

    /// When the debt reaches zero.
    #[inline(always)]
    pub fn free_at(&self) -> Time {
        if self.rest > 0 { self.free_at.saturating_add(Time::from_ps(1)) } else { self.free_at }
    }

    /// A packet of `wire` bytes leaves now.
    #[inline]
    fn charge(&mut self, wire: u32, line: u64, now: Time) {
        if self.free_at < now {
            (self.free_at, self.rest) = (now, 0);
        }
        let share = self.share();
        // C2: at most C times the share, no growth between two ACKs
        let work = wire as u128 * BYTE * share.of as u128 + self.rest as u128;
        self.add(work, line * share.parts as u64);
    }

    /// Moves the time by `work / speed`.
    #[inline]
    fn add(&mut self, work: u128, speed: u64) {
        let (ps, rest) = match u64::try_from(work) {
            Ok(work) => (work / speed, work % speed),
            Err(_) => (u64::try_from(work / speed as u128).unwrap_or(u64::MAX), (work % speed as u128) as u64),
        };
        self.free_at = self.free_at.saturating_add(Time::from_ps(ps));
        self.rest = rest;
    }

    /// A share arrives (row C7): the rest of the debt now drains at another rate. Returns whether the share is another.
    fn receive(&mut self, share: Share, line: u64, now: Time) -> bool {
        let old = self.share();
        self.share = Some(share);
        if share == old {
            return false;
        }
        if self.free_at >= now {
            let debt = (self.free_at - now).as_ps() as u128 * (line * old.parts as u64) as u128 + self.rest as u128;
            self.free_at = now;
            // In units of 1/of bits and picoseconds per second, rounded up.
            self.add(debt.saturating_mul(share.of as u128).div_ceil(old.of as u128), line * share.parts as u64);
        }
        true
    }
}

impl Flow {
    /// All of its data is acknowledged.
    fn leave(&mut self, pair: &mut Pair) {
        pair.open -= self.busy as u32;
        self.busy = false;
        if pair.open == 0 {
            // row C6: the receiver has forgotten this host as well
            *pair = Pair::default();
        }
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = Pair;

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params, Pair>) -> Self {
        let p = cx.params;
        cx.shared.open += 1;
        Self {
            // III-A: at line rate
            dcqcn: dcqcn::Flow::open(path, &mut cx.inner(&p.dcqcn, &mut ())),
            // rows C1, C14: the receiver's rate comes with its first share, and nothing waits for the bucket before
            line: (path.line_rate.min(path.receiver_rate).as_bps() as f64 * p.line_share) as u64,
            bdp: path.network_bdp.max(1),
            busy: true,
            acked: false,
            share: cx.shared.share(),
        }
    }

    #[inline(always)]
    fn control(&self, cx: &Cx<'_, Params, Pair>) -> Control {
        let p = cx.params;
        let mut control = self.dcqcn.allowed();
        // row C5: a message without an ACK sends at RC; row C9: then at the lower of RC and C times the share
        if self.acked {
            control.not_before = cx.shared.free_at();
        }
        if p.bdp_window {
            // row C13
            control.window = control.window.min(self.bdp);
        }
        control
    }

    #[inline(always)]
    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params, Pair>) -> u32 {
        let p = cx.params;
        if !self.busy {
            self.busy = true;
            cx.shared.open += 1;
        }
        if p.apportion {
            cx.shared.charge(sent.wire, self.line, cx.now);
            self.share = cx.shared.share();
            cx.shared_changed = cx.shared.open > 1;
        }
        self.dcqcn.on_send(sent, &mut cx.inner(&p.dcqcn, &mut ()))
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params, Pair>) {
        let p = cx.params;
        self.acked = true;
        if p.apportion
            && let Some(share) = Share::decode(ack.cc_feedback)
        {
            if cx.shared.receive(share, self.line, cx.now) {
                cx.count(Action::ShareChange);
                cx.shared_changed = cx.shared.open > 1;
            }
            self.share = share;
        }
        self.dcqcn.on_ack(ack, &mut cx.inner(&p.dcqcn, &mut ()));
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params, Pair>) {
        let p = cx.params;
        self.dcqcn.on_notice(notice, &mut cx.inner(&p.dcqcn, &mut ()));
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params, Pair>) {
        let p = cx.params;
        self.dcqcn.on_loss(loss, &mut cx.inner(&p.dcqcn, &mut ()));
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params, Pair>) {
        let p = cx.params;
        self.dcqcn.on_timeout(loss, &mut cx.inner(&p.dcqcn, &mut ()));
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params, Pair>) {
        let p = cx.params;
        self.dcqcn.on_timer(&mut cx.inner(&p.dcqcn, &mut ()));
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        // This message and the others of its pair together have C/n.
        let Share { parts, of } = self.share;
        see("n", of as f64 / parts as f64);
        see("cap_bps", self.line as f64 * parts as f64 / of as f64);
    }

    /// Row C6 on a connection that stays open: all of its data has arrived, so there is no debt. The next message
    /// starts like one with a flow of its own (III-A); only the reaction point belongs to the connection and continues.
    fn on_idle(&mut self, cx: &mut Cx<'_, Params, Pair>) {
        self.acked = false;
        self.leave(cx.shared);
    }

    fn close(&mut self, cx: &mut Cx<'_, Params, Pair>) {
        let p = cx.params;
        self.dcqcn.close(&mut cx.inner(&p.dcqcn, &mut ()));
        self.leave(cx.shared);
    }
}
