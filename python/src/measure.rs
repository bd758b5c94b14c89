//! Measurements, each of which returns a record.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use ontick_gpio::{Name, OnExit, simulation_note};
use ontick_machine::{Facts, Root, WantedCpus};
use ontick_measure::timer::{self as timers, Job};
use ontick_measure::{
    Error, Length, Limits, Live, Load, Method, Observer, Placement, document, prove as proof, pulse as pulses,
};
use ontick_record::{Measurement, Series};
use ontick_rt::Phase;
use ontick_rt::thread::Policy;
use pyo3::prelude::*;

use crate::arguments::{interval, time, word};
use crate::errors::{argument, of_measurement};
use crate::run::Record;

/// Where the timed thread runs, how long, and what is kept: what all measurements take.
#[derive(FromPyObject)]
pub struct Conditions {
    cpu: String,
    policy: String,
    stock: bool,
    keep_awake: bool,
    load: String,
    duration: Option<String>,
    count: Option<u64>,
    stop_over: Option<String>,
    outlier_threshold: String,
    explain: bool,
}

impl Conditions {
    fn placement(&self) -> PyResult<Placement> {
        let policy: Policy = word(&self.policy)?;
        let cpu = match self.cpu.as_str() {
            "any" => None,
            // The kernel lets a deadline thread run anywhere in its root domain only.
            "auto" if matches!(policy, Policy::Deadline { .. }) => None,
            "auto" => Placement::dedicated(None).cpu,
            number => {
                let wrong =
                    |_| argument(format!("cpu is {number}: it must be the number of a CPU, \"auto\" or \"any\""));
                Some(number.parse().map_err(wrong)?)
            }
        };
        let wake_within_us = (!self.stock).then_some(0);
        Ok(Placement { cpu, policy, prepared: !self.stock, wake_within_us, awake: self.keep_awake })
    }

    /// Of cycles that take so long.
    fn limits(&self, cycle_ns: u64) -> PyResult<Limits> {
        let length = match (&self.duration, self.count) {
            (Some(_), Some(_)) => return Err(argument("duration and count: name one of them")),
            (_, Some(0)) => return Err(argument("count is 0: it must be at least 1")),
            (_, Some(count)) => Length::Count(count),
            (Some(text), None) => Length::Duration(time("duration", text)?),
            (None, None) => return Err(argument("name a duration or a count")),
        };
        let stop_over_ns = self.stop_over.as_ref().map(|text| time("stop_over", text)).transpose()?;
        let outlier_ns = time("outlier_threshold", &self.outlier_threshold)?;
        let limits = Limits { length, outlier_ns, stop_over_ns };
        limits.of_cycles(cycle_ns).map_err(|error| argument(format!("{error}: name a longer duration, or a count")))
    }
}

/// What is about to be measured.
struct Asked<'a> {
    kind: Measurement,
    series: Vec<Series>,
    cpu: Option<u32>,
    load: &'a Load,
    explain: bool,
    simulated: Option<String>,
    facts: Vec<String>,
}

impl Asked<'_> {
    /// Measures without the interpreter, which is asked now and then whether Ctrl-C came: then what was measured until then
    /// is returned. Where that is nothing, Ctrl-C itself is.
    fn carry_out(
        self,
        py: Python<'_>,
        measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error> + Send,
    ) -> PyResult<Record> {
        py.detach(|| {
            let mut run = document::begin(self.kind.clone(), self.series.clone(), self.cpu);
            run.simulated = self.simulated.clone();
            run.facts.extend(self.facts);
            let (stop, mut interrupt, began) = (AtomicBool::new(false), None, Instant::now());
            let mut look = |_: &Live| {
                if let Err(raised) = Python::attach(|py| py.check_signals()) {
                    interrupt = Some(raised);
                    stop.store(true, Relaxed);
                }
            };
            let measured = {
                let mut observer = Observer::new(&stop, &mut look);
                if self.explain {
                    observer.explain();
                }
                let measured = document::under_load(self.load, || measure(&mut observer));
                run.facts.extend(observer.take_facts());
                run.notes.extend(observer.take_notes());
                run.notes.extend(observer.take_unproven().map(|why| format!("nothing is proven: {why}")));
                run.notes
                    .extend(observer.take_failure().map(|error| format!("the run ended before its time: {error}")));
                measured
            };
            let (series, note) = measured.map_err(|error| of_measurement(&error))?;
            let nothing = series.iter().all(|series| series.latency.count() == 0);
            if let Some(raised) = interrupt.filter(|_| nothing) {
                return Err(raised);
            }
            document::complete(&mut run, series, began.elapsed(), stop.load(Relaxed));
            run.notes.extend(note);
            Ok(Record::from(run))
        })
    }
}

/// A periodic job, by each of these methods in turn; a margin is that of the hybrid wait.
#[pyfunction]
#[pyo3(signature = (period, methods, phase, margin, conditions))]
pub fn timer(
    py: Python<'_>,
    period: &str,
    methods: Vec<String>,
    phase: &str,
    margin: Option<&str>,
    conditions: Conditions,
) -> PyResult<Record> {
    let interval_ns = interval("interval", period)?;
    let (placement, limits) = (conditions.placement()?, conditions.limits(interval_ns)?);
    let load: Load = word(&conditions.load)?;
    let phase = match phase {
        "auto" => Phase::Auto,
        "chance" => Phase::Chance,
        text => Phase::Fixed(time("phase", text)?),
    };
    let margin_ns = margin.map(|text| time("margin", text)).transpose()?;
    let methods = methods.iter().map(|method| word(method)).collect::<PyResult<Vec<Method>>>()?;
    if margin_ns.is_some() && !methods.contains(&Method::Hybrid) {
        return Err(argument("margin is of the hybrid wait: leave it out, or name hybrid with method"));
    }
    let job = |method: &Method| Job {
        phase,
        margin_ns: margin_ns.filter(|_| *method == Method::Hybrid),
        ..Job::new(interval_ns, *method)
    };
    let jobs: Vec<Job> = methods.iter().map(job).collect();
    if jobs.is_empty() {
        return Err(argument("name at least one method"));
    }
    jobs.iter().try_for_each(Job::check_margin).map_err(|error| of_measurement(&error))?;
    let asked = Asked {
        kind: Measurement::Timer,
        series: jobs.iter().map(|job| job.method.name().to_owned().into()).collect(),
        cpu: placement.cpu,
        load: &load,
        explain: conditions.explain,
        simulated: None,
        facts: Vec::new(),
    };
    asked.carry_out(py, |observer| timers::each(&jobs, placement, limits, observer))
}

/// CPUs as `ontick prove --cpu` takes them, and what is to be said of those that are left out.
fn cpus_of_proof(wanted: &str) -> PyResult<(Vec<u32>, Option<String>)> {
    let wanted: WantedCpus = wanted.parse().map_err(|error| argument(format!("cpu: {error}")))?;
    let facts = Facts::gather(&Root::live());
    let cpus = wanted.of(&facts).map_err(|error| argument(format!("cpu: {error}")))?;
    let left_out = wanted.left_out(&facts, &cpus);
    Ok((cpus.iter().collect(), left_out))
}

/// The same job the stock way and ontick's way, idle and under load.
#[pyfunction]
#[pyo3(signature = (duration, period, cpu, margin, load, explain))]
pub fn prove(
    py: Python<'_>,
    duration: &str,
    period: &str,
    cpu: Option<&str>,
    margin: Option<&str>,
    load: &str,
    explain: bool,
) -> PyResult<Record> {
    let (cpus, left_out) = cpu.map_or(Ok((Vec::new(), None)), cpus_of_proof)?;
    let plan = proof::Plan {
        interval_ns: interval("interval", period)?,
        duration_ns: time("duration", duration)?,
        cpus,
        awake: false,
        margin_ns: margin.map(|text| time("margin", text)).transpose()?,
        load: word(load)?,
    };
    let asked = Asked {
        kind: Measurement::Prove,
        series: plan.series(),
        cpu: plan.placement().cpu,
        // It starts its loads itself, beside some of its blocks.
        load: &Load::None,
        explain,
        simulated: None,
        facts: left_out.into_iter().collect(),
    };
    asked.carry_out(py, |observer| proof::prove(&plan, observer))
}

/// A train of pulses.
#[pyfunction]
#[pyo3(signature = (output, width, gap, method, input, on_exit, conditions))]
#[allow(clippy::too_many_arguments)]
pub fn pulse(
    py: Python<'_>,
    output: &str,
    width: &str,
    gap: &str,
    method: &str,
    input: Option<&str>,
    on_exit: &str,
    conditions: Conditions,
) -> PyResult<Record> {
    let (placement, load) = (conditions.placement()?, word::<Load>(&conditions.load)?);
    let (width_ns, gap_ns) = (time("width", width)?, time("gap", gap)?);
    let limits = conditions.limits(width_ns.saturating_add(gap_ns))?;
    let methods = pulses::Method::PROGRAM;
    let chosen = methods.iter().find(|known| known.name() == method);
    let method = chosen.cloned().ok_or_else(|| {
        let names: Vec<&str> = methods.iter().map(pulses::Method::name).collect();
        argument(format!("method is \"{method}\": it must be one of {}", names.join(", ")))
    })?;
    let job = pulses::Job {
        line: word(output)?,
        watched_line: input.map(word::<Name>).transpose()?,
        width_ns,
        gap_ns,
        method,
        subtract_ns: None,
        on_exit: word::<OnExit>(on_exit)?,
    };
    let lines: Vec<&Name> = std::iter::once(&job.line).chain(&job.watched_line).collect();
    let name = job.method.name();
    let asked = Asked {
        kind: Measurement::Pulse,
        series: vec![name.to_owned().into()],
        cpu: placement.cpu,
        load: &load,
        explain: conditions.explain,
        simulated: simulation_note(&lines),
        facts: Vec::new(),
    };
    asked.carry_out(py, |observer| pulses::measure(name, &job, placement, limits, observer).map(|series| vec![series]))
}
