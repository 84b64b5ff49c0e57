//! What was counted of a workload on a real server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::ids::PageNo;
use super::touch::Touch;

/// What was counted on a real server (`workloads/` of the Python package). What is absent follows from the columns' sizes
/// and from what is logged of each change, see docs/models/innodb.md.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measured {
    /// Bytes of redo: tpcc has `transaction`, a New-Order with its companions of the deck; oltp has `index_update`,
    /// `non_index_update`, `delete_insert` and `transaction`, a commit. With one of them, those that are absent are 0:
    /// what they make is in the others.
    pub redo_bytes: BTreeMap<String, f64>,
    /// Rows of a leaf page, by `table.index`.
    pub rows_a_page: BTreeMap<String, u32>,
    /// How the server's optimizer guesses how many rows there are.
    pub optimizer: Optimizer,
}

/// Which pages are looked at for a guess, and how.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Of the other index before an update. Here a look makes no page younger. In the server it does; docs/models/innodb.md
    /// says why the model does not follow yet.
    #[default]
    Mariadb,
    /// Of the primary key too, when what is asked for is in another index; and looking makes a page young as any use does
    /// (buf_page_get_gen: all but a peek do). Counted on a MySQL 5.5.9.
    Mysql,
    /// As `Mysql`, but of another index it uses that index's own columns alone. Later optimizers, and MariaDB's, use the
    /// primary key's behind them (`use_index_extensions` since MySQL 5.6.9, `extended_keys`).
    Mysql55,
}

impl Optimizer {
    /// The look at a page.
    pub(super) fn look(self, page: PageNo) -> Touch {
        match self {
            Self::Mariadb => Touch::glance(page),
            Self::Mysql | Self::Mysql55 => Touch::read(page),
        }
    }
}

impl Measured {
    /// Rows of a leaf page of an index that was counted, else `derived`.
    pub(super) fn rows(&self, index: &str, derived: u32) -> u32 {
        self.rows_a_page.get(index).map_or(derived, |rows| (*rows).max(1))
    }

    /// By how much a kind of change makes more redo than the `derived` bytes.
    pub(super) fn redo_scale(&self, kind: &str, derived: f64) -> f64 {
        if self.redo_bytes.is_empty() {
            return 1.0;
        }
        self.redo_bytes.get(kind).map_or(0.0, |bytes| bytes.max(0.0) / derived)
    }
}

/// So many bytes, scaled.
pub(super) fn scaled(bytes: u16, scale: f64) -> u16 {
    // The cast holds what is too large at the largest.
    (f64::from(bytes) * scale + 0.5) as u16
}
