//! A record.

use std::path::PathBuf;
use std::sync::Arc;

use ontick_record::{Requirement, Run, store};
use ontick_report::{Plot, Style, html, plot, png, text};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::word;
use crate::errors::{Class, argument, of_store};
use crate::histogram::Histogram;

/// A run. It does not change.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Record(pub Arc<Run>);

impl From<Run> for Record {
    fn from(run: Run) -> Self {
        Record(Arc::new(run))
    }
}

/// Names of the plots.
#[pyfunction]
pub fn plots() -> Vec<&'static str> {
    Plot::ALL.map(Plot::name).into()
}

#[pymethods]
impl Record {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| store::read_any(&path)).map(Self::from).map_err(|error| of_store(&error))
    }

    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        py.detach(|| store::parse(text)).map(Self::from).map_err(|error| Class::Record.error(error))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| store::write_whole(&path, store::text(&self.0).as_bytes())).map_err(|error| of_store(&error))
    }

    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| store::text(&self.0))
    }

    fn latency(&self, series: usize) -> Option<Histogram> {
        self.0.series.get(series).map(|series| Histogram(Arc::new(series.latency.clone())))
    }

    /// How wide pulses were, where the series is of pulses.
    fn width(&self, series: usize) -> Option<Histogram> {
        let pulse = self.0.series.get(series)?.pulse.as_ref()?;
        Some(Histogram(Arc::new(pulse.width.clone())))
    }

    fn text(&self, py: Python<'_>, width: usize) -> String {
        let style = Style { width, ..Style::default() };
        py.detach(|| text::summary(&self.0, &style))
    }

    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| html(&self.0))
    }

    fn svg(&self, py: Python<'_>, plot: Option<&str>) -> PyResult<String> {
        let plot = plot.map_or_else(|| Ok(Plot::of(&self.0)), word)?;
        match plot::lacking(&self.0, plot) {
            Some(why) => Err(argument(format!("the plot {} has nothing to show: {why}", plot.name()))),
            None => Ok(py.detach(|| plot::svg(&self.0, plot))),
        }
    }

    #[staticmethod]
    fn png<'py>(py: Python<'py>, svg: &str, scale: f32) -> PyResult<Bound<'py, PyBytes>> {
        if !(0.1..=8.0).contains(&scale) {
            return Err(argument(format!("the scale is {scale}: it must be from 0.1 to 8")));
        }
        let drawn = py.detach(|| png(svg, scale)).map_err(argument)?;
        Ok(PyBytes::new(py, &drawn))
    }

    /// The same run, with these requirements judged on the series at these places.
    fn judged(&self, requirements: Vec<String>, series: Vec<usize>) -> PyResult<Self> {
        let requirements: Vec<Requirement> = requirements.iter().map(|text| word(text)).collect::<PyResult<_>>()?;
        let on = || series.iter().filter_map(|place| self.0.series.get(*place));
        let mut run = Run::clone(&self.0);
        run.requirements = requirements
            .iter()
            .map(|requirement| {
                let of_frames = run.switch.as_ref().and_then(|switch| requirement.judge_frames(switch));
                of_frames.unwrap_or_else(|| requirement.judge(&run, on()))
            })
            .collect();
        Ok(run.into())
    }
}
