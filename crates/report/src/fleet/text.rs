//! The survey for a terminal.

use ontick_record::fleet::{Change, Group, Survey, Surveyed};

use super::profiles::Profiles;
use super::words;
use crate::Style;
use crate::colour::Paint;
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::text::hanging;

/// The page has all of them.
const MOST_GROUPS: usize = 20;
const MOST_OUTLYING: usize = 10;
const MOST_SHIFTS: usize = 10;

pub(super) fn all(survey: &Survey, style: &Style) -> String {
    let paint = Paint(style.colour);
    let mut text = hanging("fleet     ", "", &words::about(survey).join(" · "), style.width);
    if let Some(said) = words::simulated(survey) {
        text.push_str(&paint.notice(&hanging("          ", "", &said, style.width)));
    }
    let profiles = Profiles::of(survey);
    for (letter, name) in profiles.all() {
        text.push_str(&hanging(&format!("profile {letter:<2}"), "", &printable(name), style.width));
    }
    for surveyed in &survey.jobs {
        text.push('\n');
        text.push_str(&hanging("", "", &printable(&surveyed.job.to_string()), style.width));
        text.push_str(&ranking(surveyed, &profiles, style));
        text.push_str(&changes(surveyed, style));
        text.push_str(&outlying(surveyed, style));
    }
    for why in words::refused(survey) {
        text.push_str(&hanging("warning: ", &paint.notice("warning: "), &printable(&why), style.width));
    }
    text
}

const HEADS: [&str; 6] = ["p50", "p99", "p99.99", "max", "< 3us", "missed"];

/// A row for each kind, worst first. Where a terminal is narrow, names have lines of their own, and are whole.
fn ranking(surveyed: &Surveyed, profiles: &Profiles, style: &Style) -> String {
    let shown = &surveyed.groups[..surveyed.groups.len().min(MOST_GROUPS)];
    let names: Vec<[String; 3]> = shown
        .iter()
        .map(|group| {
            let kind = &group.kind;
            [printable(&words::board(kind)), printable(words::kernel(kind)), profiles.letter(kind)]
        })
        .collect();
    let figures: Vec<Vec<String>> = shown.iter().map(figures).collect();
    let heads: Vec<&str> = ["machines"].into_iter().chain(HEADS).collect();
    let wide = |i: usize| figures.iter().map(|row| row[i].chars().count()).chain([heads[i].len()]).max().unwrap_or(0);
    let columns: Vec<usize> = (0..heads.len()).map(|i| wide(i) + 2).collect();
    let numbers = columns.iter().sum::<usize>();
    // The letter of the profile, and two spaces after each name.
    let longest = |of: usize| names.iter().map(|name| name[of].chars().count()).max().unwrap_or(0);
    let (board, kernel) = (longest(0), longest(1).max("kernel".len()));
    let room = style.width.saturating_sub(2 + numbers + 2 + 2);
    // A name that is cut may be that of another kind.
    let own_line = board + 2 + kernel > room;
    let cells = |cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.zip(&columns).map(|(cell, width)| format!("{cell:>width$}")).collect()
    };
    let mut text = match own_line {
        true => format!("  {}\n", cells(&mut heads.iter().copied())),
        false => format!("  {:board$}  {:kernel$}  {}\n", "", "kernel", cells(&mut heads.iter().copied())),
    };
    for ([name, release, letter], figures) in names.iter().zip(&figures) {
        let figures = cells(&mut figures.iter().map(String::as_str));
        text.push_str(&match own_line {
            true => {
                hanging("  ", "", &format!("{letter} · {name} · {release}"), style.width) + &format!("  {figures}\n")
            }
            false => format!("  {name:board$}  {release:kernel$} {letter}{figures}\n"),
        });
    }
    if surveyed.groups.len() > shown.len() {
        text.push_str(&format!(
            "  and {} kinds more (--html and --as json have all)\n",
            surveyed.groups.len() - shown.len()
        ));
    }
    text
}

fn figures(group: &Group) -> Vec<String> {
    let h = &group.latency;
    let quantiles = [0.5, 0.99, 0.9999].map(|q| latency(h.quantile(q)));
    [count(group.machines_p99_99_ns.len() as u64)]
        .into_iter()
        .chain(quantiles)
        .chain([latency(h.max_ns), words::share_in_time(group), words::missed(group)])
        .collect()
}

fn changes(surveyed: &Surveyed, style: &Style) -> String {
    let Some(said) = words::weeks(surveyed) else { return String::new() };
    let paint = Paint(style.colour);
    let mut text = hanging("  changed   ", "", &said, style.width);
    for shift in surveyed.shifts.iter().take(MOST_SHIFTS) {
        let word = format!("    {:<12}", words::verdict(shift.verdict));
        let painted = match shift.verdict {
            Change::Worse => paint.bad(&word),
            Change::Better => paint.good(&word),
            _ => word.clone(),
        };
        let moved = words::moved(shift);
        let who = match moved.is_empty() {
            true => format!("{}, {}", words::board(&shift.after), words::kernel(&shift.after)),
            false => format!("{}: {}", words::board(&shift.after), moved.join(", ")),
        };
        let said = printable(&format!("{who}: {}", words::shifted(shift)));
        text.push_str(&hanging(&word, &painted, &said, style.width));
    }
    if surveyed.shifts.len() > MOST_SHIFTS {
        text.push_str(&format!("    and {} more\n", surveyed.shifts.len() - MOST_SHIFTS));
    }
    text
}

fn outlying(surveyed: &Surveyed, style: &Style) -> String {
    let mut text = String::new();
    let many = surveyed.outlying.len();
    if many > 0 {
        let line = format!(
            "{} far above those of {} kind",
            if many == 1 { "one machine is".into() } else { format!("{} machines are", count(many as u64)) },
            if many == 1 { "its" } else { "their" }
        );
        text.push_str(&hanging("  apart     ", "", &line, style.width));
    }
    for machine in surveyed.outlying.iter().take(MOST_OUTLYING) {
        let label = format!("    {}  ", printable(&machine.machine));
        text.push_str(&hanging(&label, &Paint(style.colour).bad(&label), &words::apart(machine), style.width));
    }
    if many > MOST_OUTLYING {
        text.push_str(&format!("    and {} more\n", count((many - MOST_OUTLYING) as u64)));
    }
    text
}
