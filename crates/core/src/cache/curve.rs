//! The miss-ratio curve: which share of the requests would miss in an LRU cache of each size, without running one.
//!
//! SHARDS with a sample of fixed size (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015): only blocks whose hash is
//! below a threshold are followed, and when they become too many, the threshold falls. The reuse distances of those, divided
//! by the sampled share, stand for all. With 8192 blocks the paper finds errors of the miss ratio of about 0.01; memory
//! stays the same however many blocks there are. Requests that the sample got too many or too few of are put right in the
//! first bucket, as its SHARDS-adj does.

use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use crate::seed::splitmix;

/// Blocks followed, as in the paper's evaluation (s_max = 8K).
pub const SAMPLE: u32 = 8192;
/// Buckets of distances in each octave: a step of 4.4 %.
const PER_OCTAVE: u32 = 16;
/// Distances up to 2^48 blocks.
const BUCKETS: usize = 48 * PER_OCTAVE as usize;
/// The hash that is followed however low the threshold.
const ALL: f64 = 18_446_744_073_709_551_616.0;

/// Keys are hashes already.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are u64");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Reuse distances of a sample of the blocks.
pub struct Curve {
    sample: usize,
    /// Hashes below it are followed.
    threshold: u64,
    /// When each block that is followed was used last.
    last: HashMap<u64, u32, BuildHasherDefault<Same>>,
    largest: BinaryHeap<u64>,
    /// One for each moment at which a block was used last: a Fenwick tree.
    tree: Vec<u32>,
    now: u32,
    /// Weights by distance, and of first uses.
    distances: Vec<f64>,
    first: f64,
    sampled: f64,
    requests: u64,
}

impl Default for Curve {
    fn default() -> Self {
        Self::new(SAMPLE)
    }
}

impl Curve {
    /// A curve from at most `sample` blocks, at least 16.
    pub fn new(sample: u32) -> Self {
        let sample = sample.max(16) as usize;
        Self {
            sample,
            threshold: u64::MAX,
            last: HashMap::default(),
            largest: BinaryHeap::new(),
            tree: vec![0; sample * 4 + 1],
            now: 0,
            distances: vec![0.0; BUCKETS],
            first: 0.0,
            sampled: 0.0,
            requests: 0,
        }
    }

    /// A block was asked for.
    #[inline]
    pub fn touch(&mut self, block: u64) {
        self.requests += 1;
        let hash = splitmix(block);
        if hash < self.threshold {
            self.follow(hash);
        }
    }

    /// The share of blocks that is followed.
    fn rate(&self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { self.threshold as f64 / ALL }
    }

    fn follow(&mut self, hash: u64) {
        if self.now as usize + 1 >= self.tree.len() {
            self.close_up();
        }
        self.sampled += 1.0;
        let now = self.now;
        self.now += 1;
        match self.last.insert(hash, now) {
            Some(before) => {
                // Blocks used since, and the block itself: the size of cache in which it would have been hit.
                let distance = self.last.len() as u32 - self.used_up_to(before) + 1;
                self.add(before, u32::MAX);
                let size = f64::from(distance) / self.rate();
                self.distances[bucket(size)] += 1.0;
            }
            None => {
                self.first += 1.0;
                self.largest.push(hash);
            }
        }
        self.add(now, 1);
        if self.last.len() > self.sample {
            self.lower();
        }
    }

    /// Follows fewer blocks: lets the one with the largest hash go.
    fn lower(&mut self) {
        let before = self.rate();
        let hash = self.largest.pop().expect("as many as are followed");
        self.threshold = hash;
        if let Some(at) = self.last.remove(&hash) {
            self.add(at, u32::MAX);
        }
        let scale = self.rate() / before;
        for weight in &mut self.distances {
            *weight *= scale;
        }
        self.first *= scale;
        self.sampled *= scale;
    }

    /// Adds (u32::MAX: takes away) one at a moment.
    fn add(&mut self, at: u32, one: u32) {
        let mut at = at as usize + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(one);
            at += at & at.wrapping_neg();
        }
    }

    /// Blocks whose last use was at this moment or before.
    fn used_up_to(&self, at: u32) -> u32 {
        let (mut at, mut sum) = (at as usize + 1, 0u32);
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Renumbers the moments when they are used up.
    fn close_up(&mut self) {
        let mut uses: Vec<(u32, u64)> = self.last.iter().map(|(hash, at)| (*at, *hash)).collect();
        uses.sort_unstable();
        self.tree.fill(0);
        self.now = 0;
        for (_, hash) in uses {
            self.last.insert(hash, self.now);
            self.add(self.now, 1);
            self.now += 1;
        }
    }

    /// Requests seen.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Different blocks seen, estimated once they are more than the sample.
    pub fn footprint(&self) -> u64 {
        (self.last.len() as f64 / self.rate()) as u64
    }

    /// The share of requests that an LRU cache of so many blocks would miss; 1 when there were none.
    pub fn miss_ratio(&self, blocks: u64) -> f64 {
        self.miss_ratios(&[blocks])[0]
    }

    /// The same for several sizes.
    pub fn miss_ratios(&self, sizes: &[u64]) -> Vec<f64> {
        let expected = self.requests as f64 * self.rate();
        if expected <= 0.0 {
            return vec![1.0; sizes.len()];
        }
        let adjustment = expected - self.sampled;
        let footprint = self.footprint();
        let ratio = |blocks: u64| {
            // A bucket holds what is above its lower end: part of the one in which the size lies is hit.
            let (at, share) = if blocks < footprint { place(blocks as f64) } else { (BUCKETS - 1, 1.0) };
            let hits: f64 = self.distances[..at].iter().sum::<f64>() + self.distances[at] * share;
            let hits = if blocks == 0 { 0.0 } else { hits + adjustment };
            (1.0 - hits / expected).clamp(0.0, 1.0)
        };
        sizes.iter().map(|blocks| ratio(*blocks)).collect()
    }

    /// The curve: sizes in blocks, doubling in four steps up to the footprint, and their miss ratios.
    pub fn points(&self) -> Vec<(u64, f64)> {
        let footprint = self.footprint().max(1);
        let mut sizes: Vec<u64> = (0..=4 * 48u32)
            .map(|step| (f64::from(1u32 << (step % 4)).sqrt().sqrt() * (1u64 << (step / 4)) as f64).round() as u64)
            .take_while(|size| *size < footprint)
            .collect();
        sizes.push(footprint);
        sizes.dedup();
        let ratios = self.miss_ratios(&sizes);
        sizes.into_iter().zip(ratios).collect()
    }

    /// Bytes of memory, at its largest.
    pub fn bytes(&self) -> usize {
        self.sample * (2 * 16 + 8) + self.tree.len() * 4 + BUCKETS * 8
    }
}

/// The bucket of a distance, and how far into it: octave by exponent, sixteenths by mantissa.
fn place(distance: f64) -> (usize, f64) {
    let distance = distance.max(1.0);
    let octave = (distance.to_bits() >> 52) as i64 - 1023;
    let into = (distance / (1u64 << octave.min(62)) as f64 - 1.0) * f64::from(PER_OCTAVE);
    let bucket = octave as usize * PER_OCTAVE as usize + into as usize;
    if bucket >= BUCKETS { (BUCKETS - 1, 1.0) } else { (bucket, into - into.floor()) }
}

/// A distance of d is a hit in a cache of d blocks: it must lie below the size's place.
fn bucket(distance: f64) -> usize {
    place(distance * (1.0 - f64::EPSILON)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::simulator::Simulator;
    use crate::seed::stream;
    use crate::workload::address::{Addresses, Distribution};

    fn differences(n: u64, requests: u64, sample: u32) -> Vec<(u64, f64, f64)> {
        let addresses = Addresses::new(Distribution::Zipf { theta: 1.0 }, n).unwrap();
        let sizes = [n / 50, n / 10, n / 3];
        let mut curve = Curve::new(sample);
        let mut caches: Vec<_> = sizes.iter().map(|size| Simulator::new("lru", *size as u32).unwrap()).collect();
        let mut rng = stream(3, "curve", 0);
        let mut misses = [0u64; 3];
        for _ in 0..requests {
            let block = addresses.next(&mut rng);
            curve.touch(block);
            for (cache, misses) in caches.iter_mut().zip(&mut misses) {
                *misses += u64::from(!cache.request(block as u32));
            }
        }
        let exact = misses.map(|misses| misses as f64 / requests as f64);
        sizes
            .iter()
            .zip(curve.miss_ratios(&sizes))
            .zip(exact)
            .map(|((size, ratio), exact)| (*size, ratio, exact))
            .collect()
    }

    #[test]
    fn a_small_footprint_is_followed_in_full() {
        for (size, ratio, exact) in differences(5_000, 60_000, 8192) {
            assert!((ratio - exact).abs() < 0.004, "{size}: {ratio} for {exact}");
        }
    }

    #[test]
    fn a_sample_is_near() {
        for (size, ratio, exact) in differences(200_000, 400_000, 8192) {
            assert!((ratio - exact).abs() < 0.02, "{size}: {ratio} for {exact}");
        }
    }

    #[test]
    fn a_loop_misses_until_it_fits() {
        let mut curve = Curve::default();
        for _ in 0..100 {
            (0..1000).for_each(|block| curve.touch(block));
        }
        assert_eq!(curve.footprint(), 1000);
        assert!(curve.miss_ratio(900) > 0.99, "{}", curve.miss_ratio(900));
        assert!(curve.miss_ratio(1000) < 0.02, "{}", curve.miss_ratio(1000));
        let points = curve.points();
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1), "{points:?}");
        assert_eq!(points.last().unwrap().0, 1000);
    }

    #[test]
    fn nothing_is_all_missed() {
        assert_eq!(Curve::default().miss_ratio(10), 1.0);
        assert_eq!(Curve::default().points(), [(1, 1.0)]);
    }
}
