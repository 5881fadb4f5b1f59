//! The receiver of a host: grants credit to its flows in turn.

use super::credit::{Demand, Demands, Pacer, Share};
use super::params::HasCredit;
use crate::Action;
use crate::random::Random;
use crate::roles::*;
use crate::schemes::nscc::most;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;
use fanin_units::Time;

/// The place of a flow in its receiver's list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(u32);

/// What is demanded of each flow.
#[derive(Debug, Default)]
struct Flows(Vec<(ReceiverFlow, Demand)>);

impl Demands for Flows {
    fn of(&mut self, flow: u32) -> &mut Demand {
        &mut self.0[flow as usize].1
    }
}

/// The receiver.
pub struct Granter<P> {
    pacer: Pacer,
    flows: Flows,
    free: Vec<u32>,
    /// The most bytes of credit that a sender has.
    most: i64,
    /// The control of oversubscription, its next adjustment, the round-trip time, and its random numbers.
    share: Option<Share>,
    adjust_at: Time,
    rtt: f64,
    random: Random,
    /// The next pull.
    pull_at: Time,
    ready: VecDeque<Emit>,
    of: PhantomData<P>,
}

impl<P: HasCredit> Granter<P> {
    /// A packet told its pull target.
    fn told(&mut self, data: &Data, place: Place, cx: &mut Cx<'_, P>) {
        // Of the target came 32 bits; it is the nearest one to the highest so far.
        let highest = self.flows.of(place.0).highest;
        let target = highest.wrapping_add_signed(i64::from(data.cc_tag.wrapping_sub(highest as u32) as i32));
        if self.pacer.demand(place.0, target, &mut self.flows) {
            self.pull(cx);
        }
        if let Some(share) = &mut self.share {
            share.packets += 1;
            share.marked += u64::from(data.ce);
            if self.adjust_at == Time::NEVER {
                self.plan(cx.now);
            }
        }
    }

    fn join(&mut self, place: Place, cx: &mut Cx<'_, P>) {
        if self.pacer.join(place.0, &mut self.flows) {
            self.pull(cx);
        }
    }

    /// Sends the next credit. A pacer stops only when the gap behind its last one is over.
    fn pull(&mut self, cx: &mut Cx<'_, P>) {
        let share = self.share.as_ref().map_or(1.0, |share| share.share);
        let Some(pull) = self.pacer.pull(self.most, share, &mut self.flows) else {
            self.pull_at = Time::NEVER;
            return;
        };
        cx.count(Action::CreditSent);
        let flow = self.flows.0[pull.flow as usize].0;
        let wire = cx.params.credit().credit_size.into();
        self.ready.push_back(Emit::Credit { flow, number: pull.number as u32, wire });
        self.pull_at = cx.now.saturating_add(Time::from_ps(pull.gap.max(1)));
    }

    /// Draws the time of the next adjustment of the share. uet-htsim: 0.75 to 1.25 times 1.5 round-trip times.
    fn plan(&mut self, now: Time) {
        let part = 0.75 + self.random.below(1 << 20) as f64 / (1u64 << 21) as f64;
        self.adjust_at = now.saturating_add(Time::from_ps((part * 1.5 * self.rtt) as u64).max(Time::from_ns(1)));
    }
}

impl<P: HasCredit> Receiver for Granter<P> {
    type Params = P;
    type Flow = Place;

    fn new(p: &P, nic: &NicInfo) -> Self {
        let (rate, rtt) = (nic.line_rate.as_bps().max(8), nic.network_rtt.as_ps().clamp(1000, 1 << 50));
        let ratio = p.credit().oversubscription;
        Self {
            pacer: Pacer::new(rate),
            flows: Flows::default(),
            free: Vec::new(),
            most: most(rtt, rate).max(i64::from(nic.wire.max(1))),
            share: (ratio > 1.0).then(|| Share::new(ratio)),
            adjust_at: Time::NEVER,
            rtt: rtt as f64,
            random: Random::new(nic.seed),
            pull_at: Time::NEVER,
            ready: VecDeque::new(),
            of: PhantomData,
        }
    }

    fn on_open(&mut self, info: &FlowInfo, place: &mut Place, _: &mut Cx<'_, P>) {
        let new = (info.flow, Demand::default());
        place.0 = self.free.pop().unwrap_or(self.flows.0.len() as u32);
        match self.flows.0.get_mut(place.0 as usize) {
            Some(old) => *old = new,
            None => self.flows.0.push(new),
        }
    }

    fn on_data(&mut self, data: &Data, place: &mut Place, cx: &mut Cx<'_, P>) -> AckPlan {
        self.told(data, *place, cx);
        data.due()
    }

    fn on_request(&mut self, request: &Data, place: &mut Place, cx: &mut Cx<'_, P>) -> Option<AckFields> {
        self.told(request, *place, cx);
        self.join(*place, cx);
        None
    }

    fn on_trim(&mut self, data: &Data, place: &mut Place, cx: &mut Cx<'_, P>) {
        self.told(data, *place, cx);
        if let Some(share) = &mut self.share {
            share.last_hop += 1;
        }
        self.join(*place, cx);
    }

    fn on_close(&mut self, _: ReceiverFlow, place: &mut Place, _: &mut Cx<'_, P>) {
        self.pacer.leave(place.0);
        self.free.push(place.0);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, P>) {
        if self.pull_at <= cx.now {
            self.pull(cx);
        }
        if let Some(share) = &mut self.share
            && self.adjust_at <= cx.now
        {
            // A host to which nothing comes stops adjusting.
            let idle = share.packets == 0 && share.share == 1.0;
            share.adjust();
            if idle {
                self.adjust_at = Time::NEVER;
            } else {
                self.plan(cx.now);
            }
        }
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_, P>) -> Option<Emit> {
        self.ready.pop_front()
    }

    fn wake_at(&self) -> Time {
        self.pull_at.min(self.adjust_at)
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(share) = &self.share {
            see("granted_share", share.share);
        }
    }
}
