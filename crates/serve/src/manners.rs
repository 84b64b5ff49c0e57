//! What the threads of a server ask of the kernel.

/// Timers to the nanosecond; no waiting for dirty pages that only this process can make clean, for it may stand below a
/// file system. Neither is vital, and the second needs privileges. Threads that the calling one starts inherit both.
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
