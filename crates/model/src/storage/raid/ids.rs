//! The numbers of the parts of an array, each of a type of its own.

use flatwater_core::{id, slab_key};

id!(
    /// A member of an array.
    pub MemberNo(u32)
);

id!(
    /// A row of stripe units, one on each member.
    pub RowNo(u64)
);

id!(
    /// A line of the controller's memory: the array's own lines come first, then those of parity.
    pub LineNo(u64)
);

id!(
    /// An entry of the spec's events.
    pub(super) EventNo(u32)
);

id!(
    /// Background work, counted from the first that began.
    pub(super) WorkNo(u32)
);

slab_key!(
    /// A request of the host.
    pub(super) RequestId
);
slab_key!(
    /// A write of one row to the members.
    pub(super) UpdateId
);
slab_key!(
    /// A command to one member.
    pub(super) OpId
);

/// The lines from one to another, without the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The first line.
    pub first: LineNo,
    /// The line behind the last.
    pub end: LineNo,
}

impl Lines {
    /// The lines in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = LineNo> + Clone {
        (self.first.0..self.end.0).map(LineNo)
    }

    /// Whether a line is among them.
    pub fn contains(self, line: LineNo) -> bool {
        (self.first..self.end).contains(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_their_order_without_the_end() {
        let [a, b, c] = [3, 4, 5].map(LineNo::new);
        let lines = Lines { first: a, end: c };
        assert_eq!(lines.iter().collect::<Vec<_>>(), [a, b]);
        assert!(lines.contains(a) && lines.contains(b) && !lines.contains(c));
    }
}
