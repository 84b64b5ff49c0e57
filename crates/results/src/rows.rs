//! The rows of a result, as `python/flatwater/catalogue/rows.py` has them: the same columns in the same order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::column::{Row, Table};
use crate::documents::{CellSummary, LatencyUs, Manifest, Real, Summary, ThresholdResult, Word};
use crate::files::text;
use crate::general::general;

/// The tables of some results, named as in `python/flatwater/catalogue/tables.py`. Tags are declined.
#[derive(Default)]
pub struct Rows {
    /// A result.
    pub runs: Table,
    /// A cell.
    pub summary: Table,
    /// A recorded series of a cell.
    pub metrics: Table,
    /// What happened at one moment of a cell.
    pub events: Table,
    /// A limit beside a cell's figure.
    pub thresholds: Table,
    /// The machine of a result.
    pub machine: Table,
}

/// The texts of a result's files.
pub struct Source {
    manifest: String,
    summary: Option<String>,
    machine: Option<String>,
}

impl Source {
    /// Reads them; None if they are declined.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = |name: &str| text(&folder.join(name));
        // Tags are few, and what may be in them is decided elsewhere.
        if text("tags.json")?.is_some() {
            return None;
        }
        Some(Self {
            manifest: text("flatwater.json")??,
            summary: text("summary.json")?,
            machine: text("machine.json")?,
        })
    }

    /// How much text they have, bytes.
    pub fn bytes(&self) -> usize {
        self.manifest.len() + [&self.summary, &self.machine].into_iter().flatten().map(String::len).sum::<usize>()
    }
}

impl Rows {
    /// Adds the rows of a result; None, and no row, if it is declined.
    pub fn add(&mut self, run: i32, source: &Source, schema_version: i64) -> Option<()> {
        let manifest: Manifest<'_> = serde_json::from_str(&source.manifest).ok()?;
        let planned = planned(&manifest, schema_version)?;
        let summary: Option<Summary<'_>> = match &source.summary {
            Some(text) => Some(serde_json::from_str(text).ok()?),
            None => None,
        };
        let machine: Value = match &source.machine {
            Some(text) => serde_json::from_str(text).ok().filter(Value::is_object)?,
            None => Value::Null,
        };
        let made_s = time_s(&manifest.created_at.0)?;
        let mut cells = BTreeMap::new();
        for cell in summary.into_iter().flat_map(|summary| summary.cells) {
            let told = Told::of(&cell)?;
            if cells.insert(cell.cell, (cell, told)).is_some() {
                return None;
            }
        }
        cells.retain(|number, _| planned.binary_search(number).is_ok());
        // Nothing is declined from here on.
        self.runs
            .row(run)
            .text(Some(&manifest.name.0))
            .text(Some(&manifest.title.0))
            .text(Some(manifest.status.word()))
            .text(Some(&manifest.source.0))
            .whole(made_s)
            .whole(whole(manifest.seed))
            .text(Some(&manifest.flatwater_version.0))
            .whole(i64::try_from(planned.len()).ok())
            .whole(i64::try_from(cells.len()).ok())
            .text(Some(""));
        for (cell, told) in cells.values() {
            add_cell(self.summary.row(run), cell, told);
            self.add_rest(run, cell, told);
        }
        add_machine(self.machine.row(run), &machine);
        Some(())
    }

    /// What a cell has several of.
    fn add_rest(&mut self, run: i32, one: &CellSummary<'_>, told: &Told) {
        let number = Some(i64::from(one.cell));
        for (name, figures) in &one.metrics.0 {
            let (layer, metric) = name.split_once('.').unwrap_or((name, ""));
            let mut row = self.metrics.row(run);
            row.whole(number).text(Some(layer)).text(Some(metric)).real(real(&figures.mean)).real(real(&figures.max));
        }
        for (time_s, kind, length_s, about) in happened(one) {
            self.events.row(run).whole(number).real(Some(time_s)).text(Some(kind)).real(length_s).text(Some(&about));
        }
        for (limit, (wanted, value)) in one.thresholds.iter().zip(&told.limits) {
            let mut row = self.thresholds.row(run);
            row.whole(number).text(Some(&limit.name.0)).text(Some(wanted)).text(value.as_deref());
            row.yes(Some(limit.passed)).text(Some(&limit.text.0));
        }
    }
}

/// The figures of a cell.
fn add_cell(mut row: Row<'_>, one: &CellSummary<'_>, told: &Told) {
    let latency = |of: fn(&LatencyUs) -> &Option<Real>| one.latency_us.as_ref().and_then(|all| real(of(all)));
    let layer = |name: &str| one.layers.get(name).map(|Word(about)| &**about);
    let stall_s_max = one.stalls.iter().map(|stall| stall.length_s.0).reduce(f64::max);
    let failed = one.thresholds.iter().filter(|limit| !limit.passed).count();
    let server = one.servers.first().map(|server| format!("{} {}", server.flavour.0, server.version.0));
    row.whole(Some(one.cell.into()))
        .whole(whole(one.repeat))
        .text(Some(told.set.as_str()))
        .text(Some(one.status.word()))
        .text(one.verdict.map(|verdict| verdict.word()))
        .text(Some(&one.verdict_text.0))
        .text(Some(&one.unit.0))
        .real(real(&one.mean))
        .real(real(&one.mean_ci95))
        .real(real(&one.stddev))
        .real(real(&one.median))
        .real(real(&one.flatness))
        .yes(one.steady)
        .real(real(&one.steady_since_s))
        .whole(i64::try_from(one.dips.len()).ok())
        .whole(i64::try_from(one.stalls.len()).ok())
        .real(stall_s_max)
        .real(real(&one.dip_period_s))
        .whole(whole(one.samples))
        .real(Some(one.interval_s.0))
        .real(latency(|all| &all.p50))
        .real(latency(|all| &all.p95))
        .real(latency(|all| &all.p99))
        .real(latency(|all| &all.p999))
        .real(latency(|all| &all.max))
        .real(real(&one.client_cpu_us_per_op))
        .whole(whole(one.operations))
        .whole(whole(one.bytes))
        .whole(whole(one.errors))
        .text(one.bound.as_ref().map(|bound| &*bound.name.0))
        .real(one.bound.as_ref().and_then(|bound| real(&bound.share)))
        .whole(i64::try_from(failed).ok())
        .text(layer("workload"))
        .text(layer("database"))
        .text(layer("cache"))
        .text(layer("storage"))
        .text(server.as_deref())
        .whole(told.started_s)
        .text(one.error.as_ref().map(|Word(error)| &**error));
}

fn real(value: &Option<Real>) -> Option<f64> {
    value.map(|Real(value)| value)
}

/// The numbers of the planned cells, in order.
fn planned(manifest: &Manifest<'_>, schema_version: i64) -> Option<Vec<u32>> {
    let is_ours = matches!(&*manifest.kind.0, "" | "flatwater-result") && manifest.schema_version <= schema_version;
    let are_plain = manifest.cells.iter().all(|plan| plan.index < 1 << 31 && plan.set.get().starts_with('{'));
    let mut numbers: Vec<u32> = manifest.cells.iter().map(|plan| plan.index).collect();
    numbers.sort_unstable();
    let are_distinct = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    (is_ours && are_plain && are_distinct).then_some(numbers)
}

/// What a cell has that may be declined.
struct Told {
    /// Its swept values as they are stored: the other language writes them anew.
    set: String,
    started_s: Option<i64>,
    /// Of each limit: what is wanted, and the figure.
    limits: Vec<(String, Option<String>)>,
}

impl Told {
    fn of(cell: &CellSummary<'_>) -> Option<Self> {
        let set = cell.set.map_or("{}", |set| set.get());
        // It is read as it will be: so deep that a reader refuses it, it is declined.
        serde_json::from_str(set).ok().filter(Value::is_object)?;
        let limits = cell.thresholds.iter().map(limit).collect::<Option<_>>()?;
        Some(Self { set: set.to_string(), started_s: time_s(&cell.started_at.0)?, limits })
    }
}

fn limit(one: &ThresholdResult<'_>) -> Option<(String, Option<String>)> {
    let number = |text: &str| serde_json::from_str(text).ok().map(|Real(value)| general(value));
    let wanted = if one.limit.get().starts_with('[') {
        let words: Vec<Word<'_>> = serde_json::from_str(one.limit.get()).ok()?;
        words.iter().map(|Word(word)| &**word).collect::<Vec<_>>().join(", ")
    } else {
        number(one.limit.get())?
    };
    let value = match one.value.map(|value| value.get()) {
        None => None,
        Some(text) if text.starts_with('"') => Some(serde_json::from_str(text).ok()?),
        Some(text) => Some(number(text)?),
    };
    Some((wanted, value))
}

type Happened<'a> = (f64, &'a str, Option<f64>, Cow<'a, str>);

/// Events, dips and stalls by their times.
fn happened<'a>(one: &'a CellSummary<'_>) -> Vec<Happened<'a>> {
    let mut found: Vec<Happened<'a>> = Vec::with_capacity(one.events.len() + one.dips.len() + one.stalls.len());
    found.extend(one.events.iter().map(|at| (at.time_s.0, &*at.kind.0, None, (&*at.text.0).into())));
    found.extend(one.dips.iter().map(|dip| {
        let about = format!("{:.0}% under the usual level", dip.depth.0 * 100.0);
        (dip.start_s.0, "dip", Some(dip.length_s.0), about.into())
    }));
    let stalls = one.stalls.iter();
    found.extend(stalls.map(|stall| (stall.start_s.0, "stall", Some(stall.length_s.0), "no request finished".into())));
    found.sort_by(|one, other| one.0.partial_cmp(&other.0).expect("finite times"));
    found
}

/// The facts of a `machine.json`: one that is not what it should be is as unknown as an absent one.
fn add_machine(mut row: Row<'_>, machine: &Value) {
    let text = |of: &Value, name: &str| of[name].as_str().map(str::to_string);
    let amount = |of: &Value, name: &str| of[name].as_u64().and_then(|amount| i64::try_from(amount).ok());
    let storage = &machine["storage"];
    row.text(text(machine, "cpu").as_deref()).whole(amount(machine, "cores")).whole(amount(machine, "memory_bytes"));
    for name in ["architecture", "kernel", "system", "hardware"] {
        row.text(text(machine, name).as_deref());
    }
    row.yes(machine["hypervisor"].as_bool());
    for name in ["cpu_governor", "python"] {
        row.text(text(machine, name).as_deref());
    }
    for name in ["path", "file_system", "mount_options", "device"] {
        row.text(text(storage, name).as_deref());
    }
    row.whole(amount(storage, "device_bytes"));
    for name in ["model", "scheduler"] {
        row.text(text(storage, name).as_deref());
    }
}

/// A number that Python's integers have too, without their sign, in 63 bits.
fn whole(value: i64) -> Option<i64> {
    (value != i64::MIN).then_some(value)
}

/// Seconds since 1970 of a time as it is stored, `2026-11-28T10:30:00+00:00`; `Some(None)` for an empty text, None for
/// any other text.
fn time_s(text: &str) -> Option<Option<i64>> {
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.strip_suffix("+00:00")?.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, wanted): (&u8, &u8)| if *wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted };
    if digits.len() != shape.len() || !digits.iter().zip(shape).all(fits) {
        return None;
    }
    let number =
        |from: usize, to: usize| digits[from..to].iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year == 0 || !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(Some(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second))
}

/// Days of the Gregorian calendar. A year of this count begins in March, so that a leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    // 719,468 days from the 1st of March of the year 0 to 1970.
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00+00:00", Some(Some(0))),
            ("2026-11-28T10:30:00+00:00", Some(Some(1_795_861_800))),
            ("2000-02-29T23:59:59+00:00", Some(Some(951_868_799))),
            ("0001-01-01T00:00:00+00:00", Some(Some(-62_135_596_800))),
            ("", Some(None)),
            ("2100-02-29T00:00:00+00:00", None),
            ("2026-11-28T10:30:00Z", None),
            ("2026-11-28T24:00:00+00:00", None),
            ("2026-11-28 10:30:00+00:00", None),
        ] {
            assert_eq!(time_s(text), wanted, "{text}");
        }
    }
}
