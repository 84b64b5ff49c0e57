//! The threads of a load at work: rows in parallel, then what follows them.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::dataset::Chunk;
use super::failure::Failure;
use super::job::Job;
use super::marks::{self, Done};
use super::plan::{Next, Plan, Task};
use super::session::Session;

/// How long a wait for other threads lasts before it is looked whether the load goes on.
const LOOK_UP: Duration = Duration::from_millis(100);
/// The step that is the statements after the rows.
const FINISH: &str = "finish";
/// Parts of that step that belong to one list of statements: none is so long.
const FINISH_PARTS: u64 = 1000;

/// What the threads of `fill` share.
struct Filling<'a> {
    job: &'a Job,
    done: &'a Done,
    lists: Vec<Vec<String>>,
    plan: Mutex<Plan>,
    /// Something was done.
    progress: Condvar,
}

/// Loads the rows and does what follows them, with as many sessions as the load has threads.
pub(super) fn fill(job: &Job, done: &Done) {
    let is_done = |chunk: &Chunk| done.contains(&(marks::rows_step(&chunk.table), chunk.part));
    job.done_rows.store(job.chunks.iter().filter(|chunk| is_done(chunk)).map(|chunk| chunk.rows).sum(), SeqCst);
    let left = job.chunks.iter().enumerate().filter(|(_, chunk)| !is_done(chunk));
    let lists = job.dataset.finish();
    let waits = (0..lists.len()).map(|list| job.dataset.finishes(list));
    let plan = Plan::new(left.map(|(index, chunk)| (index, chunk.table.as_str())), waits);
    job.indexes.store(plan.has_rows(), SeqCst);
    let filling = Filling { job, done, lists, plan: Mutex::new(plan), progress: Condvar::new() };
    thread::scope(|scope| {
        for _ in 0..job.spec.threads.max(1) {
            scope.spawn(|| {
                if let Err(failure) = filling.work() {
                    failure.end(job);
                }
                // Those who wait for this thread's work must not wait for ever.
                filling.progress.notify_all();
            });
        }
    });
}

impl Filling<'_> {
    fn work(&self) -> Result<(), Failure> {
        let mut session = None;
        while let Some(task) = self.next() {
            let session = match &mut session {
                Some(session) => session,
                none => none.insert(Session::open(self.job).map_err(Failure::at("cannot connect"))?),
            };
            match task {
                Task::Rows(index) => self.load(session, &self.job.chunks[index])?,
                Task::Finish(list) => self.finish(session, list)?,
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Task> {
        let mut plan = self.plan.lock().expect("no thread panics here");
        loop {
            if self.job.stop.load(SeqCst) {
                return None;
            }
            match plan.take() {
                Next::Do(task) => return Some(task),
                Next::End => return None,
                Next::Wait => {
                    let waited = self.progress.wait_timeout(plan, LOOK_UP).expect("no thread panics here");
                    plan = waited.0;
                }
            }
        }
    }

    fn load(&self, session: &mut Session, chunk: &Chunk) -> Result<(), Failure> {
        let loaded = session.load(self.job, chunk);
        loaded.map_err(Failure::at(format!("part {} of table {}", chunk.part, chunk.table)))?;
        self.job.done_rows.fetch_add(chunk.rows, SeqCst);
        let mut plan = self.plan.lock().expect("no thread panics here");
        plan.done(&chunk.table);
        self.job.indexes.store(plan.has_rows(), SeqCst);
        self.progress.notify_all();
        Ok(())
    }

    fn finish(&self, session: &mut Session, list: usize) -> Result<(), Failure> {
        for (sql, place) in self.lists[list].iter().zip(0..) {
            let part = list as u64 * FINISH_PARTS + place;
            if !self.done.contains(&(FINISH.to_owned(), part)) {
                session.change(sql, FINISH, part).map_err(Failure::at(beginning(sql)))?;
            }
        }
        Ok(())
    }
}

/// A statement by its first words: `ALTER TABLE order_line`.
fn beginning(sql: &str) -> String {
    sql.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
