//! Reads the log ahead of the sessions, and gives each recorded connection one of them.

use std::collections::HashMap;

use flatwater_core::workload::query_log::{Entry, Reader};

use super::job::Job;
use super::told::Source;
use crate::Error;

/// Reads the log.
pub(super) struct Feeder<'a> {
    job: &'a Job,
    reader: Reader<Source>,
}

impl<'a> Feeder<'a> {
    pub(super) fn new(job: &'a Job, reader: Reader<Source>) -> Self {
        Self { job, reader }
    }

    /// Reads to the log's end, or the run's.
    pub(super) fn feed(mut self) {
        let mut seats = Seats::new(if self.job.shared { 1 } else { self.job.connections as usize });
        // The ends behind the last statement are those of the run.
        let mut ends: Vec<Entry> = Vec::new();
        loop {
            let next = self.reader.next_entry();
            let tally = self.reader.tally();
            self.job.note_told(tally.unread, tally.notes);
            match next {
                Ok(Some(entry)) if entry.ends => ends.push(entry),
                Ok(Some(entry)) => {
                    for end in ends.drain(..) {
                        if let Some(seat) = seats.leave(end.session) {
                            self.job.queues.add(seat, end, || self.job.crew.stopping());
                        }
                    }
                    let queue = if self.job.shared { 0 } else { seats.seat(entry.session) };
                    if !self.job.queues.add(queue, entry, || self.job.crew.stopping()) {
                        break;
                    }
                }
                Ok(None) => break,
                Err(what) => {
                    let (log, line) = (self.job.spec.log.display(), self.reader.tally().lines);
                    self.job.crew.fail(Error::Workload(format!("{log}:{line}: {what}")));
                    break;
                }
            }
        }
        self.job.queues.end();
    }
}

/// Which recorded connection has which session.
struct Seats {
    of: HashMap<u64, usize>,
    /// Of each session: the recorded connections that are open, and when one was used last, in statements.
    seats: Vec<(usize, u64)>,
    statements: u64,
}

impl Seats {
    fn new(sessions: usize) -> Self {
        Self { of: HashMap::new(), seats: vec![(0, 0); sessions], statements: 0 }
    }

    /// The session of a recorded connection. A new one gets one of those with the fewest, and of them that which was not
    /// used for longest: where a log tells no ends, a connection that is silent may be over.
    fn seat(&mut self, connection: u64) -> usize {
        self.statements += 1;
        let seat = *self.of.entry(connection).or_insert_with(|| {
            let free = (0..self.seats.len()).min_by_key(|seat| self.seats[*seat]).unwrap_or(0);
            self.seats[free].0 += 1;
            free
        });
        self.seats[seat].1 = self.statements;
        seat
    }

    /// The session that a connection had, which is over; None of one that had none.
    fn leave(&mut self, connection: u64) -> Option<usize> {
        let seat = self.of.remove(&connection)?;
        self.seats[seat].0 -= 1;
        Some(seat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_connections_share_a_session_only_where_there_are_more_of_them() {
        let mut seats = Seats::new(3);
        // By their remainder, 7, 10 and 13 would share one.
        assert_eq!([7, 10, 13].map(|connection| seats.seat(connection)), [0, 1, 2]);
        assert_eq!([10, 7, 13].map(|connection| seats.seat(connection)), [1, 0, 2]);
        assert_eq!(seats.leave(7), Some(0));
        assert_eq!([16, 10, 13, 16].map(|connection| seats.seat(connection)), [0, 1, 2, 0]);
        assert_eq!([19, 10].map(|connection| seats.seat(connection)), [1, 1], "the one that was silent for longest");
        assert_eq!(seats.leave(99), None);
    }
}
