//! The tables of a switch under test: what became of the frames, and when.

use ontick_record::switching::{Class, Switching, Trial};
use ontick_record::{Histogram, Run};
use ontick_units::show;

use super::Style;
use super::lines::hanging;
use crate::colour::Paint;
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::switching::{remarks, side};

/// Names of classes: with less room the table has no need to be narrower, and with more it were too wide.
const LABEL: std::ops::RangeInclusive<usize> = 10..=13;
const DELAY_LABEL: usize = 20;
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
    let longest = trial.classes.iter().map(|class| printable(&class.name).chars().count()).max().unwrap_or(0);
    let label = if wide { (longest + 1).clamp(*LABEL.start(), *LABEL.end()) } else { *LABEL.start() };
    let mut text = format!("{:<w$}{:>COUNT$}{:>COUNT$}", printable(&trial.name), "sent", "received", w = label + 2);
    text.push_str(&format!(
        "{:>FEW$}{:>FEW$}",
        "dropped",
        if is_judged_by_slope(trial) { "beyond" } else { "outside" }
    ));
    if wide && trial.gates {
        text.push_str(&format!("  {:>TIME$}{:>TIME$}{:>TIME$}", "first p50", "p99", "max"));
    }
    text.push('\n');
    for class in &trial.classes {
        text.push_str(&row(class, trial, label, style));
    }
    for remark in remarks(trial) {
        text.push_str(&hanging("    ", "", &printable(&remark), style.width));
    }
    text
}

/// Whether there are idle slopes to keep to, and no windows.
fn is_judged_by_slope(trial: &Trial) -> bool {
    trial.is_shaped() && !trial.gates && trial.sum(|class| class.judged) == 0
}

/// A name as the first column of a row; one that is too long is on a line of its own, as no name is cut.
fn named(name: &str, label: usize) -> String {
    let name = printable(name);
    match name.chars().count() < label {
        true => format!("  {name:<label$}"),
        false => format!("  {name}\n  {:<label$}", ""),
    }
}

fn row(class: &Class, trial: &Trial, label: usize, style: &Style) -> String {
    let (paint, wide) = (Paint(style.colour), !style.is_narrow());
    let mut text = named(&class.name, label);
    text.push_str(&format!("{:>COUNT$}{:>COUNT$}", count(class.sent), count(class.received)));
    text.push_str(&format!("{:>FEW$}", count(class.dropped)));
    let wrong = match &class.shaped {
        _ if !is_judged_by_slope(trial) => class.outside,
        shaped => shaped.as_ref().map_or(0, |shaped| shaped.beyond),
    };
    let shown = format!("{:>FEW$}", count(wrong));
    text.push_str(&if (trial.gates || trial.is_shaped()) && wrong > 0 { paint.notice(&shown) } else { shown });
    if wide && trial.gates {
        let first = [class.first.quantile(0.5), class.first.quantile(0.99), class.first.max_ns].map(latency);
        text.push_str(&format!("  {:>9}{:>TIME$}{:>TIME$}", first[0], first[1], first[2]));
    }
    text.push('\n');
    text
}

/// Delay and jitter of all classes, trial by trial.
fn times(switch: &Switching, style: &Style) -> String {
    let wide = !style.is_narrow();
    let three = |h: &Histogram| [h.quantile(0.5), h.quantile(0.99), h.max_ns].map(latency);
    let mut text = String::new();
    for trial in &switch.trials {
        let title = format!("delay, {}", printable(&trial.name));
        text.push_str(&format!("{title:<w$}{:>TIME$}{:>TIME$}{:>TIME$}", "p50", "p99", "max", w = DELAY_LABEL + 2));
        if wide {
            text.push_str(&format!("  {:>10}{:>TIME$}{:>TIME$}", "jitter p50", "p99", "max"));
        }
        text.push('\n');
        for class in &trial.classes {
            let [p50, p99, max] = three(&class.delay);
            text.push_str(&named(&class.name, DELAY_LABEL));
            text.push_str(&format!("{p50:>TIME$}{p99:>TIME$}{max:>TIME$}"));
            if wide {
                let [p50, p99, max] = three(&class.jitter);
                text.push_str(&format!("  {p50:>10}{p99:>TIME$}{max:>TIME$}"));
            }
            text.push('\n');
        }
    }
    text
}

/// Frames outside their window, those beyond one edge of a gate together, in the order of time; nothing where there were
/// none.
pub fn violations(run: &Run, style: &Style) -> String {
    let Some(trial) = run.switch.as_ref().and_then(Switching::judged) else { return String::new() };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(names: &[&str]) -> Switching {
        let class = |name: &&str| Class { name: name.to_string(), ..Class::default() };
        let classes: Vec<Class> = names.iter().map(class).collect();
        let trial =
            |name: &str, gates| Trial { name: name.into(), gates, classes: classes.clone(), ..Trial::default() };
        Switching { trials: vec![trial("gates on", true), trial("gates off", false)], ..Switching::default() }
    }

    #[test]
    fn no_name_is_cut_and_gates_on_and_off_are_told_apart() {
        let names = ["scheduled-7", "best-effort", "a-name-that-no-column-has-room-for"];
        let style = Style { width: 80, ..Style::default() };
        let text = tables(&switch(&names), &style);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for name in names {
            assert_eq!(text.matches(&format!("  {name}")).count(), 4, "{text}");
        }
        for title in ["gates on  ", "gates off  ", "delay, gates on  ", "delay, gates off  "] {
            assert_eq!(text.lines().filter(|line| line.starts_with(title)).count(), 1, "{title}: {text}");
        }
    }
}
