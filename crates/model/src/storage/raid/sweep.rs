//! The elevator over the rows whose dirty lines go to the members.

/// Where it is, and how many rows it still has to pass because they have waited for long enough.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    next_row: u64,
    rows_left: usize,
    /// The next sweep's time is set.
    armed: bool,
}

impl Sweep {
    /// Whether the time of the next sweep must be set: it is not yet, and is from now on.
    pub(super) fn arm(&mut self) -> bool {
        !std::mem::replace(&mut self.armed, true)
    }

    /// A sweep over so many rows begins. Whether the time of the next one must be set: while anything is dirty.
    pub(super) fn begin(&mut self, rows: usize, is_dirty: bool) -> bool {
        self.rows_left = rows;
        self.armed = is_dirty;
        is_dirty
    }

    /// Whether rows are still to be passed.
    pub(super) fn is_under_way(&self) -> bool {
        self.rows_left > 0
    }

    /// The row from which on it looks for the next.
    pub(super) fn next_row(&self) -> u64 {
        self.next_row
    }

    /// It passes a row.
    pub(super) fn pass(&mut self, row: u64) {
        self.next_row = row + 1;
        self.rows_left = self.rows_left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_armed_once_and_passes_as_many_rows_as_were_dirty() {
        let mut sweep = Sweep::default();
        assert!(sweep.arm() && !sweep.arm());
        assert!(sweep.begin(2, true) && !sweep.arm());
        sweep.pass(7);
        assert!(sweep.is_under_way() && sweep.next_row() == 8);
        sweep.pass(9);
        assert!(!sweep.is_under_way());
        assert!(!sweep.begin(0, false) && sweep.arm());
    }
}
