//! Pages of the journal and of checkpoints with anything in them: each change is an offset (3 bytes), whether the page is
//! sealed again (1), and a byte.

use std::sync::LazyLock;

use crate::Outcome;
use crate::cache::{Cache, PAGE};

/// The pages behind the superblocks and before the slots.
const PAGES: std::ops::Range<usize> = 32..102;

/// The same cache for every input.
pub(crate) static CACHE: LazyLock<Cache> = LazyLock::new(Cache::new);

/// Changes the cache as an input says, and tries it.
pub fn run(input: &[u8]) -> Outcome {
    let mut cache = CACHE.clone();
    for change in input.chunks_exact(5) {
        let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize % (PAGES.len() * PAGE);
        cache.fast.0[PAGES.start * PAGE + at] = change[4];
        if change[3] & 1 == 0 {
            cache.seal_page(PAGES.start + at / PAGE);
        }
    }
    cache.try_all()
}
