//! Tables of sizes between ranks.

use super::csv::Csv;
use crate::Error;
use crate::text::quote;

const NEEDS: &str = "src, dst and bytes";

/// Reads how much each of so many ranks has for each, row by row: `src` and `dst` are ranks from 0, and pairs that are
/// not listed have no bytes.
///
/// # Errors
/// A column is missing, a rank is not there, a size is no number, or a pair is listed twice.
pub fn read_sizes(file: &str, text: &str, ranks: u32) -> Result<Vec<u64>, Error> {
    let csv = Csv::read(file, text, NEEDS)?;
    csv.check_twice(&["src", "dst", "bytes"])?;
    let columns = csv.need(["src", "dst", "bytes"], NEEDS)?;
    let mut sizes: Vec<Option<u64>> = vec![None; ranks as usize * ranks as usize];
    for row in csv.rows() {
        let (line, fields) = row?;
        let [from, to, bytes] = columns.map(|column| fields[column]);
        let rank = |name: &str, text: &str| {
            let rank = text.parse::<u32>().ok().filter(|rank| *rank < ranks);
            rank.ok_or_else(|| {
                let text = quote(text.as_bytes());
                csv.error(line, format!("{name} is {text}; ranks are 0 to {}", ranks.saturating_sub(1)))
            })
        };
        let (from, to) = (rank("src", from)?, rank("dst", to)?);
        let size = bytes.parse().map_err(|_| {
            csv.error(line, format!("bytes is {}; write a whole number of bytes", quote(bytes.as_bytes())))
        })?;
        if sizes[(from * ranks + to) as usize].replace(size).is_some() {
            return Err(csv.error(line, format!("a second size from rank {from} to rank {to}; list each pair once")));
        }
    }
    Ok(sizes.into_iter().map(Option::unwrap_or_default).collect())
}

/// For fuzzing: any bytes are a table of sizes or an error with a place.
pub fn fuzz_sizes(bytes: &[u8]) {
    match read_sizes("f", &String::from_utf8_lossy(bytes), 5) {
        Ok(sizes) => assert!(sizes.len() == 25),
        Err(error) => assert!(error.file == "f" && error.line > 0 && error.what.contains("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_their_sizes_and_others_none() {
        let read = |text| read_sizes("s.csv", text, 3);
        assert_eq!(read("bytes,src,dst,what\n5,0,2,x\n\n7,2,1,y\n"), Ok(vec![0, 0, 5, 0, 0, 0, 0, 7, 0]));
        for (text, said) in [
            ("src,dst\n", "s.csv:1: column bytes is missing"),
            ("src,dst,bytes\n0,3,1\n", "s.csv:2: dst is \"3\"; ranks are 0 to 2"),
            ("src,dst,bytes\n0,1,1\nh1,1,1\n", "s.csv:3: src is \"h1\"; ranks are"),
            ("src,dst,bytes\n0,1,-1\n", "s.csv:2: bytes is \"-1\"; write a whole number"),
            ("src,dst,bytes\n0,1,1\n0,1,1\n", "s.csv:3: a second size from rank 0 to rank 1; list"),
            ("src,dst,bytes\n0,1\n", "s.csv:2: "),
        ] {
            let wrong = read(text).unwrap_err().to_string();
            assert!(wrong.starts_with(said), "{wrong}");
        }
    }
}
