//! How fast the flash translation layer is: `ftl_speed [POLICY [UTILISATION [UNITS [PAGES_PER_UNIT [STEP]]]]]`.
//! STEP is how many pages are relocated at a time.
//!
//! It prints host pages a CPU second and nanoseconds a programmed page for uniform random writes in steady state, and how
//! long each initial state took. 25,559,040 pages of 16 KiB are a card of 390 GiB.

use std::time::Instant;

use flatwater_core::seed::stream;
use flatwater_model::storage::ssd::ftl::{Ftl, Geometry, Initial, Lpn, Policy, Wear, theory};
use rand::RngCore;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: f64| -> Result<f64, String> {
        arguments.get(place).map_or(Ok(otherwise), |text| text.parse().map_err(|_| format!("{text} is not a number")))
    };
    let name = arguments.first().map_or("greedy", String::as_str);
    let policy = match name {
        "greedy" => Policy::Greedy,
        "fifo" => Policy::Fifo,
        "random" => Policy::Random,
        "cost-benefit" => Policy::CostBenefit,
        _ => match name.strip_prefix("d-choices-").and_then(|text| text.parse().ok()) {
            Some(choices) => Policy::DChoices { choices },
            None => return Err(format!("no policy {name}: greedy, fifo, random, cost-benefit, d-choices-10")),
        },
    };
    let u = number(1, 0.8)?;
    let (units, pages_per_unit) = (number(2, 99_840.0)? as u32, number(3, 256.0)? as u32);
    let step = number(4, 64.0)? as u32;
    let frontiers = 1;
    let usable = f64::from((units - 3) * pages_per_unit);
    let geometry = Geometry { units, pages_per_unit, logical_pages: (usable * u) as u32, frontiers };
    println!("{name}, u = {u}, {units} units of {pages_per_unit} pages, {} logical pages", geometry.logical_pages);
    for (label, simulate) in [("filled and overwritten", true), ("jumped to", false)] {
        let began = Stopwatch::begin();
        let initial = Initial::Preconditioned { simulate };
        let mut ftl = Ftl::new(geometry, policy, Wear::NONE, initial, geometry.logical_pages, 1)?;
        println!("{label}: {:.2} CPU s", began.seconds());
        let (seconds, amplification, per_program_ns) = measure(&mut ftl, step, u64::from(geometry.logical_pages));
        println!(
            "  then {:.2} M host pages a CPU s, {per_program_ns:.1} ns a programmed page, write amplification {amplification:.4} \
             (theory {:.4})",
            f64::from(geometry.logical_pages) / seconds / 1e6,
            theory::write_amplification(policy, u, pages_per_unit),
        );
    }
    Ok(())
}

/// Writes as many pages at random as there are logical pages.
fn measure(ftl: &mut Ftl, step: u32, writes: u64) -> (f64, f64, f64) {
    let logical = u64::from(ftl.geometry().logical_pages);
    let (mut random, mut moved) = (stream(2, "speed", 0), Vec::new());
    let before = ftl.counters();
    let began = Stopwatch::begin();
    let mut batch = [Lpn::new(0); 32];
    for _ in 0..writes / 32 {
        // A device that knows its queue prefetches like this.
        for lpn in &mut batch {
            *lpn = Lpn::new(((u128::from(random.next_u64()) * u128::from(logical)) >> 64) as u32);
            ftl.prefetch(*lpn);
        }
        for lpn in batch {
            while ftl.room() == 0 {
                ftl.begin_collection().expect("nothing wears");
                moved.clear();
                while !ftl.relocate(step, &mut moved) {}
                ftl.end_collection();
            }
            ftl.write(lpn);
        }
    }
    let seconds = began.seconds();
    let after = ftl.counters();
    let programmed = writes + after.relocated_pages - before.relocated_pages;
    (seconds, programmed as f64 / writes as f64, seconds * 1e9 / programmed as f64)
}

/// Measures CPU seconds of this thread if the system counts them, and wall-clock seconds otherwise.
struct Stopwatch {
    clock: Instant,
    cpu_ns: Option<u64>,
}

impl Stopwatch {
    fn cpu_ns() -> Option<u64> {
        std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
    }

    fn begin() -> Self {
        Self { clock: Instant::now(), cpu_ns: Self::cpu_ns() }
    }

    fn seconds(&self) -> f64 {
        match (self.cpu_ns, Self::cpu_ns()) {
            // The count goes up in ticks of the scheduler.
            (Some(before), Some(after)) if after > before => (after - before) as f64 / 1e9,
            _ => self.clock.elapsed().as_secs_f64(),
        }
    }
}
