//! Weights and strict priorities of the data classes at a port, of a switch or of a host.
//!
//! Classes form levels, as in 802.1Qaz (enhanced transmission selection): a port sends of the highest level that has
//! something to send, and the classes of a level share what is left to it by their weights, in bytes. They do so by
//! deficit round robin (Shreedhar and Varghese 1995): as its turn comes, a class gets a quantum in proportion to its
//! weight, and each packet that it sends takes its bytes from that. A class goes on while any of it is left; its last
//! packet may take more than is left, and the class begins its next turn with that debt. So a packet's size need not be
//! known before it is chosen, as at a NIC that makes its packets one by one (surplus round robin, Adiseshu, Parulkar
//! and Varghese 1996). Over any number of turns a class that always waits has sent its quanta to within one packet.
//!
//! The quantum is the weight times the largest packet, where the weights of a level are first divided by their greatest
//! common divisor: 15 and 5 are 3 and 1. Since that pays for any packet, each turn sends at least one, and a choice
//! takes the same few steps whatever waits. What a class leaves of its quantum, because nothing more of it waits or
//! because it is paused, is lost: nobody saves up.

use crate::shaper::next_class;

/// Most classes of a port, control included.
const CLASSES: usize = 8;

/// Largest weight. A quantum of it is less than 2^31 bytes.
pub const MOST_WEIGHT: u16 = 1000;

/// What a data class has instead of one packet in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Precedence {
    /// Whether it is served before all classes that are not, whatever their priority.
    pub urgent: bool,
    /// Classes of number 1 are served first, then those of 2, and so on; last those without one.
    pub priority: Option<u8>,
    /// Its weight among the classes of its level; `None` is 1.
    pub weight: Option<u16>,
}

/// The levels and quanta of the classes, the same at all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// The classes of each level, highest first: bit c for class c.
    levels: [u8; CLASSES],
    /// By class.
    quanta: [i32; CLASSES],
}

/// Whose turn it is at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// By class: bytes that are left of its quantum, or that it has sent beyond.
    left: [i32; CLASSES],
    /// Bit c: class c had the last turn of its level.
    last: u8,
}

impl Scheduler {
    /// Of data classes, numbered from 1, whose packets have up to `largest` bytes. `None` where none has a priority or
    /// a weight: then a packet of each leaves in turn.
    pub fn new(classes: impl Iterator<Item = Precedence> + Clone, largest: u32) -> Option<Self> {
        let classes = || (1..CLASSES).zip(classes.clone());
        if classes().all(|(_, of)| of.priority.is_none() && of.weight.is_none()) {
            return None;
        }
        let after_all = u16::MAX;
        let rank =
            |of: Precedence| if of.urgent { 0 } else { of.priority.map_or(after_all, |number| 1 + u16::from(number)) };
        let weight = |of: Precedence| i32::from(of.weight.unwrap_or(1).clamp(1, MOST_WEIGHT));
        let largest = largest.clamp(1, i32::MAX as u32 / (2 * u32::from(MOST_WEIGHT))) as i32;
        let (mut levels, mut quanta) = ([0; CLASSES], [0; CLASSES]);
        for (class, of) in classes() {
            let higher = classes().filter(|(_, other)| rank(*other) < rank(of));
            // Levels of as many numbers as there are classes: some stay empty.
            levels[higher.count()] |= 1 << class;
            let level = classes().filter(|(_, other)| rank(*other) == rank(of));
            let divisor = level.fold(0, |divisor, (_, other)| common(weight(other), divisor));
            quanta[class] = weight(of) / divisor * largest;
        }
        Some(Self { levels, quanta })
    }

    /// Which of these classes (a bit set without control, not empty) sends the next packet.
    #[inline]
    pub fn choose(&self, turns: &Turns, classes: u8) -> u8 {
        let classes = self.highest(classes);
        let last = self.last(turns, classes);
        if classes & 1 << last != 0 && turns.left[last as usize] > 0 { last } else { next_class(classes, 0, last) }
    }

    /// A class sends a packet of so many bytes.
    #[inline]
    pub fn sends(&self, turns: &mut Turns, class: u8, wire: u16) {
        let last = self.last(turns, 1 << class);
        let at = class as usize;
        if last != class || turns.left[at] <= 0 {
            turns.left[last as usize] = turns.left[last as usize].min(0);
            turns.last = turns.last & !(1 << last) | 1 << class;
            turns.left[at] += self.quanta[at];
        }
        turns.left[at] -= i32::from(wire);
    }

    /// Those of these classes that are of the highest level among them.
    #[inline]
    fn highest(&self, classes: u8) -> u8 {
        self.levels.iter().map(|level| level & classes).find(|some| *some != 0).unwrap_or(classes)
    }

    /// The class that had the last turn of the level of these classes, or 0.
    #[inline]
    fn last(&self, turns: &Turns, classes: u8) -> u8 {
        let level = self.levels.iter().find(|level| **level & classes != 0).copied().unwrap_or(0);
        let last = turns.last & level;
        if last == 0 { 0 } else { last.trailing_zeros() as u8 }
    }
}

/// The greatest common divisor.
fn common(a: i32, b: i32) -> i32 {
    if b == 0 { a } else { common(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const fn class(priority: Option<u8>, weight: Option<u16>) -> Precedence {
        Precedence { urgent: false, priority, weight }
    }

    /// The next packets of these classes, where those of class c have `wire[c - 1]` bytes and there are always more.
    fn order(scheduler: &Scheduler, turns: &mut Turns, classes: u8, wire: &[u16], packets: usize) -> Vec<u8> {
        let next = |_| {
            let class = scheduler.choose(turns, classes);
            scheduler.sends(turns, class, wire[class as usize - 1]);
            class
        };
        (0..packets).map(next).collect()
    }

    fn of(classes: &[Precedence]) -> Scheduler {
        Scheduler::new(classes.iter().copied(), 1500).expect("some class has a weight or a priority")
    }

    #[test]
    fn classes_share_by_weight() {
        let weights = of(&[class(None, Some(15)), class(None, Some(5)), class(None, None)]);
        // 15, 5 and 1 have no common divisor; 15 and 5 have.
        assert_eq!(weights.quanta, [0, 22_500, 7_500, 1_500, 0, 0, 0, 0]);
        let two = of(&[class(None, Some(15)), class(None, Some(5))]);
        let mut turns = Turns::default();
        assert_eq!(order(&two, &mut turns, 0b110, &[1500, 1500], 8), [1, 1, 1, 2, 1, 1, 1, 2]);
        // A class that is not there loses the rest of its turn, and one alone has all turns.
        assert_eq!(order(&two, &mut turns, 0b110, &[1500, 1500], 1), [1]);
        assert_eq!(order(&two, &mut turns, 0b100, &[1500, 1500], 3), [2, 2, 2]);
        assert_eq!(order(&two, &mut turns, 0b110, &[1500, 1500], 5), [1, 1, 1, 2, 1]);
    }

    #[test]
    fn shares_are_of_bytes_and_debts_are_paid() {
        let two = of(&[class(None, Some(1)), class(None, Some(1))]);
        let mut turns = Turns::default();
        assert_eq!(order(&two, &mut turns, 0b110, &[1500, 300], 12), [1, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2]);
        // Packets of 1,000 B: two, then one with the debt of 500 B paid, and so on: 1,500 B a turn.
        let mut turns = Turns::default();
        let found = order(&two, &mut turns, 0b110, &[1000, 1500], 10);
        assert_eq!(found, [1, 1, 2, 1, 2, 1, 1, 2, 1, 2]);
    }

    #[test]
    fn levels_are_strict_and_have_turns_of_their_own() {
        let urgent = Precedence { urgent: true, ..class(Some(2), None) };
        let all = of(&[class(None, Some(2)), class(Some(2), None), class(Some(1), None), urgent, class(None, Some(1))]);
        assert_eq!(all.levels, [1 << 4, 1 << 3, 1 << 2, 1 << 1 | 1 << 5, 0, 0, 0, 0]);
        let mut turns = Turns::default();
        let wire = [1500; 5];
        for (classes, next) in [(0b11_1110, 4), (0b10_1110, 3), (0b10_0110, 2)] {
            assert_eq!(order(&all, &mut turns, classes, &wire, 2), [next; 2]);
        }
        // The turns of the lowest level go on where they were interrupted.
        assert_eq!(order(&all, &mut turns, 0b10_0010, &wire, 1), [1]);
        assert_eq!(order(&all, &mut turns, 0b10_0110, &wire, 1), [2]);
        assert_eq!(order(&all, &mut turns, 0b10_0010, &wire, 5), [1, 5, 1, 1, 5]);
    }

    #[test]
    fn without_any_there_is_no_scheduler_and_the_largest_do_not_overflow() {
        let urgent = Precedence { urgent: true, ..Precedence::default() };
        assert_eq!(Scheduler::new([Precedence::default(), urgent].into_iter(), 1500), None);
        let largest =
            Scheduler::new([class(None, Some(u16::MAX)), class(None, Some(1))].into_iter(), u32::MAX).unwrap();
        let mut turns = Turns::default();
        assert!(order(&largest, &mut turns, 0b110, &[1, 1], 100).iter().all(|class| *class == 1));
        assert_eq!(order(&largest, &mut turns, 0b100, &[u16::MAX, u16::MAX], 3), [2; 3]);
    }
}
