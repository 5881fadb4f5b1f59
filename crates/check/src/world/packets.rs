//! Packets of a flow: sent, delivered, and answered.

use super::*;

impl World {
    pub(super) fn send(&mut self, at: usize) -> Kept {
        let flow = &self.flows[at];
        if flow.left() == 0 {
            return Ok(());
        }
        let (id, earliest) = (flow.id, flow.may_send_at.max(flow.control.not_before).max(self.now));
        if earliest > self.now + PAUSE {
            self.note(Did::Held(id));
            return Ok(());
        }
        self.advance(earliest)?;
        let flow = &mut self.flows[at];
        if flow.in_flight() >= flow.control.window || flow.control.rate == Rate::ZERO {
            self.note(Did::Held(id));
            return Ok(());
        }
        let retransmitted = flow.next < flow.highest;
        let seq = flow.next;
        flow.next += PAYLOAD as u64;
        flow.highest = flow.highest.max(flow.next);
        flow.sent += 1;
        flow.may_send_at = self.now + flow.control.rate.tx_time(WIRE as u64);
        let (start, end) = (seq == 0 || flow.ends.contains(&seq), flow.ends.contains(&flow.next));
        let sent = Sent { retransmitted, left: flow.left(), ..Sent::new(WIRE, PAYLOAD, flow.next) };
        self.note(Did::Sent(id));
        let mut cc_tag = 0;
        self.sender(at, |s, slot, now| {
            let (control, put) = s.on_send(slot, now, &sent);
            cc_tag = put;
            control
        })?;
        let mut packet = Data {
            flow: ReceiverFlow(id),
            from: NodeId(id),
            wire: WIRE,
            payload: PAYLOAD,
            seq,
            start,
            end,
            ack_due: true,
            due_alone: true,
            cc_tag,
            ..Data::default()
        };
        let flow = &mut self.flows[at];
        if !self.scheme.switch_active() {
            flow.forward.push_back((packet, self.now));
            return Ok(());
        }
        let view = PortView { queued: flow.forward.len() as u64 * WIRE as u64, ..PortView::new(LINE) };
        let mut header = Header { flow: flow.message_of(seq), wire: WIRE as u16, cc_tag, ..Header::default() };
        let port = self.scheme.switch_route(0, self.now, &mut header, 0, 1, &vec![view, view]);
        let mut queued = Queued { port, view, packet: &mut header, own: true };
        match self.scheme.switch_enqueue(0, self.now, &mut queued) {
            Verdict::Drop | Verdict::Trim => {
                flow.dropped += 1;
                self.note(Did::Refused(id));
            }
            verdict => {
                packet.ce = verdict == Verdict::Mark;
                self.scheme.switch_dequeue(0, self.now, &mut queued);
                (packet.cc_tag, packet.cc_feedback) = (header.cc_tag, header.cc_feedback);
                flow.forward.push_back((packet, self.now));
            }
        }
        self.no_hook_failed()
    }

    pub(super) fn deliver(&mut self, at: usize, ce: bool) -> Kept {
        let flow = &mut self.flows[at];
        let Some((mut packet, sent_at)) = flow.forward.pop_front() else { return Ok(()) };
        flow.delivered += 1;
        flow.last_sent_at = sent_at;
        packet.in_order = packet.seq == flow.expected;
        packet.ce |= ce;
        if packet.in_order {
            flow.expected += PAYLOAD as u64;
        }
        packet.acked_to = flow.expected;
        self.received += packet.wire as u64;
        packet.received = self.received;
        self.log.note(self.now, Did::Delivered(flow.id, packet.ce));
        let message = flow.message_of(packet.seq);
        if packet.in_order && packet.start {
            let start = MessageStart {
                incast: Some(Incast { id: flow.id, senders: &[0, 8, 9] }),
                ..MessageStart::new(packet.flow, message, NodeId(0))
            };
            self.scheme.receiver_message_start(0, self.now, &start);
        }
        if packet.in_order && packet.end {
            self.scheme.receiver_message_end(0, self.now, packet.flow, message);
        }
        let plan = self.scheme.receiver_data(0, self.now, &packet);
        hold!(
            self,
            "an ACK for earlier packets only where one is missing",
            plan.before.is_none() || packet.pending,
            "{plan:?}"
        );
        self.answers.push(Answer::Plan(self.now, plan));
        for (acked_to, fields) in [(packet.seq.min(flow.expected), plan.before), (flow.expected, plan.now)] {
            if let Some(fields) = fields {
                flow.back.push_back(Back::Ack { acked_to, fields, sent_at });
            }
        }
        self.poll()
    }

    pub(super) fn come_back(&mut self, at: usize) -> Kept {
        let flow = &mut self.flows[at];
        match flow.back.pop_front() {
            None => Ok(()),
            Some(Back::Notice(notice)) => {
                self.log.note(self.now, Did::Noticed(flow.id));
                self.sender_then_asks(at, |s, slot, now| s.on_notice(slot, now, notice))
            }
            Some(Back::Ack { acked_to, fields, sent_at }) => {
                // No ACK comes sooner than after a round trip.
                self.advance(self.now.max(sent_at + RTT))?;
                let flow = &mut self.flows[at];
                self.log.note(self.now, Did::Acked(flow.id, fields.ecn_echo));
                let newly_acked = acked_to.saturating_sub(flow.acked);
                let in_flight = flow.in_flight();
                flow.acked += newly_acked;
                flow.next = flow.next.max(flow.acked);
                // A plausible record of a switch, at times of another one.
                let (sent, queued) = (flow.sent * WIRE as u64, flow.forward.len() as u64 * WIRE as u64);
                let mut telemetry = Telemetry::default();
                telemetry.push(NodeId((flow.sent / 50) as u32), IntHop { rate: LINE, time: sent_at, sent, queued });
                let ack = Ack {
                    telemetry: Some(&telemetry),
                    newly_acked,
                    acked_to: flow.acked,
                    seq: acked_to,
                    sent_to: flow.next,
                    in_flight,
                    ecn_echo: fields.ecn_echo,
                    rtt: self.now - sent_at,
                    cc_feedback: fields.cc_feedback,
                    ..Ack::default()
                };
                self.sender(at, |s, slot, now| s.on_ack(slot, now, &ack))?;
                // Over TCP a sender is told when more is posted.
                if newly_acked == 0 || !self.flows[at].is_idle() || self.over_tcp() {
                    return Ok(());
                }
                self.note(Did::Idle(self.flows[at].id));
                self.sender(at, |s, slot, now| s.on_idle(slot, now))
            }
        }
    }

    /// Cuts the first packet under way, if the endpoint is one that asks for its payload again.
    pub(super) fn trim(&mut self, at: usize) -> Kept {
        if self.over_tcp() {
            return Ok(());
        }
        let flow = &mut self.flows[at];
        let Some((mut packet, sent_at)) = flow.forward.pop_front() else { return Ok(()) };
        flow.dropped += 1;
        packet.acked_to = flow.expected;
        self.log.note(self.now, Did::Trimmed(flow.id));
        self.scheme.receiver_trim(0, self.now, &packet);
        self.poll()?;
        let loss = self.go_back(at);
        let trim = Trim {
            last_hop: self.received.is_multiple_of(2),
            rtt: self.now - sent_at,
            ..Trim::new(packet.seq, packet.payload, packet.wire, loss.sent_to, loss.in_flight.max(PAYLOAD as u64))
        };
        self.sender_then_asks(at, |s, slot, now| s.on_trim(slot, now, &trim))
    }

    pub(super) fn go_back(&mut self, at: usize) -> Loss {
        let flow = &mut self.flows[at];
        let loss = Loss::new(flow.acked, flow.next);
        flow.next = flow.acked;
        loss
    }
}
