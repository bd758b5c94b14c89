//! Interleaved blocks: each series is measured in several short ones, so that a drifting machine cannot favour any.

use ontick_record::run::{Block, Contamination, Series};

use crate::conditions::load_average;
use crate::load::Running;

/// For the reader, where the load beside some blocks ended before they did.
pub fn note_of_ended(beside: &Running) -> Option<String> {
    let status = beside.ended()?;
    Some(format!("the load ended before the measurement did ({status}): loaded blocks may be idle ones"))
}

/// Adds a block to its series.
pub fn absorb(series: &mut Series, block: Series, order: u32) {
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
    series.settings = block.settings;
}

fn sum(a: Contamination, b: Contamination) -> Contamination {
    Contamination {
        minor_faults: a.minor_faults + b.minor_faults,
        major_faults: a.major_faults + b.major_faults,
        voluntary_switches: a.voluntary_switches + b.voluntary_switches,
        involuntary_switches: a.involuntary_switches + b.involuntary_switches,
    }
}
