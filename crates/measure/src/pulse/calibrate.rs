//! Calibration: the constant overhead of a mechanism, measured and subtracted (source 002, finding 2).

use ontick_record::Series;
use ontick_record::uncertainty::{Component, Source, median_deviation};
use ontick_units::show;

use super::{Job, measure};
use crate::observe::Part;
use crate::{Error, Length, Limits, Observer, Placement};

/// A calibrating train lasts about this long, in ns, and has between so many pulses.
const TRAIN_NS: u64 = 2_000_000_000;
const TRAIN: (u64, u64) = (50, 1_000);

/// Names of the series of a calibrated train.
pub fn names_of_calibrated(name: &str) -> [String; 2] {
    [format!("{name}, raw"), format!("{name}, calibrated")]
}

/// Measures a short train, takes its median error for the mechanism's overhead, and measures again with that
/// subtracted. Both are returned; only the first, if the observer ends the run meanwhile.
pub fn calibrated(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    let whole = observer.part();
    let [before_name, after_name] = names_of_calibrated(name);
    let (fewest, most) = TRAIN;
    let count = (TRAIN_NS / (job.width_ns + job.gap_ns)).clamp(fewest, most);
    let train = Limits { length: Length::Count(count), stop_over_ns: None, ..limits };

    observer.begin(Part { share: whole.share * 0.2, ..whole });
    let before = measure(&before_name, job, placement, train, observer)?;
    let median = before.pulse.as_ref().and_then(|pulse| pulse.width.quantile(0.5));
    let Some(overhead_ns) = median.map(|ns| ns as i64 - job.width_ns as i64).filter(|_| !observer.stopped()) else {
        return Ok(vec![before]);
    };
    if overhead_ns >= job.width_ns as i64 {
        observer.note(format!(
            "{name}: its overhead of {} is more than the width of the pulse; the figures below are the shortest pulse that it can make",
            show(overhead_ns as u64)
        ));
    }
    let (from, share) = (whole.from + whole.share * 0.2, whole.share * 0.8);
    observer.begin(Part { series: whole.series + 1, from, share });
    let job = Job { subtract_ns: Some(overhead_ns), ..job.clone() };
    let mut after = measure(&after_name, &job, placement, limits, observer)?;
    let residual_ns = before.pulse.as_ref().and_then(|pulse| median_deviation(&pulse.width)).unwrap_or(0.0);
    if let Some(uncertainty) = &mut after.uncertainty {
        uncertainty.components.push(Component::observed(Source::CalibrationResidual, residual_ns));
    }
    after.state_uncertainty();
    Ok(vec![before, after])
}
