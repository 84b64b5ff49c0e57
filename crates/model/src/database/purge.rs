//! Purge of a MariaDB: what threads besides those of connections do to the rows that transactions have changed.
//!
//! When nobody needs a row's history any more, MariaDB (since 10.3) writes into the row that it has none (MDEV-12288:
//! row_purge_reset_trx_id). So each inserted or changed row's page is used and changed once more, some time after its
//! transaction: in a small pool it is read again, and written again. MySQL's purge changes only rows and index entries that are
//! marked as deleted. That is not modelled: of TPC-C these are rows of `new_orders`, whose pages are in memory anyway.
//!
//! Each second the master thread wakes a coordinator, if it sleeps (wake_if_not_active). It takes one batch of transactions
//! after another, gives all pages of a table to one of its threads, and waits for them (trx_purge_attach_undo_recs,
//! trx_purge). It takes only transactions that had ended before the oldest one under way began: that one may read rows as they
//! were. When there are none, the coordinator sleeps.

use std::collections::VecDeque;

use super::generation::Generation;
use super::ids::{PageNo, ThreadNo};
use super::settings::Settings;
use super::touches::Touch;

/// A transaction that has ended, and whose rows are to be purged.
#[derive(Debug)]
struct Log {
    ended_ns: u64,
    pages: Vec<PageNo>,
}

/// The coordinator and its threads.
#[derive(Debug)]
pub(super) struct Purge {
    /// The first page behind the undo logs.
    rows_from: PageNo,
    /// The first of its threads, and how many there are.
    first: u32,
    threads: u32,
    /// Most undo logs of a batch.
    batch_logs: usize,
    /// Of these, how many work on the batch under way.
    working: u32,
    /// What is to be purged: the history list.
    history: VecDeque<Log>,
}

impl Purge {
    /// The purge of a server with these tables, and threads from this number on; None where it touches no page that is
    /// modelled.
    pub(super) fn of_server(
        generation: Generation,
        settings: &Settings,
        first: u32,
        tables: &[(String, PageNo)],
    ) -> Option<Self> {
        let rows_from = tables.iter().find(|(name, _)| name != "undo").map_or(PageNo::new(0), |(_, first)| *first);
        generation.is_mariadb().then(|| Self {
            rows_from,
            first,
            // The server takes 0 for 1.
            threads: settings.innodb_purge_threads.max(1),
            batch_logs: settings.innodb_purge_batch_size as usize,
            working: 0,
            history: VecDeque::new(),
        })
    }

    /// How many threads it has.
    pub(super) const fn threads(&self) -> u32 {
        self.threads
    }

    /// Transactions that are to be purged.
    pub(super) fn history_length(&self) -> usize {
        self.history.len()
    }

    /// A transaction that made these changes is committed. Entries of secondary indexes have no history of their own.
    pub(super) fn add<'a>(&mut self, ended_ns: u64, changes: impl Iterator<Item = &'a Touch>) {
        let rows = changes.filter(|touch| !touch.is_bufferable() && touch.page >= self.rows_from);
        let pages: Vec<PageNo> = rows.map(|touch| touch.page).collect();
        if !pages.is_empty() {
            self.history.push_back(Log { ended_ns, pages });
        }
    }

    /// Whether there is something to purge, and nobody does it.
    pub(super) fn is_idle(&self) -> bool {
        self.working == 0 && !self.history.is_empty()
    }

    /// Takes the next batch, of transactions that had ended when the oldest one under way began: what each thread does.
    /// `table_of`: the number of a page's table.
    pub(super) fn begin_batch(
        &mut self,
        oldest_ns: Option<u64>,
        table_of: impl Fn(PageNo) -> u8,
    ) -> Vec<(ThreadNo, Vec<Touch>)> {
        let ended = |log: &Log| oldest_ns.is_none_or(|oldest_ns| log.ended_ns < oldest_ns);
        let logs = self.history.iter().take(self.batch_logs).take_while(|log| ended(log)).count();
        let mut tables: Vec<u8> = Vec::new();
        let mut work: Vec<Vec<Touch>> = vec![Vec::new(); self.threads as usize];
        for page in self.history.drain(..logs).flat_map(|log| log.pages) {
            let table = table_of(page);
            let at = tables.iter().position(|other| *other == table).unwrap_or_else(|| {
                tables.push(table);
                tables.len() - 1
            });
            // Its redo is part of what was measured of a transaction.
            work[at % self.threads as usize].push(Touch::change(page, 0));
        }
        let threads = work.into_iter().enumerate().filter(|(_, touches)| !touches.is_empty());
        let batch: Vec<_> = threads.map(|(at, touches)| (ThreadNo::new(self.first + at as u32), touches)).collect();
        self.working = batch.len() as u32;
        batch
    }

    /// A thread has done all that it had to do. True: it is one of these.
    pub(super) fn rest(&mut self, thread: ThreadNo) -> bool {
        let own = (self.first..self.first + self.threads).contains(&thread.number());
        self.working -= u32::from(own);
        own
    }
}

#[cfg(test)]
mod tests {
    use super::super::generation::CleanerGeneration;
    use super::super::settings::tests::settings;
    use super::*;

    fn purge_of(threads: u32, batch_logs: u32) -> Purge {
        let tables = [("undo", 0), ("rows", 10)].map(|(name, first)| (name.into(), PageNo::new(first)));
        let settings = Settings { innodb_purge_threads: threads, innodb_purge_batch_size: batch_logs, ..settings() };
        Purge::of_server(Generation::Cleaner(CleanerGeneration::Mariadb1011), &settings, 8, &tables).unwrap()
    }

    fn purge() -> Purge {
        purge_of(4, 127)
    }

    fn add(purge: &mut Purge, ended_ns: u64, numbers: &[u32]) {
        let changes: Vec<Touch> = numbers.iter().map(|number| Touch::change(PageNo::new(*number), 50)).collect();
        purge.add(ended_ns, changes.iter());
    }

    /// Which thread changes which pages; tables have ten pages each.
    fn batch(purge: &mut Purge, oldest_ns: Option<u64>) -> Vec<(u32, Vec<u32>)> {
        let batch = purge.begin_batch(oldest_ns, |page| (page.number() / 10) as u8);
        let numbers = |touches: Vec<Touch>| touches.iter().map(|touch| touch.page.number()).collect();
        batch.into_iter().map(|(thread, touches)| (thread.number(), numbers(touches))).collect()
    }

    #[test]
    fn a_table_is_one_threads_and_the_next_batch_waits_for_all() {
        let mut purge = purge();
        add(&mut purge, 5, &[3, 11, 25]);
        add(&mut purge, 6, &[4]);
        add(&mut purge, 7, &[12, 31, 41, 51]);
        assert_eq!(purge.history_length(), 2, "who has changed no row has none, and undo logs are no rows");
        let expected = [(8, vec![11, 12, 51]), (9, vec![25]), (10, vec![31]), (11, vec![41])];
        assert_eq!(batch(&mut purge, None), expected);
        add(&mut purge, 8, &[11]);
        for thread in 8..12 {
            assert!(!purge.is_idle() && purge.rest(ThreadNo::new(thread)));
        }
        assert!(!purge.rest(ThreadNo::new(7)), "a connection's");
        assert!(purge.is_idle());
        assert_eq!(batch(&mut purge, None), [(8, vec![11])]);
    }

    #[test]
    fn what_a_transaction_under_way_may_read_stays() {
        let mut purge = purge();
        (5..8).for_each(|ended_ns| add(&mut purge, ended_ns, &[10 + ended_ns as u32]));
        assert_eq!(batch(&mut purge, Some(5)), []);
        assert!(purge.is_idle(), "it may try again");
        assert_eq!(batch(&mut purge, Some(7)), [(8, vec![15, 16])]);
        assert_eq!(purge.history_length(), 1);
    }

    #[test]
    fn a_batch_has_so_many_logs_at_most() {
        let mut purge = purge();
        (0..200).for_each(|ended_ns| add(&mut purge, ended_ns, &[11]));
        assert_eq!(batch(&mut purge, None)[0].1.len(), 127);
    }

    #[test]
    fn it_has_as_many_threads_and_as_large_batches_as_the_settings_say() {
        let mut purge = purge_of(1, 2);
        (5..8).for_each(|ended_ns| add(&mut purge, ended_ns, &[11, 25]));
        assert_eq!(batch(&mut purge, None), [(8, vec![11, 25, 11, 25])]);
        assert!(!purge.rest(ThreadNo::new(9)) && purge.rest(ThreadNo::new(8)));
    }

    #[test]
    fn mysql_has_none() {
        assert!(Purge::of_server(Generation::Cleaner(CleanerGeneration::Mysql80), &settings(), 8, &[]).is_none());
    }
}
