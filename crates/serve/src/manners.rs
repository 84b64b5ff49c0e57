//! The settings of a server's threads in the kernel.

/// Sets timers to the nanosecond, and makes the thread not wait for dirty pages: the process may be below a file system, so
/// that only it could clean them. Neither is vital, and the second needs privileges. New threads inherit both.
pub(crate) fn set_manners() {
    const TIMER_SLACK_NS: libc::c_ulong = 1;
    /// Since Linux 5.6; from linux/prctl.h.
    const PR_SET_IO_FLUSHER: libc::c_int = 57;
    // SAFETY: plain numbers.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS);
        libc::prctl(PR_SET_IO_FLUSHER, 1 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong);
    }
}
