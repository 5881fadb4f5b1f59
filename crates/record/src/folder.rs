//! A run's folder on disk, written completely or not at all.

use crate::readme::{incomplete, readme};
use crate::{Manifest, RecordError, RunFiles, Spool, tables};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The file that identifies a folder as a run's.
const MANIFEST: &str = "manifest.json";
/// The only file in a folder that a run has claimed before its work begins; its first line is the number of its
/// process.
const CLAIM: &str = "RUNNING";

/// What the manifest says of another file of its folder, so that a change shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct FileRecord {
    bytes: u64,
    /// SHA-256 in hexadecimal digits.
    sha256: String,
    /// Rows of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

/// The document `manifest.json`.
#[derive(Serialize)]
struct WholeManifest<'a> {
    #[serde(flatten)]
    manifest: &'a Manifest,
    files: BTreeMap<String, FileRecord>,
}

/// A folder that is being filled, with a record of each file in it.
struct Filling<'a> {
    folder: &'a Path,
    files: BTreeMap<String, FileRecord>,
}

/// Writes a run's folder, completely or not at all: everything is written to a hidden folder next to the target,
/// flushed to disk, and then renamed. Parent folders are created as needed. `README.md` describes the content;
/// `INCOMPLETE` exists if the run was stopped before its end.
///
/// With `overwrite`, an existing run folder is replaced, in one step where the system can exchange two names; anything
/// else at the target is never replaced, except a folder that this process has claimed (see `claim` in Python's
/// `run_folder`). The manifest names each other file with its size, its SHA-256 and the rows of a table.
///
/// # Errors
/// If the target exists or a file cannot be written. The target is then unchanged.
pub fn write_folder(target: &Path, files: &RunFiles<'_>, overwrite: bool) -> Result<(), RecordError> {
    let files_of = files.manifest;
    write_whole(target, overwrite, |folder| {
        let mut filling = Filling::new(folder);
        filling.write(files.ran.file(), |file| file.write_all(files.ran.text().as_bytes()))?;
        for table in tables::in_pieces(files.run) {
            let (name, pieces) = table?;
            filling.write_table(name, pieces)?;
        }
        for file in &files.run.files {
            filling.copy(file)?;
        }
        filling.write_json("summary.json", files.summary)?;
        filling.write("README.md", |file| file.write_all(readme(files).as_bytes()))?;
        if !files.manifest.complete {
            filling.write("INCOMPLETE", |file| writeln!(file, "{}", incomplete(files.run)))?;
        }
        let files = std::mem::take(&mut filling.files);
        filling.write_json(MANIFEST, &WholeManifest { manifest: files_of, files })
    })
}

/// A file that counts and hashes what is written.
struct Hashed {
    file: File,
    bytes: u64,
    hash: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.file.write(piece)?;
        self.bytes += written as u64;
        self.hash.update(&piece[..written]);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What a file of the folder is written to.
type Out = BufWriter<Hashed>;

/// Flushes the output of `write` to disk.
fn write_through(file: File, write: impl FnOnce(&mut Out) -> io::Result<()>) -> io::Result<FileRecord> {
    let mut out = BufWriter::with_capacity(1 << 16, Hashed { file, bytes: 0, hash: Sha256::new() });
    write(&mut out)?;
    let Hashed { file, bytes, hash } = out.into_inner().map_err(|e| e.into_error())?;
    file.sync_all()?;
    Ok(FileRecord { bytes, sha256: format!("{:x}", hash.finalize()), rows: None })
}

impl<'a> Filling<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, files: BTreeMap::new() }
    }

    /// Writes a file, flushes it to disk and notes it.
    fn write(&mut self, name: &str, write: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), RecordError> {
        let path = self.folder.join(name);
        let written = File::create_new(&path).and_then(|file| write_through(file, write));
        let record = written.map_err(|source| RecordError::io("write", &path, source))?;
        self.files.insert(name.to_string(), record);
        Ok(())
    }

    /// Copies a file that the run has already written.
    fn copy(&mut self, from: &Spool) -> Result<(), RecordError> {
        let mut source = File::open(from.path()).map_err(|source| RecordError::io("read", from.path(), source))?;
        self.write(from.name(), |file| io::copy(&mut source, file).map(|_| ()))
    }

    fn write_json(&mut self, name: &str, value: &impl Serialize) -> Result<(), RecordError> {
        self.write(name, |file| {
            serde_json::to_writer_pretty(&mut *file, value)?;
            file.write_all(b"\n")
        })
    }

    /// Writes a table of one or more pieces.
    fn write_table(
        &mut self,
        table: &'static str,
        mut pieces: impl Iterator<Item = Result<RecordBatch, RecordError>>,
    ) -> Result<(), RecordError> {
        let Some(first) = pieces.next().transpose()? else { return Ok(()) };
        let (name, mut rows, mut failed) = (format!("{table}.arrow"), 0, None);
        self.write(&name, |file| {
            let written = FileWriter::try_new(file, &first.schema())
                .map_err(|source| RecordError::Table { table, source })
                .and_then(|mut writer| {
                    let mut write = |piece: &RecordBatch| {
                        rows += piece.num_rows() as u64;
                        writer.write(piece).map_err(|source| RecordError::Table { table, source })
                    };
                    write(&first)?;
                    drop(first);
                    pieces.try_for_each(|piece| write(&piece?))?;
                    writer.finish().map_err(|source| RecordError::Table { table, source })
                });
            match written {
                Ok(()) => Ok(()),
                Err(RecordError::Table { source: arrow_schema::ArrowError::IoError(_, error), .. }) => Err(error),
                Err(error) => {
                    failed = Some(error);
                    Ok(())
                }
            }
        })?;
        if let Some(record) = self.files.get_mut(&name) {
            record.rows = Some(rows);
        }
        failed.map_or(Ok(()), Err)
    }
}

/// A folder that is removed again unless it is kept.
struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // The error that led here is the one to report.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Lets `fill` write into a hidden folder next to `target`, and renames it to `target`.
fn write_whole(
    target: &Path,
    overwrite: bool,
    fill: impl FnOnce(&Path) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    check_free(target, overwrite)?;
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(|source| RecordError::io("make folder", parent, source))?;
    let mut scratch = Scratch { path: beside(parent, target, "new"), keep: false };
    fs::create_dir(&scratch.path).map_err(|source| RecordError::io("make folder", target, source))?;
    // Errors name the final path, because the hidden folder no longer exists when they are read.
    let filled = fill(&scratch.path).and_then(|()| sync_folder(&scratch.path));
    filled.map_err(|error| error.moved(&scratch.path, target))?;
    // What a replaced folder held has the hidden name now, and goes.
    scratch.keep = !put_folder(&scratch.path, target, overwrite)?;
    sync_folder(parent)
}

/// Moves a whole folder to `target`, by the rules of [`write_folder`]. Returns whether there was one already, which
/// then has the name of the new one.
///
/// # Errors
/// Those of [`write_folder`].
pub fn put_folder(new: &Path, target: &Path, overwrite: bool) -> Result<bool, RecordError> {
    // Another run may have ended there since the last look.
    let replaces = check_free(target, overwrite)?;
    if replaces {
        exchange(new, target)?
    } else {
        move_to(new, target)?
    }
    Ok(replaces)
}

/// Exchanges two folders, in one step where the system can.
fn exchange(new: &Path, target: &Path) -> Result<(), RecordError> {
    if renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let old = new.with_extension("old");
    rename(target, &old)?;
    if let Err(error) = rename(new, target) {
        rename(&old, target)?;
        return Err(error);
    }
    rename(&old, new)
}

/// Moves a folder to a name that must be free.
fn move_to(new: &Path, target: &Path) -> Result<(), RecordError> {
    match renameat_with(CWD, new, CWD, target, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::EXIST) => Err(RecordError::Exists(target.to_path_buf())),
        // A file system that does not know this flag.
        Err(_) if fs::symlink_metadata(target).is_err() => rename(new, target),
        Err(_) => Err(RecordError::Exists(target.to_path_buf())),
    }
}

/// Whether there is a folder to replace; an error if anything else exists there.
fn check_free(target: &Path, overwrite: bool) -> Result<bool, RecordError> {
    if target.file_name().is_none() {
        return Err(RecordError::NotARunFolder(target.to_path_buf()));
    }
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(RecordError::io("look at", target, error)),
        Ok(found) if found.is_dir() && is_claimed(target) => Ok(true),
        Ok(_) if !overwrite => Err(RecordError::Exists(target.to_path_buf())),
        Ok(found) if found.is_dir() && target.join(MANIFEST).is_file() => Ok(true),
        Ok(_) => Err(RecordError::NotARunFolder(target.to_path_buf())),
    }
}

/// Whether this process has claimed the folder, and nothing else is in it.
fn is_claimed(folder: &Path) -> bool {
    let alone = fs::read_dir(folder).is_ok_and(|entries| entries.count() == 1);
    let claim = fs::read_to_string(folder.join(CLAIM)).unwrap_or_default();
    alone && claim.lines().next() == Some(&std::process::id().to_string())
}

/// A hidden name that no other run uses at the moment.
fn beside(parent: &Path, target: &Path, suffix: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    parent.join(format!(".{name}.{}.{count}.{suffix}", std::process::id()))
}

fn rename(from: &Path, to: &Path) -> Result<(), RecordError> {
    fs::rename(from, to).map_err(|source| RecordError::io("rename to", to, source))
}

/// Flushes a folder's entries to disk, where the system supports it.
fn sync_folder(path: &Path) -> Result<(), RecordError> {
    if cfg!(unix) {
        File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| RecordError::io("sync", path, source))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
