//! Which outliers a fault made, as told by the fault alone: nothing here looks at what was traced.

use ontick_record::run::Series;

/// One making of a fault: from and to, on the monotonic clock, in ns.
pub type Making = (u64, u64);

/// Outliers that a fault made, by the cause that was named.
#[derive(Debug, Default)]
pub struct Made {
    /// Cause, detail, how many; most frequent first.
    pub causes: Vec<(String, String, u64)>,
    /// How many in all.
    pub all: u64,
    /// Outliers of which the fault made less than half, or of which that is not certain.
    pub others: u64,
}

/// Sorts out the outliers that the fault made.
///
/// An outlier is the fault's if makings fill half of it or more. What a making took beyond the median of all
/// makings was something else's that met it (the hypervisor, another interrupt), and all of that is taken to
/// lie within the outlier: it is only counted where the fault has its half all the same.
pub fn made(series: &Series, makings: &[Making]) -> Made {
    let mut made = Made::default();
    let usual_ns = median(makings.iter().map(|(from, to)| to - from).collect());
    for outlier in &series.outliers {
        let (from, to) = (outlier.at_ns - outlier.latency_ns, outlier.at_ns);
        let first = makings.partition_point(|making| making.1 <= from);
        let within = makings[first..].iter().take_while(|making| making.0 < to);
        let share = |making: &Making| {
            let excess_ns = (making.1 - making.0).saturating_sub(usual_ns);
            (making.1.min(to) - making.0.max(from)).saturating_sub(excess_ns)
        };
        if within.map(share).sum::<u64>() * 2 < outlier.latency_ns {
            made.others += 1;
            continue;
        }
        let (cause, detail) = match outlier.cause.and_then(|index| series.causes.get(index as usize)) {
            Some(cause) => (cause.cause.clone(), cause.detail.clone()),
            None => ("not explained".into(), String::new()),
        };
        made.all += 1;
        match made.causes.iter_mut().find(|(c, d, _)| *c == cause && *d == detail) {
            Some((_, _, count)) => *count += 1,
            None => made.causes.push((cause, detail, 1)),
        }
    }
    made.causes.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    made
}

fn median(mut lengths: Vec<u64>) -> u64 {
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}
