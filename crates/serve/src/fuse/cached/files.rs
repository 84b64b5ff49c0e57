//! What is in the directory: the device, what the cache counts, and a file for each setting.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use flatwater_core::cache::settings::NAMES;
use flatwater_core::cache::{Settings, Statistics, Told};
use serde_json::{Map, Value, json};

use super::wire::Attributes;

/// The root.
pub const ROOT: u64 = 1;
/// The device.
pub const DEVICE: u64 = 2;
/// Counts as text, as FlashCache has them: `name=value`.
pub const STATS: u64 = 3;
/// The same as JSON.
pub const STATS_JSON: u64 = 4;
/// The folder of settings.
pub const SETTINGS: u64 = 5;
/// Why the last change of a setting was refused.
pub const ERROR: u64 = 6;
/// What happened by itself.
pub const EVENTS: u64 = 7;
/// Settings have numbers from here on.
const FIRST_SETTING: u64 = 1 << 16;
/// The setting that is not the engine's: where requests are recorded to.
pub const RECORD: &str = "record";
/// The name of the device's file.
pub const DEVICE_NAME: &str = "cached";

/// The directory of a cache. It does not change: all that one server says of it holds for the next.
#[derive(Debug)]
pub struct Files {
    device_bytes: u64,
    owner: (u32, u32),
    time: (u64, u32),
    /// By number; of a version with more settings, the numbers of the others stay as they are.
    settings: BTreeMap<u64, String>,
}

/// An entry of a folder: name and number.
pub type Entry<'a> = (&'a str, u64);

/// The number of a setting's file: of its name alone.
fn number_of(name: &str) -> u64 {
    FIRST_SETTING
        + name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
            % (1 << 32)
}

/// A setting as people write it: `on`, `12.5`, `write-back`, `12,13`.
fn text_of(value: &Value) -> String {
    match value {
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

impl Files {
    /// The directory of a device of this length, whose files belong to `owner`; `cached`: there are settings.
    pub fn new(device_bytes: u64, owner: (u32, u32), cached: bool) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let names = if cached { &NAMES[..] } else { &[] };
        let settings = names.iter().chain([&RECORD]).map(|name| (number_of(name), (*name).to_owned())).collect();
        Self { device_bytes, owner, time: (now.as_secs(), now.subsec_nanos()), settings }
    }

    /// Bytes of the device.
    pub const fn device_bytes(&self) -> u64 {
        self.device_bytes
    }

    /// The name of a setting's file.
    pub fn setting(&self, node: u64) -> Option<&str> {
        self.settings.get(&node).map(String::as_str)
    }

    /// What is in a folder, in the order of its listing.
    pub fn entries(&self, folder: u64) -> Option<Vec<Entry<'_>>> {
        match folder {
            ROOT => Some(vec![
                (DEVICE_NAME, DEVICE),
                ("events", EVENTS),
                ("settings", SETTINGS),
                ("stats", STATS),
                ("stats.json", STATS_JSON),
            ]),
            SETTINGS => {
                let mut entries: Vec<_> = self.settings.iter().map(|(node, name)| (name.as_str(), *node)).collect();
                entries.sort_unstable();
                entries.insert(0, (".error", ERROR));
                Some(entries)
            }
            _ => None,
        }
    }

    /// The file of a name in a folder.
    pub fn find(&self, folder: u64, name: &str) -> Option<u64> {
        self.entries(folder)?.into_iter().find(|(own, _)| *own == name).map(|(_, node)| node)
    }

    /// Type and permissions.
    pub fn mode(&self, node: u64) -> Option<u32> {
        match node {
            ROOT | SETTINGS => Some(libc::S_IFDIR | 0o755),
            DEVICE => Some(libc::S_IFREG | 0o660),
            STATS | STATS_JSON | ERROR | EVENTS => Some(libc::S_IFREG | 0o444),
            _ => self.settings.contains_key(&node).then_some(libc::S_IFREG | 0o644),
        }
    }

    /// All that is known of a file; `text_bytes` is the length of what it says now, if it is not the device.
    pub fn attributes(&self, node: u64, text_bytes: usize) -> Option<Attributes> {
        let mode = self.mode(node)?;
        let bytes = match node {
            DEVICE => self.device_bytes,
            ROOT | SETTINGS => 0,
            _ => text_bytes as u64,
        };
        let links = match node {
            ROOT => 3,
            SETTINGS => 2,
            _ => 1,
        };
        Some(Attributes { node, bytes, mode, links, owner: self.owner, time: self.time })
    }
}

/// What `stats.json` says: counts and settings of now.
pub fn stats_json(name: &str, bytes: u64, statistics: &Statistics, settings: Option<&Settings>) -> String {
    let stats = json!({"name": name, "size_bytes": bytes, "statistics": statistics, "settings": settings});
    format!("{stats:#}\n")
}

/// What `stats` says: a line a count, as FlashCache has them, with the shares that it has too.
pub fn stats_text(bytes: u64, statistics: &Statistics) -> String {
    let mut text = format!("size_bytes={bytes}\n");
    let counts = match serde_json::to_value(statistics) {
        Ok(Value::Object(counts)) => counts,
        _ => Map::new(),
    };
    for (name, value) in &counts {
        append_counts(&mut text, name, value);
    }
    let count = |name: &str| counts.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    for (name, of) in [("read_hits", "reads"), ("write_hits", "writes"), ("dirty_write_hits", "writes")] {
        let share = if count(of) > 0.0 { 100.0 * count(name) / count(of) } else { 0.0 };
        text += &format!("{}_percent={share:.0}\n", name.trim_end_matches('s'));
    }
    text
}

/// Counts within counts get both names; what is a list is for `stats.json` alone.
fn append_counts(text: &mut String, name: &str, value: &Value) {
    match value {
        Value::Array(_) | Value::Null => {}
        Value::Object(inner) => {
            inner.iter().for_each(|(own, value)| append_counts(text, &format!("{name}_{own}"), value))
        }
        _ => *text += &format!("{name}={}\n", text_of(value)),
    }
}

/// What `events` says: a line each, oldest first.
pub fn events_text<'a>(told: impl Iterator<Item = &'a Told>) -> String {
    told.map(|one| format!("{:.3} {}\n", one.at_ns as f64 / 1e9, one.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_file() {
        let files = Files::new(1 << 20, (0, 0), true);
        let entries = files.entries(SETTINGS).unwrap();
        assert_eq!(entries.len(), 2 + NAMES.len(), "no two have one number");
        for (name, node) in entries.into_iter().skip(1) {
            assert_eq!((files.setting(node), files.find(SETTINGS, name)), (Some(name), Some(node)));
        }
        assert_eq!(files.attributes(DEVICE, 0).unwrap().bytes, 1 << 20);
        assert_eq!((files.find(ROOT, "absent"), files.mode(99)), (None, None));
    }

    #[test]
    fn counts_are_lines() {
        let statistics = Statistics { reads: 8, read_hits: 4, ..Statistics::default() };
        let text = stats_text(4096, &statistics);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.contains(&"reads=8") && lines.contains(&"read_hit_percent=50"), "{text}");
        let told = [Told { at_ns: 1_500_000_000, text: "it rained".into() }];
        assert_eq!(events_text(told.iter()), "1.500 it rained\n");
        let json: Value = serde_json::from_str(&stats_json("c", 4096, &statistics, None)).unwrap();
        assert_eq!(json["statistics"]["reads"], 8);
    }
}
