//! Numbers and times as text, without allocation.

use std::time::{SystemTime, UNIX_EPOCH};

/// A decimal number of two places, as the server reads it.
pub struct Decimal {
    text: [u8; Self::BYTES],
    at: usize,
}

impl Decimal {
    /// Sign, point and the digits of the largest number.
    const BYTES: usize = 24;

    /// Of a number in hundredths: 1250 is 12.50.
    pub fn new(hundredths: i64) -> Self {
        let mut own = Self { text: [0; Self::BYTES], at: Self::BYTES };
        let mut left = hundredths.unsigned_abs();
        for place in 0.. {
            if place == 2 {
                own.push(b'.');
            }
            if place > 2 && left == 0 {
                break;
            }
            own.push(b'0' + (left % 10) as u8);
            left /= 10;
        }
        if hundredths < 0 {
            own.push(b'-');
        }
        own
    }

    fn push(&mut self, byte: u8) {
        self.at -= 1;
        self.text[self.at] = byte;
    }

    /// Its text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[self.at..]
    }
}

/// Reads a decimal number in hundredths; further places are cut. None for what is no number.
pub fn hundredths(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut places = None;
    for &byte in digits {
        match (byte, places) {
            (b'.', None) => places = Some(0),
            (b'0'..=b'9', Some(2..)) => {}
            (b'0'..=b'9', _) => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                places = places.map(|n| n + 1);
            }
            _ => return None,
        }
    }
    for _ in places.unwrap_or(0)..2 {
        value = value.checked_mul(10)?;
    }
    Some(if negative { -value } else { value })
}

/// The present second in local time, `2026-11-21 10:00:00`, as tpcc-mysql sends it. It is made anew once a second.
#[derive(Default)]
pub struct Clock {
    second: u64,
    text: [u8; 19],
}

impl Clock {
    /// Looks at the clock.
    pub fn now(&mut self) -> [u8; 19] {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second {
            self.second = second;
            self.text = local_time(second);
        }
        self.text
    }
}

fn local_time(second: u64) -> [u8; 19] {
    let seconds = second as libc::time_t;
    // SAFETY: localtime_r writes only into the struct that we own, for which zeros are a value.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut time);
        time
    };
    let mut text = *b"0000-00-00 00:00:00";
    let mut put = |at: usize, digits: usize, value: i32| {
        let mut left = value;
        for place in (at..at + digits).rev() {
            text[place] = b'0' + (left % 10) as u8;
            left /= 10;
        }
    };
    put(0, 4, time.tm_year + 1900);
    put(5, 2, time.tm_mon + 1);
    put(8, 2, time.tm_mday);
    put(11, 2, time.tm_hour);
    put(14, 2, time.tm_min);
    put(17, 2, time.tm_sec);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_and_read() {
        let written = [(0, "0.00"), (5, "0.05"), (-5, "-0.05"), (99, "0.99"), (100, "1.00"), (-1050, "-10.50")];
        for (value, text) in written {
            assert_eq!(Decimal::new(value).as_bytes(), text.as_bytes());
            assert_eq!(hundredths(text.as_bytes()), Some(value));
        }
        for value in [i64::MAX, i64::MIN + 1, 123_456_789] {
            assert_eq!(hundredths(Decimal::new(value).as_bytes()), Some(value));
        }
        assert_eq!(Decimal::new(i64::MIN).as_bytes(), b"-92233720368547758.08");
    }

    #[test]
    fn other_scales_are_read() {
        let read = ["7", "7.5", "0.1234", "-3", "12.", ""].map(|text| hundredths(text.as_bytes()));
        assert_eq!(read, [Some(700), Some(750), Some(12), Some(-300), Some(1200), None]);
        let wrong = ["x", "1.2.3", "--1", "99999999999999999999"].map(|text| hundredths(text.as_bytes()));
        assert_eq!(wrong, [None; 4]);
    }

    #[test]
    fn the_clock_has_the_servers_form() {
        let text = Clock::default().now();
        let form: Vec<u8> = text.iter().map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte }).collect();
        assert_eq!(form, b"0000-00-00 00:00:00");
        assert!(text > *b"2025-01-01 00:00:00");
    }
}
