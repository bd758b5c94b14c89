//! Several trains in one run: by each mechanism, with fewer and with all CPUs.

use ontick_record::Series;

use super::{Job, calibrated, measure, names_of_calibrated};
use crate::confined;
use crate::observe::Part;
use crate::restrict_affinity::Cpus;
use crate::{Error, Limits, Load, Observer, Placement};

/// What is measured in one run.
#[derive(Debug, Clone)]
pub struct Trains {
    /// One after the other.
    pub jobs: Vec<Job>,
    /// All of them with each of these.
    pub cpus: Vec<Cpus>,
    /// Runs beside them, on the same CPUs.
    pub load: Load,
    /// Each is calibrated, and measured before and after.
    pub calibrate: bool,
}

impl Trains {
    /// Names of the series, in order.
    pub fn names(&self) -> Vec<String> {
        self.all().flat_map(|(cpus, job)| self.names_of(cpus, job)).collect()
    }

    fn all(&self) -> impl Iterator<Item = (Cpus, &Job)> {
        self.cpus.iter().flat_map(|cpus| self.jobs.iter().map(|job| (*cpus, job)))
    }

    fn name(&self, cpus: Cpus, job: &Job) -> String {
        confined::name(&job.method.to_string(), cpus, &self.cpus)
    }

    fn names_of(&self, cpus: Cpus, job: &Job) -> Vec<String> {
        let name = self.name(cpus, job);
        if self.calibrate { names_of_calibrated(&name).into() } else { vec![name] }
    }

    /// Measures all of them, until the observer ends the run.
    pub fn measure(&self, placement: Placement, limits: Limits, observer: &mut Observer) -> Result<Vec<Series>, Error> {
        let share = 1.0 / (self.cpus.len() * self.jobs.len()).max(1) as f64;
        let mut begun = 0;
        confined::with_each(&self.cpus, &self.load, placement.cpu, observer, |cpus, observer| {
            let mut all = Vec::new();
            for job in &self.jobs {
                if observer.stopped() {
                    break;
                }
                observer.begin(Part { series: begun, from: begun as f64 * share, share });
                let name = self.name(cpus, job);
                let came = match self.calibrate {
                    true => calibrated(&name, job, placement, limits, observer),
                    false => measure(&name, job, placement, limits, observer).map(|series| vec![series]),
                };
                let Some(series) = observer.or_end(came, begun > 0)? else { break };
                all.extend(series);
                begun += if self.calibrate { 2 } else { 1 };
            }
            Ok(all)
        })
    }
}
