//! Plots as SVG, and as PNG where the `png` feature is on.

mod arrivals;
mod blocks;
pub(crate) mod cpus;
mod datapath;
mod delays;
mod dips;
mod forest;
mod frame;
mod gantt;
mod growth;
mod hatch;
mod lacking;
mod latency;
mod links;
pub(crate) mod machines;
mod map;
mod maxima;
mod outliers;
mod palette;
pub(crate) mod panels;
mod percentiles;
mod persistence;
mod received;
mod scale;
mod signal;
mod tail;
mod topology;
mod waits;
mod waveform;
pub(crate) mod weeks;
mod widths;

use std::str::FromStr;

use ontick_record::{Measurement, Run, Series, Switching};

use crate::bins::Decades;
use crate::buckets::has_buckets;
use crate::compare::{Named, short_names};
use crate::headline;
use frame::{Frame, Paper};
use scale::{Scale, power_of_time};

pub use datapath::data_path;
pub use gantt::{Bar, Gantt, Row, gantt};
pub use growth::{Growth, Panel, growth};
pub use lacking::lacking;
pub(crate) use links::picture as links_picture;
pub use map::{Cable, Map, MapNode, map};
pub(crate) use palette::{Curve, Ink, ON_DARK, ON_LIGHT, common_quantity, of_run, of_runs};
pub(crate) use received::inline as received_inline;
pub use topology::{Delivery, Node, Port, Topology, topology};

/// What a plot shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
    /// Samples by latency, both axes logarithmic, the worst case of each series marked.
    Latency,
    /// Latency by percentile, one step to the right for each further nine.
    Percentiles,
    /// Largest latency of each second (or longer stretch) of the run.
    Maxima,
    /// Largest latency over time of each of several CPUs, as colours; of one run only.
    Cpus,
    /// 99th percentile of each block of an interleaved comparison.
    Blocks,
    /// Pulses by width, around the width that was asked for.
    Widths,
    /// All traces from a request on laid over each other, as an oscilloscope with infinite persistence shows them; of
    /// one run only.
    Persistence,
    /// The first pulses of a train, asked for and got, with both edges of each; of one run only.
    Waveform,
    /// Outliers over time by what made them late, with a lane for each CPU, and who had it around the largest; of one
    /// run only.
    Outliers,
    /// Frames that came through a switch, over the windows of its gates; of one run only.
    Arrivals,
    /// How long delays were over how long they were to be; of one run only.
    Delays,
    /// The largest wait, the second largest and the sum of each cycle of a loop with several waits; of one run only.
    Waits,
    /// Pulses received over a wire by width, without a load and beside one; of one run only.
    Received,
    /// Of how many dips of each width both edges were detected; of one run only.
    Dips,
    /// The frames of a network's first cycle over the gates of its links; of one run only.
    Links,
    /// What is exceeded once in so many cycles, beyond what was observed; of one run only.
    Tail,
    /// The gain of each setting of a search, with its interval; of one run only.
    Forest,
}

/// Text that names no plot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no plot (choose {list})", list = Plot::ALL.map(Plot::name).join(", "))]
pub struct PlotError(String);

impl FromStr for Plot {
    type Err = PlotError;

    fn from_str(text: &str) -> Result<Self, PlotError> {
        Plot::ALL.into_iter().find(|plot| plot.name() == text).ok_or_else(|| PlotError(text.into()))
    }
}

impl Plot {
    /// Every plot.
    pub const ALL: [Plot; 17] = [
        Plot::Latency,
        Plot::Percentiles,
        Plot::Maxima,
        Plot::Cpus,
        Plot::Blocks,
        Plot::Widths,
        Plot::Persistence,
        Plot::Waveform,
        Plot::Outliers,
        Plot::Arrivals,
        Plot::Delays,
        Plot::Waits,
        Plot::Received,
        Plot::Dips,
        Plot::Links,
        Plot::Tail,
        Plot::Forest,
    ];

    /// What it is chosen by.
    pub fn name(self) -> &'static str {
        match self {
            Plot::Latency => "latency",
            Plot::Percentiles => "percentiles",
            Plot::Maxima => "maxima",
            Plot::Cpus => "cpus",
            Plot::Blocks => "blocks",
            Plot::Widths => "widths",
            Plot::Persistence => "persistence",
            Plot::Waveform => "waveform",
            Plot::Outliers => "outliers",
            Plot::Arrivals => "arrivals",
            Plot::Delays => "delays",
            Plot::Waits => "waits",
            Plot::Received => "received",
            Plot::Dips => "dips",
            Plot::Links => "links",
            Plot::Tail => "tail",
            Plot::Forest => "forest",
        }
    }

    /// What it shows, in a line.
    pub fn shows(self) -> &'static str {
        match self {
            Plot::Latency => "Samples by latency, both axes logarithmic",
            Plot::Percentiles => "Latency by percentile",
            Plot::Maxima => "Largest latency over time",
            Plot::Cpus => "Largest latency over time of each CPU, as colours (--cpu with several)",
            Plot::Blocks => "99th percentile of each block of an interleaved comparison",
            Plot::Widths => "Pulses by width",
            Plot::Persistence => {
                "All traces from a request on over each other, as an oscilloscope shows them (response, edge, pulse)"
            }
            Plot::Waveform => "The first pulses of a train, asked for and got",
            Plot::Outliers => "Outliers over time by cause, with a lane for each CPU",
            Plot::Arrivals => "Frames that passed a switch, over the windows of its gates",
            Plot::Delays => "How long delays were over how long they were to be",
            Plot::Waits => "The largest wait and the sum of each cycle of a loop with several waits",
            Plot::Received => "Pulses received over a wire by width, without a load and beside one (link test)",
            Plot::Dips => "Of how many dips of each width both edges were detected (latency dip)",
            Plot::Links => "The frames of a network's first cycle over the gates of its links (network prove)",
            Plot::Tail => "What is exceeded once in so many cycles, with the band that it lies in (implies --tail)",
            Plot::Forest => "The gain of each setting of a search, with its interval (tune search)",
        }
    }

    /// The one that says most of a run: what a scope would have shown of its lines, or the latencies.
    pub fn of(run: &Run) -> Self {
        match run.measurement {
            _ if run.search.is_some() => Plot::Forest,
            _ if run.switch.is_some() => Plot::Arrivals,
            _ if run.network.as_ref().is_some_and(|network| !network.links.is_empty()) => Plot::Links,
            Measurement::Response | Measurement::Edge | Measurement::Pulse => Plot::Persistence,
            Measurement::Delay => Plot::Delays,
            _ if !crate::waits::of(run).is_empty() => Plot::Waits,
            Measurement::LinkTest => Plot::Received,
            Measurement::Dip => Plot::Dips,
            _ => Plot::Latency,
        }
    }

    pub(crate) fn title(self, curves: &[Curve]) -> String {
        let quantity = common_quantity(curves);
        let capital = quantity[..1].to_uppercase() + &quantity[1..];
        match self {
            Plot::Latency => capital,
            Plot::Percentiles => format!("{capital} by percentile"),
            Plot::Maxima => format!("Largest {quantity} over time"),
            Plot::Cpus => cpus::NAME.into(),
            Plot::Blocks => "Blocks in order".into(),
            Plot::Widths => "Widths".into(),
            Plot::Persistence => "Persistence".into(),
            Plot::Waveform => "Pulses, asked for and got".into(),
            Plot::Outliers => "Outliers over time".into(),
            Plot::Arrivals => "Arrivals over the gates".into(),
            Plot::Delays => "Delays, asked for and got".into(),
            Plot::Waits => SEVERAL_WAITS.into(),
            Plot::Received => received::NAME.into(),
            Plot::Dips => dips::NAME.into(),
            Plot::Links => FRAMES_ON_LINKS.into(),
            Plot::Tail => tail::NAME.into(),
            Plot::Forest => forest::NAME.into(),
        }
    }

    /// Draws the curves on paper of the given size without a title, as a page wants it.
    pub(crate) fn inline(self, curves: &[Curve], width: f64, height: f64) -> String {
        self.draw(curves, &Paper::inline(width, height))
    }

    /// Draws the curves that have something to show here.
    fn draw(self, curves: &[Curve], paper: &Paper) -> String {
        let with = |has: fn(&Series) -> bool| curves.iter().filter(|c| has(c.series)).cloned().collect::<Vec<_>>();
        match self {
            Plot::Latency => latency::draw(&with(|s| s.latency.count() > 0), paper),
            Plot::Percentiles => percentiles::draw(&with(has_buckets), paper),
            Plot::Maxima => maxima::draw(&with(|s| s.maxima.max_ns.iter().any(|ns| *ns > 0)), paper),
            Plot::Blocks => blocks::draw(&with(|s| !s.blocks.is_empty()), paper),
            Plot::Widths => widths::draw(&with(|s| s.pulse.as_ref().is_some_and(|p| !p.width.is_empty())), paper),
            Plot::Cpus => nothing(paper, self.title(&[]), "CPUs over time are those of one run"),
            Plot::Persistence => nothing(paper, self.title(&[]), NO_REQUESTS),
            Plot::Waveform => nothing(paper, self.title(&[]), NO_PULSES),
            Plot::Outliers => outliers::draw(None, paper),
            Plot::Arrivals => arrivals::draw(None, paper),
            Plot::Delays => delays::draw(None, paper),
            Plot::Waits => nothing(paper, self.title(&[]), NO_WAITS),
            Plot::Dips => nothing(paper, self.title(&[]), "dips are those of one run"),
            Plot::Links => nothing(paper, self.title(&[]), NO_LINKS),
            Plot::Tail => nothing(paper, self.title(&[]), "a tail's bounds are those of one run"),
            Plot::Forest => forest::draw(None, paper),
            Plot::Received => nothing(paper, self.title(&[]), "a wire's pulses are those of one run"),
        }
    }
}

/// A plot of a run as an SVG document of its own, on white.
pub fn svg(run: &Run, plot: Plot) -> String {
    let machine = run.environment.as_ref().map_or_else(Vec::new, headline::machine);
    let title = match &run.simulated {
        Some(what) => format!("{} · simulated: {what}", plot.title(&of_run(run))),
        None => format!("{} · {}", plot.title(&of_run(run)), headline::title(run)),
    };
    let machine = machine.join(" · ");
    if plot == Plot::Arrivals {
        let height = arrivals::height(run.switch.as_ref(), BROAD, true);
        return arrivals::draw(run.switch.as_ref(), &Paper::titled(BROAD, height, (title, machine)));
    }
    if plot == Plot::Outliers {
        let timeline = outliers::timeline(run);
        let height = outliers::height(timeline.as_ref(), 900.0, 62.0);
        return outliers::draw(timeline.as_ref(), &Paper::titled(900.0, height, (title, machine)));
    }
    if plot == Plot::Waveform {
        return waveform_document(run, (title, machine));
    }
    if plot == Plot::Persistence {
        return persistence_document(run, (title, machine));
    }
    if plot == Plot::Cpus {
        return cpus::document(run, (title, machine));
    }
    if plot == Plot::Delays {
        let paper = Paper::titled(900.0, 480.0, (title, machine));
        return delays::draw(crate::delays::of(run).as_ref(), &paper);
    }
    if plot == Plot::Waits {
        return waits_document(run, (title, machine));
    }
    if plot == Plot::Dips {
        return dips::draw(run, &Paper::titled(900.0, 480.0, (title, machine)));
    }
    if let (Plot::Links, Some(network)) = (plot, &run.network) {
        return gantt(&links::picture(network));
    }
    if plot == Plot::Tail {
        return tail::draw(run, &Paper::titled(900.0, 480.0, (title, machine)));
    }
    if plot == Plot::Forest {
        let height = forest::height(run.search.as_ref(), 62.0);
        return forest::draw(run.search.as_ref(), &Paper::titled(BROAD, height, (title, machine)));
    }
    if plot == Plot::Received {
        return received::document(run, (title, machine));
    }
    document(&of_run(run), plot, title, machine)
}

const FRAMES_ON_LINKS: &str = "Frames on links";
const NO_LINKS: &str = "no frames of a network were kept in this run";
const SEVERAL_WAITS: &str = "Several waits of a cycle";
const NO_WAITS: &str = "no loop of several waits was measured in this run";

fn waits_document(run: &Run, title: (String, String)) -> String {
    match &crate::waits::of(run)[..] {
        [] => nothing(&Paper::titled(900.0, 480.0, title), SEVERAL_WAITS.into(), NO_WAITS),
        [only] => waits::draw(only, &Paper::titled(900.0, 480.0, title)),
        several => {
            let paper = Paper::inline(panels::WIDTH, TALL);
            let drawn = several.iter().map(|of_loop| (of_loop.method.into(), waits::draw(of_loop, &paper)));
            panels::grid_of(SEVERAL_WAITS, TALL, &[], drawn.collect(), title)
        }
    }
}

/// The gains of a search, as a page wants them.
pub(crate) fn forest_inline(of: &ontick_record::Search, width: f64) -> String {
    forest::draw(Some(of), &Paper::inline(width, forest::height(Some(of), 10.0)))
}

/// Samples over time, as a page wants them.
pub(crate) fn signal_inline(of: &ontick_record::run::Signal, width: f64) -> String {
    signal::over_time(of, &Paper::inline(width, 300.0))
}

/// Their spectrum, where they have one.
pub(crate) fn spectrum_inline(of: &ontick_record::run::Signal, width: f64) -> Option<String> {
    signal::over_frequency(of, &Paper::inline(width, 300.0))
}

/// A loop of several waits, as a page wants it.
pub(crate) fn waits_inline(of_loop: &crate::waits::Loop, width: f64, height: f64) -> String {
    waits::draw(of_loop, &Paper::inline(width, height))
}

const NO_REQUESTS: &str = "no requests were made of a line in this run";

fn nothing(paper: &Paper, name: String, words: &str) -> String {
    let mut frame = Frame::new(paper, &name, &[], 0.0);
    frame.nothing(words);
    frame.finish()
}

fn persistence_document(run: &Run, title: (String, String)) -> String {
    let name = "Persistence";
    match &persistence::screens(run)[..] {
        [] => nothing(&Paper::titled(900.0, 480.0, title), name.into(), NO_REQUESTS),
        [only] => persistence::draw(only, &Paper::titled(900.0, 420.0, title)),
        several => {
            let drawn = several.iter().map(|s| (s.name.clone(), persistence::draw(s, &screen_paper())));
            panels::grid(name, &[], drawn.collect(), title)
        }
    }
}

const NO_PULSES: &str = "no pulses were kept one by one in this run";

fn waveform_document(run: &Run, title: (String, String)) -> String {
    match &waveform::trains(run)[..] {
        [] => nothing(&Paper::titled(900.0, 480.0, title), "Pulses".into(), NO_PULSES),
        [only] => waveform::draw(only, &Paper::titled(900.0, 460.0, title)),
        several => {
            let paper = Paper::inline(panels::WIDTH, TALL);
            let drawn = several.iter().map(|train| (train.name.clone(), waveform::draw(train, &paper)));
            panels::grid_of("Pulses", TALL, &[], drawn.collect(), title)
        }
    }
}

/// A panel of two plots.
const TALL: f64 = 330.0;

/// Each train with its first pulses, as a page wants it.
pub(crate) fn waveforms_inline(run: &Run, width: f64) -> Vec<(String, String)> {
    let paper = Paper::inline(width, 380.0);
    waveform::trains(run).iter().map(|train| (train.name.clone(), waveform::draw(train, &paper))).collect()
}

fn screen_paper() -> Paper<'static> {
    Paper::inline(panels::WIDTH, panels::HEIGHT)
}

/// The outliers of a run over time, as a page wants them; none where none were kept.
pub(crate) fn outliers_inline(run: &Run, width: f64) -> Option<String> {
    let timeline = outliers::timeline(run)?;
    let height = outliers::height(Some(&timeline), width, 10.0);
    Some(outliers::draw(Some(&timeline), &Paper::inline(width, height)))
}

/// The CPUs of each method over time, as a page wants them.
pub(crate) fn cpus_inline(run: &Run, width: f64) -> Vec<(String, String)> {
    let heats = cpus::heats(run);
    let draw = |heat: &cpus::Heat| cpus::draw(heat, &Paper::inline(width, heat.height(false)));
    heats.iter().map(|heat| (heat.method.clone(), draw(heat))).collect()
}

/// Each series with its traces over each other, as a page wants it.
pub(crate) fn persistence_inline(run: &Run) -> Vec<(String, String)> {
    let screens = persistence::screens(run);
    screens.iter().map(|screen| (screen.name.clone(), persistence::draw(screen, &screen_paper()))).collect()
}

/// Dips detected by width, as a page wants them.
pub(crate) fn dips_inline(run: &Run, width: f64, height: f64) -> String {
    dips::draw(run, &Paper::inline(width, height))
}

/// Return levels of the series that have a bound, as a page wants them.
pub(crate) fn tail_inline(run: &Run, width: f64, height: f64) -> String {
    tail::draw(run, &Paper::inline(width, height))
}

/// The curve of delays, as a page wants it.
pub(crate) fn delays_inline(run: &Run, width: f64, height: f64) -> String {
    delays::draw(crate::delays::of(run).as_ref(), &Paper::inline(width, height))
}

/// The width of a picture with several panels.
const BROAD: f64 = 1_080.0;

/// Arrivals over the gates, as a page wants them.
pub(crate) fn arrivals_inline(switch: &Switching, width: f64) -> String {
    let height = arrivals::height(Some(switch), width, false);
    arrivals::draw(Some(switch), &Paper::inline(width, height))
}

/// A plot of several runs over each other.
pub fn svg_of_several(runs: &[Named], plot: Plot) -> String {
    let runs = &short_names(runs)[..];
    let names: Vec<&str> = runs.iter().map(|r| r.name).collect();
    let simulated = if runs.iter().any(|r| r.run.simulated.is_some()) { " · in part simulated" } else { "" };
    let curves = of_runs(runs);
    document(&curves, plot, format!("{}{simulated}", plot.title(&curves)), names.join(" · "))
}

fn document(curves: &[Curve], plot: Plot, title: String, about: String) -> String {
    match panels::panels(curves) {
        Some(panels) => panels::document(plot, &panels, curves, (title, about)),
        None => plot.draw(curves, &Paper::titled(900.0, 480.0, (title, about))),
    }
}

/// The vertical latency axis; what `x_axis` draws lies below its grid.
fn latency_axis(frame: &mut Frame, curves: &[Curve], decades: Decades, x_axis: impl FnOnce(&mut Frame)) -> Scale {
    time_axis(frame, common_quantity(curves), decades, x_axis)
}

/// A vertical axis of times.
fn time_axis(frame: &mut Frame, title: &str, decades: Decades, x_axis: impl FnOnce(&mut Frame)) -> Scale {
    let y = Scale::log(f64::from(decades.low), f64::from(decades.high), frame.bottom, frame.top);
    x_axis(frame);
    frame.y_axis(y, &y.powers(26.0, power_of_time), title);
    y
}
