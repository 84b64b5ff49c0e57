//! Faults on purpose: a storage that fails, fills up, stalls, loses or misplaces writes, or corrupts reads.
//!
//! It wraps any queue, so that everything above the queue can be tested unchanged. Users can set a fault in an experiment
//! (`[storage.fault]`) to see how their alarms react.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use flatwater_core::storage::{Completion, Kind, Queue, Request};
use schemars::JsonSchema;
use serde::Deserialize;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Every later request fails with EIO.
    Error,
    /// Every later write fails with ENOSPC.
    Full,
    /// Nothing completes for a while.
    Stall,
    /// One write is acknowledged and never done.
    LostWrite,
    /// One write goes to the block before its own.
    MisplacedWrite,
    /// One read returns a flipped bit.
    CorruptRead,
}

/// A fault and when it begins.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// After this many requests of all threads.
    #[serde(default)]
    pub after_ops: u64,
    /// Length of a stall, seconds.
    #[serde(default)]
    pub duration_s: f64,
}

/// How many requests have come so far, and whether a fault that comes once has come. All lanes share it.
#[derive(Debug, Default)]
pub struct FaultState {
    seen: AtomicU64,
    done: AtomicU64,
}

/// A queue with a fault.
#[derive(Debug)]
pub struct FaultyQueue<Q> {
    inner: Q,
    fault: Fault,
    state: Arc<FaultState>,
    /// Completions that never reached the inner queue.
    faked: Vec<Completion>,
    /// Slot and size of the read that will be corrupted when it completes.
    corrupt: Option<(u32, u32)>,
    stalled_until: Option<Instant>,
    held: Vec<Completion>,
    inside: u32,
}

impl<Q: Queue> FaultyQueue<Q> {
    /// Wraps a queue.
    pub fn new(inner: Q, fault: Fault, state: Arc<FaultState>) -> Self {
        Self { inner, fault, state, faked: Vec::new(), corrupt: None, stalled_until: None, held: Vec::new(), inside: 0 }
    }

    fn once(&self) -> bool {
        self.state.done.swap(1, Relaxed) == 0
    }

    fn forward(&mut self, slot: u32, request: Request) {
        self.inside += 1;
        self.inner.push(slot, request);
    }
}

impl<Q: Queue> Queue for FaultyQueue<Q> {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn take_buffer(&mut self, slot: u32, kind: Kind) -> &mut [u8] {
        self.inner.take_buffer(slot, kind)
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn write_buffers(&mut self) -> Vec<&mut [u8]> {
        self.inner.write_buffers()
    }

    fn push(&mut self, slot: u32, request: Request) {
        if self.state.seen.fetch_add(1, Relaxed) < self.fault.after_ops {
            return self.forward(slot, request);
        }
        match (self.fault.kind, request.kind) {
            (FaultKind::Error, _) => self.faked.push(Completion { slot, result: -libc::EIO }),
            (FaultKind::Full, Kind::Write) => self.faked.push(Completion { slot, result: -libc::ENOSPC }),
            (FaultKind::LostWrite, Kind::Write) if self.once() => {
                self.faked.push(Completion { slot, result: request.bytes as i32 });
            }
            (FaultKind::MisplacedWrite, Kind::Write) if request.offset >= u64::from(request.bytes) && self.once() => {
                self.forward(slot, Request { offset: request.offset - u64::from(request.bytes), ..request });
            }
            (FaultKind::CorruptRead, Kind::Read) if self.once() => {
                self.corrupt = Some((slot, request.bytes));
                self.forward(slot, request);
            }
            (FaultKind::Stall, _) => {
                if self.stalled_until.is_none() {
                    self.stalled_until = Some(Instant::now() + Duration::from_secs_f64(self.fault.duration_s));
                }
                self.forward(slot, request);
            }
            _ => self.forward(slot, request),
        }
    }

    fn submit(&mut self) {
        self.inner.submit();
    }

    fn wait(&mut self, timeout_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        done.append(&mut self.faked);
        // Without requests the inner queue would wait without end.
        if self.inside > 0 {
            let first_new = done.len();
            self.inner.wait(if first_new > before { Some(0) } else { timeout_ns }, done)?;
            self.inside -= (done.len() - first_new) as u32;
        }
        if let Some((slot, bytes)) = self.corrupt
            && done.iter().any(|completion| completion.slot == slot)
        {
            self.inner.buffer(slot)[bytes as usize / 2] ^= 0x10;
            self.corrupt = None;
        }
        if let Some(until) = self.stalled_until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                done.append(&mut self.held);
            } else {
                self.held.extend(done.drain(before..));
                std::thread::sleep(left.min(Duration::from_millis(20)));
            }
        }
        Ok(())
    }
}
