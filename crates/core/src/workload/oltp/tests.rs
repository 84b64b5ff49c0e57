//! Tests of the transactions.

use super::*;

fn spec(mode: Mode) -> OltpSpec {
    OltpSpec {
        mode,
        tables: 4,
        rows: 1_000,
        range_size: 100,
        distribution: Distribution::Uniform,
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

fn kinds(spec: &OltpSpec) -> Vec<Statement> {
    Generator::new(spec, 0, 1).steps().iter().map(|step| step.statement).collect()
}

#[test]
fn transactions_are_sysbenchs() {
    use Statement::*;
    let reads = [vec![PointSelect; 10], RANGES.to_vec()].concat();
    let writes = vec![IndexUpdate, NonIndexUpdate, Delete, Insert];
    for (mode, expected) in [
        (Mode::ReadOnly, reads.clone()),
        (Mode::ReadWrite, [reads, writes.clone()].concat()),
        (Mode::WriteOnly, writes),
        (Mode::PointSelect, vec![PointSelect]),
        (Mode::UpdateIndex, vec![IndexUpdate]),
        (Mode::UpdateNonIndex, vec![NonIndexUpdate]),
        (Mode::Insert, vec![Insert]),
        (Mode::Delete, vec![Delete]),
    ] {
        assert_eq!(kinds(&spec(mode)), expected, "{mode:?}");
    }
    let few = OltpSpec { range_selects: false, point_selects: 2, delete_inserts: 2, ..spec(Mode::ReadWrite) };
    assert_eq!(kinds(&few), [PointSelect, PointSelect, IndexUpdate, NonIndexUpdate, Delete, Insert, Delete, Insert]);
    assert_eq!(kinds(&OltpSpec { index_updates: 3, ..spec(Mode::UpdateIndex) }), [IndexUpdate; 3]);
}

#[test]
fn statements_are_sysbenchs_to_the_byte() {
    use Statement::*;
    for (statement, text) in [
        (PointSelect, "SELECT c FROM sbtest7 WHERE id=?"),
        (SimpleRange, "SELECT c FROM sbtest7 WHERE id BETWEEN ? AND ?"),
        (SumRange, "SELECT SUM(k) FROM sbtest7 WHERE id BETWEEN ? AND ?"),
        (OrderRange, "SELECT c FROM sbtest7 WHERE id BETWEEN ? AND ? ORDER BY c"),
        (DistinctRange, "SELECT DISTINCT c FROM sbtest7 WHERE id BETWEEN ? AND ? ORDER BY c"),
        (IndexUpdate, "UPDATE sbtest7 SET k=k+1 WHERE id=?"),
        (NonIndexUpdate, "UPDATE sbtest7 SET c=? WHERE id=?"),
        (Delete, "DELETE FROM sbtest7 WHERE id=?"),
        (Insert, "INSERT INTO sbtest7 (id, k, c, pad) VALUES (?, ?, ?, ?)"),
    ] {
        assert_eq!(statement.sql(7), text);
    }
}

#[test]
fn what_is_prepared_is_what_is_run() {
    for mode in [
        Mode::ReadOnly,
        Mode::ReadWrite,
        Mode::WriteOnly,
        Mode::PointSelect,
        Mode::UpdateIndex,
        Mode::UpdateNonIndex,
        Mode::Insert,
        Mode::Delete,
    ] {
        for range_selects in [true, false] {
            let spec = OltpSpec { range_selects, ..spec(mode) };
            let mut run = kinds(&spec);
            run.dedup();
            assert_eq!(run, spec.statements(), "{mode:?}");
        }
    }
}

#[test]
fn statements_of_a_kind_share_a_table_and_kinds_do_not() {
    let spec = OltpSpec { delete_inserts: 2, ..spec(Mode::ReadWrite) };
    let mut generator = Generator::new(&spec, 0, 3);
    let mut tables_of_a_transaction = 0;
    for _ in 0..200 {
        generator.advance();
        let steps = generator.steps();
        assert!(steps[..10].iter().all(|step| step.table == steps[0].table));
        assert!(steps[16..].iter().all(|step| step.table == steps[16].table));
        assert!(steps.iter().all(|step| (1..=4).contains(&step.table)));
        let mut tables: Vec<u32> = steps.iter().map(|step| step.table).collect();
        tables.sort_unstable();
        tables.dedup();
        tables_of_a_transaction = tables_of_a_transaction.max(tables.len());
    }
    assert_eq!(tables_of_a_transaction, 4);
}

#[test]
fn ranges_have_their_size_and_inserts_the_deleted_id() {
    let spec = OltpSpec { delete_inserts: 2, ..spec(Mode::ReadWrite) };
    let mut generator = Generator::new(&spec, 0, 4);
    generator.advance();
    let steps = generator.steps().to_vec();
    assert!(steps[10..14].iter().all(|step| step.other - step.id == 99), "{steps:?}");
    assert!(steps[16].id == steps[17].id && steps[18].id == steps[19].id, "{steps:?}");
    let texts = generator.texts().to_vec();
    assert_eq!((steps[15].text, steps[17].text, steps[19].text, texts.len()), (0, 1, 2, 3));
    generator.advance();
    assert!(generator.texts().iter().zip(&texts).all(|(now, before)| now.c != before.c));
    assert!(generator.texts()[1..].iter().zip(&texts[1..]).all(|(now, before)| now.pad != before.pad));
}

#[test]
fn the_same_seed_asks_for_the_same() {
    let take = |seed, terminal| {
        let mut generator = Generator::new(&spec(Mode::ReadWrite), terminal, seed);
        generator.advance();
        (generator.steps().to_vec(), generator.texts().to_vec())
    };
    assert_eq!(take(1, 0), take(1, 0));
    assert_ne!(take(1, 0), take(2, 0));
    assert_ne!(take(1, 0), take(1, 1));
}

#[test]
fn inserts_leave_the_id_to_the_server_or_never_repeat_one() {
    let mut generator = Generator::new(&spec(Mode::Insert), 0, 5);
    generator.advance();
    assert_eq!(generator.steps()[0].id, 0);

    let spec = OltpSpec { auto_inc: false, ..spec(Mode::Insert) };
    assert_eq!(spec.loaded_rows(), 0);
    let mut terminals = [Generator::new(&spec, 0, 5), Generator::new(&spec, 1, 5)];
    let mut ids = std::collections::HashSet::new();
    let mut negative = 0;
    for _ in 0..5_000 {
        for terminal in &mut terminals {
            terminal.advance();
            let id = terminal.steps()[0].id;
            assert!(i32::try_from(id).is_ok() && ids.insert(id), "{id}");
            negative += u32::from(id < 0);
        }
    }
    assert!((4_500..5_500).contains(&negative), "{negative} of 10,000");
}

#[test]
fn the_permutation_repeats_nothing() {
    // All 2^32 take too long: neighbours, and what differs in its upper half alone.
    let indexes = (0..1 << 18).chain((4..1 << 16).map(|high| high << 16 | 7));
    let values: std::collections::HashSet<i32> = indexes.clone().map(|index| permuted(index, 99)).collect();
    assert_eq!(values.len(), indexes.count());
}

#[test]
fn specs_that_cannot_be_run_are_refused() {
    spec(Mode::ReadWrite).validate().unwrap();
    let none = OltpSpec { index_updates: 0, skip_trx: true, ..spec(Mode::UpdateIndex) };
    for (spec, word) in [
        (OltpSpec { tables: 0, ..spec(Mode::ReadOnly) }, "workload.tables"),
        (OltpSpec { rows: 0, ..spec(Mode::ReadOnly) }, "workload.rows"),
        (OltpSpec { rows: 1 << 31, ..spec(Mode::ReadOnly) }, "workload.rows"),
        (OltpSpec { range_size: 0, ..spec(Mode::ReadOnly) }, "workload.range_size"),
        (OltpSpec { distribution: Distribution::Pareto { h: 2.0 }, ..spec(Mode::ReadOnly) }, "pareto_h"),
        (none, "no statement"),
    ] {
        assert!(spec.validate().unwrap_err().contains(word), "{word}");
    }
}
