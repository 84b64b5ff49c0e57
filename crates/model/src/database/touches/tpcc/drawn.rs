//! Who draws the transactions of a thread: the generators of the real drivers.

use flatwater_core::workload::tpcc::Variant;
use flatwater_core::workload::tpcc::inputs::{Client, Input, Terminal};

/// The client of one thread.
pub(super) enum Drawn {
    /// A terminal of tpcc-mysql or of the specification, with its deck.
    Terminal(Terminal),
    /// A client of another program, and the warehouses of a set of its tables.
    Client(Client, u32),
}

impl Drawn {
    /// Client `index` of so many `clients`, on so many warehouses of each set of tables. `waits`: it keys and thinks.
    pub(super) fn new(variant: Variant, warehouses: u32, waits: bool, seed: u64, index: u32, clients: u32) -> Self {
        let number = u64::from(index);
        match variant {
            Variant::TpccMysql => Self::Terminal(Terminal::new(warehouses, waits, seed, number)),
            other => Self::Client(Client::new(other, warehouses, waits, seed, number, clients.into()), warehouses),
        }
    }

    /// The next transaction. The sets of tables lie one after another: warehouses are counted over all of them.
    pub(super) fn next_input(&mut self) -> Input {
        match self {
            Self::Terminal(own) => own.next_input(),
            Self::Client(own, warehouses) => {
                let (set, input) = own.next_input();
                input.further((set - 1) * *warehouses)
            }
        }
    }

    /// Keying time before and think time after a transaction of this kind, ns.
    pub(super) fn times_ns(&mut self, kind: usize) -> (u64, u64) {
        match self {
            Self::Terminal(own) => own.times_ns(kind),
            Self::Client(own, _) => own.times_ns(kind),
        }
    }
}
