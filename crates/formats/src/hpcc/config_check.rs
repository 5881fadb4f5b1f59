//! What a configuration may say: for that simulator's own network, and for a scheme on the ordinary one.

use super::config_file::ConfigFile;
use super::dialect::{BALANCING, Effect};
use super::keys::{KEYS, nearest};
use super::{Config, Dialect};
use crate::{Error, Errors, Warning};

/// The keys that say something about the network, the flows or failures, and not about control or outputs: what a run
/// under a scheme on the ordinary network takes from a configuration.
const TAKEN: &[&str] = &[
    "ENABLE_QCN",
    "PACKET_PAYLOAD_SIZE",
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "SIMULATOR_STOP_TIME",
    "FLOWGEN_STOP_TIME",
    "ERROR_RATE_PER_LINK",
    "LINK_DOWN",
    "KMAX_MAP",
    "KMIN_MAP",
    "PMAX_MAP",
    "BUFFER_SIZE",
    "ENABLE_PFC",
    "ENABLE_IRN",
    "LB_MODE",
];

/// The name of a `LB_MODE`, in brackets behind it.
pub fn balancing(mode: u32) -> String {
    BALANCING.iter().find(|(known, _)| *known == mode).map_or(String::new(), |(_, name)| format!(" ({name})"))
}

impl ConfigFile {
    /// The configuration for that simulator's own network, which runs every key as it is or refuses it. `command` runs
    /// it on the ordinary network. Keys without effect are listed in one warning.
    ///
    /// That simulator skips unknown words; here they are errors, unless they are to be skipped.
    ///
    /// # Errors
    /// All problems with their lines and corrections.
    pub fn exact(mut self, skip_unknown: bool, command: &str) -> Result<(Config, Vec<Warning>), Errors> {
        let mut errors = Errors::default();
        self.wrong.iter().for_each(|(_, error)| errors.push(error.clone()));
        if !skip_unknown {
            for (line, name) in &self.unknown {
                let near = nearest(name.trim_matches('"').as_bytes());
                let hint = near
                    .map_or("--skip-unknown-keys skips keys of your own".into(), |key| format!("did you mean {key}?"));
                errors.push(self.error(*line, format!("there is no key {name}; {hint}")));
            }
        }
        self.needed(&mut errors);
        self.laws(&mut errors, command);
        self.limits(&mut errors, command);
        self.modes_of_forks(&mut errors, command);
        let silent: Vec<_> = self.of_forks().filter(|(key, _)| key.effect == Effect::Silent).collect();
        let named: Vec<String> =
            silent.iter().map(|(key, _)| format!("{} ({})", key.name, key.of.facts().title)).collect();
        if let (Some((_, line)), false) = (silent.first(), errors.is_empty()) {
            errors
                .push(self.error(*line, format!("no mistakes, since no result depends on them: {}", named.join(", "))));
        }
        self.warn(skip_unknown, &named);
        errors.more_by(self.more);
        errors.or((self.config, self.warnings))
    }

    /// The configuration for a run under a scheme on the ordinary network, which takes only what it says about the
    /// network, flows and failures; and the names of all keys that it does not take, unknown ones too.
    ///
    /// # Errors
    /// All problems with what is taken.
    pub fn ordinary(mut self) -> Result<(Config, Vec<Warning>, Vec<String>), Errors> {
        let mut errors = Errors::default();
        let taken = |key: &str| TAKEN.contains(&key);
        self.wrong.iter().filter(|(key, _)| taken(key)).for_each(|(_, error)| errors.push(error.clone()));
        self.needed(&mut errors);
        if self.config.buffer_mib == 0 && !self.is_wrong("BUFFER_SIZE") {
            let what = "BUFFER_SIZE is 0; write the MiB of a switch, like 32".to_string();
            errors.push(self.error(self.line("BUFFER_SIZE"), what));
        }
        self.ordered(&mut errors);
        let defaults = self.defaults(|key| taken(key));
        self.warnings.extend(defaults);
        let idle = self.idle();
        let others = self.known().filter(|key| !taken(key) && !idle.contains(key)).map(String::from);
        let names = others.chain(self.unknown.iter().map(|(_, name)| {
            let name = name.trim_matches('"');
            nearest(name.as_bytes()).map_or(name.into(), |key| format!("{name} (did you mean {key}?)"))
        }));
        let names = names.collect();
        self.warn_of(&idle);
        errors.or((self.config, self.warnings, names))
    }

    fn error(&self, line: u32, what: String) -> Error {
        Error { file: self.file.clone(), line, what }
    }

    fn is_wrong(&self, key: &str) -> bool {
        self.wrong.iter().any(|(wrong, _)| *wrong == key)
    }

    /// Adds an error about a key whose value could be read.
    fn fail(&self, errors: &mut Errors, key: &str, what: String) {
        let line = self.line(key);
        let missing = if line == 0 { " (the key is missing)" } else { "" };
        if !self.is_wrong(key) {
            errors.push(self.error(line, format!("{key}{missing} {what}")));
        }
    }

    fn needed(&self, errors: &mut Errors) {
        let argument = self.dialect().is_some_and(|(dialect, _)| dialect.facts().topology_is_argument);
        if self.config.topology_file.is_empty() {
            let simai = Dialect::SimAi.facts().title;
            let why = if argument { format!("; {simai} takes it as an argument:") } else { ", or give it:".into() };
            self.fail(errors, "TOPOLOGY_FILE", format!("is needed{why} --topology FILE"));
        }
        if self.config.flow_file.is_empty() {
            self.fail(errors, "FLOW_FILE", "is needed".into());
        }
    }

    /// Adds what would crash or hang that simulator, and control laws that are not here.
    fn laws(&self, errors: &mut Errors, command: &str) {
        let c = &self.config;
        match c.cc_mode {
            1 | 3 | 7 | 8 => {}
            10 => {
                let what = format!(
                    "is 10, HPCC-PINT, which is not implemented; 3 is HPCC with full telemetry; or another scheme on \
                     the ordinary network: {command}"
                );
                self.fail(errors, "CC_MODE", what);
            }
            mode => {
                let what = format!(
                    "is {mode}; it is 1 DCQCN, 3 HPCC, 7 TIMELY or 8 DCTCP; or a scheme on the ordinary network: \
                     {command}"
                );
                self.fail(errors, "CC_MODE", what);
            }
        }
        if c.cc_mode == 1 {
            for (key, us) in [
                ("ALPHA_RESUME_INTERVAL", c.alpha_resume_interval),
                ("RATE_DECREASE_INTERVAL", c.rate_decrease_interval),
                ("RP_TIMER", c.rp_timer),
            ] {
                // Whole microseconds in that simulator: less than one is a timer that fires for ever at one instant.
                if us < 1.0 {
                    self.fail(errors, key, format!("is {us} us; DCQCN's timers take at least 1"));
                }
            }
        }
        if c.min_rate == 0 {
            self.fail(errors, "MIN_RATE", "is 0; a flow at rate 0 never sends again".into());
        }
        if c.cc_mode == 3 && !c.has_win {
            self.fail(errors, "HAS_WIN", "is 0, and HPCC divides by its window; give 1".into());
        }
        if c.l2_ack_interval == 0 {
            let what = "is 0: no ACK is accepted and no flow ends; 1 is an ACK per packet";
            self.fail(errors, "L2_ACK_INTERVAL", what.into());
        }
        if c.l2_chunk_size == 0 && (c.l2_back_to_zero || c.l2_ack_interval > 1) {
            self.fail(errors, "L2_CHUNK_SIZE", "is 0, and chunks are divided by it; the usual is 4000".into());
        }
        self.ordered(errors);
    }

    fn ordered(&self, errors: &mut Errors) {
        let c = &self.config;
        if self.is_wrong("KMIN_MAP") {
            return;
        }
        for (rate, kmin) in &c.kmin {
            if let Some((_, kmax)) = c.kmax.iter().find(|(known, kmax)| known == rate && kmax < kmin) {
                let what = format!("has {kmax} KB at {rate} b/s, below KMIN_MAP's {kmin} KB");
                return self.fail(errors, "KMAX_MAP", what);
            }
        }
    }

    /// Adds values beyond the numbers of that simulator.
    fn limits(&self, errors: &mut Errors, command: &str) {
        let c = &self.config;
        // Bytes have 32 bits there.
        if !(1..=4095).contains(&c.buffer_mib) {
            self.fail(errors, "BUFFER_SIZE", format!("is {}; it is 1 to 4095", c.buffer_mib));
        }
        // Nanoseconds have 63 bits there.
        if c.stop > 9e9 {
            let key = if self.line("SIMULATOR_STOP_TIME") > 0 { "SIMULATOR_STOP_TIME" } else { "FLOWGEN_STOP_TIME" };
            let what = format!("is {} s, beyond that simulator's clock; it is at most 9000000000", c.stop);
            self.fail(errors, key, format!("{what}; or on the ordinary network: {command}"));
        }
    }

    /// Adds modes of forks that would change a result, and that the original does not have.
    fn modes_of_forks(&self, errors: &mut Errors, command: &str) {
        let c = &self.config;
        let here = format!("on the ordinary network: {command}");
        let mut refuse = |key: &str, what: String| self.fail(errors, key, format!("{what}; {here}"));
        if c.lb_mode != 0 {
            let is = format!("is {}{}", c.lb_mode, balancing(c.lb_mode));
            let then = if c.lb_mode == 6 { "has flowlets" } else { "has other policies (--balancing)" };
            refuse("LB_MODE", format!("{is}; that network has only 0, flow hash; the ordinary one {then}"));
        }
        if c.enable_irn {
            refuse("ENABLE_IRN", "is 1; that network repairs losses by go-back-N (0)".into());
        }
        if !c.enable_pfc {
            refuse("ENABLE_PFC", "is 0; that network always has PFC (1)".into());
        }
        if c.random_seed != 1 {
            refuse("RANDOM_SEED", format!("is {}; that network's random numbers are those of 1", c.random_seed));
        }
        if c.headroom_factor != 3.0 {
            let what = format!("is {}; that network's headroom is 3 times rate times delay", c.headroom_factor);
            refuse("HEADROOM_FACTOR", what);
        }
    }

    /// A warning about missing keys whose defaults are probably not meant, of those that `counts` names.
    fn defaults(&self, counts: impl Fn(&str) -> bool) -> Option<Warning> {
        let missing = |key: &&super::keys::Key| {
            self.line(key.name) == 0 && self.config.uses(key) && !key.missing.is_empty() && counts(key.name)
        };
        // ConWeave has another key for the end of a run.
        let known = |key: &&super::keys::Key| {
            key.name == "SIMULATOR_STOP_TIME" && self.line("FLOWGEN_STOP_TIME") > 0 && self.config.stop > 0.0
        };
        let missing: Vec<String> = KEYS
            .iter()
            .filter(missing)
            .filter(|key| !known(key))
            .map(|key| format!("{} ({})", key.name, key.missing))
            .collect();
        let odd = format!("that simulator's defaults are used for the missing keys: {}", missing.join(", "));
        (!missing.is_empty()).then(|| Warning { file: self.file.clone(), line: 0, what: odd })
    }

    /// Keys in it that have no effect, given its control law; none if that is not known.
    fn idle(&self) -> Vec<&'static str> {
        let known = KEYS.iter().any(|key| key.modes.contains(&self.config.cc_mode));
        let idle = KEYS.iter().filter(|key| known && self.line(key.name) > 0 && !self.config.uses(key));
        idle.map(|key| key.name).collect()
    }

    fn warn_of(&mut self, idle: &[&str]) {
        if !idle.is_empty() {
            let what = format!("without effect under CC_MODE {}: {}", self.config.cc_mode, idle.join(", "));
            self.warnings.push(Warning { file: self.file.clone(), line: 0, what });
        }
    }

    fn warn(&mut self, skip_unknown: bool, silent: &[String]) {
        let defaults = self.defaults(|_| true);
        self.warnings.extend(defaults);
        let idle = self.idle();
        self.warn_of(&idle);
        let warning = |what: String| Warning { file: self.file.clone(), line: 0, what };
        let mut warnings = Vec::new();
        if !silent.is_empty() {
            warnings.push(warning(format!("keys of forks on which no result depends: {}", silent.join(", "))));
        }
        if skip_unknown && !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(|(_, name)| name.trim_matches('"')).collect();
            warnings.push(warning(format!("unknown keys, skipped: {}", names.join(", "))));
        }
        self.warnings.append(&mut warnings);
    }
}
