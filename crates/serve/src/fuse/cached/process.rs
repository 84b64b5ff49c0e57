//! Whose thread asks: the kernel tells threads, and people name processes.

use std::collections::BTreeMap;

/// A number of a thread that ended is given to another sooner or later: what was found is believed so long.
const BELIEVED_NS: u64 = 5_000_000_000;
/// Threads that are remembered.
const THREADS_MAX: usize = 4096;

/// The processes of threads, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Processes {
    known: BTreeMap<u32, (u32, u64)>,
}

impl Processes {
    /// The process of a thread; the thread itself if it is gone or cannot be seen, 0 for the kernel's own.
    pub fn of(&mut self, thread: u32, now_ns: u64) -> u32 {
        if thread == 0 {
            return 0;
        }
        if let Some((process, until_ns)) = self.known.get(&thread)
            && now_ns < *until_ns
        {
            return *process;
        }
        if self.known.len() >= THREADS_MAX {
            self.known.clear();
        }
        let process = look_up(thread).unwrap_or(thread);
        self.known.insert(thread, (process, now_ns + BELIEVED_NS));
        process
    }
}

fn look_up(thread: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_belong_to_processes() {
        let mut processes = Processes::default();
        // SAFETY: it cannot fail.
        let thread = std::thread::spawn(|| unsafe { libc::gettid() } as u32);
        let own = std::process::id();
        assert_eq!(processes.of(own, 0), own);
        assert_eq!(processes.of(0, 0), 0);
        // SAFETY: it cannot fail.
        let found = std::thread::spawn(|| Processes::default().of(unsafe { libc::gettid() } as u32, 0));
        assert_eq!(found.join().unwrap(), own);
        let gone = thread.join().unwrap();
        assert_eq!(Processes::default().of(gone, 0), gone, "of one that is gone, the thread is all that is known");
    }
}
