//! The NBD server with the clients that people use: libnbd's, qemu's and fio. Those that are not installed are passed over,
//! and said so. Debian's packages: libnbd-bin, python3-libnbd, qemu-utils, fio.

#[path = "nbd/client.rs"]
#[allow(dead_code, reason = "each test uses its part of it")]
mod client;
#[path = "nbd/served.rs"]
#[allow(dead_code, reason = "each test uses its part of it")]
mod served;

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use flatwater_serve::nbd::Limits;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use served::{DEVICE_BYTES, Served};

/// Runs a client, which must end well: what it says. None if it is not installed.
fn run(served: &Served, package: &str, words: &[&str]) -> Option<String> {
    let mut command = Command::new(words[0]);
    // libnbd's modules belong to the system's own Python, which may not be the first.
    command.env("PATH", format!("/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default()));
    match command.args(&words[1..]).current_dir(served.folder.path()).output() {
        Err(_) => {
            println!("passed over: {} is not installed (hint: sudo apt-get install {package})", words[0]);
            None
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {said}\n{complaints}");
            Some(said)
        }
    }
}

fn address(served: &Served) -> String {
    format!("nbd+unix:///disk?socket={}", served.socket.display())
}

/// A file of random data, as long as the device.
fn image(served: &Served) -> Vec<u8> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    println!("seed {seed}");
    let mut data = vec![0; DEVICE_BYTES as usize];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    // With holes, which clients write otherwise.
    for piece in data.chunks_mut(1 << 20).step_by(3) {
        random.fill_bytes(piece);
    }
    std::fs::write(served.folder.path().join("image"), &data).unwrap();
    data
}

#[test]
fn nbdinfo_finds_what_is_offered() {
    let served = Served::start(Limits::default());
    let uri = address(&served);
    if let Some(said) = run(&served, "libnbd-bin", &["nbdinfo", "--json", &uri]) {
        let told: serde_json::Value = serde_json::from_str(&said).unwrap();
        let export = &told["exports"][0];
        assert_eq!(told["structured"], true);
        assert_eq!(export["export-name"], "disk");
        assert_eq!(export["export-size"], DEVICE_BYTES);
        for can in ["cache", "df", "fast_zero", "flush", "fua", "multi_conn", "trim", "zero"] {
            assert_eq!(export[format!("can_{can}")], true, "{can}");
        }
        assert_eq!(export["is_read_only"], false);
        assert_eq!(export["block_size_minimum"], 512);
        assert_eq!(export["block_size_preferred"], 16384);
        assert_eq!(export["block_size_maximum"], 32 << 20);
        let listed = run(&served, "libnbd-bin", &["nbdinfo", "--list", "--json", &uri]).unwrap();
        assert!(listed.contains("\"export-name\": \"disk\""));
        let map = run(&served, "libnbd-bin", &["nbdinfo", "--map", &uri]).unwrap();
        assert!(map.contains("data") && !map.contains("hole"), "{map}");
    }
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn nbdcopy_copies_there_and_back_on_four_connections() {
    let served = Served::start(Limits::default());
    let data = image(&served);
    let uri = address(&served);
    if run(&served, "libnbd-bin", &["nbdcopy", "--flush", "image", &uri]).is_some() {
        run(&served, "libnbd-bin", &["nbdcopy", "--connections=4", "--requests=64", &uri, "back"]);
        assert!(std::fs::read(served.folder.path().join("back")).unwrap() == data);
    }
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn qemu_converts_compares_and_writes_unaligned() {
    let served = Served::start(Limits::default());
    image(&served);
    let uri = address(&served);
    let convert = ["qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", "image", &uri];
    if run(&served, "qemu-utils", &convert).is_some() {
        run(&served, "qemu-utils", &["qemu-img", "compare", "-f", "raw", "-F", "raw", "image", &uri]);
        let steps = [
            "write -P 5 0 64k",
            "write -f -P 6 100 1000",
            "read -P 5 0 100",
            "read -P 6 100 1000",
            "read -P 5 1100 512",
            "write -z 4096 128k",
            "read -P 0 4096 128k",
            "discard 1M 64M",
            "flush",
        ];
        let words: Vec<&str> = steps.iter().flat_map(|step| ["-c", step]).collect();
        let said = run(&served, "qemu-utils", &[&["qemu-io", "-f", "raw"][..], &words, &[&uri]].concat()).unwrap();
        assert!(!said.contains("failed") && !said.contains("verification"), "{said}");
    }
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn nbdsh_finds_the_protocols_errors() {
    let served = Served::start(Limits::default());
    let script = r#"
import errno
size = h.get_size()
h.set_strict_mode(0)
def fails(wanted, call, *words, **flags):
    try:
        call(*words, **flags)
    except nbd.Error as error:
        assert error.errnum == wanted, (wanted, error)
        return
    raise AssertionError(f"{call} {words} did not fail")
h.pwrite(b"a" * 4096, 0, nbd.CMD_FLAG_FUA)
fails(errno.EINVAL, h.pread, 512, size)
fails(errno.EINVAL, h.pread, 512, 1)
fails(errno.EINVAL, h.pread, 100, 0)
fails(errno.ENOSPC, h.pwrite, b"b" * 512, size)
fails(errno.EINVAL, h.pwrite, b"b" * 100, 0)
fails(errno.ENOSPC, h.zero, 1024, size - 512)
fails(errno.EINVAL, h.trim, 1024, size - 512)
fails(errno.ENOTSUP, h.zero, 512, 0, nbd.CMD_FLAG_FAST_ZERO)
fails(errno.EINVAL, h.pread, 512, 0, 1 << 10)
h.cache(1 << 20, 0)
assert h.pread(4096, 0) == b"a" * 4096
h.zero(8192, 0, nbd.CMD_FLAG_FUA | nbd.CMD_FLAG_NO_HOLE)
h.trim(1 << 20, 1 << 20, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 0) == bytes(4096)
# A second connection sees what the first was told is written, and its flush covers it.
other = nbd.NBD()
other.connect_uri(uri)
assert other.can_multi_conn()
h.pwrite(b"c" * 4096, 8192)
other.flush()
assert other.pread(4096, 8192) == b"c" * 4096
# An old client: no structured replies, no block sizes asked for, any offset.
old = nbd.NBD()
old.set_request_structured_replies(False)
old.set_request_block_size(False)
old.set_strict_mode(0)
old.connect_uri(uri)
old.pwrite(b"d" * 10, 8195)
assert old.pread(12, 8194) == b"c" + b"d" * 10 + b"c"
old.shutdown(), other.shutdown()
"#;
    let uri = address(&served);
    let script = format!("uri = {uri:?}\n{script}");
    run(&served, "libnbd-bin python3-libnbd", &["nbdsh", "-u", &uri, "-c", &script]);
    assert!(served.is_quiet());
    served.stop();
}

#[test]
fn fio_verifies_what_it_wrote() {
    let served = Served::start(Limits::default());
    let uri = format!("--uri={}", address(&served));
    let words = ["fio", "--name=v", "--ioengine=nbd", &uri, "--rw=randwrite", "--bsrange=512-128k", "--bs_unaligned=0"];
    let more = ["--iodepth=32", "--numjobs=4", "--size=16m", "--offset_increment=32m", "--verify=crc32c", "--fsync=50"];
    let has_engine = Command::new("fio").arg("--enghelp").output();
    if has_engine.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("nbd")) {
        run(&served, "fio", &[&words[..], &more].concat());
    } else {
        println!("passed over: no fio with an nbd engine (hint: sudo apt-get install fio)");
    }
    assert!(served.is_quiet());
    served.stop();
}
