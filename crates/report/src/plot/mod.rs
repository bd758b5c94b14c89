//! Plots as SVG, and as PNG where the `png` feature is on.

mod arrivals;
mod blocks;
mod delays;
mod frame;
mod gantt;
mod growth;
mod latency;
mod maxima;
mod palette;
mod percentiles;
mod scale;

use ontick_record::{Run, Series, Switching};

use crate::bins::Decades;
use crate::compare::{Named, short_names};
use crate::headline;
use frame::{Frame, Paper};
use scale::{Scale, power_of_time};

pub use gantt::{Bar, Gantt, Row, gantt};
pub use growth::{Growth, Panel, growth};
pub(crate) use palette::{Curve, Ink, ON_DARK, ON_LIGHT, of_run, of_runs};

/// What a plot shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
    /// Samples by latency, both axes logarithmic, the worst case of each series marked.
    Latency,
    /// Latency by percentile, one step to the right for each further nine.
    Percentiles,
    /// Largest latency of each second (or longer stretch) of the run.
    Maxima,
    /// 99th percentile of each block of an interleaved comparison.
    Blocks,
    /// Frames that came through a switch, over the windows of its gates; of one run only.
    Arrivals,
    /// How long delays were over how long they were to be; of one run only.
    Delays,
}

impl Plot {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Plot::Latency => "Latency",
            Plot::Percentiles => "Latency by percentile",
            Plot::Maxima => "Largest latency over time",
            Plot::Blocks => "Blocks in order",
            Plot::Arrivals => "Arrivals over the gates",
            Plot::Delays => "Delays, asked for and got",
        }
    }

    /// Draws the curves on paper of the given size without a title, as a page wants it.
    pub(crate) fn inline(self, curves: &[Curve], width: f64, height: f64) -> String {
        self.draw(curves, &Paper { width, height, title: None })
    }

    /// Draws the curves that have something to show here.
    fn draw(self, curves: &[Curve], paper: &Paper) -> String {
        let with = |has: fn(&Series) -> bool| curves.iter().filter(|c| has(c.series)).cloned().collect::<Vec<_>>();
        match self {
            Plot::Latency => latency::draw(&with(|s| s.latency.count() > 0), paper),
            Plot::Percentiles => percentiles::draw(&with(|s| s.latency.count() > 0), paper),
            Plot::Maxima => maxima::draw(&with(|s| s.maxima.max_ns.iter().any(|ns| *ns > 0)), paper),
            Plot::Blocks => blocks::draw(&with(|s| !s.blocks.is_empty()), paper),
            Plot::Arrivals => arrivals::draw(None, paper),
            Plot::Delays => delays::draw(None, paper),
        }
    }
}

/// A plot of a run as an SVG document of its own, on white.
pub fn svg(run: &Run, plot: Plot) -> String {
    let machine = run.environment.as_ref().map_or_else(Vec::new, headline::machine);
    let title = match &run.simulated {
        Some(what) => format!("{} · simulated: {what}", plot.title()),
        None => format!("{} · {}", plot.title(), headline::title(run)),
    };
    let machine = machine.join(" · ");
    if plot == Plot::Arrivals {
        let height = arrivals::height(run.switch.as_ref(), BROAD, true);
        return arrivals::draw(run.switch.as_ref(), &Paper { width: BROAD, height, title: Some((title, machine)) });
    }
    if plot == Plot::Delays {
        let paper = Paper { width: 900.0, height: 480.0, title: Some((title, machine)) };
        return delays::draw(crate::delays::of(run).as_ref(), &paper);
    }
    document(&of_run(run), plot, title, machine)
}

/// The curve of delays, as a page wants it.
pub(crate) fn delays_inline(run: &Run, width: f64, height: f64) -> String {
    delays::draw(crate::delays::of(run).as_ref(), &Paper { width, height, title: None })
}

/// The width of a picture with several panels.
const BROAD: f64 = 1_080.0;

/// Arrivals over the gates, as a page wants them.
pub(crate) fn arrivals_inline(switch: &Switching, width: f64) -> String {
    let height = arrivals::height(Some(switch), width, false);
    arrivals::draw(Some(switch), &Paper { width, height, title: None })
}

/// A plot of several runs over each other.
pub fn svg_of_several(runs: &[Named], plot: Plot) -> String {
    let runs = &short_names(runs)[..];
    let names: Vec<&str> = runs.iter().map(|r| r.name).collect();
    let simulated = if runs.iter().any(|r| r.run.simulated.is_some()) { " · in part simulated" } else { "" };
    document(&of_runs(runs), plot, format!("{}{simulated}", plot.title()), names.join(" · "))
}

fn document(curves: &[Curve], plot: Plot, title: String, about: String) -> String {
    plot.draw(curves, &Paper { width: 900.0, height: 480.0, title: Some((title, about)) })
}

/// The vertical latency axis; what `x_axis` draws lies below its grid.
fn latency_axis(frame: &mut Frame, decades: Decades, x_axis: impl FnOnce(&mut Frame)) -> Scale {
    time_axis(frame, "latency", decades, x_axis)
}

/// A vertical axis of times.
fn time_axis(frame: &mut Frame, title: &str, decades: Decades, x_axis: impl FnOnce(&mut Frame)) -> Scale {
    let y = Scale::log(f64::from(decades.low), f64::from(decades.high), frame.bottom, frame.top);
    x_axis(frame);
    frame.y_axis(y, &y.powers(26.0, power_of_time), title);
    y
}
