//! flatwater's engine as a Python module: translation only. What it does stands in the other crates; its Python
//! signatures stand in `python/flatwater/_engine.pyi`, which stubtest holds against this.

mod cache;
mod emulator;
mod errors;
mod histogram;
mod input;
mod policy;
mod preparation;
mod resting_cache;
mod results;
mod run;
mod schema;
mod server;
mod statement;
mod trace;
mod witness;

use pyo3::prelude::*;

/// The engine.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::cache::{CacheServer, cache_mount, cache_settings};
    #[pymodule_export]
    use super::emulator::Emulator;
    #[pymodule_export]
    use super::errors::EngineError;
    #[pymodule_export]
    use super::histogram::Histogram;
    #[pymodule_export]
    use super::preparation::{Load, Prepare, purge};
    #[pymodule_export]
    use super::resting_cache::{CacheTask, cache_inspect, cache_make};
    #[pymodule_export]
    use super::results::{results_read, results_stamps};
    #[pymodule_export]
    use super::run::{Run, merge_parts};
    #[pymodule_export]
    use super::schema::plan_schemas;
    #[pymodule_export]
    use super::server::{Connection, check_consistency, requires_tls};
    #[pymodule_export]
    use super::statement::{query_log_mixing, query_log_sendable, query_log_told, sql_statement};
    #[pymodule_export]
    use super::trace::{
        cache_policies, trace_convert, trace_formats, trace_simulate, trace_summary, trace_tells_objects,
    };
    #[pymodule_export]
    use super::witness::{file_witness, rename_new};
}
