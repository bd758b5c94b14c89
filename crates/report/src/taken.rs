//! What was taken from threads that spin: the share of the time for which they watched, and by what.

use ontick_record::{Run, Series};
use ontick_units::exact;

use crate::number::plain;
use crate::together::{is_together, members};

/// Sources that a sentence names; the others are summed up.
const NAMED: usize = 5;

/// `Taken from the thread: 0.012 % of 9s watched (timer tick 0.0064 %, gaps up to 10us 0.0056 %).`
///
/// Of several CPUs it is all their time, and then each. Nothing where the record does not say how long was watched.
pub(crate) fn sentence(run: &Run, series: &Series) -> Option<String> {
    let each: Vec<(u32, &Series)> = match is_together(series) {
        true => members(run, series).collect(),
        false => Vec::new(),
    };
    let all: Vec<&Series> = if each.is_empty() { vec![series] } else { each.iter().map(|(_, one)| *one).collect() };
    let (taken_ns, watched_ns) = (taken_ns(&all), watched_ns(&all)?);
    if taken_ns == 0.0 || watched_ns == 0 {
        return None;
    }
    let share = |ns: f64| percent(ns / watched_ns as f64);
    let sources: Vec<String> =
        sources(&all, taken_ns).into_iter().map(|(what, ns)| format!("{what} {} %", share(ns))).collect();
    let sources = if sources.is_empty() { String::new() } else { format!(" ({})", sources.join(", ")) };
    let who = if all.len() > 1 { "threads" } else { "thread" };
    let of_all = format!("Taken from the {who}: {} % of {} watched{sources}.", share(taken_ns), plain(watched_ns));
    let by_cpu: Vec<String> =
        each.iter().filter_map(|(cpu, one)| Some(format!("CPU {cpu} {} %", of_one(one)?))).collect();
    Some(if by_cpu.is_empty() { of_all } else { format!("{of_all} By CPU: {}.", by_cpu.join(", ")) })
}

/// How long was watched in all, where the record says so.
pub(crate) fn watched(run: &Run, series: &Series) -> Option<u64> {
    match is_together(series) {
        true => watched_ns(&members(run, series).map(|(_, one)| one).collect::<Vec<_>>()),
        false => series.settings.watched_ns,
    }
}

fn of_one(series: &Series) -> Option<String> {
    let watched_ns = series.settings.watched_ns.filter(|ns| *ns > 0)?;
    Some(percent(taken_ns(&[series]) / watched_ns as f64))
}

fn taken_ns(all: &[&Series]) -> f64 {
    all.iter().map(|one| one.latency.mean().unwrap_or(0.0) * one.latency.count() as f64).sum()
}

fn watched_ns(all: &[&Series]) -> Option<u64> {
    all.iter().map(|one| one.settings.watched_ns).try_fold(0u64, |sum, ns| Some(sum.saturating_add(ns?)))
}

/// What took how much, most first, as far as causes were looked for; the rest are gaps too short for that.
fn sources(all: &[&Series], taken_ns: f64) -> Vec<(String, f64)> {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    for cause in all.iter().flat_map(|one| &one.causes) {
        match sums.iter_mut().find(|(name, _)| *name == cause.cause) {
            Some((_, ns)) => *ns += cause.sum_ns as f64,
            None => sums.push((&cause.cause, cause.sum_ns as f64)),
        }
    }
    if sums.is_empty() {
        return Vec::new();
    }
    let explained_ns: f64 = sums.iter().map(|(_, ns)| ns).sum();
    sums.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let others_ns: f64 = sums.iter().skip(NAMED).map(|(_, ns)| ns).sum();
    let others = (others_ns > 0.0).then(|| ("others".into(), others_ns));
    let threshold_ns = all.first().map_or(0, |one| one.settings.outlier_threshold_ns);
    let short_ns = taken_ns - explained_ns;
    // The mean is rounded: what is left of that is no gap.
    let short = (short_ns > taken_ns * 1e-6).then(|| (format!("gaps up to {}", exact(threshold_ns)), short_ns));
    sums.into_iter().take(NAMED).map(|(name, ns)| (name.to_owned(), ns)).chain(others).chain(short).collect()
}

/// A share from 0 to 1 in percent, in two figures: `0.012`, `1.2`, `23.4`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(1.0, 9.0) } else { 0.0 };
    format!("{percent:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict;
    use ontick_record::Case;
    use ontick_record::run::Cause;

    /// Of 10 s.
    fn run(series: Vec<Series>) -> Run {
        Run { duration_ns: 10_000_000_000, series, ..Run::new("ontick", "noise") }
    }

    /// So many gaps of 2 us, and one of 40 us.
    fn series(cpu: Option<u32>, count: u64) -> Series {
        let mut series = Series::from(Case { cpu, ..Case::default() });
        series.settings.watched_ns = Some(9_000_000_000);
        series.settings.outlier_threshold_ns = 10_000;
        series.latency.add(2_000, 1, count);
        series.latency.add(40_000, 1, 1);
        series.latency.mean_ns = Some((2_000 * count + 40_000) as f64 / (count + 1) as f64);
        series
    }

    fn cause(name: &str, detail: &str, sum_ns: u64) -> Cause {
        Cause { cause: name.into(), detail: detail.into(), sum_ns, ..Cause::default() }
    }

    #[test]
    fn the_time_taken_is_a_share_of_the_time_watched() {
        let text = verdict(&run(vec![series(None, 520)]));
        assert!(text.ends_with(" Taken from the thread: 0.012 % of 9s watched."), "{text}");
        let unsaid = Series { settings: Default::default(), ..series(None, 520) };
        assert!(!verdict(&run(vec![unsaid])).contains("Taken"), "as in older records");
        let mut none = series(None, 0);
        none.latency = Default::default();
        assert!(verdict(&run(vec![none])).ends_with("no gap was found."));
    }

    #[test]
    fn sources_are_named_as_far_as_they_are_known() {
        let mut explained = series(None, 20);
        explained.latency.add(30_000, 1, 1);
        explained.latency.mean_ns = Some(110_000.0 / 22.0);
        explained.causes =
            vec![cause("softirq", "NET_RX", 10_000), cause("timer tick", "", 40_000), cause("softirq", "RCU", 20_000)];
        explained.settings.watched_ns = Some(100_000_000);
        assert_eq!(
            sentence(&run(vec![explained.clone()]), &explained).unwrap(),
            "Taken from the thread: 0.11 % of 100ms watched (timer tick 0.040 %, softirq 0.030 %, gaps up to 10us 0.040 %)."
        );
        explained.causes = (0..8).map(|n| cause(&n.to_string(), "", 11_000)).collect();
        let text = sentence(&run(vec![explained.clone()]), &explained).unwrap();
        assert!(text.ends_with("4 0.011 %, others 0.033 %, gaps up to 10us 0.022 %)."), "{text}");
    }

    #[test]
    fn of_several_cpus_all_and_each_are_said() {
        let text = verdict(&run(vec![series(Some(1), 440), series(Some(2), 4_500)]));
        assert!(
            text.ends_with("Taken from the threads: 0.055 % of 18s watched. By CPU: CPU 1 0.010 %, CPU 2 0.10 %."),
            "{text}"
        );
    }

    #[test]
    fn a_share_has_two_figures() {
        let all = [0.0, 0.000_000_012, 0.000_12, 0.012_3, 0.234, 1.0].map(percent);
        assert_eq!(all, ["0", "0.0000012", "0.012", "1.2", "23.4", "100.0"]);
    }
}
