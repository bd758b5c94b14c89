//! A GPIO line.

use std::sync::{Mutex, MutexGuard};

use ontick_gpio::{Bias, Debounce, Direction, Edge as Seen, Edges, Gone, Line as Open, Name, OnExit, Request};
use ontick_rt::clock::ClockId;
use pyo3::prelude::*;

use crate::arguments::{time, word};
use crate::errors::{Class, argument, of_line};
use crate::fork;
use crate::interrupt::{self, LOOK_NS};

/// One change of a line.
#[pyclass(frozen, module = "ontick")]
#[derive(Clone, Copy)]
pub struct Edge(Seen);

#[pymethods]
impl Edge {
    #[getter]
    fn rising(&self) -> bool {
        self.0.rising
    }

    #[getter]
    fn time_ns(&self) -> u64 {
        self.0.time_ns
    }

    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    fn __repr__(&self) -> String {
        let rising = if self.0.rising { "True" } else { "False" };
        format!("Edge(rising={rising}, time_ns={}, lost={})", self.0.time_ns, self.0.lost)
    }
}

#[pyclass(frozen, module = "ontick._ontick")]
pub struct Line {
    generation: u32,
    name: Name,
    backend: &'static str,
    is_output: bool,
    open: Mutex<Option<Open>>,
}

#[pymethods]
impl Line {
    #[new]
    #[pyo3(signature = (name, direction, value, edges, bias, active_low, on_exit, debounce))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        name: &str,
        direction: &str,
        value: bool,
        edges: &str,
        bias: &str,
        active_low: bool,
        on_exit: &str,
        debounce: Option<&str>,
    ) -> PyResult<Self> {
        let name: Name = word(name)?;
        let direction = match direction {
            "input" => Direction::Input,
            "output" => Direction::Output(value),
            "as-is" => Direction::AsIs,
            other => return Err(argument(format!("direction is \"{other}\": it must be input, output or as-is"))),
        };
        let edges = if edges == "none" { Edges::None } else { word(edges)? };
        let (bias, on_exit): (Bias, OnExit) = (word(bias)?, word(on_exit)?);
        let debounce = debounce.map(|text| time("debounce", text)).transpose()?;
        let debounce = debounce.map(Debounce::from_ns).transpose();
        let debounce = debounce.map_err(|error| argument(format!("debounce: {error}")))?;
        let request = Request { direction, bias, active_low, edges, debounce, on_exit };
        let line = py.detach(|| Open::open(&name, &request)).map_err(|error| of_line(&error))?;
        let (backend, is_output) = (line.backend().name(), matches!(direction, Direction::Output(_)));
        Ok(Self { generation: fork::generation(), name, backend, is_output, open: Mutex::new(Some(line)) })
    }

    #[getter]
    fn name(&self) -> String {
        self.name.to_string()
    }

    #[getter]
    fn backend(&self) -> &'static str {
        self.backend
    }

    fn read(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.with(Open::read))
    }

    fn write(&self, py: Python<'_>, value: bool) -> PyResult<()> {
        if !self.is_output {
            return Err(argument(format!("line {}: it was not opened as \"output\", so it is not driven", self.name)));
        }
        py.detach(|| {
            self.with(|line| {
                line.write(value)?;
                line.flush()
            })
        })
    }

    /// The next edge that was asked for; `None` where there is none within the time.
    fn edge(&self, py: Python<'_>, timeout: Option<&str>) -> PyResult<Option<Edge>> {
        let timeout_ns = timeout.map(|text| time("timeout", text)).transpose()?;
        let end_ns = timeout_ns.map_or(u64::MAX, |ns| ClockId::Monotonic.now_ns().saturating_add(ns));
        py.detach(|| {
            loop {
                let look_ns = ClockId::Monotonic.now_ns().saturating_add(LOOK_NS);
                if let Some(edge) = self.with(|line| line.edge(look_ns.min(end_ns)))? {
                    return Ok(Some(Edge(edge)));
                }
                if end_ns <= look_ns {
                    return Ok(None);
                }
                interrupt::check()?;
            }
        })
    }

    /// Releases the line. Once more does nothing; a forked child leaves its parent's as it is.
    fn close(&self, py: Python<'_>) {
        if fork::check(self.generation, "the line").is_ok() {
            py.detach(|| drop(self.lock().take()));
        }
    }
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Open) -> Result<T, Gone>) -> PyResult<T> {
        fork::check(self.generation, "the line")?;
        let mut open = self.lock();
        let line = open.as_mut().ok_or_else(|| argument(format!("line {}: it is closed", self.name)))?;
        act(line).map_err(|gone| Class::Line.error(format!("line {}: {gone}", self.name)))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The parent has it still, and it is for the parent to leave it as was asked.
        if self.generation != fork::generation() {
            std::mem::forget(self.lock().take());
        }
    }
}
