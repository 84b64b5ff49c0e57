//! The sweep over the rows, in the order of an elevator, that writes dirty lines to the members.

use super::ids::RowNo;

/// Where the sweep is, and how many rows it still has to pass.
#[derive(Debug)]
pub(super) struct Sweep {
    next_row: RowNo,
    rows_left: usize,
    /// The time of the next sweep is set.
    armed: bool,
}

impl Sweep {
    /// No sweep yet.
    pub(super) const fn new() -> Self {
        Self { next_row: RowNo::new(0), rows_left: 0, armed: false }
    }

    /// Returns whether the caller must set the time of the next sweep. From now on that counts as set.
    pub(super) fn arm(&mut self) -> bool {
        !std::mem::replace(&mut self.armed, true)
    }

    /// Begins a sweep over `rows` rows. Returns whether the caller must set the time of the next sweep, which is so while
    /// any line is dirty.
    pub(super) fn begin(&mut self, rows: usize, is_dirty: bool) -> bool {
        self.rows_left = rows;
        self.armed = is_dirty;
        is_dirty
    }

    /// Whether it still has rows to pass.
    pub(super) fn is_under_way(&self) -> bool {
        self.rows_left > 0
    }

    /// The row from which it searches for the next dirty one.
    pub(super) fn next_row(&self) -> RowNo {
        self.next_row
    }

    /// Passes a row.
    pub(super) fn pass(&mut self, row: RowNo) {
        self.next_row = RowNo::new(row.number() + 1);
        self.rows_left = self.rows_left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_armed_once_and_passes_as_many_rows_as_were_dirty() {
        let mut sweep = Sweep::new();
        assert!(sweep.arm() && !sweep.arm());
        assert!(sweep.begin(2, true) && !sweep.arm());
        sweep.pass(RowNo::new(7));
        assert!(sweep.is_under_way() && sweep.next_row() == RowNo::new(8));
        sweep.pass(RowNo::new(9));
        assert!(!sweep.is_under_way());
        assert!(!sweep.begin(0, false) && sweep.arm());
    }
}
