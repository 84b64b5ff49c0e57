//! The run's clock: nanoseconds of CLOCK_MONOTONIC since the run began, and this process's CPU time.

use std::time::{Duration, Instant};

/// One clock for every thread of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// Sleeps until this clock shows `at_ns`.
    pub fn sleep_until(&self, at_ns: u64) {
        let now = self.now_ns();
        if at_ns > now {
            std::thread::sleep(Duration::from_nanos(at_ns - now));
        }
    }
}

/// CLOCK_MONOTONIC, ns: the clock that the threads of all processes of this machine share.
pub fn monotonic_now_ns() -> u64 {
    // SAFETY: clock_gettime fills the struct that we own; zeros are valid for it.
    let now = unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time that this process has used so far: (user, system) in ns.
pub fn process_cpu_ns() -> (u64, u64) {
    // SAFETY: getrusage fills the struct that we own; zeros are valid for it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}
