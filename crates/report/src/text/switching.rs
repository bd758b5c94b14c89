//! The tables of a switch under test: what became of the frames, and when.

use ontick_record::switching::{Class, Switching, Trial};
use ontick_record::{Histogram, Run};
use ontick_units::show;

use super::Style;
use super::lines::{hanging, shortened};
use crate::colour::Paint;
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::switching::{remarks, side};

const LABEL: usize = 10;
const COUNT: usize = 11;
const FEW: usize = 8;
const TIME: usize = 8;

/// Both tables, trial by trial.
pub(super) fn tables(switch: &Switching, style: &Style) -> String {
    let mut text = String::new();
    for trial in &switch.trials {
        text.push_str(&frames(trial, style));
    }
    text.push('\n');
    text.push_str(&times(switch, style));
    text
}

/// Frames, and how long after its gate's opening the first came.
fn frames(trial: &Trial, style: &Style) -> String {
    let wide = !style.is_narrow();
    let mut text = format!("{:<w$}{:>COUNT$}{:>COUNT$}", printable(&trial.name), "sent", "received", w = LABEL + 2);
    text.push_str(&format!("{:>FEW$}{:>FEW$}", "dropped", "outside"));
    if wide && trial.gates {
        text.push_str(&format!("  {:>TIME$}{:>TIME$}{:>TIME$}", "first p50", "p99", "max"));
    }
    text.push('\n');
    for class in &trial.classes {
        text.push_str(&row(class, trial, wide, style));
    }
    for remark in remarks(trial) {
        text.push_str(&hanging("    ", "", &printable(&remark), style.width));
    }
    text
}

fn row(class: &Class, trial: &Trial, wide: bool, style: &Style) -> String {
    let paint = Paint(style.colour);
    let mut text = format!("  {:<LABEL$}", shortened(&printable(&class.name), LABEL - 1));
    text.push_str(&format!("{:>COUNT$}{:>COUNT$}", count(class.sent), count(class.received)));
    text.push_str(&format!("{:>FEW$}", count(class.dropped)));
    let outside = format!("{:>FEW$}", count(class.outside));
    text.push_str(&if trial.gates && class.outside > 0 { paint.look(&outside) } else { outside });
    if wide && trial.gates {
        let first = [class.first.quantile(0.5), class.first.quantile(0.99), class.first.max_ns].map(latency);
        text.push_str(&format!("  {:>9}{:>TIME$}{:>TIME$}", first[0], first[1], first[2]));
    }
    text.push('\n');
    text
}

/// Delay and jitter of all classes.
fn times(switch: &Switching, style: &Style) -> String {
    let wide = !style.is_narrow();
    let mut text = format!("{:<w$}{:>TIME$}{:>TIME$}{:>TIME$}", "delay", "p50", "p99", "max", w = 2 * LABEL + 2);
    if wide {
        text.push_str(&format!("  {:>10}{:>TIME$}{:>TIME$}", "jitter p50", "p99", "max"));
    }
    text.push('\n');
    let three = |h: &Histogram| [h.quantile(0.5), h.quantile(0.99), h.max_ns].map(latency);
    for (trial, class) in switch.trials.iter().flat_map(|trial| trial.classes.iter().map(move |class| (trial, class))) {
        let name = format!("{} ({})", printable(&class.name), printable(&trial.name));
        let [p50, p99, max] = three(&class.delay);
        text.push_str(&format!(
            "  {:<w$}{p50:>TIME$}{p99:>TIME$}{max:>TIME$}",
            shortened(&name, 2 * LABEL - 1),
            w = 2 * LABEL
        ));
        if wide {
            let [p50, p99, max] = three(&class.jitter);
            text.push_str(&format!("  {p50:>10}{p99:>TIME$}{max:>TIME$}"));
        }
        text.push('\n');
    }
    text
}

/// Frames outside their window, those beyond one edge of a gate together, in the order of time; nothing where there were
/// none.
pub fn violations(run: &Run, style: &Style) -> String {
    let Some(trial) = run.switch.as_ref().and_then(Switching::gated) else { return String::new() };
    let mut text = String::new();
    for violation in &trial.violations {
        let when = side(violation);
        let cause = violation.cause.as_deref().unwrap_or("no known cause");
        let class = printable(&violation.class);
        let frames = count(violation.frames);
        let words = format!("{class}: {frames} up to {} {when}: {}", show(violation.by_ns), printable(cause));
        let at = format!("  {:>10}  ", show(violation.at_ns));
        text.push_str(&hanging(&at, "", &words, style.width));
    }
    if trial.more_violations > 0 {
        text.push_str(&format!(
            "  {} further frames outside their window are not listed\n",
            count(trial.more_violations)
        ));
    }
    text
}
