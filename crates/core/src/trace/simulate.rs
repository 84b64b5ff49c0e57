//! Runs a trace through caches that hold no data: miss ratios by policy and size, all in one pass.

use super::summary::blocks;
use super::{Kind, Problem, Source};
use crate::cache::simulator::{Numbers, Simulator};

/// One cache to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The policy's name.
    pub policy: String,
    /// Its size in blocks, or objects.
    pub blocks: u32,
}

/// The result of one cache. The unit of all counts is one block (or object) of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The cache.
    pub case: Case,
    /// Blocks that were read.
    pub reads: u64,
    /// Reads that missed.
    pub read_misses: u64,
    /// Blocks that were written.
    pub writes: u64,
    /// Writes to blocks that were not cached.
    pub write_misses: u64,
}

impl Outcome {
    /// The share of blocks that were not cached; 0 without any request.
    pub fn miss_ratio(&self) -> f64 {
        let requests = self.reads + self.writes;
        if requests == 0 { 0.0 } else { (self.read_misses + self.write_misses) as f64 / requests as f64 }
    }
}

/// Blocks ahead of the one being simulated, so that several memory accesses are under way at once.
const CHUNK: usize = 1024;

/// Runs a trace through all caches. Reads, writes and zeros use blocks and bring them in; a trim takes them out.
///
/// # Errors
/// The trace or a case is invalid, or there are more than 2^32 - 1 different blocks.
pub fn simulate(source: &mut Source, block_bytes: u32, cases: &[Case]) -> Result<Vec<Outcome>, Problem> {
    let objects = source.format().tells_objects();
    let block_bytes = u64::from(block_bytes.max(1));
    let mut caches = cases
        .iter()
        .map(|case| Simulator::new(&case.policy, case.blocks).map_err(|what| Problem::new(&case.policy, what, "")))
        .collect::<Result<Vec<_>, _>>()?;
    let mut outcomes: Vec<Outcome> = cases
        .iter()
        .map(|case| Outcome { case: case.clone(), reads: 0, read_misses: 0, writes: 0, write_misses: 0 })
        .collect();
    let mut numbers = Numbers::default();
    let mut chunk: Vec<(u32, Kind)> = Vec::with_capacity(CHUNK * 2);
    loop {
        let batch = source.next_batch()?;
        let over = batch.is_empty();
        for entry in batch {
            if entry.kind == Kind::Flush {
                continue;
            }
            let names = if objects {
                entry.offset..entry.offset.saturating_add(1)
            } else {
                blocks(entry.offset, u64::from(entry.bytes), block_bytes)
            };
            for name in names {
                let number = numbers.of(name).ok_or_else(too_many)?;
                chunk.push((number, entry.kind));
            }
            if chunk.len() >= CHUNK {
                run(&mut chunk, &mut caches, &mut outcomes);
            }
        }
        if over {
            run(&mut chunk, &mut caches, &mut outcomes);
            return Ok(outcomes);
        }
    }
}

fn too_many() -> Problem {
    Problem::new("simulate", "more than 2^32 - 1 different blocks", "a larger --block-size")
}

/// The caches take turns by chunk, so that the lists of each stay in the processor's caches.
fn run(chunk: &mut Vec<(u32, Kind)>, caches: &mut [Simulator], outcomes: &mut [Outcome]) {
    for (cache, outcome) in caches.iter_mut().zip(outcomes) {
        for (object, kind) in chunk.iter() {
            match kind {
                Kind::Trim => cache.remove(*object),
                Kind::Read => {
                    outcome.reads += 1;
                    outcome.read_misses += u64::from(!cache.request(*object));
                }
                _ => {
                    outcome.writes += 1;
                    outcome.write_misses += u64::from(!cache.request(*object));
                }
            }
        }
    }
    chunk.clear();
}
