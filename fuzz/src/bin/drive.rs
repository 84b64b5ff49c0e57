//! Drives all targets side by side for some seconds, with inputs that are mutations of the corpus and of each other.
//!
//! `drive [SECONDS] [SEED]`. An input that goes a way none went before joins those that are mutated. One that panics, or
//! takes longer than `HANG`, is kept in `crashes/` and ends the run with exit code 1; `drive FILE...` tries kept inputs
//! again. Whatever happens, the seed is told: with it the same inputs come again.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use flatwater_fuzz::{TARGETS, Target};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Longest input.
const INPUT_BYTES_MAX: usize = 64 << 10;
/// Most inputs that are kept to be mutated.
const POOL_MAX: usize = 4096;
/// No input takes a hundredth of this.
const HANG: Duration = Duration::from_secs(30);
/// Bytes at which programs go wrong.
const ODD: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x40, 0x10];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |nth: usize| arguments.get(nth).map(|text| text.parse::<u64>());
    if let Some(Err(_)) = number(0) {
        return again(&arguments);
    }
    let seconds = number(0).and_then(Result::ok).unwrap_or(60);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let seed = number(1).and_then(Result::ok).unwrap_or(now);
    println!("fuzz: {seconds} s, seed {seed}");
    let until = Instant::now() + Duration::from_secs(seconds);
    let runs: Vec<_> = TARGETS
        .into_iter()
        .map(|target| {
            let current = Arc::new(Mutex::new((Instant::now(), Vec::new())));
            let own = current.clone();
            (target, current, thread::spawn(move || drive(target, seed, until, &own)))
        })
        .collect();
    while !runs.iter().all(|(_, _, thread)| thread.is_finished()) {
        thread::sleep(Duration::from_millis(100));
        for (target, current, thread) in &runs {
            let (begun, input) = &*current.lock().expect("held for a copy only");
            if !thread.is_finished() && begun.elapsed() > HANG {
                println!("{}: an input takes more than {} s: {}", target.name, HANG.as_secs(), keep(*target, input));
                return ExitCode::FAILURE;
            }
        }
    }
    let well = runs.into_iter().map(|(_, _, thread)| thread.join().unwrap_or(false)).filter(|well| *well).count();
    if well == TARGETS.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Mutates and tries until it is time; false when an input failed.
fn drive(target: Target, seed: u64, until: Instant, current: &Mutex<(Instant, Vec<u8>)>) -> bool {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pool = corpus(target);
    let (kept, mut seen, mut tried) = (pool.len(), HashSet::new(), 0_u64);
    // What is kept is tried first, as it is.
    let mut first = pool.clone().into_iter();
    while Instant::now() < until || first.len() > 0 {
        let input = first.next().unwrap_or_else(|| mutate(&pool, &mut random));
        *current.lock().expect("held for a copy only") = (Instant::now(), input.clone());
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| (target.run)(&input))) else {
            println!("{}: input {tried} of seed {seed} panicked: {}", target.name, keep(target, &input));
            return false;
        };
        tried += 1;
        if seen.insert(outcome.number()) && pool.len() < POOL_MAX {
            pool.push(input);
        }
    }
    println!("{}: {tried} inputs, {kept} of them kept ones, went {} ways", target.name, seen.len());
    // A target whose inputs all go one way does not look at them; a kept corpus that is missing is a broken checkout.
    tried > 100 && kept > 0 && seen.len() > 3
}

/// One of the pool, changed a few times.
fn mutate(pool: &[Vec<u8>], random: &mut impl Rng) -> Vec<u8> {
    let mut input = pool[random.random_range(0..pool.len())].clone();
    for _ in 0..1 << random.random_range(0..5) {
        let at = random.random_range(0..=input.len());
        let length = random.random_range(1..=16);
        match random.random_range(0..7) {
            0 if at < input.len() => input[at] ^= 1 << random.random_range(0..8),
            1 if at < input.len() => input[at] = ODD[random.random_range(0..ODD.len())],
            2 => drop(input.splice(at..at, (0..length).map(|_| random.random::<u8>()).collect::<Vec<_>>())),
            3 => drop(input.drain(at..(at + length).min(input.len()))),
            4 => {
                let piece = input[at..(at + 8 * length).min(input.len())].to_vec();
                input.splice(at..at, piece);
            }
            5 => {
                let other = &pool[random.random_range(0..pool.len())];
                let from = random.random_range(0..=other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ if at + 4 <= input.len() => {
                // A number of the wire or of the disk, moved a little.
                let value = u32::from_be_bytes(input[at..at + 4].try_into().expect("four bytes"));
                let moved = value.wrapping_add(random.random_range(0..=32)).wrapping_sub(16);
                input[at..at + 4].copy_from_slice(&moved.to_be_bytes());
            }
            _ => {}
        }
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}

fn folder(kind: &str, target: Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target.name)
}

/// The kept inputs, in the order of their names.
fn corpus(target: Target) -> Vec<Vec<u8>> {
    let listed = fs::read_dir(folder("corpus", target)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// Writes an input down; where, or why not.
fn keep(target: Target, input: &[u8]) -> String {
    let folder = folder("crashes", target);
    let sum = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let path = folder.join(format!("{sum:016x}"));
    match fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input)) {
        Ok(()) => format!("{} (try it again with: drive {})", path.display(), path.display()),
        Err(error) => format!("{} bytes, which cannot be kept: {error}", input.len()),
    }
}

/// Tries kept inputs; the folder that one lies in names its target.
fn again(files: &[String]) -> ExitCode {
    for file in files {
        let name = Path::new(file).parent().and_then(Path::file_name).unwrap_or_default();
        let Some(target) = TARGETS.into_iter().find(|target| name == target.name) else {
            println!("error: {file} is in no folder of a target (hint: corpus/journal/NAME)");
            return ExitCode::from(2);
        };
        match fs::read(file) {
            Ok(input) => drop((target.run)(&input)),
            Err(error) => {
                println!("error: cannot read {file}: {error}");
                return ExitCode::from(2);
            }
        }
        println!("{file}: well");
    }
    ExitCode::SUCCESS
}
