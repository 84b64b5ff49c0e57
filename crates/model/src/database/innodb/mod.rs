//! One server and its clients under way: the components, and what goes from one to another.
//!
//! Each component owns its state and knows none of the others but those that it is handed. Here is only what takes several
//! of them: `transactions.rs` lets a thread do its transaction, with `pages.rs` for the pages that it uses, `frames.rs`
//! for their frames and `logs.rs` for its changes and its commit; `flush.rs` is what is written in the background;
//! `warm_up.rs` what was before the run; `observe.rs` what is recorded of it.

use super::background::{Background, Rounds, SECOND_NS};
use super::binlog::Binlog;
use super::change_buffer::ChangeBuffer;
use super::commits::Commits;
use super::events::{Event, LogStep, Tag};
use super::flushing::Policy;
use super::host::Host;
use super::ids::{PAGE_BYTES, ThreadNo};
use super::locks::RowLocks;
use super::log::{Limits, Log};
use super::placement::Placement;
use super::pool::Pool;
use super::purge::Purge;
use super::read_ahead::ReadAhead;
use super::spec::Spec;
use super::threads::Threads;
use super::touches::{self, Touches};
use super::write_back::{Doublewrite, WriteBack};
use crate::storage::Ended;

mod flush;
mod frames;
mod logs;
mod observe;
mod pages;
mod transactions;
mod warm_up;

pub(super) use warm_up::WarmUp;

/// The smallest pool that InnoDB takes: 5 MiB.
const MIN_FRAMES: u32 = 320;
/// The smallest age that is allowed: what a few hundred transactions make.
const MIN_AGE_BYTES: u64 = 1 << 20;

/// One server and its clients under way.
pub(super) struct Innodb {
    spec: Spec,
    touches: Box<dyn Touches>,
    host: Host,
    threads: Threads,
    locks: RowLocks,
    pool: Pool,
    log: Log,
    limits: Limits,
    commits: Commits,
    binlog: Option<Binlog>,
    change_buffer: Option<ChangeBuffer>,
    purge: Option<Purge>,
    read_ahead: ReadAhead,
    write_back: WriteBack,
    rounds: Rounds,
    background: Background,
    /// When the interval began.
    collected_ns: u64,
}

impl Innodb {
    /// Makes a server whose part of each device begins behind the bytes that others have (`used_bytes`).
    ///
    /// # Errors
    /// What cannot be, in words.
    pub(super) fn new(number: u32, spec: Spec, policy: Box<dyn Policy>, used_bytes: &[u64]) -> Result<Self, String> {
        let (undo, apart) = (spec.generation.undo_logs(), spec.tables_apart());
        let touches = touches::open(&spec.workload, &spec.measured, undo, &apart, spec.connections, spec.seed)?;
        let (generation, settings) = (spec.generation, &spec.settings);
        let frames = settings.innodb_buffer_pool_size / PAGE_BYTES;
        let frames = u32::try_from(frames).ok().filter(|frames| (MIN_FRAMES..1 << 30).contains(frames));
        let frames = frames.ok_or("database.settings.innodb_buffer_pool_size must be between 5 MiB and 16 TiB")?;
        let change_buffer = ChangeBuffer::of_server(&spec, touches.pages(), frames);
        let touches = change_buffer.iter().fold(touches, |touches, own| own.behind(touches));
        let limits = Limits::of_server(generation, settings);
        if !settings.innodb_log_file_size.is_multiple_of(4096) {
            return Err("database.settings.innodb_log_file_size must be a multiple of 4 KiB".into());
        }
        if limits.ages().modified_async < MIN_AGE_BYTES {
            return Err("database.settings.innodb_log_file_size: the log is too small for its threads".into());
        }
        let mut pool = Pool::new(touches.pages(), frames, settings.innodb_buffer_pool_instances);
        pool.set_old_blocks_ms(settings.innodb_old_blocks_time);
        if settings.innodb_adaptive_hash_index {
            pool.hash_rows(touches.looked_up());
        }
        let doublewrite_bytes = Doublewrite::of_server(generation, settings).reserved_bytes(pool.instances());
        let placement = Placement::new(&spec, touches.as_ref(), doublewrite_bytes, used_bytes)?;
        let mergers = u32::from(change_buffer.is_some());
        let purge = Purge::of_server(generation, settings, spec.connections + mergers, touches.tables());
        let others = mergers + purge.as_ref().map_or(0, Purge::threads);
        let mut host = Host::new(number, placement, &spec.cpu, generation.syncs_times(settings));
        (0..spec.connections).for_each(|thread| host.wake(ThreadNo::new(thread)));
        let placement = host.placement();
        Ok(Self {
            threads: Threads::new(spec.connections, others, touches.kinds().len(), &spec.cpu),
            locks: RowLocks::new(spec.connections + others),
            log: Log::new(generation, settings, placement.log(), spec.page_cache_bytes),
            commits: Commits::new(spec.connections, settings.log_bin, generation.groups_binlog()),
            binlog: Binlog::new(settings, generation.groups_binlog(), placement.binlog()),
            read_ahead: ReadAhead::new(settings, touches.pages()),
            write_back: WriteBack::new(&spec, pool.instances(), placement.doublewrite()),
            rounds: Rounds::new(policy),
            background: Background::of_server(generation, settings, limits.ages()),
            collected_ns: 0,
            change_buffer,
            purge,
            limits,
            pool,
            host,
            touches,
            spec,
        })
    }

    /// What the server has of its machine.
    #[inline]
    pub(super) const fn host(&self) -> &Host {
        &self.host
    }

    /// What the server has of its machine, to be given the machine and the time.
    #[inline]
    pub(super) const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Asks all threads to finish their transactions and end.
    pub(super) const fn stop(&mut self) {
        self.threads.stop();
    }

    /// Whether all threads have ended.
    pub(super) const fn is_over(&self) -> bool {
        !self.threads.are_active()
    }

    /// Starts all threads.
    pub(super) fn begin(&mut self) {
        if matches!(self.background, Background::Cleaner(_)) {
            self.wake_cleaner();
            self.host.schedule(SECOND_NS, Event::Tick);
        } else {
            self.host.schedule(SECOND_NS, Event::Master);
        }
        self.run_ready();
    }

    /// Does what happens at this moment.
    pub(super) fn run_events(&mut self) {
        while let Some(event) = self.host.next_event() {
            match event {
                Event::Ready(thread) => self.host.wake(thread),
                Event::Worked(thread) => self.threads.end_burst(thread, &mut self.host),
                Event::Master => self.wake_master(),
                Event::Room => self.look_for_room(),
                Event::Cleaner(alarm) => self.begin_cleaner_round(alarm),
                Event::Tick => self.tick(),
                Event::Posted(writer) => self.end_posting(writer),
                Event::SyncAgain(writer) => self.write_back.sync_file(writer, &mut self.pool, &mut self.host),
                Event::Sync(writer) => self.write_back.sync_devices(writer, &mut self.host),
                Event::Journal => self.end_log_step(LogStep::Write),
                Event::Committed(tag) => self.take(tag),
            }
        }
        self.run_ready();
    }

    /// Lets all threads go on that can.
    fn run_ready(&mut self) {
        loop {
            self.end_flushes();
            let Some(thread) = self.host.next_ready() else { return };
            self.run_thread(thread);
        }
    }

    /// A device has answered.
    pub(super) fn receive(&mut self, ended: Ended) {
        if let Some(tag) = self.host.receive(ended) {
            self.take(tag);
        }
    }

    /// What was asked of a device, or of the file system, is done.
    fn take(&mut self, tag: Tag) {
        let Self { pool, host, write_back, .. } = self;
        match tag {
            Tag::Read { frame } => self.end_read(frame),
            Tag::Page { writer, at } => write_back.end_page(writer, at, pool, host),
            Tag::Writer { writer } => write_back.end_step(writer, pool, host),
            Tag::Log { step } => self.end_log_step(step),
            Tag::Checkpoint => self.log.sync_checkpoint(host),
            Tag::CheckpointSync => self.end_checkpoint(),
            Tag::Journal { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
