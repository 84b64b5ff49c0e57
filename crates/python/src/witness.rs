//! What tells files apart, for `flatwater.owned`.

use std::borrow::Cow;
use std::os::fd::{BorrowedFd, RawFd};

use flatwater_real::witness;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

fn os_error(error: &std::io::Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), error.to_string()))
}

/// Time of birth, ns since 1970, and handle.
type Told = (Option<i64>, Option<Cow<'static, [u8]>>);

/// When an open file was made, ns since 1970, and its handle; None for what its file system does not tell.
#[pyfunction]
pub fn file_witness(fd: RawFd) -> PyResult<Told> {
    // SAFETY: the caller holds the descriptor open; one that is not makes the calls fail.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let told = witness::witness(file).map_err(|error| os_error(&error))?;
    Ok((told.born_ns, told.handle.map(Cow::Owned)))
}

/// Renames an entry of an open folder to a name that nothing has yet. FileExistsError if something has it.
#[pyfunction]
pub fn rename_new(folder: RawFd, source: &str, target: &str) -> PyResult<()> {
    // SAFETY: as above.
    let at = unsafe { BorrowedFd::borrow_raw(folder) };
    witness::rename_new(at, source, target).map_err(|error| os_error(&error))
}
