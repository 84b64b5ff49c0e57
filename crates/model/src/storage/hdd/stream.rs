//! The sectors that were read last, and those that the idle head reads ahead.

use super::geometry::{Geometry, Head};

/// Consecutive sectors that were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// The first that is still in memory.
    first: u64,
    /// The next sector to be read, and when the head is over it.
    next: u64,
    next_ns: u64,
    /// The sector at which reading ahead stops.
    limit: u64,
}

impl Stream {
    /// Sectors from `first` to `next`. From `next_ns` on the head reads ahead to `limit`.
    pub(super) fn new(first: u64, next: u64, next_ns: u64, limit: u64) -> Self {
        Self { first, next, next_ns, limit }
    }

    /// The first sector that is still in memory.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether all of a range is in memory.
    pub(super) fn holds(&self, sector: u64, sectors: u64) -> bool {
        self.first <= sector && sector + sectors <= self.next
    }

    /// Whether any of a range is in memory.
    pub(super) fn touches(&self, sector: u64, sectors: u64) -> bool {
        self.first < sector + sectors && sector < self.next
    }

    /// Whether a read of a range continues where the head is.
    pub(super) fn leads_into(&self, sector: u64, sectors: u64) -> bool {
        self.first <= sector && sector <= self.next && sector + sectors > self.next
    }

    /// Whether the head reached the limit before `now_ns`.
    pub(super) fn has_stopped(&self, now_ns: u64) -> bool {
        self.next >= self.limit && self.next_ns < now_ns
    }

    /// When the head has read all sectors before `end`.
    pub(super) fn end_ns(&self, geometry: &Geometry, now_ns: u64, end: u64) -> u64 {
        let ns = geometry.transfer_ns(self.next, end - self.next);
        (self.next_ns.max(now_ns) + ns - now_ns.saturating_sub(self.next_ns).min(ns)).max(now_ns)
    }

    /// Reads ahead until `now_ns`, and keeps at most `memory` sectors. Returns the last track that the head has read to its
    /// end, if there is one.
    pub(super) fn read_on(&mut self, geometry: &Geometry, now_ns: u64, memory: u64) -> Option<Head> {
        let mut head = None;
        while self.next < self.limit && self.next_ns < now_ns {
            let place = geometry.place(self.next);
            let here = (place.track_sectors - place.sector).min(self.limit - self.next);
            let elapsed = (now_ns - self.next_ns) * place.track_sectors / geometry.revolution_ns;
            let passed = here.min(elapsed);
            self.next += passed;
            self.next_ns += geometry.pass_ns(&place, passed);
            if passed < here {
                break;
            }
            if place.sector + passed == place.track_sectors {
                self.next_ns += geometry.switch_ns(&place);
            }
            head = Some(place.head());
        }
        self.first = self.first.max(self.next.saturating_sub(memory));
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_memory_or_read_on_into() {
        let stream = Stream::new(10, 20, 0, 30);
        assert!(stream.holds(10, 10) && !stream.holds(9, 2) && !stream.holds(19, 2));
        assert!(stream.touches(19, 5) && stream.touches(5, 6) && !stream.touches(20, 1) && !stream.touches(5, 5));
        assert!(stream.leads_into(20, 1) && stream.leads_into(15, 6));
        assert!(!stream.leads_into(21, 1) && !stream.leads_into(15, 5) && !stream.leads_into(9, 20));
    }

    #[test]
    fn it_stops_at_its_limit() {
        assert!(Stream::new(0, 30, 5, 30).has_stopped(6));
        assert!(!Stream::new(0, 30, 5, 30).has_stopped(5));
        assert!(!Stream::new(0, 29, 5, 30).has_stopped(6));
    }
}
