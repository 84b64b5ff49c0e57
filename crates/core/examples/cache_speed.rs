//! What the cache's engine itself costs: ns of CPU a request, and bytes of memory a block. Its IOs end at once, its data
//! are nowhere; the pages of its journal are made as for a real device, with their checksums. Every number is a line
//! `name value unit`. The driver's own work (random numbers, a queue of IOs) is in it.
//!
//! `cargo run --release -p flatwater-core --example cache_speed [GiB of cache]`

use std::collections::{BTreeMap, VecDeque};
use std::fs::read_to_string;
use std::io;
use std::ops::Range;

use flatwater_core::cache::journal::recovery::{Blocks, Devices, Layout, Sizes, format, recover};
use flatwater_core::cache::{Admission, Command, Engine, Io, Kind, NoData, Out, Request, Settings};
use flatwater_core::seed::{Rng, stream};
use rand::Rng as _;

const BLOCK: u32 = 16 << 10;
/// Requests under way at once.
const DEPTH: usize = 32;

/// A device of which only what was written is kept.
struct Sparse {
    bytes: u64,
    pages: BTreeMap<u64, [u8; PAGE]>,
}

const PAGE: usize = 4096;

impl Sparse {
    fn new(bytes: u64) -> Self {
        Self { bytes, pages: BTreeMap::new() }
    }
}

/// A range in pieces that lie in one page each: where they begin, and which part of the range they are.
fn parts(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let first = PAGE - offset as usize % PAGE;
    let ends = std::iter::once(first).chain((first + PAGE..).step_by(PAGE));
    let begins = std::iter::once(0).chain((first..).step_by(PAGE));
    begins.zip(ends).take_while(move |(begin, _)| *begin < bytes).map(move |(begin, end)| {
        let part = begin..end.min(bytes);
        (offset + part.start as u64, part)
    })
}

fn devices([fast, slow, pair]: &mut [Sparse; 3]) -> Devices<'_> {
    Devices { fast, slow, pair }
}

impl Blocks for Sparse {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        for (at, part) in parts(offset, into.len()) {
            let page = self.pages.get(&(at / PAGE as u64)).unwrap_or(&[0; PAGE]);
            into[part.clone()].copy_from_slice(&page[at as usize % PAGE..][..part.len()]);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        for (at, part) in parts(offset, from.len()) {
            let page = self.pages.entry(at / PAGE as u64).or_insert([0; PAGE]);
            page[at as usize % PAGE..][..part.len()].copy_from_slice(&from[part]);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

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
        let mut disks = [layout.fast_bytes, slow_bytes, PAGE as u64].map(Sparse::new);
        format(devices(&mut disks), &layout, Sizes::default(), false).expect("it can be laid out");
        let recovered = recover(devices(&mut disks), false).expect("it was made");
        let engine = Engine::new(settings, recovered, 0).expect("the settings are possible");
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
            self.step();
        }
        cpu_s() - before
    }

    /// Ends the oldest IO, if there is one, 1 µs after the one before.
    fn step(&mut self) {
        self.now_ns += 1000;
        if let Some(io) = self.under_way.pop_front() {
            self.engine.ended(self.now_ns, io.id, Ok(()), &mut self.memory, &mut self.out);
            self.collect();
        }
        if self.engine.next_ns().is_some_and(|next| next <= self.now_ns) {
            self.engine.tick(self.now_ns, &mut self.memory, &mut self.out);
            self.collect();
        }
    }

    /// Until all that was asked for has ended.
    fn work(&mut self) {
        while self.ended < self.tag {
            self.step();
        }
    }
}

impl Run {
    /// Writes all that is dirty back; the seconds of CPU it took a block.
    fn write_back(&mut self) -> f64 {
        let dirty = self.engine.statistics(self.now_ns).dirty_blocks;
        let before = cpu_s();
        self.tag += 1;
        self.engine.command(self.now_ns, self.tag, Command::WriteBack(None), &mut self.memory, &mut self.out);
        self.collect();
        self.work();
        (cpu_s() - before) / dirty as f64
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
    // All blocks are clean: each new one takes the place of one of them, until half are dirty.
    let new = slots / 2;
    let took_s = run.requests(new, Kind::Write, blocks(&mut rng, slots * 10));
    println!("write_miss_ns {:.0} ns", took_s * 1e9 / new as f64);
    println!("write_back_ns {:.0} ns", run.write_back() * 1e9);

    let mut run = Run::new(Settings::default(), slots, slots * 10);
    run.requests(slots, Kind::Write, blocks(&mut rng, slots * 10));
    println!("write_steady_ns {:.0} ns", ns(run.requests(count, Kind::Write, blocks(&mut rng, slots * 10))));
    let told = run.engine.statistics(run.now_ns);
    println!("memory_mixed_bytes {:.1} B/block", told.memory_bytes_per_slot);
    println!("write_amplification {:.3} x", told.write_amplification);
    let share = told.metadata_bytes_written as f64 / told.user_bytes_cached as f64;
    println!("metadata_amplification {share:.3} x");
}
