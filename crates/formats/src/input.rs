//! The one door for files that people name: regular files alone. A pipe or a device may never end.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a regular file.
///
/// # Errors
/// It is not there, may not be read, or is not a regular file.
pub fn open(path: &Path) -> Result<File> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(Error::from(ErrorKind::IsADirectory));
    }
    if !about.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// The bytes of a regular file.
///
/// # Errors
/// Those of [`open`], or it cannot be read to its end.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// Those of [`read`], or it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::from(ErrorKind::InvalidData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        assert_eq!(read(Path::new("/dev/null")).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(read(Path::new("/")).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(read(Path::new("/nowhere")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(
            read_text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap().contains("fanin-formats")
        );
    }
}
