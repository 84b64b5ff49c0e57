//! Things under way, each with a key. A key is used again when its thing has ended, so that nothing is allocated for each
//! thing once the slab has grown to the most that were under way at once.
//!
//! A slab of `()` is a list of free keys: for things that are kept elsewhere.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The type of a slab's keys. `slab_key!` makes one: a type of its own for each kind of thing, so that the key of one kind
/// cannot be used for another kind.
pub trait Key: Copy {
    /// The key of this number.
    fn from_number(number: u32) -> Self;

    /// Its number: its place in the slab.
    fn number(self) -> u32;
}

impl Key for u32 {
    #[inline]
    fn from_number(number: u32) -> Self {
        number
    }

    #[inline]
    fn number(self) -> u32 {
        self
    }
}

/// Declares the type of a slab's keys: `slab_key!(/// A fill under way. pub(super) FillId);`.
#[macro_export]
macro_rules! slab_key {
    ($(#[$attribute:meta])* $visibility:vis $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(u32);

        impl $crate::slab::Key for $name {
            #[inline]
            fn from_number(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    };
}

/// A slab. The key that was freed last is used again first, so keys stay small, and the same calls give the same keys.
#[derive(Debug)]
pub struct Slab<T, K = u32> {
    things: Vec<Option<T>>,
    free: Vec<u32>,
    key: PhantomData<K>,
}

impl<T, K> Slab<T, K> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self { things: Vec::new(), free: Vec::new(), key: PhantomData }
    }
}

impl<T, K> Default for Slab<T, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, K: Key> Slab<T, K> {
    /// Puts a thing in, and returns its key.
    #[inline]
    pub fn insert(&mut self, thing: T) -> K {
        let place = match self.free.pop() {
            Some(place) => {
                self.things[place as usize] = Some(thing);
                place
            }
            None => {
                self.things.push(Some(thing));
                self.things.len() as u32 - 1
            }
        };
        K::from_number(place)
    }

    /// Takes a thing out. Its key is free from now on.
    ///
    /// # Panics
    /// If no thing has this key: the caller ended something twice.
    #[inline]
    pub fn remove(&mut self, key: K) -> T {
        let thing = self.things[key.number() as usize].take().expect("only what is under way can end");
        self.free.push(key.number());
        thing
    }

    /// Whether a thing has this key.
    #[inline]
    pub fn contains(&self, key: K) -> bool {
        self.things.get(key.number() as usize).is_some_and(Option::is_some)
    }

    /// How many things are in.
    #[inline]
    pub fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }

    /// Whether nothing is in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All things that are in, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().flatten()
    }
}

impl<T, K: Key> Index<K> for Slab<T, K> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        self.things[key.number() as usize].as_ref().expect("the thing is under way")
    }
}

impl<T, K: Key> IndexMut<K> for Slab<T, K> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.things[key.number() as usize].as_mut().expect("the thing is under way")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    slab_key!(Number);

    #[test]
    fn the_key_that_was_freed_last_is_used_again_first() {
        let mut slab: Slab<char, Number> = Slab::new();
        let [a, b, c] = ['a', 'b', 'c'].map(|thing| slab.insert(thing));
        assert_eq!((slab.remove(a), slab.remove(c)), ('a', 'c'));
        assert_eq!((slab.len(), slab.contains(a), slab.contains(b)), (1, false, true));
        assert_eq!([slab.insert('d'), slab.insert('e'), slab.insert('f')], [c, a, Number(3)]);
        slab[b] = 'x';
        assert!(slab.iter().eq(&['e', 'x', 'd', 'f']));
        assert_eq!((slab[b], slab[c], slab[a], slab.len()), ('x', 'd', 'e', 4));
    }

    #[test]
    #[should_panic(expected = "only what is under way can end")]
    fn nothing_ends_twice() {
        let mut slab: Slab<(), u32> = Slab::new();
        let key = slab.insert(());
        slab.remove(key);
        slab.remove(key);
    }
}
