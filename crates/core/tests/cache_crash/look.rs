//! The power fails, and what recovery finds is looked at.

use std::collections::BTreeMap;

use flatwater_core::cache::Block;
use flatwater_core::cache::journal::Holding;
use flatwater_core::cache::journal::recovery::{self, Recovered, Trouble};
use rand::Rng as _;

use super::{Checked, World};
use crate::disk::{Cut, Disk, SECTOR};
use crate::memory::{Plain, stamped};

impl World {
    /// The power fails here; what recovery finds is looked at; then all goes on as if it had not.
    pub(super) fn cut_and_put_back(&mut self) -> Checked {
        self.cuts += 1;
        self.disks.iter_mut().for_each(Disk::save);
        let result = self.cut_and_look();
        self.disks.iter_mut().for_each(Disk::restore);
        result
    }

    fn cut_and_look(&mut self) -> Checked {
        let hows = self.cut_all();
        let look = |world: &mut Self| {
            world.slow_alone()?;
            let (recovered, given_up) = world.recover_or_give_up()?;
            if given_up { world.look_given_up(&recovered) } else { world.look(&recovered) }
        };
        look(self).map_err(|what| format!("{hows:?}: {what}"))
    }

    pub fn cut_all(&mut self) -> [Cut; 3] {
        let same = Cut::any(&mut self.rng);
        let one = self.rng.random_range(0..3) == 0;
        let mut hows = [same; 3];
        for (disk, how) in self.disks.iter_mut().zip(&mut hows) {
            if !one {
                *how = Cut::any(&mut self.rng);
            }
            disk.cut(*how, &mut self.rng);
        }
        hows
    }

    /// Losing the fast device leaves an older, but consistent slow one, if write-back is ordered. In the first life
    /// only: later the slow device begins behind what the oracle knows.
    fn slow_alone(&mut self) -> Checked {
        if !self.plan.settings.ordered || self.fast_failed() || self.lives > 1 || !self.cuts.is_multiple_of(4) {
            return Ok(());
        }
        let mut bytes = vec![0; self.plan.slow_bytes as usize];
        self.disks[1].look(0, &mut bytes);
        let values: Vec<u64> = bytes
            .chunks_exact(SECTOR)
            .enumerate()
            .map(|(sector, content)| stamped(content, sector as u32))
            .collect::<Result<_, _>>()?;
        self.oracle.consistent(&values)
    }

    /// Recovers; now and then the power fails in the middle of that, too.
    pub(super) fn recover(&mut self) -> Checked<Recovered> {
        while self.cuts_left > 0 && self.rng.random_range(0..3) == 0 {
            let fuse = self.rng.random_range(0..20);
            let side = [0, 0, 0, 1, 2][self.rng.random_range(0..5)];
            self.disks[side].fuse = Some(fuse);
            match recovery::recover(self.devices(), false) {
                Ok(_) | Err(Trouble::Io { .. }) => {}
                Err(other) => return Err(format!("recovery that is cut says: {other}")),
            }
            self.cut_all();
            self.cuts += 1;
        }
        recovery::recover(self.devices(), false).map_err(|trouble| format!("recovery says: {trouble}"))
    }

    /// Each sector's version, as the recovered cache would give it out.
    pub fn content(&mut self, recovered: &Recovered) -> Checked<Vec<u64>> {
        let block_bytes = self.plan.block_bytes as usize;
        let mut slots = BTreeMap::new();
        for held in recovered.held.iter().filter(|held| held.entry.holding != Holding::Superseded) {
            if slots.insert(held.entry.block, held).is_some() {
                return Err(format!("block {} is held twice", held.entry.block));
            }
        }
        let mut values = Vec::new();
        let (mut data, mut below) = (vec![0; block_bytes], vec![0; block_bytes]);
        for block in 0..recovered.geometry.blocks() {
            let at = u64::from(block) * block_bytes as u64;
            let bytes = (self.plan.slow_bytes - at).min(block_bytes as u64) as usize;
            self.disks[1].look(at, &mut below[..bytes]);
            let found = match slots.get(&Block(block)) {
                None => &below,
                Some(held) => {
                    self.disks[0].look(recovered.geometry.slot_offset(held.slot), &mut data);
                    if crc32c::crc32c(&data) != held.entry.crc {
                        return Err(format!("block {block}: slot {} does not pass its checksum", held.slot));
                    }
                    if held.entry.holding == Holding::Clean && data[..bytes] != below[..bytes] {
                        return Err(format!("block {block} is clean in slot {}, and not what lies below", held.slot));
                    }
                    &data
                }
            };
            for sector in found[..bytes].chunks_exact(SECTOR) {
                values.push(stamped(sector, values.len() as u32)?);
            }
        }
        Ok(values)
    }

    fn look(&mut self, recovered: &Recovered) -> Checked {
        let values = self.content(recovered)?;
        let per_block = self.plan.block_bytes as usize / SECTOR;
        let mut ops = Vec::with_capacity(per_block);
        for (block, values) in values.chunks(per_block).enumerate() {
            ops.clear();
            for (nth, &value) in values.iter().enumerate() {
                ops.push(self.oracle.after_cut((block * per_block + nth) as u32, value)?);
            }
            if self.plan.whole && !self.fast_failed() && values.len() == per_block {
                self.oracle.whole(block as u32, &ops)?;
            }
        }
        Ok(())
    }

    pub(super) fn cut_for_good(&mut self, stopped: bool) -> Checked {
        self.cuts += 1;
        self.die(stopped)?;
        self.cut_all();
        let (recovered, given_up) = self.recover_or_give_up()?;
        self.given_up = given_up || self.faults.is_some();
        if given_up { self.look_given_up(&recovered) } else { self.look(&recovered) }
    }

    /// A cache whose fast device failed is only started if what was on it is given up.
    fn recover_or_give_up(&mut self) -> Checked<(Recovered, bool)> {
        if self.faults.is_some()
            && let Err(Trouble::Degraded { .. }) = recovery::recover(self.devices(), false)
        {
            let recovered = recovery::recover(self.devices(), true).map_err(|trouble| trouble.to_string())?;
            return Ok((recovered, true));
        }
        Ok((self.recover()?, false))
    }

    fn look_given_up(&mut self, recovered: &Recovered) -> Checked {
        if !recovered.held.is_empty() {
            return Err("something of a failed device is believed".into());
        }
        for (sector, &value) in self.content(recovered)?.iter().enumerate() {
            self.oracle.ever(sector as u32, value)?;
        }
        Ok(())
    }

    /// The program is gone, and no IO of it is under way any more: the next life must not meet a write of this one.
    pub fn die(&mut self, stopped: bool) -> Checked {
        self.engine = None;
        if stopped && self.faults.is_none() && !self.running.is_empty() {
            return Err(format!("stopped with IOs under way: {:?}", self.running[0].io));
        }
        self.running.clear();
        self.disks.iter_mut().for_each(|disk| disk.abandon(&mut self.rng));
        self.users.abandon();
        if stopped && self.faults.is_none() && self.memory.taken() > 0 {
            return Err(format!("{} buffers were not given back", self.memory.taken()));
        }
        self.memory = Plain::default();
        Ok(())
    }
}
