//! Stages that serve in the order of arrival. A stage knows at the arrival when it will be done: nothing that arrives later
//! can change that. So a stage needs no event of its own.

use std::marker::PhantomData;

use flatwater_core::ids::Id;

/// The time that `bytes` take at a rate, in ns.
pub fn transfer_ns(bytes: u64, bytes_per_s: f64) -> u64 {
    if bytes_per_s > 0.0 { (bytes as f64 * 1e9 / bytes_per_s + 0.5) as u64 } else { 0 }
}

/// Servers that each take the same time for every request.
#[derive(Debug)]
pub struct Servers {
    /// When each server is free. They take turns, because all take the same time.
    free_ns: Vec<u64>,
    turn: usize,
    service_ns: u64,
}

impl Servers {
    /// Idle servers.
    pub fn new(servers: u32, service_ns: u64) -> Self {
        Self { free_ns: vec![0; servers as usize], turn: 0, service_ns }
    }

    /// Serves a request that arrives at `now_ns`, and returns when it is done.
    #[inline]
    pub fn serve(&mut self, now_ns: u64) -> u64 {
        let free_ns = &mut self.free_ns[self.turn];
        *free_ns = now_ns.max(*free_ns) + self.service_ns;
        let end_ns = *free_ns;
        self.turn += 1;
        if self.turn == self.free_ns.len() {
            self.turn = 0;
        }
        end_ns
    }
}

/// A pipe: one transfer after another.
#[derive(Debug)]
pub struct Pipe {
    free_ns: u64,
    ns_per_byte: f64,
    /// How long it was busy.
    pub busy_ns: u64,
}

impl Pipe {
    /// An idle pipe. A rate of 0 means no limit.
    pub fn new(bytes_per_s: f64) -> Self {
        let ns_per_byte = if bytes_per_s > 0.0 { 1e9 / bytes_per_s } else { 0.0 };
        Self { free_ns: 0, ns_per_byte, busy_ns: 0 }
    }

    /// Sends bytes that arrive at `now_ns`, and returns when they have passed.
    #[inline]
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let takes_ns = (bytes as f64 * self.ns_per_byte + 0.5) as u64;
        self.busy_ns += takes_ns;
        self.free_ns = self.free_ns.max(now_ns) + takes_ns;
        self.free_ns
    }
}

/// Dies or channels, which work independently of each other; `I` is their id.
#[derive(Debug)]
pub struct Stations<I> {
    free_ns: Vec<u64>,
    /// How long all of them together were busy.
    pub busy_ns: u64,
    id: PhantomData<I>,
}

impl<I: Id> Stations<I> {
    /// Idle stations.
    pub fn new(stations: u32) -> Self {
        Self { free_ns: vec![0; stations as usize], busy_ns: 0, id: PhantomData }
    }

    /// Keeps a station busy with work that arrives at `now_ns`, and returns when the work is done.
    #[inline]
    pub fn keep(&mut self, station: I, now_ns: u64, takes_ns: u64) -> u64 {
        let free_ns = &mut self.free_ns[station.index()];
        *free_ns = now_ns.max(*free_ns) + takes_ns;
        self.busy_ns += takes_ns;
        *free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::WayNo;
    use super::*;

    #[test]
    fn servers_take_requests_side_by_side() {
        let mut servers = Servers::new(2, 10);
        assert_eq!([0, 0, 0, 1, 100].map(|now_ns| servers.serve(now_ns)), [10, 10, 20, 20, 110]);
    }

    #[test]
    fn a_pipe_takes_one_after_another() {
        let mut pipe = Pipe::new(1e9);
        assert_eq!([pipe.send(0, 100), pipe.send(50, 100), pipe.send(500, 1)], [100, 200, 501]);
        assert_eq!(pipe.busy_ns, 201);
        assert_eq!(Pipe::new(0.0).send(7, 1 << 40), 7);
    }

    #[test]
    fn stations_queue_each_for_itself() {
        let (mut dies, [a, b]) = (Stations::new(2), [0, 1].map(WayNo::new));
        assert_eq!([dies.keep(a, 0, 10), dies.keep(a, 5, 10), dies.keep(b, 5, 10)], [10, 20, 15]);
        assert_eq!(dies.busy_ns, 30);
    }
}
