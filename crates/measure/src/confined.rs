//! The same measurement with fewer CPUs and with all, its load on the same ones.

use ontick_record::Series;

use crate::restrict_affinity::{Cpus, RestrictedAffinity};
use crate::{Error, Load, Observer};

/// Measures with each number of CPUs in turn, `cpu` among them where it is given, until the observer ends the run.
/// `measure` gets the number, and its series are marked with the load and the CPUs.
pub fn with_each(
    cpus: &[Cpus],
    load: &Load,
    cpu: Option<u32>,
    observer: &mut Observer,
    mut measure: impl FnMut(Cpus, &mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Vec<Series>, Error> {
    let mut all = Vec::new();
    for cpus in cpus {
        if observer.stopped() {
            break;
        }
        let confined = RestrictedAffinity::to(*cpus, cpu)?;
        let beside = load.start()?;
        let mut came = measure(*cpus, observer)?;
        for series in &mut came {
            series.settings.load = load.describe();
            series.settings.confined_to = confined.as_ref().map(RestrictedAffinity::list);
        }
        all.extend(came);
        if let Some(status) = beside.ended() {
            observer.note(format!("the load ended before the measurement did ({status})"));
        }
    }
    Ok(all)
}

/// The name of a series with so many CPUs; without them where there is nothing to tell apart.
pub fn name(method: &str, cpus: Cpus, all: &[Cpus]) -> String {
    match all {
        [Cpus::All] => method.into(),
        _ => format!("{method}, {cpus}"),
    }
}
