//! Samples in batches.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use ontick_acquire::ring::{Reader, Sample};
use ontick_acquire::{Acquisition, Channel, Source, Trigger, acquisition, source};
use ontick_rt::clock::sleep_for;
use ontick_rt::thread::{Policy, Setup};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{interval, word};
use crate::columns::{f64s, u64s};
use crate::errors::{Class, argument, of_acquisition};
use crate::fork;
use crate::interrupt::{self, LOOK_NS};
use crate::realtime::section_cpu;

/// How often the ring is looked at while there is too little in it, in ns.
const AGAIN_NS: u64 = 1_000_000;

/// What was taken from the ring at once.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Taken {
    numbers: Vec<u64>,
    times_ns: Vec<u64>,
    latencies_ns: Vec<u64>,
    /// Sample by sample.
    values: Vec<f64>,
    /// Samples since the beginning that found the ring full.
    dropped: u64,
}

#[pymethods]
impl Taken {
    fn __len__(&self) -> usize {
        self.numbers.len()
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn number_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u64s(py, self.numbers.iter().copied())
    }

    fn time_ns_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u64s(py, self.times_ns.iter().copied())
    }

    fn latency_ns_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u64s(py, self.latencies_ns.iter().copied())
    }

    fn value_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        f64s(py, self.values.iter().copied())
    }
}

/// Samples that are being taken.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Samples {
    generation: u32,
    channels: Vec<Channel>,
    refused: Vec<String>,
    stop: Arc<AtomicBool>,
    running: Mutex<Option<(Acquisition, Reader)>>,
}

#[pymethods]
impl Samples {
    #[staticmethod]
    #[pyo3(signature = (rate, trigger, sources, cpu, policy, lock_memory))]
    fn start(
        py: Python<'_>,
        rate: Option<&str>,
        trigger: Option<&str>,
        sources: Vec<String>,
        cpu: &str,
        policy: Option<&str>,
        lock_memory: bool,
    ) -> PyResult<Self> {
        let trigger = match (rate, trigger) {
            (Some(rate), None) => Trigger::Every(interval("rate", rate)?),
            (None, Some(line)) => Trigger::edge(line).map_err(argument)?,
            _ => return Err(argument("name either a rate or a trigger")),
        };
        if sources.is_empty() {
            return Err(argument("name at least one source"));
        }
        let cpu = section_cpu(cpu)?;
        let setup = if lock_memory { Setup::new().lock_memory() } else { Setup::new() };
        let setup = match policy {
            Some(policy) => setup.policy(word::<Policy>(policy)?),
            None => setup,
        };
        py.detach(|| {
            let opened: Result<Vec<Box<dyn Source>>, _> = sources.iter().map(|text| source::open(text)).collect();
            let opened = opened.map_err(|error| of_acquisition(&error))?;
            let channels = acquisition::channels(&opened);
            let started = Acquisition::start(trigger, opened, cpu, setup);
            let (running, reader) = started.map_err(|error| of_acquisition(&error))?;
            let (refused, stop) = (running.refused().to_vec(), running.stop_flag());
            let running = Mutex::new(Some((running, reader)));
            Ok(Self { generation: fork::generation(), channels, refused, stop, running })
        })
    }

    /// Name and unit of each channel.
    #[getter]
    fn channels(&self) -> Vec<(String, String)> {
        self.channels.iter().map(|channel| (channel.name.clone(), channel.unit.clone())).collect()
    }

    #[getter]
    fn refused(&self) -> Vec<String> {
        self.refused.clone()
    }

    /// Waits for so many samples and takes them; fewer at the end, and `None` after it.
    fn take(&self, py: Python<'_>, samples: usize) -> PyResult<Option<Taken>> {
        fork::check(self.generation, "this acquisition")?;
        py.detach(|| {
            let in_use = || Class::InUse.error("another thread takes these samples: give each thread its own");
            let mut place = self.running.try_lock().map_err(|_| in_use())?;
            let Some((_, reader)) = place.as_mut() else { return Ok(None) };
            let mut taken = Taken::with_room(samples, self.channels.len());
            let mut waited_ns = 0;
            while taken.numbers.len() < samples {
                // Looked at first: what was put in before the end is still there.
                let over = reader.ended();
                if reader.pop(|sample| taken.add(&sample, &self.channels)).is_some() {
                    continue;
                }
                if let Some(dropped) = over {
                    taken.dropped = dropped;
                    let (ended, _) = place.take().ok_or_else(in_use)?;
                    let ended = ended.end();
                    return match taken.numbers.is_empty() && dropped == 0 {
                        true => ended.map(|()| None).map_err(|error| of_acquisition(&error)),
                        false => Ok(Some(taken)),
                    };
                }
                sleep_for(AGAIN_NS);
                waited_ns += AGAIN_NS;
                if waited_ns >= LOOK_NS {
                    waited_ns = 0;
                    interrupt::check()?;
                }
            }
            Ok(Some(taken))
        })
    }

    /// Ends it. What is in the ring already can still be taken.
    fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Ends it, and waits for the timed thread.
    fn close(&self, py: Python<'_>) {
        if self.generation == fork::generation() {
            self.stop();
            py.detach(|| {
                let running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
                drop(running);
            });
        }
    }
}

impl Taken {
    fn with_room(samples: usize, channels: usize) -> Self {
        let room = samples.min(1 << 16);
        let column = || Vec::with_capacity(room);
        Self {
            numbers: column(),
            times_ns: column(),
            latencies_ns: column(),
            values: Vec::with_capacity(room * channels),
            dropped: 0,
        }
    }

    fn add(&mut self, sample: &Sample, channels: &[Channel]) {
        self.numbers.push(sample.number);
        self.times_ns.push(sample.at_ns);
        self.latencies_ns.push(sample.latency_ns);
        self.values.extend(sample.raw.iter().zip(channels).map(|(raw, channel)| channel.value(*raw)));
        self.dropped = sample.dropped;
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        // A forked child has no such thread to wait for.
        if self.generation != fork::generation() {
            std::mem::forget(self.running.lock().map(|mut running| running.take()));
        }
    }
}
