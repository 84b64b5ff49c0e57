//! Tests of TPC-C's page touches.

use flatwater_core::workload::tpcc::ORDERS;
use flatwater_core::workload::tpcc::inputs::Delivery;

use super::super::layout::{DIVE_PAGES, Room};
use super::*;

fn spec(warehouses: u32) -> TpccSpec {
    TpccSpec { variant: Variant::TpccMysql, warehouses, pipeline: false, keying_and_think: false }
}

#[test]
fn a_warehouse_is_about_a_hundred_megabytes() {
    let tpcc = Tpcc::new(&spec(20), &Measured::default(), UndoLogs::default(), &[], 4, 1).unwrap();
    let mib =
        f64::from(tpcc.pages() - tpcc.growth.rooms.iter().map(Room::take_all_but_made).sum::<u32>()) / 64.0 / 20.0;
    assert!((85.0..110.0).contains(&mib), "{mib} MiB a warehouse");
    assert_eq!(tpcc.rows.stock, 48, "rows of stock to a page");
}

impl Room {
    fn take_all_but_made(&self) -> u32 {
        // Pages of the room, for the size of what was loaded.
        let mut room = *self;
        let first = room.take();
        let mut pages = 1;
        while room.take() != first {
            pages += 1;
        }
        pages
    }
}

/// Redo of a New-Order with its companions, over the later half of so many transactions.
fn redo_of(tpcc: &mut Tpcc, transactions: u32) -> u64 {
    let (mut redo, mut orders, mut out) = (0, 0, Vec::new());
    for run in 0..transactions {
        out.clear();
        let kind = tpcc.next(run % 4, &mut out);
        if run >= transactions / 2 {
            orders += u64::from(kind == 0);
            redo += out.iter().map(|touch| u64::from(touch.redo)).sum::<u64>();
        }
    }
    redo / orders
}

#[test]
fn transactions_touch_what_the_specification_says() {
    let mut tpcc = Tpcc::new(&spec(10), &Measured::default(), UndoLogs::default(), &[], 4, 3).unwrap();
    let (mut redo, mut orders, mut runs) = (0, 0, [0_u32; 5]);
    let mut changed = [0_u32; 5];
    for run in 0..23 * 400 {
        let mut out = Vec::new();
        let kind = tpcc.next(run % 4, &mut out);
        assert!(out.iter().all(|touch| !touch.uses_page() || touch.page.number() < tpcc.pages()), "{kind}");
        runs[kind] += 1;
        changed[kind] += out.iter().filter(|touch| matches!(touch.what, What::Change | What::Create)).count() as u32;
        orders += u32::from(kind == 0);
        redo += out.iter().map(|touch| u64::from(touch.redo)).sum::<u64>();
    }
    assert_eq!(runs, [4000, 4000, 400, 400, 400]);
    assert_eq!((changed[2], changed[4]), (0, 0), "Order-Status and Stock-Level only read");
    // Nearly every page of the indexes splits in the beginning, which is logged.
    let early = redo / u64::from(orders);
    assert!((12_000..20_000).contains(&early), "{early} B of redo a New-Order");
    let redo = redo_of(&mut tpcc, 23 * 4000);
    assert!(redo < early, "{redo} B of redo a New-Order, {early} in the beginning");
    // A New-Order with its companions: others estimate 9 KB, give or take a quarter.
    assert!((6_700..11_300).contains(&redo), "{redo} B of redo a New-Order");
}

#[test]
fn new_orders_are_delivered_in_their_order_and_never_twice() {
    let mut tpcc = Tpcc::new(&spec(1), &Measured::default(), UndoLogs::default(), &[], 1, 3).unwrap();
    let mut out = Vec::new();
    for _ in 0..1200 {
        tpcc.delivery(0, Delivery { warehouse: 1, carrier: 1 }, &mut out);
    }
    let district = &tpcc.districts[0];
    assert_eq!((district.oldest_new, district.next_order), (ORDERS + 1, ORDERS + 1));
    assert!(out.iter().all(|touch| !touch.uses_page() || touch.page.number() < tpcc.pages()));
}

#[test]
fn terminals_that_key_and_think_have_the_specifications_times() {
    let terminals = |keying_and_think| {
        Tpcc::new(&TpccSpec { keying_and_think, ..spec(1) }, &Measured::default(), UndoLogs::default(), &[], 1, 1)
            .expect("it is modelled")
    };
    let (mut busy, mut slow) = (terminals(false), terminals(true));
    assert_eq!(busy.times_ns(0, 0), (0, 0));
    for (kind, keying_s) in flatwater_core::workload::tpcc::KEYING_S.into_iter().enumerate() {
        let (keying_ns, think_ns) = slow.times_ns(0, kind);
        assert_eq!(keying_ns, (keying_s * 1e9) as u64);
        assert!(think_ns > 0);
    }
}

#[test]
fn an_optimizer_of_mysql_looks_at_customers_too_and_its_looks_are_uses() {
    let touched = |optimizer| {
        let measured = Measured { optimizer, ..Measured::default() };
        let mut tpcc = Tpcc::new(&spec(10), &measured, UndoLogs::default(), &[], 1, 3).unwrap();
        let (mut reads, mut glances, mut out) = (0, 0, Vec::new());
        for _ in 0..23 * 40 {
            out.clear();
            tpcc.next(0, &mut out);
            let customer = tpcc.tables.customer;
            let customers = customer.first..customer.first + customer.pages;
            let of_customers = |touch: &&Touch| customers.contains(&touch.page);
            reads += out.iter().filter(|touch| touch.what == What::Read).filter(of_customers).count();
            glances += out.iter().filter(|touch| touch.what == What::Glance).count();
        }
        (reads, glances)
    };
    let (few, glances) = touched(Optimizer::Mariadb);
    let (many, none) = touched(Optimizer::Mysql);
    assert!(glances > 0 && none == 0, "{glances}, {none}");
    // Six in ten of 440 Payments and Order-Status ask twice by last name, and look at ten pages each time.
    let looks = (many - few) as f64 / 440.0 / DIVE_PAGES as f64;
    assert!((1.0..1.4).contains(&looks), "{looks} looks at ten pages a transaction that finds a customer");
}

#[test]
fn rows_are_locked_in_one_order_and_a_delivery_is_ten_transactions() {
    let mut tpcc = Tpcc::new(&spec(3), &Measured::default(), UndoLogs::default(), &[], 1, 3).unwrap();
    let mut locked = [0.0; 5];
    let mut runs = [0.0; 5];
    for _ in 0..23 * 100 {
        let mut out = Vec::new();
        let kind = tpcc.next(0, &mut out);
        let transactions: Vec<_> = out.split(|touch| touch.what == What::Commit).collect();
        assert_eq!(transactions.len(), if kind == 3 { 11 } else { 1 });
        assert!(kind != 3 || transactions[10].is_empty(), "nothing is left when the last district is committed");
        runs[kind] += 1.0;
        for own in transactions {
            let rows: Vec<_> = own.iter().filter_map(|touch| touch.row()).map(|(row, _)| row.number()).collect();
            locked[kind] += rows.len() as f64;
            // Warehouse, district, queue, customer, stock of one warehouse; what is of others is a hundredth of the stock.
            let local = rows.iter().filter(|row| *row / 130_021 == rows[0] / 130_021);
            assert!(kind == 1 || local.is_sorted(), "{rows:?}");
        }
    }
    let mean: Vec<f64> = (0..5).map(|kind| locked[kind] / runs[kind]).collect();
    // A New-Order: a district, a customer, ten of stock. A Payment: a warehouse, a district, a customer.
    assert!((11.5..12.2).contains(&mean[0]), "{mean:?}");
    assert_eq!((mean[1], mean[2], mean[3], mean[4]), (3.0, 0.0, 20.0, 0.0));
}

/// What the transactions of each kind of a variant do in the mean: statements of the client, of procedures, pages changed,
/// commits in the midst.
fn done_by(variant: Variant) -> [[f64; 4]; 5] {
    let spec = TpccSpec { variant, ..spec(4) };
    let mut tpcc = Tpcc::new(&spec, &Measured::default(), UndoLogs::default(), &[], 4, 3).unwrap();
    let (mut done, mut runs, mut out) = ([[0.0; 4]; 5], [0.0; 5], Vec::new());
    for run in 0..23 * 400 {
        out.clear();
        let kind = tpcc.next(run % 4, &mut out);
        assert!(out.iter().all(|touch| !touch.uses_page() || touch.page.number() < tpcc.pages()), "{variant:?}");
        runs[kind] += 1.0;
        let count = |is: fn(&Touch) -> bool| out.iter().filter(|touch| is(touch)).count() as f64;
        done[kind][0] += count(|touch| touch.what == What::Statement);
        done[kind][1] += count(|touch| touch.what == What::Inner);
        done[kind][2] += count(|touch| touch.changes());
        done[kind][3] += count(|touch| touch.what == What::Commit);
    }
    std::array::from_fn(|kind| done[kind].map(|sum| sum / runs[kind]))
}

const TPROC_C: Variant = Variant::TprocC { all_warehouses: true };
const SYSBENCH: Variant = Variant::SysbenchTpcc { table_sets: 3 };

#[test]
fn procedures_answer_their_client_once_and_have_no_indexes_for_foreign_keys() {
    let (own, other) = (done_by(Variant::TpccMysql), done_by(TPROC_C));
    for kind in 0..5 {
        assert_eq!(own[kind][1], 0.0, "{kind}");
        assert_eq!(other[kind][0], [3.0, 3.0, 3.0, 1.0, 2.0][kind], "{kind}");
        // The same statements, give or take what each draws.
        let ratio = other[kind][1] / own[kind][0];
        assert!((0.85..1.07).contains(&ratio), "{kind}: {ratio}");
    }
    // An entry for each of ten lines less in a New-Order, and two of history in a Payment.
    let less: Vec<f64> = (0..2).map(|kind| own[kind][2] - other[kind][2]).collect();
    // But its bad credit is of five times as many customers, each with its undo record.
    assert!((9.0..11.5).contains(&less[0]) && (0.9..1.8).contains(&less[1]), "{less:?}");
    assert_eq!((own[3][3], other[3][3]), (10.0, 0.0));
}

#[test]
fn sets_of_tables_lie_one_after_another() {
    let one = Tpcc::new(&spec(4), &Measured::default(), UndoLogs::default(), &[], 4, 3).unwrap();
    let sets = TpccSpec { variant: SYSBENCH, ..spec(4) };
    let sets = Tpcc::new(&sets, &Measured::default(), UndoLogs::default(), &[], 4, 3).unwrap();
    assert_eq!((sets.districts.len(), one.districts.len()), (120, 40));
    // Whole rows, one after another: two sets may have a page in common.
    assert!((0..3).contains(&(3 * one.tables.stock.pages - sets.tables.stock.pages)));
    // The first item of the second set stands behind the last one of the first.
    let items = [(4, 100_000), (5, 1), (12, 100_000)].map(|(home, item)| sets.item_page(home, item));
    assert!(items[0] <= items[1] && items[1] < items[2]);
    assert_eq!(items[2], sets.tables.item.first + (sets.tables.item.pages - 1));
    let [own, other] = [Variant::TpccMysql, SYSBENCH].map(done_by);
    let ratio = other[0][2] / own[0][2];
    assert!((0.97..1.03).contains(&ratio), "the same indexes: {ratio}");
    assert_eq!((other[0][1], other[3][3]), (0.0, 0.0));
}

#[test]
fn rollbacks_are_told_once() {
    let mut tpcc = Tpcc::new(&spec(4), &Measured::default(), UndoLogs::default(), &[], 4, 3).unwrap();
    let mut out = Vec::new();
    let orders = (0..23 * 400).filter(|run| tpcc.next(run % 4, &mut out) == 0).count();
    let told = tpcc.take_rollbacks() as f64 / orders as f64;
    assert!((0.005..0.015).contains(&told), "{told}");
    assert_eq!(tpcc.take_rollbacks(), 0);
}

#[test]
fn warehouses_count_in_all_sets() {
    let spec = |table_sets, warehouses| TpccSpec { variant: Variant::SysbenchTpcc { table_sets }, ..spec(warehouses) };
    let made = |spec: TpccSpec| Tpcc::new(&spec, &Measured::default(), UndoLogs::default(), &[], 1, 1).map(|_| ());
    assert!(made(spec(100, 400)).unwrap_err().contains("in all sets"));
    assert!(made(spec(2, 0)).is_err());
}
