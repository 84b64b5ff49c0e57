//! A load from its beginning to its end: the schema is taken, filled, and marked as complete.

use std::sync::atomic::Ordering::SeqCst;

use super::failure::Failure;
use super::fill::fill;
use super::job::Job;
use super::marks::{self, Refused};
use super::refusal::exists;
use super::spec::DatasetSpec;
use super::statements;
use crate::database::connection::{Connection, Login};

/// Does the whole load.
pub fn load(job: &Job) {
    if let Err(failure) = run(job) {
        failure.end(job);
    }
}

fn run(job: &Job) -> Result<(), Failure> {
    let login = Login { schema: None, ..job.spec.login.clone() };
    let mut control = Connection::open(&login, job.stop.clone()).map_err(Failure::at("cannot connect"))?;
    control
        .query("SET SESSION autocommit = 1, sql_mode = 'STRICT_TRANS_TABLES'")
        .map_err(Failure::at("cannot set up the session"))?;
    let done = match marks::claim(&mut control, &job.schema, &job.spec.dataset.description()) {
        Ok(done) => done,
        Err(Refused::Server(error)) => return Err(Failure { what: "cannot take the schema".into(), error }),
        Err(Refused::Because(why)) => {
            job.fail(why);
            return Ok(());
        }
    };
    if marks::is_complete(&done) {
        job.done_rows.store(job.chunks.iter().map(|chunk| chunk.rows).sum(), SeqCst);
        job.indexes.store(true, SeqCst);
        return Ok(());
    }
    if let DatasetSpec::Sql { setup } = &job.spec.dataset {
        if let Err(what) = statements::run(job, &mut control, setup, &done) {
            if !job.stop.load(SeqCst) {
                job.fail(what);
            }
            return Ok(());
        }
        return marks::complete(&mut control).map_err(Failure::at("cannot mark the schema as complete"));
    }
    for sql in job.dataset.create() {
        match control.query(&sql) {
            Ok(_) => {}
            Err(error) if exists(&error) => {}
            Err(error) => return Err(Failure { what: "cannot make the tables".into(), error }),
        }
    }
    fill(job, &done);
    if job.stop.load(SeqCst) {
        return Ok(());
    }
    marks::complete(&mut control).map_err(Failure::at("cannot mark the schema as complete"))
}
