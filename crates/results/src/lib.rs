//! The small files of many result folders, read into the columns of a catalogue by all processors.
//!
//! `python/flatwater/catalogue/rows.py` says what the rows of a result are, and reads any result. This reads ten
//! thousand sound ones in a second, to the same rows. A result that is in any way unusual it declines, and says nothing
//! of it: damaged, of another version, under way, tagged, very large. A test damages each value of a result in turn, and
//! holds one reader against the other.

mod column;
mod documents;
mod files;
mod general;
mod read;
mod rows;

pub use column::{Column, Table, Values};
pub use read::{Part, read, stamps};
pub use rows::Rows;
