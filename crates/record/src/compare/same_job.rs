//! Whether two runs are of the same job on the same machine, so that what differs is its timing.

use std::fmt;

use crate::run::{Environment, Run, Series};

/// What two runs differ by that is no timing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    what: String,
    before: String,
    after: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let named = |value: &str| if value.is_empty() { "not known".to_owned() } else { format!("\"{value}\"") };
        write!(f, "{} is {} there and {} here", self.what, named(&self.before), named(&self.after))
    }
}

/// The first thing by which the runs differ, where they are not of the same job on the same machine. The kernel, its
/// settings and the program's version may differ: these are what a comparison is made for.
pub fn difference(before: &Run, after: &Run) -> Option<Difference> {
    let same = |what: &str, of: &dyn Fn(&Run) -> String| differ(what, of(before), of(after));
    same("the measurement", &|run| run.measurement.as_str().into())
        .or_else(|| same("what is simulated", &|run| run.simulated.clone().unwrap_or_default()))
        .or_else(|| same("the machine", &|run| machine(run, |e| &e.machine)))
        .or_else(|| same("the processor", &|run| machine(run, |e| &e.processor)))
        .or_else(|| same("the hypervisor", &|run| machine(run, |e| &e.hypervisor)))
        .or_else(|| same("the list of series", &names))
        .or_else(|| before.series.iter().zip(&after.series).find_map(|(before, after)| of_series(before, after)))
}

fn differ(what: &str, before: String, after: String) -> Option<Difference> {
    (before != after).then(|| Difference { what: what.into(), before, after })
}

fn machine(run: &Run, of: impl Fn(&Environment) -> &String) -> String {
    run.environment.as_ref().map(of).cloned().unwrap_or_default()
}

fn names(run: &Run) -> String {
    let names: Vec<&str> = run.series.iter().map(|series| series.name.as_str()).collect();
    names.join("; ")
}

fn of_series(before: &Series, after: &Series) -> Option<Difference> {
    let same = |what: &str, of: &dyn Fn(&Series) -> String| {
        differ(&format!("the {what} of \"{}\"", before.name), of(before), of(after))
    };
    same("method", &|series| series.settings.method.clone())
        .or_else(|| same("interval in ns", &|series| series.settings.interval_ns.to_string()))
        .or_else(|| same("policy", &|series| series.settings.policy.clone()))
        .or_else(|| same("load", &|series| series.settings.load.clone()))
        .or_else(|| match (before.settings.octets, after.settings.octets) {
            // Records that do not say are of the least size, of frames or of datagrams.
            (None, Some(60 | 36)) | (Some(60 | 36), None) => None,
            _ => {
                same("size in octets", &|series| series.settings.octets.map_or("the least".into(), |of| of.to_string()))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let mut run = Run::new("ontick 0.1.0", "timer");
        run.environment = Some(Environment { processor: "a".into(), kernel: "6.1".into(), ..Environment::default() });
        run.series.push(Series { name: "hybrid".into(), ..Series::default() });
        run
    }

    #[test]
    fn another_job_or_machine_is_named_and_another_kernel_is_none() {
        let with = |change: &dyn Fn(&mut Run)| {
            let mut other = run();
            change(&mut other);
            difference(&run(), &other).map(|difference| difference.to_string())
        };
        assert_eq!(with(&|run| run.environment.as_mut().unwrap().kernel = "6.12".into()), None);
        assert_eq!(
            with(&|run| run.series[0].settings.interval_ns = 5).unwrap(),
            "the interval in ns of \"hybrid\" is \"0\" there and \"5\" here"
        );
        assert_eq!(with(&|run| run.series[0].settings.octets = Some(60)), None);
        let sized = [60, 1_000].map(|octets| {
            let mut of = run();
            of.series[0].settings.octets = Some(octets);
            of
        });
        assert_eq!(
            difference(&run(), &sized[1]).unwrap().to_string(),
            "the size in octets of \"hybrid\" is \"the least\" there and \"1000\" here"
        );
        let said = difference(&sized[0], &sized[1]).unwrap().to_string();
        assert_eq!(said, "the size in octets of \"hybrid\" is \"60\" there and \"1000\" here");
        assert_eq!(with(&|run| run.environment = None).unwrap(), "the processor is \"a\" there and not known here");
        assert!(with(&|run| run.series.clear()).unwrap().starts_with("the list of series"));
        assert!(with(&|run| run.simulated = Some("lines".into())).unwrap().starts_with("what is simulated"));
    }
}
