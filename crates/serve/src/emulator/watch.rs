//! A device under observation: samples of each interval, its state in the sidecar, and what it tells of itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flatwater_model::storage::Incident;
use serde_json::{Map, Value, json};

use crate::backing::Backing;
use crate::fuse::emulated::{Reply, Told};
use crate::lock::lock;
use crate::service::{Service, Tally};
use crate::sidecar::Sidecar;
use crate::trimmed::Trimmed;

/// How often the sidecar is written, and so how much wear, and which trims, a kill can forget.
const SAVED_EVERY: Duration = Duration::from_secs(5);
/// Samples kept for a reader that does not come: an hour's at one a second.
const SAMPLES_MAX: usize = 3600;
/// Incidents that `stats.json` names.
const INCIDENTS_TOLD: usize = 20;

/// What a device told of one interval.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its end, since the emulator began.
    pub end_s: f64,
    /// Series by name, without the layer.
    pub series: Vec<(String, f64)>,
    /// What happened by itself; times are the emulator's.
    pub incidents: Vec<Incident>,
}

/// What watches the device: it is shared by all threads.
pub(super) struct Watch {
    service: Arc<Service<Reply>>,
    backing: Arc<Backing>,
    sidecar: Sidecar,
    trimmed: Arc<Mutex<Trimmed>>,
    title: String,
    began_ns: u64,
    interval: Duration,
    samples: Mutex<Samples>,
    stopping: AtomicBool,
    /// Why the sidecar could not be written, if it could not.
    trouble: Mutex<Option<String>>,
}

/// What was seen of the device.
#[derive(Default)]
struct Samples {
    waiting: VecDeque<Sample>,
    latest: Sample,
    incidents: VecDeque<Incident>,
}

impl Watch {
    /// Of a device that is served as `title`; its time came to `began_ns` before that.
    pub(super) fn new(
        service: Arc<Service<Reply>>,
        backing: Arc<Backing>,
        sidecar: Sidecar,
        trimmed: Arc<Mutex<Trimmed>>,
        title: String,
        began_ns: u64,
        interval: Duration,
    ) -> Self {
        let (samples, stopping, trouble) = (Mutex::default(), AtomicBool::new(false), Mutex::default());
        Self { service, backing, sidecar, trimmed, title, began_ns, interval, samples, stopping, trouble }
    }

    /// Takes the samples since the last call.
    pub(super) fn take_samples(&self) -> Vec<Sample> {
        lock(&self.samples).waiting.drain(..).collect()
    }

    /// Why the sidecar could not be written, if it could not.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// Lets the thread of `tick` end.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Relaxed);
    }

    /// Samples each interval and keeps the state now and then, until `stop`: the work of one thread.
    pub(super) fn tick(&self) {
        let (mut saved, mut next) = (Instant::now(), Instant::now() + self.interval);
        while !self.stopping.load(Relaxed) {
            let now = Instant::now();
            if now < next {
                std::thread::sleep((next - now).min(Duration::from_millis(100)));
                continue;
            }
            next += self.interval * (1 + ((now - next).as_nanos() / self.interval.as_nanos()) as u32);
            self.sample();
            if saved.elapsed() >= SAVED_EVERY {
                saved = Instant::now();
                self.save();
            }
        }
    }

    fn sample(&self) {
        let mut sample = Sample { end_s: self.service.running().as_secs_f64(), ..Sample::default() };
        sample.incidents = self.service.with_device(|now_ns, device| {
            device.observe(now_ns, &mut sample.series);
            device.incidents()
        });
        for incident in &mut sample.incidents {
            incident.at_ns = incident.at_ns.saturating_sub(self.began_ns);
        }
        let Tally { counts, lag } = self.service.take_tally();
        let mut samples = lock(&self.samples);
        let passed_s = sample.end_s - samples.latest.end_s;
        let per_second = [
            ("reads_per_s", counts.reads),
            ("read_bytes_per_s", counts.read_bytes),
            ("writes_per_s", counts.writes),
            ("write_bytes_per_s", counts.written_bytes),
            ("flushes_per_s", counts.flushes),
            ("trims_per_s", counts.trims),
        ];
        sample.series.extend(per_second.map(|(name, count)| (name.to_owned(), count as f64 / passed_s)));
        sample.series.extend(lag.series());
        samples.latest = sample.clone();
        samples.incidents.extend(sample.incidents.iter().cloned());
        let over = samples.incidents.len().saturating_sub(INCIDENTS_TOLD);
        samples.incidents.drain(..over);
        samples.waiting.push_back(sample);
        if samples.waiting.len() > SAMPLES_MAX {
            samples.waiting.pop_front();
        }
    }

    /// Keeps the device's state.
    pub(super) fn save(&self) {
        let state = self.service.with_device(|_, device| device.state());
        let trimmed = lock(&self.trimmed).ranges();
        let trouble = self.sidecar.save(state.as_deref(), &trimmed).err();
        *lock(&self.trouble) = trouble.map(|error| format!("the device's state cannot be kept: {error}"));
    }
}

impl Told for Watch {
    fn stats(&self) -> String {
        let [mut all, before] = self.service.tally();
        all.merge(&before);
        let Tally { counts, lag } = all;
        let series = |series: Vec<(String, f64)>| -> Map<String, Value> {
            series.into_iter().map(|(name, value)| (name, json!(value))).collect()
        };
        let mut lags = series(lag.series());
        lags.insert("answers".into(), json!(lag.answers()));
        lags.insert("kept_up".into(), json!(lag.kept_up()));
        let samples = lock(&self.samples);
        let incidents: Vec<_> = samples.incidents.iter().map(|one| json!([one.at_ns as f64 / 1e9, one.text])).collect();
        let stats = json!({
            "device": self.title,
            "size_bytes": self.backing.bytes(),
            "allocated_bytes": self.backing.allocated_bytes(),
            "running_s": self.service.running().as_secs_f64(),
            "reads": counts.reads,
            "read_bytes": counts.read_bytes,
            "writes": counts.writes,
            "written_bytes": counts.written_bytes,
            "flushes": counts.flushes,
            "trims": counts.trims,
            "failed": counts.failed,
            "in_flight": self.service.in_flight(),
            "lag": lags,
            "series": series(samples.latest.series.clone()),
            "incidents": incidents,
        });
        format!("{stats:#}\n")
    }

    fn smart(&self) -> String {
        let samples = lock(&self.samples);
        let mut text = format!("{}\n", self.title);
        for (name, value) in samples.latest.series.iter().filter(|(name, _)| !name.starts_with("lag_")) {
            let (name, value) = (name.replace('_', " "), (value * 1000.0).round() / 1000.0);
            text += &format!("{name:<28} {value}\n");
        }
        for incident in &samples.incidents {
            text += &format!("at {:.1} s: {}\n", incident.at_ns as f64 / 1e9, incident.text);
        }
        text
    }
}
