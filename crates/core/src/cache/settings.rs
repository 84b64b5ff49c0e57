//! What a user can set of a cache, and the presets of two products.
//!
//! A setting is a field of `Settings` with its default, and a row of `SETTINGS`: from these it is set and printed by name.
//! `settings/choices.rs` has those that are words, `settings/field.rs` what may be written.

mod choices;
mod field;

use super::policy;
use field::Field;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use choices::{Acknowledge, Admission, Mode};

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
        let Some((_, field)) = SETTINGS.iter().find(|(known, _)| known == name) else {
            return Err(format!("there is no setting `{name}`; there are {}", NAMES.join(", ")));
        };
        let value = value.trim();
        field(self).set(value).map_err(|possible| format!("{name} = `{value}`: it must be {possible}"))
    }

    /// Whether the settings go together.
    ///
    /// # Errors
    /// What does not, in words.
    pub fn check(&self) -> Result<(), String> {
        let mut copy = self.clone();
        for (name, field) in SETTINGS {
            field(&mut copy).check(name)?;
        }
        if self.dirty_low_pct > self.dirty_high_pct {
            return Err(format!(
                "dirty_low_pct = {} is above dirty_high_pct = {}: it must not be",
                self.dirty_low_pct, self.dirty_high_pct
            ));
        }
        if !policy::NAMES.iter().any(|(name, _)| *name == self.policy) {
            return Err(format!("policy = `{}`: it must be {}", self.policy, field::words(&policy::NAMES)));
        }
        Ok(())
    }

    /// A setting's value as text that `change` takes.
    pub fn value(&self, name: &str) -> Option<String> {
        let (_, field) = SETTINGS.iter().find(|(known, _)| *known == name)?;
        Some(field(&mut self.clone()).text())
    }
}

/// The presets' names.
pub const PRESETS: [&str; 3] = ["default", "flashcache", "vcache"];

/// Where a setting is.
type Find = for<'a> fn(&'a mut Settings) -> Field<'a>;

/// Every setting: its name, and its field by what it may be. They are listed in this order.
const SETTINGS: [(&str, Find); 19] = [
    ("mode", |settings| Field::Mode(&mut settings.mode)),
    ("policy", |settings| Field::Policy(&mut settings.policy)),
    ("admission", |settings| Field::Admission(&mut settings.admission)),
    ("sequential_bytes", |settings| Field::Bytes(&mut settings.sequential_bytes)),
    ("allow_processes", |settings| Field::Processes(&mut settings.allow_processes)),
    ("deny_processes", |settings| Field::Processes(&mut settings.deny_processes)),
    ("acknowledge", |settings| Field::Acknowledge(&mut settings.acknowledge)),
    ("dirty_high_pct", |settings| Field::Percent(&mut settings.dirty_high_pct)),
    ("dirty_low_pct", |settings| Field::Percent(&mut settings.dirty_low_pct)),
    ("flush_period_s", |settings| Field::Seconds(&mut settings.flush_period_s)),
    ("fallow_delay_s", |settings| Field::Seconds(&mut settings.fallow_delay_s)),
    ("fallow_speed", |settings| Field::Count(&mut settings.fallow_speed, 1)),
    ("idle_flush_s", |settings| Field::Seconds(&mut settings.idle_flush_s)),
    ("write_back_depth", |settings| Field::Count(&mut settings.write_back_depth, 1)),
    ("write_back_depth_per_set", |settings| Field::Count(&mut settings.write_back_depth_per_set, 0)),
    ("ordered", |settings| Field::Switch(&mut settings.ordered)),
    ("verify", |settings| Field::Switch(&mut settings.verify)),
    ("commit_interval_s", |settings| Field::Seconds(&mut settings.commit_interval_s)),
    ("outage_s", |settings| Field::Seconds(&mut settings.outage_s)),
];

/// The settings' names, in the order in which they are listed.
pub const NAMES: [&str; SETTINGS.len()] = {
    let mut names = [""; SETTINGS.len()];
    let mut row = 0;
    while row < names.len() {
        names[row] = SETTINGS[row].0;
        row += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    fn change(settings: &mut Settings, name: &str, value: &str) -> Result<(), String> {
        settings.change(&Change { name: name.into(), value: value.into() })
    }

    #[test]
    fn every_field_has_a_row_and_every_row_is_its_field() {
        let schema = schemars::schema_for!(Settings);
        let fields: Vec<_> = schema.get("properties").unwrap().as_object().unwrap().keys().collect();
        let mut names = NAMES.to_vec();
        names.sort_unstable();
        assert_eq!(names, fields, "a field of Settings without its row in SETTINGS");
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
