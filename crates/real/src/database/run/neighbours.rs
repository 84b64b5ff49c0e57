//! Whether other programs want this machine's processors.

use std::fs;
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// Looks in this many moments; the kernel tells a number of the moment, not a mean.
const LOOKS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(5);
/// Others are busy with at least this part of the cores, as a mean over the looks.
const BUSY_PART: f64 = 0.25;

/// Whether programs other than this thread were computing on a quarter of the cores or more, over the next 0.1 s.
///
/// To be asked before the load begins: the server is idle then, so those are neighbours. False where the kernel tells
/// nothing (`/proc/stat`, `procs_running`, see proc(5)).
pub(super) fn are_busy() -> bool {
    let cores = available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let mut others = 0;
    for _ in 0..LOOKS {
        let Some(running) = fs::read_to_string("/proc/stat").ok().as_deref().and_then(running) else { return false };
        // This thread is one of them.
        others += running.saturating_sub(1);
        thread::sleep(BETWEEN);
    }
    f64::from(others) / f64::from(LOOKS) >= BUSY_PART * cores
}

/// How many threads run or want to, as `/proc/stat` says.
fn running(stat: &str) -> Option<u32> {
    stat.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::hint;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn the_kernel_s_number_is_found() {
        assert_eq!(running("cpu  1 2 3\nbtime 17\nprocs_running 5\nprocs_blocked 0\n"), Some(5));
        assert_eq!(running("cpu  1 2 3\n"), None);
    }

    #[test]
    fn programs_that_compute_on_each_core_are_seen() {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..available_parallelism().map_or(1, Into::into) {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            let seen = are_busy();
            over.store(true, Ordering::Relaxed);
            assert!(seen);
        });
    }
}
