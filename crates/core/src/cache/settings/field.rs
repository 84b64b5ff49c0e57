//! One setting as text: what may be written, and how it is printed.

use super::super::policy;
use super::choices::{ACKNOWLEDGES, ADMISSIONS, Acknowledge, Admission, MODES, Mode};

/// A year: nobody means more, and no clock overflows.
const SECONDS_MAX: f64 = 365.0 * 86400.0;
const COUNT_MAX: u32 = 1024;

/// The field of one setting, by what it may be.
pub(super) enum Field<'a> {
    /// A word of `MODES`.
    Mode(&'a mut Mode),
    /// The name of a replacement policy.
    Policy(&'a mut String),
    /// A word of `ADMISSIONS`.
    Admission(&'a mut Admission),
    /// A word of `ACKNOWLEDGES`.
    Acknowledge(&'a mut Acknowledge),
    /// A size.
    Bytes(&'a mut u64),
    /// Process numbers.
    Processes(&'a mut Vec<u32>),
    /// From 0 to 100.
    Percent(&'a mut f64),
    /// From 0 to a year.
    Seconds(&'a mut f64),
    /// From the second number to 1024.
    Count(&'a mut u32, u32),
    /// On or off.
    Switch(&'a mut bool),
}

impl Field<'_> {
    /// Sets the field to a written value.
    ///
    /// # Errors
    /// What may be written, in words. The field is as it was.
    pub(super) fn set(self, text: &str) -> Result<(), String> {
        match self {
            Self::Mode(field) => put(field, word(text, &MODES), || words(&MODES)),
            Self::Policy(field) => {
                let known = policy::NAMES.iter().any(|(name, _)| *name == text);
                put(field, known.then(|| text.into()), || words(&policy::NAMES))
            }
            Self::Admission(field) => put(field, word(text, &ADMISSIONS), || words(&ADMISSIONS)),
            Self::Acknowledge(field) => put(field, word(text, &ACKNOWLEDGES), || words(&ACKNOWLEDGES)),
            Self::Bytes(field) => put(field, bytes(text), || "a size such as 512KiB or 1MiB, or off".into()),
            Self::Processes(field) => put(field, processes(text), || "process numbers such as 12,13, or none".into()),
            Self::Percent(field) => put(field, percent(text), || "a percentage from 0 to 100".into()),
            Self::Seconds(field) => {
                put(field, seconds(text), || "seconds such as 0.5 or 30 (a year at most), or off".into())
            }
            Self::Count(field, least) => {
                put(field, count(text, least), || format!("a number from {least} to {COUNT_MAX}"))
            }
            Self::Switch(field) => put(field, switch(text), || "on or off".into()),
        }
    }

    /// The value, as text that `set` takes.
    pub(super) fn text(self) -> String {
        match self {
            Self::Mode(field) => word_of(*field, &MODES),
            Self::Policy(field) => field.clone(),
            Self::Admission(field) => word_of(*field, &ADMISSIONS),
            Self::Acknowledge(field) => word_of(*field, &ACKNOWLEDGES),
            Self::Bytes(field) => field.to_string(),
            Self::Processes(field) if field.is_empty() => "none".into(),
            Self::Processes(field) => field.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
            Self::Percent(field) | Self::Seconds(field) => field.to_string(),
            Self::Count(field, _) => field.to_string(),
            Self::Switch(field) => if *field { "on" } else { "off" }.into(),
        }
    }

    /// Whether a value that was not written as text is in its range. A count that was not written is not checked.
    ///
    /// # Errors
    /// The range, in words.
    pub(super) fn check(self, name: &str) -> Result<(), String> {
        let (value, most) = match self {
            Self::Percent(field) => (*field, 100.0),
            Self::Seconds(field) => (*field, SECONDS_MAX),
            _ => return Ok(()),
        };
        if (0.0..=most).contains(&value) {
            Ok(())
        } else {
            Err(format!("{name} = {value}: it must be from 0 to {most}"))
        }
    }
}

/// Puts a value into its field; without one, the error is what is possible.
fn put<T>(field: &mut T, value: Option<T>, possible: impl FnOnce() -> String) -> Result<(), String> {
    *field = value.ok_or_else(possible)?;
    Ok(())
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning)
}

fn word_of<T: PartialEq>(value: T, words: &[(&str, T)]) -> String {
    words.iter().find(|(_, meaning)| *meaning == value).map_or_else(String::new, |(word, _)| (*word).into())
}

/// `one of lru, fifo`.
pub(super) fn words<T>(words: &[(&str, T)]) -> String {
    let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    format!("one of {}", words.join(", "))
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn percent(value: &str) -> Option<f64> {
    let value = value.strip_suffix('%').unwrap_or(value).trim();
    value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))
}

fn seconds(value: &str) -> Option<f64> {
    if value == "off" {
        return Some(0.0);
    }
    let value = value.strip_suffix('s').unwrap_or(value).trim();
    value.parse().ok().filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))
}

fn count(value: &str, least: u32) -> Option<u32> {
    value.parse().ok().filter(|count| (least..=COUNT_MAX).contains(count))
}

fn processes(value: &str) -> Option<Vec<u32>> {
    if matches!(value, "" | "none" | "off") {
        return Some(Vec::new());
    }
    let mut list = value.split(',').map(|one| one.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
    list.sort_unstable();
    list.dedup();
    Some(list)
}

/// A size: a number of bytes, or of KiB, MiB, GiB, TiB.
fn bytes(value: &str) -> Option<u64> {
    if value == "off" {
        return Some(0);
    }
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| value.strip_suffix(unit).map(|number| (number.trim(), *shift)))
        .unwrap_or((value, 0));
    let number: u64 = number.parse().ok()?;
    number.checked_mul(1 << shift)
}
