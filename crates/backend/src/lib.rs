//! The simulator as a C library: `include/fanin.h`, whose functions these are.
//!
//! Other simulators, such as ASTRA-sim, use it as their network: they post messages, ask what happens next, and answer
//! with more messages. All that the functions do is in [`fanin_experiment::Online`].

use fanin_experiment::{CheckedSpec, News, Online, Spec, left_by_spec};
use fanin_record::{Ran, RunFiles, write_folder};
use fanin_units::Time;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_long};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;

/// `FANIN_VERSION` of the header that this library has.
pub const VERSION: u32 = 1;

const ARRIVED: u32 = 1;
const ACKED: u32 = 2;
const WOKEN: u32 = 3;

/// `fanin` of the header, and what follows its fields.
#[repr(C)]
pub struct Net {
    now: u64,
    hosts: u32,
    under_way: u32,
    problem: *const c_char,
    text: CString,
    run: Option<(CheckedSpec, Online)>,
    /// What had no room in the events of the last call.
    left: VecDeque<News>,
}

/// `fanin_event` of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// As given to [`fanin_post`] or [`fanin_wake`].
    pub id: u64,
    /// `FANIN_ARRIVED`, `FANIN_ACKED` or `FANIN_WOKEN`.
    pub kind: u32,
    unused: u32,
}

impl From<News> for Event {
    fn from(told: News) -> Self {
        let (id, kind) = match told {
            News::Arrived(message) => (message.into(), ARRIVED),
            News::Acked(message) => (message.into(), ACKED),
            News::Woken(name) => (name, WOKEN),
        };
        Self { id, kind, unused: 0 }
    }
}

impl Net {
    /// The instant at which the run stands, in picoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What was wrong with the last call that failed; NULL after a success.
    pub fn problem(&self) -> *const c_char {
        self.problem
    }

    fn new() -> Self {
        Self {
            now: 0,
            hosts: 0,
            under_way: 0,
            problem: ptr::null(),
            text: CString::default(),
            run: None,
            left: VecDeque::new(),
        }
    }

    fn online(&mut self) -> Result<&mut Online, String> {
        let run = self.run.as_mut().map(|(_, online)| online);
        run.ok_or_else(|| "the network was not opened, or its run has ended; it can only be closed".to_string())
    }

    fn open(&mut self, version: u32, network: *const c_char, changes: *const c_char) -> Result<(), String> {
        if version != VERSION {
            let right = "compile the program with the header of this library";
            return Err(format!("version {version} of fanin.h, and this is version {VERSION}; {right}"));
        }
        let network = text(network, "network")?.ok_or("network: NULL; give the name of a file")?;
        let changes = text(changes, "changes")?.unwrap_or_default();
        let (mut scheme, mut seed, mut others) = (None, None, Vec::new());
        for line in changes.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (key, value) = line
                .split_once('=')
                .ok_or_else(|| format!("changes: \"{line}\" has no \"=\"; write it like scheme=dcqcn"))?;
            match (key.trim(), value.trim()) {
                ("scheme", value) => scheme = Some(value),
                ("seed", value) => {
                    let wrong = |_| format!("changes: seed={value} is no whole number");
                    seed = Some(value.parse::<u64>().map_err(wrong)?);
                }
                change => others.push(change),
            }
        }
        let spec = Spec::posted(Path::new(network), scheme).and_then(|spec| spec.with(&others, None, seed));
        let checked = spec.and_then(|spec| spec.check()).map_err(|problems| problems.to_string())?;
        let online = checked.online().map_err(|problem| problem.to_string())?;
        self.hosts = online.graph().hosts;
        self.run = Some((checked, online));
        Ok(())
    }

    fn next(&mut self, events: &mut [Event]) -> Result<usize, String> {
        if self.left.is_empty() {
            let (_, online) = self.run.as_mut().ok_or("the network was not opened; it can only be closed")?;
            self.left.extend(online.advance()?);
        }
        let count = self.left.len().min(events.len());
        events.iter_mut().zip(self.left.drain(..count)).for_each(|(event, told)| *event = told.into());
        Ok(count)
    }

    fn end(&mut self, folder: *const c_char) -> Result<(), String> {
        let folder = text(folder, "folder")?;
        let Some((checked, online)) = self.run.take() else {
            let none = || "there is no run to write; close without a folder".to_string();
            return folder.map_or(Ok(()), |_| Err(none()));
        };
        let Some(folder) = folder else { return Ok(()) };
        let outcome = online.finish();
        let (summary, manifest) = left_by_spec(&outcome, &checked);
        let spec = checked.to_toml();
        let files = RunFiles { ran: Ran::Spec(&spec), manifest: &manifest, run: &outcome.run, summary: &summary };
        write_folder(Path::new(folder), &files, true).map_err(|error| error.to_string())
    }

    /// Calls a function, and notes what was wrong and how the run stands.
    fn call<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, String>) -> Option<T> {
        // A defect here must not unwind into C.
        let done = catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            self.run = None;
            Err("a defect of Fanin ended the run; its message is on standard error".to_string())
        });
        if let Some((_, online)) = &mut self.run {
            self.now = online.now().as_ps();
            self.under_way = u32::try_from(online.under_way()).unwrap_or(u32::MAX);
        }
        self.problem = ptr::null();
        match done {
            Ok(value) => Some(value),
            Err(problem) => {
                self.text = CString::new(problem.replace('\0', "?")).unwrap_or_default();
                self.problem = self.text.as_ptr();
                None
            }
        }
    }
}

/// A string of C; `None` if it is NULL.
fn text<'a>(from: *const c_char, what: &str) -> Result<Option<&'a str>, String> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: the header asks for NULL or a string that ends with 0 and lives as long as the call.
    let bytes = unsafe { CStr::from_ptr(from) };
    bytes.to_str().map(Some).map_err(|_| format!("{what}: it is not UTF-8"))
}

/// Opens a network, as the header says.
///
/// # Safety
/// The texts are NULL or end with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_open(version: u32, network: *const c_char, changes: *const c_char) -> *mut Net {
    let mut net = Box::new(Net::new());
    net.call(|net| net.open(version, network, changes));
    Box::into_raw(net)
}

/// Posts a message, as the header says.
///
/// # Safety
/// `net` is of [`fanin_open`], and was not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_post(net: *mut Net, src: u32, dst: u32, bytes: u64, id: u32) -> c_int {
    // SAFETY: as above.
    let Some(net) = (unsafe { net.as_mut() }) else { return -1 };
    net.call(|net| net.online()?.post(src, dst, bytes, id)).map_or(-1, |()| 0)
}

/// Wakes the caller at a time, as the header says.
///
/// # Safety
/// `net` is of [`fanin_open`], and was not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_wake(net: *mut Net, at: u64, id: u64) -> c_int {
    // SAFETY: as above.
    let Some(net) = (unsafe { net.as_mut() }) else { return -1 };
    net.call(|net| net.online()?.wake(Time::from_ps(at), id)).map_or(-1, |()| 0)
}

/// Runs to the next instant with events, as the header says.
///
/// # Safety
/// `net` is of [`fanin_open`], and was not closed; `events` has `room` places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_next(net: *mut Net, events: *mut Event, room: usize) -> c_long {
    // SAFETY: as above.
    let Some(net) = (unsafe { net.as_mut() }) else { return -1 };
    net.call(|net| {
        if events.is_null() || room == 0 {
            return Err("there is no room for an event; give room for at least one".to_string());
        }
        // SAFETY: as above; every value of these places is an event.
        net.next(unsafe { std::slice::from_raw_parts_mut(events, room) })
    })
    .map_or(-1, |count| c_long::try_from(count).unwrap_or(c_long::MAX))
}

/// Ends a run, as the header says.
///
/// # Safety
/// `net` is of [`fanin_open`], and was not closed; the text is NULL or ends with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_close(net: *mut Net, folder: *const c_char) -> c_int {
    // SAFETY: as above.
    let Some(open) = (unsafe { net.as_mut() }) else { return 0 };
    if open.call(|net| net.end(folder)).is_none() {
        return -1;
    }
    // SAFETY: it came from a box, and is not used any more.
    drop(unsafe { Box::from_raw(net) });
    0
}
