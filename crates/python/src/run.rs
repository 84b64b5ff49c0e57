//! Runs, real and modelled, and the intervals that they tell.

use std::sync::Mutex;

use flatwater_core::interval::{Encoded, Interval};
use flatwater_model::database::flushing::Policy;
use flatwater_model::database::{Fleet, Spec as FleetSpec};
use flatwater_model::fileio::{DeviceInterval, Fileio as ModelledFileio};
use flatwater_real::{crew, database, fileio};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::engine_error;
use crate::input::{parse, seconds};
use crate::policy;

/// A workload under way.
#[pyclass(module = "flatwater._engine", frozen)]
pub struct Run(Work);

enum Work {
    Fileio(fileio::Fileio),
    Database(crew::Run),
    /// In virtual time; None when another run went on with its device.
    Modelled(Box<Mutex<Option<Model>>>),
}

/// What is modelled: requests to a device, or a database that makes them.
enum Model {
    Fileio(ModelledFileio),
    Database(Fleet),
}

impl Model {
    fn next_interval(&mut self) -> Option<(Interval, DeviceInterval)> {
        match self {
            Self::Fileio(run) => run.next_interval(),
            Self::Database(run) => run.next_interval(),
        }
    }

    fn stop(&mut self) {
        match self {
            Self::Fileio(run) => run.stop(),
            Self::Database(run) => run.stop(),
        }
    }

    fn failure(&self) -> Option<String> {
        match self {
            Self::Fileio(run) => run.failure(),
            Self::Database(run) => run.failure(),
        }
    }

    fn ended_by(&self) -> Option<String> {
        match self {
            Self::Fileio(run) => run.ended_by(),
            Self::Database(run) => run.failure(),
        }
    }
}

impl Work {
    /// The crew of real threads, where there is one.
    fn crew(&self) -> Result<&crew::Run, &Mutex<Option<Model>>> {
        match self {
            Self::Fileio(fileio) => Ok(fileio.run()),
            Self::Database(run) => Ok(run),
            Self::Modelled(model) => Err(model),
        }
    }
}

#[pymethods]
impl Run {
    /// Opens files and starts reading and writing; `after` continues the verification of an earlier run.
    #[staticmethod]
    #[pyo3(signature = (spec, after=None))]
    fn fileio(py: Python<'_>, spec: &str, after: Option<&Self>) -> PyResult<Self> {
        let spec: fileio::Spec = parse(spec)?;
        let after = match after {
            Some(Self(Work::Fileio(fileio))) => Some(fileio),
            _ => None,
        };
        py.detach(|| fileio::Fileio::start(spec, after)).map(|run| Self(Work::Fileio(run))).map_err(engine_error)
    }

    /// Connects to servers and starts running transactions.
    #[staticmethod]
    fn database(py: Python<'_>, spec: &str) -> PyResult<Self> {
        let spec: database::run::Spec = parse(spec)?;
        py.detach(|| database::run::start(spec)).map(|run| Self(Work::Database(run))).map_err(engine_error)
    }

    /// Makes a modelled device and starts reading and writing it in virtual time; `after` goes on with the device of an
    /// earlier run, which is then over.
    #[staticmethod]
    #[pyo3(signature = (spec, after=None))]
    fn modelled(py: Python<'_>, spec: &str, after: Option<&Self>) -> PyResult<Self> {
        let spec = parse(spec)?;
        py.detach(|| {
            let after = match after {
                Some(Self(Work::Modelled(model))) => model.lock().expect("nothing panics under it").take(),
                _ => None,
            };
            let after = after.and_then(|model| if let Model::Fileio(run) = model { Some(run) } else { None });
            ModelledFileio::start(spec, after)
        })
        .map(|run| Self(Work::Modelled(Box::new(Mutex::new(Some(Model::Fileio(run)))))))
        .map_err(engine_error)
    }

    /// Makes a modelled database on a modelled device and starts running transactions in virtual time; `policies`, one
    /// a server, say what is flushed in the background, in place of the servers' own.
    #[staticmethod]
    #[pyo3(signature = (spec, policies=Vec::new()))]
    fn modelled_database(py: Python<'_>, spec: &str, policies: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let spec: FleetSpec = parse(spec)?;
        let own = |policy| Ok(Box::new(policy::PythonPolicy::new(policy)?) as Box<dyn Policy>);
        let policies = policies.iter().map(own).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| if policies.is_empty() { Fleet::start(spec) } else { Fleet::start_with(spec, policies) })
            .map(|run| Self(Work::Modelled(Box::new(Mutex::new(Some(Model::Database(run)))))))
            .map_err(engine_error)
    }

    /// Bytes that the servers of a modelled database use of each device: the data's, then the others'.
    #[staticmethod]
    fn modelled_database_bytes(py: Python<'_>, spec: &str) -> PyResult<Vec<u64>> {
        let spec: FleetSpec = parse(spec)?;
        py.detach(|| Fleet::used_bytes(&spec)).map_err(engine_error)
    }

    /// The next interval as a dict, or None when `timeout_s` passed; StopIteration when the run is over. A modelled run
    /// takes as long as it must to compute one.
    fn next_interval<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let over = || pyo3::exceptions::PyStopIteration::new_err(());
        match self.0.crew() {
            Ok(run) => match py.detach(|| run.next_interval(seconds(timeout_s))) {
                crew::Next::Interval(interval) => interval_dict(py, &interval, DeviceInterval::default()).map(Some),
                crew::Next::Waiting => Ok(None),
                crew::Next::Over => Err(over()),
            },
            Err(model) => {
                let next = py
                    .detach(|| model.lock().expect("nothing panics under it").as_mut().and_then(Model::next_interval));
                let (interval, device) = next.ok_or_else(over)?;
                interval_dict(py, &interval, device).map(Some)
            }
        }
    }

    /// The next interval as another process can add it to others: start and end in seconds, and its bytes. Else as
    /// `next_interval`. ValueError for a modelled run.
    fn next_part<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<(f64, f64, Bound<'py, PyBytes>)>> {
        let run = self.crew()?;
        match py.detach(|| run.next_interval(seconds(timeout_s))) {
            crew::Next::Interval(interval) => {
                let encoded = serde_json::to_vec(&Encoded::from(&*interval)).map_err(engine_error)?;
                let (start_s, end_s) = (interval.start_ns as f64 / 1e9, interval.end_ns as f64 / 1e9);
                Ok(Some((start_s, end_s, PyBytes::new(py, &encoded))))
            }
            crew::Next::Waiting => Ok(None),
            crew::Next::Over => Err(pyo3::exceptions::PyStopIteration::new_err(())),
        }
    }

    /// Whether all threads of a part are ready and wait for `begin_at`. ValueError for a modelled run.
    fn is_ready(&self) -> PyResult<bool> {
        Ok(self.crew()?.is_ready())
    }

    /// Lets the threads of a part begin at an instant of CLOCK_MONOTONIC, ns. ValueError for a modelled run.
    fn begin_at(&self, monotonic_ns: u64) -> PyResult<()> {
        self.crew()?.begin_at(monotonic_ns);
        Ok(())
    }

    /// When the threads began, ns of CLOCK_MONOTONIC; None before. ValueError for a modelled run.
    fn begun_ns(&self) -> PyResult<Option<u64>> {
        Ok(self.crew()?.begun_ns())
    }

    /// Asks all threads to finish what is outstanding and end.
    fn stop(&self, py: Python<'_>) {
        match self.0.crew() {
            Ok(run) => run.stop(),
            // Whoever computes an interval may wait for the interpreter's lock: nobody waits for him with it.
            Err(model) => py.detach(|| {
                if let Some(run) = model.lock().expect("nothing panics under it").as_mut() {
                    run.stop();
                }
            }),
        }
    }

    /// Waits for the threads to end; False when some are still stuck after `timeout_s`.
    fn join(&self, py: Python<'_>, timeout_s: f64) -> bool {
        self.0.crew().map_or(true, |run| py.detach(|| run.join(seconds(timeout_s))))
    }

    /// The first failure in words, or None.
    fn failure(&self, py: Python<'_>) -> Option<String> {
        match self.0.crew() {
            Ok(run) => run.failure(),
            Err(model) => {
                py.detach(|| model.lock().expect("nothing panics under it").as_ref().and_then(Model::failure))
            }
        }
    }

    /// The failure that ended the run in words; None if it went on after each.
    fn ended_by(&self, py: Python<'_>) -> Option<String> {
        match self.0.crew() {
            Ok(run) => run.ended_by(),
            Err(model) => {
                py.detach(|| model.lock().expect("nothing panics under it").as_ref().and_then(Model::ended_by))
            }
        }
    }

    /// What made the run weaker than asked, in words, or None.
    fn warning(&self) -> Option<String> {
        self.0.crew().ok().and_then(crew::Run::warning)
    }
}

impl Run {
    fn crew(&self) -> PyResult<&crew::Run> {
        self.0.crew().map_err(|_| PyValueError::new_err("a modelled run has no threads"))
    }
}

/// The interval of several hosts together, between two times of their common clock, as `Run.next_interval` gives it. Of
/// each host these are the parts of that time, in their order. ValueError for other bytes, and for parts of different
/// workloads.
#[pyfunction]
pub fn merge_parts<'py>(
    py: Python<'py>,
    hosts: Vec<Vec<Vec<u8>>>,
    start_s: f64,
    end_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let mut together: Option<Interval> = None;
    for host in hosts {
        let mut own: Option<Interval> = None;
        for part in host {
            let part = decode(&part)?;
            own = Some(match own {
                None => part,
                Some(mut own) => {
                    own.follow(&part);
                    own
                }
            });
        }
        match (&mut together, own) {
            (Some(together), Some(own)) if together.is_like(&own) => together.add(&own),
            (Some(_), Some(_)) => return Err(PyValueError::new_err("parts of different workloads")),
            (None, own) => together = own,
            (Some(_), None) => {}
        }
    }
    let mut together = together.ok_or_else(|| PyValueError::new_err("no parts"))?;
    (together.start_ns, together.end_ns) = ((start_s * 1e9).round() as u64, (end_s * 1e9).round() as u64);
    interval_dict(py, &together, DeviceInterval::default())
}

fn decode(bytes: &[u8]) -> PyResult<Interval> {
    let encoded: Encoded = serde_json::from_slice(bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
    encoded.decode().map_err(|error| PyValueError::new_err(error.to_string()))
}

fn interval_dict<'py>(py: Python<'py>, interval: &Interval, device: DeviceInterval) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("start_s", interval.start_ns as f64 / 1e9)?;
    out.set_item("end_s", interval.end_ns as f64 / 1e9)?;
    let metrics = PyDict::new(py);
    for (name, value) in interval.metrics() {
        metrics.set_item(name, value)?;
    }
    out.set_item("metrics", metrics)?;
    let (histograms, totals, counters) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    for (kind, own) in interval.reported.iter().zip(&interval.kinds) {
        totals.set_item(kind.name, (own.operations, own.bytes, own.errors))?;
        if own.latency.count() > 0 {
            histograms.set_item(kind.name, PyBytes::new(py, &own.latency.to_v2()))?;
        }
    }
    for (name, count) in &interval.counters {
        counters.set_item(name, count)?;
    }
    out.set_item("histograms", histograms)?;
    out.set_item("totals", totals)?;
    out.set_item("counters", counters)?;
    out.set_item("cpu_s", interval.cpu.map(|cpu| (cpu.user + cpu.system) as f64 / 1e9))?;
    let storage = PyDict::new(py);
    for (name, value) in device.series {
        storage.set_item(name, value)?;
    }
    out.set_item("storage", storage)?;
    let incidents: Vec<_> = device.incidents.into_iter().map(|one| (one.at_ns as f64 / 1e9, one.text)).collect();
    out.set_item("incidents", incidents)?;
    Ok(out)
}
