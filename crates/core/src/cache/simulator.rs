//! A cache without data: which requests of a trace would hit. It runs the very policies that caches run.

use super::policy::{Policies, Policy};
use super::{Block, Slot};
use crate::slab::Slab;

/// One cache of one size.
pub struct Simulator {
    policy: Policies,
    /// The slot of each object, by its number.
    slots: Vec<Slot>,
    /// The object in each slot.
    objects: Vec<Block>,
    used: Slab<(), Slot>,
}

impl Simulator {
    /// An empty cache of so many objects.
    ///
    /// # Errors
    /// The policy does not exist, or there is no room for one object.
    pub fn new(policy: &str, size: u32) -> Result<Self, String> {
        if size == 0 {
            return Err("a cache holds at least one block".into());
        }
        let policy = Policies::new(policy, size)?;
        Ok(Self { policy, slots: Vec::new(), objects: vec![Block::NONE; size as usize], used: Slab::new() })
    }

    /// Asks for an object, which comes in if it was not there; whether it was. Objects are numbered from 0 without gaps
    /// (`Numbers`): memory goes with the largest.
    #[inline]
    pub fn request(&mut self, object: u32) -> bool {
        let at = object as usize;
        if at >= self.slots.len() {
            self.slots.resize((at + 1).max(self.slots.len() * 2), Slot::NONE);
        }
        let slot = self.slots[at];
        if slot != Slot::NONE {
            self.policy.hit(slot, Block(object));
            return true;
        }
        if let Some(slot) = self.take_slot(object) {
            self.objects[slot.index()] = Block(object);
            self.slots[at] = slot;
            self.policy.insert(slot, Block(object));
        }
        false
    }

    fn take_slot(&mut self, object: u32) -> Option<Slot> {
        if self.used.len() == self.objects.len() || !self.policy.room(Block(object)) {
            let slot = self.policy.victim(Block(object), &self.objects)?;
            self.slots[self.objects[slot.index()].0 as usize] = Slot::NONE;
            return Some(slot);
        }
        Some(self.used.insert(()))
    }

    /// Takes an object out (a trim).
    pub fn remove(&mut self, object: u32) {
        let Some(slot) = self.slots.get_mut(object as usize) else { return };
        let slot = std::mem::replace(slot, Slot::NONE);
        if slot != Slot::NONE {
            self.policy.remove(slot, Block(object));
            self.objects[slot.index()] = Block::NONE;
            self.used.remove(slot);
        }
    }
}

/// No number.
const NONE: u32 = u32::MAX;

/// Numbers objects in the order in which they first come: 64-bit names become small numbers, once for all caches.
///
/// An open table of 12 bytes an entry, at most two thirds full.
#[derive(Default)]
pub struct Numbers {
    names: Vec<u64>,
    numbers: Vec<u32>,
    len: u32,
}

impl Numbers {
    /// The number of a name. None: there are 2^32 - 1 already.
    #[inline]
    pub fn of(&mut self, name: u64) -> Option<u32> {
        if self.len as usize * 3 >= self.names.len() * 2 {
            self.grow();
        }
        let mask = self.names.len() - 1;
        let mut at = crate::seed::splitmix(name) as usize & mask;
        loop {
            match self.numbers[at] {
                NONE if self.len == NONE => return None,
                NONE => {
                    self.names[at] = name;
                    self.numbers[at] = self.len;
                    self.len += 1;
                    return Some(self.len - 1);
                }
                number if self.names[at] == name => return Some(number),
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let size = (self.names.len() * 2).max(1024);
        let names = std::mem::replace(&mut self.names, vec![0; size]);
        let numbers = std::mem::replace(&mut self.numbers, vec![NONE; size]);
        for (name, number) in names.into_iter().zip(numbers).filter(|(_, number)| *number != NONE) {
            let mut at = crate::seed::splitmix(name) as usize & (size - 1);
            while self.numbers[at] != NONE {
                at = (at + 1) & (size - 1);
            }
            self.names[at] = name;
            self.numbers[at] = number;
        }
    }

    /// Names seen.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether none was seen.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;
    use rand::Rng as _;

    #[test]
    fn numbers_are_dense_and_stay() {
        let mut numbers = Numbers::default();
        let mut rng = stream(5, "numbers", 0);
        let names: Vec<u64> = (0..10_000).map(|_| rng.random()).collect();
        for (expected, name) in names.iter().enumerate() {
            assert_eq!(numbers.of(*name), Some(expected as u32));
        }
        for (expected, name) in names.iter().enumerate() {
            assert_eq!(numbers.of(*name), Some(expected as u32));
        }
        assert_eq!(numbers.len(), 10_000);
    }

    #[test]
    fn a_cache_of_everything_misses_each_once() {
        for (name, _) in super::super::policy::NAMES {
            let mut cache = Simulator::new(name, 600).unwrap();
            let misses = (0..3000u32).filter(|n| !cache.request(n % 500)).count();
            assert_eq!(misses, 500, "{name}");
        }
        assert!(Simulator::new("lru", 0).is_err());
        assert!(Simulator::new("clock", 5).is_err_and(|error| error.contains("s3-fifo")));
    }

    #[test]
    fn what_is_taken_out_misses_again() {
        for (name, _) in super::super::policy::NAMES {
            let mut cache = Simulator::new(name, 4).unwrap();
            (0..4).for_each(|object| assert!(!cache.request(object), "{name}"));
            cache.remove(2);
            cache.remove(77);
            assert!(!cache.request(2), "{name}");
            assert!(cache.request(3) && cache.request(0), "{name}");
        }
    }
}
