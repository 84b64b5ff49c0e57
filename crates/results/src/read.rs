//! Many results at once.

use std::path::PathBuf;
use std::thread;

use crate::files::stamp;
use crate::rows::{Rows, Source};

/// A part has no more source text than this, so that no column of it has 2 GiB. Further results are declined.
const PART_BYTES_MAX: usize = 512 << 20;

/// Results that one thread read.
#[derive(Default)]
pub struct Part {
    /// Each result's number among all, and how its files were; empty if they may change unseen.
    pub stamps: Vec<(i32, String)>,
    /// Their rows.
    pub rows: Rows,
}

/// The results in these folders, in order, but for those that are declined. `young_ns` is of the clock of files: one
/// that changed later may change again in the same tick. A result of a newer `schema_version` is declined.
pub fn read(folders: &[PathBuf], young_ns: i128, schema_version: i64) -> Vec<Part> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let size = folders.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let started: Vec<_> = folders
            .chunks(size)
            .enumerate()
            .map(|(at, some)| scope.spawn(move || read_part(at * size, some, young_ns, schema_version)))
            .collect();
        started.into_iter().map(|part| part.join().expect("a reader does not panic")).collect()
    })
}

fn read_part(first: usize, folders: &[PathBuf], young_ns: i128, schema_version: i64) -> Part {
    let mut part = Part::default();
    let mut bytes = 0;
    for (run, folder) in (first..).zip(folders) {
        let before = stamp(folder, young_ns);
        let Some(source) = Source::read(folder) else { continue };
        if bytes + source.bytes() > PART_BYTES_MAX {
            continue;
        }
        bytes += source.bytes();
        let Ok(run) = i32::try_from(run) else { continue };
        if part.rows.add(run, &source, schema_version).is_some() {
            let same = before == stamp(folder, young_ns);
            part.stamps.push((run, if same { before } else { String::new() }));
        }
    }
    part
}
