//! Measurements, each of which returns a record.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use ontick_gpio::{Name, OnExit, simulation_note};
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
        Ok(Placement { cpu, policy, prepared: !self.stock, awake: self.keep_awake })
    }

    fn limits(&self) -> PyResult<Limits> {
        let length = match (&self.duration, self.count) {
            (Some(_), Some(_)) => return Err(argument("duration and count: name one of them")),
            (_, Some(0)) => return Err(argument("count is 0: it must be at least 1")),
            (_, Some(count)) => Length::Count(count),
            (Some(text), None) => Length::Duration(time("duration", text)?),
            (None, None) => return Err(argument("name a duration or a count")),
        };
        let stop_over_ns = self.stop_over.as_ref().map(|text| time("stop_over", text)).transpose()?;
        Ok(Limits { length, outlier_ns: time("outlier_threshold", &self.outlier_threshold)?, stop_over_ns })
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
                run.notes
                    .extend(observer.take_failure().map(|error| format!("the run ended before its time: {error}")));
                measured
            };
            let (series, note) = measured.map_err(|error| of_measurement(&error))?;
            let nothing = series.iter().all(|series| series.latency.count() == 0);
            if let Some(raised) = interrupt.filter(|_| nothing) {
                return Err(raised);
            }
            document::complete(&mut run, series, self.load, began.elapsed(), stop.load(Relaxed));
            run.notes.extend(note);
            Ok(Record::from(run))
        })
    }
}

/// A periodic job, by each of these methods in turn.
#[pyfunction]
pub fn timer(
    py: Python<'_>,
    period: &str,
    methods: Vec<String>,
    phase: &str,
    conditions: Conditions,
) -> PyResult<Record> {
    let (placement, limits, load) = (conditions.placement()?, conditions.limits()?, word::<Load>(&conditions.load)?);
    let interval_ns = interval("interval", period)?;
    let phase = match phase {
        "auto" => Phase::Auto,
        "chance" => Phase::Chance,
        text => Phase::Fixed(time("phase", text)?),
    };
    let jobs = methods
        .iter()
        .map(|method| Ok(Job { phase, ..Job::new(interval_ns, word::<Method>(method)?) }))
        .collect::<PyResult<Vec<Job>>>()?;
    if jobs.is_empty() {
        return Err(argument("name at least one method"));
    }
    let asked = Asked {
        kind: Measurement::Timer,
        series: jobs.iter().map(|job| job.method.name().to_owned().into()).collect(),
        cpu: placement.cpu,
        load: &load,
        explain: conditions.explain,
        simulated: None,
    };
    asked.carry_out(py, |observer| timers::each(&jobs, placement, limits, observer))
}

/// The same job the stock way and ontick's way, idle and under load.
#[pyfunction]
#[pyo3(signature = (duration, period, cpu, load, explain))]
pub fn prove(
    py: Python<'_>,
    duration: &str,
    period: &str,
    cpu: Option<u32>,
    load: &str,
    explain: bool,
) -> PyResult<Record> {
    let plan = proof::Plan {
        interval_ns: interval("interval", period)?,
        duration_ns: time("duration", duration)?,
        cpus: cpu.into_iter().collect(),
        awake: false,
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
    let (placement, limits, load) = (conditions.placement()?, conditions.limits()?, word::<Load>(&conditions.load)?);
    let methods = pulses::Method::PROGRAM;
    let chosen = methods.iter().find(|known| known.name() == method);
    let method = chosen.cloned().ok_or_else(|| {
        let names: Vec<&str> = methods.iter().map(pulses::Method::name).collect();
        argument(format!("method is \"{method}\": it must be one of {}", names.join(", ")))
    })?;
    let job = pulses::Job {
        line: word(output)?,
        watched_line: input.map(word::<Name>).transpose()?,
        width_ns: time("width", width)?,
        gap_ns: time("gap", gap)?,
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
    };
    asked.carry_out(py, |observer| pulses::measure(name, &job, placement, limits, observer).map(|series| vec![series]))
}
