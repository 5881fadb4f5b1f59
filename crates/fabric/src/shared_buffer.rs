//! Buffer limits of a switch: static shares per port, or pools with dynamic thresholds, common or of one class.

use crate::config::{BufferPolicy, ClassConfig, PacketSizes};
use fanin_units::Rate;

/// The limit of a class at ports of a rate, the same at every switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// No limit.
    None,
    /// Credits: the peer of a port sends only what fits.
    Credits,
    /// Bytes per port. Lossy: the sum of the egress queues of `classes`. Lossless: the bytes of an ingress.
    Port {
        /// The bytes.
        bytes: u64,
        /// Bit c: class c counts too.
        classes: u8,
    },
    /// A pool of the switch, with a dynamic threshold. Lossy: for each egress queue. Lossless: for each ingress.
    Pool {
        /// The pool of the switch; 0 is the common one.
        pool: usize,
        /// Factor of the threshold.
        alpha: f64,
    },
}

/// The buffers of a network: the limit of each class, and the sizes of a switch's pools.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// By class from 0, control, which has no limit. At ports whose rate is not in `by_rate`.
    pub limits: Vec<Limit>,
    /// The same for ports of certain rates.
    pub by_rate: Vec<(Rate, Vec<Limit>)>,
    /// Bytes of each pool of a switch, headroom included, and the lossless classes that use it (bit c: class c).
    pub pools: Vec<(u64, u8)>,
    /// RESUME when an ingress holds this much less than at its PAUSE.
    pub xon_offset: u64,
}

impl Plan {
    /// The buffers of a network. At ports of the rates of `by_rate` another buffer of the same kind holds, with as many
    /// bytes if it is a pool; one of another kind counts for nothing.
    pub fn new(
        buffer: &BufferPolicy,
        by_rate: &[(Rate, BufferPolicy)],
        classes: &[ClassConfig],
        packet: &PacketSizes,
    ) -> Self {
        let alike = |(_, other): &&(Rate, BufferPolicy)| {
            matches!(
                (buffer, other),
                (BufferPolicy::PerPort { .. }, BufferPolicy::PerPort { .. })
                    | (BufferPolicy::Pooled { .. }, BufferPolicy::Pooled { .. })
            )
        };
        let of_rate = |(rate, buffer): &(Rate, BufferPolicy)| (*rate, Self::of_all(buffer, classes, packet).limits);
        Self { by_rate: by_rate.iter().filter(alike).map(of_rate).collect(), ..Self::of_all(buffer, classes, packet) }
    }

    /// The limit of a class at ports of a rate.
    pub fn limit(&self, class: usize, rate: Rate) -> Limit {
        self.limits_of(self.row(rate))[class]
    }

    /// The row of the limits at ports of a rate: 0 where it has none of its own.
    pub fn row(&self, rate: Rate) -> usize {
        self.by_rate.iter().position(|(of, _)| *of == rate).map_or(0, |at| at + 1)
    }

    /// The limits of a row.
    pub fn limits_of(&self, row: usize) -> &[Limit] {
        row.checked_sub(1).map_or(&self.limits, |at| &self.by_rate[at].1)
    }

    /// The same buffer at all ports.
    fn of_all(buffer: &BufferPolicy, classes: &[ClassConfig], packet: &PacketSizes) -> Self {
        let two_packets = 2 * (packet.payload as u64 + packet.header as u64);
        let (bytes, pfc) = match *buffer {
            BufferPolicy::PerPort { bytes, pfc } | BufferPolicy::Pooled { bytes, pfc, .. } => (bytes, pfc),
            BufferPolicy::Unlimited | BufferPolicy::Credits { .. } => {
                let of_all = if *buffer == BufferPolicy::Unlimited { Limit::None } else { Limit::Credits };
                let mut limits = vec![of_all; classes.len() + 1];
                limits[0] = Limit::None;
                return Self { limits, by_rate: Vec::new(), pools: Vec::new(), xon_offset: two_packets };
            }
        };
        let xon_offset = pfc.xon_offset.unwrap_or(two_packets);
        let own = |share: f64| (bytes as f64 * share) as u64;
        let taken: u64 = classes.iter().filter_map(|c| c.share).map(own).sum();
        let left = bytes.saturating_sub(taken);
        let without = |lossless: bool| {
            let those = classes
                .iter()
                .enumerate()
                .filter(|(_, c)| c.shaper.is_none() && c.share.is_none() && c.lossless == lossless);
            those.fold(0u8, |mask, (i, _)| mask | 2 << i)
        };
        let (lossless, lossy) = (without(true), without(false));
        let mut limits = vec![Limit::None];
        let mut pools = vec![(left, lossless)];
        for (i, class) in classes.iter().enumerate() {
            let only = 2u8 << i;
            limits.push(match *buffer {
                BufferPolicy::Unlimited | BufferPolicy::Credits { .. } => Limit::None,
                BufferPolicy::PerPort { .. } => match class.share {
                    Some(share) => Limit::Port { bytes: own(share), classes: only },
                    None if class.lossless => Limit::Port { bytes: left / lossless.count_ones() as u64, classes: only },
                    None => Limit::Port { bytes: left, classes: lossy },
                },
                BufferPolicy::Pooled { alpha, pfc_alpha, .. } => {
                    let alpha = class.alpha.unwrap_or(if class.lossless { pfc_alpha } else { alpha });
                    let pool = match class.share {
                        Some(share) => {
                            pools.push((own(share), if class.lossless { only } else { 0 }));
                            pools.len() - 1
                        }
                        None => 0,
                    };
                    Limit::Pool { pool, alpha }
                }
            });
        }
        if matches!(buffer, BufferPolicy::PerPort { .. }) {
            pools.clear();
        }
        Self { limits, by_rate: Vec::new(), pools, xon_offset }
    }
}

/// A pool of one switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Its bytes less the reserved headroom.
    pub bytes: u64,
    /// Bytes in it: those of lossy classes, and those of lossless classes that are not in the headroom.
    pub used: u64,
}

impl Pool {
    /// Free bytes.
    #[inline(always)]
    pub fn free(&self) -> u64 {
        self.bytes.saturating_sub(self.used)
    }

    /// Whether a lossy egress queue that holds `queued` bytes may take `wire` more.
    #[inline(always)]
    pub fn admits(&self, alpha: f64, queued: u64, wire: u64) -> bool {
        // Dynamic threshold (Choudhury and Hahne): T = alpha x (B - Q).
        let free = self.free();
        wire <= free && float(queued + wire) <= alpha * float(free)
    }

    /// The PAUSE threshold of a lossless ingress.
    #[inline(always)]
    pub fn pause_threshold(&self, alpha: f64) -> u64 {
        (alpha * float(self.free())) as i64 as u64
    }
}

/// Bytes as a number: as signed ones, which processors convert in one step.
#[inline(always)]
fn float(bytes: u64) -> f64 {
    bytes as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Marking, Pfc};

    fn plan_by_rate(
        buffer: BufferPolicy,
        by_rate: &[(Rate, BufferPolicy)],
        classes: &[(bool, Option<f64>, Option<f64>)],
    ) -> Plan {
        let class = |&(lossless, share, alpha): &(bool, Option<f64>, Option<f64>)| ClassConfig {
            name: String::new(),
            lossless,
            marking: Marking::Off,
            marking_by_rate: Vec::new(),
            share,
            sibling_vl: None,
            urgent: false,
            priority: None,
            weight: None,
            shaper: None,
            alpha,
        };
        let classes: Vec<ClassConfig> = classes.iter().map(class).collect();
        Plan::new(&buffer, by_rate, &classes, &PacketSizes { payload: 1460, header: 40, ack: 64, cnp: 64, pause: 64 })
    }

    fn plan(buffer: BufferPolicy, classes: &[(bool, Option<f64>, Option<f64>)]) -> Plan {
        plan_by_rate(buffer, &[], classes)
    }

    const PFC: Pfc = Pfc { headroom: None, xon_offset: None };
    const PORT: BufferPolicy = BufferPolicy::PerPort { bytes: 100_000, pfc: PFC };
    const POOL: BufferPolicy = BufferPolicy::Pooled { bytes: 100_000, alpha: 0.5, pfc_alpha: 0.25, pfc: PFC };

    #[test]
    fn without_shares_all_classes_use_everything() {
        let both = [(false, None, None), (true, None, None), (false, None, None), (true, None, None)];
        let ports = plan(PORT, &both);
        let lossy = Limit::Port { bytes: 100_000, classes: 0b1010 };
        let lossless = |classes| Limit::Port { bytes: 50_000, classes };
        assert_eq!(ports.limits, [Limit::None, lossy, lossless(0b100), lossy, lossless(0b1_0000)]);
        assert_eq!((ports.pools.len(), ports.xon_offset), (0, 3000));
        let pool = plan(POOL, &both);
        let [lossy, lossless] = [0.5, 0.25].map(|alpha| Limit::Pool { pool: 0, alpha });
        assert_eq!(pool.limits, [Limit::None, lossy, lossless, lossy, lossless]);
        assert_eq!(pool.pools, [(100_000, 0b1_0100)]);
        assert_eq!(plan(BufferPolicy::Unlimited, &both).limits, [Limit::None; 5]);
    }

    #[test]
    fn a_share_is_a_part_of_its_own_and_the_others_use_the_rest() {
        let mixed = [(false, Some(0.2), Some(2.0)), (true, Some(0.5), None), (false, None, None), (true, None, None)];
        let ports = plan(PORT, &mixed);
        let limit = |bytes, classes| Limit::Port { bytes, classes };
        assert_eq!(ports.limits[1..3], [limit(20_000, 0b10), limit(50_000, 0b100)]);
        assert_eq!(ports.limits[3..], [limit(30_000, 0b1000), limit(30_000, 0b1_0000)]);
        let pool = plan(POOL, &mixed);
        let limit = |pool, alpha| Limit::Pool { pool, alpha };
        assert_eq!(pool.limits[1..], [limit(1, 2.0), limit(2, 0.25), limit(0, 0.5), limit(0, 0.25)]);
        assert_eq!(pool.pools, [(30_000, 0b1_0000), (20_000, 0), (50_000, 0b100)]);
    }

    #[test]
    fn ports_of_some_rates_have_limits_of_their_own() {
        let [slow, usual, fast] = [25, 100, 400].map(Rate::from_gbps);
        let both = [(false, None, None), (true, Some(0.25), None)];
        let of = |bytes| BufferPolicy::PerPort { bytes, pfc: PFC };
        let ports = plan_by_rate(PORT, &[(fast, of(400_000)), (slow, of(25_000))], &both);
        let limits = [slow, usual, fast].map(|rate| [1, 2].map(|class| ports.limit(class, rate)));
        let expected = [25_000, 100_000, 400_000].map(|bytes| {
            let own = bytes / 4;
            [Limit::Port { bytes: bytes - own, classes: 0b10 }, Limit::Port { bytes: own, classes: 0b100 }]
        });
        assert_eq!(limits, expected);
        let fast_pauses = BufferPolicy::Pooled { bytes: 100_000, alpha: 0.5, pfc_alpha: 1.0, pfc: PFC };
        let pool = plan_by_rate(POOL, &[(fast, fast_pauses)], &both);
        assert_eq!([usual, fast].map(|rate| pool.limit(1, rate)), [Limit::Pool { pool: 0, alpha: 0.5 }; 2]);
        assert_eq!(
            [usual, fast].map(|rate| pool.limit(2, rate)),
            [0.25, 1.0].map(|alpha| Limit::Pool { pool: 1, alpha })
        );
    }

    #[test]
    fn one_hot_queue_settles_at_the_dynamic_threshold() {
        // DCTCP IV: 4 MB of which one hot port gets about 700 KB at alpha 0.21: q = alpha (B - q).
        let mut pool = Pool { bytes: 4_000_000, used: 0 };
        while pool.admits(0.21, pool.used, 1500) {
            pool.used += 1500;
        }
        assert!((693_000..=695_000).contains(&pool.used), "{}", pool.used);
    }

    #[test]
    fn one_hot_ingress_settles_at_a_ninth_of_the_pool() {
        // HPCC V-A: 11 % of the free buffer, X = (F - X) / 8.
        let mut pool = Pool { bytes: 9_000_000, used: 0 };
        while pool.used < pool.pause_threshold(0.125) {
            pool.used += 1000;
        }
        assert!((1_000_000..=1_001_000).contains(&pool.used), "{}", pool.used);
    }

    #[test]
    fn a_pool_that_is_full_takes_nothing_whatever_its_factor() {
        let pool = Pool { bytes: 3000, used: 1501 };
        assert!(!pool.admits(1000.0, 0, 1500) && pool.admits(1000.0, 0, 1499));
        assert_eq!(Pool { bytes: 1000, used: 2000 }.free(), 0);
    }
}
