//! Records requests while they are served.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use super::format::Reader as _;
use super::format::recording::{Frame, HEADER_BYTES, Header, Recording};
use super::position::Input;
use super::{Entry, Problem};

/// A frame of this length is handed over. A request takes 5 to 12 bytes.
const FRAME_BYTES: usize = 64 << 10;
/// The most frames that wait for the disk: 4 MiB.
const FRAMES_WAITING: usize = 64;
/// A frame of this age is handed over before it is full.
const FRAME_AGE_NS: u64 = 1_000_000_000;

/// How to record.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of the device, for a replay; 0: unknown.
    pub device_bytes: u64,
    /// The most bytes of the trace; 0: no limit.
    pub limit_bytes: u64,
    /// The current time of the caller's clock, which is the clock of the entries.
    pub now_ns: u64,
}

/// What was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Requests in the trace, since it was opened.
    pub entries: u64,
    /// Requests that are not in the trace: the disk was too slow or failed, or the limit was reached.
    pub lost: u64,
    /// Bytes of the trace.
    pub bytes: u64,
}

/// Records requests; a thread of its own writes them.
pub struct Recorder {
    path: PathBuf,
    frame: Frame,
    /// Added to the caller's clock: the trace's time. Wraps.
    shift_ns: u64,
    limit_bytes: u64,
    sent_bytes: u64,
    entries: u64,
    lost: u64,
    /// Dropped requests that the trace does not count yet.
    untold: u32,
    sender: Option<SyncSender<Vec<u8>>>,
    writer: Option<JoinHandle<File>>,
    problem: Arc<Mutex<Option<String>>>,
    written_bytes: Arc<AtomicU64>,
}

impl Recorder {
    /// Makes a trace, or continues an existing one. A torn end of an existing trace is cut off.
    ///
    /// # Errors
    /// The file cannot be made, or exists and is no recording.
    pub fn open(path: &Path, options: Options) -> Result<Self, Problem> {
        let place = || path.display().to_string();
        let io = |error: std::io::Error| Problem::new(place(), format!("cannot be written: {error}"), "");
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let (began_ns, end) = if file.metadata().map_err(io)?.len() == 0 {
            let header = Header { began_unix_ns: unix_ns, device_bytes: options.device_bytes };
            file.write_all(&header.to_bytes()).map_err(io)?;
            (unix_ns, HEADER_BYTES as u64)
        } else {
            let (began_ns, last_ns, end) = find_end(path)?;
            file.set_len(end).map_err(io)?;
            file.seek(SeekFrom::End(0)).map_err(io)?;
            // Times must not go back if the clock was set back meanwhile.
            (began_ns.min(unix_ns.saturating_sub(last_ns)), end)
        };
        let problem = Arc::new(Mutex::new(None));
        let written_bytes = Arc::new(AtomicU64::new(end));
        let (sender, receiver) = sync_channel(FRAMES_WAITING);
        let (told, written) = (problem.clone(), written_bytes.clone());
        let writer = std::thread::Builder::new()
            .name("trace".into())
            .spawn(move || write_frames(file, &receiver, &told, &written))
            .map_err(io)?;
        Ok(Self {
            path: path.to_owned(),
            frame: Frame::default(),
            shift_ns: (unix_ns - began_ns).wrapping_sub(options.now_ns),
            limit_bytes: options.limit_bytes,
            sent_bytes: end,
            entries: 0,
            lost: 0,
            untold: 0,
            sender: Some(sender),
            writer: Some(writer),
            problem,
            written_bytes,
        })
    }

    /// Records a request, whose time is the caller's. Never waits.
    #[inline]
    pub fn record(&mut self, entry: Entry) {
        self.frame.push(Entry { at_ns: entry.at_ns.wrapping_add(self.shift_ns), ..entry });
        if self.frame.bytes() >= FRAME_BYTES {
            self.hand_over();
        }
    }

    /// Hands over what was recorded a second ago or earlier. Never waits.
    pub fn tick(&mut self, now_ns: u64) {
        let age_ns = now_ns.wrapping_add(self.shift_ns).saturating_sub(self.frame.base_ns());
        if self.frame.entries() > 0 && age_ns >= FRAME_AGE_NS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let (entries, bytes) = (self.frame.entries(), self.frame.bytes() as u64);
        let frame = self.frame.seal(self.untold);
        let room = self.limit_bytes == 0 || self.sent_bytes + bytes <= self.limit_bytes;
        if room && self.sender.as_ref().is_some_and(|sender| sender.try_send(frame).is_ok()) {
            self.sent_bytes += bytes;
            self.entries += u64::from(entries);
            self.untold = 0;
        } else {
            self.lost += u64::from(entries);
            self.untold = self.untold.saturating_add(entries);
        }
    }

    /// What was recorded so far, without the requests of the frame under way.
    pub fn recorded(&self) -> Recorded {
        Recorded { entries: self.entries, lost: self.lost, bytes: self.written_bytes.load(Relaxed) }
    }

    /// Why nothing is written any more.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().expect("nothing panics under it").clone()
    }

    /// Writes what is left, durably.
    ///
    /// # Errors
    /// The trace could not be written.
    pub fn end(mut self) -> Result<Recorded, Problem> {
        self.finish()?;
        Ok(self.recorded())
    }

    fn finish(&mut self) -> Result<(), Problem> {
        let (entries, bytes) = (self.frame.entries(), self.frame.bytes() as u64);
        let room = self.limit_bytes == 0 || self.sent_bytes + bytes <= self.limit_bytes;
        if let Some(sender) = self.sender.take()
            && (entries > 0 && room || self.untold > 0)
        {
            let (last, told) =
                if room { (self.frame.seal(self.untold), entries) } else { (Frame::default().seal(self.untold), 0) };
            self.lost += u64::from(entries - told);
            // It may wait here, because no request is served any more.
            if sender.send(last).is_ok() {
                self.entries += u64::from(told);
            }
        } else {
            self.lost += u64::from(entries);
        }
        let file = self.writer.take().map(JoinHandle::join);
        if let Some(Ok(file)) = file
            && let Err(error) = file.sync_all()
        {
            self.problem.lock().expect("nothing panics under it").get_or_insert_with(|| error.to_string());
        }
        match self.problem() {
            None => Ok(()),
            Some(what) => {
                Err(Problem::new(self.path.display().to_string(), format!("the trace is cut short: {what}"), ""))
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = self.finish();
        }
    }
}

/// When a recording began, the last time in it, and where what is readable of it ends.
fn find_end(path: &Path) -> Result<(u64, u64, u64), Problem> {
    let place = path.display().to_string();
    let hint = "another file, or remove this one";
    let problem = |what: String| Problem::new(place.clone(), what, hint);
    let file = File::open(path).map_err(|error| problem(error.to_string()))?;
    let (mut input, mut reader) = (Input::new(Box::new(file)), Recording::default());
    let (mut batch, mut last_ns) = (Vec::new(), 0);
    loop {
        batch.clear();
        let more = reader.read(&mut input, 4096, &mut batch).map_err(|wrong| problem(wrong.what))?;
        last_ns = batch.last().map_or(last_ns, |entry| entry.at_ns.max(last_ns));
        if !more {
            let began_ns = reader.header.map_or(0, |header| header.began_unix_ns);
            return Ok((began_ns, last_ns, reader.end));
        }
    }
}

fn write_frames(
    mut file: File,
    frames: &Receiver<Vec<u8>>,
    problem: &Mutex<Option<String>>,
    written: &AtomicU64,
) -> File {
    while let Ok(frame) = frames.recv() {
        if let Err(error) = file.write_all(&frame) {
            *problem.lock().expect("nothing panics under it") = Some(error.to_string());
            // The receiver is dropped with the frames that wait, so the sender gets an error.
            return file;
        }
        written.fetch_add(frame.len() as u64, Relaxed);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Kind, Source};

    fn entries(from: u64, n: u64) -> Vec<Entry> {
        (from..from + n)
            .map(|n| Entry {
                at_ns: n * 1_000,
                kind: [Kind::Read, Kind::Write, Kind::Trim, Kind::Flush, Kind::Zero][n as usize % 5],
                offset: if n % 5 == 3 { 0 } else { n * n % 977 * 4096 + n % 3 },
                bytes: if n % 5 == 3 { 0 } else { 512 << (n % 7) },
                process: (n / 10) as u32 % 3,
            })
            .collect()
    }

    fn record(path: &Path, limit_bytes: u64, entries: &[Entry]) -> Recorded {
        let options = Options { device_bytes: 1 << 30, limit_bytes, now_ns: 0 };
        let mut recorder = Recorder::open(path, options).unwrap();
        recorder.shift_ns = 0;
        entries.iter().for_each(|entry| recorder.record(*entry));
        recorder.end().unwrap()
    }

    fn read(path: &Path) -> (Vec<Entry>, Option<String>) {
        let mut source = Source::open(path, None).unwrap();
        let mut all = Vec::new();
        while let Some(entry) = source.next_entry().unwrap() {
            all.push(entry);
        }
        (all, source.note())
    }

    fn file(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("flatwater-recorder-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn what_was_recorded_is_read() {
        let path = file("whole");
        let all = entries(0, 50_000);
        let recorded = record(&path, 0, &all);
        assert_eq!((recorded.entries, recorded.lost), (50_000, 0));
        assert_eq!(recorded.bytes, std::fs::metadata(&path).unwrap().len());
        assert!(recorded.bytes < 13 * 50_000, "{}", recorded.bytes);
        assert_eq!(read(&path), (all, None));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn it_goes_on_after_a_torn_end() {
        let path = file("torn");
        record(&path, 0, &entries(0, 100));
        let whole = std::fs::metadata(&path).unwrap().len();
        record(&path, 0, &entries(100, 100));
        let end = std::fs::metadata(&path).unwrap().len();
        let bytes = std::fs::read(&path).unwrap();
        for cut in whole..end {
            std::fs::write(&path, &bytes[..cut as usize]).unwrap();
            let (read_back, note) = read(&path);
            assert_eq!(read_back, entries(0, 100), "cut at {cut}");
            assert_eq!(note.is_some(), cut > whole, "cut at {cut}");
        }
        record(&path, 0, &entries(100, 100));
        assert_eq!(read(&path), (entries(0, 200), None));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_limit_ends_it_and_the_trace_says_so() {
        let path = file("limit");
        let recorded = record(&path, 200_000, &entries(0, 100_000));
        assert!(recorded.bytes <= 200_028 && recorded.lost > 50_000, "{recorded:?}");
        assert_eq!(recorded.entries + recorded.lost, 100_000);
        let (read_back, note) = read(&path);
        assert_eq!(read_back.len() as u64, recorded.entries);
        assert!(note.unwrap().contains("lost"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn time_goes_on_when_a_trace_is_opened_again() {
        let path = file("again");
        for now_ns in [5_000_000_000, 77] {
            let mut recorder = Recorder::open(&path, Options { device_bytes: 0, limit_bytes: 0, now_ns }).unwrap();
            let entry = Entry { at_ns: now_ns + 10, kind: Kind::Read, offset: 0, bytes: 512, process: 1 };
            recorder.record(entry);
            recorder.tick(now_ns + 2_000_000_000);
            assert_eq!(recorder.recorded().entries, 1);
            recorder.end().unwrap();
        }
        let (all, _) = read(&path);
        assert!(all[0].at_ns <= all[1].at_ns && all[1].at_ns < 60_000_000_000, "{all:?}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_of_another_is_left_alone() {
        let path = file("foreign");
        std::fs::write(&path, "something else that is not a recording at all, and longer than a header is").unwrap();
        let problem = Recorder::open(&path, Options { device_bytes: 0, limit_bytes: 0, now_ns: 0 }).err().unwrap();
        assert!(problem.to_string().contains("not a recording"), "{problem}");
        assert!(std::fs::read(&path).unwrap().starts_with(b"something"));
        assert!(
            Recorder::open(Path::new("/nowhere/at/all"), Options { device_bytes: 0, limit_bytes: 0, now_ns: 0 })
                .is_err()
        );
        std::fs::remove_file(path).unwrap();
    }
}
