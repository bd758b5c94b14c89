//! The run that a capture becomes.

use super::clock::Clock;
use super::counts::Counts;
use super::edges::{Answers, Edges, Stretch};
use super::job::{Job, Subject};
use super::listener::{Channel, Header, Levels, Listener, choose, names};
use super::tally::Tally;
use super::{CaptureError, Format};
use crate::run::{Instrument, Pulse};
use crate::uncertainty::{Component, Source, Uncertainty};
use crate::{Measurement, Run, Series};

/// Pulses that are kept one by one, for a picture of them.
const FIRST: usize = 32;

/// A listener that measures what a job asks for.
pub(super) struct Measuring<'j> {
    job: &'j Job,
    tool: String,
    clock: Option<Clock>,
    channels: Vec<String>,
    /// The first moment, and the last.
    span: Option<(u64, u64)>,
    meter: Meter,
}

/// What is counted.
enum Meter {
    Intervals { edges: Edges, high: Tally, low: Tally, rises: Tally },
    Widths { edges: Edges, pulses: Pulses },
    Response { answers: Answers, times: Tally },
}

/// Pulses, or their distances, against what was asked for.
struct Pulses {
    wanted_ns: u64,
    period_ns: Option<u64>,
    inverse: bool,
    /// Distances are what is asked about, not widths.
    distances: bool,
    widths: Counts,
    errors: Tally,
    /// When each of the first pulses began, and how wide it was.
    first: Vec<(u64, u64)>,
    missed: u64,
}

impl Pulses {
    fn take(&mut self, from_ns: u64, stretch: Stretch, clock: &Clock) {
        match (stretch, self.inverse) {
            (Stretch::High(n), false) | (Stretch::Low(n), true) if !self.distances => {
                let ns = clock.ns(n);
                self.add(from_ns, ns);
                if self.first.len() < FIRST {
                    self.first.push((from_ns, ns));
                }
            }
            (Stretch::Rises(n), false) | (Stretch::Falls(n), true) => {
                let ns = clock.ns(n);
                if self.distances {
                    self.add(from_ns, ns);
                } else if let Some(period_ns) = self.period_ns.filter(|ns| *ns > 0) {
                    let periods = ns.saturating_add(period_ns / 2) / period_ns;
                    self.missed = self.missed.saturating_add(periods.saturating_sub(1));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, from_ns: u64, ns: u64) {
        self.widths.add(ns);
        self.errors.add(from_ns, ns.abs_diff(self.wanted_ns));
    }
}

impl<'j> Measuring<'j> {
    pub fn new(job: &'j Job) -> Self {
        let pulses = |wanted_ns, period_ns, inverse, distances| Pulses {
            wanted_ns,
            period_ns,
            inverse,
            distances,
            widths: Counts::default(),
            errors: Tally::default(),
            first: Vec::new(),
            missed: 0,
        };
        let edges = Edges::default;
        let meter = match &job.subject {
            Subject::Intervals { .. } => {
                let [high, low, rises] = std::array::from_fn(|_| Tally::default());
                Meter::Intervals { edges: edges(), high, low, rises }
            }
            Subject::Widths { width_ns, period_ns, inverse, .. } => {
                Meter::Widths { edges: edges(), pulses: pulses(*width_ns, *period_ns, *inverse, false) }
            }
            Subject::Period { period_ns, inverse, .. } => {
                Meter::Widths { edges: edges(), pulses: pulses(*period_ns, None, *inverse, true) }
            }
            Subject::Response { changes, inverse, .. } => {
                Meter::Response { answers: Answers::new(*changes, *inverse), times: Tally::default() }
            }
        };
        Self { job, tool: String::new(), clock: None, channels: Vec::new(), span: None, meter }
    }

    /// The channels that the job is about, by their places.
    fn chosen(&self, channels: &[Channel]) -> Result<Vec<usize>, CaptureError> {
        match &self.job.subject {
            Subject::Response { input, output, .. } => {
                let both = [choose(channels, input)?, choose(channels, output)?];
                match both[0] == both[1] {
                    true => Err(CaptureError::SameChannel(channels[both[0]].name.clone())),
                    false => Ok(both.to_vec()),
                }
            }
            Subject::Intervals { channel } | Subject::Widths { channel, .. } | Subject::Period { channel, .. } => {
                match (channel, channels.len()) {
                    (Some(named), _) => Ok(vec![choose(channels, named)?]),
                    (None, 1) => Ok(vec![0]),
                    (None, _) => Err(CaptureError::NoneNamed { channels: names(channels) }),
                }
            }
        }
    }
}

impl Listener for Measuring<'_> {
    fn begin(&mut self, header: Header) -> Result<Vec<usize>, CaptureError> {
        let chosen = self.chosen(&header.channels)?;
        self.channels = chosen.iter().map(|place| header.channels[*place].name.clone()).collect();
        (self.tool, self.clock) = (header.tool, Some(header.clock));
        Ok(chosen)
    }

    #[inline]
    fn levels(&mut self, tick: u64, levels: Levels) {
        let Some(clock) = &self.clock else { return };
        let at = clock.place(tick);
        let (began, _) = *self.span.get_or_insert((at, at));
        let since = |at: u64| clock.ns(at.saturating_sub(began));
        match &mut self.meter {
            Meter::Intervals { edges, high, low, rises } => edges.level(at, levels[0], |from, stretch| match stretch {
                Stretch::High(n) => high.add(since(from), clock.ns(n)),
                Stretch::Low(n) => low.add(since(from), clock.ns(n)),
                Stretch::Rises(n) => rises.add(since(from), clock.ns(n)),
                Stretch::Falls(_) => {}
            }),
            Meter::Widths { edges, pulses } => {
                edges.level(at, levels[0], |from, stretch| pulses.take(since(from), stretch, clock));
            }
            Meter::Response { answers, times } => {
                answers.levels(at, levels, |asked, took| times.add(since(asked), clock.ns(took)));
            }
        }
    }

    fn steps(&mut self, step_fs: u128) {
        self.clock = self.clock.map(|clock| clock.in_steps(step_fs));
    }

    fn end(&mut self, tick: u64) {
        if let (Some(clock), Some((_, last))) = (&self.clock, &mut self.span) {
            *last = clock.place(tick).max(*last);
        }
    }
}

impl Measuring<'_> {
    /// The run, once the whole capture was read.
    pub fn run(self, name: &str, format: Format) -> Result<Run, CaptureError> {
        let clock = self.clock.unwrap_or(Clock::of_ticks(1, None));
        let channel = self.channels.first().cloned().unwrap_or_default();
        let mut run = Run::new(self.tool, measurement(&self.job.subject));
        run.duration_ns = self.span.map_or(0, |(began, last)| clock.ns(last - began));
        let (edges, unknown) = match &self.meter {
            Meter::Intervals { edges, .. } | Meter::Widths { edges, .. } => (edges.count, edges.unknown),
            Meter::Response { answers, .. } => (answers.edges, answers.unknown),
        };
        let instrument = Instrument {
            capture: format.words().into(),
            rate_hz: clock.rate().map(|rate| rate.hertz()),
            resolution_ps: clock.resolution_ps(),
            edges,
        };
        let mut asked = edges;
        let grain_ns = match self.meter {
            Meter::Intervals { high, low, rises, .. } => {
                let all = [(high, "high"), (low, "low"), (rises, "period")];
                let grain_ns = all.iter().map(|(tally, _)| tally.grain_ns()).max();
                run.series.extend(all.map(|(tally, what)| tally.into_series(format!("{channel} {what}"))));
                run.series.iter_mut().for_each(|series| series.settings.line = Some(channel.clone()));
                grain_ns
            }
            Meter::Widths { pulses, .. } => {
                let grain_ns = pulses.errors.grain_ns();
                run.series.push(pulses.into_series(&channel, &run.tool, &instrument));
                Some(grain_ns)
            }
            Meter::Response { answers, times } => {
                let grain_ns = times.grain_ns();
                let output = self.channels.get(1).cloned().unwrap_or_default();
                asked = answers.asked;
                let mut series = times.into_series(format!("{channel} to {output}"));
                (series.settings.input_line, series.settings.output_line) = (Some(channel.clone()), Some(output));
                series.missed = answers.missed;
                run.series.push(series);
                Some(grain_ns)
            }
        };
        if let (Some(series), true) = (run.series.first(), run.series.iter().all(|s| s.latency.count() == 0)) {
            let needed = match &self.job.subject {
                Subject::Response { .. } => {
                    "no change of the input is followed by its answer; are the channels the right ones, and is the output inverse?"
                }
                Subject::Period { .. } => "a period lies between two edges of one direction that are in the capture",
                _ => "a pulse lies between two edges that are in the capture",
            };
            let edges = if asked == 1 { "1 edge".into() } else { format!("{asked} edges") };
            let channel = series.settings.input_line.clone().unwrap_or(channel);
            return Err(CaptureError::TooFew { channel, edges, needed });
        }
        // Of what was not asked about, a series without samples says nothing.
        run.series.retain(|series| series.latency.count() > 0);
        for series in &mut run.series {
            series.uncertainty = Some(Uncertainty::of(vec![sampled(&instrument)]));
            series.state_uncertainty();
        }
        run.simulated = simulated(&run.tool, &self.channels);
        run.facts = facts(name, &run.tool, &instrument);
        run.notes = notes(&run, &self.channels, &instrument, unknown, grain_ns.unwrap_or(1));
        run.instrument = Some(instrument);
        Ok(run)
    }
}

impl Pulses {
    fn into_series(mut self, channel: &str, tool: &str, instrument: &Instrument) -> Series {
        let what = if self.distances {
            "period"
        } else if self.inverse {
            "low"
        } else {
            "high"
        };
        let mut series = self.errors.into_series(format!("{channel} {what}"));
        series.settings.line = Some(channel.into());
        series.missed = self.missed;
        let begin_ns = self.first.first().map_or(0, |(from_ns, _)| *from_ns);
        // A picture of pulses needs to know when they were asked for.
        let first = match self.period_ns {
            Some(_) => self.first.iter().map(|(from_ns, ns)| (from_ns - begin_ns, *ns)).collect(),
            None => Vec::new(),
        };
        // A dump need not say what wrote it.
        let tool = if tool.is_empty() { "an instrument" } else { tool };
        series.pulse = Some(Pulse {
            wanted_ns: self.wanted_ns,
            gap_ns: self.period_ns.map_or(0, |period_ns| period_ns.saturating_sub(self.wanted_ns)),
            width: self.widths.histogram(),
            first,
            measured_by: format!("{tool} (±{})", instrument.resolution()),
            subtracted_ns: None,
        });
        series
    }
}

/// Each of the two edges came at some moment since the sample before.
fn sampled(instrument: &Instrument) -> Component {
    Component::rectangular(Source::InstrumentSample, instrument.resolution_ps as f64 / 2_000.0).times(2)
}

fn measurement(subject: &Subject) -> Measurement {
    match subject {
        Subject::Intervals { .. } => Measurement::Intervals,
        Subject::Widths { .. } => Measurement::Pulse,
        Subject::Period { .. } => Measurement::Period,
        Subject::Response { .. } => Measurement::Response,
    }
}

fn facts(name: &str, tool: &str, instrument: &Instrument) -> Vec<String> {
    let by = if tool.is_empty() { String::new() } else { format!(" written by {tool}") };
    let mut facts = vec![format!("imported from {name}, a {}{by}", instrument.capture)];
    let shortest = instrument.resolution();
    facts.push(format!(
        "pulses shorter than {shortest} can be missing; what is cut off at the beginning and the end is left out"
    ));
    facts
}

/// What ontick watched has its own names of lines, by which the simulated ones are known.
fn simulated(tool: &str, channels: &[String]) -> Option<String> {
    let names: Vec<&str> = channels.iter().map(String::as_str).filter(|name| is_simulated(name)).collect();
    let word = if names.len() == 1 { "line" } else { "lines" };
    (is_ontick(tool) && !names.is_empty()).then(|| format!("{word} {} in shared memory", names.join(", ")))
}

/// What is to be said of the lines that the machine itself saw. A simulated line has the times of its edges.
fn noticed(channels: &[String]) -> Option<String> {
    let names: Vec<&str> = channels.iter().map(String::as_str).filter(|name| !is_simulated(name)).collect();
    let (word, whose) = if names.len() == 1 { ("line", "its") } else { ("lines", "their") };
    (!names.is_empty()).then(|| {
        format!(
            "No instrument saw {word} {}: the times of {whose} edges are those at which the machine noticed them itself.",
            names.join(", ")
        )
    })
}

fn is_simulated(name: &str) -> bool {
    name.starts_with("sim:")
}

fn is_ontick(tool: &str) -> bool {
    tool.starts_with("ontick ")
}

fn notes(run: &Run, channels: &[String], instrument: &Instrument, unknown: u64, grain_ns: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if is_ontick(&run.tool) {
        notes.extend(noticed(channels));
    } else if instrument.rate_hz.is_none() {
        notes.push(format!(
            "The file does not say at which rate the instrument sampled: its times have steps of {}, and may be as coarse as one sample.",
            instrument.resolution()
        ));
    }
    if unknown > 0 {
        let times = if unknown == 1 { "once".into() } else { format!("{unknown} times") };
        notes.push(format!("The level became unknown {times}; what lasted then is left out."));
    }
    if grain_ns > 1 {
        notes
            .push(format!("There are more different times than are kept: they are counted in steps of {grain_ns} ns."));
    }
    notes
}
