//! A run as text for a terminal.

mod causes;
mod delays;
mod dips;
mod findings;
mod inspection;
mod instrument_check;
mod intervals;
mod lines;
mod list;
mod live;
mod plot;
mod pulses;
pub mod samples;
mod search;
mod split;
mod streams;
mod switching;
mod table;
mod tail;
mod trace;
mod uncertainty;
mod waits;

use ontick_record::{Environment, Measurement, Run};

use crate::figures::waits_differently;
use crate::round_trips;
use crate::{headline, verdict, warnings};
pub use findings::findings;
pub(crate) use findings::{count, why};
pub use inspection::inspection;
pub use list::{Entry, Mark, list};
pub use live::{Moment, live};
pub use plot::plot;
pub use switching::violations;
pub use uncertainty::uncertainty;

use crate::colour::Paint;
use crate::printable::printable;
use crate::pulses::has_pulses;
use lines::dotted;
pub(crate) use lines::{hanging, shortened};

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Mark what is good, bad or worth a look with colour; everything reads without it.
    pub colour: bool,
    /// Columns of the terminal. Tables need 80 to show all they have, and do with 40.
    pub width: usize,
}

impl Style {
    /// Whether names stand on lines of their own, above what belongs to them.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width < 60
    }
}

impl Default for Style {
    /// What fits everywhere: no colour, 80 columns.
    fn default() -> Self {
        Self { colour: false, width: 80 }
    }
}

/// That a run is simulated, and what is.
fn simulated(run: &Run, style: &Style) -> String {
    let line = |what: &String| hanging("simulated ", "simulated ", &printable(what), style.width);
    run.simulated.as_ref().map_or(String::new(), |what| Paint(style.colour).notice(&line(what)))
}

/// The whole result: machine, job and core; the table; the verdict; requirements; warnings.
pub fn summary(run: &Run, style: &Style) -> String {
    let mut text = simulated(run, style);
    for line in headline::lines(run) {
        let label = format!("{:<9} ", line.label);
        text.push_str(&hanging(&label, "", &dotted(&line.parts, style.width.saturating_sub(label.len())), style.width));
    }
    text.push('\n');
    text.push_str(&match (&run.switch, &run.network) {
        (Some(switch), _) => switching::tables(switch, style),
        (None, Some(network)) => streams::table(network, style),
        _ if run.search.is_some() => run.search.iter().map(|of| search::table(of, style)).collect(),
        _ if has_pulses(run) => pulses::pulses(run, style),
        _ => delays::delays(run, style)
            .or_else(|| dips::dips(run, style))
            .or_else(|| intervals::intervals(run, style))
            .unwrap_or_else(|| table::table(run, style)),
    });
    let has_delays = run.measurement == Measurement::Delay;
    if let Some(sentence) = waits_differently(run.series.iter()).filter(|_| !has_delays) {
        text.push_str(&hanging("  ", "", sentence, style.width));
    }
    text.push_str(&waits::waits(run, style));
    text.push_str(&split::split(run, style));
    for counts in round_trips::of(run) {
        text.push_str(&hanging("  ", "", &dotted(&counts, style.width.saturating_sub(2)), style.width));
    }
    text.push('\n');
    text.push_str(&hanging("", "", &printable(&verdict::verdict(run)), style.width));
    let stated = crate::uncertainty::headline(run);
    text.extend(stated.map(|stated| hanging("", "", &printable(&stated), style.width)));
    text.push_str(&instrument_check::instrument_check(run, style));
    text.extend(run.search.iter().map(|of| search::below(of, style)));
    text.push_str(&tail::tails(run, style));
    let causes = causes::causes(run, style);
    if !causes.is_empty() {
        text.push_str(&format!("\n{causes}"));
    }
    text.push_str(&requirements(run, style));
    for fact in &run.facts {
        text.push_str(&hanging("note: ", "", &printable(fact), style.width));
    }
    text.push_str(&warned(run, style));
    text
}

/// The machine, as the first line of a result says it.
pub fn machine(environment: &Environment, style: &Style) -> String {
    let label = "machine   ";
    hanging(label, "", &dotted(&headline::machine(environment), style.width.saturating_sub(label.len())), style.width)
}

/// Words after a label, wrapped with later lines under the first word.
pub fn labelled(label: &str, words: &str, style: &Style) -> String {
    hanging(label, "", &printable(words), style.width)
}

/// Text whose long lines are wrapped, each under what stands behind its label.
pub fn fitted(text: &str, style: &Style) -> String {
    lines::fitted(text, style.width)
}

/// Names with blanks between them, wrapped behind an indent. Each is a word, also if it is all digits.
pub fn wrapped_names(indent: &str, names: &str, style: &Style) -> String {
    lines::wrapped_names(indent, names, style.width)
}

/// A difference of two files (`diff -u`), what is added and taken away coloured.
pub fn diff(text: &str, style: &Style) -> String {
    let paint = Paint(style.colour);
    let line = |line: &str| match line.bytes().next() {
        Some(b'+') => paint.good(&printable(line)),
        Some(b'-') => paint.bad(&printable(line)),
        _ => printable(line),
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

fn requirements(run: &Run, style: &Style) -> String {
    let paint = Paint(style.colour);
    let mut text = String::new();
    for judged in &run.requirements {
        let (word, mark): (_, fn(&Paint, &str) -> String) = match (judged.met, judged.unproven) {
            (true, _) => ("met      ", Paint::good),
            (false, false) => ("not met  ", Paint::bad),
            (false, true) => ("not proven  ", Paint::bad),
        };
        let decided = if judged.series.is_empty() { String::new() } else { format!(" ({})", judged.series) };
        let rest = printable(&format!("{} — {}{decided}", judged.requirement, judged.observed));
        text.push_str(&hanging(word, &mark(&paint, word), &rest, style.width));
    }
    text
}

fn warned(run: &Run, style: &Style) -> String {
    let paint = Paint(style.colour);
    let label = "warning: ";
    let say = |sentence: &String| hanging(label, &paint.notice(label), &printable(sentence), style.width);
    warnings::warnings(run).iter().map(say).collect()
}
