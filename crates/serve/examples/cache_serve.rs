//! Serves a cache on a mount that another process made: what tests and benchmarks start, kill and start again.
//!
//! `cache_serve SPEC` reads the server's specification (JSON) and serves until its mount is gone or its input ends;
//! `cache_serve --make BLOCK_BYTES SPEC` makes an empty cache on the specification's files, whatever is in them;
//! `cache_serve --mount PATH SPEC` mounts, keeps the descriptor and lets a child serve, a new one whenever one dies.

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, exit};
use std::time::Duration;

use flatwater_core::cache::journal::recovery::{self, Blocks, Layout, Sizes};
use flatwater_real::cache::Devices;
use flatwater_serve::cache::{Server, Spec};
use flatwater_serve::fuse::cached::mount;
use flatwater_serve::fuse::unmount;
use serde_json::{Value, json};

/// Of a cache that is made.
const JOURNAL_BYTES: u64 = 16 << 20;

fn fail(what: impl std::fmt::Display) -> ! {
    eprintln!("{what}");
    exit(1)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [spec] => serve(spec),
        ["--mount", path, spec] => supervise(Path::new(path), spec),
        ["--make", block_bytes, spec] => make(block_bytes, spec),
        _ => fail("cache_serve [--mount PATH | --make BLOCK_BYTES] SPEC"),
    }
}

fn make(block_bytes: &str, spec: &str) {
    let spec: Spec = serde_json::from_str(spec).unwrap_or_else(|error| fail(error));
    let mut devices = Devices::open(&spec.fast, &spec.slow, &spec.pair).unwrap_or_else(|error| fail(error));
    let layout = Layout {
        uuid: *b"cache_serve made",
        fast_bytes: devices.fast.bytes(),
        slow_bytes: devices.slow.bytes(),
        block_bytes: block_bytes.parse().unwrap_or_else(|error| fail(error)),
    };
    let Devices { fast, slow, pair } = &mut devices;
    let places = recovery::Devices { fast, slow, pair };
    recovery::format(places, &layout, Sizes { journal_bytes: JOURNAL_BYTES, ..Sizes::default() }, true)
        .unwrap_or_else(|error| fail(error));
}

fn serve(spec: &str) {
    let spec: Spec = serde_json::from_str(spec).unwrap_or_else(|error| fail(error));
    let server = Server::start(spec).unwrap_or_else(|error| fail(error));
    for note in server.notes() {
        eprintln!("{note}");
    }
    println!("serving {} B", server.bytes());
    // The end of the input is how a caller says that it is over.
    let handle = server.handle().clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        handle.stop(false);
    });
    while server.wait_over(Duration::from_secs(3600)).is_none() {}
    if let Err(error) = server.stop(false) {
        fail(error);
    }
}

fn supervise(path: &Path, spec: &str) {
    let mounted = mount(path, "flatwater-cache", true).unwrap_or_else(|error| fail(error));
    // SAFETY: the flag is cleared so that children inherit the descriptor.
    unsafe { libc::fcntl(mounted.descriptor.as_raw_fd(), libc::F_SETFD, 0) };
    let mut spec: Value = serde_json::from_str(spec).unwrap_or_else(|error| fail(error));
    spec["fuse"] = json!({"fd": mounted.descriptor.as_raw_fd(), "protocol": mounted.protocol});
    let program = std::env::current_exe().unwrap_or_else(|error| fail(error));
    loop {
        let child = Command::new(&program).arg(spec.to_string()).spawn();
        let mut child = child.unwrap_or_else(|error| fail(error));
        println!("child {}", child.id());
        let status = child.wait().unwrap_or_else(|error| fail(error));
        if status.signal() != Some(libc::SIGKILL) {
            let _ = unmount(path, true);
            exit(status.code().unwrap_or(1));
        }
    }
}
