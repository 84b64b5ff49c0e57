//! The pages that orders, their lines and history gain during the run, each on the device of its table.

use super::super::layout::{Layout, Room};
use super::rows::Rows;
use super::tables::LINES;
use crate::database::ids::PageNo;

/// The region that the growth of all tables shares that are with the rest of the data.
pub const SHARED: &str = "growth";
/// Tables that grow, the one that grows most first.
const GROWING: [&str; 3] = ["order_line", "history", "orders"];

/// A table that grows, as a place in `GROWING`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Lines = 0,
    History = 1,
    Orders = 2,
}

/// The table whose file the shared region counts as, while `apart` have devices of their own.
pub fn shared_by(apart: &[&str]) -> &'static str {
    GROWING.into_iter().find(|name| !apart.contains(name)).unwrap_or(GROWING[0])
}

/// Where new pages are made: one room behind the tables, and one for each table that has a device of its own.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) rooms: Vec<Room>,
    room_of: [usize; GROWING.len()],
}

impl Growth {
    /// Rooms of so many pages together. A table's own room is as large as its share of what all gain, so that none of
    /// them goes round before the others do.
    pub(super) fn new(layout: &mut Layout, pages: u64, rows: &Rows, apart: &[&str]) -> Self {
        // Rows that a New-Order with its companions adds, to those of a page.
        let gains =
            [f64::from(LINES) / f64::from(rows.order_line), 1.0 / f64::from(rows.history), 1.0 / f64::from(rows.order)];
        let of = |at: usize| (pages as f64 * gains[at] / gains.iter().sum::<f64>()).ceil() as u64;
        let own: Vec<usize> = (0..GROWING.len()).filter(|at| apart.contains(&GROWING[*at])).collect();
        let shared = pages.saturating_sub(own.iter().map(|at| of(*at)).sum()).max(1);
        let mut rooms = vec![Room::new(layout.of(SHARED).pages(shared))];
        let mut room_of = [0; GROWING.len()];
        for at in own {
            room_of[at] = rooms.len();
            rooms.push(Room::new(layout.of(GROWING[at]).pages(of(at))));
        }
        Self { rooms, room_of }
    }

    /// A new page of a table.
    pub(super) fn take(&mut self, of: Of) -> PageNo {
        self.rooms[self.room_of[of as usize]].take()
    }
}

#[cfg(test)]
mod tests {
    use flatwater_core::workload::tpcc::Variant;

    use super::super::schema::Schema;
    use super::*;
    use crate::database::touches::Measured;

    #[test]
    fn a_table_with_a_device_of_its_own_grows_there_and_the_others_share() {
        let rows = Rows::of(&Measured::default(), Schema::of(Variant::TpccMysql, false));
        let rooms = |apart: &[&str]| {
            let mut layout = Layout::default();
            let mut growth = Growth::new(&mut layout, 1000, &rows, apart);
            let taken = [Of::Lines, Of::History, Of::Orders].map(|of| growth.take(of).number());
            (taken, layout.tables())
        };
        let (taken, names) = rooms(&[]);
        assert_eq!((taken, names.len()), ([0, 1, 2], 1), "in one room, one after another");
        let (taken, names) = rooms(&["order_line", "stock"]);
        let names: Vec<_> = names.iter().map(|(name, first)| (&**name, first.number())).collect();
        assert_eq!(names[0], (SHARED, 0));
        assert_eq!(names[1], ("order_line", taken[0]));
        assert_eq!((taken[1], taken[2], names.len()), (0, 1, 2));
        assert!(taken[0] < 300, "most of the room is order_line's own: the shared one has {} pages", taken[0]);
        let (taken, names) = rooms(&["orders", "history", "order_line"]);
        assert_eq!(names.len(), 4);
        assert!(taken[0] < taken[1] && taken[1] < taken[2], "{taken:?}");
    }

    #[test]
    fn what_is_shared_counts_as_the_file_of_the_table_that_grows_most_there() {
        assert_eq!([&[][..], &["orders"], &["order_line"]].map(shared_by), ["order_line", "order_line", "history"]);
        assert_eq!(shared_by(&["orders", "history", "order_line"]), "order_line");
    }
}
