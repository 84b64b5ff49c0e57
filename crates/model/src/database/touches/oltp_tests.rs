//! Tests of sysbench's page touches.

use flatwater_core::workload::oltp::Distribution;

use super::super::What;
use super::*;

/// A small OLTP workload that reads and writes.
pub fn spec() -> OltpSpec {
    OltpSpec {
        mode: Mode::ReadWrite,
        tables: 4,
        rows: 100_000,
        range_size: 100,
        distribution: Distribution::Pareto { h: 0.2 },
        point_selects: 10,
        simple_ranges: 1,
        sum_ranges: 1,
        order_ranges: 1,
        distinct_ranges: 1,
        index_updates: 1,
        non_index_updates: 1,
        delete_inserts: 1,
        range_selects: true,
        skip_trx: false,
        auto_inc: true,
        secondary: false,
        prepared: true,
        pipeline: false,
    }
}

#[test]
fn a_transaction_touches_what_its_statements_need() {
    let mut oltp = Oltp::new(&spec(), &Measured::default(), UndoLogs::default(), 2, 7).unwrap();
    // 73 rows to a page, an index of 869 entries to a page.
    assert_eq!((oltp.rows_a_page, oltp.tables[0].0.pages, oltp.tables[0].1.pages), (73, 1370, 116));
    let (mut reads, mut changes, mut redo, runs) = (0, 0, 0u64, 2000);
    for run in 0..runs {
        let mut out = Vec::new();
        assert_eq!(oltp.next(run % 2, &mut out), 0);
        assert_eq!(out.iter().filter(|touch| touch.what == What::Statement).count(), 18);
        assert!(out.iter().all(|touch| !touch.uses_page() || touch.page.number() < oltp.pages()));
        reads += out.iter().filter(|touch| touch.what == What::Read).count();
        changes += out.iter().filter(|touch| matches!(touch.what, What::Change | What::Create)).count();
        redo += out.iter().map(|touch| u64::from(touch.redo)).sum::<u64>();
    }
    // 10 points, and 4 ranges over 2.37 pages each.
    let reads = reads as f64 / f64::from(runs);
    assert!((18.5..20.5).contains(&reads), "{reads}");
    assert_eq!(changes as u32, runs * 13);
    assert!((1000..2600).contains(&(redo / u64::from(runs))), "{} B", redo / u64::from(runs));
}

#[test]
fn the_index_is_used_evenly() {
    let mut oltp = Oltp::new(
        &OltpSpec { distribution: Distribution::Uniform, ..spec() },
        &Measured::default(),
        UndoLogs::default(),
        1,
        7,
    )
    .unwrap();
    let index = oltp.tables[0].1;
    let mut halves = [0; 2];
    let mut out = Vec::new();
    for _ in 0..4000 {
        oltp.next(0, &mut out);
    }
    let of_index = |touch: &&Touch| touch.uses_page() && (index.first..index.first + index.pages).contains(&touch.page);
    for touch in out.iter().filter(of_index) {
        halves[usize::from(touch.page >= index.first + index.pages / 2)] += 1;
    }
    let share = f64::from(halves[0]) / f64::from(halves[0] + halves[1]);
    assert!((0.45..0.55).contains(&share), "{halves:?}");
}

#[test]
fn the_same_seed_touches_the_same() {
    let take = |seed| {
        let mut oltp = Oltp::new(&spec(), &Measured::default(), UndoLogs::default(), 3, seed).unwrap();
        let mut out = Vec::new();
        (0..30).for_each(|n| {
            oltp.next(n % 3, &mut out);
        });
        out
    };
    assert_eq!(take(5), take(5));
    assert_ne!(take(5), take(6));
}

#[test]
fn what_is_not_modelled_is_told() {
    assert!(
        Oltp::new(&OltpSpec { mode: Mode::Insert, ..spec() }, &Measured::default(), UndoLogs::default(), 1, 1).is_err()
    );
}

#[test]
fn what_changes_a_row_locks_it_and_statements_without_a_transaction_commit_by_themselves() {
    for (skip_trx, commits) in [(false, 0), (true, 4)] {
        let mut oltp =
            Oltp::new(&OltpSpec { skip_trx, ..spec() }, &Measured::default(), UndoLogs::default(), 1, 7).unwrap();
        let mut out = Vec::new();
        oltp.next(0, &mut out);
        // Two updates and a delete; the row that is inserted is the one that was deleted.
        assert_eq!(out.iter().filter(|touch| touch.row().is_some()).count(), 3);
        assert_eq!(out.iter().filter(|touch| touch.what == What::Commit).count(), commits);
    }
}
