//! A section of a thread in which it runs on time.

use std::sync::Mutex;
use std::time::Duration;

use ontick_record::run::Settings;
use ontick_rt::thread::{Policy, Setup};
use ontick_rt::timed_section::{SectionCpu, TimedSection};
use ontick_rt::watchdog::Watchdog;
use pyo3::prelude::*;

use crate::arguments::{time, word};
use crate::errors::{Class, argument, of_section};
use crate::fork;

/// Where and how a thread is to run, as Python asks for it: a number, "auto" or "keep".
pub fn section_cpu(cpu: &str) -> PyResult<SectionCpu> {
    match cpu {
        "auto" => Ok(SectionCpu::Auto),
        "keep" => Ok(SectionCpu::Keep),
        number => number
            .parse()
            .map(SectionCpu::One)
            .map_err(|_| argument(format!("cpu is {number}: it must be the number of a CPU, \"auto\" or \"keep\""))),
    }
}

/// A section, which the thread that begins it ends.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Section {
    generation: u32,
    held: Mutex<Option<Held>>,
    refused: Vec<String>,
    cpu: Option<u32>,
    policy: Option<String>,
    memory_locked: bool,
}

/// In the order in which they end.
struct Held {
    watchdog: Option<Watchdog>,
    section: TimedSection,
    /// What children get ends with it.
    gives_children: bool,
}

#[pymethods]
impl Section {
    /// Sets the calling thread up.
    #[staticmethod]
    #[pyo3(signature = (cpu, policy, lock_memory, power_latency, watchdog, strict))]
    fn begin(
        py: Python<'_>,
        cpu: &str,
        policy: Option<&str>,
        lock_memory: bool,
        power_latency: Option<&str>,
        watchdog: Option<&str>,
        strict: bool,
    ) -> PyResult<Self> {
        let cpu = section_cpu(cpu)?;
        let setup = match policy {
            Some(policy) => Setup::new().policy(word::<Policy>(policy)?),
            None => Setup::new(),
        };
        let setup = setup.keep_policy_from_children();
        let setup = if lock_memory { setup.lock_memory() } else { setup };
        let setup = match power_latency {
            Some(text) => {
                let us = i32::try_from(time("power_latency", text)? / 1_000).unwrap_or(i32::MAX);
                setup.cpu_latency_us(us)
            }
            None => setup,
        };
        let limit = watchdog.map(|text| time("watchdog", text)).transpose()?;
        if limit.is_some_and(|ns| ns < 8_000_000) {
            return Err(argument("watchdog: it must be at least 8ms, or None"));
        }
        // The thread must be the caller's, so nothing here goes on elsewhere; memory is locked without the interpreter.
        py.detach(|| Self::hold(cpu, setup, limit, strict))
    }

    #[getter]
    fn refused(&self) -> Vec<String> {
        self.refused.clone()
    }

    #[getter]
    fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    #[getter]
    fn policy(&self) -> Option<String> {
        self.policy.clone()
    }

    #[getter]
    fn memory_locked(&self) -> bool {
        self.memory_locked
    }

    /// Whether the watchdog took the priority away.
    #[getter]
    fn demoted(&self) -> bool {
        let held = self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        held.as_ref().and_then(|held| held.watchdog.as_ref()).is_some_and(Watchdog::demoted)
    }

    /// Gives the thread back what it had before. Once more does nothing.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        if fork::check(self.generation, "the section").is_err() {
            // The child has what the thread had before, since the fork.
            return Ok(());
        }
        let mut place = self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match place.as_ref() {
            None => return Ok(()),
            Some(held) if !held.section.is_of_this_thread() => {
                return Err(Class::WrongThread
                    .error("a real-time section is ended by the thread that began it: leave the with block there"));
            }
            Some(_) => {}
        }
        let held = place.take();
        drop(place);
        if held.as_ref().is_some_and(|held| held.gives_children) {
            fork::give_children_nothing();
        }
        let ended = py.detach(|| held.map_or(Ok(()), Held::end));
        ended.map_err(|error| {
            Class::Refused.error(format!("the thread's former policy or CPUs cannot be restored: {error}"))
        })
    }
}

impl Section {
    fn hold(cpu: SectionCpu, setup: Setup, limit_ns: Option<u64>, strict: bool) -> PyResult<Self> {
        let begun = if strict { TimedSection::begin_strict(cpu, setup) } else { TimedSection::begin(cpu, setup) };
        let section = begun.map_err(|error| of_section(&error))?;
        // From here on a child must not inherit what the thread has.
        let gives_children = fork::give_children(section.before());
        let watched = section.policy().is_some_and(Policy::is_real_time);
        let watchdog = match limit_ns.filter(|_| watched) {
            Some(ns) => match Watchdog::watch_this_thread(Duration::from_nanos(ns)) {
                Ok(watchdog) => Some(watchdog),
                Err(error) => {
                    if gives_children {
                        fork::give_children_nothing();
                    }
                    return Err(Class::Refused.error(format!("starting the watchdog: {error}")));
                }
            },
            None => None,
        };
        let lowered = watchdog.as_ref().and_then(Watchdog::lowered);
        Ok(Self {
            generation: fork::generation(),
            refused: section.refused().collect(),
            cpu: section.cpu(),
            policy: lowered.or(section.policy()).map(|policy| policy.to_string()),
            memory_locked: section.memory_locked(),
            held: Mutex::new(Some(Held { watchdog, section, gives_children })),
        })
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // A forked child has no watchdog to wait for, and its thread was never set up.
        if self.generation != fork::generation() {
            std::mem::forget(self.held.lock().map(|mut held| held.take()));
        }
    }
}

impl Held {
    fn end(self) -> std::io::Result<()> {
        drop(self.watchdog);
        self.section.end()
    }
}

impl Section {
    /// Writes down what was obtained.
    pub fn describe(&self, settings: &mut Settings) {
        settings.cpu = self.cpu;
        settings.policy = self.policy.clone().unwrap_or_else(|| Policy::default().to_string());
        settings.memory_locked = self.memory_locked;
        settings.refused = self.refused.clone();
    }
}
