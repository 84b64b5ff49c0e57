//! The formats read the output of their tools, and refuse garbage.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::format::recording::{Frame, Header};
use super::simulate::{Case, simulate};
use super::summary::Summary;
use super::*;

fn bytes_of(text: impl AsRef<[u8]>) -> Box<dyn Read + Send> {
    Box::new(std::io::Cursor::new(text.as_ref().to_vec()))
}

fn source(text: impl AsRef<[u8]>, format: Option<Format>) -> Result<Source, Problem> {
    Source::new(PathBuf::from("some.trace"), bytes_of(text), format)
}

fn all(text: impl AsRef<[u8]>, format: Option<Format>) -> Result<Vec<Entry>, Problem> {
    let mut source = source(text, format)?;
    let mut entries = Vec::new();
    while let Some(entry) = source.next_entry()? {
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(at_ns: u64, kind: Kind, offset: u64, bytes: u32, process: u32) -> Entry {
    Entry { at_ns, kind, offset, bytes, process }
}

const IOLOG_3: &str = "fio version 3 iolog
0 /dev/sdb add
15 /dev/sdb open
120 /dev/sdb write 8192 4096
150 /dev/sdb read 0 512
151 /dev/sdb datasync 0 0
160 /dev/sdb trim 4096 4096
170 /dev/sdb close
";
const IOLOG_2: &str = "fio version 2 iolog
a.0 add
a.0 open
a.0 read 0 4096
a.0 wait 2000 0
b.0 write 4096 4096
a.0 close
";
const BLKPARSE: &str = "  8,16   1        1     5.000000000   697  Q  WS 1024 + 8 [jbd2/sdb1]
  8,16   1        2     5.000001222   697  G  WS 1024 + 8 [jbd2/sdb1]
  8,16   1        0     5.000001500     0  m   N cfq697S / alloced
  8,16   1        3     5.000700000    31  D  WS 1024 + 8 [kworker]
  8,16   0        4     5.001000000   700  Q   R 0 + 256 [dd]
  8,16   0        5     5.002000000   700  Q FWS [dd]
  8,16   0        6     5.003000000   700  Q   D 4096 + 2048 [fstrim]
CPU0 (8,16):
 Reads Queued:           1,      128KiB
Total (8,16):
";
const MSR: &str = "128166372003061629,hm,0,Read,383496192,32768,413
128166372003061639,hm,0,Write,2822144,4096,1250
";

#[test]
fn an_iolog_of_fio_is_read() {
    let read = all(IOLOG_3, None).unwrap();
    let expected = [
        entry(120_000, Kind::Write, 8192, 4096, 0),
        entry(150_000, Kind::Read, 0, 512, 0),
        entry(151_000, Kind::Flush, 0, 0, 0),
        entry(160_000, Kind::Trim, 4096, 4096, 0),
    ];
    assert_eq!(read, expected);
    let read = all(IOLOG_2, None).unwrap();
    assert_eq!(read, [entry(0, Kind::Read, 0, 4096, 0), entry(2_000_000, Kind::Write, (1 << 50) + 4096, 4096, 0)]);
}

#[test]
fn blkparse_counts_a_request_once() {
    let read = all(BLKPARSE, None).unwrap();
    let expected = [
        entry(0, Kind::Write, 524_288, 4096, 697),
        entry(1_000_000, Kind::Read, 0, 131_072, 700),
        entry(2_000_000, Kind::Flush, 0, 0, 700),
        entry(3_000_000, Kind::Trim, 2_097_152, 1_048_576, 700),
    ];
    assert_eq!(read, expected);
    let issued: String =
        BLKPARSE.lines().filter(|line| !line.contains(" Q ")).map(|line| format!("{line}\n")).collect();
    let mut source = source(issued, None).unwrap();
    assert_eq!(source.next_entry().unwrap().unwrap().process, 31);
    assert!(source.note().unwrap().contains("issued"));
}

#[test]
fn cambridge_counts_from_its_first_request() {
    let read = all(MSR, None).unwrap();
    assert_eq!(read, [entry(0, Kind::Read, 383_496_192, 32_768, 0), entry(1_000, Kind::Write, 2_822_144, 4096, 0)]);
    let with_head = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}");
    assert_eq!(all(with_head, None).unwrap(), read);
}

fn oracle(objects: &[(u32, u64)]) -> Vec<u8> {
    let one = |(time, name): &(u32, u64)| {
        [&time.to_le_bytes()[..], &name.to_le_bytes(), &4096u32.to_le_bytes(), &(-1i64).to_le_bytes()].concat()
    };
    objects.iter().flat_map(one).collect()
}

#[test]
fn objects_have_names() {
    let bytes = oracle(&[(100, 7), (101, u64::MAX), (103, 7)]);
    let read = all(&bytes, None).unwrap();
    assert_eq!(
        read.iter().map(|own| (own.at_ns / 1_000_000_000, own.offset)).collect::<Vec<_>>(),
        [(0, 7), (1, u64::MAX), (3, 7)]
    );
    let problem = all(&bytes[..60], Some(Format::Oracle)).unwrap_err();
    assert!(problem.what.contains("12 bytes are left of 24"), "{problem}");
}

#[test]
fn compressed_traces_are_read_as_they_are() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(MSR.as_bytes()).unwrap();
    assert_eq!(all(gzip.finish().unwrap(), None).unwrap().len(), 2);
    let zstandard = ruzstd::encoding::compress_to_vec(MSR.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    assert_eq!(all(&zstandard, None).unwrap().len(), 2);
    let torn = all(&zstandard[..zstandard.len() - 10], None).unwrap_err();
    assert!(torn.what.contains("cannot be read"), "{torn}");
}

#[test]
fn an_error_names_its_line() {
    for (text, format, place, what) in [
        ("", None, "some.trace", "is empty"),
        ("hello\nworld\n", None, "some.trace", "does not begin like any"),
        ("fio version 4 iolog\n", None, "line 1", "not `fio version 2 iolog` or 3"),
        ("fio version 3 iolog\n5 f read 12\n", None, "line 2", "the length is missing"),
        ("fio version 3 iolog\n5 f read -1 4\n", None, "line 2", "the offset is \"-1\""),
        ("fio version 3 iolog\n5 f eat 1 4\n", None, "line 2", "the action \"eat\""),
        ("fio version 3 iolog\n5 f read 0 5000000000\n", None, "line 2", "a request of 5000000000 bytes"),
        ("fio version 3 iolog\n5 f read 2000000000000000 1\n", None, "line 2", "more than any device has"),
        ("1,h,0,Read,0,1,2\n1,h,0,Peek,0,1,2\n", None, "line 2", "the type \"Peek\""),
        ("1,h,0,Read,x,1,2\n", None, "line 1", "the offset is \"x\""),
        ("nothing", Some(Format::Blkparse), "line 1", "not an event of blkparse"),
        (" 8,0 1 1 0.1234567890 7 Q W 0 + 8\n", Some(Format::Blkparse), "line 1", "the time is"),
        ("FWTRACE\n too short", None, "byte", "its header is missing or short"),
    ] {
        let problem = all(text, format).expect_err(text).to_string();
        assert!(problem.contains(place) && problem.contains(what), "{text:?}: {problem}");
    }
    let newer = [&b"FWTRACE\n"[..], &9u32.to_le_bytes(), &[0; 52]].concat();
    assert!(all(newer, None).unwrap_err().to_string().contains("version 9"));
    let missing = Source::open(Path::new("/nowhere/x.trace"), None).err().unwrap().to_string();
    assert!(missing.contains("/nowhere/x.trace"), "{missing}");
    assert!(Source::open(Path::new("/"), None).err().unwrap().to_string().contains("folder"));
    assert!(Format::named("csv").unwrap_err().contains("msr"));
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let kind = prop::sample::select(vec![Kind::Read, Kind::Write, Kind::Zero, Kind::Trim, Kind::Flush]);
    let offset = prop_oneof![any::<u64>(), (0u64..1 << 40).prop_map(|n| n * 512)];
    let bytes = prop_oneof![any::<u32>(), (0u32..100).prop_map(|n| n * 512)];
    (0u64..1 << 40, kind, offset, bytes, any::<u32>())
        .prop_map(|(at, kind, offset, bytes, process)| entry(at, kind, offset, bytes, process))
}

fn recording(entries: &[Entry]) -> Vec<u8> {
    let mut frame = Frame::default();
    let mut bytes = Header { began_unix_ns: 1, device_bytes: 2 }.to_bytes().to_vec();
    for (n, own) in entries.iter().enumerate() {
        frame.push(*own);
        if n % 7 == 6 {
            bytes.extend(frame.seal(0));
        }
    }
    if frame.entries() > 0 {
        bytes.extend(frame.seal(0));
    }
    bytes
}

proptest! {
    #[test]
    fn a_recording_reads_back_what_was_recorded(mut entries in prop::collection::vec(any_entry(), 1..60)) {
        entries.sort_by_key(|own| own.at_ns);
        prop_assert_eq!(all(recording(&entries), None).unwrap(), entries);
    }

    #[test]
    fn a_damaged_recording_is_read_up_to_the_damage(
        mut entries in prop::collection::vec(any_entry(), 1..60), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        entries.sort_by_key(|own| own.at_ns);
        let mut bytes = recording(&entries);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(read) = all(&bytes, Some(Format::Recording)) {
            prop_assert!(at >= 64 && read.len() < entries.len(), "bit {} of byte {}", bit, at);
            prop_assert_eq!(&read[..], &entries[..read.len()]);
        }
    }

    #[test]
    fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0usize..6, head in 0usize..6) {
        let heads = [&b""[..], b"FWTRACE\n", b"fio version 3 iolog\n", b"8,0 1 1 0.1 7 Q W 0 + 8\n", b"1,h,0,Read,0,1,2\n", b"\x28\xb5\x2f\xfd"];
        let format = Format::ALL.get(which).map(|(format, _, _)| *format);
        let text = [heads[head], &bytes].concat();
        let _ = all(&text, format);
        if let Ok(mut source) = source(&text, format) {
            let _ = Summary::of(&mut source, 4096);
        }
    }

    #[test]
    fn odd_lines_are_refused_without_a_panic(lines in prop::collection::vec("[0-9a-zRWQD,.+ -]{0,40}", 0..8), which in 0usize..5) {
        let heads = ["fio version 3 iolog\n", "fio version 2 iolog\n", "", "1,h,0,Read,0,1,2\n", "8,0 1 1 0.1 7 Q W 0 + 8\n"];
        let text = format!("{}{}", heads[which], lines.join("\n"));
        for (format, _, _) in Format::ALL {
            let _ = all(&text, Some(format));
        }
    }
}

#[test]
fn a_summary_adds_up() {
    let mut source = source(BLKPARSE, None).unwrap();
    let summary = Summary::of(&mut source, 4096).unwrap();
    assert_eq!((summary.requests, summary.bytes[0], summary.bytes[1]), ([1, 1, 0, 1, 1], 131_072, 4096));
    assert_eq!((summary.duration_ns, summary.span_bytes, summary.longest_bytes), (3_000_000, 3_145_728, 131_072));
    assert_eq!((summary.align_bytes(), summary.unaligned, summary.curve.footprint()), (4096, 0, 33));
    assert_eq!(summary.processes.into_iter().collect::<Vec<_>>(), [697, 700]);
}

#[test]
fn a_simulation_counts_blocks() {
    let log = "fio version 3 iolog\n0 f read 0 8192\n1 f read 4096 8192\n2 f write 0 4096\n3 f trim 0 4096\n4 f read 0 4096\n";
    let cases = ["lru", "fifo"].map(|policy| Case { policy: policy.into(), blocks: 3 });
    for outcome in simulate(&mut source(log, None).unwrap(), 4096, &cases).unwrap() {
        assert_eq!((outcome.reads, outcome.read_misses), (5, 4), "{outcome:?}");
        assert_eq!((outcome.writes, outcome.write_misses), (1, 0), "{outcome:?}");
    }
    let wrong = [Case { policy: "clock".into(), blocks: 3 }];
    assert!(simulate(&mut source(log, None).unwrap(), 4096, &wrong).is_err());
}

#[test]
fn what_is_converted_is_the_same() {
    let folder = std::env::temp_dir();
    let own = std::process::id();
    let (recording, iolog) =
        (folder.join(format!("flatwater-{own}.trace")), folder.join(format!("flatwater-{own}.iolog")));
    let targets = [(&recording, convert::Target::Recording), (&iolog, convert::Target::Iolog)];
    for (out, target) in targets {
        let _ = std::fs::remove_file(out);
        assert_eq!(convert::convert(&mut source(BLKPARSE, None).unwrap(), out, target).unwrap(), 4);
        let again = convert::convert(&mut source(BLKPARSE, None).unwrap(), out, target).unwrap_err();
        assert!(again.to_string().contains("another file"), "{again}");
    }
    let read = |path: &Path| {
        let mut source = Source::open(path, None).unwrap();
        std::iter::from_fn(|| source.next_entry().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(read(&recording), all(BLKPARSE, None).unwrap());
    let without_process = all(BLKPARSE, None).unwrap().into_iter().map(|own| Entry { process: 0, ..own });
    assert_eq!(read(&iolog), without_process.collect::<Vec<_>>());
    for (out, target) in targets {
        std::fs::remove_file(out).unwrap();
        // What ends with an error leaves nothing behind.
        assert!(convert::convert(&mut source("1,h,0,Read,0,1,2\nx", None).unwrap(), out, target).is_err());
        assert!(!out.exists());
    }
}

#[test]
fn a_replay_finds_room() {
    use replay::{Offsets, Player, Spec};
    let path = std::env::temp_dir().join(format!("flatwater-replay-{}.iolog", std::process::id()));
    std::fs::write(
        &path,
        "fio version 3 iolog\n10 f read 1048576 4096\n20 f write 3145728 1000\n30 f trim 0 512\n40 f sync 0 0\n",
    )
    .unwrap();
    let spec = |offsets, speed, repeat| Spec {
        path: path.clone(),
        format: None,
        speed,
        offsets,
        span_bytes: 4 << 20,
        align_bytes: 512,
        repeat,
    };
    let play = |spec: Spec| {
        let player = Player::new(spec, 2, 1 << 20).unwrap();
        let cursor = replay::Cursor::new(std::sync::Arc::new(std::sync::Mutex::new(player)));
        cursor.begin(500);
        let mut taken = Vec::new();
        for _ in 0..6 {
            let at_ns = cursor.next_ns();
            let Some(request) = cursor.take() else { break };
            assert_eq!(at_ns, cursor.taken_ns());
            taken.push((at_ns, request.file, request.offset, request.bytes));
        }
        (taken, cursor.problem())
    };
    let (taken, problem) = play(spec(Offsets::Wrap, 1.0, false));
    assert_eq!((taken, problem), (vec![(500, 1, 0, 4096), (10_500, 1, 0, 1024), (30_500, 0, 0, 0)], None));
    let (taken, _) = play(spec(Offsets::Scale, 2.0, false));
    assert_eq!(taken, [(500, 0, 524_288, 4096), (5_500, 1, 524_288, 1024), (15_500, 0, 0, 0)]);
    let (taken, problem) = play(spec(Offsets::AsIs, 1.0, true));
    assert_eq!(taken, [(500, 1, 0, 4096)]);
    assert!(problem.unwrap().contains("wrap"));
    let (taken, _) = play(spec(Offsets::Wrap, 1.0, true));
    assert_eq!(taken.iter().map(|own| own.0).collect::<Vec<_>>(), [500, 10_500, 30_500, 30_500, 40_500, 60_500]);
    std::fs::remove_file(path).unwrap();
}
