//! Errors counted by their numbers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// How the names of their counters begin.
const PREFIX: &str = "error_";
/// Most error numbers with a counter of their own: a server may answer any.
const NUMBERS_MAX: usize = 64;

/// Errors by their number since the last interval. Whoever counts or takes them holds the lock meanwhile, so that an error
/// and its number are in the same interval.
#[derive(Debug, Default)]
pub(super) struct ErrorNumbers {
    counts: Mutex<Counts>,
}

/// A number that came once is told from then on; None is all that came after the first 64 numbers.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<Option<u16>, u64>);

impl ErrorNumbers {
    /// The counts. Lanes' shards are locked after them, and never before.
    pub(super) fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().expect("nothing panics under it")
    }
}

impl Counts {
    /// Counts an error.
    pub(super) fn count(&mut self, number: u16) {
        let known = self.0.contains_key(&Some(number)) || self.0.len() < NUMBERS_MAX;
        *self.0.entry(known.then_some(number)).or_default() += 1;
    }

    /// The counters of an interval, which begin anew.
    pub(super) fn take(&mut self) -> Vec<(String, u64)> {
        let name = |number: Option<u16>| {
            number.map_or_else(|| format!("{PREFIX}others"), |number| format!("{PREFIX}{number}"))
        };
        self.0.iter_mut().map(|(number, count)| (name(*number), std::mem::take(count))).collect()
    }
}

/// Names of the counters that every interval of a run has: each but those of errors.
pub(super) fn named(counters: &[(String, u64)]) -> impl Iterator<Item = &str> {
    counters.iter().map(|(name, _)| name.as_str()).filter(|name| !name.starts_with(PREFIX))
}

/// Adds counters by their names. Errors that only the others have are added as new ones.
pub(super) fn add_counters(own: &mut Vec<(String, u64)>, others: &[(String, u64)]) {
    for (name, count) in others {
        match own.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => own.push((name.clone(), *count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_their_numbers() {
        let mut errors = Counts::default();
        for number in [1062, 1062, 1146] {
            errors.count(number);
        }
        assert_eq!(errors.take(), [("error_1062".to_owned(), 2), ("error_1146".to_owned(), 1)]);
        assert_eq!(errors.take(), [("error_1062".to_owned(), 0), ("error_1146".to_owned(), 0)], "their series go on");
        for number in 0..1000 {
            errors.count(number);
        }
        let told = errors.take();
        assert_eq!(told[0], ("error_others".to_owned(), 1000 - 62), "memory has an end");
        assert_eq!(told.len(), 65);
    }

    #[test]
    fn hosts_have_errors_of_their_own() {
        let told =
            |counters: &[(&str, u64)]| counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let mut own: Vec<_> = told(&[("queries", 7), ("error_1205", 1), ("error_1213", 4)]);
        let others: Vec<_> = told(&[("queries", 5), ("error_1062", 2), ("error_1213", 1)]);
        assert!(named(&own).eq(named(&others)));
        add_counters(&mut own, &others);
        assert_eq!(own, told(&[("queries", 12), ("error_1205", 1), ("error_1213", 5), ("error_1062", 2)]));
        assert!(!named(&own).eq(named(&told(&[("statements", 1)]))));
    }
}
