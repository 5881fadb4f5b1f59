//! The text of a configuration: its words, keys, values and comments, with all that is wrong in it.

use super::dialect::{FORK_KEYS, ForkKey};
use super::keys::KEYS;
use super::{Config, Dialect, rate};
use crate::text::{Word, Words, quote, real};
use crate::{Error, Warning};
use core::ops::RangeInclusive;

/// Most link rates in a map.
const MAX_RATES: usize = 1000;
/// Most unknown keys, and most wrong values, that are kept; the rest are counted.
const MOST: usize = 100;
/// ConWeave runs on for so many seconds after the last flow may start.
const RUNS_ON: f64 = 10.0;

/// A configuration as it stands in its file, before it is known for which network it is read.
///
/// Words are separated by white space, `KEY value...` in any order. Text from `#` or `//` to the end of the line and
/// from `{` to `}` is a comment. After something wrong it goes on with the next line or key. Of duplicate keys the last
/// one counts, as in that simulator.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// The values; the default where one is wrong or missing.
    pub config: Config,
    pub(super) file: String,
    /// The line of each key's last occurrence, 0 if it is missing: those of the original, then those of forks.
    lines: Vec<u32>,
    /// Keys that no simulator here has, each once, with the line of the first.
    pub(super) unknown: Vec<(u32, String)>,
    /// Values that are wrong, with their keys.
    pub(super) wrong: Vec<(&'static str, Error)>,
    /// How many more unknown keys and wrong values there are.
    pub(super) more: usize,
    pub(super) warnings: Vec<Warning>,
}

/// The place of a key among all: those of the original, then those of forks.
fn index(word: &[u8]) -> Option<usize> {
    let own = KEYS.iter().position(|key| key.name.as_bytes() == word);
    own.or_else(|| Some(KEYS.len() + FORK_KEYS.iter().position(|key| key.name.as_bytes() == word)?))
}

fn name_of(index: usize) -> &'static str {
    KEYS.get(index).map_or_else(|| FORK_KEYS[index - KEYS.len()].name, |key| key.name)
}

fn is_comment(word: &[u8]) -> bool {
    matches!(word, [b'#', ..] | [b'/', b'/', ..] | [b'{', ..])
}

impl ConfigFile {
    /// Reads the text.
    pub fn read(file: &str, text: &[u8]) -> Self {
        let found = Self {
            config: Config::default(),
            file: file.into(),
            lines: vec![0; KEYS.len() + FORK_KEYS.len()],
            unknown: Vec::new(),
            wrong: Vec::new(),
            more: 0,
            warnings: Vec::new(),
        };
        let mut reader = Reader { words: Words::new(file, text), last_start: None, found };
        reader.run();
        let Reader { last_start, found: mut read, .. } = reader;
        if let Some(last) = last_start.filter(|_| read.line("SIMULATOR_STOP_TIME") == 0) {
            read.config.stop = last + RUNS_ON;
        }
        read
    }

    /// Its topology is in another file than its key says.
    pub fn with_topology(mut self, file: &str) -> Self {
        self.config.topology_file = file.into();
        self.wrong.retain(|(key, _)| *key != "TOPOLOGY_FILE");
        self
    }

    /// The line of a key's last occurrence; 0 if it is missing.
    pub fn line(&self, key: &str) -> u32 {
        index(key.as_bytes()).map_or(0, |at| self.lines[at])
    }

    /// The keys of forks in it, with their lines.
    pub(super) fn of_forks(&self) -> impl Iterator<Item = (&'static ForkKey, u32)> {
        FORK_KEYS.iter().zip(&self.lines[KEYS.len()..]).filter(|(_, line)| **line > 0).map(|(key, line)| (key, *line))
    }

    /// All known keys in it, in the order of the manual.
    pub(super) fn known(&self) -> impl Iterator<Item = &'static str> {
        self.lines.iter().enumerate().filter(|(_, line)| **line > 0).map(|(at, _)| name_of(at))
    }

    /// The dialect that most of its keys of forks are of, with those keys.
    pub fn dialect(&self) -> Option<(Dialect, Vec<&'static str>)> {
        let mut best: Option<(Dialect, Vec<&'static str>)> = None;
        for facts in &super::DIALECTS {
            let keys: Vec<_> =
                self.of_forks().filter(|(key, _)| key.of == facts.dialect).map(|(k, _)| k.name).collect();
            if keys.len() > best.as_ref().map_or(0, |(_, keys)| keys.len()) {
                best = Some((facts.dialect, keys));
            }
        }
        best
    }
}

struct Reader<'a> {
    words: Words<'a>,
    /// `FLOWGEN_STOP_TIME`, seconds.
    last_start: Option<f64>,
    found: ConfigFile,
}

impl<'a> Reader<'a> {
    fn run(&mut self) {
        let mut again = vec![false; self.found.lines.len()];
        let mut commented = false;
        while let Some(word) = self.words.next() {
            if let Some(comment) = self.skip_explanation(word) {
                if let Some(key) = comment.filter(|_| !commented) {
                    commented = true;
                    let odd = format!("{key} is in a comment, but that simulator would read it anyway");
                    self.found.warnings.push(self.words.warning(word.line, odd));
                }
                continue;
            }
            let Some(key) = index(word.bytes) else {
                self.unknown(word);
                self.skip_values();
                continue;
            };
            let first = core::mem::replace(&mut self.found.lines[key], word.line);
            if first != 0 && !core::mem::replace(&mut again[key], true) {
                let odd = format!("{} is listed twice (first in line {first}); the last one counts", name_of(key));
                self.found.warnings.push(self.words.warning(word.line, odd));
            }
            if let Err(error) = self.value(name_of(key)) {
                if self.found.wrong.len() < MOST {
                    self.found.wrong.push((name_of(key), error));
                } else {
                    self.found.more += 1;
                }
                self.skip_values();
            }
        }
    }

    fn unknown(&mut self, word: Word<'a>) {
        if self.found.unknown.len() == MOST {
            self.found.more += 1;
            return;
        }
        let name = quote(word.bytes);
        if self.found.unknown.iter().all(|(_, known)| *known != name) {
            self.found.unknown.push((word.line, name));
        }
    }

    /// Goes on to the next key or comment: the next known one in this line, or what begins like one in a later line.
    fn skip_values(&mut self) {
        let line = self.words.line();
        while let Some(word) = self.words.peek() {
            let begins = word.line > line && word.bytes.first().is_some_and(u8::is_ascii_alphabetic);
            if begins || is_comment(word.bytes) || index(word.bytes).is_some() {
                return;
            }
            self.words.next();
        }
    }

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
            "ENABLE_QCN" => self.found.config.enable_qcn = self.flag(key)?,
            // The length of the whole packet has 16 bits: 20 + 8 + 6 + 42 bytes of headers.
            "PACKET_PAYLOAD_SIZE" => self.found.config.payload = self.whole(key, 1..=65_459)? as u32,
            "TOPOLOGY_FILE" => self.found.config.topology_file = self.path(key)?,
            "FLOW_FILE" => self.found.config.flow_file = self.path(key)?,
            "TRACE_FILE" => self.found.config.trace_file = self.path(key)?,
            "TRACE_OUTPUT_FILE" => self.found.config.trace_output_file = self.path(key)?,
            "FCT_OUTPUT_FILE" => self.found.config.fct_output_file = self.path(key)?,
            "PFC_OUTPUT_FILE" => self.found.config.pfc_output_file = self.path(key)?,
            "QLEN_MON_FILE" => self.found.config.qlen_file = self.path(key)?,
            "SIMULATOR_STOP_TIME" => self.found.config.stop = self.real(key, 1e-9..=1e15)?,
            "CC_MODE" => self.found.config.cc_mode = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "ALPHA_RESUME_INTERVAL" => self.found.config.alpha_resume_interval = self.real(key, ANY)?,
            "RATE_DECREASE_INTERVAL" => self.found.config.rate_decrease_interval = self.real(key, ANY)?,
            "RP_TIMER" => self.found.config.rp_timer = self.real(key, ANY)?,
            "CLAMP_TARGET_RATE" => self.found.config.clamp_target_rate = self.flag(key)?,
            "FAST_RECOVERY_TIMES" => {
                self.found.config.fast_recovery_times = self.whole(key, 0..=u32::MAX as u64)? as u32
            }
            "EWMA_GAIN" => self.found.config.ewma_gain = self.real(key, 0.0..=1.0)?,
            "RATE_AI" => self.found.config.rate_ai = self.rate(key)?,
            "RATE_HAI" => self.found.config.rate_hai = self.rate(key)?,
            "MIN_RATE" => self.found.config.min_rate = self.rate(key)?,
            "DCTCP_RATE_AI" => self.found.config.dctcp_rate_ai = self.rate(key)?,
            "ERROR_RATE_PER_LINK" => self.found.config.error_rate_per_link = self.real(key, 0.0..=1.0)?,
            "L2_CHUNK_SIZE" => self.found.config.l2_chunk_size = self.whole(key, 0..=u32::MAX as u64)? as u32,
            // A signed number in that simulator.
            "L2_ACK_INTERVAL" => self.found.config.l2_ack_interval = self.whole(key, 0..=i32::MAX as u64)? as u32,
            "L2_BACK_TO_ZERO" => self.found.config.l2_back_to_zero = self.flag(key)?,
            "HAS_WIN" => self.found.config.has_win = self.flag(key)?,
            // This flag is true only for 1; every other flag is true unless 0.
            "GLOBAL_T" => self.found.config.global_t = self.whole(key, 0..=1)? == 1,
            "VAR_WIN" => self.found.config.var_win = self.flag(key)?,
            "FAST_REACT" => self.found.config.fast_react = self.flag(key)?,
            "RATE_BOUND" => self.found.config.rate_bound = self.flag(key)?,
            "U_TARGET" => self.found.config.u_target = self.real(key, 0.001..=1000.0)?,
            "MI_THRESH" => self.found.config.mi_thresh = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "INT_MULTI" => self.found.config.int_multi = self.whole(key, 1..=65_536)? as u32,
            "MULTI_RATE" => self.found.config.multi_rate = self.flag(key)?,
            "SAMPLE_FEEDBACK" => self.found.config.sample_feedback = self.flag(key)?,
            "ACK_HIGH_PRIO" => self.found.config.ack_high_prio = self.flag(key)?,
            "LINK_DOWN" => {
                let after = self.whole(key, 0..=NS / 1000)?;
                let (a, b) = (self.whole(key, 0..=u32::MAX as u64)?, self.whole(key, 0..=u32::MAX as u64)?);
                self.found.config.link_down = (after > 0).then_some((after, a as u32, b as u32));
            }
            "ENABLE_TRACE" => self.found.config.enable_trace = self.flag(key)?,
            "KMIN_MAP" => {
                let map = core::mem::take(&mut self.found.config.kmin);
                self.found.config.kmin = self.map(key, map, |reader| Ok(reader.whole(key, 0..=4_294_967)? as u32))?;
            }
            "KMAX_MAP" => {
                let map = core::mem::take(&mut self.found.config.kmax);
                self.found.config.kmax = self.map(key, map, |reader| Ok(reader.whole(key, 0..=4_294_967)? as u32))?;
            }
            "PMAX_MAP" => {
                let map = core::mem::take(&mut self.found.config.pmax);
                self.found.config.pmax = self.map(key, map, |reader| reader.real(key, 0.0..=1.0))?;
            }
            "BUFFER_SIZE" => self.found.config.buffer_mib = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "QLEN_MON_START" => self.found.config.qlen_start = self.whole(key, 0..=NS)?,
            "QLEN_MON_END" => self.found.config.qlen_end = self.whole(key, 0..=NS)?,
            "ENABLE_PFC" => self.found.config.enable_pfc = self.flag(key)?,
            "ENABLE_IRN" => self.found.config.enable_irn = self.flag(key)?,
            "LB_MODE" => self.found.config.lb_mode = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "RANDOM_SEED" => self.found.config.random_seed = self.whole(key, 0..=u32::MAX as u64)? as u32,
            "HEADROOM_FACTOR" => self.found.config.headroom_factor = self.real(key, 0.0..=1000.0)?,
            "FLOWGEN_STOP_TIME" => self.last_start = Some(self.real(key, 0.0..=1e15)?),
            // Unused keys.
            _ => drop(self.word(key)?),
        }
        Ok(())
    }

    /// The next value. The next key stays where it is.
    fn word(&mut self, key: &str) -> Result<Word<'a>, Error> {
        let line = self.words.line();
        match self.words.peek() {
            Some(word) if index(word.bytes).is_none() => {
                self.words.next();
                Ok(word)
            }
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
        let count = self.whole(key, 0..=MAX_RATES as u64)?;
        if let Some(what) = self.miscounted(count) {
            return Err(self.words.error(line, format!("{key} says {count} rates, {what}")));
        }
        for _ in 0..count {
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

    /// What is wrong with the count of a map, if only numbers follow up to the next key or comment.
    fn miscounted(&self, count: u64) -> Option<String> {
        let mut ahead = self.words.clone();
        let numbers = ahead.by_ref().take(2 * MAX_RATES + 2).take_while(|word| real(word.bytes).is_some()).count();
        let mut ahead = self.words.clone();
        let next = ahead.nth(numbers);
        let whole = next.is_none_or(|word| index(word.bytes).is_some() || is_comment(word.bytes));
        let pairs = numbers / 2;
        match numbers as u64 {
            _ if !whole => None,
            there if there == 2 * count => None,
            there if there % 2 == 1 => Some(format!("but {there} numbers follow; each rate has one value")),
            there if there < 2 * count => Some(format!("but {pairs} follow, too few; write {pairs} as the count")),
            _ => Some(format!("but {pairs} follow; write {pairs} as the count")),
        }
    }
}
