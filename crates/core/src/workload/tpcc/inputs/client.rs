//! The transactions of the clients of HammerDB and of sysbench-tpcc: each is drawn by itself and not dealt from a deck, and
//! some of its inputs are drawn otherwise than the specification says. What differs follows the sources of the two programs
//! (HammerDB 5.0, src/mysql/mysqloltp.tcl; Percona-Lab/sysbench-tpcc, tpcc_run.lua), so that the work is that of their
//! published results.

use super::super::{
    C_LAST_LOAD, CUSTOMERS, Constants, DECK, DISTRICTS, ITEMS, ORDER_LINES, Variant, last_name, uniform,
};
use super::{Customer, Delivery, Home, Input, Line, NewOrder, Payment, StockLevel, UNUSED_ITEM, times_ns};
use crate::seed::{Rng, stream};

/// The warehouses at which a client has its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Homes {
    /// Any.
    All,
    /// These.
    Some(Vec<u32>),
}

/// One client.
#[derive(Clone, Debug)]
pub struct Client {
    variant: Variant,
    warehouses: u32,
    homes: Homes,
    /// The district of its Stock-Levels; None: another one each time.
    district: Option<u32>,
    /// Whether it keys and thinks.
    waits: bool,
    constants: Constants,
    mix: Rng,
    inputs: Rng,
    times: Rng,
}

impl Client {
    /// Client `index` of so many `clients` (0..clients) on `warehouses` (at least 1). A client that keys and thinks is a
    /// terminal of the specification, with a home.
    pub fn new(variant: Variant, warehouses: u32, waits: bool, seed: u64, index: u64, clients: u64) -> Self {
        let mut inputs = stream(seed, "tpcc client", index);
        let (homes, district) = match variant {
            _ if waits => {
                let home = Home::of(warehouses, index);
                (Homes::Some(vec![home.warehouse]), Some(home.district))
            }
            Variant::TprocC { all_warehouses } => {
                let homes = if all_warehouses {
                    share(warehouses, index, clients)
                } else {
                    vec![uniform(&mut inputs, 1, warehouses)]
                };
                (Homes::Some(homes), Some(uniform(&mut inputs, 1, DISTRICTS)))
            }
            Variant::TpccMysql | Variant::SysbenchTpcc { .. } => (Homes::All, None),
        };
        let constants = Constants::of(seed);
        let constants = match variant {
            // HammerDB has one C of the last names, for loading and for running.
            Variant::TprocC { .. } => Constants { last: C_LAST_LOAD, ..constants },
            Variant::TpccMysql | Variant::SysbenchTpcc { .. } => constants,
        };
        let (mix, times) = (stream(seed, "tpcc client mix", index), stream(seed, "tpcc client times", index));
        Self { variant, warehouses, homes, district, waits, constants, mix, inputs, times }
    }

    /// The next transaction, and the number of the tables that it is on, from 1 on.
    pub fn next_input(&mut self) -> (u32, Input) {
        let set = uniform(&mut self.inputs, 1, self.variant.table_sets());
        let warehouse = match &self.homes {
            Homes::All => uniform(&mut self.inputs, 1, self.warehouses),
            Homes::Some(homes) => homes[uniform(&mut self.inputs, 0, homes.len() as u32 - 1) as usize],
        };
        let input = match self.next_kind() {
            0 => Input::NewOrder(self.new_order(warehouse)),
            1 => Input::Payment(self.payment(warehouse)),
            2 => {
                let district = self.any_district();
                Input::OrderStatus(self.customer(warehouse, district))
            }
            3 => Input::Delivery(Delivery { warehouse, carrier: uniform(&mut self.inputs, 1, 10) }),
            _ => {
                let district = self.district.unwrap_or_else(|| self.any_district());
                Input::StockLevel(StockLevel { warehouse, district, threshold: uniform(&mut self.inputs, 10, 20) })
            }
        };
        (set, input)
    }

    /// Keying and think time of a transaction of this kind, ns; zeros without them.
    pub fn times_ns(&mut self, kind: usize) -> (u64, u64) {
        if self.waits { times_ns(&mut self.times, kind) } else { (0, 0) }
    }

    /// One of 23 by chance: the shares of the deck, in any order.
    fn next_kind(&mut self) -> usize {
        let mut left = uniform(&mut self.mix, 0, DECK.iter().sum::<usize>() as u32 - 1) as usize;
        for (kind, cards) in DECK.into_iter().enumerate() {
            if left < cards {
                return kind;
            }
            left -= cards;
        }
        unreachable!("the draw is less than the cards of the deck")
    }

    fn is_tproc_c(&self) -> bool {
        matches!(self.variant, Variant::TprocC { .. })
    }

    fn any_district(&mut self) -> u32 {
        uniform(&mut self.inputs, 1, DISTRICTS)
    }

    fn number_of_customer(&mut self) -> u32 {
        // HammerDB draws evenly what the specification draws unevenly (clause 2.1.6).
        if self.is_tproc_c() {
            uniform(&mut self.inputs, 1, CUSTOMERS)
        } else {
            self.constants.customer(&mut self.inputs)
        }
    }

    /// An order in no order of its items. On a real server the procedure of TPROC-C draws its own lines. These are drawn in
    /// the same way, for the model.
    fn new_order(&mut self, warehouse: u32) -> NewOrder {
        let (district, customer) = (self.any_district(), self.number_of_customer());
        let count = uniform(&mut self.inputs, ORDER_LINES.0, ORDER_LINES.1) as usize;
        let mut order = NewOrder { warehouse, district, customer, lines: Default::default(), count };
        // HammerDB's procedure has FLOOR(1 + RAND() * 99), and its unused item is the last; sysbench-tpcc's the last but one.
        let (of, before_last) = if self.is_tproc_c() { (99, 1) } else { (100, 2) };
        let rolls_back = uniform(&mut self.inputs, 1, of) == 1;
        for at in 0..count {
            let drawn = self.item();
            let item = if rolls_back && at + before_last == count { UNUSED_ITEM } else { drawn };
            // The function of sysbench-tpcc for another warehouse returns the home: no line is remote.
            let is_remote = self.is_tproc_c() && uniform(&mut self.inputs, 1, 100) == 1;
            let supplier = if is_remote { self.other(warehouse) } else { warehouse };
            order.lines[at] = Line { item, supplier, quantity: uniform(&mut self.inputs, 1, 10) };
        }
        order
    }

    fn item(&mut self) -> u32 {
        // HammerDB draws items evenly, as it draws customers.
        if self.is_tproc_c() { uniform(&mut self.inputs, 1, ITEMS) } else { self.constants.item(&mut self.inputs) }
    }

    fn payment(&mut self, warehouse: u32) -> Payment {
        let district = self.any_district();
        let (of_warehouse, of_district) = if uniform(&mut self.inputs, 1, 100) <= 85 {
            (warehouse, district)
        } else if self.is_tproc_c() {
            (self.other(warehouse), self.any_district())
        } else {
            // As above: another district of the home warehouse.
            (warehouse, self.any_district())
        };
        let customer = self.customer(of_warehouse, of_district);
        // Both programs pay whole amounts.
        Payment { warehouse, district, customer, amount_cents: 100 * uniform(&mut self.inputs, 1, 5000) }
    }

    /// Any warehouse but this one; this one if it is the only one.
    fn other(&mut self, warehouse: u32) -> u32 {
        if self.warehouses == 1 {
            return warehouse;
        }
        let other = uniform(&mut self.inputs, 1, self.warehouses - 1);
        other + u32::from(other >= warehouse)
    }

    fn customer(&mut self, warehouse: u32, district: u32) -> Customer {
        let number = self.number_of_customer();
        let by_name = uniform(&mut self.inputs, 1, 100) <= 60;
        let last = by_name.then(|| last_name(self.constants.last(&mut self.inputs)));
        Customer { warehouse, district, number, last }
    }
}

/// The warehouses that a client of HammerDB uses of all: every one whose number is its own, counted over the clients.
fn share(warehouses: u32, index: u64, clients: u64) -> Vec<u32> {
    let (all, clients) = (u64::from(warehouses), clients.max(1));
    (0..all.div_ceil(clients)).map(|round| ((index + round * clients) % all) as u32 + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TPROC_C: Variant = Variant::TprocC { all_warehouses: false };
    const SYSBENCH: Variant = Variant::SysbenchTpcc { table_sets: 3 };
    const RUNS: usize = 46_000;

    fn inputs(variant: Variant, index: u64) -> Vec<(u32, Input)> {
        let mut client = Client::new(variant, 5, false, 7, index, 8);
        (0..RUNS).map(|_| client.next_input()).collect()
    }

    /// Asserts that `found` of `of` is `share`, to five standard deviations.
    #[track_caller]
    fn assert_share(found: usize, of: usize, share: f64) {
        let (mean, deviation) = (of as f64 * share, (of as f64 * share * (1.0 - share)).sqrt());
        assert!((found as f64 - mean).abs() <= 5.0 * deviation, "{found} of {of}, not {share}");
    }

    #[test]
    fn the_mix_is_drawn_and_not_dealt() {
        for variant in [TPROC_C, SYSBENCH] {
            let kinds: Vec<usize> = inputs(variant, 0).iter().map(|(_, input)| input.kind()).collect();
            for (kind, cards) in DECK.into_iter().enumerate() {
                assert_share(kinds.iter().filter(|own| **own == kind).count(), RUNS, cards as f64 / 23.0);
            }
            let in_deck = |deck: &[usize]| deck.iter().filter(|kind| **kind == 0).count();
            assert!(kinds.chunks_exact(23).any(|deck| in_deck(deck) != 10));
        }
    }

    #[test]
    fn a_client_of_hammerdb_stays_at_home_unless_it_has_all_warehouses() {
        let home_of = |input: &Input| match input {
            Input::NewOrder(order) => order.warehouse,
            Input::Payment(payment) => payment.warehouse,
            Input::OrderStatus(customer) => customer.warehouse,
            Input::Delivery(delivery) => delivery.warehouse,
            Input::StockLevel(level) => level.warehouse,
        };
        let homes = |variant: Variant, index: u64| {
            let mut found: Vec<u32> = inputs(variant, index).iter().map(|(_, input)| home_of(input)).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        assert_eq!(homes(TPROC_C, 3).len(), 1);
        assert!((0..8).any(|index| homes(TPROC_C, index) != homes(TPROC_C, 0)));
        assert_eq!(homes(SYSBENCH, 3), [1, 2, 3, 4, 5]);
        let mut client = Client::new(Variant::TprocC { all_warehouses: true }, 10, false, 7, 1, 4);
        let mut found: Vec<u32> = (0..1000).map(|_| home_of(&client.next_input().1)).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, [2, 6, 10]);
    }

    #[test]
    fn shares_cover_all_warehouses() {
        assert_eq!((share(10, 0, 4), share(10, 3, 4)), (vec![1, 5, 9], vec![4, 8, 2]));
        assert_eq!((share(2, 0, 4), share(2, 3, 4)), (vec![1], vec![2]));
    }

    #[test]
    fn payments_are_whole_and_remote_where_the_program_is() {
        for (variant, remote_share) in [(TPROC_C, 0.15), (SYSBENCH, 0.0)] {
            let all = inputs(variant, 2);
            let payments: Vec<&Payment> = all
                .iter()
                .filter_map(|(_, input)| if let Input::Payment(own) = input { Some(own) } else { None })
                .collect();
            let remote = payments.iter().filter(|payment| payment.customer.warehouse != payment.warehouse).count();
            assert_share(remote, payments.len(), remote_share);
            let by_name = payments.iter().filter(|payment| payment.customer.last.is_some()).count();
            assert_share(by_name, payments.len(), 0.6);
            assert!(payments.iter().all(|payment| payment.amount_cents % 100 == 0 && payment.amount_cents <= 500_000));
        }
    }

    #[test]
    fn orders_of_tproc_c_are_drawn_as_its_procedure_draws_them() {
        let all = inputs(TPROC_C, 1);
        let orders: Vec<&NewOrder> = all
            .iter()
            .filter_map(|(_, input)| if let Input::NewOrder(own) = input { Some(own) } else { None })
            .collect();
        let lines: Vec<&Line> = orders.iter().flat_map(|order| order.lines()).collect();
        // Evenly: NURand would give the first half of all items more than a half.
        let low = lines.iter().filter(|line| line.item <= ITEMS / 2).count();
        let missing = orders.iter().filter(|order| order.lines().iter().any(|line| line.item == UNUSED_ITEM)).count();
        assert_share(low, lines.len() - missing, 0.5);
        assert_share(missing, orders.len(), 1.0 / 99.0);
        assert_share(orders.iter().filter(|order| !order.all_local()).count(), orders.len(), 1.0 - 0.99_f64.powi(10));
        let of = |order: &&NewOrder| order.lines().iter().position(|line| line.item == UNUSED_ITEM);
        assert!(orders.iter().all(|order| of(order).is_none_or(|at| at + 1 == order.lines().len())));
    }

    #[test]
    fn orders_of_sysbench_are_local_and_one_in_a_hundred_has_an_unused_item() {
        let all = inputs(SYSBENCH, 1);
        let orders: Vec<&NewOrder> = all
            .iter()
            .filter_map(|(_, input)| if let Input::NewOrder(own) = input { Some(own) } else { None })
            .collect();
        assert!(orders.iter().all(|order| order.all_local()));
        assert!(orders.iter().any(|order| !order.lines().is_sorted_by_key(|line| line.item)));
        let missing = orders.iter().filter(|order| order.lines().iter().any(|line| line.item == UNUSED_ITEM)).count();
        assert_share(missing, orders.len(), 0.01);
        for set in 1..=3 {
            assert_share(all.iter().filter(|(own, _)| *own == set).count(), RUNS, 1.0 / 3.0);
        }
    }

    #[test]
    fn a_transaction_is_the_same_so_many_warehouses_further() {
        for (_, input) in inputs(TPROC_C, 2).into_iter().take(500) {
            let moved = input.further(40);
            assert_eq!(moved.kind(), input.kind());
            match (moved, input) {
                (Input::NewOrder(moved), Input::NewOrder(own)) => {
                    assert_eq!(moved.warehouse, own.warehouse + 40);
                    assert!(moved.lines().iter().zip(own.lines()).all(|(a, b)| a.supplier == b.supplier + 40));
                }
                (Input::Payment(moved), Input::Payment(own)) => {
                    assert_eq!(moved.warehouse, own.warehouse + 40);
                    assert_eq!(moved.customer.warehouse, own.customer.warehouse + 40);
                }
                (Input::OrderStatus(moved), Input::OrderStatus(own)) => assert_eq!(moved.warehouse, own.warehouse + 40),
                (Input::Delivery(moved), Input::Delivery(own)) => assert_eq!(moved.warehouse, own.warehouse + 40),
                (Input::StockLevel(moved), Input::StockLevel(own)) => assert_eq!(moved.warehouse, own.warehouse + 40),
                _ => unreachable!("it is of the same kind"),
            }
        }
    }

    #[test]
    fn a_client_that_keys_is_a_terminal() {
        let mut client = Client::new(SYSBENCH, 5, true, 7, 12, 50);
        assert_eq!((&client.homes, client.district), (&Homes::Some(vec![3]), Some(3)));
        assert_eq!(client.times_ns(0).0, 18_000_000_000);
        assert_eq!(Client::new(SYSBENCH, 5, false, 7, 12, 50).times_ns(0), (0, 0));
    }
}
