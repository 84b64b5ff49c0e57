//! Tests of the inputs.

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
        assert_share(orders.iter().filter(|order| order.lines().len() == n as usize).count(), orders.len(), 1.0 / 11.0);
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
