//! Each policy is compared with a plain model of it, and all policies share some properties.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::cache::simulator::Simulator;

/// Misses of a plain LRU or FIFO.
fn plain(uses_count: bool, size: usize, requests: &[u32]) -> Vec<bool> {
    let mut queue: VecDeque<u32> = VecDeque::new();
    let step = |object: &u32| match queue.iter().position(|other| other == object) {
        Some(at) => {
            if uses_count {
                queue.remove(at);
                queue.push_back(*object);
            }
            true
        }
        None => {
            if queue.len() == size {
                queue.pop_front();
            }
            queue.push_back(*object);
            false
        }
    };
    requests.iter().map(step).collect()
}

/// S3-FIFO as its paper describes it, with plain queues.
#[derive(Default)]
struct PlainS3 {
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    ghost: VecDeque<u32>,
    uses: BTreeMap<u32, u32>,
}

impl PlainS3 {
    fn request(&mut self, size: usize, object: u32) -> bool {
        if let Some(uses) = self.uses.get_mut(&object) {
            *uses += 1;
            return true;
        }
        let at = self.ghost.iter().position(|other| *other == object);
        let known = at.and_then(|at| self.ghost.remove(at)).is_some();
        while self.uses.len() == size {
            self.evict(size);
        }
        if known {
            self.main.push_back(object)
        } else {
            self.small.push_back(object)
        }
        self.uses.insert(object, 0);
        false
    }

    fn evict(&mut self, size: usize) {
        let main_max = size - size / 10;
        if self.main.len() > main_max || self.small.is_empty() {
            while let Some(object) = self.main.pop_front() {
                let uses = self.uses[&object].min(3);
                if uses == 0 {
                    self.uses.remove(&object);
                    return;
                }
                self.uses.insert(object, uses - 1);
                self.main.push_back(object);
            }
        }
        while let Some(object) = self.small.pop_front() {
            if self.uses[&object] < 2 {
                self.uses.remove(&object);
                self.ghost.push_back(object);
                if self.ghost.len() > size * 9 / 10 {
                    self.ghost.pop_front();
                }
                return;
            }
            self.uses.insert(object, 0);
            self.main.push_back(object);
        }
    }
}

fn requests() -> impl Strategy<Value = Vec<u32>> {
    // Some popular, some rare, and stretches of a scan.
    let one = prop_oneof![3 => (0u32..12).prop_map(|n| n * n % 40), 1 => 0u32..300];
    prop::collection::vec(
        prop_oneof![12 => one.prop_map(|n| n..n + 1), 1 => (300u32..500).prop_map(|n| n..n + 20)],
        1..500,
    )
    .prop_map(|ranges| ranges.into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn lru_and_fifo_are_what_they_say(size in 1u32..40, requests in requests()) {
        for (name, uses_count) in [("lru", true), ("fifo", false)] {
            let mut cache = Simulator::new(name, size).unwrap();
            let hits: Vec<bool> = requests.iter().map(|object| cache.request(*object)).collect();
            prop_assert_eq!(hits, plain(uses_count, size as usize, &requests), "{}", name);
        }
    }

    #[test]
    fn s3_fifo_is_what_its_paper_says(size in 10u32..60, requests in requests()) {
        let mut cache = Simulator::new("s3-fifo", size).unwrap();
        let mut plain = PlainS3::default();
        for object in requests {
            prop_assert_eq!(cache.request(object), plain.request(size as usize, object), "{}", object);
        }
    }

    /// Random histories of slots: a held slot is never a victim, each other slot is one once, and no slot is lost.
    #[test]
    fn holding_is_respected(
        which in 0usize..NAMES.len(), slots in 1u32..1500, steps in prop::collection::vec((0u8..8, any::<u32>()), 1..800),
    ) {
        let mut policy = Policies::new(NAMES[which].0, slots).unwrap();
        let mut blocks = vec![Block::NONE; slots as usize];
        let mut free: Vec<Slot> = Slot::first(slots).rev().collect();
        let (mut used, mut held) = (BTreeSet::new(), BTreeSet::new());
        let pick = |set: &BTreeSet<Slot>, n: u32| set.iter().nth(n as usize % set.len().max(1)).copied();
        let mut next = 0u32;
        for (what, n) in steps {
            match what {
                0..=2 => {
                    next += 1 + n % 700;
                    if (!policy.room(Block(next)) || free.is_empty()) && let Some(slot) = policy.victim(Block(next), &blocks) {
                        prop_assert!(used.remove(&slot) && !held.contains(&slot));
                        free.push(slot);
                    }
                    if policy.room(Block(next)) && let Some(slot) = free.pop() {
                        blocks[slot.index()] = Block(next);
                        policy.insert(slot, Block(next));
                        used.insert(slot);
                    }
                }
                3 => if let Some(slot) = pick(&used, n) { policy.hit(slot, blocks[slot.index()]); },
                4 => if let Some(slot) = pick(&used, n) && held.insert(slot) { policy.hold(slot); },
                5 => if let Some(slot) = pick(&held, n) {
                    held.remove(&slot);
                    policy.release(slot, blocks[slot.index()]);
                },
                6 => if let Some(slot) = pick(&used, n) && !held.contains(&slot) {
                    used.remove(&slot);
                    policy.remove(slot, blocks[slot.index()]);
                    free.push(slot);
                },
                _ => if let (Some(from), Some(to)) = (pick(&used, n), free.pop()) {
                    blocks[to.index()] = blocks[from.index()];
                    policy.moved(from, to, blocks[from.index()]);
                    used.remove(&from);
                    used.insert(to);
                    if held.remove(&from) { held.insert(to); }
                    free.insert(0, from);
                }
            }
        }
        // Each slot that is not held is evicted once. The others are evicted after their release.
        for everything in [false, true] {
            while let Some(slot) = policy.victim(Block::NONE, &blocks) {
                prop_assert!(used.remove(&slot) && !held.contains(&slot), "{} {}", NAMES[which].0, slot);
            }
            prop_assert_eq!(&used, &held);
            if !everything {
                for slot in std::mem::take(&mut held) { policy.release(slot, blocks[slot.index()]); }
            }
        }
    }

    #[test]
    fn a_change_of_size_loses_nothing(which in 0usize..NAMES.len(), slots in 600u32..3000, more in 1u32..3000, n in 1u32..600) {
        let mut policy = Policies::new(NAMES[which].0, slots).unwrap();
        let mut blocks: Vec<Block> = (0..slots).map(|slot| Block(slot * 7)).collect();
        let n = n.min(more);
        for slot in 0..n {
            policy.insert(Slot(slot), Block(slot * 7));
        }
        for slot in (0..n).step_by(3) { policy.hold(Slot(slot)); }
        blocks.resize(more as usize, Block::NONE);
        policy.resize(more, &blocks);
        let mut left = BTreeSet::new();
        while let Some(slot) = policy.victim(Block::NONE, &blocks) { prop_assert!(left.insert(slot)); }
        prop_assert_eq!(left.len() as u32, n - n.div_ceil(3));
    }
}

#[test]
fn a_released_slot_stands_where_it_stood() {
    for name in ["lru", "fifo", "s3-fifo"] {
        let mut policy = Policies::new(name, 8).unwrap();
        let blocks: Vec<Block> = (0..8).map(Block).collect();
        (0..4).for_each(|slot| policy.insert(Slot(slot), Block(slot)));
        policy.hold(Slot(0));
        policy.hold(Slot(1));
        policy.release(Slot(1), Block(1));
        assert_eq!(policy.victim(Block::NONE, &blocks), Some(Slot(1)), "{name}: 0 is held");
        policy.release(Slot(0), Block(0));
        assert_eq!(policy.victim(Block::NONE, &blocks), Some(Slot(0)), "{name}: its turn had come");
        assert_eq!(policy.victim(Block::NONE, &blocks), Some(Slot(2)), "{name}");
    }
}

#[test]
fn a_use_while_held_counts() {
    let mut policy = Policies::new("lru", 8).unwrap();
    let blocks: Vec<Block> = (0..8).map(Block).collect();
    (0..4).for_each(|slot| policy.insert(Slot(slot), Block(slot)));
    policy.hold(Slot(0));
    assert_eq!(policy.victim(Block::NONE, &blocks), Some(Slot(1)));
    policy.hit(Slot(0), Block(0));
    policy.release(Slot(0), Block(0));
    assert_eq!([2, 3, 0].map(|slot| Some(Slot(slot))), [(); 3].map(|()| policy.victim(Block::NONE, &blocks)));
}

#[test]
fn flashcache_keeps_a_set_for_its_blocks() {
    // Two sets of 512: blocks 0..512 and 1024..1536 share one.
    let mut policy = Policies::new("flashcache", 1024).unwrap();
    let blocks: Vec<Block> = (0..512).chain(1024..1536).map(Block).collect();
    (0..512).for_each(|slot| policy.insert(Slot(slot), Block(slot)));
    assert!(!policy.room(Block(1024)) && policy.room(Block(512)));
    assert_eq!(policy.victim(Block(1024), &blocks), Some(Slot(0)));
    assert!(policy.room(Block(1024)));
}

#[test]
fn flashcache_lru_keeps_what_is_hot() {
    let mut policy = Policies::new("flashcache-lru", 512).unwrap();
    let blocks: Vec<Block> = (0..512).map(Block).collect();
    (0..512).for_each(|slot| policy.insert(Slot(slot), Block(slot)));
    for _ in 0..2 {
        (0..384).for_each(|slot| policy.hit(Slot(slot), Block(slot)));
    }
    let warm: Vec<_> = (0..128).map(|_| policy.victim(Block::NONE, &blocks).unwrap()).collect();
    assert_eq!(warm, (384..512).map(Slot).collect::<Vec<_>>());
}

#[test]
fn a_slot_costs_few_bytes() {
    for (name, _) in NAMES {
        let slots = 1 << 20;
        let policy = Policies::new(name, slots).unwrap();
        let most = if name == "s3-fifo" { 13.4 } else { 9.1 };
        assert!(policy.bytes() as f64 <= most * f64::from(slots), "{name}: {}", policy.bytes());
    }
}
