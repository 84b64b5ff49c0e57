//! A device with a volatile cache whose power can be cut, and put back as if nothing had been.

use std::io;

use flatwater_core::cache::journal::recovery::Blocks;
use flatwater_core::seed::Rng;
use rand::Rng as _;

pub const SECTOR: usize = 512;

/// A write that no sync has made durable.
struct Pending {
    id: u64,
    offset: usize,
    data: Vec<u8>,
    /// How many operations had ended when it did; None: it is under way.
    ended: Option<u64>,
}

/// What is undone when a cut is taken back.
struct Saved {
    pending: Vec<Pending>,
    overwritten: Vec<(usize, Vec<u8>)>,
}

/// What a cut does to what was not synced.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// Everything is there: a process died, not the power.
    Kept,
    /// Nothing is.
    Dropped,
    /// Each write is there or not.
    Whole,
    /// Each piece of so many bytes is there or not.
    Torn(usize),
}

impl Cut {
    pub fn any(rng: &mut Rng) -> Self {
        match rng.random_range(0..6) {
            0 => Self::Kept,
            1 => Self::Dropped,
            2 | 3 => Self::Whole,
            4 => Self::Torn(SECTOR),
            _ => Self::Torn(4096),
        }
    }
}

pub struct Disk {
    durable: Vec<u8>,
    pending: Vec<Pending>,
    clock: u64,
    next: u64,
    saved: Option<Saved>,
    /// Operations until the power fails; None: it does not.
    pub fuse: Option<u32>,
}

impl Disk {
    pub fn new(bytes: usize) -> Self {
        Self { durable: vec![0; bytes], pending: Vec::new(), clock: 0, next: 0, saved: None, fuse: None }
    }

    /// A write begins; its data may be torn in any way until it has ended and was synced.
    pub fn begin_write(&mut self, offset: u64, data: Vec<u8>) -> u64 {
        self.next += 1;
        self.pending.push(Pending { id: self.next, offset: offset as usize, data, ended: None });
        self.next
    }

    pub fn end_write(&mut self, id: u64) {
        self.clock += 1;
        let at = self.pending.iter().position(|write| write.id == id).expect("a write under way");
        let mut write = self.pending.remove(at);
        write.ended = Some(self.clock);
        self.pending.push(write);
    }

    /// It failed: each of its sectors is old or new.
    pub fn fail_write(&mut self, id: u64, rng: &mut Rng) {
        let at = self.pending.iter().position(|write| write.id == id).expect("a write under way");
        let write = self.pending.remove(at);
        for (nth, data) in write.data.chunks(SECTOR).enumerate() {
            if rng.random() {
                let id = self.begin_write((write.offset + nth * SECTOR) as u64, data.to_vec());
                self.end_write(id);
            }
        }
    }

    /// Who wrote is gone: a write under way is there, is not, or is there in part, and never comes later. A volatile cache
    /// keeps what it has.
    pub fn abandon(&mut self, rng: &mut Rng) {
        let under_way: Vec<u64> =
            self.pending.iter().filter(|write| write.ended.is_none()).map(|write| write.id).collect();
        for id in under_way {
            match rng.random_range(0..3) {
                0 => self.end_write(id),
                1 => self.pending.retain(|write| write.id != id),
                _ => self.fail_write(id, rng),
            }
        }
    }

    /// Whether a write is under way.
    pub fn writes(&self) -> bool {
        self.pending.iter().any(|write| write.ended.is_none())
    }

    /// What a sync that begins now covers.
    pub fn begin_sync(&self) -> u64 {
        self.clock
    }

    pub fn end_sync(&mut self, up_to: u64) {
        for write in std::mem::take(&mut self.pending) {
            if write.ended.is_some_and(|ended| ended <= up_to) {
                self.store(write.offset, &write.data);
            } else {
                self.pending.push(write);
            }
        }
    }

    /// What a read finds that ends now.
    pub fn look(&self, offset: u64, into: &mut [u8]) {
        let from = offset as usize;
        into.copy_from_slice(&self.durable[from..from + into.len()]);
        for write in self.pending.iter().filter(|write| write.ended.is_some()) {
            let (begin, end) = (from.max(write.offset), (from + into.len()).min(write.offset + write.data.len()));
            if begin < end {
                into[begin - from..end - from].copy_from_slice(&write.data[begin - write.offset..end - write.offset]);
            }
        }
    }

    pub fn flip_bit(&mut self, at: usize, bit: u8) {
        let changed = [self.durable[at] ^ 1 << bit];
        self.store(at, &changed);
    }

    /// Rot, or somebody's hand: it is there at once.
    pub fn overwrite(&mut self, at: usize, data: &[u8]) {
        self.store(at, data);
    }

    pub fn len(&self) -> usize {
        self.durable.len()
    }

    fn store(&mut self, at: usize, data: &[u8]) {
        if let Some(saved) = &mut self.saved {
            saved.overwritten.push((at, self.durable[at..at + data.len()].to_vec()));
        }
        self.durable[at..at + data.len()].copy_from_slice(data);
    }

    /// From here on everything can be taken back.
    pub fn save(&mut self) {
        assert!(self.saved.is_none());
        let pending = self.pending.iter().map(|write| Pending { data: write.data.clone(), ..*write }).collect();
        self.saved = Some(Saved { pending, overwritten: Vec::new() });
    }

    pub fn restore(&mut self) {
        let saved = self.saved.take().expect("saved");
        for (at, data) in saved.overwritten.into_iter().rev() {
            self.durable[at..at + data.len()].copy_from_slice(&data);
        }
        self.pending = saved.pending;
        self.fuse = None;
    }

    /// The power fails, and comes back.
    pub fn cut(&mut self, how: Cut, rng: &mut Rng) {
        for write in std::mem::take(&mut self.pending) {
            let piece = match how {
                Cut::Dropped => continue,
                Cut::Kept => write.data.len(),
                // What was under way is torn whatever happens to the rest.
                Cut::Whole if write.ended.is_none() => SECTOR,
                Cut::Whole => write.data.len(),
                Cut::Torn(piece) => piece,
            };
            let surely = matches!(how, Cut::Kept) && write.ended.is_some();
            for (nth, data) in write.data.chunks(piece).enumerate() {
                if surely || rng.random() {
                    self.store(write.offset + nth * piece, data);
                }
            }
        }
        self.fuse = None;
    }

    fn burn(&mut self) -> io::Result<()> {
        match &mut self.fuse {
            Some(0) => Err(io::Error::other("the power is gone")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Blocks for Disk {
    fn bytes(&self) -> u64 {
        self.durable.len() as u64
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if offset as usize + into.len() > self.durable.len() {
            return Err(io::Error::other("outside"));
        }
        self.look(offset, into);
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        if offset as usize + from.len() > self.durable.len() {
            return Err(io::Error::other("outside"));
        }
        let burnt = self.burn();
        let id = self.begin_write(offset, from.to_vec());
        burnt?;
        self.end_write(id);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.burn()?;
        self.end_sync(self.clock);
        Ok(())
    }
}

/// The same disk, for one who waits for each write until it is durable, while others' writes go on.
pub struct AtOnce<'a>(pub &'a mut Disk);

impl Blocks for AtOnce<'_> {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, into)
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.0.overwrite(offset as usize, from);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
