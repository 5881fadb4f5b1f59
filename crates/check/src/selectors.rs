//! The check of senders' choice of paths: a few senders, whose packets and what becomes of them are drawn at random.

use crate::answers::Broken;
use crate::policies::{At, Event, Model, SWITCHES, at_switches, check_balancer, twice};
use crate::search::{Checked, Plan, search};
use fanin_cc::OwnBalancing;
use fanin_cc::paths::{Feedback, PathSelector, SelectorInfo, SelectorProgram};
use fanin_units::{MessageId, NodeId, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// Makes a selector of paths anew.
pub type MakesSelector<'a> = &'a dyn Fn() -> Arc<dyn SelectorProgram>;

/// As the default of `network.paths`.
const PATHS: u32 = 128;

/// What happens at a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtSender {
    /// Packets leave, under a congestion window of so many.
    Send { packets: u8, window: u8 },
    /// The answer to the oldest packet under way arrives, as long as there is one.
    Answers { feedback: Feedback, packets: u8 },
    /// A timeout, about no packet in particular.
    Timeout,
}

impl Event for AtSender {
    fn simpler(self) -> Vec<Self> {
        let fewer = |packets: u8| packets.saturating_sub(1).max(1);
        match self {
            Self::Send { packets, window } => vec![
                Self::Send { packets: 1, window },
                Self::Send { packets: fewer(packets), window },
                Self::Send { packets, window: 1 },
            ],
            Self::Answers { feedback, packets } => vec![
                Self::Answers { feedback, packets: 1 },
                Self::Answers { feedback, packets: fewer(packets) },
                Self::Answers { feedback: Feedback::Good, packets },
            ],
            Self::Timeout => Vec::new(),
        }
    }
}

struct Sender {
    selector: Box<dyn PathSelector>,
    sent: u32,
    /// The paths of packets under way.
    under_way: VecDeque<u16>,
}

impl Model for Sender {
    type Event = AtSender;
    const PLACE: &'static str = "sender";

    fn step(&mut self, now: Time, event: AtSender) -> Result<String, Broken> {
        match event {
            AtSender::Send { packets, window } => {
                let mut paths = Vec::new();
                for _ in 0..packets {
                    let path = self.selector.next_path(now, self.sent, u64::from(window));
                    self.sent += 1;
                    self.under_way.push_back(path);
                    paths.push(path.to_string());
                }
                Ok(format!("sends {packets} packets under a window of {window}: paths {}", paths.join(" ")))
            }
            AtSender::Answers { feedback, packets } => {
                let mut paths = Vec::new();
                for _ in 0..packets {
                    let Some(path) = self.under_way.pop_front() else { break };
                    self.selector.feedback(now, path, feedback);
                    paths.push(path.to_string());
                }
                if paths.is_empty() {
                    return Ok(String::new());
                }
                let what = match feedback {
                    Feedback::Marked => "marked",
                    Feedback::Trimmed => "trimmed",
                    Feedback::Good | Feedback::Timeout => "good",
                };
                Ok(format!("hears that packets of these paths were {what}: {}", paths.join(" ")))
            }
            AtSender::Timeout => {
                self.selector.feedback(now, 0, Feedback::Timeout);
                Ok("has a timeout".into())
            }
        }
    }

    fn end(&mut self, now: Time) -> Result<String, Broken> {
        self.step(now, AtSender::Send { packets: 20, window: 10 })
    }
}

/// Checks a selector of paths with random packets and answers.
pub fn check_selector(make: MakesSelector<'_>, plan: Plan<'_>) -> Checked {
    let packets = || prop_oneof![3 => 1u8..4, 1 => 1u8..60];
    let send = (packets(), 1u8..100).prop_map(|(packets, window)| AtSender::Send { packets, window });
    let heard = prop_oneof![3 => Just(Feedback::Good), 1 => Just(Feedback::Marked), 1 => Just(Feedback::Trimmed)];
    let answers = (heard, packets()).prop_map(|(feedback, packets)| AtSender::Answers { feedback, packets });
    let run = |case: &Vec<At<AtSender>>| {
        twice::<Sender>(
            &|run| {
                let program = make();
                let sender = |number: u8| {
                    let (flow, seed) = (u32::from(number), u64::from(number) + 1);
                    let (from, to) = (NodeId(flow), NodeId(100 + flow));
                    let info = SelectorInfo { now: Time::ZERO, flow: MessageId(flow), from, to, paths: PATHS, seed };
                    Sender { selector: program.build(&info), sent: 0, under_way: VecDeque::new() }
                };
                run((0..SWITCHES).map(sender).collect(), &|| program.failure());
            },
            case,
        )
    };
    search(&at_switches(prop_oneof![6 => send, 5 => answers, 1 => Just(AtSender::Timeout)]), &run, plan)
}

/// Checks load balancing of one's own, of switches or of senders.
pub fn check_balancing(make: &dyn Fn() -> Arc<OwnBalancing>, plan: Plan<'_>) -> Checked {
    match &*make() {
        OwnBalancing::Switches(first) => {
            let of = || match &*make() {
                OwnBalancing::Switches(program) => program.clone(),
                OwnBalancing::Senders(_) => first.clone(),
            };
            check_balancer(&of, plan)
        }
        OwnBalancing::Senders(first) => {
            let of = || match &*make() {
                OwnBalancing::Senders(program) => program.clone(),
                OwnBalancing::Switches(_) => first.clone(),
            };
            check_selector(&of, plan)
        }
    }
}
