//! Configuration files.

use super::Config;
use super::config_file::ConfigFile;
use super::keys::Key;
use crate::{Errors, Warning};

impl Default for Config {
    /// The defaults of that simulator.
    fn default() -> Self {
        Self {
            enable_qcn: true,
            payload: 1000,
            topology_file: String::new(),
            flow_file: String::new(),
            trace_file: String::new(),
            trace_output_file: String::new(),
            fct_output_file: "fct.txt".into(),
            pfc_output_file: "pfc.txt".into(),
            qlen_file: String::new(),
            stop: 3.01,
            cc_mode: 1,
            alpha_resume_interval: 55.0,
            rate_decrease_interval: 4.0,
            rp_timer: 0.0,
            clamp_target_rate: false,
            fast_recovery_times: 5,
            // Its source has 1/16, which is 0 in integer arithmetic.
            ewma_gain: 0.0,
            rate_ai: 0,
            rate_hai: 0,
            min_rate: 100_000_000,
            dctcp_rate_ai: 1_000_000_000,
            error_rate_per_link: 0.0,
            l2_chunk_size: 0,
            l2_ack_interval: 0,
            l2_back_to_zero: false,
            has_win: true,
            global_t: true,
            var_win: false,
            fast_react: true,
            rate_bound: true,
            u_target: 0.95,
            mi_thresh: 5,
            int_multi: 1,
            multi_rate: true,
            sample_feedback: false,
            ack_high_prio: false,
            link_down: None,
            enable_trace: true,
            kmin: Vec::new(),
            kmax: Vec::new(),
            pmax: Vec::new(),
            buffer_mib: 16,
            qlen_start: 2_000_000_000,
            qlen_end: 2_100_000_000,
            enable_pfc: true,
            enable_irn: false,
            lb_mode: 0,
            random_seed: 1,
            headroom_factor: 3.0,
        }
    }
}

impl Config {
    /// Reads a configuration for that simulator's own network. [`ConfigFile`] has the rules of the format, and what
    /// else a configuration can be read for.
    ///
    /// # Errors
    /// All problems with their lines and corrections.
    pub fn read(file: &str, text: &[u8]) -> Result<(Self, Vec<Warning>), Errors> {
        ConfigFile::read(file, text).exact(false, &format!("fanin run --hpcc {file} --scheme dcqcn"))
    }

    /// Whether a key has an effect, given the others.
    pub(super) fn uses(&self, key: &Key) -> bool {
        let useless = match key.name {
            "KMIN_MAP" | "KMAX_MAP" | "PMAX_MAP" => !self.enable_qcn,
            "VAR_WIN" => !self.has_win,
            _ => false,
        };
        key.modes.contains(&self.cc_mode) && !useless
    }
}
