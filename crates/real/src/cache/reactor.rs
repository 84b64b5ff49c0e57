//! The one thread that serves. It waits for the ring, lets the sources and the engine do what is due, and waits again.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use flatwater_core::cache::journal::Witness;
use flatwater_core::cache::{Command, Failure, Kind};
use io_uring::{opcode, types};

use super::adversity::Adversity;
use super::ask::{Ask, HANDLE, STOP};
use super::core::Core;
use super::devices::Devices;
use super::handle::{Ended, Handle, LocalAsk, Message};
use super::pool::{Buffer, Region};
use super::port::{Port, Source};
use super::ring::{Completed, Owner};
use super::target::Target;
use crate::clock::Clock;

/// The parts of a reactor.
pub struct Parts {
    /// The devices.
    pub devices: Devices,
    /// What is served.
    pub target: Target,
    /// The clock with which the engine was made.
    pub clock: Clock,
    /// The sources of requests.
    pub sources: Vec<Box<dyn Source>>,
    /// The adversities of the devices (fast, slow, pair) at the beginning.
    pub adversities: [Adversity; 3],
    /// The file to which all requests are recorded.
    pub record: Option<PathBuf>,
    /// Of a cache: the witness of its backing device.
    pub witness: Option<Witness>,
}

/// The phase of a reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// The sources finish. Then the engine stops, after a drain or without one.
    Finishing(bool),
    /// The engine stops, after a drain or without one.
    Stopping(bool),
    /// The engine has stopped. The last IOs end.
    Leaving,
}

enum Waiting {
    Command(Sender<Result<(), Failure>>),
    Ask(LocalAsk, Option<Buffer>),
}

/// The reactor, in its thread.
pub struct Reactor {
    core: Core,
    sources: Vec<Box<dyn Source>>,
    over: Vec<bool>,
    handle: Handle,
    waiting: BTreeMap<u64, Waiting>,
    next_key: u64,
    woken: Box<[u8; 8]>,
    phase: Phase,
    /// Whether the engine has marked the cache as stopped.
    stopped_well: bool,
    trouble: Option<String>,
}

impl Reactor {
    /// Starts a thread that serves. Returns its handle when all sources have begun.
    ///
    /// # Errors
    /// Why it cannot begin, in words.
    pub fn start(parts: Parts) -> Result<(Handle, JoinHandle<()>), String> {
        let handle = Handle::new().map_err(|error| format!("no eventfd: {error}"))?;
        let (begun, begins) = channel();
        let of_thread = handle.clone();
        let run = move || {
            // It is made here, because only the thread that made the ring may use it.
            let ended = match Self::begin(parts, of_thread.clone()) {
                Ok(mut reactor) => {
                    let _ = begun.send(Ok(()));
                    reactor.run()
                }
                Err(trouble) => {
                    let _ = begun.send(Err(trouble.clone()));
                    Ended { trouble: Some(trouble) }
                }
            };
            of_thread.end(ended);
        };
        let thread = std::thread::Builder::new().name("fw-cache".into()).spawn(run);
        let thread = thread.map_err(|error| format!("no thread: {error}"))?;
        begins.recv().map_err(|_| "the cache's thread panicked".to_owned())??;
        Ok((handle, thread))
    }

    fn begin(parts: Parts, handle: Handle) -> Result<Self, String> {
        let Parts { devices, target, clock, sources, adversities, record, witness } = parts;
        let hint = "io_uring may be switched off here, see sysctl kernel.io_uring_disabled";
        let mut core =
            Core::new(devices, target, clock, witness).map_err(|error| format!("no io_uring: {error} ({hint})"))?;
        use flatwater_core::cache::Side::{Fast, Pair, Slow};
        for (side, adversity) in [Fast, Slow, Pair].into_iter().zip(adversities) {
            core.adversities.set(side, adversity);
        }
        core.record(record.as_deref())?;
        let (over, waiting, woken) = (vec![false; sources.len()], BTreeMap::new(), Box::default());
        let phase = Phase::Serving;
        let (stopped_well, trouble) = (false, None);
        let mut reactor =
            Self { core, sources, over, handle, waiting, next_key: 0, woken, phase, stopped_well, trouble };
        reactor.listen();
        for (number, source) in reactor.sources.iter_mut().enumerate() {
            source.begin(&mut Port { core: &mut reactor.core, source: number as u8 })?;
        }
        Ok(reactor)
    }

    /// Puts a read of the eventfd into the ring, which ends when another thread wakes the reactor.
    fn listen(&mut self) {
        let wake = types::Fd(self.handle.wake_file().as_raw_fd());
        let entry = opcode::Read::new(wake, self.woken.as_mut_ptr(), 8).build();
        // SAFETY: both live as long as the reactor, which drops its ring first (`core`).
        unsafe { self.core.push(Owner::Reactor, 0, entry) };
    }

    fn run(&mut self) -> Ended {
        let mut ended = Vec::new();
        loop {
            self.settle();
            let mut more = false;
            for (number, source) in self.sources.iter_mut().enumerate() {
                more |= source.turn(&mut Port { core: &mut self.core, source: number as u8 });
            }
            self.settle();
            if self.finished() {
                if self.stopped_well {
                    self.core.seal();
                }
                return Ended { trouble: self.trouble.take() };
            }
            let until_ns = if more { Some(0) } else { self.core.next_ns() };
            if let Err(error) = self.core.wait(until_ns, &mut ended) {
                return Ended { trouble: Some(format!("the ring broke: {error}")) };
            }
            self.core.read_clock();
            for Completed { owner, key, result, more } in ended.drain(..) {
                match owner {
                    Owner::Engine => self.core.io_ended(key as u32, result),
                    Owner::Reactor => self.handle_messages(),
                    Owner::Source(number) => {
                        let port = &mut Port { core: &mut self.core, source: number };
                        self.sources[number as usize].completed(port, key, result, more);
                    }
                }
            }
            self.core.tick();
        }
    }

    /// Lets the engine and the sources do all that is due.
    fn settle(&mut self) {
        loop {
            self.core.settle();
            if self.core.answers.is_empty() {
                return;
            }
            while let Some((source, key, result)) = self.core.answers.pop_front() {
                match source {
                    HANDLE => self.answer_local(key, result),
                    STOP => self.engine_stopped(result),
                    _ => {
                        let port = &mut Port { core: &mut self.core, source };
                        self.sources[source as usize].answered(port, key, result);
                    }
                }
            }
        }
    }

    /// Handles the messages of other threads.
    fn handle_messages(&mut self) {
        self.listen();
        for message in self.handle.take() {
            let key = self.next_key;
            match message {
                Message::Work(work) => work(&mut self.core),
                Message::Command(_, answer) if self.phase != Phase::Serving => {
                    let _ = answer.send(Err(Failure::Stopping));
                }
                Message::Ask(ask) if self.phase != Phase::Serving => {
                    let _ = ask.answer.send((Err(Failure::Stopping), Vec::new()));
                }
                Message::Command(command, answer) => {
                    self.next_key += 1;
                    self.waiting.insert(key, Waiting::Command(answer));
                    self.core.command(HANDLE, key, command);
                }
                Message::Ask(local) => {
                    self.next_key += 1;
                    self.ask_local(key, local);
                }
            }
        }
    }

    fn ask_local(&mut self, key: u64, local: LocalAsk) {
        let LocalAsk { kind, offset, bytes, durable, .. } = local;
        let buffer = matches!(kind, Kind::Read | Kind::Write).then(|| self.core.memory.take_buffer(bytes));
        let memory = buffer.map_or(Region::NONE, |buffer| buffer.region);
        if kind == Kind::Write {
            // SAFETY: the buffer is as long as the data.
            unsafe { std::ptr::copy_nonoverlapping(local.data.as_ptr(), memory.pointer, local.data.len()) };
        }
        self.waiting.insert(key, Waiting::Ask(local, buffer));
        self.core.ask(HANDLE, key, Ask { kind, offset, bytes, durable, process: std::process::id(), memory });
    }

    fn answer_local(&mut self, key: u64, result: Result<(), Failure>) {
        // The caller may have stopped waiting.
        match self.waiting.remove(&key) {
            Some(Waiting::Command(answer)) => drop(answer.send(result)),
            Some(Waiting::Ask(local, buffer)) => {
                let mut data = Vec::new();
                if let Some(buffer) = buffer {
                    if local.kind == Kind::Read {
                        let region = buffer.region.part(0, local.bytes);
                        // SAFETY: the engine has filled it, and nothing else uses it now.
                        data.extend_from_slice(unsafe {
                            std::slice::from_raw_parts(region.pointer, region.bytes as usize)
                        });
                    }
                    self.core.memory.give_buffer(buffer.number);
                }
                let _ = local.answer.send((result, data));
            }
            None => {}
        }
    }

    /// Continues to stop, if the reactor is to stop. Returns whether it has stopped.
    fn finished(&mut self) -> bool {
        for (number, source) in self.sources.iter().enumerate() {
            if !self.over[number]
                && let Some(why) = source.over()
            {
                self.over[number] = true;
                self.handle.source_over(why);
            }
        }
        match (self.phase, self.core.stop_wanted()) {
            (Phase::Serving, Some(drain)) => {
                self.phase = Phase::Finishing(drain);
                for (number, source) in self.sources.iter_mut().enumerate() {
                    source.stopping(&mut Port { core: &mut self.core, source: number as u8 });
                }
                self.settle();
                self.finished()
            }
            (Phase::Finishing(drain), _) => {
                if self.sources.iter().all(|source| source.idle()) && self.waiting.is_empty() {
                    self.phase = Phase::Stopping(drain);
                    self.core.command(STOP, 0, Command::Stop { drain });
                    self.settle();
                    return self.phase == Phase::Leaving && self.core.in_flight() == 0;
                }
                false
            }
            (Phase::Leaving, _) => self.core.in_flight() == 0,
            _ => false,
        }
    }

    fn engine_stopped(&mut self, result: Result<(), Failure>) {
        match (self.phase, result) {
            // Blocks that could not be written back stay in the cache until the next start.
            (Phase::Stopping(true), Err(failure)) => {
                let left = self.core.target.statistics(self.core.now_ns()).dirty_blocks;
                self.trouble = Some(format!(
                    "{left} blocks could not be written back ({failure:?}): they stay dirty, safe in the cache"
                ));
                self.phase = Phase::Stopping(false);
                self.core.command(STOP, 0, Command::Stop { drain: false });
            }
            (_, result) => {
                self.stopped_well = result.is_ok();
                if let Err(failure) = result {
                    self.trouble.get_or_insert(format!("the cache could not be marked as stopped ({failure:?})"));
                }
                self.phase = Phase::Leaving;
            }
        }
    }
}
