//! Numbers as C++ prints them.

/// A number with six significant digits, as C++ prints it.
pub fn six_digits(x: f64) -> String {
    let scientific = format!("{x:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..6).contains(&exponent) {
        return short(&format!("{x:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn numbers_have_six_digits() {
        let cases =
            [(0.0, "0"), (47.9771, "47.9771"), (20.0, "20"), (1273.5649, "1273.56"), (1234567.0, "1.23457e+06")];
        for (x, text) in cases {
            assert_eq!(six_digits(x), text);
        }
        assert_eq!(six_digits(0.00001), "1e-05");
    }
}
