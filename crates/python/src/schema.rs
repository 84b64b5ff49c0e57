//! What the engine's doors take, as JSON schemas: `tests/plan/test_mirror.py` holds the classes of
//! `python/flatwater/plan` against them, field by field.

use flatwater_core::cache::Settings;
use flatwater_model::database::Spec as ModelledDatabase;
use flatwater_model::fileio::Spec as ModelledFileio;
use flatwater_real::database::connection::Login;
use flatwater_real::database::{load, run};
use flatwater_real::permit::Permit;
use flatwater_real::{fileio, prepare};
use flatwater_serve::cache::Spec as CacheServer;
use flatwater_serve::emulator;
use pyo3::prelude::*;
use schemars::schema_for;
use serde_json::json;

use crate::cache::{Exported, Order};
use crate::resting_cache::{Places, Wanted};

/// JSON: the schema of what each door of the engine takes, by the name of its class in `flatwater.plan`.
#[pyfunction]
pub fn plan_schemas() -> String {
    json!({
        "RealFileio": schema_for!(fileio::Spec),
        "RealDatabase": schema_for!(run::Spec),
        "ModelledFileio": schema_for!(ModelledFileio),
        "ModelledDatabase": schema_for!(ModelledDatabase),
        "Preparation": schema_for!(prepare::Spec),
        "Loading": schema_for!(load::Spec),
        "Login": schema_for!(Login),
        "Permit": schema_for!(Permit),
        "EmulatedDevice": schema_for!(emulator::Spec),
        "CacheServer": schema_for!(CacheServer),
        "Export": schema_for!(Exported),
        "Order": schema_for!(Order),
        "CachePlaces": schema_for!(Places),
        "NewCache": schema_for!(Wanted),
        "CacheSettings": schema_for!(Settings),
    })
    .to_string()
}
