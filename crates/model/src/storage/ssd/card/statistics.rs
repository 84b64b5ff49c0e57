//! What a module has counted.

use super::super::statistics::{Counts, State, Statistics};
use super::Card;

impl Card {
    /// The counts since the module was made, or began anew.
    pub(super) fn counts(&self) -> Counts {
        let ftl = self.flash.counters();
        let mut counts = self.flash.counts;
        counts.host_bytes = self.host_bytes;
        counts.host_pages = ftl.host_pages;
        counts.relocated_pages = ftl.relocated_pages;
        counts.erases = ftl.erases;
        counts.dies_ns = self.flash.dies_busy_ns();
        counts.link_ns = [self.link_in.busy_ns, self.link_out.busy_ns];
        counts
    }

    /// The statistics of the time since the last call.
    pub fn take_statistics(&mut self, now_ns: u64) -> Statistics {
        let (ftl, counts) = (self.flash.counters(), self.counts());
        self.buffer.settle(now_ns);
        let mut state = State::new(&ftl, &self.flash.layout, self.spec.wear.rated_cycles);
        state.interval_ns = now_ns - self.counted.1;
        state.buffer_bytes = self.buffer.len() * self.flash.layout.page_bytes();
        let statistics = Statistics { counts: counts.since(&self.counted.0), state };
        self.counted = (counts, now_ns);
        statistics
    }
}
