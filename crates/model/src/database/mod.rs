//! A modelled InnoDB in virtual time, on any modelled storage.
//!
//! `touches/` says what transactions do to pages; `threads.rs` lets each connection do it, with the waits for pages, for
//! room in the log and for commits; `pool.rs` is the buffer pool, `redo.rs` and `log.rs` the log, `batches.rs` and
//! `doublewrite.rs` how pages are written, `master.rs` and `flushing/` when they are written in the background.

use std::collections::VecDeque;

use flatwater_core::interval::{KindInterval, Kinds};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::event::EventQueue;
use crate::slab::Slab;
use crate::storage::{self, Command, Ended, Operation};

mod ahead;
mod batches;
mod binlog;
mod change_buffer;
mod cleaner;
mod commit;
mod doublewrite;
mod fleet;
pub mod flushing;
mod frames;
mod hits;
mod holds;
mod lists;
mod log;
mod machine;
mod master;
mod page_cache;
mod page_set;
mod past;
mod placement;
mod pool;
mod read_ahead;
mod redo;
mod rounds;
mod settings;
mod threads;
mod told;
mod touches;

use ahead::Recent;
use batches::{Batch, Flushing, Owner, Pass};
use binlog::Binlog;
use change_buffer::ChangeBuffer;
use cleaner::Cleaner;
use commit::Commits;
use doublewrite::{Doublewrite, Writers};
pub use fleet::Fleet;
use holds::Holds;
use log::Log;
use machine::Machine;
use master::Master;
use placement::Placement;
use pool::{PAGE_BYTES, Pool};
use read_ahead::ReadAhead;
use redo::{Ages, Format, Redo};
use rounds::Rounds;
use settings::{Generation, Settings};
use threads::Thread;
use told::Counts;
use touches::Touches;

/// CPU time of a server's work, ns of one core.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// A statement: network, parser, optimizer, locks.
    pub statement_ns: u64,
    /// A page that a statement uses: latches, search, a row or a few.
    pub touch_ns: u64,
    /// A page that is read: its checksum, and the way through the kernel.
    pub read_ns: u64,
    /// A page that is written.
    pub write_ns: u64,
    /// What a statement holds of mutexes that the whole server shares: one thread after another.
    #[serde(default)]
    pub mutex_ns: u64,
    /// What the read of a page holds of them.
    #[serde(default)]
    pub read_mutex_ns: u64,
    /// Between a statement's answer and the next statement: the network's and the client's part of a round trip. The
    /// server's cores do nothing for it.
    #[serde(default)]
    pub round_trip_ns: u64,
    /// The kernel's part of a file's sync, besides the device's.
    #[serde(default)]
    pub fsync_ns: u64,
    /// What the sync of a data file takes for each page that was written since the last one: the file system's journal
    /// is committed behind the data (ordered mode), and whoever writes the log through the kernel's cache waits for it.
    #[serde(default)]
    pub sync_page_ns: u64,
}

/// What to run, resolved and checked by the experiment file's loader.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The transactions.
    pub workload: touches::Workload,
    /// What was counted of them on a real server.
    #[serde(default)]
    pub measured: touches::Measured,
    /// Servers beside each other on one machine: connections, data and the pool are shared out among them.
    #[serde(default = "one")]
    pub servers: u32,
    /// Threads that run them, one after another without a pause.
    pub connections: u32,
    /// What the server does its own way.
    pub generation: Generation,
    /// Its settings.
    pub settings: Settings,
    /// Another server's policy in place of its own.
    #[serde(default)]
    pub flushing: Option<flushing::Name>,
    /// Cores of its machine.
    pub cores: u32,
    /// What its work costs.
    pub cpu: Cpu,
    /// Begin as after a long run: the pool is full, and a cache below has seen what it has.
    pub warm: bool,
    /// Where everything is that has no device of its own.
    pub device: storage::Spec,
    /// Devices of their own.
    #[serde(default)]
    pub others: Vec<placement::Other>,
    /// Memory that the kernel has for pages of the log; None: for all of them.
    #[serde(default)]
    pub page_cache_bytes: Option<u64>,
    /// Length of an interval, ms.
    pub interval_ms: u64,
    /// Everything random follows from it.
    pub seed: u64,
}

const fn one() -> u32 {
    1
}

/// What happens at a moment that no device tells.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A thread goes on.
    Ready(u32),
    /// A thread's burst of work is over, unless the log was held meanwhile.
    Worked(u32),
    /// A round of the master thread.
    Master,
    /// The page cleaner's alarm.
    Cleaner(u32),
    /// A second of a server with a page cleaner.
    Tick,
    /// The pages of a writer's chunk are in it.
    Posted(u32),
    /// The kernel's part of a writer's sync is over.
    Sync(u32),
    /// The commit of the file system's journal is over, for which a write to the log has waited.
    Journal,
}

/// The bits of a device's answer that say whose it is.
const SERVER_SHIFT: u32 = 52;
const SERVER_MASK: u64 = 0xff;

/// What a device's answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Read {
        frame: u32,
    },
    /// A page of a writer's chunk.
    Page {
        writer: u32,
        at: u32,
    },
    /// A step of a writer that is not a page's own write.
    Writer {
        writer: u32,
    },
    Log {
        step: log::Step,
    },
    Checkpoint,
}

impl Tag {
    const fn pack(self) -> u64 {
        match self {
            Self::Read { frame } => frame as u64,
            Self::Page { writer, at } => 1 << 60 | (writer as u64) << 32 | at as u64,
            Self::Writer { writer } => 2 << 60 | writer as u64,
            Self::Log { step } => 3 << 60 | step as u64,
            Self::Checkpoint => 4 << 60,
        }
    }

    const fn unpack(tag: u64) -> Self {
        let low = tag as u32;
        match tag >> 60 {
            0 => Self::Read { frame: low },
            1 => Self::Page { writer: (tag >> 32) as u32 & 0x000f_ffff, at: low },
            2 => Self::Writer { writer: low },
            3 => Self::Log { step: log::Step::of(low) },
            _ => Self::Checkpoint,
        }
    }
}

/// One server and its clients under way.
struct Innodb {
    /// Which one of its machine's.
    number: u32,
    spec: Spec,
    touches: Box<dyn Touches>,
    pool: Pool,
    ages: Ages,
    redo: Redo,
    log: Log,
    writers: Writers,
    commits: Commits,
    binlog: Option<Binlog>,
    change_buffer: Option<ChangeBuffer>,
    read_ahead: ReadAhead,
    rounds: Rounds,
    master: Master,
    cleaner: Cleaner,
    batches: Slab<Batch>,
    passes: Slab<Pass>,
    /// Of each instance of the pool.
    flushing: Vec<Flushing>,
    /// Batches and passes that have ended, whose owners are told: who, pages written, whether an instance was left out.
    over: VecDeque<(Owner, u64, bool)>,
    /// A change found the log near its limits (check_flush_or_checkpoint).
    check_log: bool,
    /// The files of the tables (`Placement::files`).
    files: Vec<(u32, u8)>,
    placement: Placement,
    /// What it has while it is its turn.
    machine: Machine,
    events: EventQueue<Event>,
    threads: Vec<Thread>,
    recent: Recent,
    /// Threads that go on at this moment.
    ready: VecDeque<u32>,
    /// Threads that wait for room in the log.
    sync_waiters: Vec<u32>,
    /// When nobody holds the mutexes any more that the whole server shares.
    mutex_free_ns: u64,
    /// Pages written since a data file was synced.
    unsynced_pages: u64,
    /// When the file system's journal is committed.
    journal_free_ns: u64,
    holds: Holds,
    /// Threads that have not ended.
    active: u32,
    now_ns: u64,
    collected_ns: u64,
    kinds: Kinds,
    counts: Counts,
    incidents: Vec<storage::Incident>,
    in_sync: bool,
    /// Requests that devices were told of the past.
    told: u64,
    stopping: bool,
    failure: Option<String>,
}

impl Innodb {
    /// Makes a server whose part of each device begins behind the bytes that others have (`used_bytes`).
    ///
    /// # Errors
    /// What cannot be, in words.
    fn new(number: u32, spec: Spec, policy: Box<dyn flushing::Policy>, used_bytes: &[u64]) -> Result<Self, String> {
        let touches = touches::open(&spec.workload, &spec.measured, spec.connections, spec.seed)?;
        let settings = &spec.settings;
        let frames = settings.innodb_buffer_pool_size / PAGE_BYTES;
        let frames = u32::try_from(frames).ok().filter(|frames| (MIN_FRAMES..1 << 30).contains(frames));
        let frames = frames.ok_or("database.settings.innodb_buffer_pool_size must be between 5 MiB and 16 TiB")?;
        let change_buffer = ChangeBuffer::of_server(&spec, touches.pages(), frames);
        let touches = change_buffer.iter().fold(touches, |touches, own| own.behind(touches));
        let ages = Ages::of_server(spec.generation, settings);
        if !settings.innodb_log_file_size.is_multiple_of(4096) {
            return Err("database.settings.innodb_log_file_size must be a multiple of 4 KiB".into());
        }
        if ages.modified_async < MIN_AGE_BYTES {
            return Err("database.settings.innodb_log_file_size: the log is too small for its threads".into());
        }
        let mut pool = Pool::new(touches.pages(), frames, settings.innodb_buffer_pool_instances);
        pool.set_old_blocks_ms(settings.innodb_old_blocks_time);
        let kind = Doublewrite::of(spec.generation, settings);
        let doublewrite_bytes = Writers::new(kind, settings, pool.instances(), 0).reserved_bytes();
        let placement = Placement::new(&spec, touches.as_ref(), doublewrite_bytes, used_bytes)?;
        let writers = Writers::new(kind, settings, pool.instances(), placement.doublewrite.1);
        let format = Format::of_server(spec.generation, settings);
        let (files, file_bytes) = (settings.innodb_log_files_in_group, settings.innodb_log_file_size);
        let redo = Redo::new(placement.log.1, files, file_bytes, format);
        let kinds = touches.told().iter().map(|_| KindInterval::default()).collect();
        Ok(Self {
            number,
            flushing: (0..pool.instances()).map(|_| Flushing::default()).collect(),
            pool,
            ages,
            log: Log::new(&spec, &redo),
            redo,
            writers,
            commits: Commits::new(spec.connections),
            binlog: Binlog::new(settings, placement.binlog),
            read_ahead: ReadAhead::new(settings, touches.pages()),
            rounds: Rounds::new(policy),
            master: Master::default(),
            cleaner: Cleaner::default(),
            batches: Slab::new(),
            passes: Slab::new(),
            over: VecDeque::new(),
            check_log: true,
            files: placement.files(settings.innodb_file_per_table),
            placement,
            machine: Machine::default(),
            events: EventQueue::new(),
            threads: (0..spec.connections + u32::from(change_buffer.is_some())).map(|_| Thread::default()).collect(),
            recent: Recent::new(),
            change_buffer,
            ready: (0..spec.connections).collect(),
            sync_waiters: Vec::new(),
            mutex_free_ns: 0,
            unsynced_pages: 0,
            journal_free_ns: 0,
            holds: Holds::default(),
            active: spec.connections,
            now_ns: 0,
            collected_ns: 0,
            kinds,
            counts: Counts::default(),
            incidents: Vec::new(),
            in_sync: false,
            told: 0,
            stopping: false,
            failure: None,
            touches,
            spec,
        })
    }

    /// Starts all threads.
    fn begin(&mut self) {
        if self.spec.generation.has_cleaner() {
            self.wake_cleaner();
            self.events.push(SECOND_NS, Event::Tick);
        } else {
            self.events.push(SECOND_NS, Event::Master);
        }
        self.run_ready();
    }

    /// Does what is to happen at this moment.
    fn happen(&mut self) {
        while let Some((_, event)) = self.events.pop_until(self.now_ns) {
            match event {
                Event::Ready(thread) => self.ready.push_back(thread),
                Event::Worked(thread) => self.end_burst(thread),
                Event::Master => self.run_master(),
                Event::Cleaner(alarm) => self.ring_cleaner(alarm),
                Event::Tick => self.tick(),
                Event::Posted(writer) => self.end_posting(writer),
                Event::Sync(writer) => self.sync_device(writer),
                Event::Journal => self.end_log_step(log::Step::Write),
            }
        }
        self.run_ready();
    }

    fn run_ready(&mut self) {
        loop {
            self.tell_owners();
            let Some(thread) = self.ready.pop_front() else { return };
            self.run_thread(thread);
        }
    }

    fn finish(&mut self, ended: Ended) {
        let tag = Tag::unpack(ended.tag);
        if let Err(failure) = ended.result {
            let why = std::io::Error::from_raw_os_error(failure.errno());
            self.failure.get_or_insert_with(|| format!("the server's storage failed ({tag:?}): {why}"));
            return;
        }
        match tag {
            Tag::Read { frame } => {
                self.pool.end_read(frame);
                self.read_ahead.pending -= 1;
                let first = self.ready.len();
                self.wake_waiters_of(frame);
                self.merge_read(frame, self.ready.get(first).copied());
            }
            Tag::Page { writer, at } => self.end_page(writer, at),
            Tag::Writer { writer } => self.end_writer_step(writer),
            Tag::Log { step } => self.end_log_step(step),
            Tag::Checkpoint => {}
        }
    }

    /// Lets the threads go on that wait for a page, in the order in which they came.
    fn wake_waiters_of(&mut self, frame: u32) {
        let mut thread = self.pool.swap_waiter(frame, pool::NONE);
        let first = self.ready.len();
        while thread != pool::NONE {
            self.ready.push_back(thread);
            thread = self.threads[thread as usize].next_waiter;
        }
        self.ready.make_contiguous()[first..].reverse();
    }

    fn submit(&mut self, device: usize, tag: Tag, operation: Operation, offset: u64, bytes: u64) {
        self.counts.count_io(operation, bytes);
        let tag = u64::from(self.number) << SERVER_SHIFT | tag.pack();
        self.machine.devices[device].submit(self.now_ns, tag, Command { operation, offset, bytes });
    }

    /// Gives a core work of so many ns; when it will be done.
    fn book(&mut self, work_ns: u64) -> u64 {
        self.counts.cpu_ns += work_ns;
        self.machine.book(self.now_ns, work_ns)
    }

    /// The file of a page.
    fn file_of(&self, page: u32) -> u8 {
        let behind = self.files.partition_point(|(first, _)| *first <= page);
        behind.checked_sub(1).map_or(0, |at| self.files[at].1)
    }

    /// Distance between the newest change and the oldest that is in no file.
    fn age(&self) -> u64 {
        self.pool.oldest_lsn().map_or(0, |oldest| self.redo.lsn - oldest)
    }

    /// Tells recovery to begin at the oldest change that is in no file.
    fn make_checkpoint(&mut self) {
        let lsn = self.pool.oldest_lsn().unwrap_or(self.redo.lsn).min(self.redo.durable);
        if lsn > self.redo.checkpoint {
            self.redo.checkpoint = lsn;
            let (offset, bytes) = self.redo.checkpoint_place();
            self.submit(self.placement.log.0, Tag::Checkpoint, Operation::Write, offset, bytes);
        }
    }
}

const SECOND_NS: u64 = 1_000_000_000;
/// The smallest pool that InnoDB takes: 5 MiB.
const MIN_FRAMES: u32 = 320;
/// The smallest age that is let happen: what a few hundred transactions make.
const MIN_AGE_BYTES: u64 = 1 << 20;

#[cfg(test)]
#[path = "tests/run.rs"]
mod tests;
