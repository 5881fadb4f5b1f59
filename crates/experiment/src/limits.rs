//! Refuses runs that would take more memory or time than their caller allows, before anything is built.

use crate::explain::{Cost, Share, bytes_text, estimate, estimate_hpcc, estimate_uet, time_text};
use crate::{CheckedSpec, ListedFlow, hpcc, uet};
use std::fmt;

/// A speed that every machine reaches, in packet-hops per second: a run that is short enough at this speed needs no
/// trial.
const SLOW: f64 = 5e5;

/// Limits of a run; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Real time in seconds.
    pub wall_s: Option<f64>,
}

/// A run that was refused. Its message is one line.
#[derive(Clone, Debug)]
pub struct Exceeded {
    /// The file or name of the spec.
    pub name: String,
    /// Whether the memory exceeds its limit; otherwise the real time does.
    pub memory: bool,
    /// The estimate, in bytes or seconds.
    pub estimate: f64,
    /// The limit.
    pub limit: f64,
    /// The largest contribution to it.
    pub most: Option<Share>,
}

impl Limits {
    /// Whether a run is within its limits, with `flows` that its caller adds. Examines its messages for a second at
    /// most. Returns its estimated cost, or none if there are no limits.
    ///
    /// # Errors
    /// The estimate, the limit, and the largest contribution.
    pub fn check(&self, checked: &CheckedSpec, flows: &[ListedFlow]) -> Result<Option<Cost>, Box<Exceeded>> {
        self.within(&checked.document().name, |speed| estimate(checked, flows, speed))
    }

    /// The same for a configuration of the ns-3 HPCC simulator on its own network.
    ///
    /// # Errors
    /// As [`Limits::check`].
    pub fn check_hpcc(&self, setup: &hpcc::Setup) -> Result<Option<Cost>, Box<Exceeded>> {
        self.within(setup.name(), |speed| estimate_hpcc(setup, speed))
    }

    /// The same for a connection matrix on the network of uet-htsim.
    ///
    /// # Errors
    /// As [`Limits::check`].
    pub fn check_uet(&self, setup: &uet::Setup) -> Result<Option<Cost>, Box<Exceeded>> {
        self.within(&setup.name(), |speed| estimate_uet(setup, speed))
    }

    /// Whether the cost at a speed is within the limits. A trial of the speed is made only if it is not at a low one.
    fn within(&self, name: &str, cost_at: impl Fn(Option<f64>) -> Cost) -> Result<Option<Cost>, Box<Exceeded>> {
        if self.memory_bytes.is_none() && self.wall_s.is_none() {
            return Ok(None);
        }
        let cost = cost_at(Some(SLOW));
        match self.of(&cost, name) {
            Err(exceeded) if !exceeded.memory => self.of(&cost_at(None), name),
            fits => fits,
        }?;
        Ok(Some(cost))
    }

    /// The same for a cost that is known.
    ///
    /// # Errors
    /// As [`Limits::check`].
    pub fn of(&self, cost: &Cost, name: &str) -> Result<(), Box<Exceeded>> {
        let memory = self.memory_bytes.map(|limit| (true, cost.memory_bytes, limit as f64, &cost.memory_of));
        let wall = self.wall_s.map(|limit| (false, cost.wall_s, limit, &cost.packet_hops_of));
        for (memory, estimate, limit, parts) in [memory, wall].into_iter().flatten() {
            // An estimate that is not a number exceeds every limit.
            if estimate.is_nan() || estimate > limit {
                let mut most = parts.first().cloned();
                if !memory && cost.setup_s > cost.wall_s / 2.0 {
                    most = Some(Share { what: "set-up: routes and tables".into(), amount: cost.setup_s });
                } else if let (false, Some(most)) = (memory, &mut most) {
                    most.amount /= cost.packet_hops_per_s;
                }
                return Err(Box::new(Exceeded { name: name.to_string(), memory, estimate, limit, most }));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, memory, estimate, limit, most } = self;
        let text = |amount: f64| if *memory { bytes_text(amount) } else { time_text(amount) };
        let needs = if *memory { "needs about" } else { "takes about" };
        let what = if *memory { " of memory" } else { "" };
        write!(f, "{name}: this run {needs} {}{what}, above the limit of {}", text(*estimate), text(*limit))?;
        if let Some(most) = most {
            write!(f, "; {} of {} for {}", text(most.amount), text(*estimate), most.what)?;
        }
        let shorter = if *memory { "make it smaller" } else { "make it shorter" };
        // A little more than the estimate, which is not exact.
        let more = estimate * 1.2;
        let allowed = if *memory {
            format!("--max-memory {:.0}GB", (more / 1e9).ceil())
        } else if more < 7200.0 {
            format!("--max-time {:.0}min", (more / 60.0).ceil())
        } else {
            format!("--max-time {:.0}h", (more / 3600.0).ceil())
        };
        write!(f, "; {shorter}, or allow more: {allowed}")
    }
}

impl std::error::Error for Exceeded {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use std::path::Path;

    fn poisson(window: &str) -> CheckedSpec {
        let text = format!(
            "spec_version = 1\nname = \"busy\"\n[network]\ntopology = {{ kind = \"star\", hosts = 100, link = \"10 \
             Gbps\", delay = \"1 us\" }}\nbuffer = {{ policy = \"unlimited\" }}\n[[traffic]]\nname = \
             \"queries\"\nscheme = \"none\"\npattern = {{ kind = \"poisson\" }}\nsize = {{ fixed = \"10 KB\" }}\nload \
             = {{ share = 0.5, of = \"host-links\" }}\n[measure]\nwindow = \"{window}\"\n"
        );
        Spec::from_toml(&text, "x.toml", Path::new("")).unwrap().check().unwrap()
    }

    #[test]
    fn a_run_above_a_limit_is_told_what_it_needs_and_which_flag_allows_it() {
        // 6.25 messages a microsecond.
        let (short, long) = (poisson("1 ms"), poisson("4 s"));
        let limits = Limits { memory_bytes: Some(1_000_000_000), wall_s: None };
        assert!(limits.check(&short, &[]).is_ok());
        let text = limits.check(&long, &[]).unwrap_err().to_string();
        assert!(text.starts_with("busy: this run needs about ") && text.contains("above the limit of 1 GB"), "{text}");
        assert!(text.contains("messages of traffic \"queries\"") && text.contains("--max-memory "), "{text}");
        assert!(!text.contains('\n'));
        let limits = Limits { memory_bytes: None, wall_s: Some(2.0) };
        assert!(limits.check(&short, &[]).is_ok());
        let text = limits.check(&long, &[]).unwrap_err().to_string();
        assert!(text.contains("above the limit of 2 s") && text.contains("--max-time "), "{text}");
        assert!(Limits::default().check(&long, &[]).is_ok());
    }

    #[test]
    fn flows_of_the_caller_count() {
        let flow = ListedFlow { start: fanin_units::Time::ZERO, src: 0, dst: 1, bytes: 10_000, group: 0 };
        let limits = Limits { memory_bytes: Some(200_000_000), wall_s: None };
        assert!(limits.check(&poisson("1 ms"), &[]).is_ok());
        assert!(limits.check(&poisson("1 ms"), &vec![flow; 3_000_000]).is_err());
    }
}
