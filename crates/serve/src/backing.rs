//! The file that holds the data of an emulated device. It is as long as the device, and sparse.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flatwater_real::Error;
use flatwater_real::permit::Permit;

/// A backing file, locked for this process.
#[derive(Debug)]
pub struct Backing {
    file: File,
    bytes: u64,
    durable: bool,
}

impl Backing {
    /// Opens the file, which must exist and must be the one that was checked, and gives it the length of the device.
    ///
    /// `durable`: flushed data survive a power cut; otherwise only the end of the emulator. `emptied`: the content of the file
    /// is discarded.
    ///
    /// # Errors
    /// The system's error; `WouldBlock` if another emulator uses the file; `InvalidData` if it has another length.
    pub fn open(path: &Path, permit: &Permit, bytes: u64, durable: bool, emptied: bool) -> io::Result<Self> {
        let file = permit.open(path, 0, "cannot open it").map_err(|error| match error {
            Error::File { source, .. } => source,
            refused => io::Error::other(refused),
        })?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if emptied {
            file.set_len(0)?;
        }
        let length = file.metadata()?.len();
        if length != 0 && length != bytes {
            let text = format!("it is {length} B long, and the device {bytes} B");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        file.set_len(bytes)?;
        // The device is read at random, so reading ahead in the backing file is of no use.
        // SAFETY: as above.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
        Ok(Self { file, bytes, durable })
    }

    /// Bytes of the device.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that the file takes on its file system.
    pub fn allocated_bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map_or(0, |metadata| metadata.blocks() * 512)
    }

    /// Reads `bytes` at `offset`; fewer at the end of the device.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(&self, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut data = vec![0; bytes.min(self.bytes.saturating_sub(offset)) as usize];
        self.file.read_exact_at(&mut data, offset)?;
        Ok(data)
    }

    /// Writes data. The caller has checked that the range is within the device.
    ///
    /// # Errors
    /// The system's error: ENOSPC if the file system is full.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    /// Makes written data survive a power cut, if the file is `durable`.
    ///
    /// # Errors
    /// The system's error.
    pub fn flush(&self) -> io::Result<()> {
        if self.durable { self.file.sync_data() } else { Ok(()) }
    }

    /// Gives a range back to the file system: it reads as zeroes.
    ///
    /// # Errors
    /// The system's error.
    pub fn trim(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let bytes = bytes.min(self.bytes.saturating_sub(offset));
        if bytes == 0 {
            return Ok(());
        }
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the descriptor is open; the length was checked against the device's, which is a file's.
        let failed = unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as i64, bytes as i64) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Ranges (offset, bytes) that hold data, in order.
    ///
    /// # Errors
    /// The system's error.
    pub fn extents(&self) -> io::Result<Vec<(u64, u64)>> {
        let seek = |offset: u64, whence| {
            // SAFETY: the descriptor is open.
            let at = unsafe { libc::lseek(self.file.as_raw_fd(), offset as i64, whence) };
            if at < 0 { Err(io::Error::last_os_error()) } else { Ok(at as u64) }
        };
        let (mut extents, mut offset) = (Vec::new(), 0);
        while offset < self.bytes {
            let begin = match seek(offset, libc::SEEK_DATA) {
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => break,
                other => other?,
            };
            let end = seek(begin, libc::SEEK_HOLE)?.min(self.bytes);
            extents.push((begin, end - begin));
            offset = end;
        }
        Ok(extents)
    }
}

#[cfg(test)]
mod tests {
    use flatwater_real::permit::Identity;

    use super::*;

    fn backing(folder: &tempfile::TempDir) -> Backing {
        open(&folder.path().join("backing"), false).unwrap()
    }

    /// Opens a file that is the caller's, and makes it if it is not there.
    fn open(path: &Path, emptied: bool) -> io::Result<Backing> {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        let permit = Permit::new(vec![Identity::of(&file)?]);
        Backing::open(path, &permit, 1 << 20, true, emptied)
    }

    #[test]
    fn is_sparse_and_knows_what_holds_data() {
        let folder = tempfile::tempdir().unwrap();
        let backing = backing(&folder);
        assert_eq!(backing.extents().unwrap(), []);
        backing.write(65536, &[7; 8192]).unwrap();
        backing.write((1 << 20) - 4096, &[8; 4096]).unwrap();
        assert_eq!(backing.extents().unwrap(), [(65536, 8192), ((1 << 20) - 4096, 4096)]);
        backing.trim(65536, 4096).unwrap();
        assert_eq!(backing.extents().unwrap()[0], (65536 + 4096, 4096));
        assert_eq!(backing.read(65536, 8192).unwrap()[4095..4097], [0, 7]);
        backing.flush().unwrap();
    }

    #[test]
    fn ends_where_the_device_ends() {
        let folder = tempfile::tempdir().unwrap();
        let backing = backing(&folder);
        assert_eq!(backing.read((1 << 20) - 10, 100).unwrap().len(), 10);
        assert!(backing.read(1 << 30, 100).unwrap().is_empty());
        backing.trim(1 << 30, 100).unwrap();
    }

    #[test]
    fn a_file_of_another_length_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backing");
        std::fs::write(&path, "precious").unwrap();
        let error = open(&path, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        let emptied = open(&path, true).unwrap();
        assert_eq!(emptied.extents().unwrap(), []);
    }

    #[test]
    fn belongs_to_one_emulator() {
        let folder = tempfile::tempdir().unwrap();
        let first = backing(&folder);
        let error = open(&folder.path().join("backing"), false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(first);
    }
}
