//! Several trains in one run: by each mechanism, with fewer and with all CPUs.

use ontick_record::Series;

use super::{Job, calibrated, measure, names_of_calibrated};
use crate::observe::Part;
use crate::restrict_affinity::{Cpus, RestrictedAffinity};
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
        match &self.cpus[..] {
            [Cpus::All] => job.method.to_string(),
            _ => format!("{}, {cpus}", job.method),
        }
    }

    fn names_of(&self, cpus: Cpus, job: &Job) -> Vec<String> {
        let name = self.name(cpus, job);
        if self.calibrate { names_of_calibrated(&name).into() } else { vec![name] }
    }

    /// Measures all of them, until the observer ends the run.
    pub fn measure(&self, placement: Placement, limits: Limits, observer: &mut Observer) -> Result<Vec<Series>, Error> {
        let share = 1.0 / (self.cpus.len() * self.jobs.len()).max(1) as f64;
        let mut all = Vec::new();
        for cpus in &self.cpus {
            if observer.stopped() {
                break;
            }
            let confined = RestrictedAffinity::to(*cpus, placement.cpu)?;
            let beside = self.load.start()?;
            for job in &self.jobs {
                if observer.stopped() {
                    break;
                }
                observer.begin(Part { series: all.len(), from: all.len() as f64 * share, share });
                let name = self.name(*cpus, job);
                let mut came = match self.calibrate {
                    true => calibrated(&name, job, placement, limits, observer)?,
                    false => vec![measure(&name, job, placement, limits, observer)?],
                };
                for series in &mut came {
                    series.settings.load = self.load.describe();
                    series.settings.confined_to = confined.as_ref().map(RestrictedAffinity::list);
                }
                all.extend(came);
            }
            if let Some(status) = beside.ended() {
                observer.note(format!("the load ended before the measurement did ({status})"));
            }
        }
        Ok(all)
    }
}
