//! Drawing the values of parameters.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use rand::Rng as _;
use rand_distr::{Distribution as _, StandardNormal, Zipf};

use super::source::{Range, Scalar, Source};
use crate::seed::Rng;
use crate::workload::address::coprime_near_golden;

/// Draws from a bell curve that fall outside of the range are made anew, at most so often.
const NORMAL_ATTEMPTS: u32 = 1000;
/// Letters of a word, from and to.
const WORD_LETTERS: std::ops::RangeInclusive<usize> = 2..=10;

/// A value of a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Drawn {
    /// NULL.
    #[default]
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Text, decimals and dates included.
    Text(Vec<u8>),
    /// The client's date and time, which whoever sends it looks up.
    Now,
}

/// The numbers that were not given away yet: one a sequence, in the order of the parameters (0 for the others). All
/// sessions share them.
#[derive(Debug, Default)]
pub struct Sequences(Vec<AtomicI64>);

impl Sequences {
    /// The first numbers of these sources.
    pub fn new<'a>(sources: impl Iterator<Item = &'a Source>) -> Self {
        let first = |source: &Source| match source {
            Source::Sequence { start, .. } => AtomicI64::new(*start),
            _ => AtomicI64::new(0),
        };
        Self(sources.map(first).collect())
    }

    /// Begins a sequence elsewhere.
    pub fn begin(&self, place: usize, start: i64) {
        self.0[place].store(start, Relaxed);
    }
}

/// Draws the values of one parameter.
#[derive(Clone, Debug)]
pub struct Draw(How);

#[derive(Clone, Debug)]
enum How {
    Uniform(Range),
    Zipf {
        range: Range,
        zipf: Zipf<f64>,
        scatter: Option<u64>,
    },
    Exponential {
        range: Range,
        rate: f64,
    },
    Normal {
        range: Range,
        mean: f64,
        stddev: f64,
    },
    Latest {
        sequence: usize,
        step: i64,
        min: i64,
        theta: f64,
    },
    Sequence {
        place: usize,
        step: i64,
    },
    Constant(Drawn),
    Choice {
        values: Vec<Drawn>,
        cumulative: Vec<f64>,
    },
    String {
        lengths: (u32, u32),
        characters: Vec<char>,
    },
    Text {
        lengths: (u32, u32),
    },
    Now,
    /// It is found, and not drawn.
    Column,
}

impl From<&Scalar> for Drawn {
    fn from(value: &Scalar) -> Self {
        match value {
            Scalar::Int(value) => Self::Int(*value),
            Scalar::Double(value) => Self::Double(*value),
            Scalar::Text(value) => Self::Text(value.clone().into_bytes()),
        }
    }
}

impl Draw {
    /// The draws of the parameter at a place of the list.
    ///
    /// # Errors
    /// A source outside of its limits, in words.
    pub fn new(sources: &[&Source], place: usize) -> Result<Self, String> {
        Ok(Self(match sources[place] {
            Source::Uniform { range } => How::Uniform(checked(*range)?),
            Source::Zipf { range, theta, scrambled } => {
                let numbers = size(checked(*range)?);
                let scatter = scrambled.then(|| coprime_near_golden(numbers));
                How::Zipf { range: *range, zipf: ranks(numbers, *theta)?, scatter }
            }
            Source::Exponential { range, rate } => How::Exponential { range: checked(*range)?, rate: *rate },
            Source::Normal { range, mean, stddev } => {
                How::Normal { range: checked(*range)?, mean: *mean, stddev: *stddev }
            }
            Source::Latest { sequence, min, theta } => {
                let sequence = *sequence as usize;
                let Some(Source::Sequence { step, .. }) = sources.get(sequence) else {
                    return Err("latest needs a sequence".into());
                };
                ranks(1, *theta)?;
                How::Latest { sequence, step: *step, min: *min, theta: *theta }
            }
            Source::Sequence { step, .. } => How::Sequence { place, step: *step },
            Source::Constant { value } => How::Constant(value.into()),
            Source::Choice { values, weights } => {
                let mut sum = 0.0;
                let cumulative: Vec<f64> = weights
                    .iter()
                    .map(|weight| {
                        sum += weight;
                        sum
                    })
                    .collect();
                if values.is_empty() || cumulative.len() != values.len() || sum <= 0.0 || !sum.is_finite() {
                    return Err("a choice needs values, and a weight for each".into());
                }
                How::Choice { values: values.iter().map(Into::into).collect(), cumulative }
            }
            Source::String { min_length, max_length, characters } => {
                let characters: Vec<char> = characters.chars().collect();
                if characters.is_empty() || min_length > max_length {
                    return Err("a string needs characters and lengths in order".into());
                }
                How::String { lengths: (*min_length, *max_length), characters }
            }
            Source::Text { min_length, max_length } if min_length <= max_length => {
                How::Text { lengths: (*min_length, *max_length) }
            }
            Source::Text { .. } => return Err("a text needs lengths in order".into()),
            Source::Now {} => How::Now,
            Source::Column { .. } => How::Column,
        }))
    }

    /// The next value.
    pub fn next(&self, rng: &mut Rng, sequences: &Sequences) -> Drawn {
        match &self.0 {
            How::Uniform(range) => number(range.min.wrapping_add(below(rng, size(*range)) as i64), *range),
            How::Zipf { range, zipf, scatter } => {
                let numbers = size(*range);
                let rank = (zipf.sample(rng) as u64).saturating_sub(1).min(numbers - 1);
                let place = match scatter {
                    Some(scatter) => (u128::from(rank) * u128::from(*scatter) % u128::from(numbers)) as u64,
                    None => rank,
                };
                number(range.min.wrapping_add(place as i64), *range)
            }
            How::Exponential { range, rate } => {
                // pgbench's getExponentialRand: the inverse of the distribution's function, cut at the range's end.
                let cut = libm::exp(-rate);
                let uniform = 1.0 - rng.random::<f64>();
                let share = -libm::log(cut + (1.0 - cut) * uniform) / rate;
                let numbers = size(*range);
                let place = ((share * numbers as f64) as u64).min(numbers - 1);
                number(range.min.wrapping_add(place as i64), *range)
            }
            How::Normal { range, mean, stddev } => {
                for _ in 0..NORMAL_ATTEMPTS {
                    let deviation: f64 = StandardNormal.sample(rng);
                    let drawn = libm::round(mean + stddev * deviation);
                    if drawn >= range.min as f64 && drawn <= range.max as f64 {
                        return number(drawn as i64, *range);
                    }
                }
                number((*mean as i64).clamp(range.min, range.max), *range)
            }
            How::Latest { sequence, step, min, theta } => {
                let newest = sequences.0[*sequence].load(Relaxed).saturating_sub(*step);
                let numbers = newest.saturating_sub(*min).checked_div(*step).unwrap_or(0).saturating_add(1).max(1);
                let rank = Zipf::new(numbers as f64, *theta).map_or(1, |zipf| zipf.sample(rng) as i64);
                let behind = (rank - 1).clamp(0, numbers - 1).saturating_mul(*step);
                Drawn::Int(newest.saturating_sub(behind).max(*min))
            }
            How::Sequence { place, step } => Drawn::Int(sequences.0[*place].fetch_add(*step, Relaxed)),
            How::Constant(value) => value.clone(),
            How::Choice { values, cumulative } => values[weighted(rng, cumulative)].clone(),
            How::String { lengths, characters } => {
                let length = length(rng, *lengths);
                let text: String = (0..length).map(|_| characters[rng.random_range(0..characters.len())]).collect();
                Drawn::Text(text.into_bytes())
            }
            How::Text { lengths } => {
                let length = length(rng, *lengths);
                Drawn::Text(words(rng, length))
            }
            How::Now => Drawn::Now,
            How::Column => Drawn::Null,
        }
    }
}

/// The place of a draw by cumulative weights.
pub fn weighted(rng: &mut Rng, cumulative: &[f64]) -> usize {
    let Some(total) = cumulative.last() else { return 0 };
    let drawn = rng.random::<f64>() * total;
    cumulative.partition_point(|sum| *sum <= drawn).min(cumulative.len() - 1)
}

fn length(rng: &mut Rng, lengths: (u32, u32)) -> usize {
    rng.random_range(lengths.0..=lengths.1) as usize
}

fn words(rng: &mut Rng, length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + *WORD_LETTERS.end() + 1);
    while text.len() < length {
        for _ in 0..rng.random_range(WORD_LETTERS) {
            text.push(rng.random_range(b'a'..=b'z'));
        }
        text.push(b' ');
    }
    text.truncate(length);
    // Servers cut spaces at the end of a CHAR.
    if let Some(last) = text.last_mut()
        && *last == b' '
    {
        *last = b'.';
    }
    text
}

fn checked(range: Range) -> Result<Range, String> {
    if range.min > range.max || range.max.checked_sub(range.min).is_none_or(|size| size == i64::MAX) {
        return Err(format!("{} to {} is no range", range.min, range.max));
    }
    Ok(range)
}

/// How many numbers a range has.
fn size(range: Range) -> u64 {
    range.max.abs_diff(range.min) + 1
}

fn below(rng: &mut Rng, numbers: u64) -> u64 {
    rng.random_range(0..numbers)
}

fn ranks(numbers: u64, theta: f64) -> Result<Zipf<f64>, String> {
    Zipf::new(numbers as f64, theta).map_err(|error| format!("theta: {error}"))
}

/// A number of a range: whole, or as decimal text, which is exact.
fn number(units: i64, range: Range) -> Drawn {
    if range.decimals == 0 {
        return Drawn::Int(units);
    }
    let places = range.decimals as usize;
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = places + 1);
    let (whole, rest) = digits.split_at(digits.len() - places);
    let sign = if units < 0 { "-" } else { "" };
    Drawn::Text(format!("{sign}{whole}.{rest}").into_bytes())
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
