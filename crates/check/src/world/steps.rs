//! The events, and the end of a sequence.

use super::*;
use crate::events::Op;

impl World {
    fn close(&mut self, at: usize) -> Kept {
        let flow = self.flows.remove(at);
        self.note(Did::Closed(flow.id));
        self.scheme.close(flow.slot, self.now);
        self.scheme.take_shared_changed();
        if !flow.ends.contains(&flow.expected) {
            let message = flow.message_of(flow.expected);
            self.scheme.receiver_message_end(0, self.now, ReceiverFlow(flow.id), message);
        }
        self.scheme.receiver_close(0, self.now, ReceiverFlow(flow.id));
        self.poll()?;
        for other in 0..self.flows.len() {
            let control = self.scheme.control(self.flows[other].slot, self.now);
            self.told(other, control)?;
        }
        Ok(())
    }

    /// A flow that always has more has only so many packets left behind what it has sent.
    fn finish(&mut self, at: usize, packets: u8) {
        let flow = &mut self.flows[at];
        if flow.posted != ENDLESS {
            return;
        }
        flow.posted = flow.highest + packets as u64 * PAYLOAD as u64;
        flow.ends.push(flow.posted);
        let (id, left) = (flow.id, flow.left() / PAYLOAD as u64);
        self.note(Did::Finishes(id, left as u32));
    }

    /// A flow whose data had an end gets data without end. An idle one begins `anew` where asked: over RDMA with a new
    /// sender, over TCP by `on_idle` (the endpoint's settings `anew` and `restart`).
    fn post(&mut self, at: usize, anew: bool) -> Kept {
        let flow = &mut self.flows[at];
        if flow.posted == ENDLESS {
            return Ok(());
        }
        let (id, anew) = (flow.id, anew && flow.is_idle());
        flow.posted = ENDLESS;
        if !anew {
            self.note(Did::Posted(id));
        } else if self.over_tcp() {
            self.note(Did::PostedIdle(id));
            self.hook(at, |s, slot, now| s.on_idle(slot, now))?;
        } else {
            self.note(Did::PostedAnew(id));
            self.hook(at, |s, slot, now| s.reopen(slot, &path(id), now))?;
        }
        self.ask(at)
    }

    /// An event.
    ///
    /// # Errors
    /// See [`World::open`].
    pub fn step(&mut self, op: Op) -> Kept {
        let flow = match op {
            Op::Open => {
                self.open()?;
                return self.kept();
            }
            Op::Wait(span) => {
                self.note(Did::Waited(span));
                self.advance(self.now + span)?;
                return self.kept();
            }
            Op::Send(f, _) | Op::Deliver(f, ..) | Op::Return(f, _) => f,
            Op::StrayCnp(f) | Op::StrayCredit(f) | Op::StrayTimer(f) => f,
            Op::Finish(f, _)
            | Op::Post(f, _)
            | Op::Drop(f)
            | Op::Trim(f)
            | Op::Loss(f, _)
            | Op::Timeout(f, _)
            | Op::Close(f) => f,
        };
        let Some(at) = self.pick(flow) else { return Ok(()) };
        let id = self.flows[at].id;
        match op {
            Op::Open | Op::Wait(_) => {}
            Op::Send(_, n) => (0..n).try_for_each(|_| self.send(at))?,
            Op::Deliver(_, n, ce) => (0..n).try_for_each(|_| self.deliver(at, ce))?,
            Op::Return(_, n) => (0..n).try_for_each(|_| self.come_back(at))?,
            Op::StrayCnp(_) => {
                self.note(Did::StrayCnp(id));
                self.sender(at, |s, slot, now| s.on_notice(slot, now, Notice::Cnp))?;
            }
            Op::StrayCredit(_) => {
                self.note(Did::StrayCredit(id));
                self.sender_then_asks(at, |s, slot, now| s.on_notice(slot, now, Notice::Credit(7)))?;
            }
            Op::Finish(_, n) => self.finish(at, n),
            Op::Post(_, anew) => self.post(at, anew)?,
            Op::Drop(_) => {
                let flow = &mut self.flows[at];
                if flow.forward.pop_front().is_some() {
                    flow.dropped += 1;
                    self.note(Did::Lost(id));
                }
            }
            Op::Trim(_) => self.trim(at)?,
            Op::Loss(_, n) => (0..n).try_for_each(|_| {
                let loss = self.go_back(at);
                self.note(Did::FoundLoss(id));
                self.sender_then_asks(at, |s, slot, now| s.on_loss(slot, now, &loss))
            })?,
            Op::Timeout(_, n) => (0..n).try_for_each(|_| {
                self.go_back(at);
                let flow = &self.flows[at];
                let loss = Loss::new(flow.acked, flow.next);
                self.note(Did::TimedOut(id));
                self.sender_then_asks(at, |s, slot, now| s.on_timeout(slot, now, &loss))
            })?,
            Op::StrayTimer(_) => {
                self.note(Did::StrayTimer(id));
                self.sender_then_asks(at, |s, slot, now| s.on_timer(slot, now))?;
                self.scheme.receiver_timer(0, self.now, self.received);
                self.poll()?;
            }
            Op::Close(_) => self.close(at)?,
        }
        self.kept()
    }

    /// What holds after every event.
    fn kept(&self) -> Kept {
        for f in &self.flows {
            let under_way = f.forward.len() as u64;
            hold!(
                self,
                "bytes conserved",
                f.sent == f.delivered + f.dropped + under_way,
                "{} sent, {} delivered, {} dropped, {under_way} under way",
                f.sent,
                f.delivered,
                f.dropped
            );
            let arrived = f.acked <= f.expected && f.expected <= f.highest;
            hold!(self, "acknowledged only what arrived", arrived, "flow {}", f.id);
        }
        let count = |action| self.scheme.actions().get(action);
        if count(Action::CnpReceived) > 0 && self.settings.loaded().is_none() {
            let (cuts, cnps) = (count(Action::Cut), count(Action::CnpReceived));
            hold!(self, "at most one cut per CNP", cuts <= cnps, "{cuts} cuts, {cnps} CNPs");
        }
        Ok(())
    }

    /// Delivers and returns all there is until every byte is acknowledged, and a further packet of each flow. Then each
    /// flow sends its last packet, is idle for a while, and sends again.
    ///
    /// # Errors
    /// See [`World::open`].
    pub fn drain(&mut self) -> Kept {
        self.note(Did::Drain);
        self.post_to_all(false)?;
        self.settle()?;
        (0..self.flows.len()).for_each(|at| self.finish(at, 1));
        self.settle()?;
        self.note(Did::Waited(IDLE));
        self.advance(self.now + IDLE)?;
        self.post_to_all(true)?;
        self.settle()
    }

    /// Data for all flows that have none. Over RDMA they keep their senders, which were told that they are idle.
    fn post_to_all(&mut self, idle: bool) -> Kept {
        let anew = idle && self.over_tcp();
        (0..self.flows.len()).try_for_each(|at| self.post(at, anew))
    }

    /// Round trips until all that is in flight is acknowledged, and all that is posted: of endless data, a packet more.
    /// The time to the next one doubles while nothing is acknowledged, as that of a retransmission timer.
    fn settle(&mut self) -> Kept {
        let goal = |flow: &Flow| if flow.posted == ENDLESS { flow.acked + 1 } else { flow.posted };
        let goals: Vec<u64> = self.flows.iter().map(goal).collect();
        let mut fruitless = 0u32;
        for round in 0.. {
            let before: u64 = self.flows.iter().map(|flow| flow.acked).sum();
            for (at, goal) in goals.iter().enumerate() {
                while !self.flows[at].forward.is_empty() {
                    self.deliver(at, false)?;
                }
                while !self.flows[at].back.is_empty() {
                    self.come_back(at)?;
                }
                if self.flows[at].in_flight() > 0 || self.flows[at].acked < *goal {
                    // There is data, lost or new, so the sender must be able to send, or have asked for credits.
                    self.go_back(at);
                    let sent = self.flows[at].sent;
                    self.send(at)?;
                    let Flow { id, sent: now_sent, control, .. } = self.flows[at];
                    let moves = now_sent > sent || control.rate == Rate::ZERO;
                    hold!(
                        self,
                        "a flow with data and nothing in flight can send",
                        moves,
                        "flow {id} has {}, and cannot send within {PAUSE}",
                        told(&control)
                    );
                }
            }
            if self.flows.iter().zip(&goals).all(|(f, goal)| f.in_flight() == 0 && f.acked >= *goal) {
                return Ok(());
            }
            let acked: u64 = self.flows.iter().map(|flow| flow.acked).sum();
            fruitless = if acked > before { 0 } else { fruitless + 1 };
            hold!(
                self,
                "every byte is acknowledged in the end",
                fruitless < 100 && round < 10_000,
                "not after {} waits, the last {fruitless} of them without an acknowledgement",
                round + 1
            );
            let wait = Time::from_us(100).saturating_mul(1 << fruitless.min(10)).min(PAUSE);
            self.advance(self.now + wait)?;
        }
        Ok(())
    }

    /// Lets time pass, with the timers that are set.
    ///
    /// # Errors
    /// See [`World::open`].
    pub fn wait(&mut self, span: Time) -> Kept {
        self.advance(self.now + span)
    }
}
