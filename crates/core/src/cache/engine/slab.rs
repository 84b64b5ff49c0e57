//! Things with a number that is used again when they are gone.

use std::ops::{Index, IndexMut};

/// A slab: numbers are given lowest-used-last first, so they stay small and the order is deterministic.
#[derive(Debug)]
pub(super) struct Slab<T> {
    things: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { things: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts a thing in; its number.
    #[inline]
    pub(super) fn put(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.things[at as usize] = Some(thing);
                at
            }
            None => {
                self.things.push(Some(thing));
                self.things.len() as u32 - 1
            }
        }
    }

    /// Takes a thing out.
    ///
    /// # Panics
    /// If there is none of this number: whoever drives the engine ended something twice.
    #[inline]
    pub(super) fn take(&mut self, at: u32) -> T {
        let thing = self.things[at as usize].take().expect("what ends is under way");
        self.free.push(at);
        thing
    }

    /// Whether there is a thing of this number.
    #[inline]
    pub(super) fn holds(&self, at: u32) -> bool {
        self.things.get(at as usize).is_some_and(Option::is_some)
    }

    /// How many are in.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u32) -> &T {
        self.things[at as usize].as_ref().expect("it is under way")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.things[at as usize].as_mut().expect("it is under way")
    }
}
