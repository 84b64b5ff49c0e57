//! Identical modules with stripes over all of them (RAID 0). A card that is sold as two cards in one is built like this.

use flatwater_core::slab::Slab;

use super::card::Card;
use super::requests::{Request, RequestId};
use super::spec::Spec;
use super::statistics::Statistics;
use crate::storage::stepped::{self, Stepped};
use crate::storage::{Command, Device, Ended, Failure, Incident, Opening, Operation};

/// The modules of a card.
pub struct Modules {
    cards: Vec<Card>,
    stripe_bytes: u64,
    capacity_bytes: u64,
    now_ns: u64,
    requests: Slab<Request, RequestId>,
    /// Commands that end without the help of a module.
    refused: Vec<(u64, RequestId)>,
    /// Kept to reuse its memory.
    parts: Vec<Ended>,
}

impl Modules {
    /// Idle modules.
    ///
    /// # Errors
    /// A figure that is impossible, by name.
    pub fn new(spec: &Spec, opening: Opening) -> Result<Self, String> {
        let modules = u64::from(spec.modules);
        if spec.stripe_bytes == 0 {
            return Err("stripe_bytes must be over 0".into());
        }
        let capacity_bytes = spec.capacity_bytes / spec.stripe_bytes * spec.stripe_bytes * modules;
        let cards = (0..spec.modules)
            .map(|module| {
                let seed = flatwater_core::seed::splitmix(opening.seed ^ (u64::from(module) << 32));
                let used_bytes = part_of(0, opening.used_bytes, module, spec.modules, spec.stripe_bytes).1;
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
        let id = RequestId::of_tag(part.tag);
        let request = &mut self.requests[id];
        request.left -= 1;
        request.result = request.result.and(part.result);
        if request.left == 0 {
            let request = self.requests.remove(id);
            ended.push(Ended { tag: request.tag, at_ns: part.at_ns, result: request.result });
        }
    }
}

/// The part of a range that is on a module, as (offset on the module, bytes). It is one piece, as ranges have no holes.
fn part_of(offset: u64, bytes: u64, module: u32, modules: u32, stripe_bytes: u64) -> (u64, u64) {
    let (module, modules) = (u64::from(module), u64::from(modules));
    // The bytes before an address of the card that are on the module.
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
        for (_, id) in self.refused.drain(..) {
            parts.push(Ended { tag: id.tag(), at_ns: now_ns, result: Ok(()) });
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
        let id = self.requests.insert(Request::new(tag, command));
        let modules = self.cards.len() as u32;
        let outside = !command.fits(self.capacity_bytes);
        let mut parts = 0;
        if !outside {
            for (module, card) in (0..).zip(&mut self.cards) {
                let (offset, bytes) = part_of(command.offset, command.bytes, module, modules, self.stripe_bytes);
                if bytes > 0 || command.operation == Operation::Flush {
                    card.submit(now_ns, id.tag(), Command { offset, bytes, ..command });
                    parts += 1;
                }
            }
        }
        let request = &mut self.requests[id];
        request.left = parts.max(1);
        if parts == 0 {
            request.result = if outside { Err(Failure::Full) } else { Ok(()) };
            self.refused.push((now_ns, id));
        }
    }

    fn next_ns(&self) -> Option<u64> {
        stepped::next_ns(self)
    }

    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        stepped::advance(self, until_ns, ended);
    }

    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>) {
        let mut all: Option<Statistics> = None;
        for statistics in self.cards.iter_mut().map(|card| card.take_statistics(now_ns)) {
            match &mut all {
                Some(all) => all.add(&statistics),
                None => all = Some(statistics),
            }
        }
        if let Some(all) = all {
            all.append_series(series);
        }
    }

    fn hold(&mut self, now_ns: u64, ranges: &[(u64, u64)]) -> bool {
        let (modules, stripe_bytes) = (self.cards.len() as u32, self.stripe_bytes);
        let mut all = true;
        for (module, card) in (0..).zip(&mut self.cards) {
            let parts: Vec<_> =
                ranges.iter().map(|(offset, bytes)| part_of(*offset, *bytes, module, modules, stripe_bytes)).collect();
            all &= card.hold(now_ns, &parts);
        }
        all
    }

    fn incidents(&mut self) -> Vec<Incident> {
        let of = |(module, card): (usize, &mut Card)| {
            let mut incidents = card.incidents();
            incidents
                .iter_mut()
                .for_each(|incident| incident.text = format!("module {}: {}", module + 1, incident.text));
            incidents
        };
        let mut all: Vec<_> = self.cards.iter_mut().enumerate().flat_map(of).collect();
        all.sort_by_key(|incident| incident.at_ns);
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
            let mut of_modules = vec![Vec::new(); modules as usize];
            for at in offset..offset + bytes {
                let (row, column) = (at / stripe / u64::from(modules), at / stripe % u64::from(modules));
                of_modules[column as usize].push(row * stripe + at % stripe);
            }
            for (module, addresses) in (0..).zip(of_modules) {
                let (from, bytes) = part_of(offset, bytes, module, modules, stripe);
                prop_assert_eq!(bytes, addresses.len() as u64);
                prop_assert!(addresses.is_empty() || addresses == (from..from + bytes).collect::<Vec<_>>());
            }
        }
    }
}
