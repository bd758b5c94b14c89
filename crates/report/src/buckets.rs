//! Records that hold a summary, and no latencies to draw or to count.

use ontick_record::{Run, Series};

/// Whether it is known of samples how late they were, which a summary does not tell.
pub(crate) fn has_buckets(series: &Series) -> bool {
    series.latency.count() > series.latency.overflow
}

/// Why a run without any has nothing to draw.
pub(crate) fn no_buckets(run: &Run) -> &'static str {
    match run.series.iter().any(|series| series.latency.count() > 0) {
        true => "it holds a summary, which does not tell how late each sample was",
        false => "it has no samples",
    }
}
