//! The transactions of a terminal: the deck, their inputs, keying and think times.

mod client;

use rand::Rng as _;
use rand::seq::SliceRandom as _;

use super::{
    Constants, DECK, DISTRICTS, ITEMS, KEYING_S, ORDER_LINES, THINK_CUT, THINK_MEAN_S, Text, last_name, uniform,
};
use crate::seed::{Rng, stream};

pub use client::Client;

/// An item number that no database has: it makes a New-Order roll back (clause 2.4.1.5).
pub const UNUSED_ITEM: u32 = ITEMS + 1;

/// A line of a new order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Item; `UNUSED_ITEM` in one order of a hundred.
    pub item: u32,
    /// Warehouse that supplies it.
    pub supplier: u32,
    /// How many, 1..=10.
    pub quantity: u32,
}

/// Inputs of a New-Order (clause 2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Home warehouse.
    pub warehouse: u32,
    /// District.
    pub district: u32,
    /// Customer.
    pub customer: u32,
    lines: [Line; ORDER_LINES.1 as usize],
    count: usize,
}

impl NewOrder {
    /// Its lines, by supplier and item: all terminals lock stock in one order, as tpcc-mysql's do, so that New-Orders
    /// do not deadlock with each other.
    #[inline]
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Whether every line comes from the home warehouse.
    pub fn all_local(&self) -> bool {
        self.lines().iter().all(|line| line.supplier == self.warehouse)
    }
}

/// How a customer is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Customer {
    /// Warehouse of the customer.
    pub warehouse: u32,
    /// District of the customer.
    pub district: u32,
    /// Number. Order-Status needs it even when it selects by name, because tpcc-mysql's statement does not return it.
    pub number: u32,
    /// Last name, if the customer is selected by it (60 %).
    pub last: Option<Text<16>>,
}

/// Inputs of a Payment (clause 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Home warehouse.
    pub warehouse: u32,
    /// District.
    pub district: u32,
    /// The customer who pays; in 15 % one of another warehouse.
    pub customer: Customer,
    /// How much, 1.00 to 5000.00, in hundredths.
    pub amount_cents: u32,
}

/// Inputs of a Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Home warehouse.
    pub warehouse: u32,
    /// Carrier, 1..=10.
    pub carrier: u32,
}

/// Inputs of a Stock-Level (clause 2.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// Home warehouse.
    pub warehouse: u32,
    /// District.
    pub district: u32,
    /// Stock under this is low, 10..=20.
    pub threshold: u32,
}

/// A transaction with all of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// New-Order.
    NewOrder(NewOrder),
    /// Payment.
    Payment(Payment),
    /// Order-Status.
    OrderStatus(Customer),
    /// Delivery.
    Delivery(Delivery),
    /// Stock-Level.
    StockLevel(StockLevel),
}

impl Input {
    /// The same transaction so many warehouses further: where sets of tables lie one after another.
    #[must_use]
    pub fn further(mut self, warehouses: u32) -> Self {
        match &mut self {
            Self::NewOrder(order) => {
                order.warehouse += warehouses;
                order.lines.iter_mut().for_each(|line| line.supplier += warehouses);
            }
            Self::Payment(payment) => {
                payment.warehouse += warehouses;
                payment.customer.warehouse += warehouses;
            }
            Self::OrderStatus(customer) => customer.warehouse += warehouses,
            Self::Delivery(delivery) => delivery.warehouse += warehouses,
            Self::StockLevel(level) => level.warehouse += warehouses,
        }
        self
    }

    /// Index of its kind among `KINDS`.
    pub fn kind(&self) -> usize {
        match self {
            Self::NewOrder(_) => 0,
            Self::Payment(_) => 1,
            Self::OrderStatus(_) => 2,
            Self::Delivery(_) => 3,
            Self::StockLevel(_) => 4,
        }
    }
}

/// The home of a terminal with keying and think times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Home {
    warehouse: u32,
    district: u32,
}

impl Home {
    /// Of a terminal by its number: ten terminals in a row of warehouses have ten districts.
    fn of(warehouses: u32, index: u64) -> Self {
        Self {
            warehouse: (index % u64::from(warehouses)) as u32 + 1,
            district: (index / u64::from(warehouses) % u64::from(DISTRICTS)) as u32 + 1,
        }
    }
}

/// Keying and think time of a transaction of a kind, ns (clauses 5.2.5.2 and 5.2.5.4).
fn times_ns(rng: &mut Rng, kind: usize) -> (u64, u64) {
    // 1 - r is in (0, 1], so the logarithm is finite.
    let think_s = (-(1.0 - rng.random::<f64>()).ln()).min(THINK_CUT) * THINK_MEAN_S[kind];
    ((KEYING_S[kind] * 1e9) as u64, (think_s * 1e9) as u64)
}

/// One terminal.
#[derive(Clone, Debug)]
pub struct Terminal {
    warehouses: u32,
    home: Option<Home>,
    constants: Constants,
    deck: [u8; 23],
    dealt: usize,
    mix: Rng,
    inputs: Rng,
    times: Rng,
}

impl Terminal {
    /// Terminal `index` of a run on `warehouses` (at least 1). Without keying and think times each of its transactions
    /// is at home in any warehouse, as in tpcc-mysql; with them it stays at one, and its Stock-Levels at one district
    /// (clause 2.8.1.1).
    pub fn new(warehouses: u32, keying_and_think: bool, seed: u64, index: u64) -> Self {
        let home = keying_and_think.then(|| Home::of(warehouses, index));
        let mut deck = [0; 23];
        let kinds = DECK.iter().enumerate().flat_map(|(kind, cards)| std::iter::repeat_n(kind as u8, *cards));
        for (card, kind) in deck.iter_mut().zip(kinds) {
            *card = kind;
        }
        Self {
            warehouses,
            home,
            constants: Constants::of(seed),
            deck,
            dealt: deck.len(),
            mix: stream(seed, "tpcc mix", index),
            inputs: stream(seed, "tpcc inputs", index),
            times: stream(seed, "tpcc times", index),
        }
    }

    /// The next transaction: a card of the shuffled deck.
    pub fn next_input(&mut self) -> Input {
        if self.dealt == self.deck.len() {
            self.deck.shuffle(&mut self.mix);
            self.dealt = 0;
        }
        let kind = self.deck[self.dealt];
        self.dealt += 1;
        let warehouse = match self.home {
            Some(home) => home.warehouse,
            None => uniform(&mut self.inputs, 1, self.warehouses),
        };
        match kind {
            0 => Input::NewOrder(self.new_order(warehouse)),
            1 => Input::Payment(self.payment(warehouse)),
            2 => {
                let district = self.district();
                Input::OrderStatus(self.customer(warehouse, district))
            }
            3 => Input::Delivery(Delivery { warehouse, carrier: uniform(&mut self.inputs, 1, 10) }),
            _ => {
                let district = self.home.map(|home| home.district).unwrap_or_else(|| self.district());
                Input::StockLevel(StockLevel { warehouse, district, threshold: uniform(&mut self.inputs, 10, 20) })
            }
        }
    }

    /// Keying and think time of a transaction of this kind, ns; zeros without them.
    pub fn times_ns(&mut self, kind: usize) -> (u64, u64) {
        if self.home.is_none() {
            return (0, 0);
        }
        times_ns(&mut self.times, kind)
    }

    fn district(&mut self) -> u32 {
        uniform(&mut self.inputs, 1, DISTRICTS)
    }

    fn chance(&mut self, pct: u32) -> bool {
        uniform(&mut self.inputs, 1, 100) <= pct
    }

    /// Any warehouse but this one; this one if it is the only one.
    fn other(&mut self, warehouse: u32) -> u32 {
        if self.warehouses == 1 {
            return warehouse;
        }
        let other = uniform(&mut self.inputs, 1, self.warehouses - 1);
        other + u32::from(other >= warehouse)
    }

    fn new_order(&mut self, warehouse: u32) -> NewOrder {
        let district = self.district();
        let customer = self.constants.customer(&mut self.inputs);
        let count = uniform(&mut self.inputs, ORDER_LINES.0, ORDER_LINES.1) as usize;
        let rolls_back = self.chance(1);
        let mut order = NewOrder { warehouse, district, customer, lines: Default::default(), count };
        for at in 0..count {
            let mut item = self.constants.item(&mut self.inputs);
            if rolls_back && at + 1 == count {
                item = UNUSED_ITEM;
            }
            let supplier = if self.chance(1) { self.other(warehouse) } else { warehouse };
            order.lines[at] = Line { item, supplier, quantity: uniform(&mut self.inputs, 1, 10) };
        }
        order.lines[..count].sort_unstable_by_key(|line| (line.supplier, line.item, line.quantity));
        order
    }

    fn payment(&mut self, warehouse: u32) -> Payment {
        let district = self.district();
        let (of_warehouse, of_district) =
            if self.chance(15) { (self.other(warehouse), self.district()) } else { (warehouse, district) };
        let customer = self.customer(of_warehouse, of_district);
        Payment { warehouse, district, customer, amount_cents: uniform(&mut self.inputs, 100, 500_000) }
    }

    fn customer(&mut self, warehouse: u32, district: u32) -> Customer {
        let number = self.constants.customer(&mut self.inputs);
        let last = self.chance(60).then(|| last_name(self.constants.last(&mut self.inputs)));
        Customer { warehouse, district, number, last }
    }
}

#[cfg(test)]
mod tests;
