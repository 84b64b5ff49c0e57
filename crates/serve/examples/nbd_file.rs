//! Serves a file over NBD with no cache, to measure the transport: `nbd_file FILE SOCKET direct|buffered`. Ends when its
//! standard input does.

use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use flatwater_core::cache::journal::recovery::Blocks;
use flatwater_real::cache::adversity::Adversity;
use flatwater_real::cache::devices::{Devices, Medium};
use flatwater_real::cache::reactor::{Parts, Reactor};
use flatwater_real::cache::target::{Plain, Target};
use flatwater_real::clock::Clock;
use flatwater_serve::nbd::{Export, Limits, Server};

fn serve(file: &Path, socket: &Path, direct: bool) -> Result<(), String> {
    // The devices that a plain target does not use are empty files that nobody sees.
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let open = |path: &Path, direct| Medium::open(path, direct).map_err(|error| format!("{}: {error}", path.display()));
    let unused = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, []).map_err(|error| error.to_string())?;
        open(&path, false)
    };
    let slow = open(file, direct)?;
    let bytes = slow.bytes();
    let devices = Devices { fast: unused("fast")?, slow, pair: unused("pair")? };
    let server = Server::new(socket, Export::new("", bytes, 16384)?, Limits::default())?;
    let (handle, thread) = Reactor::start(Parts {
        devices,
        target: Target::Plain(Plain::new(bytes)),
        clock: Clock::start(),
        sources: vec![Box::new(server)],
        adversities: [Adversity::default(); 3],
        record: None,
        witness: None,
    })?;
    let _ = io::stdin().read_to_end(&mut Vec::new());
    handle.stop(false);
    let ended = handle.wait(Duration::from_secs(30));
    let _ = thread.join();
    ended.and_then(|ended| ended.trouble).map_or(Ok(()), Err)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, socket, way] = &arguments[..] else {
        eprintln!("nbd_file FILE SOCKET direct|buffered");
        return ExitCode::from(2);
    };
    match serve(file.as_ref(), socket.as_ref(), way == "direct") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
