//! What a run lacks for a plot: whoever asks for it learns that before an empty picture is written.

use ontick_record::{Run, Series};

use super::{
    NO_LINKS, NO_PULSES, NO_REQUESTS, NO_WAITS, Plot, cpus, forest, outliers, persistence, received, tail, waveform,
};
use crate::buckets::{has_buckets, no_buckets};

/// Why there is nothing to draw, in words; nothing if there is.
///
/// ```
/// use ontick_record::Run;
/// use ontick_report::plot::{Plot, lacking};
/// let run = Run::new("ontick 0.1.0", "timer");
/// assert_eq!(lacking(&run, Plot::Outliers), Some("no outliers were kept in this run"));
/// ```
pub fn lacking(run: &Run, plot: Plot) -> Option<&'static str> {
    let any = |has: fn(&Series) -> bool| run.series.iter().any(has);
    let (there, words) = match plot {
        Plot::Latency | Plot::Percentiles => (any(has_buckets), no_buckets(run)),
        Plot::Maxima => (any(|s| s.maxima.max_ns.iter().any(|ns| *ns > 0)), "no maxima over time were recorded"),
        Plot::Cpus => (!cpus::heats(run).is_empty(), cpus::LACKING),
        Plot::Blocks => (any(|s| !s.blocks.is_empty()), "the run was not measured in blocks"),
        Plot::Widths => {
            (any(|s| s.pulse.as_ref().is_some_and(|pulse| !pulse.width.is_empty())), "no pulses were measured")
        }
        Plot::Persistence => (!persistence::screens(run).is_empty(), NO_REQUESTS),
        Plot::Waveform => (!waveform::trains(run).is_empty(), NO_PULSES),
        Plot::Outliers => (outliers::timeline(run).is_some(), "no outliers were kept in this run"),
        Plot::Arrivals => (run.switch.is_some(), "no frames went through a switch in this run"),
        Plot::Delays => (crate::delays::of(run).is_some(), "no delays were measured"),
        Plot::Waits => (!crate::waits::of(run).is_empty(), NO_WAITS),
        Plot::Received => (!received::sides(run).is_empty(), "no wire was tested in this run"),
        Plot::Links => (run.network.as_ref().is_some_and(|network| !network.links.is_empty()), NO_LINKS),
        Plot::Tail => (tail::bounds(run).next().is_some(), tail::LACKING),
        Plot::Forest => (run.search.as_ref().is_some_and(|of| !of.effects.is_empty()), forest::LACKING),
        Plot::Dips => (!crate::dips::of(run).is_empty(), "no dips were searched in this run"),
    };
    (!there).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_no_latencies_to_draw() {
        let mut run = Run::new("cyclictest", "timer");
        let mut series = Series::default();
        (series.latency.overflow, series.latency.max_ns) = (1_000, Some(41_000));
        run.series.push(series);
        for plot in [Plot::Latency, Plot::Percentiles] {
            assert!(lacking(&run, plot).is_some_and(|why| why.starts_with("it holds a summary")));
        }
        run.series[0].latency.add(5_000, 1, 1);
        assert_eq!(lacking(&run, Plot::Percentiles), None);
    }
}
