//! The schemas of the programs in whose form TPC-C runs: names of tables, and the statements that make and finish them.

use flatwater_core::workload::tpcc::Variant;
use flatwater_core::workload::tpcc::population::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tables::{CREATE, FINISH, KEYLESS};
use super::{sysbench_tpcc, tproc_c};

/// Whose tables, and which of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Tables {
    /// tpcc-mysql's.
    #[default]
    TpccMysql,
    /// sysbench-tpcc's.
    SysbenchTpcc {
        /// Sets of all nine tables: its `--tables`.
        table_sets: u32,
        /// Its `--use_fk`.
        foreign_keys: bool,
        /// A number as the primary key of history: its `--force_pk`.
        history_key: bool,
    },
    /// TPROC-C's, as HammerDB makes them for MySQL and MariaDB.
    TprocC {
        /// Partitions of `order_line` by warehouse; 0: it has none.
        partitions: u32,
        /// A number as the primary key of history.
        history_key: bool,
    },
}

/// Statements that end the load of a table.
pub(super) struct Finish {
    /// The table whose rows suffice; None: all.
    pub table: Option<String>,
    /// One after another.
    pub statements: Vec<String>,
}

/// The name of a table in a set of tables, counted from 1.
pub(super) fn name(variant: &Variant, table: Table, set: u32) -> String {
    match variant {
        Variant::TpccMysql => table.name().to_owned(),
        Variant::SysbenchTpcc { .. } => format!("{}{set}", table.name()),
        Variant::TprocC { .. } if table == Table::NewOrders => "new_order".to_owned(),
        Variant::TprocC { .. } => table.name().to_owned(),
    }
}

/// A statement on tpcc-mysql's tables, on those of another program: every name that follows FROM.
pub(super) fn translated(sql: &str, variant: &Variant, set: u32) -> String {
    let mut pieces = sql.split("FROM ");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str("FROM ");
        let end = piece.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').unwrap_or(piece.len());
        match Table::named(&piece[..end]) {
            Some(table) => text.push_str(&name(variant, table, set)),
            None => text.push_str(&piece[..end]),
        }
        text.push_str(&piece[end..]);
    }
    text
}

fn analyze(table: &str) -> String {
    format!("ANALYZE TABLE {table}")
}

impl Tables {
    /// The program whose tables they are, as far as names go.
    fn variant(&self) -> Variant {
        match *self {
            Self::TpccMysql => Variant::TpccMysql,
            Self::SysbenchTpcc { table_sets, .. } => Variant::SysbenchTpcc { table_sets },
            Self::TprocC { .. } => Variant::TprocC { all_warehouses: false },
        }
    }

    /// Sets of all nine tables.
    pub(super) fn sets(&self) -> u32 {
        self.variant().table_sets()
    }

    /// The name of a table in a set.
    pub(super) fn name(&self, table: Table, set: u32) -> String {
        name(&self.variant(), table, set)
    }

    /// The table of a name, and its set.
    pub(super) fn find(&self, wanted: &str) -> Option<(Table, u32)> {
        let stem = wanted.trim_end_matches(|sign: char| sign.is_ascii_digit());
        let set = wanted[stem.len()..].parse().unwrap_or(1);
        Table::ALL.into_iter().find(|table| self.name(*table, set) == wanted).map(|table| (table, set))
    }

    /// Statements that make the tables.
    pub(super) fn create(&self) -> Vec<String> {
        match *self {
            Self::TpccMysql => CREATE.iter().map(ToString::to_string).collect(),
            Self::SysbenchTpcc { table_sets, history_key, .. } => {
                (1..=table_sets.max(1)).flat_map(|set| sysbench_tpcc::create(set, history_key)).collect()
            }
            Self::TprocC { partitions, history_key } => tproc_c::create(partitions, history_key),
        }
    }

    /// What follows the rows, the longest work first.
    pub(super) fn finish(&self) -> Vec<Finish> {
        let of = |table: String, statements: Vec<String>| Finish { table: Some(table), statements };
        match *self {
            // The statistics of tables that just were empty make servers choose absurd plans until they are renewed.
            Self::TpccMysql => {
                let keyed = FINISH
                    .iter()
                    .map(|(table, sql)| of(table.name().into(), vec![sql.to_string(), analyze(table.name())]));
                keyed.chain(KEYLESS.iter().map(|table| of(table.name().into(), vec![analyze(table.name())]))).collect()
            }
            Self::SysbenchTpcc { table_sets, foreign_keys, .. } => (1..=table_sets.max(1))
                .flat_map(|set| {
                    Table::ALL.into_iter().rev().map(move |table| {
                        let name = self.name(table, set);
                        let mut statements: Vec<String> =
                            sysbench_tpcc::finish(table, set, foreign_keys).into_iter().collect();
                        statements.push(analyze(&name));
                        of(name, statements)
                    })
                })
                .collect(),
            Self::TprocC { .. } => {
                let analyzed = Table::ALL.into_iter().rev().map(|table| {
                    let name = self.name(table, 1);
                    let statements = vec![analyze(&name)];
                    of(name, statements)
                });
                let procedures = tproc_c::procedures().map(str::to_owned).collect();
                analyzed.chain([Finish { table: None, statements: procedures }]).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: Tables = Tables::SysbenchTpcc { table_sets: 12, foreign_keys: true, history_key: false };
    const TPROC_C: Tables = Tables::TprocC { partitions: 0, history_key: false };

    #[test]
    fn tables_are_found_by_their_names() {
        for tables in [Tables::TpccMysql, SETS, TPROC_C] {
            for table in Table::ALL {
                for set in 1..=tables.sets() {
                    assert_eq!(tables.find(&tables.name(table, set)), Some((table, set)));
                }
            }
            assert_eq!(tables.find("nothing"), None);
        }
        assert_eq!((TPROC_C.find("new_orders"), SETS.find("orders")), (None, None));
    }

    #[test]
    fn statements_are_translated_by_what_follows_from() {
        let sql = "SELECT o_id FROM orders WHERE x IN (SELECT no_o_id FROM new_orders) AND y = (SELECT 1 FROM (SELECT 2) AS d)";
        assert_eq!(translated(sql, &Variant::TpccMysql, 1), sql);
        let other = translated(sql, &Variant::TprocC { all_warehouses: false }, 1);
        assert_eq!(other, sql.replace("new_orders", "new_order"));
        let set = translated(sql, &Variant::SysbenchTpcc { table_sets: 3 }, 3);
        assert_eq!(set, sql.replace("new_orders", "new_orders3").replace("FROM orders", "FROM orders3"));
    }

    #[test]
    fn every_table_is_made_and_finished_once() {
        for tables in [Tables::TpccMysql, SETS, TPROC_C] {
            let made = tables.create().into_iter().map(|sql| sql.split(' ').nth(2).unwrap_or_default().to_owned());
            let finished = tables.finish().into_iter().filter_map(|own| own.table);
            let (mut made, mut finished): (Vec<_>, Vec<_>) = (made.collect(), finished.collect());
            made.sort_unstable();
            finished.sort_unstable();
            assert_eq!(made, finished);
            assert_eq!(made.len(), 9 * tables.sets() as usize);
        }
    }

    #[test]
    fn foreign_keys_are_left_out_where_they_are_off() {
        let statements = |foreign_keys| {
            let tables = Tables::SysbenchTpcc { table_sets: 1, foreign_keys, history_key: false };
            tables.finish().into_iter().flat_map(|own| own.statements).collect::<Vec<_>>().join(";")
        };
        assert_eq!(
            (statements(true).matches("FOREIGN KEY").count(), statements(false).matches("FOREIGN KEY").count()),
            (10, 0)
        );
        assert_eq!(statements(false).matches("ADD INDEX").count(), 6);
    }
}
