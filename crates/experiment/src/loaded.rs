//! Schemes, policies of load balancing and queue disciplines that were loaded into this process, beside the built-in
//! ones. Each is found by its id.

use fanin_cc::own::{Params, Program};
use fanin_cc::{Balancing, DisciplineProgram, OwnBalancing, Settings, SettingsError};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Makes a program with these parameters, all of which it has. The error is `KEY is ...: what would be right`, or a
/// sentence about a combination.
pub type Make<P> = Box<dyn Fn(&Map<String, Value>) -> Result<Arc<P>, String> + Send + Sync>;

/// What was loaded, and can be made with any parameters. A program is made for each run, since it keeps its failure.
pub struct Loaded<P: ?Sized> {
    /// Its id.
    pub id: &'static str,
    /// Its manual: Markdown.
    pub manual: String,
    /// Its parameters with their defaults.
    pub defaults: Map<String, Value>,
    /// Makes it.
    pub make: Make<P>,
}

impl<P: ?Sized> fmt::Debug for Loaded<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("id", &self.id).field("defaults", &self.defaults).finish_non_exhaustive()
    }
}

/// What was loaded of one kind, by id.
pub type Table<P> = RwLock<BTreeMap<&'static str, Arc<Loaded<P>>>>;

/// Schemes, load balancing, queue disciplines.
pub trait Kind: 'static {
    /// One of them, in errors.
    const NAME: &'static str;
    /// The ids of the built-in ones.
    fn built_in() -> Vec<&'static str>;
    /// Those that were loaded.
    fn table() -> &'static Table<Self>;
}

impl Kind for dyn Program {
    const NAME: &'static str = "scheme";
    fn built_in() -> Vec<&'static str> {
        fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied()).collect()
    }
    fn table() -> &'static Table<Self> {
        static TABLE: Table<dyn Program> = RwLock::new(BTreeMap::new());
        &TABLE
    }
}

impl Kind for OwnBalancing {
    const NAME: &'static str = "policy of load balancing";
    fn built_in() -> Vec<&'static str> {
        Balancing::NAMES.map(|(id, _)| id).to_vec()
    }
    fn table() -> &'static Table<Self> {
        static TABLE: Table<OwnBalancing> = RwLock::new(BTreeMap::new());
        &TABLE
    }
}

/// The id of the queues without a discipline of one's own.
pub const FIFO: &str = "fifo";

impl Kind for dyn DisciplineProgram {
    const NAME: &'static str = "queue discipline";
    fn built_in() -> Vec<&'static str> {
        vec![FIFO]
    }
    fn table() -> &'static Table<Self> {
        static TABLE: Table<dyn DisciplineProgram> = RwLock::new(BTreeMap::new());
        &TABLE
    }
}

/// Whether one may have this id.
///
/// # Errors
/// Where the id is that of a built-in one, or could not stand in a file name.
pub fn check_id<P: Kind + ?Sized>(id: &str) -> Result<(), String> {
    let kind = P::NAME;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || !id.chars().all(plain) || !id.starts_with(|c: char| c.is_ascii_lowercase()) || id.len() > 40 {
        let example = kind.split(' ').next_back().unwrap_or(kind);
        return Err(format!(
            "\"{id}\" is no id of a {kind}: write at most 40 of a-z, 0-9 and -, like \"my-{example}\""
        ));
    }
    if P::built_in().contains(&id) {
        return Err(format!("there is a built-in {kind} \"{id}\": give yours an id of its own"));
    }
    Ok(())
}

/// Makes one known to this process. One of the same kind and id that was loaded before is replaced.
///
/// # Errors
/// As [`check_id`].
pub fn load<P: Kind + ?Sized>(loaded: Loaded<P>) -> Result<(), String> {
    check_id::<P>(loaded.id)?;
    P::table().write().unwrap_or_else(PoisonError::into_inner).insert(loaded.id, Arc::new(loaded));
    LOADS.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

static LOADS: AtomicU64 = AtomicU64::new(0);

/// How often something was loaded: what was made of the lists of loaded ones holds while it is the same.
pub fn loads() -> u64 {
    LOADS.load(Ordering::SeqCst)
}

/// Forgets all of them, as if none had been loaded. Runs that have begun keep theirs.
pub fn forget() {
    fn clear<P: Kind + ?Sized>() {
        P::table().write().unwrap_or_else(PoisonError::into_inner).clear();
    }
    clear::<dyn Program>();
    clear::<OwnBalancing>();
    clear::<dyn DisciplineProgram>();
    LOADS.fetch_add(1, Ordering::SeqCst);
}

/// The loaded one of this id.
pub fn find<P: Kind + ?Sized>(id: &str) -> Option<Arc<Loaded<P>>> {
    P::table().read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
}

/// All loaded ones, by id.
pub fn all<P: Kind + ?Sized>() -> Vec<Arc<Loaded<P>>> {
    P::table().read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// The ids of all, the built-in ones first.
pub fn ids<P: Kind + ?Sized>() -> Vec<&'static str> {
    P::built_in().into_iter().chain(all::<P>().iter().map(|loaded| loaded.id)).collect()
}

/// The loaded one of this id with some of its parameters changed, and all its parameters; `None` if there is none.
///
/// # Errors
/// As [`fanin_cc::settings`].
pub fn made<P: Kind + ?Sized>(id: &str, changes: &Map<String, Value>) -> Result<Option<Made<P>>, SettingsError> {
    let Some(loaded) = find::<P>(id) else { return Ok(None) };
    let mut parameters = loaded.defaults.clone();
    for (key, value) in changes {
        match parameters.get_mut(key) {
            Some(old) => *old = value.clone(),
            None => return Err(SettingsError::UnknownParameter(key.clone(), parameters.keys().cloned().collect())),
        }
    }
    let program = (loaded.make)(&parameters).map_err(SettingsError::Value)?;
    Ok(Some(Made { id: loaded.id, program, parameters }))
}

/// A loaded one with its parameters.
#[derive(Debug)]
pub struct Made<P: ?Sized> {
    /// Its id.
    pub id: &'static str,
    /// The program.
    pub program: Arc<P>,
    /// All its parameters.
    pub parameters: Map<String, Value>,
}

/// A scheme, built in or loaded, with some of its parameters changed.
///
/// # Errors
/// As [`fanin_cc::settings`].
pub fn settings(id: &str, changes: &Map<String, Value>) -> Result<Settings, SettingsError> {
    match made::<dyn Program>(id, changes)? {
        Some(made) => Ok(Settings::Own(made.id, Params { program: made.program })),
        None => fanin_cc::settings(id, changes),
    }
}

/// A scheme, built in or loaded, as it is.
pub fn preset(id: &str) -> Option<Settings> {
    Settings::preset(id).or_else(|| find::<dyn Program>(id).and_then(|_| settings(id, &Map::new()).ok()))
}
