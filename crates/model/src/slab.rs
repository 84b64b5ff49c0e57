//! Things under way, by a number that is used again when they end: so that a command allocates nothing.

/// A slab.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Keeps a thing; its number.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.places[number as usize] = Some(thing);
            return number;
        }
        self.places.push(Some(thing));
        self.places.len() as u32 - 1
    }

    /// The thing of a number.
    #[inline]
    pub fn get(&mut self, number: u32) -> &mut T {
        self.places[number as usize].as_mut().expect("it is under way")
    }

    /// Takes the thing of a number out.
    #[inline]
    pub fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.places[number as usize].take().expect("it is under way")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let mut slab = Slab::new();
        let first = slab.insert(7);
        assert_eq!(slab.remove(first), 7);
        assert_eq!(slab.insert(8), first);
    }
}
