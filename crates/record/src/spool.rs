//! Files written while a run is in progress, before its folder exists.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary file that will be copied into the run's folder. It is removed when its last owner is dropped.
#[derive(Clone, Debug)]
pub struct Spool {
    name: &'static str,
    place: Arc<Place>,
}

impl Spool {
    /// A new file, to be called `name` in the run's folder.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(name: &'static str) -> io::Result<SpoolWriter> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("fanin-{}-{count}-{name}", std::process::id()));
        match File::create_new(&place) {
            Ok(file) => Ok(SpoolWriter::new(name, place, file)),
            Err(error) => Err(named(name, &place, &error)),
        }
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

/// A [`Spool`] that is being written. Errors name the file.
#[derive(Debug)]
pub struct SpoolWriter {
    file: BufWriter<File>,
    spool: Spool,
}

impl SpoolWriter {
    /// Writes the file to be called `name` to `file`, which is at `place` and is removed from there with the spool.
    pub fn new(name: &'static str, place: PathBuf, file: File) -> Self {
        Self { file: BufWriter::new(file), spool: Spool { name, place: Arc::new(Place(place)) } }
    }

    /// Ends the writing.
    ///
    /// # Errors
    /// If some of it cannot be written.
    pub fn finish(mut self) -> io::Result<Spool> {
        self.flush()?;
        Ok(self.spool)
    }

    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| named(self.spool.name, self.spool.path(), &error))
    }
}

impl Write for SpoolWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.named(flushed)
    }
}

fn named(name: &str, place: &Path, error: &io::Error) -> io::Error {
    let text = format!("cannot write {name}, which waits at {} for the run's folder: {error}", place.display());
    io::Error::new(error.kind(), text)
}

#[derive(Debug)]
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // A drop cannot report an error.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte that goes there finds a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let place = std::env::temp_dir().join(format!("fanin-record-full-{}", std::process::id()));
        let mut writer = SpoolWriter::new("some.trace", place.clone(), full);
        // Bytes that fit into the buffer are written later.
        writer.write_all(b"a few bytes").unwrap();
        let error = writer.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let text = error.to_string();
        assert!(
            text.starts_with("cannot write some.trace, which waits at ") && text.contains("No space left"),
            "{text}"
        );
        assert!(text.contains(&*place.to_string_lossy()), "{text}");
    }
}
