//! Sentences and names that text and page share.

use ontick_record::fleet::{Change, Group, Kind, Outlying, Shift, Survey, Surveyed};
use ontick_units::show;

use crate::figures::share;
use crate::number::{count, counted, times};

/// `100 000 records of 2 500 machines`, then when, then what of them is simulated or not dated.
pub(super) fn about(survey: &Survey) -> Vec<String> {
    let mut parts =
        vec![format!("{} of {}", counted(survey.records, "record"), counted(survey.machines as u64, "machine"))];
    let day = |text: &str| text.split('T').next().unwrap_or_default().to_owned();
    parts.extend(survey.started.as_ref().map(|(first, last)| match (day(first), day(last)) {
        (first, last) if first == last => first,
        (first, last) => format!("{first} to {last}"),
    }));
    let some = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", counted(n, "record")));
    parts.extend(some(survey.undated, "without a date"));
    parts
}

/// What is simulated, where any figure is.
pub(super) fn simulated(survey: &Survey) -> Option<String> {
    let of = match survey.simulated {
        0 => return None,
        n if n == survey.records => "All records hold".to_owned(),
        1 => "One record holds".to_owned(),
        n => format!("{} hold", counted(n, "record")),
    };
    Some(format!("{of} simulated or emulated figures; their rows say so."))
}

/// What files were not read.
pub(super) fn refused(survey: &Survey) -> Vec<String> {
    let refused = &survey.refused;
    let more = refused.files - refused.first.len() as u64;
    let more = (more > 0).then(|| format!("{} more not read", counted(more, "file")));
    refused.first.iter().map(|why| format!("not read: {why}")).chain(more).collect()
}

/// A board, with whether its figures are simulated.
pub(super) fn board(kind: &Kind) -> String {
    let board = if kind.board.is_empty() { "not stated" } else { &kind.board };
    match kind.simulated {
        Some(_) => format!("{board} (simulated)"),
        None => board.to_owned(),
    }
}

pub(super) fn kernel(kind: &Kind) -> &str {
    if kind.kernel.is_empty() { "not stated" } else { &kind.kernel }
}

/// The share of a group's cycles that were acted on in time, as in the report of one record.
pub(super) fn share_in_time(group: &Group) -> String {
    group.in_time.map_or_else(|| "—".into(), |in_time| share(in_time, group.cycles))
}

/// Missed cycles; a dash where not all were counted.
pub(super) fn missed(group: &Group) -> String {
    group.missed.map_or_else(|| "—".into(), count)
}

/// What a change is called.
pub(super) fn verdict(change: Change) -> &'static str {
    match change {
        Change::Worse => "worse",
        Change::NoWorse => "no worse",
        Change::Better => "better",
        _ => "cannot tell",
    }
}

/// `p99.99 ×2.50 (×2.41 to ×2.62) on 41 machines, 40 of them later by more than a tenth`
pub(super) fn shifted(shift: &Shift) -> String {
    let bounds = shift.bounds.map_or_else(
        || " (too few to bound)".into(),
        |(least, most)| format!(" ({} to {})", times(least), times(most)),
    );
    let machines = counted(shift.machines as u64, "machine");
    let later = match shift.later {
        0 => String::new(),
        n if n == shift.machines => ", later by more than a tenth".into(),
        n => format!(", {n} of them later by more than a tenth"),
    };
    format!("p99.99 {}{bounds} on {machines}{later}", times(shift.ratio))
}

/// What the machines of a shift have now that they had not before; empty where they stayed as they were.
pub(super) fn moved(shift: &Shift) -> Vec<String> {
    let (before, after) = (&shift.before, &shift.after);
    let part = |what: &str, before: &str, after: &str| (before != after).then(|| format!("{what} {before} → {after}"));
    [
        part("board", &board(before), &board(after)),
        part("kernel", kernel(before), kernel(after)),
        part("profile", &before.profile, &after.profile),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `p99.99 410us, 13.2 times the median of the 200 machines of its kind (31us)`
pub(super) fn apart(outlying: &Outlying) -> String {
    let ratio = outlying.p99_99_ns as f64 / outlying.median_ns.max(1) as f64;
    format!(
        "p99.99 {}, {} the median {} of the {} of its kind",
        show(outlying.p99_99_ns),
        times(ratio),
        show(outlying.median_ns),
        counted(outlying.alike as u64, "machine"),
    )
}

/// The sentence above the changes of a job.
pub(super) fn weeks(surveyed: &Surveyed) -> Option<String> {
    let (before, after) = surveyed.weeks?;
    let gap = match after.since(before) {
        1 => String::new(),
        weeks => format!(" ({weeks} weeks before; no records between)"),
    };
    Some(match surveyed.shifts.is_empty() {
        true => format!("no machine was measured both in {after} and in {before}{gap}"),
        false => format!("{after} against {before}{gap}, each machine against itself"),
    })
}
