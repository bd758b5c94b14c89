//! How far a run is: a line on the terminal that is rewritten, or the whole screen with `--watch`.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use ontick_measure::{Live, conditions};
use ontick_record::units::show;
use ontick_record::{Run, Series};
use ontick_report::text;

use crate::terminal;

/// Where progress is shown.
pub struct Progress {
    kind: &'static str,
    view: View,
}

enum View {
    /// Not asked for, and no terminal.
    None,
    /// A line that is rewritten.
    Line,
    /// The other screen of the terminal, so that what was there comes back.
    Screen,
    /// A line every second, for a log.
    Log { last: Option<Instant> },
}

impl Progress {
    /// Shows the progress of a measurement on standard error; `watch` asks for more than a line.
    pub fn new(kind: &'static str, watch: bool) -> Self {
        let view = match (stderr().is_terminal(), watch) {
            (true, true) => View::Screen,
            (true, false) => View::Line,
            (false, true) => View::Log { last: None },
            (false, false) => View::None,
        };
        if matches!(view, View::Screen) {
            terminal::enter_other_screen();
        }
        Self { kind, view }
    }

    /// Shows how things are now.
    pub fn look(&mut self, live: &Live) {
        match &mut self.view {
            View::None => {}
            View::Line => {
                let width = terminal::width().unwrap_or(80).saturating_sub(1);
                let line: String = line(live).chars().take(width).collect();
                let _ = write!(stderr(), "\r\x1b[K{line}");
            }
            View::Log { last } => {
                if last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
                    *last = Some(Instant::now());
                    let _ = writeln!(stderr(), "{}", line(live));
                }
            }
            View::Screen => screen(self.kind, live),
        }
    }
}

fn line(live: &Live) -> String {
    let figure = |ns: Option<u64>| ns.map(show).unwrap_or_default();
    format!(
        "{:3.0}%  {}  p50 {}  p99 {}  max {}  missed {}",
        live.done * 100.0,
        live.name,
        figure(live.latency.quantile(0.5)),
        figure(live.latency.quantile(0.99)),
        figure(live.latency.max_ns),
        live.missed
    )
}

fn screen(kind: &str, live: &Live) {
    let mut run = Run::new("ontick", kind);
    run.duration_ns = live.elapsed.as_nanos() as u64;
    run.series.push(Series {
        name: live.name.into(),
        latency: live.latency.clone(),
        missed: live.missed,
        maxima: live.maxima.clone(),
        ..Series::default()
    });
    let (_, rows) = terminal::size().unwrap_or((80, 24));
    let load = conditions::load_average().map(|[one, ..]| one);
    let text = text::live(&run, live.done, load, &terminal::style(), rows);
    // From the top, each line cleared to its end, then the rest of the screen: no flicker.
    let _ = write!(stderr(), "\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\r\n"));
}

impl Drop for Progress {
    fn drop(&mut self) {
        match self.view {
            View::Line => drop(write!(stderr(), "\r\x1b[K")),
            View::Screen => terminal::leave_other_screen(),
            View::None | View::Log { .. } => {}
        }
    }
}
