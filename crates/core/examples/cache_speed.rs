//! What the cache's engine itself costs: ns of CPU a request, and bytes of memory a block. Its IOs end at once, its data
//! are nowhere. Every number is a line `name value unit`.
//!
//! `cargo run --release -p flatwater-core --example cache_speed [GiB of cache]`

use std::collections::VecDeque;
use std::fs::read_to_string;

use flatwater_core::cache::journal::recovery::{Layout, Recovered};
use flatwater_core::cache::{Admission, Engine, Io, Kind, NoData, Out, Request, Settings};
use flatwater_core::seed::{Rng, stream};
use rand::Rng as _;

const BLOCK: u32 = 16 << 10;
/// Requests under way at once.
const DEPTH: usize = 32;

struct Run {
    engine: Engine,
    memory: NoData,
    out: Out,
    under_way: VecDeque<Io>,
    now_ns: u64,
    tag: u64,
    ended: u64,
}

impl Run {
    fn new(settings: Settings, slots: u64, blocks: u64) -> Self {
        let slow_bytes = blocks * u64::from(BLOCK);
        let layout = Layout {
            uuid: [1; 16],
            // What the journal and the checkpoints take besides.
            fast_bytes: slots * u64::from(BLOCK) + (16 << 20) + slots * 64,
            slow_bytes,
            block_bytes: BLOCK,
        };
        let engine = Engine::new(settings, Recovered::fresh(layout), 0).expect("the settings are possible");
        let memory = NoData::default();
        Self { engine, memory, out: Out::default(), under_way: VecDeque::new(), now_ns: 0, tag: 0, ended: 0 }
    }

    fn collect(&mut self) {
        self.under_way.extend(self.out.ios.drain(..));
        self.ended += self.out.answers.len() as u64;
        self.out.answers.clear();
    }

    /// Requests of blocks that `next` gives, `DEPTH` at once; the seconds of CPU it took.
    fn requests(&mut self, count: u64, kind: Kind, mut next: impl FnMut() -> u64) -> f64 {
        let before = cpu_s();
        let end = self.tag + count;
        while self.ended < end {
            while self.tag < end && self.tag - self.ended < DEPTH as u64 {
                self.tag += 1;
                let offset = next() * u64::from(BLOCK);
                let request = Request { tag: self.tag, kind, offset, bytes: BLOCK, durable: false, process: 0 };
                self.engine.submit(self.now_ns, request, &mut self.memory, &mut self.out);
                self.collect();
            }
            let Some(io) = self.under_way.pop_front() else { continue };
            self.now_ns += 1000;
            self.engine.ended(self.now_ns, io.id, Ok(()), &mut self.memory, &mut self.out);
            self.collect();
            if self.engine.next_ns().is_some_and(|next| next <= self.now_ns) {
                self.engine.tick(self.now_ns, &mut self.memory, &mut self.out);
                self.collect();
            }
        }
        cpu_s() - before
    }
}

/// CPU time of this process so far (it has one thread), s: other programs on the machine do not count.
fn cpu_s() -> f64 {
    let told = read_to_string("/proc/self/schedstat").expect("Linux tells it");
    let ns: f64 = told.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("ns come first");
    ns / 1e9
}

fn blocks(rng: &mut Rng, count: u64) -> impl FnMut() -> u64 {
    move || rng.random_range(0..count)
}

fn main() {
    let gib: u64 = std::env::args().nth(1).map_or(4, |text| text.parse().expect("GiB of cache, a number"));
    let slots = (gib << 30) / u64::from(BLOCK);
    let settings =
        Settings { admission: Admission::All, dirty_high_pct: 100.0, dirty_low_pct: 100.0, ..Settings::default() };
    let mut rng = stream(1, "cache speed", 0);
    let count = 2_000_000;

    let mut run = Run::new(settings.clone(), slots, slots * 10);
    let held = slots * 9 / 10;
    let mut block = 0;
    let ns = |seconds: f64| seconds * 1e9 / count as f64;
    run.requests(held, Kind::Read, || {
        block += 1;
        block - 1
    });
    println!("read_hit_ns {:.0} ns", ns(run.requests(count, Kind::Read, blocks(&mut rng, held))));
    println!("write_hit_ns {:.0} ns", ns(run.requests(count, Kind::Write, blocks(&mut rng, held))));
    let told = run.engine.statistics(run.now_ns);
    println!("memory_dirty_bytes {:.1} B/block", told.memory_bytes_per_slot);

    let mut run = Run::new(settings, slots, slots * 10);
    run.requests(2 * slots, Kind::Read, blocks(&mut rng, slots * 10));
    println!("read_miss_ns {:.0} ns", ns(run.requests(count, Kind::Read, blocks(&mut rng, slots * 10))));
    let told = run.engine.statistics(run.now_ns);
    println!("memory_bytes {:.1} B/block", told.memory_bytes_per_slot);

    let mut run = Run::new(Settings::default(), slots, slots * 10);
    run.requests(slots, Kind::Write, blocks(&mut rng, slots * 10));
    println!("write_miss_ns {:.0} ns", ns(run.requests(count, Kind::Write, blocks(&mut rng, slots * 10))));
    let told = run.engine.statistics(run.now_ns);
    println!("memory_mixed_bytes {:.1} B/block", told.memory_bytes_per_slot);
    println!("write_amplification {:.3} x", told.write_amplification);
    let share = told.metadata_bytes_written as f64 / told.user_bytes_cached as f64;
    println!("metadata_amplification {share:.3} x");
}
