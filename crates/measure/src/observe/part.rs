//! The part of a run that is measured: which series, and how much of the whole it is.

/// Which part of a run is measured next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Index of the series.
    pub series: usize,
    /// How much of the whole run is done when it begins, 0 to 1.
    pub from: f64,
    /// How much of the whole run it is, 0 to 1.
    pub share: f64,
}

impl Part {
    /// The n-th series that is measured together with this one.
    pub fn and(self, n: usize) -> Self {
        Self { series: self.series + n, ..self }
    }
}
