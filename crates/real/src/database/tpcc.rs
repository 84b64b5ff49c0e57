//! TPC-C on a server with tpcc-mysql's statements: one by one in its order, or back to back where no statement needs the
//! reply to another.
//!
//! What tpcc-mysql computes wrongly is done right, where its statements allow it: money is decimal and not a float, the
//! data of customers with bad credit changes (it sends them their old data), the amount of a Payment has cents, an order
//! that another Delivery took is not delivered twice.

mod check;
mod consistency;
mod data;
mod delivery;
mod layout;
mod new_order;
mod order_status;
mod payment;
mod rows;
mod session;
mod stock_level;
mod sysbench_tpcc;
mod tables;
mod text;
mod tproc_c;

use flatwater_core::workload::tpcc::Variant;
use flatwater_core::workload::tpcc::inputs::{self, Client, Input};
use schemars::JsonSchema;
use serde::Deserialize;

pub use check::check;
pub use consistency::{Condition, check_consistency};
pub use data::TpccData;
pub use flatwater_core::workload::tpcc::KINDS;
pub use layout::Tables;
pub(super) use text::Clock;

use flatwater_core::seed::splitmix;

use super::connection::{Connection, SqlError};
use super::terminal::{Choice, Outcome, Terminal};
use delivery::Deliveries;
use new_order::Order;
use order_status::order_status;
use payment::Payer;
use session::Session;
use stock_level::Items;
use sysbench_tpcc::SysbenchTpcc;
use tproc_c::TprocC;

/// The workload, resolved: every field is checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    /// Whose transactions.
    #[serde(default)]
    pub variant: Variant,
    /// Warehouses that are used, at least 1.
    pub warehouses: u32,
    /// Not tpcc-mysql's, nor HammerDB's: statements that do not need each other's replies are sent back to back.
    pub pipeline: bool,
    /// Not tpcc-mysql's: terminals key and think, and stay at one warehouse, as the specification says.
    pub keying_and_think: bool,
}

/// Terminal `terminal` of `connections` (0..connections) of a variant; all draws follow from the seed and its number.
pub fn terminal(spec: &TpccSpec, terminal: u64, connections: u64, seed: u64) -> Box<dyn Terminal> {
    let warehouses = spec.warehouses.max(1);
    let client = || Client::new(spec.variant, warehouses, spec.keying_and_think, seed, terminal, connections);
    match spec.variant {
        Variant::TpccMysql => Box::new(Tpcc::new(spec, terminal, connections, seed)),
        Variant::SysbenchTpcc { .. } => Box::new(SysbenchTpcc::new(client())),
        Variant::TprocC { .. } => {
            let draws = splitmix(seed ^ splitmix(terminal));
            Box::new(TprocC::new(client(), warehouses, draws, spec.pipeline))
        }
    }
}

/// One of tpcc-mysql's connections, or one terminal of the specification.
pub struct Tpcc {
    terminal: inputs::Terminal,
    input: Option<Input>,
    session: Session,
    order: Order,
    payer: Payer,
    deliveries: Deliveries,
    items: Items,
}

impl Tpcc {
    /// Terminal `terminal` of `connections` (0..connections); all draws follow from the seed and its number.
    pub fn new(spec: &TpccSpec, terminal: u64, connections: u64, seed: u64) -> Self {
        debug_assert!(terminal < connections, "terminal {terminal} of {connections}");
        Self {
            terminal: inputs::Terminal::new(spec.warehouses.max(1), spec.keying_and_think, seed, terminal),
            input: None,
            session: Session::new(spec.pipeline),
            order: Order::default(),
            payer: Payer::default(),
            deliveries: Deliveries::default(),
            items: Items::default(),
        }
    }
}

impl Terminal for Tpcc {
    fn attach(&mut self, connection: &mut Connection) -> Result<(), SqlError> {
        self.session.attach(connection)
    }

    fn choose(&mut self) -> Choice {
        let input = self.terminal.next_input();
        let kind = input.kind();
        let (keying_ns, think_ns) = self.terminal.times_ns(kind);
        self.input = Some(input);
        self.deliveries.begin();
        Choice { kind, keying_ns, think_ns }
    }

    fn attempt(&mut self, connection: &mut Connection) -> Result<Outcome, SqlError> {
        let input = self.input.as_ref().expect("a transaction is chosen before it is attempted");
        let session = &mut self.session;
        match input {
            Input::NewOrder(order) => self.order.run(session, connection, order),
            Input::Payment(payment) => self.payer.run(session, connection, payment),
            Input::OrderStatus(customer) => order_status(session, connection, customer),
            Input::Delivery(delivery) => self.deliveries.run(session, connection, delivery),
            Input::StockLevel(level) => self.items.run(session, connection, level),
        }
    }
}
