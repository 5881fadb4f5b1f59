//! Configurations as files.

use super::Config;
use super::keys::KEYS;
use core::fmt::{Display, Write as _};

impl Config {
    /// The file: the keys with an effect, given the others, in the order of that simulator's manual. Files without a
    /// name are left out.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for key in KEYS.iter().filter(|key| self.uses(key)) {
            let value = self.value_of(key.name);
            if !value.is_empty() {
                let _ = writeln!(text, "{} {value}", key.name);
            }
        }
        text
    }

    fn value_of(&self, key: &str) -> String {
        let flag = |on: bool| u8::from(on).to_string();
        match key {
            "ENABLE_QCN" => flag(self.enable_qcn),
            "PACKET_PAYLOAD_SIZE" => self.payload.to_string(),
            "TOPOLOGY_FILE" => self.topology_file.clone(),
            "FLOW_FILE" => self.flow_file.clone(),
            "TRACE_FILE" => self.trace_file.clone(),
            "TRACE_OUTPUT_FILE" => self.trace_output_file.clone(),
            "FCT_OUTPUT_FILE" => self.fct_output_file.clone(),
            "PFC_OUTPUT_FILE" => self.pfc_output_file.clone(),
            "SIMULATOR_STOP_TIME" => self.stop.to_string(),
            "CC_MODE" => self.cc_mode.to_string(),
            "ALPHA_RESUME_INTERVAL" => self.alpha_resume_interval.to_string(),
            "RATE_DECREASE_INTERVAL" => self.rate_decrease_interval.to_string(),
            "CLAMP_TARGET_RATE" => flag(self.clamp_target_rate),
            "RP_TIMER" => self.rp_timer.to_string(),
            "EWMA_GAIN" => self.ewma_gain.to_string(),
            "FAST_RECOVERY_TIMES" => self.fast_recovery_times.to_string(),
            "RATE_AI" => rate(self.rate_ai),
            "RATE_HAI" => rate(self.rate_hai),
            "MIN_RATE" => rate(self.min_rate),
            "DCTCP_RATE_AI" => rate(self.dctcp_rate_ai),
            "ERROR_RATE_PER_LINK" => self.error_rate_per_link.to_string(),
            "L2_CHUNK_SIZE" => self.l2_chunk_size.to_string(),
            "L2_ACK_INTERVAL" => self.l2_ack_interval.to_string(),
            "L2_BACK_TO_ZERO" => flag(self.l2_back_to_zero),
            "HAS_WIN" => flag(self.has_win),
            "GLOBAL_T" => flag(self.global_t),
            "VAR_WIN" => flag(self.var_win),
            "FAST_REACT" => flag(self.fast_react),
            "U_TARGET" => self.u_target.to_string(),
            "MI_THRESH" => self.mi_thresh.to_string(),
            "INT_MULTI" => self.int_multi.to_string(),
            "MULTI_RATE" => flag(self.multi_rate),
            "SAMPLE_FEEDBACK" => flag(self.sample_feedback),
            "RATE_BOUND" => flag(self.rate_bound),
            "ACK_HIGH_PRIO" => flag(self.ack_high_prio),
            "LINK_DOWN" => {
                let (after, a, b) = self.link_down.unwrap_or_default();
                format!("{after} {a} {b}")
            }
            "ENABLE_TRACE" => flag(self.enable_trace),
            "KMAX_MAP" => map(&self.kmax),
            "KMIN_MAP" => map(&self.kmin),
            "PMAX_MAP" => map(&self.pmax),
            "BUFFER_SIZE" => self.buffer_mib.to_string(),
            "QLEN_MON_FILE" => self.qlen_file.clone(),
            "QLEN_MON_START" => self.qlen_start.to_string(),
            "QLEN_MON_END" => self.qlen_end.to_string(),
            // Keys that nothing reads.
            _ => String::new(),
        }
    }
}

/// In whole megabits if possible.
fn rate(bits: u64) -> String {
    match bits % 1_000_000 {
        0 => format!("{}Mb/s", bits / 1_000_000),
        _ => format!("{bits}bps"),
    }
}

/// `n rate value rate value ...`; empty if there are none.
fn map<T: Display>(entries: &[(u64, T)]) -> String {
    let mut text = String::new();
    if !entries.is_empty() {
        let _ = write!(text, "{}", entries.len());
    }
    for (rate, value) in entries {
        let _ = write!(text, " {rate} {value}");
    }
    text
}
