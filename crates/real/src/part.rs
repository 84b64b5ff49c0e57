//! The share of one host in a load that several hosts make together.

use schemars::JsonSchema;
use serde::Deserialize;

/// The lanes of this host are `first`, `first + 1`, ... of a load. Each lane does what it would do if one host had all:
/// it has the same random numbers, the same arrivals and the same server. The run waits for `Run::begin_at`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Number of the first lane.
    pub first: u32,
    /// Lanes of all hosts together.
    pub of: u32,
}

impl Part {
    /// The whole load, if there is no part of it.
    pub(crate) fn or_whole(part: Option<Self>, lanes: u32) -> Self {
        part.unwrap_or(Self { first: 0, of: lanes })
    }

    /// Number of a lane of this host among those of all hosts.
    pub(crate) fn number(self, lane: usize) -> usize {
        self.first as usize + lane
    }
}
