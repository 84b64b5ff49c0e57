//! The transactions of a terminal: the deck, their inputs, keying and think times.

use rand::Rng as _;
use rand::seq::SliceRandom as _;

use super::{
    Constants, DECK, DISTRICTS, ITEMS, KEYING_S, ORDER_LINES, THINK_CUT, THINK_MEAN_S, Text, last_name, uniform,
};
use crate::seed::{Rng, stream};

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
    /// (clause 2.8.1.1): ten terminals in a row of warehouses have ten districts.
    pub fn new(warehouses: u32, keying_and_think: bool, seed: u64, index: u64) -> Self {
        let home = keying_and_think.then(|| Home {
            warehouse: (index % u64::from(warehouses)) as u32 + 1,
            district: (index / u64::from(warehouses) % u64::from(DISTRICTS)) as u32 + 1,
        });
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
        // 1 - r is in (0, 1], so the logarithm is finite.
        let think_s = (-(1.0 - self.times.random::<f64>()).ln()).min(THINK_CUT) * THINK_MEAN_S[kind];
        ((KEYING_S[kind] * 1e9) as u64, (think_s * 1e9) as u64)
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUNS: usize = 46_000;

    fn inputs(warehouses: u32, keying_and_think: bool, seed: u64, index: u64) -> Vec<Input> {
        let mut terminal = Terminal::new(warehouses, keying_and_think, seed, index);
        (0..RUNS).map(|_| terminal.next_input()).collect()
    }

    /// Asserts that `found` of `of` is `share`, to five standard deviations.
    #[track_caller]
    fn assert_share(found: usize, of: usize, share: f64) {
        let (mean, deviation) = (of as f64 * share, (of as f64 * share * (1.0 - share)).sqrt());
        assert!((found as f64 - mean).abs() < 5.0 * deviation, "{found} of {of}, not {share}");
    }

    #[test]
    fn each_deck_has_its_cards() {
        let all = inputs(3, false, 7, 0);
        for deck in all.chunks_exact(23) {
            let mut counts = [0; 5];
            deck.iter().for_each(|input| counts[input.kind()] += 1);
            assert_eq!(counts, DECK);
        }
        let kinds = |inputs: &[Input]| inputs.iter().map(Input::kind).collect::<Vec<_>>();
        assert_ne!(kinds(&all[..23]), kinds(&all[23..46]));
        assert_ne!(kinds(&all[..46]), kinds(&inputs(3, false, 7, 1)[..46]));
        assert_eq!(all, inputs(3, false, 7, 0));
    }

    #[test]
    fn new_orders_are_the_specifications() {
        let orders: Vec<NewOrder> = inputs(5, false, 11, 2)
            .into_iter()
            .filter_map(|input| if let Input::NewOrder(order) = input { Some(order) } else { None })
            .collect();
        let lines: Vec<(u32, Line)> =
            orders.iter().flat_map(|order| order.lines().iter().map(|line| (order.warehouse, *line))).collect();
        let rolled_back = orders.iter().filter(|order| order.lines().iter().any(|line| line.item == UNUSED_ITEM));
        assert_share(rolled_back.count(), orders.len(), 0.01);
        assert_share(lines.iter().filter(|(home, line)| line.supplier != *home).count(), lines.len(), 0.01);
        for n in ORDER_LINES.0..=ORDER_LINES.1 {
            assert_share(
                orders.iter().filter(|order| order.lines().len() == n as usize).count(),
                orders.len(),
                1.0 / 11.0,
            );
        }
        for warehouse in 1..=5 {
            assert_share(orders.iter().filter(|order| order.warehouse == warehouse).count(), orders.len(), 0.2);
        }
        for quantity in 1..=10 {
            assert_share(lines.iter().filter(|(_, line)| line.quantity == quantity).count(), lines.len(), 0.1);
        }
        for order in &orders {
            assert!(order.lines().is_sorted_by_key(|line| (line.supplier, line.item)), "{order:?}");
            assert_eq!(order.all_local(), order.lines().iter().all(|line| line.supplier == order.warehouse));
        }
    }

    #[test]
    fn payments_are_the_specifications() {
        let payments: Vec<Payment> = inputs(4, false, 13, 0)
            .into_iter()
            .filter_map(|input| if let Input::Payment(payment) = input { Some(payment) } else { None })
            .collect();
        let remote = payments.iter().filter(|payment| payment.customer.warehouse != payment.warehouse);
        assert_share(remote.count(), payments.len(), 0.15);
        let by_name = payments.iter().filter(|payment| payment.customer.last.is_some());
        assert_share(by_name.count(), payments.len(), 0.6);
        let small = payments.iter().filter(|payment| payment.amount_cents < 125_075);
        assert_share(small.count(), payments.len(), 0.25);
    }

    #[test]
    fn with_think_times_a_terminal_stays_at_home() {
        for (index, home, district) in [(0, 1, 1), (2, 3, 1), (3, 1, 2), (29, 3, 10), (30, 1, 1)] {
            for input in inputs(3, true, 1, index).iter().take(500) {
                match input {
                    Input::NewOrder(order) => assert_eq!(order.warehouse, home),
                    Input::Payment(payment) => assert_eq!(payment.warehouse, home),
                    Input::OrderStatus(customer) => assert_eq!(customer.warehouse, home),
                    Input::Delivery(delivery) => assert_eq!(delivery.warehouse, home),
                    Input::StockLevel(level) => assert_eq!((level.warehouse, level.district), (home, district)),
                }
            }
        }
    }

    #[test]
    fn think_times_are_exponential_and_cut() {
        let mut terminal = Terminal::new(1, true, 3, 0);
        for (kind, expected_s) in THINK_MEAN_S.into_iter().enumerate() {
            let n = 100_000;
            let thinks: Vec<f64> = (0..n).map(|_| terminal.times_ns(kind).1 as f64 / 1e9).collect();
            let mean = thinks.iter().sum::<f64>() / f64::from(n);
            assert!((mean / expected_s - 1.0).abs() < 0.02, "kind {kind}: mean {mean} s");
            assert!(thinks.iter().all(|think| *think <= THINK_CUT * expected_s));
            let over = thinks.iter().filter(|think| **think > 3.0 * expected_s).count();
            assert_share(over, thinks.len(), (-3.0_f64).exp());
        }
        assert_eq!(terminal.times_ns(0).0, 18_000_000_000);
        assert_eq!(Terminal::new(1, false, 3, 0).times_ns(0), (0, 0));
    }

    proptest! {
        #[test]
        fn inputs_stay_in_range(warehouses in 1u32..300, seed: u64, index in 0u64..1000, keying: bool) {
            let mut terminal = Terminal::new(warehouses, keying, seed, index);
            for _ in 0..200 {
                let customer = |customer: &Customer| (1..=3000).contains(&customer.number)
                    && (1..=10).contains(&customer.district) && (1..=warehouses).contains(&customer.warehouse);
                let good = match terminal.next_input() {
                    Input::NewOrder(order) => {
                        (5..=15).contains(&order.lines().len()) && (1..=3000).contains(&order.customer)
                            && (1..=10).contains(&order.district) && (1..=warehouses).contains(&order.warehouse)
                            && order.lines().iter().all(|line| (1..=UNUSED_ITEM).contains(&line.item)
                                && (1..=warehouses).contains(&line.supplier) && (1..=10).contains(&line.quantity))
                            && (warehouses > 1 || order.all_local())
                    }
                    Input::Payment(payment) => {
                        customer(&payment.customer) && (100..=500_000).contains(&payment.amount_cents)
                            && (1..=10).contains(&payment.district) && (1..=warehouses).contains(&payment.warehouse)
                    }
                    Input::OrderStatus(who) => customer(&who),
                    Input::Delivery(delivery) => {
                        (1..=10).contains(&delivery.carrier) && (1..=warehouses).contains(&delivery.warehouse)
                    }
                    Input::StockLevel(level) => {
                        (10..=20).contains(&level.threshold) && (1..=10).contains(&level.district)
                            && (1..=warehouses).contains(&level.warehouse)
                    }
                };
                prop_assert!(good);
            }
        }
    }
}
