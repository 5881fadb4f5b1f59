//! Files that are written while a run goes on, before there is a folder for them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that waits for its folder among the system's temporary files. It is removed when nothing asks for it any more.
#[derive(Clone, Debug)]
pub struct Spool {
    name: &'static str,
    place: Arc<Place>,
}

impl Spool {
    /// A new file, which will be called `name` in the run's folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(name: &'static str) -> io::Result<(Self, File)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("fanin-{}-{count}-{name}", std::process::id()));
        let file = File::create_new(&place)?;
        Ok((Self { name, place: Arc::new(Place(place)) }, file))
    }

    /// Its name in the run's folder.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.place.0
    }
}

#[derive(Debug)]
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = fs::remove_file(&self.0);
    }
}
