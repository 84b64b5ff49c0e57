//! Servers beside each other on one machine, each with a pool, a log, mutexes and clients of its own.
//!
//! They share devices and cores. Whichever has something to do at a moment is handed the machine and does it; at the same
//! moment, in the order of their numbers. One server has the machine for good: it is the plain case.

use flatwater_core::interval::Interval;

use super::events::{SERVER_MASK, SERVER_SHIFT};
use super::flushing;
use super::innodb::{Innodb, WarmUp};
use super::machine::Machine;
use super::spec::Spec;
use super::touches::Workload;
use crate::fileio::DeviceInterval;
use crate::storage::Ended;

/// Servers and their clients under way.
pub struct Fleet {
    spec: Spec,
    pub(super) servers: Vec<Innodb>,
    /// When each has something to do.
    wakes_ns: Vec<u64>,
    /// Who has the machine.
    turn: usize,
    pub(super) now_ns: u64,
    collected_ns: u64,
    /// Kept to reuse its memory.
    ended: Vec<Ended>,
}

/// Transactions of one server's warm-up before it is the next one's turn, where there are several: a cache below is left as
/// all of them together leave it.
const WARM_UP_TURN: u64 = 1000;
/// Pools are shared out in whole MiB, as those of real servers are.
const SHARE_BYTES: u64 = 1 << 20;
/// What is told of each server, where there are several, as it is of real ones.
const EACH: [&str; 3] = ["checkpoint_age_bytes", "dirty_pct", "pages_flushed_per_s"];

impl Fleet {
    /// Makes devices and servers, and starts all threads.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn start(spec: Spec) -> Result<Self, String> {
        let policies = own_policies(&spec);
        Self::start_with(spec, policies)
    }

    /// Bytes that the servers use of each device: the data's, then those of `others`. Their logs, and the room for what
    /// tables grow by, are in it. Capacities do not matter.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn used_bytes(spec: &Spec) -> Result<Vec<u64>, String> {
        lay_out(spec, own_policies(spec)).map(|(_, used_bytes)| used_bytes)
    }

    /// The same, with policies that are not the model's own, one a server.
    ///
    /// # Errors
    /// What cannot be, in words.
    pub fn start_with(spec: Spec, policies: Vec<Box<dyn flushing::Policy>>) -> Result<Self, String> {
        let (mut servers, used_bytes) = lay_out(&spec, policies)?;
        let Some(first) = servers.first_mut() else { return Err("database.servers must be 1 or more".into()) };
        first.host_mut().give_machine(Machine::new(&spec, &used_bytes)?);
        let wakes_ns = vec![0; servers.len()];
        let mut own = Self { spec, servers, wakes_ns, turn: 0, now_ns: 0, collected_ns: 0, ended: Vec::new() };
        if own.spec.warm {
            own.warm_up();
        }
        for number in 0..own.servers.len() {
            let server = own.give_turn(number);
            server.begin();
            own.wakes_ns[number] = server.host().next_event_ns().unwrap_or(u64::MAX);
        }
        Ok(own)
    }

    fn warm_up(&mut self) {
        let mut states: Vec<WarmUp> = self.servers.iter().map(WarmUp::new).collect();
        let turn = if states.len() == 1 { u64::MAX } else { WARM_UP_TURN };
        let mut under_way = true;
        while under_way {
            under_way = false;
            for (number, state) in states.iter_mut().enumerate() {
                under_way |= self.give_turn(number).warm_up(state, turn);
            }
        }
    }

    /// Hands the machine over.
    #[inline]
    fn give_turn(&mut self, number: usize) -> &mut Innodb {
        if number != self.turn {
            let machine = self.servers[self.turn].host_mut().take_machine();
            self.servers[number].host_mut().give_machine(machine);
            self.turn = number;
        }
        let server = &mut self.servers[number];
        server.host_mut().set_now_ns(self.now_ns);
        server
    }

    /// Runs to the end of the next interval; None when the run is over.
    pub fn next_interval(&mut self) -> Option<(Interval, DeviceInterval)> {
        if self.is_over() {
            return None;
        }
        let end_ns = self.collected_ns + self.spec.interval_ms.max(1) * 1_000_000;
        while self.now_ns < end_ns && !self.is_over() {
            self.step(end_ns);
        }
        Some(self.collect())
    }

    /// Asks all threads to finish their transactions and end.
    pub fn stop(&mut self) {
        for server in &mut self.servers {
            server.stop();
        }
    }

    /// The first failure, in words. It ends the run: a modelled transaction fails only together with its device.
    pub fn failure(&self) -> Option<String> {
        self.servers.iter().find_map(|server| server.host().failure().cloned())
    }

    pub(super) fn is_over(&self) -> bool {
        self.servers.iter().all(Innodb::is_over) || self.servers.iter().any(|server| server.host().failure().is_some())
    }

    /// Lets time pass to the next thing that happens, or to `end_ns`.
    pub(super) fn step(&mut self, end_ns: u64) {
        let until_ns = self.wakes_ns.iter().fold(end_ns, |until_ns, at_ns| until_ns.min(*at_ns));
        let mut ended = std::mem::take(&mut self.ended);
        self.now_ns = self.servers[self.turn].host_mut().machine_mut().advance(until_ns, &mut ended);
        for one in ended.drain(..) {
            let number = (one.tag >> SERVER_SHIFT & SERVER_MASK) as usize;
            self.give_turn(number).receive(one);
            self.wakes_ns[number] = self.now_ns;
        }
        self.ended = ended;
        for number in 0..self.servers.len() {
            if self.wakes_ns[number] <= self.now_ns {
                let server = self.give_turn(number);
                server.run_events();
                self.wakes_ns[number] = server.host().next_event_ns().unwrap_or(u64::MAX);
            }
        }
    }

    /// Ends an interval of all servers.
    fn collect(&mut self) -> (Interval, DeviceInterval) {
        let now_ns = self.now_ns;
        let mut all = self.servers.iter_mut().map(|server| {
            server.host_mut().set_now_ns(now_ns);
            server.end_interval()
        });
        let (mut interval, mut told) = all.next().expect("there is a server");
        let others: Vec<_> = all.collect();
        if !others.is_empty() {
            let each: Vec<&DeviceInterval> = [&told].into_iter().chain(others.iter().map(|(_, told)| told)).collect();
            let series = series_of_all(&each);
            for (other, own) in others {
                add(&mut interval, &other);
                told.incidents.extend(own.incidents);
            }
            told.incidents.sort_by_key(|incident| incident.at_ns);
            told.series = series;
        }
        self.servers[self.turn].host_mut().machine_mut().observe(&self.spec, now_ns, &mut told);
        self.collected_ns = now_ns;
        (interval, told)
    }
}

fn own_policies(spec: &Spec) -> Vec<Box<dyn flushing::Policy>> {
    let name = spec.flushing.unwrap_or_else(|| flushing::Name::of(spec.generation, &spec.settings));
    (0..spec.servers).map(|_| flushing::open(name, &spec.settings)).collect()
}

/// The servers, each behind the others on every device; and the bytes that all of them use of each.
fn lay_out(spec: &Spec, policies: Vec<Box<dyn flushing::Policy>>) -> Result<(Vec<Innodb>, Vec<u64>), String> {
    let mut servers: Vec<Innodb> = Vec::new();
    let mut used_bytes = vec![0; spec.others.len() + 1];
    for (number, policy) in policies.into_iter().enumerate() {
        let server = Innodb::new(number as u32, share(spec, number as u32)?, policy, &used_bytes)?;
        used_bytes = server.host().placement().used_bytes().to_vec();
        servers.push(server);
    }
    Ok((servers, used_bytes))
}

/// What one of several servers has of everything.
fn share(spec: &Spec, number: u32) -> Result<Spec, String> {
    let mut own = spec.clone();
    let servers = spec.servers;
    if servers == 1 {
        return Ok(own);
    }
    if u64::from(servers) > SERVER_MASK + 1 {
        return Err(format!("database.servers must be at most {}, not {servers}", SERVER_MASK + 1));
    }
    let divided = |what: &str, all: u32| {
        if all.is_multiple_of(servers) {
            return Ok(all / servers);
        }
        Err(format!("workload.{what}: {all} cannot be shared out evenly among {servers} servers (database.servers)"))
    };
    own.connections = divided("connections", spec.connections)?;
    match &mut own.workload {
        Workload::Tpcc(tpcc) => tpcc.warehouses = divided("warehouses", tpcc.warehouses)?,
        Workload::Oltp(oltp) => oltp.tables = divided("tables", oltp.tables)?,
    }
    let settings = &mut own.settings;
    settings.innodb_buffer_pool_size =
        settings.innodb_buffer_pool_size / u64::from(servers) / SHARE_BYTES * SHARE_BYTES;
    own.page_cache_bytes = spec.page_cache_bytes.map(|bytes| bytes / u64::from(servers));
    own.seed = flatwater_core::seed::splitmix(spec.seed ^ u64::from(number) << 32);
    Ok(own)
}

/// Adds what another server did in the same interval.
fn add(interval: &mut Interval, other: &Interval) {
    for (kind, other) in interval.kinds.iter_mut().zip(&other.kinds) {
        kind.operations += other.operations;
        kind.bytes += other.bytes;
        kind.errors += other.errors;
        kind.latency.merge(&other.latency);
    }
    for ((_, count), (_, other)) in interval.counters.iter_mut().zip(&other.counters) {
        *count += other;
    }
    interval.in_flight += other.in_flight;
    interval.oldest_ns = interval.oldest_ns.max(other.oldest_ns);
}

/// The series of several servers, as of several real ones: sums, and shares of sums.
fn series_of_all(each: &[&DeviceInterval]) -> Vec<(String, f64)> {
    let of = |told: &DeviceInterval, name: &str| {
        told.series.iter().find(|(own, _)| own.strip_prefix("database.") == Some(name)).map(|(_, value)| *value)
    };
    let sum = |name: &str| each.iter().filter_map(|told| of(told, name)).sum::<f64>();
    let mut told = Vec::new();
    for (full, _) in &each[0].series {
        let value = match full.strip_prefix("database.").unwrap_or(full) {
            "hit_ratio" => continue,
            "dirty_pct" => 100.0 * sum("dirty_pages") / (1.0 + sum("pages_data") + sum("pages_free")),
            name => sum(name),
        };
        told.push((full.clone(), value));
    }
    let requests = sum("read_requests_per_s");
    if requests > 0.0 {
        // Not of pages read: nobody waited for some of them.
        let missed = |told: &&DeviceInterval| Some((1.0 - of(told, "hit_ratio")?) * of(told, "read_requests_per_s")?);
        told.push(("database.hit_ratio".into(), 1.0 - each.iter().filter_map(missed).sum::<f64>() / requests));
    }
    for (number, own) in each.iter().enumerate() {
        let named = |name: &&str| of(own, name).map(|value| (format!("database.instance{number}_{name}"), value));
        told.extend(EACH.iter().filter_map(named));
    }
    told
}

#[cfg(test)]
#[path = "tests/fleet.rs"]
mod tests;
