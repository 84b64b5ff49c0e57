//! Why a load ended early.

use std::sync::atomic::Ordering::SeqCst;

use super::job::Job;
use super::refusal::hint;
use crate::database::connection::SqlError;

/// What failed, and what it was at.
pub(super) struct Failure {
    pub(super) what: String,
    pub(super) error: SqlError,
}

impl Failure {
    /// Names what was being done when a statement failed.
    pub(super) fn at(what: impl Into<String>) -> impl FnOnce(SqlError) -> Self {
        let what = what.into();
        move |error| Self { what, error }
    }

    /// Makes it the load's failure, unless there is one, and stops everyone.
    pub(super) fn end(&self, job: &Job) {
        // Connections that were given up because of a stop are no failure of their own.
        if matches!(self.error, SqlError::Abandoned) && job.stop.load(SeqCst) {
            return;
        }
        let Self { what, error } = self;
        let (schema, address) = (&job.schema, &job.spec.login.address);
        job.fail(format!("loading schema {schema} on {address}: {what}: {error}{}", hint(error)));
    }
}
