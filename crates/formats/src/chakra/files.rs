//! The files of a run: a trace for each rank, and the process groups.

use crate::Error;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Ranks of each process group.
pub type Groups = HashMap<u32, Vec<u32>>;

/// The traces of all ranks, given the one of any rank, or what their names have in common.
///
/// # Errors
/// There are none, or one is missing between others.
pub fn ranks(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let wrong = |what: String| Error { file: path.display().to_string(), line: 0, what };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = split(&name).map_or(name.as_str(), |(prefix, _)| prefix);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|cause| wrong(cause.to_string()))? {
        let entry = entry.map_err(|cause| wrong(cause.to_string()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((_, rank)) = split(&name).filter(|(before, _)| *before == prefix) {
            found.push((rank, path.with_file_name(&name), name));
        }
    }
    found.sort();
    let mut before: Option<&str> = None;
    for (expected, (rank, _, name)) in found.iter().enumerate() {
        if *rank as usize != expected {
            let between = before.map_or(format!("before {name}"), |before| format!("between {before} and {name}"));
            let missing = if *rank as usize > expected { expected } else { *rank as usize };
            return Err(wrong(match *rank as usize > expected {
                true => format!("{prefix}.{missing}.et is missing, {between}"),
                false => format!("{name} is there twice, plain and packed"),
            }));
        }
        before = Some(name);
    }
    match found.is_empty() {
        true => Err(wrong(format!("no trace {prefix}.0.et is there"))),
        false => Ok(found.into_iter().map(|(_, path, _)| path).collect()),
    }
}

/// Prefix and rank of a trace's name.
fn split(name: &str) -> Option<(&str, u32)> {
    let (prefix, rank) = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".et")?.rsplit_once('.')?;
    Some((prefix, rank.parse().ok()?))
}

/// Reads process groups of so many ranks from a JSON file such as `{"1": [0, 1], "2": [2, 3]}`.
///
/// # Errors
/// It is not of this form, or a group cannot be: its number is 0, or it has no rank, one twice, or one that is absent.
pub fn read_groups(bytes: &[u8], file: &str, count: usize) -> Result<Groups, Error> {
    let wrong = |line, what| Error { file: file.into(), line, what };
    let value: Value = serde_json::from_slice(bytes).map_err(|cause| wrong(cause.line() as u32, cause.to_string()))?;
    let groups = value.as_object().ok_or_else(|| wrong(1, "no JSON object of groups, as {\"1\": [0, 1]}".into()))?;
    let text = String::from_utf8_lossy(bytes);
    let line = |name: &str| {
        let before = text.find(&format!("\"{name}\"")).map_or("", |at| &text[..at]);
        before.matches('\n').count() as u32 + 1
    };
    let each = groups.iter().map(|(name, ranks)| {
        let group = group(name, ranks).and_then(|group| possible(group, count));
        group.map_err(|what| wrong(line(name), what))
    });
    each.collect()
}

/// Whether so many ranks can have a group.
fn possible((number, ranks): (u32, Vec<u32>), count: usize) -> Result<(u32, Vec<u32>), String> {
    let mut sorted = ranks.clone();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    let what = match (sorted.last(), twice) {
        _ if number == 0 => "process group 0 has all ranks; the numbers of others begin with 1".into(),
        (None, _) => format!("process group {number} has no ranks; list them, or leave it out"),
        (Some(last), _) if *last as usize >= count => {
            format!("process group {number} has rank {last}; the {count} traces are those of ranks 0 to {}", count - 1)
        }
        (_, Some(pair)) => format!("process group {number} has rank {} twice; list it once", pair[0]),
        _ => return Ok((number, ranks)),
    };
    Err(what)
}

/// Reads process groups from the inputs of a metadata node: a JSON list, in a pair of brackets and quotes.
pub(super) fn groups_of_metadata(inputs: &[u8]) -> Result<Groups, String> {
    let text = String::from_utf8_lossy(inputs);
    let inner = text.find("[{").zip(text.rfind("}]")).map_or("", |(begin, end)| text.get(begin..end + 2).unwrap_or(""));
    let list: Vec<Value> = serde_json::from_str(inner)
        .or_else(|_| serde_json::from_str(&inner.replace("\\\"", "\"")))
        .map_err(|cause| format!("its process groups are no JSON list: {cause}"))?;
    list.iter().map(|entry| group(entry["pg_name"].as_str().unwrap_or_default(), &entry["ranks"])).collect()
}

fn group(name: &str, ranks: &Value) -> Result<(u32, Vec<u32>), String> {
    let number = name.parse().map_err(|_| format!("{name:?} is no number of a process group"))?;
    let rank = |rank: &Value| rank.as_u64().and_then(|rank| u32::try_from(rank).ok());
    let ranks = ranks.as_array().and_then(|ranks| ranks.iter().map(rank).collect::<Option<Vec<u32>>>());
    Ok((number, ranks.ok_or_else(|| format!("the ranks of process group {number} are no list of numbers"))?))
}
