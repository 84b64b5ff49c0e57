//! Devices that fail: some of one side's IOs, or all of them.

use flatwater_core::seed::Rng;
use rand::Rng as _;

/// IOs of one side fail now and then.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    side: usize,
    /// One of so many.
    one_of: u32,
    /// From this step on.
    from: u64,
    /// One of so many IOs of the pairing record fails too; 0: none does.
    pair: u32,
    /// An IO of the fast device failed: what it alone had may be lost, and writes may bypass it, where they can be torn
    /// and keep no order.
    fast_failed: bool,
}

impl Faults {
    /// Faults of any side.
    pub fn any(rng: &mut Rng) -> Self {
        let side = [0, 0, 1][rng.random_range(0..3)];
        let one_of = [1, 3, 10, 30][rng.random_range(0..4)];
        // A slow device that fails every write keeps the cache from ever being emptied.
        let one_of = if side == 1 { one_of.max(3) } else { one_of };
        let from = rng.random_range(0..300);
        // Only when the fast device fails is there any IO of the pairing record.
        let pair = if side == 0 { [0, 2, 4][rng.random_range(0..3)] } else { 0 };
        Self { side, one_of, from, pair, fast_failed: false }
    }

    /// One of how many IOs of a side fails; 0: none does.
    fn one_of(self, side: usize) -> u32 {
        if side == self.side {
            self.one_of
        } else if side == 2 {
            self.pair
        } else {
            0
        }
    }

    /// Whether an IO of a side that ends in this step fails.
    pub fn strike(&mut self, side: usize, step: u64, rng: &mut Rng) -> bool {
        let one_of = self.one_of(side);
        let fails = step >= self.from && one_of > 0 && rng.random_range(0..one_of) == 0;
        self.fast_failed |= fails && side == 0;
        fails
    }

    /// Whether an IO of the fast device failed.
    pub fn fast_failed(&self) -> bool {
        self.fast_failed
    }
}
