//! The server: a source of the cache's reactor that accepts clients on a unix socket and serves them all from its one
//! thread. Receives, sends and the cache's own IO share one ring, so that a batch of requests costs two system calls.

use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use flatwater_core::cache::{Command, Failure};
use flatwater_core::slab::{Key, Slab};
use flatwater_real::cache::{Ask as CacheAsk, Buffer, Port, Region, Source};

use super::acceptor::Acceptor;
use super::budget::{Budget, Limits};
use super::clients::Clients;
use super::connection::{Connection, Incoming, State};
use super::export::Export;
use super::listener::Listener;
use super::operation::Operation;
use super::outgoing::Piece;
use super::session::{Ask, Event, Request};
use super::tally::Tally;
use super::underway::{Part, RequestId, Underway};

/// Requests of a client that are taken up before others have their turn and answers are sent: a client with a deep queue
/// does not hold up one that has a single request. With one client, 8 are as fast as all that came (0.98x of 85,000 reads).
const TURN_REQUESTS: u32 = 8;

/// A server.
pub struct Server {
    acceptor: Acceptor,
    export: Arc<Export>,
    budget: Budget,
    tally: Arc<Tally>,
    clients: Clients,
    underway: Slab<Underway, RequestId>,
    /// Connections whose turn ended before their requests did.
    unfinished: Vec<u32>,
    /// Connections that wait for memory, first come first served.
    blocked: Vec<u32>,
    /// Memory was given back since they were looked at.
    freed: bool,
    stopping: bool,
}

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
            acceptor: Acceptor::new(listener),
            export: Arc::new(export),
            budget: Budget::new(limits),
            tally: Arc::default(),
            clients: Clients::default(),
            underway: Slab::new(),
            unfinished: Vec::new(),
            blocked: Vec::new(),
            freed: false,
            stopping: false,
        }
    }

    /// What it counts, for other threads.
    pub fn tally(&self) -> Arc<Tally> {
        self.tally.clone()
    }

    fn accepted(&mut self, port: &mut Port<'_>, result: i32, more: bool) {
        if !more {
            self.acceptor.ended();
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
        if self.clients.len() >= most {
            return self.tally.turn_away(most);
        }
        let connection = Connection::new(stream, self.export.clone(), port.now_ns());
        self.tally.came(connection.process);
        let number = self.clients.insert(connection);
        self.pump(port, number);
    }

    /// Takes requests from what a client sent, as far as that can be, and lets it send more.
    fn pump(&mut self, port: &mut Port<'_>, number: u32) {
        let (mut at, mut taken_up) = (0, 0);
        let requests_max = self.budget.limits().requests;
        while let Some(connection) = self.clients.get(number) {
            if connection.state != State::Open || connection.is_receiving() {
                break;
            }
            if connection.incoming.is_some() {
                at += connection.unstage(at);
                if connection.session.payload_bytes() > 0 {
                    break;
                }
                if let Some(incoming) = connection.incoming.take() {
                    self.ask(port, incoming.request);
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
        let Some(connection) = self.clients.get(number) else { return };
        connection.consume(at);
        let waits = taken_up < TURN_REQUESTS || connection.incoming.is_some();
        if waits && connection.can_receive() && (connection.requests < requests_max || connection.incoming.is_some()) {
            let (entry, key) = (connection.receive(), Operation::Receive(number).key());
            // SAFETY: it points into the connection, which stays until it ended (`is_over`), and into memory of a request,
            // which is given back no sooner (`let_go`).
            unsafe { port.push(entry, key) };
        }
        if connection.state != State::Open || !connection.outgoing.is_empty() {
            self.clients.list(number);
        }
    }

    /// Gives a request its memory and asks the cache, or lets its data come first.
    fn take_up(&mut self, port: &mut Port<'_>, number: u32, request: Request) {
        let Some(connection) = self.clients.get(number) else { return };
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
        let id = self.underway.insert(Underway::new(number, request, memory, cost));
        match memory {
            Some(buffer) if request.ask == Ask::Write => {
                connection.incoming = Some(Incoming { request: id, memory: buffer.region, done: 0 });
            }
            _ => self.ask(port, id),
        }
    }

    /// Asks the cache for a request, or for the next part of it.
    fn ask(&mut self, port: &mut Port<'_>, id: RequestId) {
        let Underway { connection, memory, .. } = self.underway[id];
        let key = id.number().into();
        match self.underway[id].next_part() {
            Part::Preload(offset, bytes) => port.command(key, Command::Preload((offset, bytes))),
            Part::Request { kind, offset, bytes, durable } => {
                let process = self.clients.get(connection).map_or(0, |connection| connection.process);
                let memory = memory.map_or(Region::NONE, |buffer| buffer.region);
                port.ask(key, CacheAsk { kind, offset, bytes, durable, process, memory });
            }
        }
    }

    fn finished(&mut self, port: &mut Port<'_>, id: RequestId, result: Result<(), Failure>) {
        let Underway { connection: number, request, memory, cost, .. } = self.underway.remove(id);
        Tally::count(&self.tally.requests);
        // That a range is cached is a wish, and a cache that cannot grant it now does no harm.
        let result = if request.ask == Ask::Cache { Ok(()) } else { result };
        let Some(connection) = self.clients.get(number) else { return };
        if connection.state == State::Broken {
            self.let_go(port, number, memory, cost, 1);
            return self.close_if_over(number);
        }
        let head = connection.session.reply(&request, result);
        let data_bytes = if head.data { request.bytes } else { 0 };
        connection.outgoing.push(Piece::Reply { head, memory, data_bytes, cost });
        self.clients.list(number);
    }

    /// Takes back what a request had.
    fn let_go(&mut self, port: &mut Port<'_>, number: u32, memory: Option<Buffer>, cost: u64, requests: u32) {
        if let Some(buffer) = memory {
            port.give(buffer);
        }
        let Some(connection) = self.clients.get(number) else { return };
        self.budget.give(&mut connection.held_bytes, cost);
        self.tally.held_bytes.fetch_sub(cost, Relaxed);
        connection.requests -= requests;
        self.freed = true;
    }

    /// Takes back what the requests had whose answers were sent, or are not wanted any more.
    fn let_go_of(&mut self, port: &mut Port<'_>, number: u32, pieces: Vec<Piece>) {
        for piece in pieces {
            if let Piece::Reply { memory, cost, .. } = piece {
                self.let_go(port, number, memory, cost, 1);
            }
        }
    }

    fn received(&mut self, port: &mut Port<'_>, number: u32, result: i32) {
        let now_ns = port.now_ns();
        let Some(connection) = self.clients.get(number) else { return };
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
        self.clients.list(number);
    }

    /// A write whose data do not come any more never happened.
    fn drop_incoming(&mut self, port: &mut Port<'_>, number: u32) {
        let Some(connection) = self.clients.get(number).filter(|one| !one.is_receiving()) else { return };
        if let Some(incoming) = connection.incoming.take() {
            let Underway { memory, cost, .. } = self.underway.remove(incoming.request);
            self.let_go(port, number, memory, cost, 1);
        }
    }

    fn sent(&mut self, port: &mut Port<'_>, number: u32, result: i32) {
        let now_ns = port.now_ns();
        let Some(connection) = self.clients.get(number) else { return };
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
            unsafe { port.push(entry, Operation::Send(number).key()) };
        }
        self.let_go_of(port, number, gone);
        self.clients.list(number);
        // It may have been at a limit.
        if self.clients.get(number).is_some_and(|connection| connection.can_receive()) {
            self.pump(port, number);
        }
    }

    /// Sends what a connection has to send, or ends it.
    fn serve_listed(&mut self, port: &mut Port<'_>, number: u32) {
        let Some(connection) = self.clients.get(number) else { return };
        let mut gone = Vec::new();
        if connection.state == State::Broken {
            if !connection.outgoing.is_busy() {
                connection.outgoing.abandon(|piece| gone.push(piece));
            }
        } else if let Some(entry) = connection.outgoing.start(connection.descriptor()) {
            // SAFETY: it points into the connection and to memory of its requests; both stay until it ended.
            unsafe { port.push(entry, Operation::Send(number).key()) };
        }
        self.let_go_of(port, number, gone);
        if self.clients.get(number).is_some_and(|connection| connection.state != State::Open) {
            self.drop_incoming(port, number);
        }
        self.close_if_over(number);
    }

    fn close_if_over(&mut self, number: u32) {
        if let Some(process) = self.clients.get(number).filter(|one| one.is_over()).map(|one| one.process) {
            self.clients.remove(number);
            self.tally.left(process);
        }
    }

    fn cut(&mut self, number: u32, why: &str) {
        let Some(connection) = self.clients.get(number) else { return };
        connection.cut();
        self.tally.cut_off(connection.process, why);
        self.clients.list(number);
    }

    /// Lets those go on that waited for memory, in their order, as far as there is some.
    fn unblock(&mut self, port: &mut Port<'_>) {
        self.freed = false;
        for number in std::mem::take(&mut self.blocked) {
            let Some(connection) = self.clients.get(number) else { continue };
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
        self.acceptor.wait_for_tick(port);
        if !self.acceptor.is_accepting() && !self.stopping {
            self.acceptor.accept(port);
        }
        let (now_ns, limits) = (port.now_ns(), *self.budget.limits());
        let (blocked, clients) = (&self.blocked, &mut self.clients);
        let wants = |number: &u32| clients.get(*number).is_some_and(|one| one.waits_for_others());
        let others: Vec<u32> = blocked.iter().copied().filter(wants).collect();
        for number in self.clients.numbers() {
            let is_wanted = others.iter().any(|other| *other != number);
            let connection = self.clients.get(number);
            let Some(why) = connection.and_then(|one| one.why_cut_off(now_ns, &limits, is_wanted)) else { continue };
            self.cut(number, why);
        }
    }
}

impl Source for Server {
    fn begin(&mut self, port: &mut Port<'_>) -> Result<(), String> {
        if self.export.bytes > port.bytes() {
            return Err(format!("{} B cannot be exported of a device of {} B", self.export.bytes, port.bytes()));
        }
        self.acceptor.accept(port);
        self.acceptor.wait_for_tick(port);
        Ok(())
    }

    fn completed(&mut self, port: &mut Port<'_>, key: u64, result: i32, more: bool) {
        match Operation::of_key(key) {
            Operation::Accept => self.accepted(port, result, more),
            Operation::Tick => self.tick(port),
            Operation::Receive(number) => self.received(port, number, result),
            Operation::Send(number) => self.sent(port, number, result),
            Operation::Cancel => {}
        }
    }

    fn answered(&mut self, port: &mut Port<'_>, key: u64, result: Result<(), Failure>) {
        let id = RequestId::from_number(key as u32);
        if result.is_ok() && self.underway[id].is_partial() {
            return self.ask(port, id);
        }
        self.finished(port, id, result);
    }

    fn turn(&mut self, port: &mut Port<'_>) -> bool {
        if self.freed && !self.blocked.is_empty() {
            self.unblock(port);
        }
        while let Some(number) = self.clients.take_listed() {
            self.serve_listed(port, number);
        }
        for number in std::mem::take(&mut self.unfinished) {
            self.pump(port, number);
        }
        !self.unfinished.is_empty() || self.clients.has_listed()
    }

    fn stopping(&mut self, port: &mut Port<'_>) {
        self.stopping = true;
        self.acceptor.stop(port);
        for number in self.clients.numbers() {
            let Some(connection) = self.clients.get(number) else { continue };
            connection.session.stop();
            connection.finish();
            self.clients.list(number);
        }
    }

    fn idle(&self) -> bool {
        !self.acceptor.is_accepting() && self.clients.len() == 0
    }
}
