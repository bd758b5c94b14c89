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
    each_of(items, 1, observer, |item, observer| measure(item, observer).map(|series| vec![series]))
}

/// As [`each`], where `measure` makes up to `series_of_each` series of every item.
pub fn each_of<T>(
    items: &[T],
    series_of_each: usize,
    observer: &mut Observer,
    mut measure: impl FnMut(&T, &mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Vec<Series>, Error> {
    let mut all = Vec::new();
    let share = 1.0 / items.len().max(1) as f64;
    for (number, item) in items.iter().enumerate() {
        if observer.stopped() {
            break;
        }
        observer.begin(Part { series: number * series_of_each, from: number as f64 * share, share });
        all.extend(measure(item, observer)?);
    }
    Ok(all)
}
