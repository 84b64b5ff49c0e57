//! The connections of a server by their numbers, and which of them have something to send.

use flatwater_core::slab::Slab;

use super::connection::Connection;

/// The connections.
#[derive(Default)]
pub(super) struct Clients {
    all: Slab<Box<Connection>>,
    /// All numbers that were ever given are below this.
    end: u32,
    /// Those that have something to send.
    listed: Vec<u32>,
}

impl Clients {
    /// A new connection; its number.
    pub(super) fn insert(&mut self, connection: Connection) -> u32 {
        let number = self.all.insert(Box::new(connection));
        self.end = self.end.max(number + 1);
        number
    }

    /// The connection of a number, if it is still there.
    #[inline]
    pub(super) fn get(&mut self, number: u32) -> Option<&mut Connection> {
        self.all.contains(number).then(|| &mut *self.all[number])
    }

    /// A connection is over.
    pub(super) fn remove(&mut self, number: u32) {
        self.all.remove(number);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Numbers that may have a connection.
    pub(super) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.end
    }

    /// Remembers that a connection may have something to send.
    pub(super) fn list(&mut self, number: u32) {
        let Some(connection) = self.get(number) else { return };
        if !std::mem::replace(&mut connection.is_listed, true) {
            self.listed.push(number);
        }
    }

    /// Takes one that may have something to send.
    pub(super) fn take_listed(&mut self) -> Option<u32> {
        let number = self.listed.pop()?;
        if let Some(connection) = self.get(number) {
            connection.is_listed = false;
        }
        Some(number)
    }

    /// Whether one may have something to send.
    pub(super) fn has_listed(&self) -> bool {
        !self.listed.is_empty()
    }
}
