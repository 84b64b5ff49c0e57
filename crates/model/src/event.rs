//! The event queue of virtual time.

/// Events in the order of their times. Of events at the same time, the one that was pushed first comes first, on every
/// machine.
///
/// It is a heap with four children a node: half as deep as a binary heap, and the children of a node share a cache line or
/// two.
#[derive(Debug, Default)]
pub struct EventQueue<T> {
    heap: Vec<Event<T>>,
    pushed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event<T> {
    at_ns: u64,
    order: u64,
    what: T,
}

impl<T> Event<T> {
    fn key(&self) -> (u64, u64) {
        (self.at_ns, self.order)
    }
}

const CHILDREN: usize = 4;

impl<T: Copy> EventQueue<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { heap: Vec::new(), pushed: 0 }
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// When the next event is.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.first().map(|event| event.at_ns)
    }

    /// Adds an event at `at_ns`.
    #[inline]
    pub fn push(&mut self, at_ns: u64, what: T) {
        let mut place = self.heap.len();
        let event = Event { at_ns, order: self.pushed, what };
        self.pushed += 1;
        self.heap.push(event);
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent].key() <= event.key() {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = event;
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, T)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some((first.at_ns, first.what))
    }

    /// Takes the next event, if it is not after `until_ns`.
    #[inline]
    pub fn pop_until(&mut self, until_ns: u64) -> Option<(u64, T)> {
        if self.next_ns()? > until_ns { None } else { self.pop() }
    }

    fn sink(&mut self, event: Event<T>) {
        let mut place = 0;
        loop {
            let first_child = place * CHILDREN + 1;
            let end = (first_child + CHILDREN).min(self.heap.len());
            let Some(least) = (first_child..end).min_by_key(|child| self.heap[*child].key()) else { break };
            if event.key() <= self.heap[least].key() {
                break;
            }
            self.heap[place] = self.heap[least];
            place = least;
        }
        self.heap[place] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn happens_in_the_order_of_time_and_then_of_pushing(times in prop::collection::vec(0u64..20, 0..200)) {
            let mut queue = EventQueue::new();
            for (number, at_ns) in times.iter().enumerate() {
                queue.push(*at_ns, number);
            }
            let mut expected: Vec<_> = times.iter().copied().zip(0..).collect();
            expected.sort();
            let happened: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(happened, expected);
        }

        #[test]
        fn pushing_and_popping_may_alternate(steps in prop::collection::vec((0u64..50, any::<bool>()), 0..300)) {
            let (mut queue, mut plain, mut number) = (EventQueue::new(), Vec::new(), 0u64);
            for (at_ns, pops) in steps {
                if pops {
                    plain.sort_unstable();
                    let expected = (!plain.is_empty()).then(|| plain.remove(0));
                    prop_assert_eq!(queue.pop(), expected);
                } else {
                    queue.push(at_ns, number);
                    plain.push((at_ns, number));
                    number += 1;
                }
            }
        }
    }

    #[test]
    fn waits_for_its_time() {
        let mut queue = EventQueue::new();
        queue.push(7, 'a');
        assert_eq!(queue.pop_until(6), None);
        assert_eq!(queue.pop_until(7), Some((7, 'a')));
        assert_eq!(queue.next_ns(), None);
    }
}
