//! The times that logs write.

/// `2023-11-23T13:15:00.123456Z` or `231123 13:15:00` at the beginning of a text: microseconds since 1970, whether the text
/// has parts of a second, and its length. A time with an offset of its zone
/// (`+02:00`) is told in UTC: the offset changes with summer time.
pub(super) fn read_time(text: &[u8]) -> Option<(i64, bool, usize)> {
    if text.len() >= 19 && text[4] == b'-' && matches!(text[10], b'T' | b' ') {
        let date = (digits(&text[0..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
        let seconds = clock(&text[11..19])?;
        let fraction = text[19..].strip_prefix(b".").map_or(&[][..], leading_digits);
        let mut length = if fraction.is_empty() { 19 } else { 20 + fraction.len() };
        let (zone_s, zone_length) = zone(&text[length..])?;
        length += zone_length;
        return Some((micros(date, seconds, fraction)? - zone_s * 1_000_000, !fraction.is_empty(), length));
    }
    // The hour of the old form has a space in place of a leading zero.
    if text.len() >= 15 && text[6] == b' ' {
        let date = (2000 + digits(&text[0..2])?, digits(&text[2..4])?, digits(&text[4..6])?);
        let fraction = text[15..].strip_prefix(b".").map_or(&[][..], leading_digits);
        let length = if fraction.is_empty() { 15 } else { 16 + fraction.len() };
        // Percona Server 5.1 writes microseconds with ten digits (`%010lld` in its sql/log.cc).
        let places = if fraction.len() == 10 { &fraction[4..] } else { fraction };
        return Some((micros(date, clock(&text[7..15])?, places)?, !fraction.is_empty(), length));
    }
    None
}

/// The last second that a server's clock can have: the end of the year 3000, as MySQL's UNIX_TIMESTAMP tells it since
/// 8.0.28. What is more is damage, and would be waited for.
const LAST_SECOND: i64 = 32_536_771_199;

/// `1700745300` or `1700745300.123456`, which is all of a text, in microseconds.
pub(super) fn read_seconds(text: &[u8]) -> Option<i64> {
    let whole = leading_digits(text);
    let rest = &text[whole.len()..];
    let fraction = rest.strip_prefix(b".").unwrap_or_default();
    if !fraction.iter().all(u8::is_ascii_digit) || (fraction.is_empty() && !rest.is_empty()) {
        return None;
    }
    let seconds = digits(whole).filter(|seconds| *seconds <= LAST_SECOND)?;
    seconds.checked_mul(1_000_000)?.checked_add(fraction_us(fraction)?)
}

/// Seconds before UTC, and the length of what tells it.
fn zone(text: &[u8]) -> Option<(i64, usize)> {
    match text.first() {
        Some(b'Z') => Some((0, 1)),
        Some(sign @ (b'+' | b'-')) if text.len() >= 6 && text[3] == b':' => {
            let ahead_s = digits(&text[1..3])? * 3600 + digits(&text[4..6])? * 60;
            Some((if *sign == b'+' { ahead_s } else { -ahead_s }, 6))
        }
        _ => Some((0, 0)),
    }
}

fn clock(text: &[u8]) -> Option<i64> {
    let hour = if text[0] == b' ' { digits(&text[1..2])? } else { digits(&text[0..2])? };
    (text[2] == b':' && text[5] == b':').then_some(())?;
    Some(hour * 3600 + digits(&text[3..5])? * 60 + digits(&text[6..8])?)
}

fn micros((year, month, day): (i64, i64, i64), seconds: i64, fraction: &[u8]) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || seconds > 86_400 {
        return None;
    }
    // Days since 1970 of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted - era * 400;
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 86_400 + seconds) * 1_000_000 + fraction_us(fraction)?)
}

fn fraction_us(fraction: &[u8]) -> Option<i64> {
    let mut padded = [b'0'; 6];
    let length = fraction.len().min(6);
    padded[..length].copy_from_slice(&fraction[..length]);
    digits(&padded)
}

fn leading_digits(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len())]
}

/// A whole number that is all of a text.
pub(super) fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_the_same_moment() {
        let new = read_time(b"2023-11-23T13:15:00.250000Z 12 Query").expect("a time");
        assert_eq!(new, (1_700_745_300_250_000, true, 27));
        assert_eq!(read_time(b"231123 13:15:00\t"), Some((1_700_745_300_000_000, false, 15)));
        assert_eq!(read_time(b"231123  9:05:07"), Some((1_700_730_307_000_000, false, 15)));
        assert_eq!(read_time(b"231123  9:05:07.0000250000"), Some((1_700_730_307_250_000, true, 26)));
        assert_eq!(read_time(b"231123  9:05:07.25"), Some((1_700_730_307_250_000, true, 18)));
        assert_eq!(read_time(b"2024-02-29T00:00:00.5+02:00"), Some((1_709_157_600_500_000, true, 27)));
        assert_eq!(read_seconds(b"1700745300.25"), Some(1_700_745_300_250_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in
            [&b"SELECT 1 FROM something_long"[..], b"", b"999999 99:99:99", b"2023-13-01T00:00:00", b"231123 xx:15:00"]
        {
            assert_eq!(read_time(text), None, "{}", String::from_utf8_lossy(text));
        }
        for text in [&b"99999999999999999999"[..], b"99999999999917", b"1e308", b"nan", b"-5", b"1.", b"1;", b".5", b""]
        {
            assert_eq!(read_seconds(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
