//! The control law of a configuration.

use fanin_cc::Settings;
use fanin_formats::hpcc::Config;
use serde_json::{Map, Value, json};

/// The `*-ns3` scheme of a configuration, with its parameters.
///
/// # Errors
/// Says which key is impossible, or which mode is not there.
pub fn settings(config: &Config) -> Result<Settings, String> {
    let bps = |rate: u64| json!(format!("{rate} bps"));
    // MicroSeconds() takes integers.
    let us = |us: f64| json!(format!("{} us", us as u64));
    let (id, own) = match config.cc_mode {
        1 => (
            "dcqcn-ns3",
            json!({
                "g": config.ewma_gain,
                "alpha_timer": us(config.alpha_resume_interval),
                "cut_interval": us(config.rate_decrease_interval),
                "increase_timer": us(config.rp_timer),
                "fast_recovery_times": config.fast_recovery_times,
                "rate_ai": bps(config.rate_ai),
                "rate_hai": bps(config.rate_hai),
                "clamp_target": config.clamp_target_rate,
            }),
        ),
        3 => (
            "hpcc-ns3",
            json!({
                "u_target": config.u_target,
                "mi_thresh": config.mi_thresh,
                "rate_ai": bps(config.rate_ai),
                "int_multi": config.int_multi,
                "fast_react": config.fast_react,
                "multi_rate": config.multi_rate,
                "sample_feedback": config.sample_feedback,
            }),
        ),
        7 => ("timely-ns3", json!({ "rate_ai": bps(config.rate_ai), "rate_hai": bps(config.rate_hai) })),
        8 => ("dctcp-ns3", json!({ "g": config.ewma_gain, "dctcp_rate_ai": bps(config.dctcp_rate_ai) })),
        other => return Err(format!("CC_MODE {other}: there are 1 (DCQCN), 3 (HPCC), 7 (TIMELY) and 8 (DCTCP)")),
    };
    let mut values = Map::from_iter([
        ("min_rate".to_string(), bps(config.min_rate)),
        ("window".to_string(), Value::from(config.has_win)),
        ("var_win".to_string(), Value::from(config.var_win)),
    ]);
    if let Value::Object(own) = own {
        values.extend(own);
    }
    fanin_cc::settings(id, &values).map_err(|e| format!("CC_MODE {}: {e:?}", config.cc_mode))
}
