//! Size distributions given by points of their cumulative distribution.

use crate::error::quote;
use crate::{ENDLESS, WorkloadError};
use fanin_engine::Stream;
use std::sync::Arc;

/// Most points of a distribution.
pub const MAX_CDF_POINTS: usize = 100_000;

type Points = &'static [(f64, f64)];

// Points (bytes, percent) of the traffic that the HPCC paper's generator reads from files of these names.
#[rustfmt::skip]
const WEB_SEARCH: Points = &[
    (0.0, 0.0), (10e3, 15.0), (20e3, 20.0), (30e3, 30.0), (50e3, 40.0), (80e3, 53.0), (200e3, 60.0), (1e6, 70.0),
    (2e6, 80.0), (5e6, 90.0), (10e6, 97.0), (30e6, 100.0),
];
#[rustfmt::skip]
const FB_HADOOP: Points = &[
    (0.0, 0.0), (100.0, 1.0), (200.0, 2.0), (300.0, 5.0), (350.0, 15.0), (400.0, 20.0), (500.0, 30.0), (600.0, 40.0),
    (700.0, 50.0), (1e3, 60.0), (2e3, 67.0), (7e3, 70.0), (30e3, 72.0), (50e3, 82.0), (80e3, 87.0), (120e3, 90.0),
    (300e3, 95.0), (1e6, 97.5), (2e6, 99.0), (10e6, 100.0),
];
#[rustfmt::skip]
const ALI_STORAGE: Points = &[
    (0.0, 0.0), (4e3, 22.93), (8e3, 69.21), (16e3, 80.61), (32e3, 90.47), (64e3, 93.53), (128e3, 96.77),
    (256e3, 97.53), (2e6, 100.0),
];

/// Sizes by points (bytes, percent of flows up to this size), linear in size between two points, as HPCC's traffic
/// generator reads them. A size is rounded down to a whole byte and is at least 1. Two points of one size are a step:
/// that size has the difference of their percents.
#[derive(Clone, PartialEq, Debug)]
pub struct Cdf {
    points: Arc<[(f64, f64)]>,
}

impl Cdf {
    /// Names of the built-in distributions.
    pub const BUILT_IN: [&str; 3] = ["WebSearch", "FB_Hadoop", "AliStorage"];

    /// The name in [`Cdf::BUILT_IN`] that matches, ignoring letter case, `_` and `-`.
    pub fn name(written: &str) -> Option<&'static str> {
        let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
        let written = plain(written);
        Self::BUILT_IN.into_iter().find(|name| plain(name) == written)
    }

    /// A distribution by its name, as [`Cdf::name`] finds it.
    ///
    /// # Errors
    /// An unknown name.
    pub fn built_in(name: &str) -> Result<Self, WorkloadError> {
        let points = match Self::name(name) {
            Some("WebSearch") => WEB_SEARCH,
            Some("FB_Hadoop") => FB_HADOOP,
            Some("AliStorage") => ALI_STORAGE,
            _ => {
                let problem = format!("there is no distribution {}", quote(name));
                return Err(WorkloadError::key(
                    "size.cdf",
                    problem,
                    format!("built in are {}", Self::BUILT_IN.join(", ")),
                ));
            }
        };
        Ok(Self { points: points.into() })
    }

    /// From points (bytes, percent): 2 to [`MAX_CDF_POINTS`] of them, percents from 0 to 100, both non-decreasing.
    ///
    /// # Errors
    /// The invalid point and a correction.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, WorkloadError> {
        let fail = |(problem, right): (String, String)| WorkloadError::key("size.cdf", problem, right);
        check_count(points.len()).map_err(fail)?;
        for i in 0..points.len() {
            check_point(i.checked_sub(1).map(|j| points[j]), points[i])
                .map_err(|(problem, right)| fail((format!("point {}: {problem}", i + 1), right)))?;
        }
        check_last(points[points.len() - 1]).map_err(fail)?;
        Ok(Self { points: points.into() })
    }

    /// From the text of a file with `bytes percent` in each line. Empty lines and what follows a `#` are skipped.
    ///
    /// # Errors
    /// `file_name`, the line, and a correction; rules as in [`Cdf::new`].
    pub fn from_text(text: &str, file_name: &str) -> Result<Self, WorkloadError> {
        const RIGHT: &str = "a line is a size in bytes and a cumulative percent, like \"10000 15\"";
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut last_line = 1;
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line_number = at + 1;
            let content = line.split('#').next().unwrap_or("");
            let mut words = content.split_ascii_whitespace();
            let Some(bytes) = words.next() else { continue };
            last_line = line_number;
            let error =
                |(problem, right): (String, String)| WorkloadError::line(file_name, line_number, problem, right);
            let (Some(percent), None) = (words.next(), words.next()) else {
                return Err(error((format!("{} are not two numbers", quote(content.trim())), RIGHT.into())));
            };
            let number = |word: &str| {
                word.parse::<f64>().map_err(|_| error((format!("{} is not a number", quote(word)), RIGHT.into())))
            };
            let point = (number(bytes)?, number(percent)?);
            check_point(points.last().copied(), point).map_err(error)?;
            points.push(point);
            if points.len() > MAX_CDF_POINTS {
                check_count(points.len()).map_err(error)?;
            }
        }
        let end = |(problem, right): (String, String)| WorkloadError::line(file_name, last_line, problem, right);
        check_count(points.len()).map_err(end)?;
        check_last(points[points.len() - 1]).map_err(end)?;
        Ok(Self { points: points.into() })
    }

    /// The points (bytes, percent).
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The quantile of a fraction `u` in [0, 1), before rounding.
    pub fn quantile(&self, u: f64) -> f64 {
        let percent = u * 100.0;
        // The first point above: its segment has a positive weight, so there is no division by zero.
        let above = self.points.partition_point(|p| p.1 <= percent).clamp(1, self.points.len() - 1);
        let (x0, p0) = self.points[above - 1];
        let (x1, p1) = self.points[above];
        if p1 > p0 { x0 + (x1 - x0) * ((percent - p0) / (p1 - p0)) } else { x1 }
    }

    /// Draws one size.
    pub(crate) fn sample(&self, stream: &mut Stream) -> u64 {
        (self.quantile(stream.unit()) as u64).max(1)
    }

    /// The exact mean of the sizes drawn by `sample`.
    pub(crate) fn mean(&self) -> f64 {
        let segment = |pair: &[(f64, f64)]| {
            let ((x0, p0), (x1, p1)) = (pair[0], pair[1]);
            (p1 - p0) / 100.0 * mean_whole(x0, x1)
        };
        self.points.windows(2).map(segment).sum()
    }
}

/// The mean of `max(1, floor(x))` for x uniform between `a` and `b`.
fn mean_whole(a: f64, b: f64) -> f64 {
    if b <= a {
        return libm::floor(a).max(1.0);
    }
    // The integral from 0 to x of the fraction removed by rounding down.
    let taken_off = |x: f64| {
        let whole = libm::floor(x);
        (whole + (x - whole) * (x - whole)) / 2.0
    };
    let below_one = (b.min(1.0) - a.min(1.0)) / (b - a);
    // The clamp guards against cancellation among sizes near 2^53.
    (a + b) / 2.0 - ((taken_off(b) - taken_off(a)) / (b - a)).clamp(0.0, 1.0) + below_one
}

/// The problem and the correction.
type Wrong = (String, String);

fn check_count(points: usize) -> Result<(), Wrong> {
    if (2..=MAX_CDF_POINTS).contains(&points) {
        return Ok(());
    }
    let problem = format!("a cumulative distribution of {points} points");
    Err((problem, format!("give 2 to {MAX_CDF_POINTS} of them, the first at 0 percent, the last at 100")))
}

fn check_point(before: Option<(f64, f64)>, (bytes, percent): (f64, f64)) -> Result<(), Wrong> {
    if !(0.0..=ENDLESS as f64).contains(&bytes) {
        return Err((format!("{bytes} is not a size in bytes"), "sizes are 0 to 2^60".into()));
    }
    if !(0.0..=100.0).contains(&percent) {
        return Err((format!("{percent} is not a percentage"), "percents go from 0 to 100".into()));
    }
    match before {
        None if percent != 0.0 => Err((
            format!("the first point is at {percent} percent"),
            "begin with the smallest size at 0 percent".into(),
        )),
        Some((smaller, _)) if smaller > bytes => {
            Err((format!("the size falls from {smaller} to {bytes}"), "order the points by size".into()))
        }
        Some((_, lower)) if lower > percent => {
            Err((format!("the percent falls from {lower} to {percent}"), "a cumulative percent never falls".into()))
        }
        _ => Ok(()),
    }
}

fn check_last((_, percent): (f64, f64)) -> Result<(), Wrong> {
    if percent == 100.0 {
        return Ok(());
    }
    if percent == 1.0 {
        let problem = "the last point is at 1, as if the second numbers went from 0 to 1";
        return Err((problem.into(), "they are in percent, from 0 to 100: multiply by 100".into()));
    }
    Err((format!("the last point is at {percent} percent"), "end with the largest size at 100 percent".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::cases;
    use fanin_engine::Streams;
    use proptest::prelude::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for written in ["WebSearch", "websearch", "WEB_SEARCH", "web-search"] {
            assert_eq!(Cdf::name(written), Some("WebSearch"));
            assert_eq!(Cdf::built_in(written).unwrap(), Cdf::built_in("WebSearch").unwrap());
        }
        assert_eq!(Cdf::name("fbhadoop"), Some("FB_Hadoop"));
        assert_eq!(Cdf::name("web search"), None);
    }

    #[test]
    fn quantiles_are_linear_in_size_between_the_points() {
        let cdf = Cdf::built_in("WebSearch").unwrap();
        for (u, bytes) in [(0.0, 0.0), (0.075, 5e3), (0.15, 10e3), (0.2, 20e3), (0.25, 25e3), (0.985, 20e6)] {
            assert!((cdf.quantile(u) - bytes).abs() < 1e-6 * bytes.max(1.0), "{u}: {}", cdf.quantile(u));
        }
        assert!(cdf.quantile(1.0 - 1e-12) < 30e6);
        for name in Cdf::BUILT_IN {
            let cdf = Cdf::built_in(name).unwrap();
            // They keep the rules that a file must keep.
            assert_eq!(Cdf::new(cdf.points().to_vec()), Ok(cdf.clone()));
            let mut stream = Streams::new(3).stream("test", 0);
            let mut drawn: Vec<u64> = (0..200_000).map(|_| cdf.sample(&mut stream)).collect();
            drawn.sort_unstable();
            for (bytes, percent) in &cdf.points()[1..] {
                let below = drawn.partition_point(|d| (*d as f64) < *bytes) as f64 / 2000.0;
                assert!((below - percent).abs() < 0.45, "{name}: {below} % below {bytes}, not {percent}");
            }
        }
    }

    #[test]
    fn a_jump_gives_one_size_its_weight() {
        let cdf = Cdf::new(vec![(10.0, 0.0), (10.0, 25.0), (20.0, 25.0), (20.0, 100.0)]).unwrap();
        assert_eq!(cdf.mean(), 0.25 * 10.0 + 0.75 * 20.0);
        assert_eq!([cdf.quantile(0.0), cdf.quantile(0.249), cdf.quantile(0.25)], [10.0, 10.0, 20.0]);
        let mut stream = Streams::new(3).stream("test", 0);
        let drawn: Vec<u64> = (0..40_000).map(|_| cdf.sample(&mut stream)).collect();
        assert!(drawn.iter().all(|d| *d == 10 || *d == 20));
        assert!(drawn.iter().filter(|d| **d == 10).count().abs_diff(10_000) < 350);
    }

    #[test]
    fn rounding_down_is_in_the_mean() {
        // Uniform on [0, 4): 0 becomes 1, then 1, 2, 3.
        assert_eq!(Cdf::new(vec![(0.0, 0.0), (4.0, 100.0)]).unwrap().mean(), 7.0 / 4.0);
        // Uniform on [1.5, 3): 1 for a third, 2 for two thirds.
        let mean = Cdf::new(vec![(1.5, 0.0), (3.0, 100.0)]).unwrap().mean();
        assert!((mean - 5.0 / 3.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn files_are_read_and_errors_name_file_and_line() {
        let text = "\u{feff}# sizes\r\n0 0\r\n\r\n100\t50.5 # half\n1e3 100\n";
        assert_eq!(Cdf::from_text(text, "x").unwrap().points(), [(0.0, 0.0), (100.0, 50.5), (1000.0, 100.0)]);
        for (text, place, says) in [
            ("", "f.txt:1:", "0 points"),
            ("0 0\n", "f.txt:1:", "1 points"),
            ("0 0\n5\n", "f.txt:2:", "not two numbers"),
            ("0 0\n5 6 7\n", "f.txt:2:", "not two numbers"),
            ("0 0\nfive 6\n", "f.txt:2:", "\"five\" is not a number"),
            ("0 0\n5 NaN\n", "f.txt:2:", "not a percentage"),
            ("0 0\n5 101\n", "f.txt:2:", "not a percentage"),
            ("0 0\ninf 100\n", "f.txt:2:", "not a size"),
            ("-1 0\n5 100\n", "f.txt:1:", "not a size"),
            ("0 1\n5 100\n", "f.txt:1:", "first point"),
            ("0 0\n5 50\n4 100\n", "f.txt:3:", "size falls"),
            ("0 0\n5 50\n6 40\n", "f.txt:3:", "percent falls"),
            ("0 0\n5 50\n\n", "f.txt:2:", "last point is at 50"),
            ("0 0\n5 0.5\n9 1.0\n", "f.txt:3:", "from 0 to 100: multiply by 100"),
        ] {
            let error = Cdf::from_text(text, "f.txt").unwrap_err().to_string();
            assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
        }
        let long = "0 0\n".repeat(MAX_CDF_POINTS + 1);
        let error = Cdf::from_text(&long, "f.txt").unwrap_err().to_string();
        assert!(error.starts_with("f.txt:100001:"), "{error}");
        assert!(Cdf::built_in("Searches").unwrap_err().to_string().contains("FB_Hadoop"));
    }

    proptest! {
        #![proptest_config(cases())]
        #[test]
        fn any_bytes_are_a_distribution_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Cdf::from_text(&String::from_utf8_lossy(&bytes), "f");
        }

        #[test]
        fn any_numbers_are_a_distribution_that_draws_within_itself_or_an_error(
            text in "(0 0\n)?([0-9.e+-]{1,6} [0-9]{1,3}\n){0,6}([0-9]{1,20} 100\n)?",
        ) {
            if let Ok(cdf) = Cdf::from_text(&text, "f") {
                let (low, high) = (cdf.points()[0].0, cdf.points()[cdf.points().len() - 1].0);
                let mut stream = Streams::new(1).stream("test", 0);
                for _ in 0..20 {
                    let drawn = cdf.sample(&mut stream) as f64;
                    prop_assert!(drawn >= libm::floor(low) && drawn <= high.max(1.0), "{} of {:?}", drawn, cdf);
                }
                prop_assert!(cdf.mean() >= libm::floor(low) - 1e-6 && cdf.mean() <= high.max(1.0) * (1.0 + 1e-9));
            }
        }
    }
}
