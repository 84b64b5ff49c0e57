//! Two devices in memory, an executor that ends IOs in any order, and what reads may return.

use std::collections::BTreeMap;

use rand::Rng as _;

use crate::cache::journal::recovery::{Layout, Recovered};
use crate::cache::{
    Block, BufferId, Command, Engine, Failure, Io, IoKind, Kind, Memory, Out, Place, Request, Settings, Side,
};
use crate::seed::{Rng, stream};
use crate::slab::Key;

/// Memory of requests and buffers.
#[derive(Default)]
pub(super) struct Room {
    pub(super) requests: BTreeMap<u64, Vec<u8>>,
    buffers: Vec<Option<Vec<u8>>>,
}

impl Room {
    pub(super) fn at(&mut self, place: Place, bytes: u32) -> &mut [u8] {
        let (memory, at) = match place {
            Place::Request { tag, at } => (self.requests.get_mut(&tag).expect("the request is under way"), at),
            Place::Buffer { buffer, at } => {
                (self.buffers[buffer.number() as usize].as_mut().expect("it was not given back"), at)
            }
            Place::Nowhere => return &mut [],
        };
        &mut memory[at as usize..(at + bytes) as usize]
    }

    pub(super) fn buffers(&self) -> usize {
        self.buffers.iter().flatten().count()
    }
}

impl Memory for Room {
    fn take(&mut self, bytes: u32) -> BufferId {
        self.buffers.push(Some(vec![0xee; bytes as usize]));
        BufferId::from_number(self.buffers.len() as u32 - 1)
    }

    fn give(&mut self, buffer: BufferId) {
        self.buffers[buffer.number() as usize].take().expect("given back once");
    }

    fn copy(&mut self, from: Place, to: Place, bytes: u32) {
        let data = self.at(from, bytes).to_vec();
        self.at(to, bytes).copy_from_slice(&data);
    }

    fn zero(&mut self, at: Place, bytes: u32) {
        self.at(at, bytes).fill(0);
    }

    fn checksum(&mut self, at: Place, bytes: u32) -> u32 {
        crc32c::crc32c(self.at(at, bytes))
    }

    fn store(&mut self, at: Place, bytes: &[u8]) {
        self.at(at, bytes.len() as u32).copy_from_slice(bytes);
    }
}

/// A write of one sector: what it wrote, when it was asked for, when it was done or first seen.
#[derive(Clone, Copy, Debug)]
struct Version {
    id: u64,
    began: u64,
    ended: u64,
}

/// Devices, engine, requests under way, and the model of what is right.
pub(super) struct Bench {
    pub(super) engine: Engine,
    pub(super) room: Room,
    pub(super) out: Out,
    pub(super) fast: Vec<u8>,
    pub(super) slow: Vec<u8>,
    pub(super) now_ns: u64,
    pub(super) pending: Vec<Io>,
    pub(super) answers: BTreeMap<u64, Result<(), Failure>>,
    pub(super) told: Vec<String>,
    pub(super) rng: Rng,
    /// Says which IOs fail.
    pub(super) fails: fn(&Io) -> bool,
    pub(super) done: Vec<Io>,
    /// The pairing records that were written.
    pub(super) pairs: Vec<Vec<u8>>,
    /// The setting `ordered` may be switched on.
    pub(super) keeps_order: bool,
    under_way: BTreeMap<u64, (Request, u64)>,
    next_tag: u64,
    moment: u64,
    sectors: Vec<Vec<Version>>,
}

impl Bench {
    pub(super) fn new(settings: Settings, blocks: u64, slots: u64, block_bytes: u32, seed: u64) -> Self {
        // A short last block, too.
        let slow_bytes = blocks * u64::from(block_bytes) + 1536;
        let fast_bytes = (1 << 20) + slots * u64::from(block_bytes);
        let layout = Layout { uuid: [7; 16], fast_bytes, slow_bytes, block_bytes };
        let engine = Engine::new(settings, Recovered::fresh(layout), 0).unwrap();
        let sectors = (slow_bytes / 512) as usize;
        Self {
            engine,
            room: Room::default(),
            out: Out::default(),
            fast: vec![0xdd; fast_bytes as usize],
            slow: vec![0; slow_bytes as usize],
            now_ns: 0,
            pending: Vec::new(),
            answers: BTreeMap::new(),
            told: Vec::new(),
            rng: stream(seed, "bench", 0),
            fails: |_| false,
            done: Vec::new(),
            pairs: Vec::new(),
            keeps_order: true,
            under_way: BTreeMap::new(),
            next_tag: 1,
            moment: 1,
            sectors: vec![vec![Version { id: 0, began: 0, ended: 0 }]; sectors],
        }
    }

    fn collect(&mut self) {
        self.engine.check_epochs();
        if self.moment.is_multiple_of(16) {
            self.engine.check_sweep();
        }
        self.pending.append(&mut self.out.ios);
        self.told.extend(self.out.told.drain(..).map(|told| told.text));
        for (tag, result) in std::mem::take(&mut self.out.answers) {
            self.moment += 1;
            if let Some((request, began)) = self.under_way.remove(&tag) {
                self.trace(&format!("answers {request:?}: {result:?}"), request.offset, request.bytes);
                self.judge(request, began, result);
            }
            self.room.requests.remove(&tag);
            assert!(self.answers.insert(tag, result).is_none(), "answered twice");
        }
    }

    /// Holds an answer against the model.
    fn judge(&mut self, request: Request, began: u64, result: Result<(), Failure>) {
        let moment = self.moment;
        let oldest = self.under_way.values().map(|(_, began)| *began).min().unwrap_or(began).min(began);
        let first = (request.offset / 512) as usize;
        for nth in 0..request.bytes as usize / 512 {
            let Some(versions) = self.sectors.get_mut(first + nth) else { continue };
            if request.kind != Kind::Read {
                // A failed write may still take effect at any time later.
                // So may a trim: it may leave all as it was.
                if result.is_ok() && request.kind != Kind::Trim {
                    for version in versions.iter_mut().filter(|version| version.began == began) {
                        version.ended = version.ended.min(moment);
                    }
                }
                continue;
            }
            if result.is_err() {
                continue;
            }
            let data = &self.room.requests[&request.tag][nth * 512..nth * 512 + 512];
            let id = u64::from_le_bytes(data[..8].try_into().unwrap());
            assert!(data.chunks(8).all(|word| word == &data[..8]), "a torn sector {}", first + nth);
            // Not one that another one followed that was done before this read began.
            let newest =
                versions.iter().filter(|other| other.ended < began).map(|other| other.began).max().unwrap_or(0);
            let Some(seen) =
                versions.iter_mut().filter(|version| version.id == id).find(|version| version.ended >= newest)
            else {
                panic!("sector {} reads {id} at {moment}, begun {began}: {versions:?}", first + nth);
            };
            seen.ended = seen.ended.min(moment);
            // Reads that began earlier may still return what is older.
            let newest =
                versions.iter().filter(|other| other.ended < oldest).map(|other| other.began).max().unwrap_or(0);
            versions.retain(|version| version.ended >= newest);
        }
    }

    /// With `SECTOR` set, what happens to that sector is printed.
    fn trace(&self, what: &str, offset: u64, bytes: u32) {
        let Some(sector) = std::env::var("SECTOR").ok().and_then(|text| text.parse::<u64>().ok()) else { return };
        if (offset..offset + u64::from(bytes)).contains(&(sector * 512)) {
            println!("{} {what}: {}", self.moment, self.engine.describe_block(Block(((sector * 512) >> 12) as u32)));
        }
    }

    /// Asks for something; gives its tag.
    pub(super) fn ask(&mut self, kind: Kind, offset: u64, bytes: u32, durable: bool, process: u32) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.moment += 1;
        let mut data = vec![0xcc; bytes as usize];
        if kind != Kind::Read && kind != Kind::Flush {
            let id = if kind == Kind::Write { tag } else { 0 };
            for sector in offset / 512..(offset + u64::from(bytes)) / 512 {
                if let Some(versions) = self.sectors.get_mut(sector as usize) {
                    versions.push(Version { id, began: self.moment, ended: u64::MAX });
                }
            }
            for word in data.chunks_mut(8) {
                word.copy_from_slice(&id.to_le_bytes());
            }
        }
        self.room.requests.insert(tag, data);
        let request = Request { tag, kind, offset, bytes, durable, process };
        self.under_way.insert(tag, (request, self.moment));
        self.trace(&format!("{request:?}"), offset, bytes);
        self.engine.submit(self.now_ns, request, &mut self.room, &mut self.out);
        self.collect();
        tag
    }

    pub(super) fn command(&mut self, command: Command) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.engine.command(self.now_ns, tag, command, &mut self.room, &mut self.out);
        self.collect();
        tag
    }

    /// Ends one IO that is under way.
    pub(super) fn end(&mut self, at: usize) {
        let io = self.pending.swap_remove(at);
        let result = if (self.fails)(&io) { Err(5) } else { Ok(()) };
        if io.side == Side::Slow {
            self.trace(&format!("{io:?}"), io.offset, io.bytes);
        }
        if result.is_ok() {
            let mut pair = vec![0; 4096];
            let device = match io.side {
                Side::Fast => &mut self.fast,
                Side::Slow => &mut self.slow,
                Side::Pair => &mut pair,
            };
            let range = &mut device[io.offset as usize..io.offset as usize + io.bytes as usize];
            match io.kind {
                IoKind::Read => self.room.at(io.place, io.bytes).copy_from_slice(range),
                IoKind::Write => range.copy_from_slice(self.room.at(io.place, io.bytes)),
                IoKind::Discard => range.fill(0),
                IoKind::Sync => {}
            }
            if io.side == Side::Pair && io.kind == IoKind::Write {
                self.pairs.push(pair);
            }
        }
        self.done.push(io);
        self.engine.ended(self.now_ns, io.id, result, &mut self.room, &mut self.out);
        self.collect();
    }

    /// Time comes.
    pub(super) fn tick(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.engine.tick(now_ns, &mut self.room, &mut self.out);
        self.collect();
    }

    /// Ends one at random, or lets time pass.
    pub(super) fn step(&mut self) {
        if self.pending.is_empty() || self.rng.random_ratio(1, 20) {
            let next = self.engine.next_ns().unwrap_or(self.now_ns + 1_000_000);
            self.now_ns = if self.pending.is_empty() { next.max(self.now_ns + 1000) } else { self.now_ns + 100_000 };
            self.engine.tick(self.now_ns, &mut self.room, &mut self.out);
            return self.collect();
        }
        self.now_ns += 10_000;
        let at = self.rng.random_range(0..self.pending.len());
        self.end(at);
    }

    /// Until nothing is under way.
    pub(super) fn settle(&mut self) {
        for _ in 0..200_000 {
            if self.pending.is_empty() && self.under_way.is_empty() && !self.engine.busy() {
                return;
            }
            self.step();
        }
        panic!("it never ends: {}", self.engine.describe());
    }

    /// Until something was answered.
    pub(super) fn answer(&mut self, tag: u64) -> Result<(), Failure> {
        for _ in 0..200_000 {
            if let Some(result) = self.answers.get(&tag) {
                return *result;
            }
            self.step();
        }
        panic!("{tag} is never answered: {}, {:?}", self.engine.describe(), self.told);
    }

    /// Does something and waits for its end.
    pub(super) fn one(&mut self, kind: Kind, offset: u64, bytes: u32) -> Result<(), Failure> {
        let tag = self.ask(kind, offset, bytes, false, 1);
        self.answer(tag)
    }

    pub(super) fn requests(&self) -> usize {
        self.under_way.len()
    }

    pub(super) fn count(&self) -> crate::cache::Statistics {
        self.engine.statistics(self.now_ns)
    }
}
