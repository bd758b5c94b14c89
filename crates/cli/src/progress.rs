//! How far a run is: a line on the terminal that is rewritten, or the whole screen with `--watch`.

use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use ontick_measure::{Live, conditions};
use ontick_record::{Measurement, Run, Series};
use ontick_report::text::samples::{Samples, State};
use ontick_report::text::{self, Moment};
use ontick_units::{count, show};

use crate::terminal;

/// Where progress is shown.
pub struct Progress {
    kind: Measurement,
    view: View,
    waits_for: Option<String>,
    /// Readers whose failure was reported.
    reported: Vec<String>,
}

enum View {
    /// Not asked for, or no terminal to itself. That something is waited for is said once.
    None { reported: bool },
    /// A line that is rewritten.
    Line,
    /// The other screen of the terminal, so that what was there comes back.
    Screen,
    /// A line every second, for a log.
    Log { last: Option<Instant> },
}

/// Something that is waited for longer than this is worth a word.
const PATIENCE: Duration = Duration::from_secs(2);

impl Progress {
    /// Shows the progress of a measurement on standard error; `watch` asks for more than a line. Where standard output
    /// belongs to something else, a terminal that shows it gets no line in between. `waits_for` may never come.
    pub fn new(kind: Measurement, watch: bool, stdout_taken: bool, waits_for: Option<String>) -> Self {
        let shared = stdout_taken && stdout().is_terminal();
        let view = match (terminal::can_rewrite(), watch) {
            (true, true) => View::Screen,
            (true, false) if !shared => View::Line,
            (false, true) => View::Log { last: None },
            _ => View::None { reported: false },
        };
        if matches!(view, View::Screen) {
            terminal::enter_other_screen();
        }
        Self { kind, view, waits_for, reported: Vec::new() }
    }

    /// Shows how things are now.
    pub fn look(&mut self, live: &Live, samples: Option<&Samples>) {
        self.report_failures(samples);
        let waits_for = self.waits_for.as_deref().filter(|_| live.latency.count() == 0);
        let line = || waits_for.map_or_else(|| line(live, samples), |what| format!("waiting for {what}"));
        match &mut self.view {
            View::None { reported } => {
                if let Some(what) = waits_for.filter(|_| !*reported && live.elapsed > PATIENCE) {
                    *reported = true;
                    terminal::say(&format!("waiting for {what}"));
                }
            }
            View::Line => {
                terminal::rewrite(&line());
            }
            View::Log { last } => {
                if last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
                    *last = Some(Instant::now());
                    terminal::say(&line());
                }
            }
            View::Screen => screen(&self.kind, live, waits_for, samples),
        }
    }

    /// Says at once which reader of samples failed while others go on; the screen shows all of them anyway, and the end of
    /// the run speaks for itself.
    fn report_failures(&mut self, samples: Option<&Samples>) {
        let goes_on = |samples: &&Samples| {
            !samples.listening.is_empty() || samples.readers.iter().any(|of| matches!(of.state, State::Here { .. }))
        };
        let samples = samples.filter(goes_on);
        for reader in samples.iter().flat_map(|samples| &samples.readers) {
            let State::Failed(why) = &reader.state else { continue };
            if matches!(self.view, View::Screen) || self.reported.contains(&reader.name) {
                continue;
            }
            if matches!(self.view, View::Line) {
                terminal::clear_line();
            }
            terminal::say(&format!("{}: {why} (after {} samples)", reader.name, count(reader.samples)));
            self.reported.push(reader.name.clone());
        }
    }
}

fn line(live: &Live, samples: Option<&Samples>) -> String {
    let figure = |ns: Option<u64>| ns.map(show).unwrap_or_default();
    let done = live.done.map_or(format!("{:3}s", live.elapsed.as_secs()), |done| format!("{:3.0}%", done * 100.0));
    if live.latency.count() == 0 && samples.is_none() {
        return format!("{done}  {}", live.name);
    }
    let samples = samples.map(|samples| format!("  {}", samples.rate_in_words())).unwrap_or_default();
    format!(
        "{done}  {}{samples}  p50 {}  p99 {}  max {}  missed {}",
        live.name,
        figure(live.latency.quantile(0.5)),
        figure(live.latency.quantile(0.99)),
        figure(live.latency.max_ns),
        live.missed
    )
}

fn screen(kind: &Measurement, live: &Live, waits_for: Option<&str>, samples: Option<&Samples>) {
    let mut run = Run::new("ontick", kind.clone());
    run.duration_ns = live.elapsed.as_nanos() as u64;
    run.series.push(Series {
        name: live.name.into(),
        latency: live.latency.clone(),
        missed: live.missed,
        maxima: live.maxima.clone(),
        ..Series::default()
    });
    let (_, rows) = terminal::size().unwrap_or((80, 24));
    let load_average = conditions::load_average().map(|[one, ..]| one);
    let now = Moment { run: &run, done: live.done, load_average, waits_for, samples };
    let text = text::live(&now, &terminal::screen_style(), rows);
    terminal::screen(&text);
}

impl Drop for Progress {
    fn drop(&mut self) {
        match self.view {
            View::Line => terminal::clear_line(),
            View::Screen => terminal::leave_other_screen(),
            View::None { .. } | View::Log { .. } => {}
        }
    }
}
