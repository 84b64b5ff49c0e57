//! Whether other programs want this machine's processors.

use std::fs;
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// Looks in this many moments; the kernel tells a number of the moment, not a mean.
const LOOKS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(5);
/// Others are busy with at least this part of the cores, as a mean over the looks.
const BUSY_PART: f64 = 0.25;

/// Whether other programs were computing on a quarter of the cores or more, over the next 0.1 s.
///
/// To be asked before the load begins: the server is idle then, so those are neighbours. False where the kernel tells
/// nothing (`/proc/stat`, `procs_running`, see proc(5)).
pub(super) fn are_busy() -> bool {
    let cores = available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let mut others = 0;
    for _ in 0..LOOKS {
        let Some(running) = fs::read_to_string("/proc/stat").ok().as_deref().and_then(running) else { return false };
        others += running.saturating_sub(own_running());
        thread::sleep(BETWEEN);
    }
    f64::from(others) / f64::from(LOOKS) >= BUSY_PART * cores
}

/// How many threads run or want to, as `/proc/stat` says.
fn running(stat: &str) -> Option<u32> {
    stat.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}

/// How many of them are threads of this program: it begins other work while it asks. This thread is one.
fn own_running() -> u32 {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 1 };
    let stats = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter(|stat| state(stat) == Some('R')).count() as u32
}

/// The state of a thread, as its `stat` says behind its name in brackets.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use std::hint;
    use std::process::Command;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn the_kernel_s_number_is_found() {
        assert_eq!(running("cpu  1 2 3\nbtime 17\nprocs_running 5\nprocs_blocked 0\n"), Some(5));
        assert_eq!(running("cpu  1 2 3\n"), None);
        assert_eq!(state("17 (a name) R 2) S 1 17"), Some('S'));
    }

    #[test]
    fn threads_of_this_program_are_told_from_others() {
        let (over, began) = (AtomicBool::new(false), Barrier::new(3));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    began.wait();
                    while !over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            began.wait();
            let own = own_running();
            over.store(true, Ordering::Relaxed);
            assert!(own >= 3, "this thread, and two that compute: {own}");
        });
    }

    #[test]
    fn programs_that_compute_on_each_core_are_seen() {
        let cores = available_parallelism().map_or(1, Into::into);
        let mut programs: Vec<_> = (0..cores)
            .map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("there is a shell"))
            .collect();
        let seen = are_busy();
        for program in &mut programs {
            program.kill().expect("it runs");
            program.wait().expect("it was killed");
        }
        assert!(seen);
    }
}
