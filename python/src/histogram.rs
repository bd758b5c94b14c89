//! A histogram.

use std::sync::Arc;

use ontick_record::Histogram as Counts;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::time;
use crate::columns::u64s;
use crate::errors::argument;

#[pyclass(frozen, module = "ontick._ontick")]
pub struct Histogram(pub Arc<Counts>);

#[pymethods]
impl Histogram {
    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[getter]
    fn min_ns(&self) -> Option<u64> {
        self.0.min_ns
    }

    #[getter]
    fn max_ns(&self) -> Option<u64> {
        self.0.max_ns
    }

    #[getter]
    fn mean_ns(&self) -> Option<f64> {
        self.0.mean()
    }

    #[getter]
    fn std_dev_ns(&self) -> Option<f64> {
        self.0.deviation().map(|deviation| deviation.ns)
    }

    #[getter]
    fn overflow(&self) -> u64 {
        self.0.overflow
    }

    fn quantile_ns(&self, share: f64) -> PyResult<Option<u64>> {
        match share {
            0.0..=1.0 => Ok(self.0.quantile(share)),
            _ => Err(argument(format!("the share is {share}: it must be from 0 to 1"))),
        }
    }

    fn count_below(&self, limit: &str) -> PyResult<u64> {
        Ok(self.0.below(time("limit", limit)?))
    }

    fn low_ns_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u64s(py, self.0.buckets().iter().map(|bucket| bucket.low_ns))
    }

    fn width_ns_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u64s(py, self.0.buckets().iter().map(|bucket| bucket.width_ns))
    }

    fn count_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u64s(py, self.0.buckets().iter().map(|bucket| bucket.count))
    }

    fn __len__(&self) -> usize {
        self.0.buckets().len()
    }
}
