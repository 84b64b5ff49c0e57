//! Stages that serve in the order of arrival. What arrives is given its time at once: nothing that comes later can
//! change it, so a stage needs no event of its own.

/// Nanoseconds that bytes take.
pub fn transfer_ns(bytes: u64, bytes_per_s: f64) -> u64 {
    if bytes_per_s > 0.0 { (bytes as f64 * 1e9 / bytes_per_s + 0.5) as u64 } else { 0 }
}

/// Servers that each take the same time for every request.
#[derive(Debug)]
pub struct Servers {
    /// Equal times free them in turn.
    free_ns: Vec<u64>,
    turn: usize,
    service_ns: u64,
}

impl Servers {
    /// Idle ones.
    pub fn new(servers: u32, service_ns: u64) -> Self {
        Self { free_ns: vec![0; servers as usize], turn: 0, service_ns }
    }

    /// When what arrives at `now_ns` has been served.
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
    /// Time that it has been busy.
    pub busy_ns: u64,
}

impl Pipe {
    /// An idle one; a rate of 0 is no limit.
    pub fn new(bytes_per_s: f64) -> Self {
        let ns_per_byte = if bytes_per_s > 0.0 { 1e9 / bytes_per_s } else { 0.0 };
        Self { free_ns: 0, ns_per_byte, busy_ns: 0 }
    }

    /// When bytes that arrive at `now_ns` are through.
    #[inline]
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let takes_ns = (bytes as f64 * self.ns_per_byte + 0.5) as u64;
        self.busy_ns += takes_ns;
        self.free_ns = self.free_ns.max(now_ns) + takes_ns;
        self.free_ns
    }
}

/// Dies, each for itself, or the channels they are on.
#[derive(Debug)]
pub struct Stations {
    free_ns: Vec<u64>,
    /// Time that they have been busy, together.
    pub busy_ns: u64,
}

impl Stations {
    /// Idle ones.
    pub fn new(stations: u32) -> Self {
        Self { free_ns: vec![0; stations as usize], busy_ns: 0 }
    }

    /// Keeps one busy for what arrives at `now_ns`; gives when it is done.
    #[inline]
    pub fn keep(&mut self, station: u32, now_ns: u64, takes_ns: u64) -> u64 {
        let free_ns = &mut self.free_ns[station as usize];
        *free_ns = now_ns.max(*free_ns) + takes_ns;
        self.busy_ns += takes_ns;
        *free_ns
    }
}

#[cfg(test)]
mod tests {
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
        let mut dies = Stations::new(2);
        assert_eq!([dies.keep(0, 0, 10), dies.keep(0, 5, 10), dies.keep(1, 5, 10)], [10, 20, 15]);
        assert_eq!(dies.busy_ns, 30);
    }
}
