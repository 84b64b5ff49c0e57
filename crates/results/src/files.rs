//! The files of a result: how they are now, and their text.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The files that the rows of a result come from: what it is, its cells, its machine, the tags of its user.
pub const FILES: [&str; 4] = ["flatwater.json", "summary.json", "machine.json", "tags.json"];

/// A file that is larger is declined: the other reader counts its values before it reads them.
const BYTES_MAX: u64 = 8 << 20;

/// How the files of a result are now, as the index stores it; empty if one of them changed after `young_ns`.
pub fn stamp(folder: &Path, young_ns: i128) -> String {
    let mut parts = Vec::with_capacity(FILES.len());
    for name in FILES {
        let Ok(found) = fs::metadata(folder.join(name)) else {
            parts.push("-".to_string());
            continue;
        };
        let changed_ns = ns(found.ctime(), found.ctime_nsec());
        if changed_ns > young_ns {
            return String::new();
        }
        let modified_ns = ns(found.mtime(), found.mtime_nsec());
        parts.push(format!("{}:{}:{modified_ns}:{changed_ns}", found.ino(), found.size()));
    }
    parts.join(" ")
}

fn ns(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

/// The text of a regular file, or that there is none of this name (`Some(None)`); None if it is declined.
pub fn text(path: &Path) -> Option<Option<String>> {
    // The open must not wait for the writer of a pipe that has the name of a file.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(None),
        Err(_) => return None,
    };
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > BYTES_MAX {
        return None;
    }
    let mut found = Vec::with_capacity(usize::try_from(about.len()).ok()? + 1);
    file.by_ref().take(BYTES_MAX + 1).read_to_end(&mut found).ok()?;
    if found.len() as u64 > BYTES_MAX {
        return None;
    }
    String::from_utf8(found).ok().map(Some)
}
