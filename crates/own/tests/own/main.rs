//! Schemes in shared libraries, compiled here from C.

mod equal;
mod failures;
mod header;
mod hooks;
mod policies;
mod refused;
mod selectors;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A C file of these tests.
fn of_tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/own/c").join(name)
}

/// The path of a file that a test makes.
fn made(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles a C file to a shared library of this name.
fn compile(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    /// Tests compile the same file at the same time: it appears whole, or not at all.
    static COMPILED: AtomicU32 = AtomicU32::new(0);
    let (include, library) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("include"), made(name));
    let part = made(&format!("{}-{name}", COMPILED.fetch_add(1, Ordering::Relaxed)));
    let done = Command::new("cc")
        .args(["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-override-init"])
        .args(["-shared", "-fPIC", "-I"])
        .arg(include)
        .arg("-o")
        .arg(&part)
        .args(flags)
        .arg(source)
        .output()
        .expect("a C compiler, `cc`");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::rename(&part, &library).unwrap();
    library
}
