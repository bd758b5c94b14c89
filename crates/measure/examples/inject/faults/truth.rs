//! Which outliers a fault made, as the fault alone knows it: nothing here looks at what was traced.

use ontick_record::run::Series;

/// One making of a fault, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// Its beginning, in ns.
    pub from_ns: u64,
    /// Its end, in ns.
    pub to_ns: u64,
    /// So much of it was the fault at work for certain, in ns.
    pub sure_ns: u64,
}

impl Making {
    /// One in which the fault was at work all the time.
    pub fn sure(from_ns: u64, to_ns: u64) -> Self {
        Self { from_ns, to_ns, sure_ns: to_ns - from_ns }
    }

    /// One that takes as long as the fault does, and longer where something else meets it.
    pub fn timed(from_ns: u64, to_ns: u64) -> Self {
        Self { from_ns, to_ns, sure_ns: u64::MAX }
    }
}

/// What timed makings took beyond the median of all was something else's: the hypervisor's, another interrupt's.
pub fn judged(mut makings: Vec<Making>) -> Vec<Making> {
    let mut lengths: Vec<u64> = makings.iter().map(|making| making.to_ns - making.from_ns).collect();
    lengths.sort_unstable();
    let usual_ns = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    makings
        .iter_mut()
        .for_each(|making| making.sure_ns = making.sure_ns.min(usual_ns).min(making.to_ns - making.from_ns));
    makings
}

/// Outliers that a fault made, by the cause that was named.
#[derive(Debug, Default)]
pub struct Attributed {
    /// Cause, detail, how many; most frequent first.
    pub causes: Vec<(String, String, u64)>,
    /// How many in all.
    pub all: u64,
    /// Outliers of which the fault made less than half, or of which that is not certain.
    pub others: u64,
}

impl Attributed {
    fn count(&mut self, cause: String, detail: String, more: u64) {
        self.all += more;
        match self.causes.iter_mut().find(|(c, d, _)| *c == cause && *d == detail) {
            Some((_, _, count)) => *count += more,
            None => self.causes.push((cause, detail, more)),
        }
    }

    /// Adds those of another round.
    pub fn add(&mut self, other: Attributed) {
        other.causes.into_iter().for_each(|(cause, detail, count)| self.count(cause, detail, count));
        self.others += other.others;
    }
}

/// Sorts out the outliers that the fault made.
///
/// An outlier is the fault's if makings fill half of it or more. What of a making was not the fault's for certain
/// is taken to lie within the outlier: it is only counted where the fault has its half all the same.
pub fn made(series: &Series, makings: &[Making]) -> Attributed {
    let mut made = Attributed::default();
    for outlier in &series.outliers {
        let (from, to) = (outlier.at_ns - outlier.latency_ns, outlier.at_ns);
        let first = makings.partition_point(|making| making.to_ns <= from);
        let within = makings[first..].iter().take_while(|making| making.from_ns < to);
        let share = |making: &Making| {
            let unsure_ns = (making.to_ns - making.from_ns).saturating_sub(making.sure_ns);
            (making.to_ns.min(to) - making.from_ns.max(from)).saturating_sub(unsure_ns)
        };
        if within.map(share).sum::<u64>() * 2 < outlier.latency_ns {
            made.others += 1;
            continue;
        }
        let (cause, detail) = match outlier.cause.and_then(|index| series.causes.get(index as usize)) {
            Some(cause) => (cause.cause.clone(), cause.detail.clone()),
            None => ("not explained".into(), String::new()),
        };
        made.count(cause, detail, 1);
    }
    made.causes.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    made
}
