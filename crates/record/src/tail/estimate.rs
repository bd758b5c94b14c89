//! From the peaks of a series to a bound: which are used, and what is tested before.

use super::goodness;
use super::gpd::{Excesses, Gpd};
use super::mixture;
use super::order::{Peak, are_even, are_independent, are_stationary, bursts};
use super::posterior::Posterior;
use crate::bounds::{Bound, Level, Reason, Refusal};

/// The tail is the largest thousandth of the samples at most, and not more peaks than this: further down it bends.
const SHARE: f64 = 1e-3;
pub(super) const MOST: usize = 400;
/// Where the lower peaks of the tail do not fit, the threshold is raised, until it has this share of them.
const LEAST_PART: f64 = 0.5;
/// Fewer peaks say nothing.
pub(super) const FEWEST: usize = 50;
/// A bound reaches so many times as far as the samples at most.
const REACH: f64 = 1e4;
/// Peaks for each of the tail's that bursts are made of.
const FOR_BURSTS: usize = 2;
/// A burst is not longer than this share of the mean distance of two peaks.
const LONGEST_BURST: f64 = 0.1;
/// How many levels a picture has.
pub(super) const LEVELS: usize = 25;
/// How sure the ends of the band are, each.
const SURE: f64 = 0.95;

/// Of how many samples one is to exceed the bound at least, where `peaks` of so many samples are above the threshold: from
/// where half of the peaks are above. The law is one of what is above the threshold, and says nothing below.
fn rarest_seen(samples: f64, peaks: usize) -> f64 {
    2.0 * samples / peaks as f64
}

/// Whether so many samples themselves tell what is exceeded once in `once_in`, whatever the threshold.
pub(super) fn is_seen(samples: f64, once_in: f64) -> bool {
    let peaks = tail_of(samples);
    peaks > 0 && once_in < rarest_seen(samples, peaks)
}

/// What is exceeded once in `once_in` was exceeded so many times in the run.
pub(super) fn seen(samples: f64, once_in: f64) -> Refusal {
    Refusal { reason: Reason::Seen, count: Some((samples / once_in).round() as u64), measure_ns: None }
}

/// How many samples it takes at least.
pub(super) fn samples_needed(once_in: f64) -> f64 {
    (FEWEST as f64 / SHARE).max(once_in / REACH)
}

/// How many peaks a law needs for a bound of its own, where others are below: the least share of the tail that is tried.
pub(super) fn peaks_of_a_law() -> f64 {
    LEAST_PART * MOST as f64
}

/// How many peaks the tail of so many samples has, if nothing is against it.
pub(super) fn tail_of(samples: f64) -> usize {
    ((samples * SHARE) as usize).min(MOST)
}

/// The bound, with so many levels. `peaks` are all samples above some level, in the order of time, and `samples` how many
/// there are in all.
pub(super) fn bound(peaks: &[Peak], samples: f64, once_in: f64, levels: usize) -> Result<Bound, Refusal> {
    let refuse = |reason| Err(Refusal { reason, ..Refusal::default() });
    let count = tail_of(samples);
    if peaks.len() <= count {
        return refuse(Reason::LostPeaks);
    }
    let (peaks, apart) = match apart(peaks, samples, count) {
        Ok(apart) => apart,
        Err(reason) => return refuse(reason),
    };
    if !are_stationary(&above(&peaks, count), samples) {
        return refuse(Reason::Changing);
    }
    let mut values: Vec<f64> = peaks.iter().map(|p| p.1).collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut first = None;
    // From the whole tail to its half: further up a threshold would only hide that it is of several laws.
    for share in [1.0, std::f64::consts::FRAC_1_SQRT_2, LEAST_PART] {
        let k = (count as f64 * share).round() as usize;
        if k < FEWEST {
            break;
        }
        let mut distinct = values[..=k].to_vec();
        distinct.dedup();
        if distinct.len() * 2 < k {
            return refuse(Reason::Coarse);
        }
        let threshold = values[k];
        let excesses: Vec<f64> = values[..k].iter().rev().map(|v| v - threshold).collect();
        let excesses = Excesses::new(&excesses);
        let (fit, _) = excesses.fit();
        let another = mixture::of_another_law(&excesses, &fit);
        if another.is_none() && goodness::fits(&excesses, &fit) {
            if fit.shape >= 1.0 {
                return refuse(Reason::NoMean);
            }
            if once_in < rarest_seen(samples, k) {
                return Err(seen(samples, once_in));
            }
            let levels = levels_of(&excesses, &fit, threshold, samples, once_in, levels);
            let last = levels.last().copied().unwrap_or_default();
            return Ok(Bound {
                upper_ns: last.upper_ns,
                fitted_ns: last.fitted_ns,
                cycles: samples as u64,
                threshold_ns: threshold as u64,
                peaks: k as u64,
                burst_cycles: apart as u64,
                shape: fit.shape,
                scale_ns: fit.scale,
                levels,
            });
        }
        first.get_or_insert(another);
    }
    match first.flatten() {
        Some(of_another) => Err(Refusal { reason: Reason::Mixture, count: Some(of_another as u64), measure_ns: None }),
        None => refuse(Reason::NoFit),
    }
}

/// What is exceeded once in more and more samples, from where half of the peaks are above up to `once_in`, which is the
/// last one and not below.
fn levels_of(excesses: &Excesses, fit: &Gpd, threshold: f64, samples: f64, once_in: f64, count: usize) -> Vec<Level> {
    let k = excesses.count();
    let posterior = Posterior::new(excesses, samples);
    let level = |times: f64| {
        let [lower, upper] = posterior.level(times, [1.0 - SURE, SURE]);
        let fitted = fit.excess((k / samples).ln() + times.ln());
        let [lower_ns, fitted_ns, upper_ns] = [lower, fitted, upper].map(|e| (threshold + e).round() as u64);
        Level { once_in: times.round() as u64, lower_ns, fitted_ns, upper_ns }
    };
    let (from, to) = (rarest_seen(samples, excesses.values().len()).ln(), once_in.ln());
    let step = (to - from).max(0.0) / (count.max(2) - 1) as f64;
    let mut levels: Vec<Level> =
        (1..count).map(|i| from + step * (i - 1) as f64).chain([to]).map(|log| level(log.exp())).collect();
    // Where both ends are close, several are of the same number.
    levels.dedup_by_key(|level| level.once_in);
    levels
}

/// The largest peaks, in the order of time.
fn above(peaks: &[Peak], count: usize) -> Vec<Peak> {
    let mut largest = peaks.to_vec();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.truncate(count);
    largest.sort_by(|a, b| a.0.total_cmp(&b.0));
    largest
}

/// Peaks that come one by one, and how many samples one burst reaches; a reason where that would be too long, or too few
/// would be left.
fn apart(peaks: &[Peak], samples: f64, count: usize) -> Result<(Vec<Peak>, f64), Reason> {
    if are_independent(&above(peaks, count), samples, 0.0) {
        return Ok((peaks.to_vec(), 0.0));
    }
    let base = above(peaks, count * FOR_BURSTS + 1);
    let longest = LONGEST_BURST * samples / base.len() as f64;
    let lengths = (0..).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power)));
    let found = lengths.take_while(|apart| *apart <= longest).find_map(|apart| {
        let left = bursts(&base, apart);
        let largest = above(&left, count);
        (left.len() > count && are_independent(&largest, samples, apart)).then_some((left, apart))
    });
    // Many peaks in one part of the run are close to each other, too, but no bursts.
    let why = if are_even(&bursts(&base, longest), samples) { Reason::Dependent } else { Reason::Changing };
    found.ok_or(why)
}
