//! The only unsafe code of this crate: it opens a library, and follows pointers that it returned.

use crate::abi;
use fanin_cc::{Header, Ports};
use std::ffi::{CStr, c_char};
use std::path::Path;

type Entry = extern "C" fn() -> *const abi::Scheme;

/// The longest text that is taken from a library.
const LONGEST: usize = 1 << 20;

// SAFETY: by the contract in the header nothing of a description changes once it was returned.
unsafe impl Sync for abi::Scheme {}

/// Opens a library and asks it for its scheme. The library stays open until the process ends, since anything may point
/// into it.
///
/// # Errors
/// A sentence about what is wrong with it.
pub fn open(path: &Path) -> Result<&'static abi::Scheme, String> {
    #[cfg(not(unix))]
    use libloading::Library;
    #[cfg(unix)]
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

    // SAFETY: code of the library runs, which is what its user has asked for by naming it. On Unix all its symbols are
    // resolved now, so that one that is missing is an error here and not during a run.
    #[cfg(unix)]
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    #[cfg(not(unix))]
    // SAFETY: as above.
    let library = unsafe { Library::new(path) };
    let library = library.map_err(|e| {
        let why = std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string);
        format!("it is no shared library that can be loaded here: {why}")
    })?;
    // Also one that is refused stays open: some languages' runtimes do not survive being unloaded.
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: a function of this name has this type, as the header declares it.
    let entry = unsafe { library.get::<Entry>(b"fanin_scheme\0") }.map_err(|_| {
        "it exports no function fanin_scheme: include fanin_scheme.h and write `const struct fanin_scheme \
         *fanin_scheme(void) { return &my_scheme; }`"
            .to_string()
    })?;
    let scheme = entry();
    if scheme.is_null() || !scheme.is_aligned() {
        return Err("its fanin_scheme() returned no struct fanin_scheme: return the address of a static one".into());
    }
    // SAFETY: not null, aligned, and every version of the struct begins with these two numbers.
    let [version, size] = unsafe { *scheme.cast::<[u32; 2]>() };
    if version != abi::VERSION {
        return Err(format!(
            "it was built for version {version} of fanin_scheme.h, and this Fanin reads version {}: build it with the \
             fanin_scheme.h of this Fanin",
            abi::VERSION
        ));
    }
    let ours = size_of::<abi::Scheme>();
    if size as usize != ours {
        return Err(format!(
            "its struct fanin_scheme says that it has {size} bytes instead of {ours}: set struct_size to \
             sizeof(struct fanin_scheme)"
        ));
    }
    // SAFETY: its version and size are right, it is static by the contract in the header, and every bit pattern is a
    // value of its fields, where functions are null or of the type that the header gives them.
    Ok(unsafe { &*scheme })
}

/// The scheme's table of parameters.
///
/// # Errors
/// If there is none where there should be.
pub fn parameters(scheme: &'static abi::Scheme) -> Result<&'static [abi::Parameter], String> {
    let count = scheme.parameter_count;
    if count == 0 {
        return Ok(&[]);
    }
    if count > 256 || scheme.parameters.is_null() || !scheme.parameters.is_aligned() {
        return Err(format!("it says that it has {count} parameters: point `parameters` at a table of at most 256"));
    }
    // SAFETY: not null, aligned, and by the contract in the header a static table of so many rows.
    Ok(unsafe { std::slice::from_raw_parts(scheme.parameters, count as usize) })
}

/// A text of the library; `None` if the pointer is null, or the text is no UTF-8, or without end.
pub fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and by the contract in the header it ends with a zero; so far it is read.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str().ok()?;
    (text.len() <= LONGEST).then(|| text.to_string())
}

/// The ports of a switch as a hook sees them, and the packet that it routes.
pub struct PortView<'a> {
    ports: &'a dyn Ports,
    packet: Option<&'a Header>,
    /// A port that the switch does not have, for which the hook has asked.
    missing: std::cell::Cell<Option<u32>>,
}

impl<'a> PortView<'a> {
    /// Ports to show to one call of a hook.
    pub fn new(ports: &'a dyn Ports, packet: Option<&'a Header>) -> Self {
        Self { ports, packet, missing: std::cell::Cell::new(None) }
    }

    /// Calls a hook with them. The error is a port that it asked for and that the switch does not have.
    pub fn show<T>(&self, hook: impl FnOnce(&abi::Ports) -> T) -> (T, Option<u32>) {
        let of: *const PortView<'_> = self;
        let answer = hook(&abi::Ports { view, of: of.cast(), count: self.ports.count().into() });
        (answer, self.missing.get())
    }

    fn view(&self, port: u32) -> Option<abi::Port> {
        let port = u16::try_from(port).ok().filter(|port| *port < self.ports.count())?;
        let view = abi::Port::from(&self.ports.view(port));
        let Some(packet) = self.packet else { return Some(view) };
        let of_class = self.ports.queued(port, packet, packet.lane);
        Some(abi::Port { of_class, paused: self.ports.paused(port, packet, packet.lane).into(), ..view })
    }
}

extern "C" fn view(ports: &abi::Ports, port: u32, answer: &mut abi::Port) {
    // SAFETY: `show` has put a pointer to a `PortView` there that lives as long as the struct around it, and hooks get
    // that struct as constant.
    let of = unsafe { &*ports.of.cast::<PortView<'_>>() };
    match of.view(port) {
        Some(view) => *answer = view,
        None => {
            *answer = abi::Port::default();
            of.missing.set(Some(port));
        }
    }
}
