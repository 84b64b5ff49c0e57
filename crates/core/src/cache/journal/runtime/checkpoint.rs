//! Checkpoints: the two areas in turn, the checkpoint under way, and the writes that must be durable before its next
//! step.

/// A checkpoint under way.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    /// Its number.
    pub(super) number: u64,
    /// The first page that is replayed over it, the checksum of the one before, and the first record in it.
    pub(super) start: u64,
    pub(super) before_crc: u32,
    pub(super) first_record: u64,
    next_page: u32,
    runs: u32,
    crcs: Vec<u32>,
    /// The last record that its pages may show.
    cover: u64,
}

/// The areas and the checkpoint under way.
pub(super) struct Checkpoints {
    /// Pages of each.
    pages: u32,
    /// From which page of the journal each area's checkpoint is replayed.
    starts: [u64; 2],
    latest: usize,
    making: Checkpoint,
}

impl Checkpoints {
    /// The first one of a life, which is replayed from the journal's first page on, is in the second area.
    pub(super) fn new(pages: u32, first_record: u64) -> Self {
        let (crcs, cover) = (Vec::new(), 0);
        let making =
            Checkpoint { number: 1, start: 1, before_crc: 0, first_record, next_page: 0, runs: 0, crcs, cover };
        Self { pages, starts: [1, 1], latest: 1, making }
    }

    /// The first page of the journal that is replayed over the latest checkpoint.
    pub(super) fn latest_start(&self) -> u64 {
        self.starts[self.latest]
    }

    /// The first page of the journal that is replayed over either checkpoint.
    pub(super) fn first_start(&self) -> u64 {
        self.starts[0].min(self.starts[1])
    }

    /// The area that is overwritten next.
    pub(super) fn area(&self) -> usize {
        1 - self.latest
    }

    /// The checkpoint under way.
    pub(super) fn making(&self) -> &Checkpoint {
        &self.making
    }

    /// Begins the next one, which is replayed from page `start` on.
    pub(super) fn begin(&mut self, start: u64, before_crc: u32, first_record: u64) {
        let number = self.making.number + 1;
        let crcs = Vec::with_capacity(self.pages as usize);
        self.making = Checkpoint { number, start, before_crc, first_record, next_page: 0, runs: 0, crcs, cover: 0 };
    }

    /// The checkpoint under way is durable, and is the latest one from now on.
    pub(super) fn end(&mut self) {
        self.latest = 1 - self.latest;
        self.starts[self.latest] = self.making.start;
    }

    /// A write of its next pages begins. `crcs` are their checksums, and the pages may show records up to `cover`.
    pub(super) fn run_begins(&mut self, crcs: impl IntoIterator<Item = u32>, cover: u64) {
        let before = self.making.crcs.len();
        self.making.crcs.extend(crcs);
        self.making.next_page += (self.making.crcs.len() - before) as u32;
        self.making.runs += 1;
        self.making.cover = cover;
    }

    /// A write of its pages ended.
    pub(super) fn run_ended(&mut self) {
        self.making.runs -= 1;
    }
}

impl Checkpoint {
    /// The next of its pages to be written.
    pub(super) fn next_page(&self) -> u32 {
        self.next_page
    }

    /// Writes of its pages in flight.
    pub(super) fn runs(&self) -> u32 {
        self.runs
    }

    /// The checksums of its pages.
    pub(super) fn crcs(&self) -> &[u32] {
        &self.crcs
    }

    /// The last record that its pages may show.
    pub(super) fn cover(&self) -> u64 {
        self.cover
    }
}

/// Writes of checkpoints and superblocks, counted in the order in which they ended.
#[derive(Default)]
pub(super) struct Settling {
    tickets: Vec<u32>,
    ended: u64,
    /// How many writes must be durable for the next step, how many are, and how many an issued sync covers.
    needed: u64,
    settled: u64,
    marked: u64,
}

impl Settling {
    /// A write begins.
    pub(super) fn write_begins(&mut self, ticket: u32) {
        self.tickets.push(ticket);
    }

    /// A write ended. Returns false if it is not a write of a checkpoint or superblock.
    pub(super) fn write_ended(&mut self, ticket: u32) -> bool {
        let Some(at) = self.tickets.iter().position(|&known| known == ticket) else { return false };
        self.tickets.swap_remove(at);
        self.ended += 1;
        true
    }

    /// The next step waits until all writes that ended are durable.
    pub(super) fn need_all(&mut self) {
        self.needed = self.ended;
    }

    /// Whether the writes that the next step waits for are durable.
    pub(super) fn has_needed(&self) -> bool {
        self.settled >= self.needed
    }

    /// Whether all writes that ended are durable.
    pub(super) fn has_all(&self) -> bool {
        self.settled == self.ended
    }

    /// A sync is issued. Returns how many writes it makes durable.
    pub(super) fn mark(&mut self) -> u64 {
        self.marked = self.ended;
        self.ended
    }

    /// Whether an issued sync covers all writes that ended.
    pub(super) fn is_marked(&self) -> bool {
        self.marked >= self.ended
    }

    /// Whether an issued sync covers the writes that the next step waits for.
    pub(super) fn needed_is_marked(&self) -> bool {
        self.marked >= self.needed
    }

    /// A sync that covers so many writes succeeded.
    pub(super) fn synced(&mut self, ended: u64) {
        self.settled = self.settled.max(ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_areas_take_turns() {
        let mut checkpoints = Checkpoints::new(4, 1);
        assert_eq!((checkpoints.area(), checkpoints.latest_start()), (0, 1));
        checkpoints.begin(7, 0, 90);
        checkpoints.run_begins([1, 2, 3], 95);
        checkpoints.run_begins([4], 97);
        let making = checkpoints.making();
        assert_eq!((making.number, making.next_page(), making.runs(), making.cover()), (2, 4, 2, 97));
        assert_eq!(making.crcs(), [1, 2, 3, 4]);
        checkpoints.run_ended();
        checkpoints.end();
        assert_eq!((checkpoints.area(), checkpoints.latest_start(), checkpoints.first_start()), (1, 7, 1));
        checkpoints.begin(12, 0, 200);
        checkpoints.end();
        assert_eq!((checkpoints.making().number, checkpoints.first_start()), (3, 7));
    }

    #[test]
    fn what_ended_settles_with_a_sync_that_was_asked_for_later() {
        let mut settling = Settling::default();
        settling.write_begins(3);
        let early = settling.mark();
        assert!(settling.write_ended(3) && !settling.write_ended(3));
        settling.need_all();
        assert!(!settling.is_marked() && !settling.needed_is_marked());
        settling.synced(early);
        assert!(!settling.has_needed());
        let mark = settling.mark();
        settling.synced(mark);
        assert!(settling.has_needed() && settling.has_all() && settling.is_marked());
    }
}
