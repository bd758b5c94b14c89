//! Interleaved blocks: each series is measured in several short ones, so that a drifting machine cannot favour any.

use ontick_record::run::{Block, Contamination, Series, Settings};

use crate::conditions::load_average;
use crate::load::Running;

/// For the reader, where the load beside some blocks ended before they did.
pub fn note_of_ended(beside: &Running) -> Option<String> {
    let status = beside.ended()?;
    Some(format!("the load ended before the measurement did ({status}): loaded blocks may be idle ones"))
}

/// Adds a block to its series.
pub fn absorb(series: &mut Series, block: Series, order: u32) {
    let lengths_ns = (series.maxima.length_ns(), block.maxima.length_ns());
    series.settings = match series.blocks.is_empty() {
        true => block.settings,
        false => joined(std::mem::take(&mut series.settings), block.settings, lengths_ns),
    };
    series.blocks.push(Block {
        order,
        samples: block.latency.count(),
        p50_ns: block.latency.quantile(0.5).unwrap_or(0),
        p99_ns: block.latency.quantile(0.99).unwrap_or(0),
        max_ns: block.latency.max_ns.unwrap_or(0),
        steal_ns: block.conditions.steal_ns,
        load_average: load_average().map_or(0.0, |[one, ..]| one),
    });
    series.latency.merge(&block.latency);
    series.uncertainty = match (series.uncertainty.take(), block.uncertainty) {
        (Some(before), Some(added)) => Some(before.joined(&added)),
        (before, added) => before.or(added),
    };
    series.state_uncertainty();
    series.pulse = match (series.pulse.take(), block.pulse) {
        (Some(mut before), Some(added)) => {
            before.width.merge(&added.width);
            Some(before)
        }
        (before, added) => before.or(added),
    };
    series.missed += block.missed;
    series.early += block.early;
    series.contamination = sum(series.contamination, block.contamination);
    ontick_record::run::append_peaks(&mut series.peaks, series.maxima.length_ns(), block.peaks);
    series.maxima.extend(block.maxima);
    // These are of all blocks so far.
    (series.causes, series.explained, series.tracing) = (block.causes, block.explained, block.tracing);
    series.outliers.extend(block.outliers);
    series.outlier_count += block.outlier_count;
    let conditions = &mut series.conditions;
    conditions.steal_ns += block.conditions.steal_ns;
    conditions.idle_ns += block.conditions.idle_ns;
    conditions.load_average = block.conditions.load_average;
    for (name, count) in block.conditions.interrupts {
        *conditions.interrupts.entry(name).or_insert(0) += count;
    }
    conditions.cpu_khz = match (conditions.cpu_khz, block.conditions.cpu_khz) {
        (Some((low, high)), Some((l, h))) => Some((low.min(l), high.max(h))),
        (seen, new) => seen.or(new),
    };
    for rival in block.conditions.rivals {
        match conditions.rivals.iter_mut().find(|known| (known.pid, known.tid) == (rival.pid, rival.tid)) {
            Some(known) => known.ran_ns += rival.ran_ns,
            None => conditions.rivals.push(rival),
        }
    }
}

/// The settings of blocks of these lengths together: what was wrong in one is, and what was held is if it was in both. What
/// changes meanwhile is as in the newer one.
fn joined(before: Settings, added: Settings, (before_ns, added_ns): (u64, u64)) -> Settings {
    let all_ns = (before_ns + added_ns).max(1) as f64;
    let spin_duty = match (before.spin_duty, added.spin_duty) {
        (Some(before), Some(added)) => Some((before * before_ns as f64 + added * added_ns as f64) / all_ns),
        (before, added) => added.or(before),
    };
    Settings {
        spin_duty,
        watched_ns: before.watched_ns.zip(added.watched_ns).map(|(before_ns, added_ns)| before_ns + added_ns),
        strayed_to: union(before.strayed_to, added.strayed_to),
        refused: union(before.refused, added.refused),
        memory_locked: before.memory_locked && added.memory_locked,
        wake_within_ns: before
            .wake_within_ns
            .zip(added.wake_within_ns)
            .map(|(before_ns, added_ns)| before_ns.max(added_ns)),
        kept_awake: before.kept_awake && added.kept_awake,
        load_ended: before.load_ended || added.load_ended,
        ..added
    }
}

/// Both, each once, in the order in which they came.
fn union<T: PartialEq>(mut before: Vec<T>, added: Vec<T>) -> Vec<T> {
    for one in added {
        if !before.contains(&one) {
            before.push(one);
        }
    }
    before
}

fn sum(a: Contamination, b: Contamination) -> Contamination {
    Contamination {
        minor_faults: a.minor_faults + b.minor_faults,
        major_faults: a.major_faults + b.major_faults,
        voluntary_switches: a.voluntary_switches + b.voluntary_switches,
        involuntary_switches: a.involuntary_switches + b.involuntary_switches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(seconds: u64, settings: Settings) -> Series {
        let mut block = Series { settings, ..Series::default() };
        block.maxima.step_ns = 1_000_000_000;
        block.maxima.max_ns = vec![1; seconds as usize];
        block
    }

    #[test]
    fn a_series_has_the_settings_of_all_its_blocks() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let first = Settings {
            memory_locked: true,
            kept_awake: true,
            wake_within_ns: Some(0),
            watched_ns: Some(5),
            policy: "fifo:99".into(),
            strayed_to: vec![3],
            spin_duty: Some(0.1),
            refused: words(&["a"]),
            load_ended: true,
            ..Settings::default()
        };
        let mut series = Series::default();
        absorb(&mut series, block(1, first.clone()), 0);
        assert_eq!(series.settings, first);
        let second = Settings {
            memory_locked: true,
            policy: "other".into(),
            margin_ns: Some(7),
            wake_within_ns: Some(50_000),
            watched_ns: Some(7),
            strayed_to: vec![3, 1],
            spin_duty: Some(0.5),
            refused: words(&["b", "a"]),
            ..Settings::default()
        };
        absorb(&mut series, block(3, second), 1);
        let settings = &series.settings;
        assert_eq!((&settings.strayed_to, &settings.refused), (&vec![3, 1], &words(&["a", "b"])));
        assert_eq!((settings.memory_locked, settings.kept_awake, settings.load_ended), (true, false, true));
        assert_eq!((settings.wake_within_ns, settings.watched_ns), (Some(50_000), Some(12)));
        assert!((settings.spin_duty.unwrap() - 0.4).abs() < 1e-9, "{settings:?}");
        assert_eq!((settings.policy.as_str(), settings.margin_ns), ("other", Some(7)), "as the newest has it");
    }
}
