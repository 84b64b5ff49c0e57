//! Write-back in the order of addresses: a hand goes round over the slow device, like an elevator, and what is dirty under
//! it goes back. So disks seek little, and neighbours go out as one.
//!
//! With `flush_period_s` the hand bounds how old a dirty block gets. The addresses are cut into stretches. What became
//! dirty in a stretch did so after the hand last entered it, or since when something in it is dirty if that is later: a
//! period after that moment, less a little for IOs under way, the hand must have left the stretch again. The rate is the
//! lowest constant one (blocks a second, from now on) with which it meets all these times. So a block that became dirty just
//! behind the hand is met in the next round, before its period is over, whatever lies where: the bound holds by
//! construction as long as the slow device takes the rate, and where it does not, write-back goes all out.
//!
//! What is dirty is found through the index: a bit says of each 64 blocks that some of them may be, which is a 512th of a byte
//! a block of the slow device. No order by age is kept meanwhile.

use super::run::Run;
use crate::cache::engine::contents::Contents;
use crate::cache::{Block, Slot};

/// How often rates are looked at.
pub(super) const STEP_NS: u64 = 10_000_000;
/// Blocks a bit stands for, as a power of two: some hundred look-ups in the index cost less than any IO.
const REGION_SHIFT: u32 = 6;
/// Stretches at most. Entering and leaving one are a stretch apart, so the hand goes round in about this much less than
/// the period.
const STRETCHES: u32 = 1024;
/// Of the period, the part that is left for IOs under way and their sync.
const MARGIN: u64 = 16;

/// Addresses of which one time is known.
#[derive(Clone, Copy, Default)]
struct Stretch {
    /// Dirty blocks.
    dirty: u32,
    /// Nothing in it became dirty earlier; of the hand's own stretch, nothing ahead of the hand.
    since_ns: u64,
}

/// The hand, and where it will find something.
#[derive(Default)]
pub(super) struct Sweep {
    /// A bit for each region: set when one of its blocks became dirty, cleared when a look found none. None: write-back goes by
    /// age.
    maybe: Vec<u64>,
    /// Blocks of the slow device that can be cached.
    blocks: u32,
    stretches: Vec<Stretch>,
    stretch_shift: u32,
    /// Blocks before this one are behind the hand, others ahead.
    hand: Block,
    /// The stretch it is in.
    here: usize,
    /// Dirty blocks ahead in the hand's stretch.
    ahead: u32,
    /// Nothing behind the hand in its stretch became dirty earlier.
    behind_ns: u64,
    /// A whole round found nothing that can be begun, and nothing changed since.
    nothing: bool,
}

impl Sweep {
    /// Keeps track of `blocks` blocks, of which none is dirty.
    pub(super) fn new(blocks: u32, now_ns: u64) -> Self {
        let stretch_shift = blocks.div_ceil(STRETCHES).next_power_of_two().trailing_zeros().max(REGION_SHIFT);
        let stretches = (u64::from(blocks) >> stretch_shift) as usize + 1;
        let regions = (blocks >> REGION_SHIFT) as usize + 1;
        Self {
            maybe: vec![0; regions.div_ceil(64)],
            stretches: vec![Stretch { dirty: 0, since_ns: now_ns }; stretches],
            blocks,
            stretch_shift,
            behind_ns: now_ns,
            ..Self::default()
        }
    }

    /// Whether write-back goes by address.
    #[inline]
    pub(super) fn on(&self) -> bool {
        !self.maybe.is_empty()
    }

    /// Something that could not be begun perhaps can now.
    #[inline]
    pub(super) fn look_again(&mut self) {
        self.nothing = false;
    }

    /// Blocks of the slow device that can be cached.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    fn at(&self, block: Block) -> usize {
        (block.0 >> self.stretch_shift) as usize
    }

    /// A block became dirty.
    pub(super) fn became_dirty(&mut self, block: Block, now_ns: u64) {
        let region = block.0 >> REGION_SHIFT;
        self.maybe[(region / 64) as usize] |= 1 << (region % 64);
        self.nothing = false;
        let (at, here) = (self.at(block), self.here);
        let stretch = &mut self.stretches[at];
        stretch.dirty += 1;
        if at == here && block < self.hand {
            if stretch.dirty - self.ahead == 1 {
                self.behind_ns = self.behind_ns.max(now_ns);
            }
            return;
        }
        self.ahead += u32::from(at == here);
        let first = if at == here { self.ahead == 1 } else { stretch.dirty == 1 };
        if first {
            stretch.since_ns = stretch.since_ns.max(now_ns);
        }
    }

    /// A block is not dirty any more.
    pub(super) fn became_clean(&mut self, block: Block) {
        let at = self.at(block);
        self.stretches[at].dirty -= 1;
        if at == self.here && block >= self.hand {
            self.ahead -= 1;
        }
    }

    /// The hand leaves its stretch, of which nothing is ahead any more, and enters the next one.
    fn enter_next(&mut self, now_ns: u64) {
        self.stretches[self.here].since_ns = self.behind_ns;
        self.here = if self.here + 1 == self.stretches.len() { 0 } else { self.here + 1 };
        self.behind_ns = now_ns;
        self.ahead = self.stretches[self.here].dirty;
    }

    /// The hand passes a dirty block; there is no other one before it.
    fn pass(&mut self, block: Block, now_ns: u64) {
        while self.here < self.at(block) {
            self.enter_next(now_ns);
        }
        self.ahead -= 1;
        self.hand = block + 1;
    }

    /// The hand begins a new round; nothing dirty is ahead.
    fn begin_round(&mut self, now_ns: u64) {
        while self.here + 1 < self.stretches.len() {
            self.enter_next(now_ns);
        }
        self.enter_next(now_ns);
        self.hand = Block(0);
    }

    /// Blocks a second with which everything is met in time.
    pub(super) fn rate(&self, now_ns: u64, period_ns: u64) -> f64 {
        let limit_ns = period_ns - period_ns / MARGIN;
        let here = self.here;
        let (mut blocks, mut rate) = (0_u64, 0.0_f64);
        let mut meet = |dirty: u32, since_ns: u64| {
            if dirty > 0 {
                blocks += u64::from(dirty);
                let left_ns = (since_ns + limit_ns).saturating_sub(now_ns).max(STEP_NS);
                rate = rate.max(blocks as f64 * 1e9 / left_ns as f64);
            }
        };
        meet(self.ahead, self.stretches[here].since_ns);
        for stretch in self.stretches[here + 1..].iter().chain(&self.stretches[..here]) {
            meet(stretch.dirty, stretch.since_ns);
        }
        meet(self.stretches[here].dirty - self.ahead, self.behind_ns);
        rate
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.maybe.capacity() * size_of::<u64>() + self.stretches.capacity() * size_of::<Stretch>()
    }

    /// The first dirty block of a range.
    pub(super) fn first_dirty(&mut self, from: Block, to: Block, contents: &Contents) -> Option<Block> {
        let (mut block, to) = (from.0, to.0);
        while block < to {
            let region = block >> REGION_SHIFT;
            let word = self.maybe[(region / 64) as usize] >> (region % 64);
            if word == 0 {
                let next = (u64::from(region / 64) + 1) << (REGION_SHIFT + 6);
                block = next.min(u64::from(to)) as u32;
                continue;
            }
            let begin = (region + word.trailing_zeros()) << REGION_SHIFT;
            let first = block.max(begin);
            let end = (u64::from(begin) + (1 << REGION_SHIFT)).min(u64::from(self.blocks)) as u32;
            for block in (first..end.min(to)).map(Block) {
                let slot = contents.find(block);
                if slot != Slot::NONE && contents.slots().dirty(slot) {
                    return Some(block);
                }
            }
            if first == begin && end <= to {
                let region = begin >> REGION_SHIFT;
                self.maybe[(region / 64) as usize] &= !(1 << (region % 64));
            }
            block = end.max(first);
        }
        None
    }

    /// The run that the hand finds next. None: there is none, or its set is busy.
    pub(super) fn next(
        &mut self,
        contents: &Contents,
        is_busy: impl Fn(Block) -> bool,
        blocks_max: u32,
        now_ns: u64,
    ) -> Option<Run> {
        let mut rounds = 0;
        while !self.nothing {
            let Some(block) = self.first_dirty(self.hand, Block(self.blocks), contents) else {
                rounds += 1;
                // The second time, all addresses were looked at.
                self.nothing = rounds == 2;
                self.begin_round(now_ns);
                continue;
            };
            if is_busy(block) {
                return None;
            }
            let run = Run::around(block, contents, blocks_max);
            let end = run.as_ref().map_or(block + 1, Run::end);
            for block in block.run(end - block) {
                self.pass(block, now_ns);
            }
            if run.is_some() {
                return run;
            }
        }
        None
    }
}

#[cfg(test)]
impl Sweep {
    /// What the hand counts is what there is.
    pub(super) fn check(&self, contents: &Contents) {
        if !self.on() {
            return;
        }
        let mut counts = vec![0; self.stretches.len()];
        let mut ahead = 0;
        for block in Block(0).run(self.blocks) {
            let slot = contents.find(block);
            if slot == Slot::NONE || !contents.slots().dirty(slot) {
                continue;
            }
            let region = block.0 >> REGION_SHIFT;
            assert!(self.maybe[(region / 64) as usize] >> (region % 64) & 1 == 1, "{block} cannot be found");
            counts[self.at(block)] += 1;
            ahead += u32::from(self.at(block) == self.here && block >= self.hand);
        }
        assert!(counts.iter().eq(self.stretches.iter().map(|stretch| &stretch.dirty)));
        assert_eq!(ahead, self.ahead);
    }
}
