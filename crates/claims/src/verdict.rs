//! When a claim holds: the rules of `fanin_papers.experiment`, by the same examples
//! (`crates/claims/verdicts.txt`).

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By the claim's own criterion.
    Holds,
    /// By the rule of margins.
    Close,
    /// Neither.
    Differs,
    /// A free parameter was fitted to the number.
    Calibrated,
}

impl Verdict {
    /// Its word in the table.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Close => "close",
            Verdict::Differs => "differs",
            Verdict::Calibrated => "calibrated",
        }
    }
}

/// For a claim without a margin.
pub fn strict(holds: bool) -> Verdict {
    if holds { Verdict::Holds } else { Verdict::Differs }
}

/// For ratios and positive quantities: holds inside the band; close outside it by a factor of at most 1.25.
pub fn band(value: f64, low: f64, high: f64) -> Verdict {
    if (low..=high).contains(&value) {
        Verdict::Holds
    } else if (low / 1.25..=high * 1.25).contains(&value) {
        Verdict::Close
    } else {
        Verdict::Differs
    }
}

/// For gains, cuts and differences, with a band above 0: holds inside it; close outside it by at most a quarter of its
/// width and above 0.
pub fn gain_band(value: f64, low: f64, high: f64) -> Verdict {
    let slack = (high - low) / 4.0;
    if (low..=high).contains(&value) {
        Verdict::Holds
    } else if value > 0.0 && (low - slack..=high + slack).contains(&value) {
        Verdict::Close
    } else {
        Verdict::Differs
    }
}

/// Holds if every point is in order; close if at most one in ten is not.
pub fn order(kept: &[bool]) -> Verdict {
    let broken = kept.iter().filter(|point| !**point).count();
    if broken == 0 {
        Verdict::Holds
    } else if broken * 10 <= kept.len() {
        Verdict::Close
    } else {
        Verdict::Differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_those_of_the_experiments() {
        let mut read = 0;
        for line in include_str!("../verdicts.txt").lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| -> f64 { words[at].parse().expect("a number") };
            let verdict = match words[0] {
                "strict" => strict(words[1] == "1"),
                "band" => band(number(1), number(2), number(3)),
                "gain_band" => gain_band(number(1), number(2), number(3)),
                "order" => order(&words[1].bytes().map(|point| point == b'1').collect::<Vec<_>>()),
                rule => panic!("{rule}: no such rule"),
            };
            assert_eq!(verdict.name(), words[words.len() - 1], "{line}");
            read += 1;
        }
        assert!(read > 20);
    }
}
