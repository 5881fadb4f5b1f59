//! Configuration files.

use super::keys::{KEYS, Key, nearest};
use super::{Config, rate};
use crate::text::{Word, Words, quote, real};
use crate::{Error, Warning};
use core::ops::RangeInclusive;

/// Most link rates in a map.
const MAX_RATES: usize = 1000;

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
        }
    }
}

impl Config {
    /// Reads a configuration: words separated by white space, `KEY value...` in any order. Text from `#` or `//` to the
    /// end of the line and from `{` to `}` is a comment.
    ///
    /// That simulator skips unknown words; here they are errors. Of duplicate keys the last one counts, as in that
    /// simulator. Keys without effect are listed in one warning.
    ///
    /// # Errors
    /// The problem with its line and a correction.
    pub fn read(file: &str, text: &[u8]) -> Result<(Self, Vec<Warning>), Error> {
        let words = Words::new(file, text);
        let mut reader = Reader { words, config: Self::default(), lines: vec![0; KEYS.len()], warnings: Vec::new() };
        let mut again = vec![false; KEYS.len()];
        let mut commented = false;
        while let Some(word) = reader.words.next() {
            if let Some(comment) = reader.skip_explanation(word) {
                if let Some(key) = comment.filter(|_| !commented) {
                    commented = true;
                    let odd = format!("{key} is in a comment, but that simulator would read it anyway");
                    reader.warnings.push(reader.words.warning(word.line, odd));
                }
                continue;
            }
            let Some(key) = KEYS.iter().position(|key| key.name.as_bytes() == word.bytes) else {
                let hint = nearest(word.bytes).map_or(String::new(), |key| format!("; did you mean {key}?"));
                return Err(reader.words.error(word.line, format!("there is no key {}{hint}", quote(word.bytes))));
            };
            let first = core::mem::replace(&mut reader.lines[key], word.line);
            if first != 0 && !core::mem::replace(&mut again[key], true) {
                let odd = format!("{} is listed twice (first in line {first}); the last one counts", KEYS[key].name);
                reader.warnings.push(reader.words.warning(word.line, odd));
            }
            reader.value(KEYS[key].name)?;
        }
        reader.check()?;
        reader.warn();
        Ok((reader.config, reader.warnings))
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

struct Reader<'a> {
    words: Words<'a>,
    config: Config,
    /// The line of each key's last occurrence; 0 if it is missing.
    lines: Vec<u32>,
    warnings: Vec<Warning>,
}

impl<'a> Reader<'a> {
    /// Skips a comment if `word` begins one; returns a key in it, if any.
    fn skip_explanation(&mut self, word: Word<'a>) -> Option<Option<&'static str>> {
        let known = |text: &[u8]| {
            let mut words = text.split(|b| crate::text::is_space(*b));
            words.find_map(|word| KEYS.iter().find(|key| key.name.as_bytes() == word)).map(|key| key.name)
        };
        match word.bytes {
            [b'#', ..] | [b'/', b'/', ..] => Some(known(self.words.skip_line())),
            [b'{', inside @ ..] if inside.contains(&b'}') => Some(None),
            [b'{', ..] => Some(known(self.words.skip_past(b'}'))),
            _ => None,
        }
    }

    /// Reads the values of a key.
    fn value(&mut self, key: &'static str) -> Result<(), Error> {
        const ANY: RangeInclusive<f64> = 0.0..=1e12;
        const NS: u64 = i64::MAX as u64;
        match key {
            "ENABLE_QCN" => self.config.enable_qcn = self.flag(key)?,
            // The length of the whole packet has 16 bits: 20 + 8 + 6 + 42 bytes of headers.
            "PACKET_PAYLOAD_SIZE" => self.config.payload = self.whole(key, 1..=65_459)? as u32,
            "TOPOLOGY_FILE" => self.config.topology_file = self.path(key)?,
            "FLOW_FILE" => self.config.flow_file = self.path(key)?,
            "TRACE_FILE" => self.config.trace_file = self.path(key)?,
            "TRACE_OUTPUT_FILE" => self.config.trace_output_file = self.path(key)?,
            "FCT_OUTPUT_FILE" => self.config.fct_output_file = self.path(key)?,
            "PFC_OUTPUT_FILE" => self.config.pfc_output_file = self.path(key)?,
            "QLEN_MON_FILE" => self.config.qlen_file = self.path(key)?,
            "SIMULATOR_STOP_TIME" => self.config.stop = self.real(key, 1e-9..=9e9)?,
            "CC_MODE" => self.config.cc_mode = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "ALPHA_RESUME_INTERVAL" => self.config.alpha_resume_interval = self.real(key, ANY)?,
            "RATE_DECREASE_INTERVAL" => self.config.rate_decrease_interval = self.real(key, ANY)?,
            "RP_TIMER" => self.config.rp_timer = self.real(key, ANY)?,
            "CLAMP_TARGET_RATE" => self.config.clamp_target_rate = self.flag(key)?,
            "FAST_RECOVERY_TIMES" => self.config.fast_recovery_times = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "EWMA_GAIN" => self.config.ewma_gain = self.real(key, 0.0..=1.0)?,
            "RATE_AI" => self.config.rate_ai = self.rate(key)?,
            "RATE_HAI" => self.config.rate_hai = self.rate(key)?,
            "MIN_RATE" => self.config.min_rate = self.rate(key)?,
            "DCTCP_RATE_AI" => self.config.dctcp_rate_ai = self.rate(key)?,
            "ERROR_RATE_PER_LINK" => self.config.error_rate_per_link = self.real(key, 0.0..=1.0)?,
            "L2_CHUNK_SIZE" => self.config.l2_chunk_size = self.whole(key, 0..=u32::MAX as u64)? as u32,
            // A signed number in that simulator.
            "L2_ACK_INTERVAL" => self.config.l2_ack_interval = self.whole(key, 0..=i32::MAX as u64)? as u32,
            "L2_BACK_TO_ZERO" => self.config.l2_back_to_zero = self.flag(key)?,
            "HAS_WIN" => self.config.has_win = self.flag(key)?,
            // This flag is true only for 1; every other flag is true unless 0.
            "GLOBAL_T" => self.config.global_t = self.whole(key, 0..=1)? == 1,
            "VAR_WIN" => self.config.var_win = self.flag(key)?,
            "FAST_REACT" => self.config.fast_react = self.flag(key)?,
            "RATE_BOUND" => self.config.rate_bound = self.flag(key)?,
            "U_TARGET" => self.config.u_target = self.real(key, 0.001..=1000.0)?,
            "MI_THRESH" => self.config.mi_thresh = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "INT_MULTI" => self.config.int_multi = self.whole(key, 1..=65_536)? as u32,
            "MULTI_RATE" => self.config.multi_rate = self.flag(key)?,
            "SAMPLE_FEEDBACK" => self.config.sample_feedback = self.flag(key)?,
            "ACK_HIGH_PRIO" => self.config.ack_high_prio = self.flag(key)?,
            "LINK_DOWN" => {
                let after = self.whole(key, 0..=NS / 1000)?;
                let (a, b) = (self.whole(key, 0..=u32::MAX as u64)?, self.whole(key, 0..=u32::MAX as u64)?);
                self.config.link_down = (after > 0).then_some((after, a as u32, b as u32));
            }
            "ENABLE_TRACE" => self.config.enable_trace = self.flag(key)?,
            "KMIN_MAP" => {
                let map = core::mem::take(&mut self.config.kmin);
                self.config.kmin = self.map(key, map, |reader| Ok(reader.whole(key, 0..=4_294_967)? as u32))?;
            }
            "KMAX_MAP" => {
                let map = core::mem::take(&mut self.config.kmax);
                self.config.kmax = self.map(key, map, |reader| Ok(reader.whole(key, 0..=4_294_967)? as u32))?;
            }
            "PMAX_MAP" => {
                let map = core::mem::take(&mut self.config.pmax);
                self.config.pmax = self.map(key, map, |reader| reader.real(key, 0.0..=1.0))?;
            }
            // Bytes have 32 bits in that simulator.
            "BUFFER_SIZE" => self.config.buffer_mib = self.whole(key, 1..=4095)? as u32,
            "QLEN_MON_START" => self.config.qlen_start = self.whole(key, 0..=NS)?,
            "QLEN_MON_END" => self.config.qlen_end = self.whole(key, 0..=NS)?,
            // Unused keys.
            _ => drop(self.word(key)?),
        }
        Ok(())
    }

    fn word(&mut self, key: &str) -> Result<Word<'a>, Error> {
        let line = self.words.line();
        match self.words.next() {
            Some(word) if KEYS.iter().all(|key| key.name.as_bytes() != word.bytes) => Ok(word),
            Some(_) | None => Err(self.words.error(line, format!("{key} has no value, or too few"))),
        }
    }

    fn whole(&mut self, key: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
        let word = self.word(key)?;
        let value = self.words.whole_of(word, key, u64::MAX)?;
        if range.contains(&value) {
            return Ok(value);
        }
        Err(self.words.error(word.line, format!("{key} is {value}; it is {} to {}", range.start(), range.end())))
    }

    fn flag(&mut self, key: &str) -> Result<bool, Error> {
        Ok(self.whole(key, 0..=u32::MAX as u64)? != 0)
    }

    fn real(&mut self, key: &str, range: RangeInclusive<f64>) -> Result<f64, Error> {
        let word = self.word(key)?;
        match real(word.bytes) {
            Some(value) if range.contains(&value) => Ok(value),
            _ => {
                let is = quote(word.bytes);
                let what = format!("{key} is {is}; it is a number from {} to {}", range.start(), range.end());
                Err(self.words.error(word.line, what))
            }
        }
    }

    fn rate(&mut self, key: &str) -> Result<u64, Error> {
        let word = self.word(key)?;
        core::str::from_utf8(word.bytes)
            .map_err(|_| "no rate".to_string())
            .and_then(rate)
            .map_err(|what| self.words.error(word.line, format!("{key} {} is {what}", quote(word.bytes))))
    }

    fn path(&mut self, key: &str) -> Result<String, Error> {
        let word = self.word(key)?;
        match core::str::from_utf8(word.bytes) {
            Ok(path) => Ok(path.into()),
            Err(_) => Err(self.words.error(word.line, format!("{key} {} is not UTF-8", quote(word.bytes)))),
        }
    }

    /// `n rate value rate value ...`, added to the values of earlier lines of the key, as in that simulator.
    fn map<T>(
        &mut self,
        key: &str,
        mut map: Vec<(u64, T)>,
        mut value: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<(u64, T)>, Error> {
        let line = self.words.line();
        for _ in 0..self.whole(key, 0..=MAX_RATES as u64)? {
            let rate = self.whole(key, 1..=1_000_000_000_000_000)?;
            let value = value(self)?;
            match map.iter_mut().find(|(known, _)| *known == rate) {
                Some(known) => known.1 = value,
                None => map.push((rate, value)),
            }
        }
        if map.len() > MAX_RATES {
            return Err(self.words.error(line, format!("{key} has more than {MAX_RATES} rates")));
        }
        Ok(map)
    }

    fn line(&self, name: &str) -> u32 {
        KEYS.iter().position(|key| key.name == name).map_or(0, |at| self.lines[at])
    }

    /// Refuses values that would crash or hang that simulator, and unsupported schemes.
    fn check(&self) -> Result<(), Error> {
        let c = &self.config;
        let fail = |key: &str, what: String| {
            let line = self.line(key);
            let missing = if line == 0 { " (the key is missing)" } else { "" };
            Err(self.words.error(line, format!("{key}{missing} {what}")))
        };
        match c.cc_mode {
            1 | 3 | 7 | 8 => {}
            10 => {
                return fail(
                    "CC_MODE",
                    "is 10, HPCC-PINT, which is not implemented; 3 is HPCC with full telemetry".into(),
                );
            }
            mode => return fail("CC_MODE", format!("is {mode}; it is 1 DCQCN, 3 HPCC, 7 TIMELY or 8 DCTCP")),
        }
        for (key, path) in [("TOPOLOGY_FILE", &c.topology_file), ("FLOW_FILE", &c.flow_file)] {
            if path.is_empty() {
                return fail(key, "is needed".into());
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
                    return fail(key, format!("is {us} us; DCQCN's timers take at least 1"));
                }
            }
        }
        if c.min_rate == 0 {
            return fail("MIN_RATE", "is 0; a flow at rate 0 never sends again".into());
        }
        if c.cc_mode == 3 && !c.has_win {
            return fail("HAS_WIN", "is 0, and HPCC divides by its window; give 1".into());
        }
        if c.l2_ack_interval == 0 {
            return fail("L2_ACK_INTERVAL", "is 0: no ACK is accepted and no flow ends; 1 is an ACK per packet".into());
        }
        if c.l2_chunk_size == 0 && (c.l2_back_to_zero || c.l2_ack_interval > 1) {
            return fail("L2_CHUNK_SIZE", "is 0, and chunks are divided by it; the usual is 4000".into());
        }
        for (rate, kmin) in &c.kmin {
            if let Some((_, kmax)) = c.kmax.iter().find(|(known, kmax)| known == rate && kmax < kmin) {
                return fail("KMAX_MAP", format!("has {kmax} KB at {rate} b/s, below KMIN_MAP's {kmin} KB"));
            }
        }
        Ok(())
    }

    fn warn(&mut self) {
        let (mut idle, mut missing) = (Vec::new(), Vec::new());
        for (key, line) in KEYS.iter().zip(&self.lines) {
            let used = self.config.uses(key);
            match line {
                0 if used && !key.missing.is_empty() => missing.push(format!("{} ({})", key.name, key.missing)),
                1.. if !used => idle.push(key.name),
                _ => {}
            }
        }
        if !missing.is_empty() {
            let odd = format!("that simulator's defaults are used for the missing keys: {}", missing.join(", "));
            self.warnings.push(self.words.warning(0, odd));
        }
        if !idle.is_empty() {
            let odd = format!("without effect under CC_MODE {}: {}", self.config.cc_mode, idle.join(", "));
            self.warnings.push(self.words.warning(0, odd));
        }
    }
}
