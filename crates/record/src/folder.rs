//! A run's folder on disk, written completely or not at all.

use crate::readme::{incomplete, readme};
use crate::{RecordError, RunFiles, Spool, tables};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The file that identifies a folder as a run's.
const MANIFEST: &str = "manifest.json";

/// Writes a run's folder, completely or not at all: everything is written to a hidden folder next to the target,
/// flushed to disk, and then renamed. Parent folders are created as needed. `README.md` describes the content;
/// `INCOMPLETE` exists if the run was stopped before its end.
///
/// With `overwrite`, an existing run folder is replaced; anything else at the target is never replaced.
///
/// # Errors
/// If the target exists or a file cannot be written. The target is then unchanged.
pub fn write_folder(target: &Path, files: &RunFiles<'_>, overwrite: bool) -> Result<(), RecordError> {
    write_whole(target, overwrite, |folder| {
        write_file(&folder.join(files.ran.file()), |file| file.write_all(files.ran.text().as_bytes()))?;
        for (table, make) in tables::ALL {
            let path = folder.join(format!("{table}.arrow"));
            if table == "flows" {
                write_table(&path, table, tables::flows_in_pieces(files.run)?)?;
            } else {
                write_table(&path, table, std::iter::once(make(files.run)))?;
            }
        }
        for file in &files.run.files {
            copy(file, &folder.join(file.name()))?;
        }
        write_json(&folder.join("summary.json"), files.summary)?;
        write_file(&folder.join("README.md"), |file| file.write_all(readme(files).as_bytes()))?;
        if !files.manifest.complete {
            write_file(&folder.join("INCOMPLETE"), |file| writeln!(file, "{}", incomplete(files.run)))?;
        }
        write_json(&folder.join(MANIFEST), files.manifest)
    })
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut std::io::BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), RecordError> {
    let result = File::create_new(path).and_then(|file| write_through(file, write));
    result.map_err(|source| RecordError::io("write", path, source))
}

/// Flushes the output of `write` to disk.
fn write_through(
    file: File,
    write: impl FnOnce(&mut std::io::BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut writer = std::io::BufWriter::new(file);
    write(&mut writer)?;
    writer.into_inner().map_err(|e| e.into_error())?.sync_all()
}

/// Copies a file that the run has already written.
fn copy(from: &Spool, to: &Path) -> Result<(), RecordError> {
    let mut source = File::open(from.path()).map_err(|source| RecordError::io("read", from.path(), source))?;
    write_file(to, |file| std::io::copy(&mut source, file).map(|_| ()))
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RecordError> {
    write_file(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Writes a table of one or more pieces.
fn write_table(
    path: &Path,
    table: &'static str,
    mut pieces: impl Iterator<Item = Result<RecordBatch, RecordError>>,
) -> Result<(), RecordError> {
    let Some(first) = pieces.next().transpose()? else { return Ok(()) };
    let mut failed = None;
    write_file(path, |file| {
        let written = FileWriter::try_new(file, &first.schema())
            .map_err(|source| RecordError::Table { table, source })
            .and_then(|mut writer| {
                let fail = |source| RecordError::Table { table, source };
                writer.write(&first).map_err(fail)?;
                drop(first);
                pieces.try_for_each(|piece| writer.write(&piece?).map_err(fail))?;
                writer.finish().map_err(fail)
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
    failed.map_or(Ok(()), Err)
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
    // Checked again: another run may have ended there meanwhile.
    let replaces = check_free(target, overwrite)?;
    if replaces {
        let old = Scratch { path: beside(parent, target, "old"), keep: false };
        rename(target, &old.path)?;
        if let Err(error) = rename(&scratch.path, target) {
            let mut old = old;
            old.keep = true;
            rename(&old.path, target)?;
            return Err(error);
        }
    } else {
        rename(&scratch.path, target)?;
    }
    scratch.keep = true;
    sync_folder(parent)
}

/// Whether there is a folder to replace; an error if anything else exists there.
fn check_free(target: &Path, overwrite: bool) -> Result<bool, RecordError> {
    if target.file_name().is_none() {
        return Err(RecordError::NotARunFolder(target.to_path_buf()));
    }
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(RecordError::io("look at", target, error)),
        Ok(_) if !overwrite => Err(RecordError::Exists(target.to_path_buf())),
        Ok(found) if found.is_dir() && target.join(MANIFEST).is_file() => Ok(true),
        Ok(_) => Err(RecordError::NotARunFolder(target.to_path_buf())),
    }
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
