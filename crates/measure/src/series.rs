//! Several series in one run: all methods in turn, all ways to wake.

use crate::observe::Part;
use crate::{Error, Observer};
use ontick_record::Series;

/// Measures each item in turn with `measure`, until the observer ends the run.
pub fn each<T>(
    items: &[T],
    observer: &mut Observer,
    mut measure: impl FnMut(&T, &mut Observer) -> Result<Series, Error>,
) -> Result<Vec<Series>, Error> {
    let mut all = Vec::new();
    let share = 1.0 / items.len().max(1) as f64;
    for (series, item) in items.iter().enumerate() {
        if observer.stopped() {
            break;
        }
        observer.begin(Part { series, from: series as f64 * share, share });
        all.push(measure(item, observer)?);
    }
    Ok(all)
}
