//! Where the sessions' time goes: what each connection's thread does or waits for, added up over an interval.
//!
//! The model knows where each of its threads is. So nothing is estimated from rates and mean times, and the places add up
//! to the number of sessions.

use super::super::ids::ThreadNo;

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Place {
    /// It uses a core.
    Running,
    /// It could run, and waits for a core.
    CpuQueue,
    /// It waits for the mutexes that all threads of the server share.
    Mutexes,
    /// Between a statement's answer and the next statement: the network, and the client.
    Away,
    /// Its client keys or thinks.
    Thinking,
    /// A page is read.
    Read,
    /// It is about to change a page that is being written.
    PageLatch,
    /// Another transaction has locked the row.
    RowLock,
    /// Its commit waits for the redo log, or for the binary log.
    Commit,
    /// No frame is free for a page.
    FreePage,
    /// Another thread writes the log, or its buffer is full.
    LogBuffer,
    /// The redo log is at its limit.
    LogRoom,
}

impl Place {
    const COUNT: usize = Self::SERIES.len();

    /// The series of each place, in the order of the places: the mean number of sessions there.
    const SERIES: [&str; 12] = [
        "sessions_running",
        "sessions_in_cpu_queue",
        "sessions_in_mutexes",
        "sessions_away",
        "sessions_thinking",
        "sessions_reading",
        "sessions_in_page_latches",
        "sessions_in_row_locks",
        "sessions_committing",
        "sessions_in_free_page_waits",
        "sessions_in_log_buffer_waits",
        "sessions_in_log_room_waits",
    ];
}

/// The parts of a burst of work, one after another.
const PARTS: [Place; 4] = [Place::CpuQueue, Place::Running, Place::Mutexes, Place::Away];

/// A burst, as it was booked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Booked {
    /// When each of its parts ends, in their order. A part that takes no time ends with the one before it.
    pub(super) ends_ns: [u64; PARTS.len()],
}

/// What a thread does since a moment.
#[derive(Clone, Copy, Debug)]
enum Stay {
    At(Place),
    /// Work. What it lasts longer than booked, it waits for the log.
    Burst(Booked),
    /// It has ended, or has not begun.
    Nowhere,
}

/// The threads of all connections.
#[derive(Debug)]
pub(super) struct Places {
    stays: Vec<(Stay, u64)>,
    /// Of this interval, by place.
    sums_ns: [u64; Place::COUNT],
}

impl Places {
    /// So many connections, which have not begun. Threads with higher numbers are nobody's sessions, and are not counted.
    pub(super) fn new(connections: u32) -> Self {
        Self { stays: vec![(Stay::Nowhere, 0); connections as usize], sums_ns: [0; Place::COUNT] }
    }

    /// A thread waits from now on.
    pub(super) fn enter(&mut self, thread: ThreadNo, place: Place, now_ns: u64) {
        self.stay(thread, Stay::At(place), now_ns);
    }

    /// A thread works from now on.
    pub(super) fn begin_burst(&mut self, thread: ThreadNo, booked: Booked, now_ns: u64) {
        self.stay(thread, Stay::Burst(booked), now_ns);
    }

    /// A thread has ended.
    pub(super) fn leave(&mut self, thread: ThreadNo, now_ns: u64) {
        self.stay(thread, Stay::Nowhere, now_ns);
    }

    fn stay(&mut self, thread: ThreadNo, stay: Stay, now_ns: u64) {
        if let Some(own) = self.stays.get_mut(thread.index()) {
            add(*own, now_ns, &mut self.sums_ns);
            *own = (stay, now_ns);
        }
    }

    /// The interval ends now. Returns the mean number of sessions in each place, with the series' names; the next one begins.
    pub(super) fn take(&mut self, from_ns: u64, now_ns: u64) -> [(&'static str, f64); Place::COUNT] {
        for own in &mut self.stays {
            add(*own, now_ns, &mut self.sums_ns);
            own.1 = now_ns;
        }
        let (sums_ns, length_ns) = (std::mem::take(&mut self.sums_ns), (now_ns - from_ns).max(1));
        std::array::from_fn(|place| (Place::SERIES[place], sums_ns[place] as f64 / length_ns as f64))
    }
}

/// Adds what a thread has done up to now.
fn add((stay, since_ns): (Stay, u64), now_ns: u64, sums_ns: &mut [u64; Place::COUNT]) {
    match stay {
        Stay::Nowhere => {}
        Stay::At(place) => sums_ns[place as usize] += now_ns - since_ns,
        Stay::Burst(booked) => {
            let mut from_ns = since_ns;
            for (place, end_ns) in PARTS.into_iter().zip(booked.ends_ns) {
                let end_ns = end_ns.clamp(from_ns, now_ns);
                sums_ns[place as usize] += end_ns - from_ns;
                from_ns = end_ns;
            }
            sums_ns[Place::LogBuffer as usize] += now_ns - from_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadNo = ThreadNo::new(1);

    /// The places with sessions in them.
    fn told(places: &mut Places, from_ns: u64, now_ns: u64) -> Vec<(&'static str, f64)> {
        places.take(from_ns, now_ns).into_iter().filter(|(_, sessions)| *sessions > 0.0).collect()
    }

    #[test]
    fn a_wait_goes_on_in_the_next_interval() {
        let mut places = Places::new(2);
        places.enter(THREAD, Place::Commit, 0);
        places.enter(ThreadNo::new(0), Place::Read, 50);
        places.enter(THREAD, Place::RowLock, 80);
        assert_eq!(
            told(&mut places, 0, 100),
            [("sessions_reading", 0.5), ("sessions_in_row_locks", 0.2), ("sessions_committing", 0.8)]
        );
        places.leave(ThreadNo::new(0), 100);
        assert_eq!(told(&mut places, 100, 300), [("sessions_in_row_locks", 1.0)]);
    }

    #[test]
    fn a_burst_is_shared_out_among_its_parts_and_an_interval_may_end_within_one() {
        let mut places = Places::new(2);
        let booked = Booked { ends_ns: [10, 40, 40, 100] };
        places.begin_burst(THREAD, booked, 0);
        assert_eq!(told(&mut places, 0, 20), [("sessions_running", 0.5), ("sessions_in_cpu_queue", 0.5)]);
        places.enter(THREAD, Place::Commit, 120);
        let rest = [("sessions_running", 0.2), ("sessions_away", 0.6), ("sessions_in_log_buffer_waits", 0.2)];
        assert_eq!(told(&mut places, 20, 120), rest, "it waited for the log for longer than it was booked");
    }

    #[test]
    fn threads_of_no_connection_are_not_counted() {
        let mut places = Places::new(1);
        places.enter(THREAD, Place::Read, 0);
        assert_eq!(told(&mut places, 0, 10), []);
    }
}
