//! What each sector may hold: the last version that is known durable, or any that was issued and is not older than it.

/// A request that changes sectors, or a version from before.
#[derive(Clone, Copy, Debug)]
struct Op {
    /// When it was asked for and answered, counted in steps; it may never be.
    issued: u64,
    answered: u64,
    durable: bool,
    /// Whatever was there before is gone with it; a trim leaves it open.
    covers: bool,
    /// Its sectors can be told from those of any other; zeros can not.
    stamped: bool,
    /// Sectors, first and past the last.
    sectors: (u32, u32),
}

/// A version of a sector.
#[derive(Clone, Copy, Debug)]
struct Version {
    op: u32,
    value: u64,
}

const NEVER: u64 = u64::MAX;

/// All versions of all sectors since the last cut.
pub struct Oracle {
    ops: Vec<Op>,
    sectors: Vec<Vec<Version>>,
    /// When flushes were asked for, of those that were answered well, in order of their answers.
    flushes: Vec<(u64, u64)>,
    pub sectors_per_block: u32,
}

impl Oracle {
    pub fn new(sectors: u32, sectors_per_block: u32) -> Self {
        let mut oracle = Self {
            ops: Vec::new(),
            sectors: vec![Vec::new(); sectors as usize],
            flushes: Vec::new(),
            sectors_per_block,
        };
        oracle.settle(&vec![0; sectors as usize]);
        oracle
    }

    /// After a cut: each sector has one value, and keeps it.
    pub fn settle(&mut self, values: &[u64]) {
        let sectors = (0, self.sectors.len() as u32);
        self.ops = vec![Op { issued: 0, answered: 0, durable: true, covers: true, stamped: false, sectors }];
        self.flushes.clear();
        for (versions, &value) in self.sectors.iter_mut().zip(values) {
            versions.clear();
            versions.push(Version { op: 0, value });
        }
    }

    /// Something is asked for that puts `value` in the sectors; gives its number.
    pub fn issue(&mut self, now: u64, sectors: (u32, u32), value: u64, covers: bool) -> u32 {
        let op = self.ops.len() as u32;
        self.ops.push(Op { issued: now, answered: NEVER, durable: false, covers, stamped: value != 0, sectors });
        for sector in sectors.0..sectors.1 {
            self.sectors[sector as usize].push(Version { op, value });
        }
        op
    }

    pub fn answered(&mut self, op: u32, now: u64, durable: bool) {
        let op = &mut self.ops[op as usize];
        (op.answered, op.durable) = (now, durable);
    }

    /// A flush that was asked for at `issued` was answered.
    pub fn flushed(&mut self, issued: u64, now: u64) {
        self.flushes.push((issued, now));
        self.ops.iter_mut().filter(|op| op.answered < issued).for_each(|op| op.durable = true);
    }

    /// Whether one version is gone for good: another one was asked for after it had been answered, and `counts`.
    fn gone(&self, versions: &[Version], version: Version, counts: impl Fn(&Op) -> bool) -> bool {
        let answered = self.ops[version.op as usize].answered;
        versions
            .iter()
            .map(|other| &self.ops[other.op as usize])
            .any(|op| op.covers && op.issued > answered && counts(op))
    }

    /// A sector after a cut.
    pub fn after_cut(&self, sector: u32, value: u64) -> Result<u32, String> {
        let versions = &self.sectors[sector as usize];
        let with_it = versions.iter().rev().filter(|version| version.value == value);
        let mut any = false;
        for &version in with_it {
            any = true;
            if !self.gone(versions, version, |op| op.durable) {
                return Ok(version.op);
            }
        }
        Err(self.told(sector, value, if any { "was overwritten durably" } else { "was never written there" }))
    }

    /// A sector of a cache that was given up: any version that was ever written there.
    pub fn ever(&self, sector: u32, value: u64) -> Result<(), String> {
        let known = self.sectors[sector as usize].iter().any(|version| version.value == value);
        if known { Ok(()) } else { Err(self.told(sector, value, "was never written there")) }
    }

    /// A sector that a read found, which was asked for at `issued`.
    pub fn read(&self, sector: u32, value: u64, issued: u64) -> Result<(), String> {
        let versions = &self.sectors[sector as usize];
        let with_it = versions.iter().rev().filter(|version| version.value == value);
        let mut any = false;
        for &version in with_it {
            any = true;
            if !self.gone(versions, version, |op| op.answered < issued) {
                return Ok(());
            }
        }
        Err(self.told(sector, value, if any { "was overwritten before the read" } else { "was never written there" }))
    }

    /// A whole block after a cut: if a sector has the version of a write of the whole block, none has an older one.
    pub fn whole(&self, block: u32, ops: &[u32]) -> Result<(), String> {
        let first = block * self.sectors_per_block;
        let last = (first + self.sectors_per_block).min(self.sectors.len() as u32);
        let newest = ops.iter().map(|&op| (op, &self.ops[op as usize]));
        for (number, op) in newest.filter(|(number, op)| *number > 0 && op.sectors.0 <= first && op.sectors.1 >= last) {
            if !op.stamped {
                continue;
            }
            if let Some(at) = ops.iter().position(|&other| self.ops[other as usize].answered < op.issued) {
                return Err(format!(
                    "block {block} is torn: sector {at} is older than the write {number} of all of it"
                ));
            }
        }
        Ok(())
    }

    /// The slow device alone, after the fast one was lost: some flush's state, or that and some of what came after it.
    pub fn consistent(&self, values: &[u64]) -> Result<(), String> {
        let mut why = String::new();
        for nth in 0..=self.flushes.len() {
            let since = nth.checked_sub(1).map_or(0, |before| self.flushes[before].0);
            let until = self.flushes.get(nth).map_or(NEVER, |flush| flush.1);
            let wrong = values.iter().enumerate().find(|&(sector, &value)| {
                let versions = &self.sectors[sector];
                !versions.iter().any(|&version| {
                    version.value == value
                        && self.ops[version.op as usize].issued < until
                        && !self.gone(versions, version, |op| op.answered < since)
                })
            });
            match wrong {
                None => return Ok(()),
                Some((sector, &value)) => why = self.told(sector as u32, value, &format!("does not fit flush {nth}")),
            }
        }
        Err(format!("the slow device alone is at no flush: {why}"))
    }

    fn told(&self, sector: u32, value: u64, what: &str) -> String {
        let versions: Vec<_> = self.sectors[sector as usize]
            .iter()
            .map(|version| {
                let op = self.ops[version.op as usize];
                let answered = if op.answered == NEVER { "-".into() } else { op.answered.to_string() };
                let durable = if op.durable { " durable" } else { "" };
                format!("{} ({}..{answered}{durable})", version.value, op.issued)
            })
            .collect();
        let block = sector / self.sectors_per_block;
        format!("sector {sector} (block {block}) holds {value}, which {what}; its versions: {}", versions.join(", "))
    }
}
