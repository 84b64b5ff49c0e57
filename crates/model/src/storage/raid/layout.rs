//! Where an array keeps its data: in rows of stripe units over its members.

use super::ids::{MemberNo, RowNo};

/// How the data is spread over the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, without redundancy.
    Raid0,
    /// All data on every member.
    Raid1,
    /// Striped over pairs.
    Raid10,
    /// Striped with one parity unit in each row, left-symmetric.
    Raid5,
}

/// A part of a request that lies in one stripe unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its row of stripe units.
    pub row: RowNo,
    /// Its data unit in the row.
    pub unit: u32,
    /// First byte within the unit.
    pub from: u64,
    /// The byte after the last.
    pub to: u64,
}

impl Chunk {
    /// Its bytes.
    pub const fn bytes(&self) -> u64 {
        self.to - self.from
    }
}

/// The layout of an array.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The array's level.
    pub level: Level,
    /// Members.
    pub members: u32,
    /// Bytes of a stripe unit.
    pub unit_bytes: u64,
    /// Rows for which the members have room.
    pub rows: u64,
}

impl Layout {
    /// The layout of members of `member_bytes`.
    ///
    /// # Errors
    /// A level that is impossible with this many members.
    pub fn new(level: u32, members: u32, unit_bytes: u64, member_bytes: u64) -> Result<Self, String> {
        let (level, fits) = match level {
            0 => (Level::Raid0, members >= 1),
            1 => (Level::Raid1, members >= 2),
            10 => (Level::Raid10, members >= 4 && members.is_multiple_of(2)),
            5 => (Level::Raid5, members >= 3),
            other => return Err(format!("level: there is no RAID {other} here, only 0, 1, 5 and 10")),
        };
        if !fits {
            return Err(format!("members: {members} cannot make a {level:?}"));
        }
        if unit_bytes == 0 || member_bytes < unit_bytes {
            return Err("stripe_unit: must be over 0 and fit a member".into());
        }
        Ok(Self { level, members, unit_bytes, rows: member_bytes / unit_bytes })
    }

    /// Data units of a row.
    pub const fn data_units(&self) -> u32 {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 => 1,
            Level::Raid10 => self.members / 2,
            Level::Raid5 => self.members - 1,
        }
    }

    /// Bytes of data that all rows hold.
    pub const fn capacity_bytes(&self) -> u64 {
        self.rows * self.data_units() as u64 * self.unit_bytes
    }

    /// The first byte of a row on each member.
    pub const fn offset(&self, row: RowNo) -> u64 {
        row.number() * self.unit_bytes
    }

    /// The row in which a byte of a member is.
    pub const fn row_at(&self, offset: u64) -> RowNo {
        RowNo::new(offset / self.unit_bytes)
    }

    /// The first member that holds a data unit.
    pub const fn home(&self, row: RowNo, unit: u32) -> MemberNo {
        MemberNo::new(match self.level {
            Level::Raid0 => unit,
            Level::Raid1 => 0,
            Level::Raid10 => unit * 2,
            Level::Raid5 => (self.parity_number(row) + 1 + unit) % self.members,
        })
    }

    /// All members that hold a data unit.
    pub fn homes(&self, row: RowNo, unit: u32) -> impl Iterator<Item = MemberNo> + Clone + use<> {
        let copies = match self.level {
            Level::Raid0 | Level::Raid5 => 1,
            Level::Raid1 => self.members,
            Level::Raid10 => 2,
        };
        let first = self.home(row, unit).number();
        (first..first + copies).map(MemberNo::new)
    }

    /// The member that holds the parity of a row.
    pub const fn parity(&self, row: RowNo) -> Option<MemberNo> {
        match self.level {
            Level::Raid5 => Some(MemberNo::new(self.parity_number(row))),
            _ => None,
        }
    }

    const fn parity_number(&self, row: RowNo) -> u32 {
        self.members - 1 - (row.number() % self.members as u64) as u32
    }

    /// The parts of a range, one for each stripe unit.
    pub fn chunks(&self, offset: u64, bytes: u64) -> impl Iterator<Item = Chunk> + use<> {
        let (unit_bytes, units) = (self.unit_bytes, u64::from(self.data_units()));
        let end = offset + bytes;
        let mut at = offset;
        std::iter::from_fn(move || {
            let number = at / unit_bytes;
            let from = at % unit_bytes;
            let to = unit_bytes.min(from + (end - at));
            let chunk = Chunk { row: RowNo::new(number / units), unit: (number % units) as u32, from, to };
            (at < end).then(|| {
                at += to - from;
                chunk
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn layouts() -> impl Strategy<Value = Layout> {
        let unit = prop_oneof![Just(4096u64), Just(65536), Just(3 * 512)];
        (prop_oneof![Just(0u32), Just(1), Just(10), Just(5)], 2u32..9, unit).prop_map(|(level, members, unit)| {
            let members = match level {
                10 => members.max(4) / 2 * 2,
                5 => members.max(3),
                _ => members,
            };
            Layout::new(level, members, unit, unit * 24 + 100).unwrap()
        })
    }

    proptest! {
        #[test]
        fn each_unit_has_its_own_places_and_all_places_are_used(layout in layouts()) {
            let mut taken = BTreeSet::new();
            for row in RowNo::first(layout.rows) {
                for unit in 0..layout.data_units() {
                    prop_assert_eq!(layout.homes(row, unit).next(), Some(layout.home(row, unit)));
                    for member in layout.homes(row, unit) {
                        prop_assert!(member.number() < layout.members);
                        prop_assert!(taken.insert((member, row)), "{:?} {} {}", layout, member, row);
                    }
                }
                if let Some(parity) = layout.parity(row) {
                    prop_assert!(taken.insert((parity, row)));
                }
            }
            prop_assert_eq!(taken.len() as u64, layout.rows * u64::from(layout.members));
        }

        #[test]
        fn chunks_cover_a_range_once(layout in layouts(), offset in 0u64..500_000, bytes in 1u64..500_000) {
            let mut at = offset;
            for chunk in layout.chunks(offset, bytes) {
                let number = chunk.row.number() * u64::from(layout.data_units()) + u64::from(chunk.unit);
                prop_assert_eq!(number * layout.unit_bytes + chunk.from, at);
                prop_assert!(chunk.from < chunk.to && chunk.to <= layout.unit_bytes);
                at += chunk.to - chunk.from;
            }
            prop_assert_eq!(at, offset + bytes);
        }
    }

    #[test]
    fn parity_turns_left_and_data_follows_it() {
        // The picture of left-symmetric RAID 5 with 4 members, as in Linux md(4).
        let layout = Layout::new(5, 4, 4096, 4096 * 8).unwrap();
        let row = |number| {
            let row = RowNo::new(number);
            let data = [0, 1, 2].map(|unit| layout.home(row, unit).number());
            (data, layout.parity(row).map(MemberNo::number))
        };
        assert_eq!(row(0), ([0, 1, 2], Some(3)));
        assert_eq!(row(1), ([3, 0, 1], Some(2)));
        assert_eq!(row(2), ([2, 3, 0], Some(1)));
        assert_eq!(row(3), ([1, 2, 3], Some(0)));
        assert_eq!(row(4), row(0));
    }

    #[test]
    fn impossible_arrays_are_refused() {
        for (level, members) in [(5, 2), (10, 5), (10, 2), (1, 1), (0, 0), (6, 6)] {
            assert!(Layout::new(level, members, 65536, 1 << 30).is_err(), "{level} {members}");
        }
        assert!(Layout::new(0, 2, 0, 1 << 30).is_err());
        assert!(Layout::new(0, 2, 65536, 4096).is_err());
    }
}
