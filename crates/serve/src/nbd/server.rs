//! The server: a source of the cache's reactor that accepts clients on a unix socket and serves them all from its one
//! thread. Receives, sends and the cache's own IO share one ring, so that a batch of requests costs two system calls.

use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use flatwater_core::cache::{Command, Failure, Kind};
use flatwater_real::cache::{Ask as CacheAsk, Buffer, Port, Region, Source};
use io_uring::{opcode, types};

use super::budget::{Budget, Limits};
use super::connection::{Connection, Incoming, State};
use super::export::{Export, REQUEST_BYTES_MAX};
use super::listener::Listener;
use super::outgoing::Piece;
use super::session::{Ask, Event, Request};
use super::tally::Tally;

/// Keys of our operations: what it is above, the connection's number below.
const KEY_SHIFT: u32 = 32;
const ACCEPT: u64 = 1;
const TICK: u64 = 2;
const RECEIVE: u64 = 3;
const SEND: u64 = 4;
const CANCEL: u64 = 5;
/// Requests of a client that are taken up before others have their turn and answers are sent: a client with a deep queue
/// does not hold up one that has a single request. With one client, 8 are as fast as all that came (0.98x of 85,000 reads).
const TURN_REQUESTS: u32 = 8;
/// How often those are looked for that must be cut off.
const TICK_S: u64 = 1;

/// A request that the cache works on.
#[derive(Clone, Copy, Debug)]
struct Underway {
    connection: u32,
    request: Request,
    memory: Option<Buffer>,
    cost: u64,
    /// Of a long trim or zero: what was not asked for yet, and whether a flush comes at its end.
    left_bytes: u32,
    flush: bool,
}

/// A server.
pub struct Server {
    listener: Listener,
    export: Arc<Export>,
    budget: Budget,
    tally: Arc<Tally>,
    connections: Vec<Option<Box<Connection>>>,
    vacant: Vec<u32>,
    underway: Vec<Underway>,
    free: Vec<u32>,
    /// Connections that have something to send.
    listed: Vec<u32>,
    /// Connections whose turn ended before their requests did.
    unfinished: Vec<u32>,
    /// Connections that wait for memory, first come first served.
    blocked: Vec<u32>,
    /// Memory was given back since they were looked at.
    freed: bool,
    accepting: bool,
    stopping: bool,
    interval: Box<types::Timespec>,
}

// SAFETY: the raw pointers are into memory of the reactor's pool and of the server itself; whichever thread has the server
// uses both.
unsafe impl Send for Server {}

impl Server {
    /// A server that offers an export on a socket.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn new(path: &Path, export: Export, limits: Limits) -> Result<Self, String> {
        Listener::bind(path).map(|listener| Self::on(listener, export, limits))
    }

    /// A server that offers an export to who comes to a listener.
    pub fn on(listener: Listener, export: Export, limits: Limits) -> Self {
        Self {
            listener,
            export: Arc::new(export),
            budget: Budget::new(limits),
            tally: Arc::default(),
            connections: Vec::new(),
            vacant: Vec::new(),
            underway: Vec::new(),
            free: Vec::new(),
            listed: Vec::new(),
            unfinished: Vec::new(),
            blocked: Vec::new(),
            freed: false,
            accepting: false,
            stopping: false,
            interval: Box::new(types::Timespec::new().sec(TICK_S)),
        }
    }

    /// What it counts, for other threads.
    pub fn tally(&self) -> Arc<Tally> {
        self.tally.clone()
    }

    fn connection(&mut self, number: u32) -> Option<&mut Connection> {
        self.connections.get_mut(number as usize)?.as_deref_mut()
    }

    fn wants_others(&self, number: u32) -> bool {
        let connection = self.connections.get(number as usize).and_then(Option::as_deref);
        connection.is_some_and(|one| one.blocked.is_some() && one.wants_others && one.state == State::Open)
    }

    fn accept(&mut self, port: &mut Port<'_>) {
        self.accepting = true;
        let listener = types::Fd(self.listener.descriptor());
        let entry = opcode::AcceptMulti::new(listener).flags(libc::SOCK_CLOEXEC).build();
        // SAFETY: it points to nothing.
        unsafe { port.push(entry, ACCEPT << KEY_SHIFT) };
    }

    fn wait_for_tick(&self, port: &mut Port<'_>) {
        // SAFETY: the kernel reads the time when it takes the operation, and the server outlives that.
        unsafe { port.push(opcode::Timeout::new(&raw const *self.interval).build(), TICK << KEY_SHIFT) };
    }

    fn accepted(&mut self, port: &mut Port<'_>, result: i32, more: bool) {
        if !more {
            // At the limit of open files, for one: the next tick tries again.
            self.accepting = false;
        }
        if result < 0 {
            return;
        }
        // SAFETY: the kernel has just given it to us.
        let stream = unsafe { OwnedFd::from_raw_fd(result) };
        if self.stopping {
            return;
        }
        let most = self.budget.limits().connections;
        if self.connections.len() - self.vacant.len() >= most {
            Tally::count(&self.tally.turned_away);
            return self.tally.tell(format!("a client was turned away: there are {most} already"));
        }
        Tally::count(&self.tally.accepted);
        Tally::count(&self.tally.connections);
        let connection = Connection::new(stream, self.export.clone(), port.now_ns());
        self.tally.came(connection.process);
        let connection = Some(Box::new(connection));
        let number = self.vacant.pop().unwrap_or(self.connections.len() as u32);
        if number as usize == self.connections.len() {
            self.connections.push(connection);
        } else {
            self.connections[number as usize] = connection;
        }
        self.pump(port, number);
    }

    /// Takes requests from what a client sent, as far as that can be, and lets it send more.
    fn pump(&mut self, port: &mut Port<'_>, number: u32) {
        let (mut at, mut taken_up) = (0, 0);
        let requests_max = self.budget.limits().requests;
        while let Some(connection) = self.connection(number) {
            if connection.state != State::Open || connection.is_receiving() {
                break;
            }
            if connection.incoming.is_some() {
                at += connection.unstage(at);
                if connection.session.payload_bytes() > 0 {
                    break;
                }
                if let Some(incoming) = connection.incoming.take() {
                    self.ask(port, incoming.number);
                }
                continue;
            }
            if connection.blocked.is_some() || connection.requests >= requests_max || !connection.can_step() {
                break;
            }
            if taken_up == TURN_REQUESTS {
                self.unfinished.push(number);
                break;
            }
            let (taken, event) = connection.step(at);
            at += taken;
            match event {
                Event::More => break,
                Event::Request(request) => {
                    taken_up += 1;
                    self.take_up(port, number, request);
                }
                Event::Left => connection.finish(),
                Event::Refused(why) => self.cut(number, why),
            }
        }
        let Some(connection) = self.connection(number) else { return };
        connection.consume(at);
        let waits = taken_up < TURN_REQUESTS || connection.incoming.is_some();
        if waits && connection.can_receive() && (connection.requests < requests_max || connection.incoming.is_some()) {
            let (entry, key) = (connection.receive(), RECEIVE << KEY_SHIFT | u64::from(number));
            // SAFETY: it points into the connection, which stays until it ended (`is_over`), and into memory of a request,
            // which is given back no sooner (`let_go`).
            unsafe { port.push(entry, key) };
        }
        if connection.state != State::Open || !connection.outgoing.is_empty() {
            self.list(number);
        }
    }

    /// Gives a request its memory and asks the cache, or lets its data come first.
    fn take_up(&mut self, port: &mut Port<'_>, number: u32, request: Request) {
        let Some(connection) = self.connections[number as usize].as_deref_mut() else { return };
        let needs = matches!(request.ask, Ask::Read | Ask::Write);
        let cost = if needs { Budget::cost(request.bytes) } else { 0 };
        if !self.budget.take(&mut connection.held_bytes, cost) {
            connection.blocked = Some(request);
            connection.wants_others = connection.held_bytes + cost <= self.budget.limits().client_bytes;
            return self.blocked.push(number);
        }
        self.tally.held_bytes.fetch_add(cost, Relaxed);
        let memory = needs.then(|| port.take(request.bytes));
        connection.requests += 1;
        connection.note_write(request.ask == Ask::Write);
        let ranged = matches!(request.ask, Ask::Trim | Ask::Zero);
        let left_bytes = if ranged { request.bytes } else { 0 };
        let flush = ranged && request.durable && request.bytes > first_bytes(request.offset, request.bytes);
        let one = Underway { connection: number, request, memory, cost, left_bytes, flush };
        let name = self.free.pop().unwrap_or(self.underway.len() as u32);
        if name as usize == self.underway.len() {
            self.underway.push(one);
        }
        self.underway[name as usize] = one;
        match memory {
            Some(buffer) if request.ask == Ask::Write => {
                connection.incoming = Some(Incoming { number: name, memory: buffer.region, done: 0 });
            }
            _ => self.ask(port, name),
        }
    }

    /// Asks the cache for a request, or for the next part of it.
    fn ask(&mut self, port: &mut Port<'_>, name: u32) {
        let Underway { connection, request, memory, flush, left_bytes, .. } = self.underway[name as usize];
        let process = self.connection(connection).map_or(0, |connection| connection.process);
        let region = memory.map_or(Region::NONE, |buffer| buffer.region);
        let (mut offset, mut bytes) = (request.offset, request.bytes);
        let kind = match request.ask {
            Ask::Read => Kind::Read,
            Ask::Write => Kind::Write,
            Ask::Flush => Kind::Flush,
            Ask::Cache => {
                let range = (request.offset, u64::from(request.bytes));
                return port.command(name.into(), Command::Preload(range));
            }
            Ask::Zero | Ask::Trim if left_bytes == 0 => {
                self.underway[name as usize].flush = false;
                (offset, bytes) = (0, 0);
                Kind::Flush
            }
            Ask::Zero | Ask::Trim => {
                offset += u64::from(request.bytes - left_bytes);
                bytes = first_bytes(offset, left_bytes);
                self.underway[name as usize].left_bytes -= bytes;
                if request.ask == Ask::Zero { Kind::Zero } else { Kind::Trim }
            }
        };
        let writes = !matches!(kind, Kind::Read | Kind::Flush);
        let durable = request.durable && writes && !flush;
        port.ask(name.into(), CacheAsk { kind, offset, bytes, durable, process, memory: region });
    }

    fn finished(&mut self, port: &mut Port<'_>, name: u32, result: Result<(), Failure>) {
        let Underway { connection: number, request, memory, cost, .. } = self.underway[name as usize];
        self.free.push(name);
        Tally::count(&self.tally.requests);
        // That a range is cached is a wish, and a cache that cannot grant it now does no harm.
        let result = if request.ask == Ask::Cache { Ok(()) } else { result };
        let Some(connection) = self.connection(number) else { return };
        if connection.state == State::Broken {
            self.let_go(port, number, memory, cost, 1);
            return self.close_if_over(number);
        }
        let head = connection.session.reply(&request, result);
        let data_bytes = if head.data { request.bytes } else { 0 };
        connection.outgoing.push(Piece::Reply { head, memory, data_bytes, cost });
        self.list(number);
    }

    /// Takes back what a request had.
    fn let_go(&mut self, port: &mut Port<'_>, number: u32, memory: Option<Buffer>, cost: u64, requests: u32) {
        if let Some(buffer) = memory {
            port.give(buffer);
        }
        let Some(connection) = self.connections[number as usize].as_deref_mut() else { return };
        self.budget.give(&mut connection.held_bytes, cost);
        self.tally.held_bytes.fetch_sub(cost, Relaxed);
        connection.requests -= requests;
        self.freed = true;
    }

    /// Remembers that a connection may have something to send.
    fn list(&mut self, number: u32) {
        let Some(connection) = self.connection(number) else { return };
        if !connection.is_listed {
            connection.is_listed = true;
            self.listed.push(number);
        }
    }

    fn received(&mut self, port: &mut Port<'_>, number: u32, result: i32) {
        let now_ns = port.now_ns();
        let Some(connection) = self.connection(number) else { return };
        connection.receive_ended();
        match result {
            1.. => connection.received(result as usize, now_ns),
            0 => connection.finish(),
            _ if matches!(-result, libc::EAGAIN | libc::EINTR) => {}
            _ => connection.cut(),
        }
        if connection.state == State::Open {
            return self.pump(port, number);
        }
        self.drop_incoming(port, number);
        self.list(number);
    }

    /// A write whose data do not come any more never happened.
    fn drop_incoming(&mut self, port: &mut Port<'_>, number: u32) {
        let Some(connection) = self.connection(number) else { return };
        if connection.is_receiving() {
            return;
        }
        if let Some(incoming) = connection.incoming.take() {
            let Underway { memory, cost, .. } = self.underway[incoming.number as usize];
            self.free.push(incoming.number);
            self.let_go(port, number, memory, cost, 1);
        }
    }

    fn sent(&mut self, port: &mut Port<'_>, number: u32, result: i32) {
        let now_ns = port.now_ns();
        let Some(connection) = self.connection(number) else { return };
        let descriptor = connection.descriptor();
        let mut gone = Vec::new();
        match result {
            0.. => connection.progress_ns = now_ns,
            _ if matches!(-result, libc::EAGAIN | libc::EINTR) => {}
            _ => connection.cut(),
        }
        let again = if connection.state == State::Broken {
            connection.outgoing.abandon(|piece| gone.push(piece));
            None
        } else {
            connection.outgoing.sent(result.max(0) as usize, descriptor, |piece| gone.push(piece))
        };
        if let Some(entry) = again {
            // SAFETY: as of `turn`.
            unsafe { port.push(entry, SEND << KEY_SHIFT | u64::from(number)) };
        }
        for piece in gone {
            if let Piece::Reply { memory, cost, .. } = piece {
                self.let_go(port, number, memory, cost, 1);
            }
        }
        self.list(number);
        // It may have been at a limit.
        if self.connection(number).is_some_and(|connection| connection.can_receive()) {
            self.pump(port, number);
        }
    }

    /// Sends what a connection has to send, or ends it.
    fn serve_listed(&mut self, port: &mut Port<'_>, number: u32) {
        let Some(connection) = self.connection(number) else { return };
        connection.is_listed = false;
        let mut gone = Vec::new();
        if connection.state == State::Broken {
            if !connection.outgoing.is_busy() {
                connection.outgoing.abandon(|piece| gone.push(piece));
            }
        } else if let Some(entry) = connection.outgoing.start(connection.descriptor()) {
            // SAFETY: it points into the connection and to memory of its requests; both stay until it ended.
            unsafe { port.push(entry, SEND << KEY_SHIFT | u64::from(number)) };
        }
        for piece in gone {
            if let Piece::Reply { memory, cost, .. } = piece {
                self.let_go(port, number, memory, cost, 1);
            }
        }
        self.drop_incoming_of_the_ended(port, number);
        self.close_if_over(number);
    }

    fn drop_incoming_of_the_ended(&mut self, port: &mut Port<'_>, number: u32) {
        if self.connection(number).is_some_and(|connection| connection.state != State::Open) {
            self.drop_incoming(port, number);
        }
    }

    fn close_if_over(&mut self, number: u32) {
        if let Some(process) = self.connection(number).filter(|one| one.is_over()).map(|one| one.process) {
            self.connections[number as usize] = None;
            self.vacant.push(number);
            self.tally.left(process);
            self.tally.connections.fetch_sub(1, Relaxed);
        }
    }

    fn cut(&mut self, number: u32, why: &str) {
        let Some(connection) = self.connection(number) else { return };
        connection.cut();
        let process = connection.process;
        Tally::count(&self.tally.cut_off);
        self.tally.tell(format!("the client of process {process} was cut off: {why}"));
        self.list(number);
    }

    /// Lets those go on that waited for memory, in their order, as far as there is some.
    fn unblock(&mut self, port: &mut Port<'_>) {
        self.freed = false;
        for number in std::mem::take(&mut self.blocked) {
            let Some(connection) = self.connection(number) else { continue };
            let Some(request) = connection.blocked.take() else { continue };
            if connection.state == State::Open {
                self.take_up(port, number, request);
                self.pump(port, number);
            }
        }
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        if self.stopping && self.idle() {
            return;
        }
        self.wait_for_tick(port);
        if !self.accepting && !self.stopping {
            self.accept(port);
        }
        let Limits { patience_s, haggling_s, own_bytes, .. } = *self.budget.limits();
        let now_ns = port.now_ns();
        let wanting: Vec<u32> = self.blocked.iter().copied().filter(|number| self.wants_others(*number)).collect();
        for number in 0..self.connections.len() as u32 {
            let Some(connection) = self.connection(number) else { continue };
            let quiet_s = now_ns.saturating_sub(connection.progress_ns) / 1_000_000_000;
            let stuck = connection.outgoing.is_busy() || connection.incoming.is_some();
            let wanted = wanting.iter().any(|other| *other != number);
            let greedy = wanted && stuck && connection.held_bytes > own_bytes;
            let age_s = now_ns.saturating_sub(connection.began_ns) / 1_000_000_000;
            let why = match connection.state {
                State::Open if !connection.session.transmits() && age_s >= haggling_s => "it chose no export",
                State::Open if greedy && quiet_s >= patience_s => "it held memory that others wanted, and did nothing",
                State::Finishing if stuck && quiet_s >= patience_s => "it left, and did not read its answers",
                _ => continue,
            };
            self.cut(number, why);
        }
    }
}

/// Bytes of a long range that are asked for at once: up to a multiple of the longest request.
fn first_bytes(offset: u64, bytes: u32) -> u32 {
    bytes.min(REQUEST_BYTES_MAX - (offset % u64::from(REQUEST_BYTES_MAX)) as u32)
}

impl Source for Server {
    fn begin(&mut self, port: &mut Port<'_>) -> Result<(), String> {
        if self.export.bytes > port.bytes() {
            return Err(format!("{} B cannot be exported of a device of {} B", self.export.bytes, port.bytes()));
        }
        self.accept(port);
        self.wait_for_tick(port);
        Ok(())
    }

    fn completed(&mut self, port: &mut Port<'_>, key: u64, result: i32, more: bool) {
        let number = key as u32;
        match key >> KEY_SHIFT {
            ACCEPT => self.accepted(port, result, more),
            TICK => self.tick(port),
            RECEIVE => self.received(port, number, result),
            SEND => self.sent(port, number, result),
            _ => {}
        }
    }

    fn answered(&mut self, port: &mut Port<'_>, key: u64, result: Result<(), Failure>) {
        let name = key as u32;
        let Underway { left_bytes, flush, .. } = self.underway[name as usize];
        if result.is_ok() && (left_bytes > 0 || flush) {
            return self.ask(port, name);
        }
        self.finished(port, name, result);
    }

    fn turn(&mut self, port: &mut Port<'_>) -> bool {
        if self.freed && !self.blocked.is_empty() {
            self.unblock(port);
        }
        while let Some(number) = self.listed.pop() {
            self.serve_listed(port, number);
        }
        for number in std::mem::take(&mut self.unfinished) {
            self.pump(port, number);
        }
        !(self.unfinished.is_empty() && self.listed.is_empty())
    }

    fn stopping(&mut self, port: &mut Port<'_>) {
        self.stopping = true;
        self.listener.unlink();
        let accept = types::CancelBuilder::fd(types::Fd(self.listener.descriptor())).all();
        // SAFETY: it points to nothing.
        unsafe { port.push(opcode::AsyncCancel2::new(accept).build(), CANCEL << KEY_SHIFT) };
        for number in 0..self.connections.len() as u32 {
            let Some(connection) = self.connection(number) else { continue };
            connection.session.stop();
            connection.finish();
            self.list(number);
        }
    }

    fn idle(&self) -> bool {
        !self.accepting && self.connections.iter().all(Option::is_none)
    }
}
