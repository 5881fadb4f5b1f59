//! A library that was loaded: checks what it says about its scheme and its policies, and makes them with parameters.

use crate::calls::{Inner, Roles};
use crate::foreign::Descriptions;
use crate::policy::MadePolicy;
use crate::program::Made;
use crate::selector::MadeSelector;
use crate::{abi, foreign};
use fanin_cc::schemes::own::{About, Program};
use fanin_cc::{CreditQueue, DisciplineProgram, HeaderOverhead, OwnBalancing, Sharing, Transport};
use fanin_experiment::loaded::{self, Kind, Loaded};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest state of a flow, host or switch.
const MOST_STATE: u64 = 1 << 24;

/// Why a library could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The library.
    pub path: PathBuf,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for LoadError {}

/// The ids of what a library has: one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Of its scheme.
    pub scheme: Option<&'static str>,
    /// Of its load balancing, of switches or of senders.
    pub balancer: Option<&'static str>,
    /// Of its queue discipline.
    pub discipline: Option<&'static str>,
}

/// Loads a shared library and makes what it has known to this process, in place of what was loaded before with the same
/// id. A library that has changed since it was loaded is loaded again.
///
/// # Errors
/// Where the file is no such library, or describes what is impossible.
pub fn load(path: &Path) -> Result<Ids, LoadError> {
    let error = |problem: String| LoadError { path: path.to_path_buf(), problem };
    let place = path.display().to_string();
    let found = open(path).map_err(error)?;
    // All are checked before the first one is known.
    let scheme = found.scheme.map(|scheme| of_scheme(scheme, &place)).transpose().map_err(error)?;
    let balancer = match (found.balancer, found.selector) {
        (Some(_), Some(_)) => {
            let both = "it exports both fanin_balancer and fanin_selector, and a network has one load balancing";
            return Err(error(format!("{both}: put each into a library of its own")));
        }
        (Some(policy), None) => Some(of_balancer(policy, &place).map_err(error)?),
        (None, selector) => selector.map(|selector| of_selector(selector, &place)).transpose().map_err(error)?,
    };
    let discipline = found.discipline.map(|policy| of_discipline(policy, &place)).transpose().map_err(error)?;
    let scheme = scheme.map(known).transpose().map_err(error)?;
    let balancer = balancer.map(known).transpose().map_err(error)?;
    let discipline = discipline.map(known).transpose().map_err(error)?;
    Ok(Ids { scheme, balancer, discipline })
}

/// Makes one known to the process, and returns its id.
fn known<P: Kind + ?Sized>(loaded: Loaded<P>) -> Result<&'static str, String> {
    let id = loaded.id;
    loaded::load(loaded).map(|()| id)
}

/// Opens a library.
fn open(path: &Path) -> Result<Descriptions, String> {
    // An absolute path, because the system looks for others in its own folders.
    let full = path.canonicalize().map_err(|e| format!("it cannot be read: {e}"))?;
    if full.is_dir() {
        return Err("it is a folder: name the shared library in it".into());
    }
    opened(&full)
}

/// The scheme that a description describes.
fn of_scheme(scheme: &'static abi::Scheme, place: &str) -> Result<Loaded<dyn Program>, String> {
    let described = Described::new(
        (scheme.id, scheme.manual),
        (scheme.parameters, scheme.parameter_count),
        scheme.check,
        ("scheme", place),
    )?;
    loaded::check_id::<dyn Program>(described.id)?;
    let about = about(described.id, scheme)?;
    let roles = move || Roles {
        sender: &scheme.sender,
        receiver: &scheme.receiver,
        switch: &scheme.switch_program,
        shared_size: scheme.shared_size,
        about: about.clone(),
    };
    Ok(described.loaded(roles, |inner| Arc::new(Made(inner)) as Arc<dyn Program>))
}

/// The load balancing of switches that a description describes.
fn of_balancer(policy: &'static abi::Policy, place: &str) -> Result<Loaded<OwnBalancing>, String> {
    if policy.choose.is_none() || policy.on_enqueue.is_some() || policy.on_dequeue.is_some() {
        return Err("its fanin_balancer() has other hooks than `open` and `choose`, or no `choose`".into());
    }
    let described = Described::of_policy(policy, "balancer", place)?;
    loaded::check_id::<OwnBalancing>(described.id)?;
    let made = |inner| Arc::new(OwnBalancing::Switches(Arc::new(MadePolicy(inner))));
    Ok(described.loaded(move || policy, made))
}

/// The load balancing of senders that a description describes.
fn of_selector(selector: &'static abi::Selector, place: &str) -> Result<Loaded<OwnBalancing>, String> {
    if selector.next_path.is_none() {
        return Err("its fanin_selector() has no `next_path`: every selector needs it".into());
    }
    if selector.size > MOST_STATE {
        return Err(too_large("size", selector.size));
    }
    let table = (selector.parameters, selector.parameter_count);
    let described = Described::new((selector.id, selector.manual), table, selector.check, ("selector", place))?;
    loaded::check_id::<OwnBalancing>(described.id)?;
    let made = |inner| Arc::new(OwnBalancing::Senders(Arc::new(MadeSelector(inner))));
    Ok(described.loaded(move || selector, made))
}

/// The queue discipline that a description describes.
fn of_discipline(policy: &'static abi::Policy, place: &str) -> Result<Loaded<dyn DisciplineProgram>, String> {
    if policy.choose.is_some() || (policy.on_enqueue.is_none() && policy.on_dequeue.is_none()) {
        return Err("its fanin_discipline() has `choose`, or neither `on_enqueue` nor `on_dequeue`".into());
    }
    let described = Described::of_policy(policy, "discipline", place)?;
    loaded::check_id::<dyn DisciplineProgram>(described.id)?;
    Ok(described.loaded(move || policy, |inner| Arc::new(MadePolicy(inner)) as Arc<dyn DisciplineProgram>))
}

/// What a library says of a scheme or of a policy.
struct Described {
    id: &'static str,
    place: String,
    manual: String,
    parameters: Vec<Parameter>,
    check: Option<abi::Check>,
}

impl Described {
    fn new(
        (id, manual): (*const c_char, *const c_char),
        (parameters, count): (*const abi::Parameter, u32),
        check: Option<abi::Check>,
        (kind, place): (&str, &str),
    ) -> Result<Self, String> {
        let id = foreign::text(id).ok_or_else(|| format!("its id is no text: write one like \"my-{kind}\""))?;
        let parameters =
            foreign::parameters(parameters, count)?.iter().map(parameter).collect::<Result<Vec<_>, _>>()?;
        for (at, parameter) in parameters.iter().enumerate() {
            if parameters[..at].iter().any(|before| before.name == parameter.name) {
                return Err(format!("it has two parameters {}: give each a name of its own", parameter.name));
            }
        }
        let manual = match foreign::text(manual) {
            None if !manual.is_null() => return Err("its manual is no text: write it in UTF-8".into()),
            manual => manual.unwrap_or_default(),
        };
        Ok(Self { id: id.leak(), place: place.to_string(), manual, parameters, check })
    }

    fn of_policy(policy: &abi::Policy, kind: &str, place: &str) -> Result<Self, String> {
        if policy.size > MOST_STATE {
            return Err(too_large("size", policy.size));
        }
        let table = (policy.parameters, policy.parameter_count);
        Self::new((policy.id, policy.manual), table, policy.check, (kind, place))
    }

    /// As it is known to the process, with these hooks, and with this function from them to a program.
    fn loaded<H, P: ?Sized>(
        self,
        hooks: impl Fn() -> H + Send + Sync + 'static,
        make: impl Fn(Arc<Inner<H>>) -> Arc<P> + Send + Sync + 'static,
    ) -> Loaded<P> {
        let defaults = self.parameters.iter().map(|row| (row.name.clone(), row.initial.clone())).collect();
        let (id, manual) = (self.id, self.text());
        let make = move |parameters: &Map<String, Value>| {
            let inner = Inner {
                of: hooks(),
                id,
                place: self.place.clone(),
                values: self.values(parameters)?,
                parameters: Value::Object(parameters.clone()).to_string(),
                failure: Mutex::default(),
            };
            Ok(make(Arc::new(inner)))
        };
        Loaded { id, manual, defaults, make: Box::new(make) }
    }

    /// Its manual with its parameters.
    fn text(&self) -> String {
        let text = self.manual.trim();
        let mut manual = if text.starts_with("# ") { String::new() } else { format!("# {}\n\n", self.id) };
        manual.push_str(text);
        manual.push_str("\n\n## Parameters\n");
        if self.parameters.is_empty() {
            manual.push_str("None.\n");
        } else {
            manual.push_str("| name | meaning | kind | default | limits |\n|---|---|---|---|---|\n");
            manual.extend(self.parameters.iter().map(Parameter::row));
        }
        manual
    }

    /// Parameters as hooks read them.
    fn values(&self, parameters: &Map<String, Value>) -> Result<Vec<abi::Value>, String> {
        let missing = Value::Null;
        let of = |parameter: &Parameter| parameter.value(parameters.get(&parameter.name).unwrap_or(&missing));
        let values = self.parameters.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        if let Some(check) = self.check {
            let problem = check(values.as_ptr());
            if !problem.is_null() {
                return Err(foreign::text(problem).unwrap_or_else(|| "its `check` refuses these parameters".into()));
            }
        }
        Ok(values)
    }
}

fn too_large(name: &str, size: u64) -> String {
    format!("{name} is {size}: at most {MOST_STATE} bytes, like sizeof(struct my_state)")
}

/// A parameter of a scheme.
struct Parameter {
    name: String,
    doc: String,
    kind: u32,
    initial: Value,
    smallest: f64,
    largest: f64,
}

/// The libraries that this process has opened, with a hash of the content that they had then.
static OPENED: Mutex<BTreeMap<PathBuf, (u64, Descriptions)>> = Mutex::new(BTreeMap::new());

/// What a library describes, which is opened unless it is open with the same content. The system would give the old
/// library for the path of one that has changed since, and so the new one is opened as a copy.
fn opened(path: &Path) -> Result<Descriptions, String> {
    let content = std::fs::read(path).map_err(|e| format!("it cannot be read: {e}"))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&content);
    let hash = hasher.finish();
    if is_cut_short(&content) {
        return Err("it is cut short: build or copy it again".into());
    }
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match opened.get(path) {
        Some((before, found)) if *before == hash => return Ok(*found),
        Some(_) => {
            let name = format!("fanin-{}-{}-{hash:016x}.so", std::process::id(), opened.len());
            let copy = std::env::temp_dir().join(name);
            let made = File::create_new(&copy).and_then(|mut file| file.write_all(&content));
            let written = made.map_err(|e| format!("{} cannot be written: {e}", copy.display()));
            let found = written.and_then(|()| foreign::open(&copy));
            let _ = std::fs::remove_file(&copy);
            found?
        }
        None => foreign::open(path)?,
    };
    opened.insert(path.to_path_buf(), (hash, found));
    Ok(found)
}

/// Whether a file in the format of Linux (ELF, 64 bits, little-endian) ends before its tables and segments do. The
/// process would be killed as such a library is loaded.
fn is_cut_short(content: &[u8]) -> bool {
    if !content.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let number = |at: u64, bytes: usize| -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let mut wide = [0; 8];
        wide[..bytes].copy_from_slice(content.get(at..at.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(wide))
    };
    let end_of_all = || -> Option<u64> {
        let (segments, sections) = (number(32, 8)?, number(40, 8)?);
        let [segment_size, segment_count, section_size, section_count] =
            [number(54, 2)?, number(56, 2)?, number(58, 2)?, number(60, 2)?];
        let mut end = sections.checked_add(section_size * section_count)?;
        for of in 0..segment_count {
            let segment = segments.checked_add(of * segment_size)?;
            // p_offset and p_filesz
            end = end.max(number(segment.checked_add(8)?, 8)?.checked_add(number(segment.checked_add(32)?, 8)?)?);
        }
        Some(end)
    };
    end_of_all().is_none_or(|end| end > content.len() as u64)
}

/// What a library says of its scheme.
fn about(id: &'static str, scheme: &abi::Scheme) -> Result<About, String> {
    if scheme.sender.open.is_none() {
        return Err("sender.open is NULL: every scheme needs it, to say how much a flow may send at first".into());
    }
    let sizes = [
        ("sender.size", scheme.sender.size),
        ("receiver.host_size", scheme.receiver.host_size),
        ("receiver.flow_size", scheme.receiver.flow_size),
        ("switch_program.size", scheme.switch_program.size),
        ("shared_size", scheme.shared_size),
    ];
    for (name, size) in sizes {
        if size > MOST_STATE {
            return Err(too_large(name, size));
        }
    }
    let transport = match scheme.transport {
        0 => Transport::Rdma,
        1 => Transport::Tcp,
        other => return Err(format!("transport is {other}: write FANIN_RDMA or FANIN_TCP")),
    };
    let sharing = match (scheme.sharing, scheme.shared_size) {
        (0, 0) => Sharing::Nothing,
        (1, 1..) => Sharing::Pair,
        (2, 1..) => Sharing::Host,
        (0, size) => return Err(format!("shared_size is {size}, but sharing is FANIN_SHARE_NOTHING: set both")),
        (1 | 2, _) => return Err("shared_size is 0, but flows share state: set it to the size of that state".into()),
        (other, _) => return Err(format!("sharing is {other}: write one of FANIN_SHARE_NOTHING, _PAIR and _HOST")),
    };
    let header = |name: &str, bytes: u32| match u16::try_from(bytes) {
        Ok(bytes) if bytes <= 1000 => Ok(bytes),
        _ => Err(format!("{name} is {bytes}: a scheme adds at most 1000 bytes to a packet")),
    };
    let overhead = HeaderOverhead {
        data: header("data_header", scheme.data_header)?,
        ack: header("ack_header", scheme.ack_header)?,
        telemetry: scheme.telemetry != 0,
    };
    if overhead.telemetry && transport == Transport::Tcp {
        return Err("it asks for telemetry over TCP, whose ACKs carry none back: use FANIN_RDMA".into());
    }
    let queue = CreditQueue { credit: scheme.credit, burst: scheme.credit_burst, limit: scheme.credit_limit };
    let credits = match queue {
        CreditQueue { credit: 0, burst: 0, limit: 0 } => None,
        CreditQueue { credit, burst, limit } if (1..=9000).contains(&credit) && burst >= credit && limit >= credit => {
            Some(queue)
        }
        CreditQueue { credit, burst, limit } => {
            return Err(format!(
                "credits of {credit} bytes with credit_burst {burst} and credit_limit {limit}: write 1 to 9000 bytes, \
                 and at least as much for both"
            ));
        }
    };
    let switch = &scheme.switch_program;
    let watches = switch.on_enqueue.is_some() || switch.on_dequeue.is_some();
    let acts = switch.open.is_some() || switch.route.is_some() || switch.on_drop.is_some();
    Ok(About {
        transport,
        wants_ecn: scheme.no_ecn == 0,
        needs_marks: scheme.needs_marks != 0,
        sharing,
        overhead,
        acks_once_per_rtt: scheme.acks_once_per_rtt != 0,
        credits,
        holds_acks: scheme.holds_acks != 0,
        switch: watches || acts || switch.on_link_down.is_some(),
        watches,
        ..About::new(id)
    })
}

/// One row of its table of parameters.
fn parameter(row: &abi::Parameter) -> Result<Parameter, String> {
    let name = foreign::text(row.name).unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) || name == "id" {
        return Err(format!("\"{name}\" is no name of a parameter: write a-z, 0-9 and _, like \"min_rate\""));
    }
    let doc = foreign::text(row.doc).unwrap_or_default().trim().to_string();
    if doc.is_empty() || doc.contains(['\n', '|']) {
        return Err(format!("the doc of parameter {name} is no line: write what it means, with its unit"));
    }
    let (initial, smallest, largest) = (row.initial, row.smallest, row.largest);
    let whole = |x: f64| x == x.trunc() && x.abs() <= (1u64 << 53) as f64;
    let initial = match row.kind {
        abi::BOOLEAN if initial == 0.0 || initial == 1.0 => Value::from(initial != 0.0),
        abi::INTEGER if whole(initial) && whole(smallest) && whole(largest) => Value::from(initial as i64),
        abi::NUMBER if initial.is_finite() => Value::from(initial),
        abi::BOOLEAN | abi::INTEGER | abi::NUMBER => {
            return Err(format!(
                "parameter {name} begins at {initial}, between {smallest} and {largest}: a boolean is 0 or 1, an \
                 integer and its limits are whole and at most 2^53, and a number is finite"
            ));
        }
        other => {
            let problem = format!("the kind of parameter {name} is {other}");
            return Err(format!("{problem}: write FANIN_NUMBER, FANIN_INTEGER or FANIN_BOOLEAN"));
        }
    };
    // Written so that limits that are no numbers are refused too.
    let within = smallest <= row.initial && row.initial <= largest;
    if row.kind != abi::BOOLEAN && !within {
        return Err(format!(
            "parameter {name} begins at {}, which is not between its limits {smallest} and {largest}",
            row.initial
        ));
    }
    Ok(Parameter { name, doc, kind: row.kind, initial, smallest, largest })
}

impl Parameter {
    /// A value as the library's hooks read it.
    fn value(&self, value: &Value) -> Result<abi::Value, String> {
        let Self { name, smallest, largest, .. } = self;
        let wrong = |what: &str| Err(format!("{name} is {value}: {what}"));
        match self.kind {
            abi::BOOLEAN => match value.as_bool() {
                Some(value) => Ok(abi::Value { integer: value.into() }),
                None => wrong("write true or false"),
            },
            abi::INTEGER => match value.as_i64() {
                Some(n) if *smallest <= n as f64 && n as f64 <= *largest => Ok(abi::Value { integer: n }),
                _ => wrong(&format!("write a whole number from {smallest} to {largest}")),
            },
            _ => match value.as_f64() {
                Some(x) if *smallest <= x && x <= *largest => Ok(abi::Value { number: x }),
                _ => wrong(&format!("write a number from {smallest} to {largest}")),
            },
        }
    }

    /// Its row in the manual.
    fn row(&self) -> String {
        let (kind, limits) = match self.kind {
            abi::BOOLEAN => ("boolean", String::new()),
            abi::INTEGER => ("integer", format!("{} to {}", self.smallest, self.largest)),
            _ => ("number", format!("{} to {}", self.smallest, self.largest)),
        };
        format!("| `{}` | {} | {kind} | {} | {limits} |\n", self.name, self.doc, self.initial)
    }
}
