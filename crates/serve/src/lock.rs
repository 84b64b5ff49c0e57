//! Locks whose holder may have panicked: what they guard is whole between two statements.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whoever panicked with it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
