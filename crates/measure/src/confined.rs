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
    check(cpus, load)?;
    let mut all = Vec::new();
    for cpus in cpus {
        if observer.stopped() {
            break;
        }
        let came = with(*cpus, load, cpu, observer, &mut measure);
        all.extend(observer.or_end(came, !all.is_empty())?.into_iter().flatten());
    }
    Ok(all)
}

/// Whether there are so many CPUs and such a load, before anything is measured.
pub(crate) fn check(cpus: &[Cpus], load: &Load) -> Result<(), Error> {
    cpus.iter().try_for_each(|cpus| cpus.check())?;
    load.check()
}

fn with(
    cpus: Cpus,
    load: &Load,
    cpu: Option<u32>,
    observer: &mut Observer,
    measure: &mut impl FnMut(Cpus, &mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Vec<Series>, Error> {
    let confined = RestrictedAffinity::to(cpus, cpu)?;
    let beside = load.start()?;
    let mut came = measure(cpus, observer)?;
    for series in &mut came {
        load.describe_beside(&beside, &mut series.settings);
        series.settings.confined_to = confined.as_ref().map(RestrictedAffinity::list);
    }
    if let Some(status) = beside.ended() {
        observer.note(format!("the load ended before the measurement did ({status})"));
    }
    Ok(came)
}

/// The name of a series with so many CPUs; without them where there is nothing to tell apart.
pub fn name(method: &str, cpus: Cpus, all: &[Cpus]) -> String {
    match all {
        [Cpus::All] => method.into(),
        _ => format!("{method}, {cpus}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Live;
    use std::sync::atomic::AtomicBool;

    const BOTH: [Cpus; 2] = [Cpus::Some(1), Cpus::All];

    #[test]
    fn what_was_measured_with_fewer_cpus_is_kept_where_more_fail() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let measure = |cpus, _: &mut Observer| match cpus {
            Cpus::Some(_) => Ok(vec![Series::from("with one".to_string())]),
            Cpus::All => Err(Error::Impossible("not with all".into())),
        };
        let all = with_each(&BOTH, &Load::None, None, &mut observer, measure).unwrap();
        assert_eq!(all.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["with one"]);
        assert_eq!(observer.take_failure().unwrap().to_string(), "not with all");
        // With nothing before, it is an error as such.
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        assert!(with_each(&[Cpus::All], &Load::None, None, &mut observer, measure).is_err());
    }

    #[test]
    fn what_cannot_be_had_is_refused_before_anything_is_measured() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let mut refused = |cpus: &[Cpus], load: &str| {
            let mut observer = Observer::new(&stop, &mut look);
            let measure = |_, _: &mut Observer| unreachable!("nothing is measured");
            with_each(cpus, &load.parse().unwrap(), None, &mut observer, measure).unwrap_err().to_string()
        };
        assert!(refused(&[Cpus::Some(1), Cpus::Some(4096)], "none").contains("4096 CPUs were asked for"));
        assert!(refused(&BOTH, "cmd:/no/such/program").contains("no program"));
    }
}
