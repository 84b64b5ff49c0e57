//! What is fuzzed: functions of any bytes, that must neither panic nor hang nor take memory without end.
//!
//! libFuzzer drives them (`targets/`), and so does `drive`, which any stable toolchain builds.

pub mod cache;
pub mod journal;
pub mod nbd;
pub mod superblock;

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What an input led to, as a number: inputs with another one went another way.
#[derive(Clone, Debug, Default)]
pub struct Outcome(DefaultHasher);

impl Outcome {
    /// Adds something that was seen, without its numbers: those differ with every input.
    pub fn add(&mut self, seen: &impl Debug) {
        for byte in format!("{seen:?}").bytes().filter(|byte| !byte.is_ascii_digit()) {
            byte.hash(&mut self.0);
        }
    }

    /// The number.
    pub fn number(&self) -> u64 {
        self.0.finish()
    }
}

/// A function that is fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name; its corpus is kept in `corpus/NAME`.
    pub name: &'static str,
    /// Tries an input.
    pub run: fn(&[u8]) -> Outcome,
}

/// All of them.
pub const TARGETS: [Target; 3] = [
    Target { name: "journal", run: journal::run },
    Target { name: "superblock", run: superblock::run },
    Target { name: "nbd", run: nbd::run },
];
