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
    in_parts(folders, |first, some| read_part(first, some, young_ns, schema_version))
}

/// How the files of each of these folders are now, as the index stores it; empty if one changed after `young_ns`.
pub fn stamps(folders: &[PathBuf], young_ns: i128) -> Vec<String> {
    in_parts(folders, |_, some| some.iter().map(|folder| stamp(folder, young_ns)).collect::<Vec<_>>()).concat()
}

/// What `of_part` makes of each part of the folders, one for each processor; it is given the number of the part's first.
fn in_parts<T: Send>(folders: &[PathBuf], of_part: impl Fn(usize, &[PathBuf]) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let size = folders.len().div_ceil(threads).max(1);
    let of_part = &of_part;
    thread::scope(|scope| {
        let parts = folders.chunks(size).enumerate();
        let started: Vec<_> = parts.map(|(at, some)| scope.spawn(move || of_part(at * size, some))).collect();
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
