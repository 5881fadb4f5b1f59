//! Schemes that were loaded into this process, beside the built-in ones. Both are found by id.

use fanin_cc::own::{Params, Program};
use fanin_cc::{Settings, SettingsError};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A scheme that was loaded, and can be made with any parameters.
pub trait Loaded: Send + Sync {
    /// Its id.
    fn id(&self) -> &'static str;
    /// Its manual: Markdown.
    fn manual(&self) -> String;
    /// Its parameters with their defaults.
    fn defaults(&self) -> Map<String, Value>;
    /// The scheme with these parameters, all of which it has.
    ///
    /// # Errors
    /// Where a value is impossible: `KEY is ...: what would be right`, or a sentence about a combination.
    fn make(&self, parameters: &Map<String, Value>) -> Result<Arc<dyn Program>, String>;
}

type Table = BTreeMap<&'static str, Arc<dyn Loaded>>;

fn table() -> &'static RwLock<Table> {
    static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();
    TABLE.get_or_init(RwLock::default)
}

/// Makes a scheme known to this process. One of the same id that was loaded before is replaced.
///
/// # Errors
/// Where the id is that of a built-in scheme, or could not stand in a file name.
pub fn load(scheme: Arc<dyn Loaded>) -> Result<(), String> {
    let id = scheme.id();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || !id.chars().all(plain) || !id.starts_with(|c: char| c.is_ascii_lowercase()) || id.len() > 40 {
        return Err(format!("\"{id}\" is no id of a scheme: write at most 40 of a-z, 0-9 and -, like \"my-scheme\""));
    }
    if Settings::preset(id).is_some() {
        return Err(format!("there is a built-in scheme \"{id}\": give yours an id of its own"));
    }
    table().write().unwrap_or_else(PoisonError::into_inner).insert(id, scheme);
    LOADS.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

static LOADS: AtomicU64 = AtomicU64::new(0);

/// How often a scheme was loaded: what was made of the list of schemes holds while it is the same.
pub fn loads() -> u64 {
    LOADS.load(Ordering::SeqCst)
}

/// Forgets all of them, as if none had been loaded. Runs that have begun keep theirs.
pub fn forget() {
    table().write().unwrap_or_else(PoisonError::into_inner).clear();
    LOADS.fetch_add(1, Ordering::SeqCst);
}

/// The loaded scheme of this id.
pub fn find(id: &str) -> Option<Arc<dyn Loaded>> {
    table().read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
}

/// All loaded schemes, by id.
pub fn all() -> Vec<Arc<dyn Loaded>> {
    table().read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// A scheme, built in or loaded, with some of its parameters changed.
///
/// # Errors
/// As [`fanin_cc::settings`].
pub fn settings(id: &str, changes: &Map<String, Value>) -> Result<Settings, SettingsError> {
    let Some(scheme) = find(id) else { return fanin_cc::settings(id, changes) };
    let mut values = scheme.defaults();
    for (key, value) in changes {
        match values.get_mut(key) {
            Some(old) => *old = value.clone(),
            None => return Err(SettingsError::UnknownParameter(key.clone(), values.keys().cloned().collect())),
        }
    }
    let program = scheme.make(&values).map_err(SettingsError::Value)?;
    Ok(Settings::Own(scheme.id(), Params { program }))
}

/// A scheme, built in or loaded, as it is.
pub fn preset(id: &str) -> Option<Settings> {
    Settings::preset(id).or_else(|| find(id).and_then(|_| settings(id, &Map::new()).ok()))
}

/// The ids of all schemes, the built-in ones first.
pub fn ids() -> Vec<&'static str> {
    let built_in = fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied());
    built_in.chain(all().iter().map(|scheme| scheme.id())).collect()
}
