//! How fast the modelled InnoDB is: `innodb_speed SPEC.json SECONDS`.
//!
//! Runs a specification as Python hands it over (the `workload_spec` of a cell) for so many seconds of virtual time;
//! says CPU seconds, and of each ten seconds what was done. The digest is of all that a run tells, to the last bit: an
//! engine that was only made faster keeps it.

use std::time::Instant;

use flatwater_core::seed::splitmix;
use flatwater_model::database::{Fleet, Spec};

/// Series that are shown.
const SHOWN: [&str; 10] = [
    "checkpoint_age_bytes",
    "dirty_pct",
    "pages_read_per_s",
    "pages_flushed_adaptive_per_s",
    "pages_flushed_sync_per_s",
    "pages_flushed_lru_per_s",
    "log_bytes_per_s",
    "server_cpu_user_pct",
    "row_lock_waits_per_s",
    "row_lock_time_pct",
];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, seconds] = &arguments[..] else { return Err("usage: innodb_speed SPEC.json SECONDS".into()) };
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut spec: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    spec["interval_ms"] = 10_000.into();
    spec.as_object_mut().ok_or("not an object")?.remove("continue_on_error");
    let spec: Spec = serde_json::from_value(spec).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut run = Fleet::start(spec)?;
    println!("made in {:.2} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let mut digest = 0;
    let seconds: u64 = seconds.parse().map_err(|_| "seconds are a number")?;
    for _ in 0..seconds / 10 {
        let Some((interval, told)) = run.next_interval() else { break };
        let done: Vec<u64> = interval.kinds.iter().map(|kind| kind.operations).collect();
        let shown = |(name, value): &(String, f64)| {
            let name = name.strip_prefix("database.")?;
            SHOWN.contains(&name).then(|| format!("{name} {value:.3e}"))
        };
        let bits = done.iter().copied().chain(told.series.iter().map(|(_, value)| value.to_bits()));
        let latencies =
            interval.kinds.iter().flat_map(|kind| [0.5, 0.99, 1.0].map(|share| kind.latency.quantile_ns(share)));
        digest = bits.chain(latencies).fold(digest, |digest, bits| splitmix(digest ^ bits));
        println!("{done:?} {}", told.series.iter().filter_map(shown).collect::<Vec<_>>().join(", "));
    }
    println!(
        "{seconds} s in {:.2} s; digest {digest:016x}; failure {:?}",
        began.elapsed().as_secs_f64(),
        run.failure()
    );
    Ok(())
}
