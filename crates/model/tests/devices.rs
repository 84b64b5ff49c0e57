//! Any modelled device under any commands keeps to what `Device` promises: each command ends once, in the order of time
//! and in the same way each time, and what the device tells of itself can be.
//!
//! Devices and commands follow from a seed. A failure prints it, and how to run it alone. Where the whole process dies, as
//! of a stack that overflows, nothing can be printed: the seed is then in `devices-KIND.seed` in cargo's `target/tmp`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use flatwater_model::storage::{Command, Device, Ended, Failure, Incident, Opening, Operation, Spec};

mod specs;

use specs::{Dice, MIB, Sample};

/// The variable that names the one seed to run.
const SEED_VARIABLE: &str = "FLATWATER_SEED";
/// Seeds of each kind, tests with optimisation being several times as fast.
const SEEDS: u64 = if cfg!(debug_assertions) { 24 } else { 400 };
/// A device that goes on for longer than this is taken for one that never ends.
const STEPS_MAX: u64 = 5_000_000;
/// After the last command a device is left alone for so long: nothing more may end.
const IDLE_NS: u64 = 5_000_000_000;
/// Why the model may refuse a random spec: a worn card with too few good units, and a disk of too few cylinders.
const REFUSALS: [&str; 2] = ["no spare space", "no curve of a disk"];

#[test]
fn ssd() {
    hold("ssd", specs::ssd, &["Full", "Medium", "ReadOnly"]);
}

#[test]
fn hdd() {
    hold("hdd", specs::hdd, &["Full"]);
}

#[test]
fn memory() {
    hold("memory", specs::memory, &["Full"]);
}

#[test]
fn volume() {
    hold("volume", specs::volume, &["Full"]);
}

#[test]
fn raid() {
    hold("raid", specs::raid, &["Full", "Medium", "rebuild of member", "patrol read ended"]);
}

/// Runs all seeds of a kind, or the one that is asked for. All of them together must come to each of `wanted`: failures of
/// commands, words of incidents.
fn hold(kind: &str, sample: fn(&mut Dice) -> Sample, wanted: &[&str]) {
    if let Ok(seed) = std::env::var(SEED_VARIABLE) {
        let seed = seed.parse().unwrap_or_else(|why| panic!("{SEED_VARIABLE}: {seed:?} is no seed: {why}"));
        hold_one(kind, seed, sample);
        return;
    }
    let all: Vec<_> = (0..SEEDS).filter_map(|seed| hold_one(kind, seed, sample)).collect();
    let opened = all.len() as u64;
    assert!(opened >= SEEDS * 3 / 4, "only {opened} of {SEEDS} specs made a device: the others test nothing");
    let came_to: BTreeSet<String> = all.into_iter().flatten().collect();
    for wanted in wanted {
        assert!(came_to.iter().any(|one| one.contains(wanted)), "no seed came to {wanted:?}, only to {came_to:#?}");
    }
}

/// Runs one device twice; what it came to, or None: its spec was refused.
fn hold_one(kind: &str, seed: u64, sample: fn(&mut Dice) -> Sample) -> Option<BTreeSet<String>> {
    let mut replay = Replay::new(kind, seed);
    let sample = sample(&mut Dice::new(seed, kind));
    replay.json = sample.json.to_string();
    let spec: Spec = serde_json::from_value(sample.json.clone()).expect("the spec reads");
    let run = || {
        let mut dice = Dice::new(seed, "commands");
        let used_bytes = dice.one_of(&[0, sample.capacity_bytes / 2, sample.capacity_bytes]);
        let device = spec.open(Opening { seed, used_bytes })?;
        assert_eq!(device.capacity_bytes(), sample.capacity_bytes);
        Ok::<_, String>(Host::new(device, dice, &sample).run())
    };
    match run() {
        Ok(first) => {
            let again = run().expect("what opened once opens again");
            let differs = first.ended.iter().zip(&again.ended).find(|(one, other)| one != other);
            assert_eq!(differs, None, "the same seed, and yet a command ends otherwise");
            assert!(first == again, "the same seed, and yet the device tells something else");
            Some(first.events())
        }
        Err(why) => {
            assert!(REFUSALS.iter().any(|known| why.contains(known)), "refused: {why}");
            None
        }
    }
}

/// Prints how to run a seed again, if it fails; keeps it in a file meanwhile.
struct Replay<'a> {
    kind: &'a str,
    seed: u64,
    json: String,
    file: PathBuf,
}

impl<'a> Replay<'a> {
    fn new(kind: &'a str, seed: u64) -> Self {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("devices-{kind}.seed"));
        std::fs::write(&file, format!("{seed}\n")).expect("the seed's file can be written");
        Self { kind, seed, json: String::new(), file }
    }
}

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { kind, seed, json, .. } = self;
            let release = if cfg!(debug_assertions) { "" } else { " --release" };
            eprintln!("seed {seed} failed, of the device {json}");
            eprintln!("again: {SEED_VARIABLE}={seed} cargo test{release} -p flatwater-model --test devices {kind}");
        }
        _ = std::fs::remove_file(&self.file);
    }
}

/// All that a device said in a run.
#[derive(PartialEq)]
struct Said {
    ended: Vec<Ended>,
    series: Vec<(String, f64)>,
    incidents: Vec<Incident>,
    state: Option<String>,
}

impl Said {
    /// Failures and incidents, in words.
    fn events(&self) -> BTreeSet<String> {
        let failures = self.ended.iter().filter_map(|ended| ended.result.err()).map(|failure| format!("{failure:?}"));
        failures.chain(self.incidents.iter().map(|incident| incident.text.clone())).collect()
    }
}

/// A command on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at_ns: u64,
    command: Command,
    is_outside: bool,
}

/// How a host uses its device.
#[derive(Clone, Copy, Debug)]
struct Habits {
    /// Commands in all.
    commands: u64,
    /// Commands outstanding at most.
    depth: u64,
    /// Time between two commands, on average; 0: one follows when another ends.
    gap_ns: u64,
    /// Offsets and lengths are multiples of this.
    align_bytes: u64,
    /// Share of reads.
    read_pct: u64,
    /// A look at the device once in so many steps.
    look_every: u64,
}

/// A host that sends random commands and checks what comes back.
struct Host {
    device: Box<dyn Device>,
    dice: Dice,
    habits: Habits,
    capacity_bytes: u64,
    now_ns: u64,
    sent: u64,
    outstanding: BTreeMap<u64, Sent>,
    said: Said,
}

impl Host {
    fn new(device: Box<dyn Device>, mut dice: Dice, sample: &Sample) -> Self {
        let habits = Habits {
            commands: dice.one_of(&[100, 500, 2000]),
            depth: dice.one_of(&[1, 4, 64]),
            gap_ns: dice.one_of(&[0, 1000, 3_000_000]),
            align_bytes: dice.one_of(&[1, 512, 4096]).max(sample.granule_bytes),
            read_pct: dice.one_of(&[5, 20, 50, 80]),
            look_every: dice.one_of(&[5, 50, 500]),
        };
        Self {
            device,
            dice,
            habits,
            capacity_bytes: sample.capacity_bytes,
            now_ns: 0,
            sent: 0,
            outstanding: BTreeMap::new(),
            said: Said { ended: Vec::new(), series: Vec::new(), incidents: Vec::new(), state: None },
        }
    }

    /// Sends everything, waits for all of it, and lets the device be for a while.
    fn run(mut self) -> Said {
        let mut steps = 0;
        while self.sent < self.habits.commands || !self.outstanding.is_empty() {
            steps += 1;
            assert!(steps < STEPS_MAX, "no end at {} ns; outstanding: {:?}", self.now_ns, self.outstanding);
            self.send();
            self.step();
            if self.dice.once_in(self.habits.look_every) {
                self.look();
            }
        }
        let mut ended = Vec::new();
        self.now_ns += IDLE_NS;
        self.device.advance(self.now_ns, &mut ended);
        assert_eq!(ended, [], "nothing was outstanding");
        self.look();
        self.said.state = self.device.state();
        self.said
    }

    fn may_send(&self) -> bool {
        self.sent < self.habits.commands && (self.outstanding.len() as u64) < self.habits.depth
    }

    /// Sends as many commands as may be outstanding, or one where time passes between them.
    fn send(&mut self) {
        while self.may_send() {
            let command = self.command();
            let end = command.offset.checked_add(command.bytes);
            let is_outside = end.is_none_or(|end| end > self.capacity_bytes);
            self.device.submit(self.now_ns, self.sent, command);
            self.outstanding.insert(self.sent, Sent { at_ns: self.now_ns, command, is_outside });
            self.sent += 1;
            if self.habits.gap_ns > 0 {
                break;
            }
        }
    }

    /// Any command, of which few are outside of the device.
    fn command(&mut self) -> Command {
        let operation = match self.dice.below(20) {
            0 => Operation::Flush,
            1 => Operation::Trim,
            _ if self.dice.below(100) < self.habits.read_pct => Operation::Read,
            _ => Operation::Write,
        };
        if operation == Operation::Flush {
            return Command { operation, offset: 0, bytes: 0 };
        }
        if operation == Operation::Trim && self.dice.once_in(20) {
            return Command { operation, offset: 0, bytes: self.capacity_bytes };
        }
        let align_bytes = self.habits.align_bytes;
        let usual_bytes = align_bytes.max(4096);
        let bytes = match self.dice.below(12) {
            0 => 0,
            1 => align_bytes,
            2 => align_bytes * 3,
            3 => MIB,
            _ => usual_bytes,
        };
        let offset = self.dice.below(self.capacity_bytes / align_bytes + 1) * align_bytes;
        match self.dice.below(150) {
            0 => Command { operation, offset: u64::MAX - 5, bytes },
            // Its end may be outside.
            1 | 2 => Command { operation, offset, bytes },
            _ => {
                let room_bytes = self.capacity_bytes / align_bytes * align_bytes;
                let bytes = bytes.min(room_bytes);
                Command { operation, offset: offset.min(room_bytes - bytes), bytes }
            }
        }
    }

    /// Lets time pass until a command ends, or it is time for the next one.
    fn step(&mut self) {
        let next_ns = self.device.next_ns();
        let is_stuck = next_ns.is_none() && !self.outstanding.is_empty();
        assert!(!is_stuck, "nothing will happen after {} ns; outstanding: {:?}", self.now_ns, self.outstanding);
        assert!(next_ns.is_none_or(|next_ns| next_ns >= self.now_ns), "next is {next_ns:?}, before {}", self.now_ns);
        let until_ns = match self.habits.gap_ns {
            gap_ns if gap_ns > 0 && self.may_send() => self.now_ns + self.dice.below(gap_ns * 2),
            _ => u64::MAX,
        };
        let mut ended = Vec::new();
        self.device.advance(until_ns, &mut ended);
        match ended.first() {
            Some(first) => {
                let at_ns = first.at_ns;
                assert!((self.now_ns..=until_ns).contains(&at_ns), "{first:?} in {}..={until_ns}", self.now_ns);
                ended.iter().for_each(|one| self.check(*one, at_ns));
                self.now_ns = at_ns;
            }
            None => {
                assert_ne!(until_ns, u64::MAX, "nothing ended in all time; outstanding: {:?}", self.outstanding);
                self.now_ns = until_ns;
            }
        }
        self.said.ended.append(&mut ended);
    }

    /// Holds the end of a command against the command.
    fn check(&mut self, ended: Ended, at_ns: u64) {
        let sent = self.outstanding.remove(&ended.tag);
        let sent = sent.unwrap_or_else(|| panic!("{ended:?}: ended before, or was never sent"));
        assert_eq!(ended.at_ns, at_ns, "one advance, two moments: {ended:?} of {sent:?}");
        assert!(ended.at_ns >= sent.at_ns, "{ended:?} before {sent:?}");
        let is_full = ended.result == Err(Failure::Full);
        assert_eq!(is_full, sent.is_outside, "{ended:?} of {sent:?}; capacity {}", self.capacity_bytes);
        if sent.command.operation == Operation::Read {
            assert_ne!(ended.result, Err(Failure::ReadOnly), "{sent:?}");
        }
    }

    /// Asks the device for what it tells of itself.
    fn look(&mut self) {
        let mut series = Vec::new();
        self.device.observe(self.now_ns, &mut series);
        let mut names = BTreeSet::new();
        for (name, value) in &series {
            assert!(names.insert(name), "two series {name}");
            assert!(value.is_finite() && *value >= 0.0, "{name} is {value} at {} ns", self.now_ns);
            // Shares are quotients of sums of f64: their last digits may be over.
            assert!(!name.ends_with("_pct") || *value <= 100.0 + 1e-7, "{name} is {value} at {} ns", self.now_ns);
        }
        let incidents = self.device.incidents();
        for incident in &incidents {
            assert!(incident.at_ns <= self.now_ns, "{incident:?} at {} ns, in the future", self.now_ns);
        }
        self.said.series.append(&mut series);
        self.said.incidents.extend(incidents);
    }
}
