//! The listener that accepts clients, and the tick at which the server looks for clients that it must disconnect.

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
    /// An acceptor that does not accept yet.
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, accepting: false, interval: Box::new(types::Timespec::new().sec(TICK_S)) }
    }

    /// Whether clients are accepted.
    pub(super) fn is_accepting(&self) -> bool {
        self.accepting
    }

    /// Accepts all clients from now on.
    pub(super) fn accept(&mut self, port: &mut Port<'_>) {
        self.accepting = true;
        let entry = opcode::AcceptMulti::new(types::Fd(self.listener.descriptor())).flags(libc::SOCK_CLOEXEC).build();
        // SAFETY: it points to no memory.
        unsafe { port.push(entry, Operation::Accept.key()) };
    }

    /// Notes that accepting has ended (for example at the limit of open files). The next tick tries again.
    pub(super) fn ended(&mut self) {
        self.accepting = false;
    }

    /// Waits for the next tick.
    pub(super) fn wait_for_tick(&self, port: &mut Port<'_>) {
        // SAFETY: the kernel reads the time when it takes the operation, and the server outlives that.
        unsafe { port.push(opcode::Timeout::new(&raw const *self.interval).build(), Operation::Tick.key()) };
    }

    /// Stops accepting, and removes the file of the socket.
    pub(super) fn stop(&mut self, port: &mut Port<'_>) {
        self.listener.unlink();
        let accept = types::CancelBuilder::fd(types::Fd(self.listener.descriptor())).all();
        // SAFETY: it points to no memory.
        unsafe { port.push(opcode::AsyncCancel2::new(accept).build(), Operation::Cancel.key()) };
    }
}
