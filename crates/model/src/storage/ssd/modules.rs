//! Identical modules behind one another's stripes: what a card of two cards is (RAID 0).

use flatwater_core::slab::Slab;

use super::card::Card;
use super::requests::{Request, RequestId};
use super::spec::Spec;
use super::told::Told;
use crate::storage::stepped::{self, Stepped};
use crate::storage::{Command, Device, Ended, Failure, Incident, Opening, Operation};

/// Modules at work.
pub struct Modules {
    cards: Vec<Card>,
    stripe_bytes: u64,
    capacity_bytes: u64,
    now_ns: u64,
    requests: Slab<Request, RequestId>,
    /// Commands that end without a module.
    refused: Vec<(u64, RequestId)>,
    /// Kept to reuse its memory.
    parts: Vec<Ended>,
}

impl Modules {
    /// Idle modules.
    ///
    /// # Errors
    /// A figure that cannot be, by name.
    pub fn new(spec: &Spec, opening: Opening) -> Result<Self, String> {
        let modules = u64::from(spec.modules);
        if spec.stripe_bytes == 0 {
            return Err("stripe_bytes must be over 0".into());
        }
        let capacity_bytes = spec.capacity_bytes / spec.stripe_bytes * spec.stripe_bytes * modules;
        let cards = (0..spec.modules)
            .map(|module| {
                let seed = flatwater_core::seed::splitmix(opening.seed ^ (u64::from(module) << 32));
                let used_bytes = own_part(0, opening.used_bytes, module, spec.modules, spec.stripe_bytes).1;
                Card::new(spec.clone(), Opening { seed, used_bytes })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            cards,
            stripe_bytes: spec.stripe_bytes,
            capacity_bytes,
            now_ns: 0,
            requests: Slab::new(),
            refused: Vec::new(),
            parts: Vec::new(),
        })
    }

    fn part_ended(&mut self, part: Ended, ended: &mut Vec<Ended>) {
        let slot = RequestId::of_tag(part.tag);
        let own = &mut self.requests[slot];
        own.left -= 1;
        own.result = own.result.and(part.result);
        if own.left == 0 {
            let request = self.requests.remove(slot);
            ended.push(Ended { tag: request.tag, at_ns: part.at_ns, result: request.result });
        }
    }
}

/// The part of a range that a module has, in its own addresses (from, bytes): one piece, as ranges have no holes.
fn own_part(offset: u64, bytes: u64, module: u32, modules: u32, stripe_bytes: u64) -> (u64, u64) {
    let (module, modules) = (u64::from(module), u64::from(modules));
    // Bytes of the module's before an address of the whole.
    let before = |at: u64| {
        let (stripe, within) = (at / stripe_bytes, at % stripe_bytes);
        let (row, column) = (stripe / modules, stripe % modules);
        let here = if column > module {
            stripe_bytes
        } else if column == module {
            within
        } else {
            0
        };
        row * stripe_bytes + here
    };
    let (from, to) = (before(offset), before(offset + bytes));
    (from, to - from)
}

impl Stepped for Modules {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn due_ns(&self) -> u64 {
        let refused = self.refused.iter().map(|(at_ns, _)| *at_ns);
        refused.chain(self.cards.iter().filter_map(Device::next_ns)).min().unwrap_or(u64::MAX)
    }

    fn step(&mut self, now_ns: u64, ended: &mut Vec<Ended>) {
        self.now_ns = now_ns;
        let mut parts = std::mem::take(&mut self.parts);
        for (_, slot) in self.refused.drain(..) {
            parts.push(Ended { tag: slot.tag(), at_ns: now_ns, result: Ok(()) });
        }
        for card in &mut self.cards {
            card.advance(now_ns, &mut parts);
        }
        for part in parts.drain(..) {
            self.part_ended(part, ended);
        }
        self.parts = parts;
    }
}

impl Device for Modules {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, now_ns: u64, tag: u64, command: Command) {
        let slot = self.requests.insert(Request::new(tag, command));
        let modules = self.cards.len() as u32;
        let outside = !command.fits(self.capacity_bytes);
        let mut parts = 0;
        if !outside {
            for (module, card) in (0..).zip(&mut self.cards) {
                let (offset, bytes) = own_part(command.offset, command.bytes, module, modules, self.stripe_bytes);
                if bytes > 0 || command.operation == Operation::Flush {
                    card.submit(now_ns, slot.tag(), Command { offset, bytes, ..command });
                    parts += 1;
                }
            }
        }
        let own = &mut self.requests[slot];
        own.left = parts.max(1);
        if parts == 0 {
            own.result = if outside { Err(Failure::Full) } else { Ok(()) };
            self.refused.push((now_ns, slot));
        }
    }

    fn next_ns(&self) -> Option<u64> {
        stepped::next_ns(self)
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        stepped::advance(self, until_ns, ended);
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let mut all: Option<Told> = None;
        for told in self.cards.iter_mut().map(|card| card.tell(now_ns)) {
            match &mut all {
                Some(all) => all.add(&told),
                None => all = Some(told),
            }
        }
        if let Some(all) = all {
            all.series(series);
        }
    }

    fn incidents(&mut self) -> Vec<Incident> {
        let of = |(module, card): (usize, &mut Card)| {
            let mut own = card.incidents();
            own.iter_mut().for_each(|one| one.text = format!("module {}: {}", module + 1, one.text));
            own
        };
        let mut all: Vec<_> = self.cards.iter_mut().enumerate().flat_map(of).collect();
        all.sort_by_key(|one| one.at_ns);
        all
    }

    fn state(&self) -> Option<String> {
        let states: Vec<_> = self.cards.iter().filter_map(Device::state).collect();
        Some(format!(r#"{{"modules":[{}]}}"#, states.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_make_up_the_range(offset in 0u64..1000, bytes in 0u64..1000, modules in 1u32..5, stripe in 1u64..50) {
            let mut own = vec![Vec::new(); modules as usize];
            for at in offset..offset + bytes {
                let (row, column) = (at / stripe / u64::from(modules), at / stripe % u64::from(modules));
                own[column as usize].push(row * stripe + at % stripe);
            }
            for (module, addresses) in (0..).zip(own) {
                let (from, bytes) = own_part(offset, bytes, module, modules, stripe);
                prop_assert_eq!(bytes, addresses.len() as u64);
                prop_assert!(addresses.is_empty() || addresses == (from..from + bytes).collect::<Vec<_>>());
            }
        }
    }
}
