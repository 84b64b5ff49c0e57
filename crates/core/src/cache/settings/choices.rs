//! Settings that are one of several words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where writes and reads go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Writes end on the fast device and are written back later.
    #[default]
    WriteBack,
    /// Writes end when both devices have them.
    WriteThrough,
    /// Writes go to the slow device only; what they overwrite leaves the cache. Reads fill it.
    WriteAround,
    /// As write-back, but reads do not fill the cache.
    WriteOnly,
}

/// Which read misses fill the cache once it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Admission {
    /// All.
    All,
    /// Those of blocks that were missed before, as far as a table of ghosts remembers.
    #[default]
    SecondHit,
}

/// When a write to the fast device may be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When its data and the journal's record of it are written: it survives the death of the process, and is durable, as on
    /// a disk with a volatile cache, on a flush.
    #[default]
    Written,
    /// When the journal's record of it is durable too (FlashCache's synchronous metadata).
    Journaled,
}

/// The words of `mode`.
pub(super) const MODES: [(&str, Mode); 4] = [
    ("write-back", Mode::WriteBack),
    ("write-through", Mode::WriteThrough),
    ("write-around", Mode::WriteAround),
    ("write-only", Mode::WriteOnly),
];
/// The words of `admission`.
pub(super) const ADMISSIONS: [(&str, Admission); 2] = [("all", Admission::All), ("second-hit", Admission::SecondHit)];
/// The words of `acknowledge`.
pub(super) const ACKNOWLEDGES: [(&str, Acknowledge); 2] =
    [("written", Acknowledge::Written), ("journaled", Acknowledge::Journaled)];
