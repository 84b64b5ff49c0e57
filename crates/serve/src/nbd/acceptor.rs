//! Where clients come from: the listener, and the tick at which those are looked for that must be cut off.

use flatwater_real::cache::Port;
use io_uring::{opcode, types};

use super::listener::Listener;
use super::operation::Operation;

/// How often the tick comes.
const TICK_S: u64 = 1;

/// The listener, and whether the ring accepts on it.
pub(super) struct Acceptor {
    listener: Listener,
    accepting: bool,
    interval: Box<types::Timespec>,
}

impl Acceptor {
    /// Of this listener; nobody is accepted yet.
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, accepting: false, interval: Box::new(types::Timespec::new().sec(TICK_S)) }
    }

    /// Whether clients are accepted.
    pub(super) fn is_accepting(&self) -> bool {
        self.accepting
    }

    /// Accepts all who come.
    pub(super) fn accept(&mut self, port: &mut Port<'_>) {
        self.accepting = true;
        let entry = opcode::AcceptMulti::new(types::Fd(self.listener.descriptor())).flags(libc::SOCK_CLOEXEC).build();
        // SAFETY: it points to nothing.
        unsafe { port.push(entry, Operation::Accept.key()) };
    }

    /// Accepting has ended by itself (at the limit of open files, for one): the next tick tries again.
    pub(super) fn ended(&mut self) {
        self.accepting = false;
    }

    /// Lets the next tick come.
    pub(super) fn wait_for_tick(&self, port: &mut Port<'_>) {
        // SAFETY: the kernel reads the time when it takes the operation, and the server outlives that.
        unsafe { port.push(opcode::Timeout::new(&raw const *self.interval).build(), Operation::Tick.key()) };
    }

    /// Accepts nobody any more, and takes the socket's file away.
    pub(super) fn stop(&mut self, port: &mut Port<'_>) {
        self.listener.unlink();
        let accept = types::CancelBuilder::fd(types::Fd(self.listener.descriptor())).all();
        // SAFETY: it points to nothing.
        unsafe { port.push(opcode::AsyncCancel2::new(accept).build(), Operation::Cancel.key()) };
    }
}
