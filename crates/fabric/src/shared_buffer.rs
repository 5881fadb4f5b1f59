//! Who may still enter a switch: static shares per port, or one pool with dynamic thresholds.

use crate::config::BufferPolicy;

/// The buffer of one switch.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwitchBuffer {
    /// Bytes in the pool that count as shared, all ports and classes.
    pub used: u64,
    /// Bytes of the pool set aside for headroom.
    pub reserved: u64,
}

impl SwitchBuffer {
    /// Free bytes of a pool of `bytes`.
    #[inline(always)]
    pub fn free(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.reserved).saturating_sub(self.used)
    }

    /// Whether a lossy egress queue that holds `queued` bytes may take `wire` more.
    #[inline(always)]
    pub fn admits_lossy(&self, policy: &BufferPolicy, queued: u64, wire: u64) -> bool {
        match *policy {
            BufferPolicy::PerPort { bytes, .. } => queued + wire <= bytes,
            // Dynamic threshold (Choudhury and Hahne): T = alpha x (B - Q).
            BufferPolicy::Pooled { bytes, alpha, .. } => {
                let free = self.free(bytes);
                wire <= free && (queued + wire) as f64 <= alpha * free as f64
            }
            BufferPolicy::Unlimited => true,
        }
    }

    /// Where a lossless ingress with this headroom pauses its sender.
    #[inline(always)]
    pub fn pause_threshold(&self, policy: &BufferPolicy, lossless_classes: u64, headroom: u64) -> u64 {
        match *policy {
            BufferPolicy::PerPort { bytes, .. } => (bytes / lossless_classes.max(1)).saturating_sub(headroom),
            BufferPolicy::Pooled { bytes, pfc_alpha, .. } => (pfc_alpha * self.free(bytes) as f64) as u64,
            BufferPolicy::Unlimited => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Pfc;

    const PFC: Pfc = Pfc { headroom: None, resume_gap: None };

    #[test]
    fn one_hot_queue_settles_at_the_dynamic_threshold() {
        // DCTCP IV: 4 MB of which one hot port gets about 700 KB at alpha 0.21: q = alpha (B - q).
        let policy = BufferPolicy::Pooled { bytes: 4_000_000, alpha: 0.21, pfc_alpha: 0.125, pfc: PFC };
        let mut buffer = SwitchBuffer::default();
        let mut queued = 0;
        while buffer.admits_lossy(&policy, queued, 1500) {
            queued += 1500;
            buffer.used += 1500;
        }
        assert!((693_000..=695_000).contains(&queued), "{queued}");
    }

    #[test]
    fn one_hot_ingress_settles_at_a_ninth_of_the_pool() {
        // HPCC V-A: 11 % of the free buffer, X = (F - X) / 8.
        let policy = BufferPolicy::Pooled { bytes: 9_000_000, alpha: 1.0, pfc_alpha: 0.125, pfc: PFC };
        let mut buffer = SwitchBuffer::default();
        while buffer.used < buffer.pause_threshold(&policy, 1, 0) {
            buffer.used += 1000;
        }
        assert!((1_000_000..=1_001_000).contains(&buffer.used), "{}", buffer.used);
    }

    #[test]
    fn a_port_share_is_a_hard_limit() {
        let policy = BufferPolicy::PerPort { bytes: 3000, pfc: PFC };
        let buffer = SwitchBuffer::default();
        assert!(buffer.admits_lossy(&policy, 1500, 1500));
        assert!(!buffer.admits_lossy(&policy, 1501, 1500));
        assert_eq!(buffer.pause_threshold(&policy, 2, 1000), 500);
        assert_eq!(buffer.pause_threshold(&policy, 2, 2000), 0);
    }
}
