//! What lies where: the doublewrite buffer, the log, the binary log and tables, on one device or on several.
//!
//! A device holds, in this order and as far as they are its own: the doublewrite buffer, the log, the binary log, from the
//! next MiB on its tables one after another, and the journal of its file system.

use super::ids::{PAGE_BYTES, PageNo};
use super::journal::JOURNAL_BYTES;
use super::spec::{Part, Spec};
use super::touches::Touches;
use super::touches::tpcc::growth;

/// Files that are told apart: those of more tables share numbers, and are synced together.
const FILES: usize = 64;

/// Pages from `first` on, one after another on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: PageNo,
    device: usize,
    offset: u64,
}

/// Where everything begins: number of the device, first byte.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    doublewrite: (usize, u64),
    log: (usize, u64),
    binlog: (usize, u64),
    /// First byte of each device's part of the file system's journal.
    journal: Vec<u64>,
    runs: Vec<Run>,
    /// First page and number of each file, where every table has one; and the devices of each number, a bit each.
    files: Vec<(PageNo, u8)>,
    devices: [u64; FILES],
    /// Of each device, with what other servers have in front of this one's part.
    used_bytes: Vec<u64>,
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
        let ends = tables.iter().skip(1).map(|(_, first)| *first).chain([PageNo::new(touches.pages())]);
        for ((name, first), end) in tables.iter().zip(ends) {
            let device = of(&Part::Table(name.clone()));
            if runs.iter().all(|run| run.device != device) {
                used_bytes[device] = used_bytes[device].next_multiple_of(1 << 20);
            }
            if runs.last().is_none_or(|run| run.device != device) {
                runs.push(Run { first: *first, device, offset: used_bytes[device] });
            }
            used_bytes[device] += u64::from(end - *first) * PAGE_BYTES;
        }
        let journal = used_bytes.iter().map(|bytes| bytes.next_multiple_of(1 << 20)).collect::<Vec<_>>();
        let used_bytes = journal.iter().map(|first| first + JOURNAL_BYTES).collect();
        let mut own =
            Self { doublewrite, log, binlog, journal, runs, files: Vec::new(), devices: [0; FILES], used_bytes };
        own.number_files(spec, tables);
        Ok(own)
    }

    /// Gives files their numbers: 0 is the system tablespace with the undo logs. Tables grow into pages of their own files;
    /// one of them far more than others, so these count as its.
    fn number_files(&mut self, spec: &Spec, tables: &[(String, PageNo)]) {
        let mut names = vec!["undo"];
        let grown = growth::shared_by(&spec.tables_apart());
        for (name, first) in tables {
            let name = match &**name {
                growth::SHARED => grown,
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

    /// Number of the device and first byte of the doublewrite buffer.
    pub(super) const fn doublewrite(&self) -> (usize, u64) {
        self.doublewrite
    }

    /// Number of the device and first byte of the log.
    pub(super) const fn log(&self) -> (usize, u64) {
        self.log
    }

    /// Number of the device and first byte of the binary log.
    pub(super) const fn binlog(&self) -> (usize, u64) {
        self.binlog
    }

    /// First byte of the file system's journal on each device.
    pub(super) fn journal(&self) -> &[u64] {
        &self.journal
    }

    /// Bytes that are used of each device, with what other servers have in front of this one's part.
    pub(super) fn used_bytes(&self) -> &[u64] {
        &self.used_bytes
    }

    /// The number of the file in which a page is.
    pub(super) fn file_of(&self, page: PageNo) -> u8 {
        let behind = self.files.partition_point(|(first, _)| *first <= page);
        behind.checked_sub(1).map_or(0, |at| self.files[at].1)
    }

    /// The devices on which a file is, a bit each.
    pub(super) const fn devices_of_file(&self, number: u32) -> u64 {
        self.devices[number as usize % FILES]
    }

    /// A page's device and first byte.
    #[inline]
    pub(super) fn of_page(&self, page: PageNo) -> (usize, u64) {
        let at = self.runs.partition_point(|run| run.first <= page) - 1;
        let run = self.runs[at];
        (run.device, run.offset + u64::from(page - run.first) * PAGE_BYTES)
    }
}

#[cfg(test)]
impl Placement {
    /// Of one device: the doublewrite buffer at 0, the log and the binary log at 1 and 2 GiB, and pages from 4 GiB on; each
    /// thousand of them is a file.
    pub(super) fn for_test() -> Self {
        let files = (0..8).map(|number| (PageNo::new(1000 * u32::from(number)), number)).collect();
        let runs = vec![Run { first: PageNo::new(0), device: 0, offset: 4 << 30 }];
        let used_bytes = vec![0];
        Self {
            doublewrite: (0, 0),
            log: (0, 1 << 30),
            binlog: (0, 2 << 30),
            journal: vec![3 << 30],
            runs,
            files,
            devices: [1; FILES],
            used_bytes,
        }
    }
}
