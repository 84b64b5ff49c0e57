//! What a user can say of a cache, and the presets of two products.

use super::policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where writes and reads go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Writes end on the fast device and are written back later.
    #[default]
    WriteBack,
    /// Writes end when both devices have them.
    WriteThrough,
    /// Writes go to the slow device only; what they overwrite leaves the cache. Reads fill it.
    WriteAround,
    /// As write-back, but reads do not fill the cache.
    WriteOnly,
}

/// Which read misses fill the cache once it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Admission {
    /// All.
    All,
    /// Those of blocks that were missed before, as far as a table of ghosts remembers.
    #[default]
    SecondHit,
}

/// When a write to the fast device may be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When its data and the journal's record of it are written: it survives the death of the process, and is durable, as on
    /// a disk with a volatile cache, on a flush.
    #[default]
    Written,
    /// When the journal's record of it is durable too (FlashCache's synchronous metadata).
    Journaled,
}

/// The settings; all of them can be changed while the cache serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where writes and reads go.
    pub mode: Mode,
    /// What leaves: `lru`, `fifo`, `s3-fifo`, or `flashcache`'s sets.
    pub policy: String,
    /// Which misses come in.
    pub admission: Admission,
    /// A stream of so many consecutive bytes bypasses the cache, but never past a hit; 0: none does.
    pub sequential_bytes: u64,
    /// Only these processes' requests fill the cache; empty: all.
    pub allow_processes: Vec<u32>,
    /// These processes' requests do not.
    pub deny_processes: Vec<u32>,
    /// When a write is answered.
    pub acknowledge: Acknowledge,
    /// Share of the slots that may be dirty before write-back goes all out ...
    pub dirty_high_pct: f64,
    /// ... down to this one.
    pub dirty_low_pct: f64,
    /// A dirty block is written back at the latest so long after it became dirty, at a constant rate; 0: no limit.
    pub flush_period_s: f64,
    /// A dirty block that was not touched so long is written back (FlashCache's fallow delay); 0: never.
    pub fallow_delay_s: f64,
    /// Write-backs at once of what is fallow.
    pub fallow_speed: u32,
    /// With no request for so long, everything dirty is written back; 0: never.
    pub idle_flush_s: f64,
    /// Write-backs at once, of all reasons.
    pub write_back_depth: u32,
    /// Write-backs at once within one set (flashcache policy only); 0: no limit.
    pub write_back_depth_per_set: u32,
    /// Write-back in the order of flushes: without the fast device the slow one is old, but consistent.
    pub ordered: bool,
    /// Reads of the fast device are checked against the block's checksum.
    pub verify: bool,
    /// Writes are made durable at least so often without being asked; 0: never.
    pub commit_interval_s: f64,
    /// When no process can serve, requests that wait are answered with EIO after so long; 0: they wait. Whoever holds the
    /// mount looks at it: the engine does not.
    pub outage_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            policy: "s3-fifo".into(),
            admission: Admission::default(),
            sequential_bytes: 1 << 20,
            allow_processes: Vec::new(),
            deny_processes: Vec::new(),
            acknowledge: Acknowledge::default(),
            dirty_high_pct: 50.0,
            dirty_low_pct: 40.0,
            flush_period_s: 0.0,
            fallow_delay_s: 0.0,
            fallow_speed: 2,
            idle_flush_s: 0.0,
            write_back_depth: 32,
            write_back_depth_per_set: 0,
            ordered: false,
            verify: true,
            commit_interval_s: 1.0,
            // As long as the kernel takes until it warns of a task that hangs (hung_task_timeout_secs).
            outage_s: 120.0,
        }
    }
}

/// A setting's name and its new value, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name, as in `Settings`.
    pub name: String,
    /// The value: `on`, `12.5`, `64KiB`, `write-back`, `12,13`.
    pub value: String,
}

impl Settings {
    /// The settings of a preset: `default`, `flashcache` or `vcache`.
    ///
    /// # Errors
    /// There is none of this name; says which there are.
    pub fn preset(name: &str) -> Result<Self, String> {
        match name {
            "default" => Ok(Self::default()),
            "flashcache" => Ok(Self::flashcache()),
            "vcache" => Ok(Self::vcache()),
            _ => Err(format!("there is no preset `{name}`; there are {}", PRESETS.join(", "))),
        }
    }

    /// FlashCache as its guide has it: sets of 512 blocks, FIFO, a fifth dirty, fallow blocks after 15 minutes, metadata
    /// written before a write is answered, everything cached.
    fn flashcache() -> Self {
        Self {
            policy: "flashcache".into(),
            admission: Admission::All,
            sequential_bytes: 0,
            acknowledge: Acknowledge::Journaled,
            // No ground between the marks: cleaning starts at the threshold and goes all out.
            dirty_high_pct: 20.0,
            dirty_low_pct: 20.0,
            fallow_delay_s: 900.0,
            fallow_speed: 2,
            // max_clean_ios_total and max_clean_ios_set.
            write_back_depth: 4,
            write_back_depth_per_set: 2,
            ..Self::default()
        }
    }

    /// vCache as its guide and the reviews have it: LRU, half dirty, all IO cached, no flushing by time unless
    /// `flush_period_s` is set.
    fn vcache() -> Self {
        Self {
            policy: "lru".into(),
            admission: Admission::All,
            sequential_bytes: 0,
            dirty_high_pct: 50.0,
            dirty_low_pct: 45.0,
            ..Self::default()
        }
    }

    /// Changes one setting.
    ///
    /// # Errors
    /// Names the setting, what was given, and what is possible.
    pub fn change(&mut self, change: &Change) -> Result<(), String> {
        let Change { name, value } = change;
        let value = value.trim();
        let bad = |possible: &str| format!("{name} = `{value}`: it must be {possible}");
        match name.as_str() {
            "mode" => {
                self.mode = one_of(value, &MODES).ok_or_else(|| bad(&names(&MODES)))?;
            }
            "policy" => {
                if !policy::NAMES.iter().any(|(name, _)| *name == value) {
                    let names: Vec<_> = policy::NAMES.iter().map(|(name, _)| *name).collect();
                    return Err(bad(&format!("one of {}", names.join(", "))));
                }
                self.policy = value.into();
            }
            "admission" => {
                self.admission = one_of(value, &ADMISSIONS).ok_or_else(|| bad(&names(&ADMISSIONS)))?;
            }
            "acknowledge" => {
                self.acknowledge = one_of(value, &ACKNOWLEDGES).ok_or_else(|| bad(&names(&ACKNOWLEDGES)))?;
            }
            "sequential_bytes" => {
                self.sequential_bytes = bytes(value).ok_or_else(|| bad("a size such as 512KiB or 1MiB, or off"))?;
            }
            "allow_processes" => self.allow_processes = list(value).ok_or_else(|| bad(LIST))?,
            "deny_processes" => self.deny_processes = list(value).ok_or_else(|| bad(LIST))?,
            "dirty_high_pct" => self.dirty_high_pct = percent(value).ok_or_else(|| bad(PERCENT))?,
            "dirty_low_pct" => self.dirty_low_pct = percent(value).ok_or_else(|| bad(PERCENT))?,
            "flush_period_s" => self.flush_period_s = seconds(value).ok_or_else(|| bad(SECONDS))?,
            "fallow_delay_s" => self.fallow_delay_s = seconds(value).ok_or_else(|| bad(SECONDS))?,
            "idle_flush_s" => self.idle_flush_s = seconds(value).ok_or_else(|| bad(SECONDS))?,
            "commit_interval_s" => self.commit_interval_s = seconds(value).ok_or_else(|| bad(SECONDS))?,
            "outage_s" => self.outage_s = seconds(value).ok_or_else(|| bad(SECONDS))?,
            "fallow_speed" => self.fallow_speed = count(value, 1, 1024).ok_or_else(|| bad(DEPTH))?,
            "write_back_depth" => self.write_back_depth = count(value, 1, 1024).ok_or_else(|| bad(DEPTH))?,
            "write_back_depth_per_set" => {
                self.write_back_depth_per_set = count(value, 0, 1024).ok_or_else(|| bad("a number from 0 to 1024"))?;
            }
            "ordered" => self.ordered = switch(value).ok_or_else(|| bad("on or off"))?,
            "verify" => self.verify = switch(value).ok_or_else(|| bad("on or off"))?,
            _ => return Err(format!("there is no setting `{name}`; there are {}", NAMES.join(", "))),
        }
        Ok(())
    }

    /// Whether the settings go together.
    ///
    /// # Errors
    /// What does not, in words.
    pub fn check(&self) -> Result<(), String> {
        let inside = |name: &str, value: f64, most: f64| {
            let bad = || format!("{name} = {value}: it must be from 0 to {most}");
            if value.is_finite() && (0.0..=most).contains(&value) { Ok(()) } else { Err(bad()) }
        };
        inside("dirty_high_pct", self.dirty_high_pct, 100.0)?;
        inside("dirty_low_pct", self.dirty_low_pct, 100.0)?;
        inside("flush_period_s", self.flush_period_s, SECONDS_MAX)?;
        inside("fallow_delay_s", self.fallow_delay_s, SECONDS_MAX)?;
        inside("idle_flush_s", self.idle_flush_s, SECONDS_MAX)?;
        inside("commit_interval_s", self.commit_interval_s, SECONDS_MAX)?;
        inside("outage_s", self.outage_s, SECONDS_MAX)?;
        if self.dirty_low_pct > self.dirty_high_pct {
            return Err(format!(
                "dirty_low_pct = {} is above dirty_high_pct = {}: it must not be",
                self.dirty_low_pct, self.dirty_high_pct
            ));
        }
        if !policy::NAMES.iter().any(|(name, _)| *name == self.policy) {
            let names: Vec<_> = policy::NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!("policy = `{}`: it must be one of {}", self.policy, names.join(", ")));
        }
        Ok(())
    }

    /// A setting's value as text that `change` takes.
    pub fn value(&self, name: &str) -> Option<String> {
        let switch = |on: bool| if on { "on" } else { "off" }.to_string();
        let list = |list: &[u32]| {
            let list: Vec<_> = list.iter().map(u32::to_string).collect();
            if list.is_empty() { "none".into() } else { list.join(",") }
        };
        Some(match name {
            "mode" => MODES.iter().find(|(_, mode)| *mode == self.mode)?.0.into(),
            "policy" => self.policy.clone(),
            "admission" => ADMISSIONS.iter().find(|(_, one)| *one == self.admission)?.0.into(),
            "acknowledge" => ACKNOWLEDGES.iter().find(|(_, one)| *one == self.acknowledge)?.0.into(),
            "sequential_bytes" => self.sequential_bytes.to_string(),
            "allow_processes" => list(&self.allow_processes),
            "deny_processes" => list(&self.deny_processes),
            "dirty_high_pct" => self.dirty_high_pct.to_string(),
            "dirty_low_pct" => self.dirty_low_pct.to_string(),
            "flush_period_s" => self.flush_period_s.to_string(),
            "fallow_delay_s" => self.fallow_delay_s.to_string(),
            "fallow_speed" => self.fallow_speed.to_string(),
            "idle_flush_s" => self.idle_flush_s.to_string(),
            "write_back_depth" => self.write_back_depth.to_string(),
            "write_back_depth_per_set" => self.write_back_depth_per_set.to_string(),
            "ordered" => switch(self.ordered),
            "verify" => switch(self.verify),
            "commit_interval_s" => self.commit_interval_s.to_string(),
            "outage_s" => self.outage_s.to_string(),
            _ => return None,
        })
    }
}

/// The presets' names.
pub const PRESETS: [&str; 3] = ["default", "flashcache", "vcache"];

/// The settings' names, in the order in which they are told.
pub const NAMES: [&str; 19] = [
    "mode",
    "policy",
    "admission",
    "sequential_bytes",
    "allow_processes",
    "deny_processes",
    "acknowledge",
    "dirty_high_pct",
    "dirty_low_pct",
    "flush_period_s",
    "fallow_delay_s",
    "fallow_speed",
    "idle_flush_s",
    "write_back_depth",
    "write_back_depth_per_set",
    "ordered",
    "verify",
    "commit_interval_s",
    "outage_s",
];

const MODES: [(&str, Mode); 4] = [
    ("write-back", Mode::WriteBack),
    ("write-through", Mode::WriteThrough),
    ("write-around", Mode::WriteAround),
    ("write-only", Mode::WriteOnly),
];
const ADMISSIONS: [(&str, Admission); 2] = [("all", Admission::All), ("second-hit", Admission::SecondHit)];
const ACKNOWLEDGES: [(&str, Acknowledge); 2] =
    [("written", Acknowledge::Written), ("journaled", Acknowledge::Journaled)];
const LIST: &str = "process numbers such as 12,13, or none";
const PERCENT: &str = "a percentage from 0 to 100";
const SECONDS: &str = "seconds such as 0.5 or 30 (a year at most), or off";
const DEPTH: &str = "a number from 1 to 1024";
/// A year: nobody means more, and no clock overflows.
const SECONDS_MAX: f64 = 365.0 * 86400.0;

fn one_of<T: Copy>(value: &str, names: &[(&str, T)]) -> Option<T> {
    names.iter().find(|(name, _)| *name == value).map(|(_, one)| *one)
}

fn names<T>(names: &[(&str, T)]) -> String {
    let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    format!("one of {}", names.join(", "))
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn percent(value: &str) -> Option<f64> {
    let value = value.strip_suffix('%').unwrap_or(value).trim();
    value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))
}

fn seconds(value: &str) -> Option<f64> {
    if value == "off" {
        return Some(0.0);
    }
    let value = value.strip_suffix('s').unwrap_or(value).trim();
    value.parse().ok().filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))
}

fn count(value: &str, least: u32, most: u32) -> Option<u32> {
    value.parse().ok().filter(|count| (least..=most).contains(count))
}

fn list(value: &str) -> Option<Vec<u32>> {
    if matches!(value, "" | "none" | "off") {
        return Some(Vec::new());
    }
    let mut list = value.split(',').map(|one| one.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
    list.sort_unstable();
    list.dedup();
    Some(list)
}

/// A size: a number of bytes, or of KiB, MiB, GiB, TiB.
fn bytes(value: &str) -> Option<u64> {
    if value == "off" {
        return Some(0);
    }
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| value.strip_suffix(unit).map(|number| (number.trim(), *shift)))
        .unwrap_or((value, 0));
    let number: u64 = number.parse().ok()?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(settings: &mut Settings, name: &str, value: &str) -> Result<(), String> {
        settings.change(&Change { name: name.into(), value: value.into() })
    }

    #[test]
    fn every_setting_is_read_back_as_it_was_given() {
        for preset in PRESETS {
            let settings = Settings::preset(preset).unwrap();
            settings.check().unwrap();
            let mut other = Settings::default();
            for name in NAMES {
                change(&mut other, name, &settings.value(name).unwrap()).unwrap();
            }
            assert_eq!(other, settings);
        }
    }

    #[test]
    fn values_are_read_as_people_write_them() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("mode", "write-through"),
            ("sequential_bytes", "512KiB"),
            ("deny_processes", "13, 12"),
            ("dirty_high_pct", "80%"),
            ("flush_period_s", "30s"),
            ("verify", "off"),
            ("idle_flush_s", "off"),
        ] {
            change(&mut settings, name, value).unwrap();
        }
        assert_eq!(settings.mode, Mode::WriteThrough);
        assert_eq!(settings.sequential_bytes, 512 << 10);
        assert_eq!(settings.deny_processes, [12, 13]);
        assert_eq!((settings.dirty_high_pct, settings.flush_period_s), (80.0, 30.0));
        assert!(!settings.verify);
    }

    #[test]
    fn errors_name_the_setting_and_what_is_possible() {
        let mut settings = Settings::default();
        for (name, value, told) in [
            ("mode", "back", "write-through"),
            ("policy", "arc", "s3-fifo"),
            ("dirty_high_pct", "101", "from 0 to 100"),
            ("dirty_high_pct", "NaN", "from 0 to 100"),
            ("sequential_bytes", "99999999TiB", "512KiB"),
            ("allow_processes", "mysqld", "12,13"),
            ("ordered", "maybe", "on or off"),
            ("write_back_depth", "0", "from 1"),
            ("commit_interval_s", "-1", "seconds"),
        ] {
            let before = settings.clone();
            let error = change(&mut settings, name, value).unwrap_err();
            assert!(error.contains(name) && error.contains(value) && error.contains(told), "{error}");
            assert_eq!(settings, before);
        }
        assert!(change(&mut settings, "modes", "x").unwrap_err().contains("commit_interval_s"));
        settings.dirty_low_pct = 60.0;
        assert!(settings.check().unwrap_err().contains("dirty_high_pct"));
        assert!(Settings::preset("bcache").unwrap_err().contains("vcache"));
    }
}
