//! The journal of the file system in which the data files lie.
//!
//! The sync of a data file commits the journal, with the data before it (ordered mode): one commit after another. A write to
//! a log that goes through the kernel's cache sets the file's time, and its inode belongs to the commit that is under way:
//! the write waits for the commit.

/// The journal.
#[derive(Debug)]
pub(super) struct Journal {
    /// What a commit takes for each page that was written since the last one, ns.
    page_ns: u64,
    /// Pages written since the last commit began.
    pages: u64,
    /// When the last commit ends.
    free_ns: u64,
}

impl Journal {
    /// An empty journal, whose commit takes so many ns for each page.
    pub(super) const fn new(page_ns: u64) -> Self {
        Self { page_ns, pages: 0, free_ns: 0 }
    }

    /// So many pages were written.
    pub(super) const fn note_written(&mut self, pages: u64) {
        self.pages += pages;
    }

    /// Begins a commit, behind the one that is under way. Returns when it ends.
    pub(super) fn commit(&mut self, now_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + std::mem::take(&mut self.pages) * self.page_ns;
        self.free_ns
    }

    /// When the commit that is under way ends; None when there is none.
    pub(super) fn busy_until_ns(&self, now_ns: u64) -> Option<u64> {
        (self.free_ns > now_ns).then_some(self.free_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_takes_its_time_for_each_page_once_and_waits_for_the_one_before() {
        let mut journal = Journal::new(10);
        journal.note_written(5);
        assert_eq!((journal.commit(100), journal.busy_until_ns(149)), (150, Some(150)));
        journal.note_written(2);
        assert_eq!(journal.commit(120), 170);
        assert_eq!((journal.commit(400), journal.busy_until_ns(400)), (400, None), "nothing was written since");
    }
}
