//! A cache behind a mount: a child process serves it, as in real life, and is killed. Skipped, with the reason, where
//! nothing can be mounted.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flatwater_core::cache::journal::recovery::{self, Layout, Sizes};
use flatwater_real::cache::Devices;
use flatwater_serve::cache::{Server, Spec};
use flatwater_serve::fuse::cached::{Mounted, mount};
use flatwater_serve::fuse::unmount;
use serde_json::{Value, json};

/// Where a child finds what it is to serve.
const SPEC: &str = "FLATWATER_TEST_SPEC";
const BYTES: usize = 8 << 20;
const BLOCK_BYTES: u32 = 16 << 10;
/// A test that takes longer hangs: its mount is torn away then.
const AT_MOST: Duration = Duration::from_secs(120);

/// Not a test of itself: what the children of the others run.
#[test]
fn child() {
    let Ok(spec) = std::env::var(SPEC) else { return };
    let spec: Spec = serde_json::from_str(&spec).unwrap();
    let server = Server::start(spec).unwrap();
    while server.wait_over(Duration::from_secs(1)).is_none() {}
    server.stop(false).unwrap();
}

/// A cache that a supervised child serves.
struct Mount {
    folder: tempfile::TempDir,
    spec: Value,
    mounted: Arc<Mounted>,
    child: Arc<Mutex<Option<Child>>>,
    lives: Arc<AtomicU32>,
    ending: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

fn spawn(spec: &Value) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(SPEC, spec.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

impl Mount {
    /// Makes and mounts one; None, with the reason, where that cannot be.
    fn make(settings: Value, plain: bool) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, bytes) in [("slow", BYTES), ("fast", 6 * BYTES), ("pair", 4096)] {
            fs::write(at(name), vec![0; bytes]).unwrap();
        }
        fs::create_dir(at("mount")).unwrap();
        if !plain {
            let mut devices = Devices::open(&at("fast"), &at("slow"), &at("pair")).unwrap();
            let (uuid, block_bytes) = (*b"a cache for test", BLOCK_BYTES);
            let layout = Layout { uuid, fast_bytes: 6 * BYTES as u64, slow_bytes: BYTES as u64, block_bytes };
            let Devices { fast, slow, pair } = &mut devices;
            let sizes = Sizes { journal_bytes: 16 << 20, ..Sizes::default() };
            recovery::format(recovery::Devices { fast, slow, pair }, &layout, sizes, true).unwrap();
        }
        let mounted = match mount(&at("mount"), "flatwater-test", false) {
            Ok(mounted) => mounted,
            Err(error) => {
                eprintln!("skipped: nothing can be mounted here ({error})");
                return None;
            }
        };
        // SAFETY: the flag is cleared so that children inherit the descriptor.
        unsafe { libc::fcntl(mounted.descriptor.as_raw_fd(), libc::F_SETFD, 0) };
        let spec = json!({
            "fast": at("fast"), "slow": at("slow"), "pair": at("pair"), "plain": plain, "settings": settings,
            "fuse": {"fd": mounted.descriptor.as_raw_fd(), "protocol": mounted.protocol},
        });
        let mut mount = Self {
            folder,
            spec,
            mounted: Arc::new(mounted),
            child: Arc::default(),
            lives: Arc::default(),
            ending: Arc::default(),
            threads: Vec::new(),
        };
        mount.supervise();
        Some(mount)
    }

    fn supervise(&mut self) {
        let (spec, child, lives) = (self.spec.clone(), self.child.clone(), self.lives.clone());
        let (ending, mounted) = (self.ending.clone(), self.mounted.clone());
        *child.lock().unwrap() = Some(spawn(&spec));
        let path = self.path("mount");
        self.threads.push(std::thread::spawn(move || {
            let begun = Instant::now();
            while !ending.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
                let mut child = child.lock().unwrap();
                let ended = child.as_mut().and_then(|child| child.try_wait().unwrap());
                if ended.is_some_and(|status| status.signal() == Some(libc::SIGKILL)) {
                    lives.fetch_add(1, SeqCst);
                    *child = Some(spawn(&spec));
                }
                if begun.elapsed() > AT_MOST {
                    eprintln!("it hangs: its mount is torn away");
                    let _ = child.take().map(|mut child| child.kill());
                    let _ = unmount(&path, true);
                    break;
                }
            }
            drop(mounted);
        }));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn device(&self) -> File {
        OpenOptions::new().read(true).write(true).open(self.path("mount/cached")).unwrap()
    }

    fn kill(&self) {
        if let Some(child) = self.child.lock().unwrap().as_mut() {
            child.kill().unwrap();
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.ending.store(true, SeqCst);
        let _ = unmount(&self.path("mount"), true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(mut child) = self.child.lock().unwrap().take() {
            let _ = child.wait();
        }
    }
}

/// Numbers that look random (xorshift), from a seed that is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Reads and writes at any offset and of any length, while the server is killed; what is read must be what was written.
fn verify_under_kills(mount: &Mount, seed: u64) {
    eprintln!("seed {seed}");
    let (device, mut random) = (mount.device(), Random(seed));
    let mut expected = vec![0; BYTES];
    let (mut killed, mut last) = (0, Instant::now());
    let mut buffer = vec![0; 200_000];
    while killed < 5 {
        for _ in 0..40 {
            let unit = [1, 512, 4096, 16384][random.below(4)];
            let offset = random.below(BYTES / unit) * unit;
            let bytes = (1 + random.below(100_000 / unit)) * unit;
            let bytes = bytes.min(BYTES - offset);
            let (buffer, range) = (&mut buffer[..bytes], offset..offset + bytes);
            if random.below(2) == 0 {
                buffer.fill(random.below(256) as u8);
                device.write_all_at(buffer, offset as u64).unwrap();
                expected[range].copy_from_slice(buffer);
            } else {
                device.read_exact_at(buffer, offset as u64).unwrap();
                let wrong = buffer.iter().zip(&expected[range]).position(|(read, wrote)| read != wrote);
                assert_eq!(wrong, None, "seed {seed}: {bytes} B at {offset} after {killed} kills");
            }
        }
        if last.elapsed() > Duration::from_millis(200) && mount.lives.load(SeqCst) == killed {
            mount.kill();
            (killed, last) = (killed + 1, Instant::now());
        }
    }
    device.sync_all().unwrap();
}

#[test]
fn a_transport_survives_its_server() {
    let Some(mount) = Mount::make(json!({}), true) else { return };
    verify_under_kills(&mount, 20_131_101);
}

#[test]
fn a_cache_survives_its_server() {
    let settings = json!({"admission": "all", "sequential_bytes": 0});
    let Some(mount) = Mount::make(settings, false) else { return };
    verify_under_kills(&mount, 20_131_102);
    let statistics: Value = serde_json::from_str(&fs::read_to_string(mount.path("mount/stats.json")).unwrap()).unwrap();
    assert_eq!(statistics["size_bytes"], BYTES);
}

#[test]
fn settings_are_files() {
    let Some(mount) = Mount::make(json!({}), false) else { return };
    let setting = |name: &str| mount.path("mount/settings").join(name);
    assert_eq!(fs::read_to_string(setting("mode")).unwrap(), "write-back\n");
    fs::write(setting("mode"), "write-through\n").unwrap();
    assert_eq!(fs::read_to_string(setting("mode")).unwrap(), "write-through\n");
    assert_eq!(fs::metadata(setting("mode")).unwrap().len(), "write-through\n".len() as u64);
    let error = fs::write(setting("mode"), "sideways").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    assert!(fs::read_to_string(setting(".error")).unwrap().starts_with("mode = `sideways`: it must be one of"));
    fs::write(setting("verify"), "off").unwrap();
    assert_eq!(fs::read_to_string(setting(".error")).unwrap(), "", "what is good leaves no complaint");
    assert!(fs::write(setting("record"), "relative").is_err());
    fs::write(setting("record"), mount.path("trace").to_str().unwrap()).unwrap();
    mount.device().read_exact_at(&mut [0; 4096], 0).unwrap();
    fs::write(setting("record"), "off").unwrap();
    assert!(fs::metadata(mount.path("trace")).unwrap().len() > 0);
    let stats = fs::read_to_string(mount.path("mount/stats")).unwrap();
    assert!(stats.lines().any(|line| line == "reads=1"), "{stats}");
    let error = fs::write(mount.path("mount/stats"), "").unwrap_err();
    assert!(matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)), "{error}");
}

fn allocate(file: &File, mode: i32, offset: i64, bytes: i64) -> Result<(), Option<i32>> {
    // SAFETY: a plain system call on an open descriptor.
    let failed = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, bytes) } != 0;
    if failed { Err(io::Error::last_os_error().raw_os_error()) } else { Ok(()) }
}

/// Unmounts what this process has closed. A child of another test holds a copy of each of our descriptors from its fork
/// to its exec, and for so long the mount is busy.
fn unmount_when_free(path: &Path) {
    let begun = Instant::now();
    while let Err(error) = unmount(path, false) {
        let busy = error.raw_os_error() == Some(libc::EBUSY);
        assert!(busy && begun.elapsed() < AT_MOST, "{error}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn it_is_a_device_and_not_just_a_file() {
    let Some(mount) = Mount::make(json!({"sequential_bytes": 0}), false) else { return };
    let device = mount.device();
    assert_eq!(device.set_len(5).unwrap_err().raw_os_error(), Some(libc::EPERM));
    device.set_len(BYTES as u64).unwrap();
    assert_eq!(device.metadata().unwrap().len(), BYTES as u64);
    device.write_all_at(&[7; 100_000], 1000).unwrap();
    let (hole, keep) = (libc::FALLOC_FL_PUNCH_HOLE, libc::FALLOC_FL_KEEP_SIZE);
    allocate(&device, hole | keep, 20_000, 30_000).unwrap();
    allocate(&device, libc::FALLOC_FL_ZERO_RANGE, 60_001, 17_000).unwrap();
    assert_eq!(allocate(&device, 0, 0, 4096), Err(Some(libc::EOPNOTSUPP)));
    assert_eq!(allocate(&device, libc::FALLOC_FL_ZERO_RANGE, 0, 2 * BYTES as i64), Err(Some(libc::ENOSPC)));
    let mut expected = vec![0; BYTES];
    expected[1000..101_000].fill(7);
    expected[60_001..77_001].fill(0);
    let mut read = vec![1; BYTES];
    device.read_exact_at(&mut read, 0).unwrap();
    expected[20_000..50_000].fill(0);
    assert!(read == expected, "holes and zeros read as zeros, all else as it was");
    for shared in [libc::MAP_PRIVATE, libc::MAP_SHARED] {
        // SAFETY: a new mapping, which is only read.
        let mapped = unsafe {
            let start = libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ, shared, device.as_raw_fd(), 0);
            assert_ne!(start, libc::MAP_FAILED, "{}", io::Error::last_os_error());
            std::slice::from_raw_parts(start.cast::<u8>(), BYTES)
        };
        assert!(mapped == expected, "mapped, it is the same");
        // SAFETY: nobody has the slice any more.
        unsafe { libc::munmap(mapped.as_ptr().cast_mut().cast(), BYTES) };
    }
    let beyond = device.write_at(&[1; 1000], BYTES as u64).unwrap_err();
    assert_eq!(beyond.raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(device.read_at(&mut [0; 100], BYTES as u64 - 10).unwrap(), 10);
    assert!(File::create(mount.path("mount/new")).is_err() && fs::remove_file(mount.path("mount/cached")).is_err());
    assert_eq!(unmount(&mount.path("mount"), false).unwrap_err().raw_os_error(), Some(libc::EBUSY));
    drop(device);
    unmount_when_free(&mount.path("mount"));
    let mut child = mount.child.lock().unwrap().take().unwrap();
    assert!(child.wait().unwrap().success(), "unmounted, its server ends by itself");
}
