use super::*;
use crate::seed::stream;

const TEN: Range = Range { min: 1, max: 10, decimals: 0 };

/// `count` draws of a source that stands alone.
fn draws(source: &Source, count: usize) -> Vec<Drawn> {
    let sequences = Sequences::new([source].into_iter());
    let draw = Draw::new(&[source], 0).expect("a source");
    let mut rng = stream(1, "test", 0);
    (0..count).map(|_| draw.next(&mut rng, &sequences)).collect()
}

fn numbers(source: &Source, count: usize) -> Vec<i64> {
    let int = |drawn: Drawn| if let Drawn::Int(value) = drawn { value } else { panic!("{drawn:?} is no number") };
    draws(source, count).into_iter().map(int).collect()
}

/// How often each of 1..=10 was drawn.
fn counts(source: &Source) -> [f64; 10] {
    let mut found = [0.0; 10];
    for number in numbers(source, 100_000) {
        found[usize::try_from(number - 1).expect("within the range")] += 1.0;
    }
    found
}

#[test]
fn uniform_numbers_come_equally_often() {
    for count in counts(&Source::Uniform { range: TEN }) {
        assert!((count / 10_000.0 - 1.0).abs() < 0.05, "{count}");
    }
}

#[test]
fn ranks_of_zipf_fall_as_its_law_says() {
    let found = counts(&Source::Zipf { range: TEN, theta: 1.0, scrambled: false });
    for rank in [2.0, 5.0, 10.0] {
        let ratio = found[0] / found[rank as usize - 1];
        assert!((ratio / rank - 1.0).abs() < 0.1, "rank {rank}: {ratio}");
    }
    let mut scrambled = counts(&Source::Zipf { range: TEN, theta: 1.0, scrambled: true });
    assert!(scrambled != found);
    scrambled.sort_by(|a, b| b.total_cmp(a));
    assert!((scrambled[0] / scrambled[9] / 10.0 - 1.0).abs() < 0.1, "the same ranks, elsewhere");
}

#[test]
fn exponential_falls_by_its_rate_over_the_range() {
    let found = counts(&Source::Exponential { range: TEN, rate: 5.0 });
    // Neighbours are e^(5/10) apart.
    assert!((found[0] / found[1] / libm::exp(0.5) - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn normal_stays_in_its_range() {
    let source = Source::Normal { range: Range { min: 0, max: 1000, decimals: 0 }, mean: 500.0, stddev: 100.0 };
    let found = numbers(&source, 100_000);
    let within = found.iter().filter(|number| (400..=600).contains(*number)).count() as f64;
    assert!((within / 68_500.0 - 1.0).abs() < 0.02, "one deviation holds 68 %: {within}");
    let edge = Source::Normal { range: TEN, mean: 10.0, stddev: 9.0 };
    assert!(numbers(&edge, 10_000).iter().all(|number| (1..=10).contains(number)));
}

#[test]
fn sequences_are_shared_and_latest_looks_back() {
    let sequence = Source::Sequence { start: 101, step: 1, start_from: None };
    let latest = Source::Latest { sequence: 0, min: 1, theta: 1.0 };
    let sources = [&sequence, &latest];
    let sequences = Sequences::new(sources.into_iter());
    let (next, newest) = (Draw::new(&sources, 0).unwrap(), Draw::new(&sources, 1).unwrap());
    let (mut one, mut other) = (stream(1, "a", 0), stream(1, "a", 1));
    let mut found = [0_u32; 100];
    for _ in 0..100_000 {
        let Drawn::Int(value) = newest.next(&mut one, &sequences) else { panic!() };
        found[(value - 1) as usize] += 1;
    }
    assert!(found[99] > found[98] && found[98] > found[89] && found[89] > found[0], "{found:?}");
    assert_eq!(next.next(&mut one, &sequences), Drawn::Int(101));
    assert_eq!(next.next(&mut other, &sequences), Drawn::Int(102));
    sequences.begin(0, 7);
    assert_eq!(next.next(&mut one, &sequences), Drawn::Int(7));
    assert!(Draw::new(&[&latest], 0).is_err());
}

#[test]
fn choices_follow_their_weights() {
    let values = vec![Scalar::Int(1), Scalar::Int(2), Scalar::Int(3)];
    let found = counts(&Source::Choice { values: values.clone(), weights: vec![1.0, 0.0, 3.0] });
    assert!((found[2] / found[0] / 3.0 - 1.0).abs() < 0.05 && found[1] == 0.0, "{found:?}");
    for weights in [vec![], vec![0.0; 3], vec![f64::INFINITY; 3]] {
        let source = Source::Choice { values: values.clone(), weights };
        assert!(Draw::new(&[&source], 0).is_err());
    }
}

#[test]
fn decimals_are_exact() {
    let range = Range { min: -5, max: -5, decimals: 2 };
    assert_eq!(draws(&Source::Uniform { range }, 1), [Drawn::Text(b"-0.05".to_vec())]);
    assert_eq!(number(12_345, Range { decimals: 2, ..range }), Drawn::Text(b"123.45".to_vec()));
}

#[test]
fn strings_and_texts_have_their_lengths() {
    for drawn in draws(&Source::String { min_length: 3, max_length: 5, characters: "aö".into() }, 100) {
        let Drawn::Text(text) = drawn else { panic!() };
        let text = String::from_utf8(text).expect("whole characters");
        assert!((3..=5).contains(&text.chars().count()) && text.chars().all(|sign| "aö".contains(sign)));
    }
    for drawn in draws(&Source::Text { min_length: 0, max_length: 40 }, 200) {
        let Drawn::Text(text) = drawn else { panic!() };
        assert!(text.len() <= 40 && text.last() != Some(&b' '));
    }
}

#[test]
fn impossible_ranges_are_refused() {
    for (min, max) in [(2, 1), (i64::MIN, i64::MAX), (0, i64::MAX)] {
        let source = Source::Uniform { range: Range { min, max, decimals: 0 } };
        assert!(Draw::new(&[&source], 0).is_err(), "{min} to {max}");
    }
}
