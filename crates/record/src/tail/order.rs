//! Peaks in the order of time: whether they come one by one, and as many and as high at one time as at another.

use super::p_values::{binomial, chi_square, correlation, uniform};

/// A test finds something where there is nothing once in so many times.
const WRONG: f64 = 1.0 / 500.0;
/// The share of the mean distance between two peaks that is a short one.
const SHORT: f64 = 0.1;
/// In how many parts of the run the peaks are counted.
const PARTS: usize = 20;

/// A peak: when, in samples since the beginning, and how high.
pub(super) type Peak = (f64, f64);

/// Of each burst its largest peak: one begins where there was none in the `apart` samples before. Peaks are in the order of
/// time.
pub(super) fn bursts(peaks: &[Peak], apart: f64) -> Vec<Peak> {
    let largest = |burst: &[Peak]| burst.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
    peaks.chunk_by(|a, b| b.0 - a.0 <= apart).filter_map(largest).collect()
}

/// Whether they come one by one: not more of them shortly after another than chance has it, and none the higher because the
/// one before was. `apart` is the distance that none is below.
pub(super) fn are_independent(peaks: &[Peak], samples: f64, apart: f64) -> bool {
    let mean = (samples / peaks.len() as f64 - apart).max(1.0);
    let distances = peaks.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let short = distances.filter(|distance| *distance <= apart + SHORT * mean).count();
    let follow = |from: usize, to: usize| peaks[from..to].iter().map(|p| p.1).collect::<Vec<_>>();
    let last = peaks.len().saturating_sub(1);
    binomial(short, last, -(-SHORT).exp_m1()) >= WRONG
        && correlation(&follow(0, last), &follow(1.min(last), peaks.len())) >= WRONG
}

/// The times of peaks, as shares of the run.
fn when(peaks: &[Peak], samples: f64) -> Vec<f64> {
    peaks.iter().map(|p| (p.0 / samples).clamp(0.0, 1.0)).collect()
}

/// Whether they come as often at the beginning of the run as at its end.
pub(super) fn are_even(peaks: &[Peak], samples: f64) -> bool {
    uniform(&when(peaks, samples)) >= WRONG
}

/// Whether the run is of one piece: they come evenly in it, as often in each part, and as high.
pub(super) fn are_stationary(peaks: &[Peak], samples: f64) -> bool {
    let when = when(peaks, samples);
    let high: Vec<f64> = peaks.iter().map(|p| p.1).collect();
    let parts = PARTS.min(peaks.len() / 5).max(2);
    let mut counts = vec![0.0; parts];
    when.iter().for_each(|t| counts[((t * parts as f64) as usize).min(parts - 1)] += 1.0);
    let expected = peaks.len() as f64 / parts as f64;
    let spread: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
    are_even(peaks, samples) && chi_square(spread, parts as f64 - 1.0) >= WRONG && correlation(&when, &high) >= WRONG
}

#[cfg(test)]
mod tests {
    use super::super::simulation::Random;
    use super::*;

    fn peaks(count: usize, of: impl Fn(&mut Random, f64) -> Peak) -> Vec<Peak> {
        let mut random = Random(5);
        let mut peaks: Vec<Peak> = (0..count)
            .map(|_| {
                let at = random.uniform();
                of(&mut random, at)
            })
            .collect();
        peaks.sort_by(|a, b| a.0.total_cmp(&b.0));
        peaks
    }

    #[test]
    fn peaks_by_chance_pass() {
        let found = peaks(400, |random, at| (at * 1e6, random.exponential()));
        assert!(are_independent(&found, 1e6, 0.0) && are_stationary(&found, 1e6));
    }

    #[test]
    fn bursts_are_found_and_one_peak_of_each_is_left() {
        let mut found = peaks(200, |random, at| (at * 1e6, random.exponential()));
        let after: Vec<Peak> = found.iter().map(|p| (p.0 + 3.0, 0.8 * p.1)).collect();
        let first = found.clone();
        found.extend(after);
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(!are_independent(&found, 1e6, 0.0));
        let left = bursts(&found, 10.0);
        assert!((195..=200).contains(&left.len()), "{}", left.len());
        assert!(left.iter().all(|p| first.contains(p)) && are_independent(&left, 1e6, 10.0));
    }

    #[test]
    fn a_run_that_changes_is_not_of_one_piece() {
        let more_and_more = peaks(200, |random, at| (at.sqrt() * 1e6, random.exponential()));
        let higher_and_higher = peaks(200, |random, at| (at * 1e6, random.exponential() * (0.1 + at)));
        let many_in_two_places = peaks(300, |random, at| {
            let at = if random.uniform() < 0.3 { 0.05 * at + if at < 0.5 { 0.25 } else { 0.65 } } else { at };
            (at * 1e6, random.exponential())
        });
        for changing in [more_and_more, higher_and_higher, many_in_two_places] {
            assert!(!are_stationary(&changing, 1e6), "{:?}", &changing[..5]);
        }
    }

    #[test]
    fn a_peak_as_high_as_the_one_before_is_no_chance() {
        let mut found = peaks(300, |_, at| (at * 1e6, 0.0));
        let mut random = Random(9);
        let mut last = 0.0;
        for peak in &mut found {
            last = 0.7 * last + random.exponential();
            peak.1 = last;
        }
        assert!(!are_independent(&found, 1e6, 0.0));
    }
}
