//! The pages of the change buffer, behind those of all tables.

use flatwater_core::interval::Kind;

use super::super::ids::PageNo;
use super::super::touches::{LookedUp, Touch, Touches};

/// The name of the change buffer among tables.
pub(in super::super) const TABLE: &str = "change_buffer";

/// A workload's touches, with the change buffer's pages behind its own.
pub(super) struct WithRoom {
    touches: Box<dyn Touches>,
    tables: Vec<(String, PageNo)>,
    pages: u32,
}

impl WithRoom {
    /// Adds so many pages from `first` on, behind all tables.
    pub(super) fn new(touches: Box<dyn Touches>, first: u32, pages: u32) -> Self {
        let mut tables = touches.tables().to_vec();
        tables.push((TABLE.to_owned(), PageNo::new(first)));
        Self { touches, tables, pages: first.saturating_add(pages) }
    }
}

impl Touches for WithRoom {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn tables(&self) -> &[(String, PageNo)] {
        &self.tables
    }

    fn looked_up(&self) -> Vec<LookedUp> {
        self.touches.looked_up()
    }

    fn kinds(&self) -> &'static [Kind] {
        self.touches.kinds()
    }

    fn next(&mut self, thread: u32, out: &mut Vec<Touch>) -> usize {
        self.touches.next(thread, out)
    }

    fn take_rollbacks(&mut self) -> u64 {
        self.touches.take_rollbacks()
    }

    fn times_ns(&mut self, thread: u32, kind: usize) -> (u64, u64) {
        self.touches.times_ns(thread, kind)
    }
}
