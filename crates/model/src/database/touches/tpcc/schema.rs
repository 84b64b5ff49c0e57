//! What the programs that run TPC-C on MySQL do otherwise than tpcc-mysql: their indexes, widths of columns, and statements.
//!
//! The statements of the real drivers decide (crates/real, database/tpcc): they are those of HammerDB's procedures and of
//! sysbench-tpcc.

use flatwater_core::workload::tpcc::Variant;

use super::super::touch::Touch;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// The name of the table of new orders.
    pub(super) new_orders: &'static str,
    /// Secondary indexes of stock by item, of order lines by stock, and two of history, which tpcc-mysql has for its foreign
    /// keys. sysbench-tpcc makes them with foreign keys and without.
    pub(super) indexes_keys: bool,
    /// An inserted order locks its customer: the tables have foreign keys, and sessions check them.
    pub(super) locks_parents: bool,
    /// A Delivery commits each district by itself.
    pub(super) commits_districts: bool,
    /// Stock is read FOR UPDATE, and so locked before it is changed.
    pub(super) locks_read_stock: bool,
    /// A Payment by last name reads everybody of that name, and locks nobody before it changes its customer.
    pub(super) payment_reads_namesakes: bool,
    /// One of so many customers has bad credit.
    pub(super) bad_credit_of: u64,
    /// The statements of each transaction are those of a stored procedure.
    pub(super) has_procedures: bool,
    /// Whole numbers of four bytes where tpcc-mysql has one or two.
    pub(super) wide_numbers: bool,
}

impl Schema {
    /// That of a program. tpcc-mysql's statements may be sent back to back: then a Delivery is one transaction.
    pub(super) const fn of(variant: Variant, pipelined: bool) -> Self {
        let tpcc_mysql = Self {
            new_orders: "new_orders",
            indexes_keys: true,
            locks_parents: true,
            commits_districts: !pipelined,
            locks_read_stock: true,
            payment_reads_namesakes: false,
            bad_credit_of: 10,
            has_procedures: false,
            wide_numbers: false,
        };
        match variant {
            Variant::TpccMysql => tpcc_mysql,
            Variant::SysbenchTpcc { .. } => Self { locks_parents: false, commits_districts: false, ..tpcc_mysql },
            Variant::TprocC { .. } => Self {
                new_orders: "new_order",
                indexes_keys: false,
                locks_parents: false,
                commits_districts: false,
                locks_read_stock: false,
                payment_reads_namesakes: true,
                bad_credit_of: 2,
                has_procedures: true,
                wide_numbers: true,
            },
        }
    }

    /// A statement of a transaction.
    pub(super) const fn statement(self) -> Touch {
        if self.has_procedures { Touch::INNER } else { Touch::STATEMENT }
    }

    /// What a client sends for a transaction of each kind, where a procedure does the rest: the values of the arguments that
    /// it changes, the call, and the question for what it told. A Delivery tells nothing, and a Stock-Level takes no such
    /// argument.
    pub(super) const fn calls(self) -> [usize; 5] {
        if self.has_procedures { [3, 3, 3, 1, 2] } else { [0; 5] }
    }
}
