//! What lies where: the doublewrite buffer, the log, the binary log and tables, on one device or on several.
//!
//! A device holds, in this order and as far as they are its own: the doublewrite buffer, the log, the binary log, and from
//! the next MiB on its tables one after another.

use super::Spec;
use super::pool::PAGE_BYTES;
use super::touches::Touches;
use crate::storage;
use schemars::JsonSchema;
use serde::Deserialize;

/// A device beside the one for everything that is not said.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// What its series are called by.
    pub name: String,
    /// The device.
    pub device: storage::Spec,
    /// What is on it.
    pub holds: Vec<Part>,
}

/// What may lie on a device of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The redo log.
    Log,
    /// The doublewrite buffer.
    Doublewrite,
    /// The binary log.
    Binlog,
    /// A table with its indexes.
    Table(String),
}

/// Files that are told apart: those of more tables share numbers, and are synced together.
const FILES: usize = 64;

/// Pages from `first` on, one after another on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    device: usize,
    offset: u64,
}

/// Where everything begins: number of the device, first byte.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    pub(super) doublewrite: (usize, u64),
    pub(super) log: (usize, u64),
    pub(super) binlog: (usize, u64),
    runs: Vec<Run>,
    /// First page and number of each file, where every table has one; and the devices of each number, a bit each.
    files: Vec<(u32, u8)>,
    devices: [u64; FILES],
    /// Of each device, with what other servers have in front of this one's part.
    pub(super) used_bytes: Vec<u64>,
}

impl Placement {
    /// Lays everything out, behind what other servers have of each device.
    ///
    /// # Errors
    /// A table that is not there, in words.
    pub(super) fn new(
        spec: &Spec,
        touches: &dyn Touches,
        doublewrite_bytes: u64,
        before: &[u64],
    ) -> Result<Self, String> {
        let settings = &spec.settings;
        let of = |part: &Part| spec.others.iter().position(|other| other.holds.contains(part)).map_or(0, |at| at + 1);
        let mut used_bytes: Vec<u64> = before.iter().map(|bytes| bytes.next_multiple_of(1 << 20)).collect();
        let mut take = |device: usize, bytes: u64| {
            used_bytes[device] += bytes;
            (device, used_bytes[device] - bytes)
        };
        let doublewrite = take(of(&Part::Doublewrite), doublewrite_bytes);
        let log = take(of(&Part::Log), settings.innodb_log_files_in_group * settings.innodb_log_file_size);
        let binlog = take(of(&Part::Binlog), if settings.log_bin { settings.max_binlog_size } else { 0 });
        let tables = touches.tables();
        for part in spec.others.iter().flat_map(|other| &other.holds) {
            if let Part::Table(name) = part
                && tables.iter().all(|(own, _)| own != name)
            {
                let names: Vec<&str> = tables.iter().map(|(own, _)| &**own).collect();
                return Err(format!("database.tables.{name}: there is no such table: {}", names.join(", ")));
            }
        }
        let mut runs: Vec<Run> = Vec::new();
        let ends = tables.iter().skip(1).map(|(_, first)| *first).chain([touches.pages()]);
        for ((name, first), end) in tables.iter().zip(ends) {
            let device = of(&Part::Table(name.clone()));
            if runs.iter().all(|run| run.device != device) {
                used_bytes[device] = used_bytes[device].next_multiple_of(1 << 20);
            }
            if runs.last().is_none_or(|run| run.device != device) {
                runs.push(Run { first: *first, device, offset: used_bytes[device] });
            }
            used_bytes[device] += u64::from(end - first) * PAGE_BYTES;
        }
        let mut own = Self { doublewrite, log, binlog, runs, files: Vec::new(), devices: [0; FILES], used_bytes };
        own.number_files(spec, tables);
        Ok(own)
    }

    /// Gives files their numbers: 0 is the system tablespace with the undo logs. Tables grow into pages of their own files;
    /// order_line far more than others, so these count as its.
    fn number_files(&mut self, spec: &Spec, tables: &[(String, u32)]) {
        let mut names = vec!["undo"];
        for (name, first) in tables {
            let name = match &**name {
                "growth" => "order_line",
                super::change_buffer::TABLE => "undo",
                name => name,
            };
            let number = names.iter().position(|own| *own == name).unwrap_or(names.len());
            if number == names.len() {
                names.push(name);
            }
            let number = if spec.settings.innodb_file_per_table { number % FILES } else { 0 };
            self.files.push((*first, number as u8));
            self.devices[number] |= 1 << self.of_page(*first).0;
        }
    }

    /// First page and number of each run of a file; none where all tables are in one.
    pub(super) fn files(&self, file_per_table: bool) -> Vec<(u32, u8)> {
        if file_per_table { self.files.clone() } else { Vec::new() }
    }

    /// The devices on which a file is, a bit each.
    pub(super) const fn devices_of_file(&self, number: u32) -> u64 {
        self.devices[number as usize % FILES]
    }

    /// A page's device and first byte.
    #[inline]
    pub(super) fn of_page(&self, page: u32) -> (usize, u64) {
        let at = self.runs.partition_point(|run| run.first <= page) - 1;
        let run = self.runs[at];
        (run.device, run.offset + u64::from(page - run.first) * PAGE_BYTES)
    }
}
