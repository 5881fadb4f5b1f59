//! Random lives of connections: what was written arrives, whole, in order and once; and nothing makes an end panic.

use crate::wire::*;
use fanin_endpoint::tcp::{Config, Connection, Covers, SackBlocks, Segment, State, bits};
use fanin_units::Time;
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A small generator: the script runs far longer than proptest's inputs are.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }
    pub fn percent(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    (1u32..2000, any::<[bool; 5]>(), 1u64..200_000, 0u32..5, 1u64..50).prop_map(
        |(mss, [sack, ecn, window_scaling, timestamps, offload], receive_buffer, ack_every, min)| Config {
            mss,
            sack,
            ecn,
            window_scaling,
            receive_buffer,
            ack_every,
            ack_delay: Time::from_ms(4),
            initial_rto: Time::from_ms(100),
            min_rto: Time::from_ms(min),
            max_rto: Time::from_ms(1500),
            timestamps,
            offload: if offload { 20_000 } else { 0 },
            retries: u32::MAX,
        },
    )
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Write(u64),
    Read(u64),
}

fn any_op() -> impl Strategy<Value = (usize, u64, Op)> {
    let op = prop_oneof![(1u64..20_000).prop_map(Op::Write), (1u64..20_000).prop_map(Op::Read)];
    (0usize..2, 0u64..30, op)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_byte_arrives_once_in_order_and_both_ends_close(
        client in any_config(),
        server in any_config(),
        ops in prop::collection::vec(any_op(), 1..20),
        windows in (1u64..60_000, 1u64..60_000),
        reno in any::<bool>(),
        percents in (0u64..25, 0u64..10, 0u64..25),
        slow_reader in any::<[bool; 2]>(),
        close_first in 0usize..2,
        both_connect in any::<bool>(),
        (shrinks, pushes) in (0u64..60, 0u64..10),
        seed in 1u64..,
    ) {
        let mss = client.mss.min(server.mss).max(50);
        let (client, server) = (Config { mss, ..client }, Config { mss, ..server });
        let mut wire = Wire::between(&client, &server);
        wire.window = [Window::Constant(windows.0), if reno { Window::reno() } else { Window::Constant(windows.1) }];
        wire.reads = slow_reader.map(|slow| !slow);
        wire.silent = true;
        if both_connect {
            wire.ends[SERVER] = Connection::connect(&server);
        }
        let mut dice = Dice(seed);
        let (drops, twice, late) = percents;
        let mut roles = Dice(seed.wrapping_mul(7) | 1);
        // What receiver roles may do.
        wire.change(move |segment| {
            if roles.percent(shrinks) {
                segment.window = (u64::from(segment.window) * (roles.roll() % 4) / 4) as u16;
            }
            if roles.percent(pushes) {
                segment.flags |= bits::PSH;
            }
        });
        wire.script(move |_| {
            if dice.percent(drops) {
                Fate::Drop
            } else if dice.percent(twice) {
                Fate::Twice(Time::from_us(dice.roll() % 20_000))
            } else if dice.percent(late) {
                Fate::Late(Time::from_us(dice.roll() % 20_000))
            } else {
                Fate::Deliver
            }
        });
        let mut written = [0; 2];
        for (end, wait, op) in ops {
            wire.run_until(wire.now + Time::from_ms(wait));
            match op {
                Op::Write(bytes) => {
                    written[end] += bytes;
                    wire.write(end, bytes);
                }
                Op::Read(bytes) => wire.read(end, bytes),
            }
        }
        wire.close(close_first);
        wire.run_until(wire.now + Time::from_ms(seed % 300));
        wire.close(1 - close_first);
        for end in 0..2 {
            wire.reads[end] = true;
            wire.read(end, u64::MAX);
        }
        wire.run();
        prop_assert_eq!(wire.delivered, [written[1], written[0]]);
        prop_assert_eq!(wire.states(), [State::Closed; 2]);
    }

    #[test]
    fn no_segment_makes_an_end_panic(
        config in any_config(),
        listens in any::<bool>(),
        handshake in any::<bool>(),
        seed in 1u64..,
        rolls in 1usize..200,
    ) {
        let mut dice = Dice(seed);
        let mut end = if listens { Connection::listen(&config) } else { Connection::connect(&config) };
        let mut now = Time::ZERO;
        if handshake {
            let mut wire = Wire::new(&config);
            wire.run();
            end = wire.ends[usize::from(listens)].clone();
            now = wire.now;
        }
        for _ in 0..rolls {
            match dice.roll() % 8 {
                0 => end.write(if dice.percent(5) { u64::MAX } else { dice.roll() % 10_000 }),
                1 => drop(end.read(dice.roll() % 10_000)),
                2 if dice.percent(5) => end.close(),
                3 => {
                    let window = if dice.percent(10) { u64::MAX } else { dice.roll() % 20_000 };
                    let can = end.can_transmit(now, window);
                    let next = end.next_offset();
                    let segment = end.transmit(now, window);
                    prop_assert_eq!(can, segment.is_some());
                    if let Some(data) = segment.filter(|segment| segment.len > 0) {
                        prop_assert_eq!(next, Some(data.seq - 1));
                    }
                }
                4 => drop(end.ack(now, if dice.percent(50) { Covers::All } else { Covers::AllButLast })),
                5 => {
                    let deadline = end.deadline();
                    let waits = deadline.is_some() && dice.percent(50);
                    now = if waits { now.max(deadline) } else { now + Time::from_ms(3) };
                    end.on_deadline(now);
                    prop_assert!(end.deadline() > now || end.deadline() == Time::NEVER);
                }
                _ => {
                    let outcome = end.on_segment(now, &any_segment(&mut dice, &end));
                    if let Some(acked) = outcome.acked {
                        prop_assert!(acked.acked_to <= acked.sent_to && acked.newly_acked <= acked.acked_to);
                    }
                    if let Some(arrived) = outcome.arrived {
                        prop_assert!(arrived.delivered <= arrived.arrived_to);
                        prop_assert_eq!(arrived.arrived_to, end.arrived_to());
                    }
                }
            }
            prop_assert!(end.acked_to() <= end.sent_to());
        }
    }
}

/// Numbers near those that matter, and far from them.
fn any_segment(dice: &mut Dice, end: &Connection) -> Segment {
    let mut number = |near: u64| match dice.roll() % 8 {
        0 => dice.roll() % 3,
        1 => u64::MAX - dice.roll() % 3,
        2 => near,
        3 => near + 1,
        4 => (near + 2).saturating_sub(dice.roll() % 5000),
        _ => near.saturating_add(dice.roll() % 5000),
    };
    let (seq, ack) = (number(end.arrived_to() + 1), number(end.acked_to() + 1));
    let blocks: Vec<(u64, u64)> = (0..3).map(|_| (number(end.acked_to() + 1), number(end.acked_to() + 500))).collect();
    let flags = if dice.percent(70) { 16 } else { dice.roll() as u8 };
    Segment {
        seq,
        ack,
        sent_at: Time::from_ps(dice.roll()),
        echo: Time::from_ps(dice.roll()),
        len: if dice.percent(5) { u32::MAX } else { dice.roll() as u32 % 3000 * (dice.roll() as u32 % 2) },
        window: dice.roll() as u16,
        flags,
        scale: dice.percent(50).then(|| dice.roll() as u8),
        sack_permitted: dice.percent(70),
        retransmitted: false,
        probe: false,
        sack: SackBlocks::new(blocks.into_iter().take(dice.roll() as usize % 4)),
    }
}
