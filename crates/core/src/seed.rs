//! Random numbers: one seed an experiment, one stream a user of randomness.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator that every random choice of a run comes from.
pub type Rng = Xoshiro256PlusPlus;

/// A stream of its own for one user (`purpose`, e.g. a lane's addresses) of the experiment's seed.
///
/// Streams of different purposes or indexes share nothing, so that adding a thread changes no other one's choices.
pub fn stream(seed: u64, purpose: &str, index: u64) -> Rng {
    let mut state = splitmix(seed);
    for byte in purpose.bytes() {
        state = splitmix(state ^ u64::from(byte));
    }
    Rng::seed_from_u64(splitmix(state ^ index))
}

/// One step of SplitMix64 (Steele, Lea and Flood 2014): spreads any bit of its input over all of them.
pub fn splitmix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::RngCore;

    #[test]
    fn streams_repeat_and_differ() {
        let first = stream(7, "addresses", 0).next_u64();
        assert_eq!(first, stream(7, "addresses", 0).next_u64());
        assert_ne!(first, stream(7, "addresses", 1).next_u64());
        assert_ne!(first, stream(7, "mix", 0).next_u64());
        assert_ne!(first, stream(8, "addresses", 0).next_u64());
    }
}
