//! The parts of a result's files that its rows come from. What no row comes from is not looked at.
//!
//! The names and types are those of `python/flatwater/results/schema.py`; what it would convert is declined here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A text; borrowed where it has no escapes.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub struct Word<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// A finite number, the nearest to what is written: serde_json's own may be the next one.
#[derive(Clone, Copy)]
pub struct Real(pub f64);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        let is_number = written.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let value = written.parse().ok().filter(|value: &f64| is_number && value.is_finite());
        value.map(Self).ok_or_else(|| D::Error::custom("no finite number"))
    }
}

/// A field that must be there, though it may be null.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// The fields of an object in their order, each name once.
pub struct Fields<'a, T>(pub Vec<(Cow<'a, str>, T)>);

impl<T> Default for Fields<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Fields<'_, T> {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Fields<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<'a, T>(PhantomData<(&'a (), T)>);
        impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for Each<'a, T> {
            type Value = Fields<'a, T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some((Word(name), value)) = map.next_entry()? {
                    found.push((name, value));
                }
                let names: HashSet<&str> = found.iter().map(|(name, _): &(Cow<'_, str>, T)| &**name).collect();
                if names.len() < found.len() {
                    return Err(A::Error::custom("a name twice"));
                }
                Ok(Fields(found))
            }
        }
        deserializer.deserialize_map(Each(PhantomData))
    }
}

/// `flatwater.json`.
#[derive(Deserialize)]
pub(crate) struct Manifest<'a> {
    #[serde(default)]
    pub(crate) schema_version: i64,
    #[serde(borrow, default)]
    pub(crate) kind: Word<'a>,
    #[serde(borrow)]
    pub(crate) name: Word<'a>,
    #[serde(borrow, default)]
    pub(crate) title: Word<'a>,
    #[serde(borrow)]
    pub(crate) flatwater_version: Word<'a>,
    pub(crate) status: Status,
    #[serde(borrow)]
    pub(crate) created_at: Word<'a>,
    pub(crate) seed: i64,
    #[serde(borrow, default = "a_run")]
    pub(crate) source: Word<'a>,
    #[serde(borrow)]
    pub(crate) cells: Vec<CellPlan<'a>>,
}

fn a_run() -> Word<'static> {
    Word(Cow::Borrowed("run"))
}

/// How a run or a cell ended. A run that is under way is declined.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Complete,
    Interrupted,
    Failed,
}

impl Status {
    /// As it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// A planned cell.
#[derive(Deserialize)]
pub(crate) struct CellPlan<'a> {
    pub(crate) index: u32,
    #[serde(borrow)]
    pub(crate) set: &'a RawValue,
}

/// `summary.json`: the cells; other fields are not looked at.
#[derive(Deserialize)]
pub(crate) struct Summary<'a> {
    #[serde(borrow)]
    pub(crate) cells: Vec<CellSummary<'a>>,
}

/// A cell. What no row comes from is not looked at.
#[derive(Deserialize)]
pub(crate) struct CellSummary<'a> {
    pub(crate) cell: u32,
    #[serde(default)]
    pub(crate) repeat: i64,
    #[serde(borrow, default)]
    pub(crate) set: Option<&'a RawValue>,
    pub(crate) status: Status,
    #[serde(borrow, default)]
    pub(crate) error: Option<Word<'a>>,
    #[serde(borrow, default)]
    pub(crate) layers: Fields<'a, Word<'a>>,
    #[serde(borrow)]
    pub(crate) unit: Word<'a>,
    pub(crate) mean: Option<Real>,
    pub(crate) mean_ci95: Option<Real>,
    pub(crate) stddev: Option<Real>,
    pub(crate) median: Option<Real>,
    pub(crate) flatness: Option<Real>,
    pub(crate) verdict: Option<Verdict>,
    #[serde(borrow, default)]
    pub(crate) verdict_text: Word<'a>,
    pub(crate) steady: Option<bool>,
    pub(crate) steady_since_s: Option<Real>,
    #[serde(default)]
    pub(crate) dips: Vec<Dip>,
    pub(crate) dip_period_s: Option<Real>,
    #[serde(default)]
    pub(crate) stalls: Vec<Stall>,
    #[serde(borrow)]
    pub(crate) bound: Option<Bound<'a>>,
    #[serde(default)]
    pub(crate) samples: i64,
    #[serde(default = "a_second")]
    pub(crate) interval_s: Real,
    pub(crate) latency_us: Option<LatencyUs>,
    pub(crate) client_cpu_us_per_op: Option<Real>,
    #[serde(default)]
    pub(crate) operations: i64,
    #[serde(default)]
    pub(crate) bytes: i64,
    #[serde(default)]
    pub(crate) errors: i64,
    #[serde(borrow, default)]
    pub(crate) servers: Vec<ServerFacts<'a>>,
    #[serde(borrow, default)]
    pub(crate) thresholds: Vec<ThresholdResult<'a>>,
    #[serde(borrow, default)]
    pub(crate) events: Vec<Event<'a>>,
    #[serde(borrow, default)]
    pub(crate) started_at: Word<'a>,
    #[serde(borrow, default)]
    pub(crate) metrics: Fields<'a, MetricSummary>,
}

fn a_second() -> Real {
    Real(1.0)
}

/// The judgement of a cell.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Flat,
    Dips,
    Stalls,
    Drifting,
    #[serde(rename = "not steady")]
    NotSteady,
}

impl Verdict {
    /// As it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Dips => "dips",
            Self::Stalls => "stalls",
            Self::Drifting => "drifting",
            Self::NotSteady => "not steady",
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Dip {
    pub(crate) start_s: Real,
    pub(crate) length_s: Real,
    pub(crate) depth: Real,
}

#[derive(Deserialize)]
pub(crate) struct Stall {
    pub(crate) start_s: Real,
    pub(crate) length_s: Real,
}

#[derive(Deserialize)]
pub(crate) struct Bound<'a> {
    #[serde(borrow)]
    pub(crate) name: Word<'a>,
    pub(crate) share: Option<Real>,
}

#[derive(Deserialize, Default)]
pub(crate) struct LatencyUs {
    pub(crate) p50: Option<Real>,
    pub(crate) p95: Option<Real>,
    pub(crate) p99: Option<Real>,
    pub(crate) p999: Option<Real>,
    pub(crate) max: Option<Real>,
}

#[derive(Deserialize)]
pub(crate) struct ServerFacts<'a> {
    #[serde(borrow)]
    pub(crate) flavour: Word<'a>,
    #[serde(borrow)]
    pub(crate) version: Word<'a>,
}

#[derive(Deserialize)]
pub(crate) struct ThresholdResult<'a> {
    #[serde(borrow)]
    pub(crate) name: Word<'a>,
    /// A number, or a list of words.
    #[serde(borrow)]
    pub(crate) limit: &'a RawValue,
    /// A number or a word.
    #[serde(borrow)]
    pub(crate) value: Option<&'a RawValue>,
    pub(crate) passed: bool,
    #[serde(borrow)]
    pub(crate) text: Word<'a>,
}

#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    pub(crate) time_s: Real,
    #[serde(borrow)]
    pub(crate) kind: Word<'a>,
    #[serde(borrow)]
    pub(crate) text: Word<'a>,
}

#[derive(Deserialize)]
pub(crate) struct MetricSummary {
    #[serde(deserialize_with = "given")]
    pub(crate) mean: Option<Real>,
    #[serde(deserialize_with = "given")]
    pub(crate) max: Option<Real>,
}
