//! A server on a real reactor, over a file.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use flatwater_core::cache::journal::recovery::Blocks;
use flatwater_real::cache::Handle;
use flatwater_real::cache::adversity::Adversity;
use flatwater_real::cache::devices::{Devices, Medium};
use flatwater_real::cache::reactor::{Parts, Reactor};
use flatwater_real::cache::target::{Plain, Target};
use flatwater_real::clock::Clock;
use flatwater_serve::nbd::protocol::option;
use flatwater_serve::nbd::{Export, Limits, Server, Tally};

use crate::client::{hello, named, option};

/// Bytes of the device.
pub const DEVICE_BYTES: u64 = 256 << 20;
/// How long anything may take before it counts as never.
pub const NEVER: Duration = Duration::from_secs(30);

/// A server under way.
pub struct Served {
    pub handle: Handle,
    thread: Option<JoinHandle<()>>,
    pub tally: Arc<Tally>,
    pub socket: PathBuf,
    pub folder: tempfile::TempDir,
}

impl Served {
    /// Serves an empty device that is called "disk".
    pub fn start(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, bytes| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            Medium::open(&path, true).unwrap()
        };
        let devices = Devices { fast: open("fast", 0), slow: open("slow", DEVICE_BYTES), pair: open("pair", 0) };
        assert_eq!(devices.slow.bytes(), DEVICE_BYTES);
        let socket = folder.path().join("socket");
        let server = Server::new(&socket, Export::new("disk", DEVICE_BYTES, 16384).unwrap(), limits).unwrap();
        let tally = server.tally();
        let (handle, thread) = Reactor::start(Parts {
            devices,
            target: Target::Plain(Plain::new(DEVICE_BYTES)),
            clock: Clock::start(),
            sources: vec![Box::new(server)],
            adversities: [Adversity::default(); 3],
            record: None,
            witness: None,
        })
        .unwrap();
        Self { handle, thread: Some(thread), tally, socket, folder }
    }

    /// A client that has taken the export.
    pub fn client(&self) -> UnixStream {
        let mut stream = connect(&self.socket);
        let options = [option(option::STRUCTURED_REPLY, &[]), option(option::GO, &named(b"disk", &[]))].concat();
        stream.write_all(&[hello(), options].concat()).unwrap();
        // Greeting, one acknowledgement, two informations, and the last acknowledgement.
        let mut told = vec![0; 18 + 20 + (20 + 12) + (20 + 14) + 20];
        stream.read_exact(&mut told).unwrap();
        stream
    }

    /// Waits until all clients are gone and hold nothing.
    pub fn is_quiet(&self) -> bool {
        until(|| self.tally.connections.load(Relaxed) == 0 && self.tally.held_bytes.load(Relaxed) == 0)
    }

    /// Ends it, which must go well.
    pub fn stop(mut self) {
        self.handle.stop(false);
        assert_eq!(self.handle.wait(NEVER).expect("it ends").trouble, None);
        self.thread.take().unwrap().join().unwrap();
        assert!(!self.socket.exists(), "the socket's file goes with it");
    }
}

/// A client that has said nothing yet.
pub fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(NEVER)).unwrap();
    stream.set_write_timeout(Some(NEVER)).unwrap();
    stream
}

/// Waits until something is so; false: it never was.
pub fn until(done: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < NEVER {
        if done() {
            return true;
        }
        sleep(Duration::from_millis(5));
    }
    false
}
