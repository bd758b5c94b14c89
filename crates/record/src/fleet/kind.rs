//! What makes series comparable (the job), and what machines are alike by (the kind).

use std::fmt;

use serde::Serialize;

use crate::run::Environment;
use crate::{Run, Series};

/// What was done. Figures of different jobs are never put beside each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Job {
    /// What was measured: `timer`.
    pub measurement: String,
    /// What is special to the series: `ontick, loaded`; empty where nothing is.
    pub case: String,
    /// How it was waited: `hybrid`.
    pub method: String,
    /// Period, in ns; 0 where there is none.
    pub interval_ns: u64,
    /// Scheduling policy: `fifo:99`.
    pub policy: String,
    /// The load beside it by its name: `none`, `cpu`.
    pub load: String,
}

impl Job {
    pub(super) fn of(run: &Run, series: &Series) -> Self {
        let settings = &series.settings;
        Self {
            measurement: run.measurement.as_str().into(),
            case: series.case.to_string(),
            method: settings.method.clone(),
            interval_ns: settings.interval_ns,
            policy: settings.policy.clone(),
            // Its command names how many CPUs a board has.
            load: settings.load.split(": ").next().unwrap_or_default().into(),
        }
    }
}

/// `prove: ontick, loaded · hybrid every 1ms · fifo:99 · load: cpu`
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.measurement)?;
        if !self.case.is_empty() {
            write!(f, ": {}", self.case)?;
        }
        let every = (self.interval_ns > 0).then(|| format!("every {}", ontick_units::exact(self.interval_ns)));
        let wait: Vec<&str> = [self.method.as_str()].into_iter().chain(every.as_deref()).collect();
        let load = (!self.load.is_empty()).then(|| format!("load: {}", self.load));
        let parts = [wait.join(" "), self.policy.clone(), load.unwrap_or_default()];
        parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).try_for_each(|part| write!(f, " · {part}"))
    }
}

/// What machines are alike by.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Kind {
    /// Board or product; under a hypervisor, of which.
    pub board: String,
    /// Release of the kernel, and its preemption model.
    pub kernel: String,
    /// What was done for timing: CPUs kept apart, settings that `ontick tune` had changed.
    pub profile: String,
    /// What was simulated, if anything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
}

impl Kind {
    pub(super) fn of(run: &Run) -> Self {
        let simulated = run.simulated.clone();
        match &run.environment {
            Some(e) => Self { board: board(e), kernel: kernel(e), profile: profile(e), simulated },
            None => Self { simulated, ..Self::default() },
        }
    }
}

fn board(e: &Environment) -> String {
    let name = [&e.machine, &e.processor, &e.architecture].into_iter().find(|name| !name.is_empty());
    let name = name.map_or("", String::as_str);
    match e.hypervisor.as_str() {
        "" | "unknown" => name.into(),
        hypervisor => format!("{name} (guest of {hypervisor})"),
    }
}

fn kernel(e: &Environment) -> String {
    [e.kernel.as_str(), e.preemption.as_str()].join(" ").trim().into()
}

fn profile(e: &Environment) -> String {
    let mut tuned = e.tuned.clone();
    tuned.sort_unstable();
    tuned.dedup();
    let parts = [
        (!e.isolated.is_empty()).then(|| "isolated CPUs".to_owned()),
        (!e.nohz_full.is_empty()).then(|| "CPUs without tick".to_owned()),
        (!tuned.is_empty()).then(|| format!("tuned: {}", tuned.join(", "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "as installed".into() } else { parts.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_what_makes_it() {
        let mut run = Run::new("ontick", "prove");
        let mut series = Series { name: "ontick, loaded".into(), ..Series::default() };
        series.case.loaded = Some(true);
        series.case.side = Some(crate::Side::Ontick);
        (series.settings.method, series.settings.interval_ns) = ("hybrid".into(), 1_000_000);
        (series.settings.policy, series.settings.load) = ("fifo:99".into(), "cpu: stress-ng --cpu 2".into());
        let job = Job::of(&run, &series);
        assert_eq!(job.to_string(), "prove: ontick, loaded · hybrid every 1ms · fifo:99 · load: cpu");
        series.settings.load = "cpu: stress-ng --cpu 4".into();
        assert_eq!(Job::of(&run, &series), job, "a load is the same whatever a board's CPUs");
        run.measurement = "timer".into();
        assert_ne!(Job::of(&run, &series), job);
        assert_eq!(Job::of(&Run::new("cyclictest", "timer"), &Series::default()).to_string(), "timer");
    }

    #[test]
    fn machines_are_alike_by_board_kernel_and_profile() {
        let mut run = Run::new("ontick", "timer");
        assert_eq!(Kind::of(&run), Kind::default());
        run.environment = Some(Environment {
            processor: "Cortex-A72".into(),
            kernel: "6.12.25".into(),
            preemption: "PREEMPT_RT".into(),
            tuned: vec!["irqs".into(), "governor".into()],
            isolated: "3".into(),
            ..Environment::default()
        });
        let kind = Kind::of(&run);
        assert_eq!((kind.board.as_str(), kind.kernel.as_str()), ("Cortex-A72", "6.12.25 PREEMPT_RT"));
        assert_eq!(kind.profile, "isolated CPUs; tuned: governor, irqs");
        run.environment.as_mut().unwrap().tuned.reverse();
        assert_eq!(Kind::of(&run), kind, "the order of settings says nothing");
        run.simulated = Some("a modelled network".into());
        assert_ne!(Kind::of(&run), kind);
    }
}
