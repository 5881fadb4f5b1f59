//! The only unsafe code of this crate: it opens a library, and follows pointers that it returned.

use crate::abi;
use fanin_cc::{Header, Ports};
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

/// The longest text that is taken from a library.
const LONGEST: usize = 1 << 20;

// SAFETY: by the contract in the header nothing of a description changes once it was returned.
unsafe impl Sync for abi::Scheme {}
// SAFETY: as above.
unsafe impl Sync for abi::Policy {}
// SAFETY: as above.
unsafe impl Sync for abi::Selector {}

/// What a library describes.
#[derive(Clone, Copy)]
pub struct Descriptions {
    pub scheme: Option<&'static abi::Scheme>,
    pub balancer: Option<&'static abi::Policy>,
    pub selector: Option<&'static abi::Selector>,
    pub discipline: Option<&'static abi::Policy>,
}

/// Opens a library and asks it for its descriptions, one at least. The library stays open until the process ends,
/// since anything may point into it.
///
/// # Errors
/// A sentence about what is wrong with it.
pub fn open(path: &Path) -> Result<Descriptions, String> {
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
    let entry = |name: &str| {
        // SAFETY: a function of one of these names has this type, as the header declares it, but for the struct that it
        // returns a pointer to, which every pointer can be.
        let found = unsafe { library.get::<extern "C" fn() -> *const c_void>(name.as_bytes()) };
        found.ok().map(|entry| entry())
    };
    let (scheme, discipline) = (entry("fanin_scheme"), entry("fanin_discipline"));
    let (balancer, selector) = (entry("fanin_balancer"), entry("fanin_selector"));
    if scheme.is_none() && balancer.is_none() && selector.is_none() && discipline.is_none() {
        return Err(
            "it exports no function fanin_scheme, fanin_balancer, fanin_selector or fanin_discipline: include \
                    fanin_scheme.h and write `const struct fanin_scheme *fanin_scheme(void) { return &my_scheme; }`, \
                    or one of the others likewise"
                .to_string(),
        );
    }
    Ok(Descriptions {
        scheme: described(scheme, "fanin_scheme", "fanin_scheme")?,
        balancer: described(balancer, "fanin_balancer", "fanin_policy")?,
        selector: described(selector, "fanin_selector", "fanin_selector")?,
        discipline: described(discipline, "fanin_discipline", "fanin_policy")?,
    })
}

/// The structs of C that describe something: they begin with their version and their size, and then every bit pattern
/// is a value of their fields.
trait Description: Sync + 'static {}
impl Description for abi::Scheme {}
impl Description for abi::Policy {}
impl Description for abi::Selector {}

/// The description that a library's function has returned, if it has that function.
fn described<T: Description>(
    returned: Option<*const c_void>,
    function: &str,
    name: &str,
) -> Result<Option<&'static T>, String> {
    let Some(at) = returned else { return Ok(None) };
    let at = at.cast::<T>();
    if at.is_null() || !at.is_aligned() {
        return Err(format!("its {function}() returned no struct {name}: return the address of a static one"));
    }
    // SAFETY: not null, aligned, and every version of the struct begins with these two numbers.
    let [version, size] = unsafe { *at.cast::<[u32; 2]>() };
    if version != abi::VERSION {
        return Err(format!(
            "it was built for version {version} of fanin_scheme.h, and this Fanin reads version {}: build it with the \
             fanin_scheme.h of this Fanin",
            abi::VERSION
        ));
    }
    let ours = size_of::<T>();
    if size as usize != ours {
        return Err(format!(
            "its struct {name} says that it has {size} bytes instead of {ours}: set struct_size to \
             sizeof(struct {name})"
        ));
    }
    // SAFETY: its version and size are right, it is static by the contract in the header, and every bit pattern is a
    // value of its fields, where functions are null or of the type that the header gives them.
    Ok(Some(unsafe { &*at }))
}

/// A table of so many parameters.
///
/// # Errors
/// If there is none where there should be.
pub fn parameters(table: *const abi::Parameter, count: u32) -> Result<&'static [abi::Parameter], String> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > 256 || table.is_null() || !table.is_aligned() {
        return Err(format!("it says that it has {count} parameters: point `parameters` at a table of at most 256"));
    }
    // SAFETY: not null, aligned, and by the contract in the header a static table of so many rows.
    Ok(unsafe { std::slice::from_raw_parts(table, count as usize) })
}

/// A text of the library; `None` if it is null, not UTF-8, or unterminated.
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
