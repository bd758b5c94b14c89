//! Numbers in one piece of memory, which numpy, pyarrow and `memoryview` take as they are.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

pub fn u64s(py: Python<'_>, values: impl ExactSizeIterator<Item = u64>) -> PyResult<Bound<'_, PyBytes>> {
    eight(py, values.map(u64::to_ne_bytes))
}

pub fn f64s(py: Python<'_>, values: impl ExactSizeIterator<Item = f64>) -> PyResult<Bound<'_, PyBytes>> {
    eight(py, values.map(f64::to_ne_bytes))
}

fn eight(py: Python<'_>, values: impl ExactSizeIterator<Item = [u8; 8]>) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, values.len() * 8, |bytes| {
        bytes.chunks_exact_mut(8).zip(values).for_each(|(place, value)| place.copy_from_slice(&value));
        Ok(())
    })
}
