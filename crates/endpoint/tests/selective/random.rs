//! Random wires under IRN, selective repeat and go-back-0.

use super::{LOW, cases, irn};
use fanin_endpoint::rc;
use fanin_endpoint::selective::{Arrived, Kept, ReceiveHalf, Rules, SendHalf};
use fanin_units::{MessageId, Time};
use proptest::prelude::*;

/// A packet as it arrives.
fn kept(s: &rc::Segment) -> Kept {
    Kept { offset: s.offset, len: s.len, message: s.message, start: s.start, end: s.end, links: 1 }
}

/// What the wire does with a packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    Late(usize),
    Twice,
    Well,
}

fn fates(most: usize) -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        2 => Just(Fate::Lost),
        2 => (1usize..9).prop_map(Fate::Late),
        1 => Just(Fate::Twice),
        10 => Just(Fate::Well),
    ];
    prop::collection::vec(fate, 0..most)
}

/// A wire: what is on it, first to arrive last, and the fates of what comes.
struct Wire<T> {
    items: std::collections::VecDeque<T>,
    fates: std::vec::IntoIter<Fate>,
}

impl<T: Copy> Wire<T> {
    fn new(fates: Vec<Fate>) -> Self {
        Self { items: Default::default(), fates: fates.into_iter() }
    }

    fn send(&mut self, item: T) {
        match self.fates.next().unwrap_or(Fate::Well) {
            Fate::Lost => {}
            Fate::Late(by) => self.items.insert(self.items.len().saturating_sub(by), item),
            Fate::Twice => self.items.extend([item, item]),
            Fate::Well => self.items.push_back(item),
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Whatever the wire loses, delays or repeats, in either direction and however much of it travels at once, every
    /// byte is in order once, no more than the cap is in flight, and the end comes after a bounded number of packets.
    #[test]
    fn everything_arrives_once(
        sizes in prop::collection::vec(1u64..20_000, 1..6),
        payload in 1u32..2000,
        (cap, nacks, chunk) in (1u32..40, 1u32..4, 0u32..6000),
        batch in 1usize..12,
        data_fates in fates(400),
        ack_fates in fates(400),
    ) {
        // Small packets of large messages take long and show nothing more.
        let payload = payload.max((sizes.iter().sum::<u64>() / 200) as u32);
        let mut sender = SendHalf::new(Rules { nacks, ..irn(cap) }, cap);
        for (i, size) in sizes.iter().enumerate() {
            sender.stream_mut().post(MessageId(i as u32), *size);
        }
        let total: u64 = sizes.iter().sum();
        let mut receiver = ReceiveHalf::default();
        let (mut there, mut back) = (Wire::new(data_fates), Wire::new(ack_fates));
        let (mut delivered, mut ended, mut finished) = (0, Vec::new(), Vec::new());
        let mut sent = 0;
        while !sender.stream().done() {
            let mut moved = false;
            for _ in 0..batch {
                if sender.has_data() {
                    let segment = sender.take(Time::ZERO, payload);
                    prop_assert!(segment.len >= 1 && segment.len <= payload);
                    prop_assert!(sender.packets_in_flight() <= cap as usize);
                    there.send(segment);
                    (sent, moved) = (sent + 1, true);
                }
            }
            for _ in 0..batch.min(there.items.len()) {
                moved = true;
                let Some(s) = there.items.pop_front() else { break };
                let kept = kept(&s);
                match receiver.on_data(kept, chunk) {
                    Arrived::InOrder { ack_due: false } => {}
                    Arrived::InOrder { .. } | Arrived::Duplicate => back.send((receiver.expected(), None)),
                    Arrived::Behind { .. } => back.send((receiver.expected(), Some(s.offset))),
                }
                let ready = receiver.take_ready();
                for kept in &ready {
                    prop_assert_eq!(kept.offset, delivered);
                    delivered += u64::from(kept.len);
                    if kept.end {
                        ended.push(kept.message.0);
                    }
                }
                receiver.recycle(ready);
            }
            for _ in 0..batch.min(back.items.len()) {
                moved = true;
                let Some((to, arrived)) = back.items.pop_front() else { break };
                sender.on_ack(to, arrived, |id| finished.push(id.0));
            }
            if !moved {
                prop_assert!(sender.packets_in_flight() > 0, "it waits for nothing");
                sender.on_timeout(LOW, LOW);
                prop_assert!(sender.has_data());
            }
            prop_assert!(sent < 5000, "without end");
        }
        prop_assert_eq!(delivered, total);
        let all: Vec<u32> = (0..sizes.len() as u32).collect();
        prop_assert_eq!((&ended, &finished), (&all, &all));
        prop_assert_eq!((receiver.behind(), sender.packets_in_flight()), (0, 0));
    }

    /// A wire that loses nothing and keeps the order: nothing is sent again.
    #[test]
    fn nothing_is_sent_again_without_need(bytes in 1u64..200_000, cap in 1u32..50, batch in 1usize..12) {
        let mut sender = SendHalf::new(irn(cap), cap);
        sender.stream_mut().post(MessageId(0), bytes);
        let mut receiver = ReceiveHalf::default();
        while !sender.stream().done() {
            let mut acks = Vec::new();
            for _ in 0..batch {
                if sender.has_data() {
                    let s = sender.take(Time::ZERO, 1000);
                    prop_assert!(!s.retransmitted);
                    let kept = kept(&s);
                    prop_assert_eq!(receiver.on_data(kept, 1), Arrived::InOrder { ack_due: true });
                    acks.push(receiver.expected());
                }
            }
            for to in acks {
                sender.on_ack(to, None, |_| ());
            }
        }
    }
}
