//! Numbers as C's `%g` and Python's `:g` write them.

/// The most digits.
const DIGITS: i32 = 6;

/// A finite number with six digits, in the shorter of both notations, without zeros at the end.
pub fn general(value: f64) -> String {
    let rounded = format!("{value:.*e}", DIGITS as usize - 1);
    let (digits, exponent) = rounded.split_once('e').expect("this notation has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent of a finite number");
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).expect("not negative");
        return trimmed(&format!("{value:.decimals$}")).to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn as_c_writes_them() {
        for (value, written) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (5.0, "5"),
            (0.1, "0.1"),
            (1234.5678, "1234.57"),
            (123_456.0, "123456"),
            (999_999.5, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (-2.5e-10, "-2.5e-10"),
            (1e300, "1e+300"),
            (100.0, "100"),
        ] {
            assert_eq!(general(value), written, "{value}");
        }
    }
}
