//! Bounds for what was not observed: what is exceeded less than once in so many cycles, from the largest samples of a run.
//!
//! Peaks over a threshold with a generalised Pareto tail. Where a test finds that the samples are not of one law, or there
//! are too few, there is no bound, and the reason says what is missing. `docs/metrics.md` has the formulas.

mod critical;
mod estimate;
mod goodness;
mod gpd;
mod mixture;
mod order;
mod p_values;
mod posterior;
#[doc(hidden)]
pub mod simulation;

pub use crate::bounds::{Bound, Level, Reason, Refusal, Tail};
use crate::run::{Peak, Run, Series};

/// What a bound is of where nothing else is asked for.
pub const ONCE_IN: u64 = 1_000_000_000;

/// Adds to each series what can be said of its tail.
pub fn estimate_all(run: &mut Run, once_in: u64) {
    for series in run.series.iter_mut().filter(|series| series.latency.count() > 0) {
        series.tail = Some(estimate(series, once_in));
    }
}

/// What is exceeded less than once in `once_in` cycles, if that can be said.
pub fn estimate(series: &Series, once_in: u64) -> Tail {
    match bound(series, once_in.max(1)) {
        Ok(bound) => Tail { once_in, bound: Some(bound), refusal: None },
        Err(refusal) => Tail { once_in, bound: None, refusal: Some(refusal) },
    }
}

fn bound(series: &Series, once_in: u64) -> Result<Bound, Refusal> {
    let refusal = |reason| Refusal { reason, ..Refusal::default() };
    let samples = series.latency.count();
    if series.peaks.is_empty() {
        return Err(refusal(Reason::NoPeaks));
    }
    if series.missed > 0 {
        return Err(Refusal { count: Some(series.missed), ..refusal(Reason::Missed) });
    }
    if estimate::is_seen(samples as f64, once_in as f64) {
        return Err(estimate::seen(samples as f64, once_in as f64));
    }
    // From the first sample to the end of the last one's period.
    let length_ns = series.maxima.length_ns().max(series.peaks.iter().map(|p| p.at_ns).max().unwrap_or(0)).max(1);
    let times = |more: f64| Some((length_ns as f64 * more).ceil() as u64);
    let needed = estimate::samples_needed(once_in as f64);
    if (samples as f64) < needed {
        return Err(Refusal { measure_ns: times(needed / samples as f64), ..refusal(Reason::TooShort) });
    }
    let per_ns = samples as f64 / length_ns as f64;
    let of = |peak: &Peak| (peak.at_ns as f64 * per_ns, peak.latency_ns as f64);
    let peaks: Vec<(f64, f64)> = complete(series).iter().map(of).collect();
    estimate::bound(&peaks, samples as f64, once_in as f64, estimate::LEVELS).map_err(|refusal| match refusal.count {
        // Until the rarer law has as many peaks as the upper half of a tail.
        Some(peaks) if refusal.reason == Reason::Mixture => {
            Refusal { measure_ns: times(estimate::peaks_of_a_law() / peaks as f64), ..refusal }
        }
        _ => refusal,
    })
}

/// The peaks above the lowest level above which none is missing, in the order of time. The histogram has all samples, so
/// that it tells.
fn complete(series: &Series) -> Vec<Peak> {
    let mut largest = series.peaks.clone();
    largest.sort_unstable_by_key(|peak| std::cmp::Reverse(peak.latency_ns));
    let (mut listed, mut counted, mut whole) = (0, 0u64, 0);
    for bucket in series.latency.buckets().iter().rev() {
        counted = counted.saturating_add(bucket.count);
        listed += largest[listed..].iter().take_while(|peak| peak.latency_ns >= bucket.low_ns).count();
        if listed as u64 != counted {
            break;
        }
        whole = listed;
    }
    largest.truncate(whole);
    largest.sort_unstable_by_key(|peak| peak.at_ns);
    largest
}

#[cfg(test)]
mod tests {
    use super::simulation::{DISTRIBUTIONS, MIXTURES, Random};
    use super::*;

    /// A run at 1 kHz of which the largest samples are these.
    fn series(peaks: &[(f64, f64)], samples: u64) -> Series {
        let mut series = Series { name: "a".into(), ..Series::default() };
        series.settings.interval_ns = 1_000_000;
        series.peaks = peaks.iter().map(|(at, ns)| ((at * 1e6) as u64, ns.round() as u64).into()).collect();
        series.peaks.iter().for_each(|peak| series.latency.add(peak.latency_ns, 1, 1));
        series.latency.add(100, 1, samples - peaks.len() as u64);
        series.maxima.step_ns = samples * 1_000_000;
        series.maxima.max_ns = vec![1];
        series
    }

    fn exponential(samples: u64) -> Series {
        series(&simulation::peaks(&mut Random(8), DISTRIBUTIONS[0].1, samples as f64, 1000), samples)
    }

    fn refusal(series: &Series) -> Refusal {
        estimate(series, ONCE_IN).refusal.unwrap()
    }

    #[test]
    fn a_sound_series_has_a_bound_and_its_levels() {
        let tail = estimate(&exponential(1_000_000), ONCE_IN);
        let bound = tail.bound.unwrap();
        assert_eq!((tail.once_in, bound.cycles, bound.peaks, bound.burst_cycles), (ONCE_IN, 1_000_000, 400, 0));
        assert!(bound.fitted_ns < bound.upper_ns && bound.upper_ns as f64 > 20.7e9, "{bound:?}");
        let levels = &bound.levels;
        assert_eq!((levels.len(), levels[24].once_in, levels[24].upper_ns), (25, ONCE_IN, bound.upper_ns));
        assert!(levels.windows(2).all(|w| w[0].once_in < w[1].once_in && w[0].upper_ns < w[1].upper_ns), "{levels:?}");
        assert!(levels.iter().all(|l| l.lower_ns < l.fitted_ns && l.fitted_ns < l.upper_ns), "{levels:?}");
        // What is exceeded once in a hundred thousand was seen ten times: it is ln 10^5.
        let known = estimate(&exponential(1_000_000), 100_000).bound.unwrap().levels[24];
        assert!(known.lower_ns < 11_513_000_000 && known.upper_ns > 11_513_000_000, "{known:?}");
    }

    /// The law is of what is above the threshold: below, the run itself tells.
    #[test]
    fn what_was_exceeded_in_the_run_itself_has_no_bound() {
        let samples = 100_000_000u64;
        let long = exponential(samples);
        let known = [1_000, 2_000, 100_000, 249_999, 300_000, 353_000, 499_999].map(|once_in| (once_in, false));
        let rare = [500_000, 500_001, 500_010, 510_000, 1_000_000, ONCE_IN, 1_000_000_000_000].map(|n| (n, true));
        for (once_in, bounded) in known.into_iter().chain(rare) {
            let tail = estimate(&long, once_in);
            match tail.bound {
                Some(bound) => {
                    assert!(bounded && bound.peaks == 400, "{once_in}: {bound:?}");
                    let levels = &bound.levels;
                    let ascend = |w: &[Level]| w[0].once_in < w[1].once_in && w[0].upper_ns < w[1].upper_ns;
                    assert!(levels.windows(2).all(ascend), "{once_in}: {levels:?}");
                    assert!(levels.iter().all(|level| level.fitted_ns >= bound.threshold_ns), "{once_in}: {levels:?}");
                    assert_eq!(bound.upper_ns, levels.last().unwrap().upper_ns);
                    assert!(bound.upper_ns as f64 > 1e9 * (once_in as f64).ln(), "{once_in}: {bound:?}");
                }
                None => {
                    let refusal = tail.refusal.unwrap();
                    assert_eq!((bounded, refusal.reason), (false, Reason::Seen), "{once_in}");
                    assert_eq!(refusal.count, Some((samples as f64 / once_in as f64).round() as u64));
                }
            }
        }
        // A threshold that was raised has fewer peaks above, and tells less.
        let mut bent = simulation::peaks(&mut Random(8), DISTRIBUTIONS[0].1, samples as f64, 1000);
        let mut sorted: Vec<f64> = bent.iter().map(|peak| peak.1).collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let bend = sorted[220];
        bent.iter_mut().for_each(|(_, ns)| *ns = if *ns < bend { bend - (bend - *ns) * 0.2 } else { *ns });
        let bent = series(&bent, samples);
        let raised = estimate(&bent, 1_000_000).bound.unwrap();
        assert!(raised.peaks == 200 && raised.levels.last().unwrap().fitted_ns >= raised.threshold_ns, "{raised:?}");
        assert_eq!(refusal_of(&bent, 999_999), Reason::Seen);
        // More samples would not help a short run.
        assert_eq!(refusal_of(&exponential(20_000), 1_500), Reason::Seen);
    }

    fn refusal_of(series: &Series, once_in: u64) -> Reason {
        estimate(series, once_in).refusal.unwrap().reason
    }

    #[test]
    fn a_short_run_is_refused_with_the_time_that_it_needs() {
        let mut short = exponential(20_000);
        assert_eq!(
            refusal(&short),
            Refusal { reason: Reason::TooShort, count: None, measure_ns: Some(100_000_000_000) }
        );
        short.missed = 3;
        assert_eq!(refusal(&short), Refusal { reason: Reason::Missed, count: Some(3), measure_ns: None });
        short.peaks.clear();
        assert_eq!(refusal(&short).reason, Reason::NoPeaks);
    }

    #[test]
    fn a_mixture_is_refused_with_the_time_until_its_rare_part_is_known() {
        let mixed = simulation::mixed(&mut Random(4), MIXTURES[0].1, 1e6, 1000);
        let refusal = refusal(&series(&mixed, 1_000_000));
        assert_eq!(refusal.reason, Reason::Mixture);
        let peaks = refusal.count.unwrap();
        assert!((2..=9).contains(&peaks), "{peaks}");
        assert_eq!(refusal.measure_ns, Some((1e12 * (200.0 / peaks as f64)).ceil() as u64));
    }

    #[test]
    fn peaks_that_were_lost_end_the_list_where_the_histogram_has_more() {
        let mut lossy = exponential(1_000_000);
        assert_eq!(complete(&lossy).len(), 1000);
        lossy.peaks.sort_by_key(|peak| peak.latency_ns);
        let lost = lossy.peaks.remove(700);
        lossy.peaks.sort_by_key(|peak| peak.at_ns);
        let left = complete(&lossy);
        assert!(left.len() == 299 && left.iter().all(|peak| peak.latency_ns > lost.latency_ns), "{}", left.len());
        assert_eq!(refusal(&lossy).reason, Reason::LostPeaks);
    }

    #[test]
    fn bursts_count_once_and_changes_are_refused() {
        let samples = 1_000_000;
        let first = simulation::peaks(&mut Random(8), DISTRIBUTIONS[0].1, samples as f64, 1000);
        let mut bursts = first.clone();
        bursts.extend(first.iter().map(|(at, ns)| (at + 2.0, ns * 0.98)));
        bursts.sort_by(|a, b| b.1.total_cmp(&a.1));
        bursts.truncate(1_000);
        bursts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let bound = estimate(&series(&bursts, samples), ONCE_IN).bound.unwrap();
        assert!((2..=5).contains(&bound.burst_cycles) && bound.peaks == 400, "{bound:?}");

        let early: Vec<(f64, f64)> = first.iter().map(|(at, ns)| (at * 0.5, *ns)).collect();
        assert_eq!(refusal(&series(&early, samples)).reason, Reason::Changing);
    }

    #[test]
    fn a_coarse_clock_is_refused() {
        let all = simulation::peaks(&mut Random(8), DISTRIBUTIONS[0].1, 1e6, 1000);
        let coarse: Vec<(f64, f64)> = all.iter().map(|(at, ns)| (*at, (ns / 1e8).round() * 1e8)).collect();
        assert_eq!(refusal(&series(&coarse, 1_000_000)).reason, Reason::Coarse);
    }
}
