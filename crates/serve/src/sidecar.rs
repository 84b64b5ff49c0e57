//! The file beside the backing file. It names the owner of the backing file, and keeps the wear of the device and which of
//! its ranges were trimmed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

/// A sidecar: fields of the owner, and the state of the device.
#[derive(Debug)]
pub struct Sidecar {
    path: PathBuf,
    owner: Map<String, Value>,
    /// Whether the file was written here at least once.
    saved: AtomicBool,
}

impl Sidecar {
    /// A sidecar at `path` with the fields of the owner.
    pub const fn new(path: PathBuf, owner: Map<String, Value>) -> Self {
        Self { path, owner, saved: AtomicBool::new(false) }
    }

    /// Replaces the file atomically. `state` is the state of the device, as JSON; `trimmed` are ranges (offset, bytes).
    ///
    /// # Errors
    /// The system's error. After the first call also that another file has the name now; that file stays.
    pub fn save(&self, state: Option<&str>, trimmed: &[(u64, u64)]) -> io::Result<()> {
        let mut fields = self.owner.clone();
        fields.insert(
            "state".into(),
            state.map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or(json!(text))),
        );
        fields.insert("trimmed".into(), json!(trimmed));
        if self.saved.load(Ordering::Relaxed) && !self.is_ours()? {
            return Err(io::Error::other("something else has its name now: it will not be touched"));
        }
        write_atomic(&self.path, serde_json::to_string_pretty(&fields)?.as_bytes())?;
        self.saved.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the file was written here, or does not exist.
    fn is_ours(&self) -> io::Result<bool> {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&self.path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(false),
            opened => opened?,
        };
        let mut text = Vec::new();
        if !file.metadata()?.is_file() {
            return Ok(false);
        }
        file.read_to_end(&mut text)?;
        let found: Map<String, Value> = serde_json::from_slice(&text).unwrap_or_default();
        Ok(self.owner.iter().all(|(name, value)| found.get(name) == Some(value)))
    }
}

fn write_atomic(path: &Path, data: &[u8]) -> io::Result<()> {
    let (beside, mut file) = create_beside(path)?;
    let written = file.write_all(data).and_then(|()| file.sync_data()).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Creates a new file beside a path. If a name exists, another one is tried. No link of another user is followed.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    for attempt in 0_u64.. {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let beside = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (beside, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_owners_fields_and_the_devices_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("card.flatwater.json");
        let owner = json!({"device": "card"}).as_object().unwrap().clone();
        let sidecar = Sidecar::new(path.clone(), owner);
        sidecar.save(None, &[]).unwrap();
        sidecar.save(Some(r#"{"erases": 7}"#), &[(0, 4096)]).unwrap();
        let read: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, json!({"device": "card", "state": {"erases": 7}, "trimmed": [[0, 4096]]}));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_took_its_name_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mine) = (folder.path().join("card.flatwater.json"), folder.path().join("mine"));
        let sidecar = Sidecar::new(path.clone(), json!({"device": "card"}).as_object().unwrap().clone());
        sidecar.save(None, &[]).unwrap();
        for text in ["precious", r#"{"device": "another"}"#, ""] {
            fs::write(&path, text).unwrap();
            sidecar.save(None, &[]).unwrap_err();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        fs::write(&mine, "precious").unwrap();
        std::os::unix::fs::symlink(&mine, &path).unwrap();
        sidecar.save(None, &[]).unwrap_err();
        fs::remove_file(&path).unwrap();
        sidecar.save(None, &[]).unwrap();
        sidecar.save(None, &[]).unwrap();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "precious");
    }
}
