//! Gate control lists: the `[port.gates]` tables.

use std::ops::Range;

use ontick_units::exact;
use toml::Spanned;
use toml::de::DeValue;

use super::class::{Draft as Class, class_index};
use super::problem::{Report, Reported};
use super::table::{self, At, Read, Table};
use super::value_error::ValueError;
use super::values;
use crate::model::{Base, Entry, Gates, Guard};

/// Longer lists are a mistake, and no hardware takes them.
pub(super) const MOST_ENTRIES: usize = 1024;

/// Where the parts of a list stand.
#[derive(Clone)]
pub(super) struct Places {
    pub(super) cycle: Range<usize>,
    pub(super) base: Range<usize>,
    /// One for each entry.
    pub(super) entries: Vec<Range<usize>>,
}

pub(super) fn gates(mut table: Table, classes: &[Class], report: &mut Report) -> Result<(Gates, Places), Reported> {
    let cycle = table.parsed("cycle", report, values::time);
    let base = base(&mut table, report);
    let guard = table.parsed("guard-band", report, guard_band);
    let entries = entries(&mut table, classes, report);
    let span = table.span();
    table.finish(report);

    let (cycle, entries) = (cycle?, entries?);
    let times = entries.iter().map(|entry| entry.get_ref().for_ns);
    let cycle_ns = sum(&cycle, times, &span, report)?;
    let (base, guard) = (base?, guard?);
    let place = |part: Option<Range<usize>>| part.unwrap_or(span.clone());
    let places = Places {
        cycle: place(cycle.as_ref().map(Spanned::span)),
        base: place(base.as_ref().map(Spanned::span)),
        entries: entries.iter().map(Spanned::span).collect(),
    };
    let gates = Gates {
        base: base.map_or(Base::NextSecond, Spanned::into_inner),
        cycle_ns,
        guard: guard.map_or(Guard::None, Spanned::into_inner),
        entries: entries.into_iter().map(Spanned::into_inner).collect(),
    };
    Ok((gates, places))
}

/// The length of the cycle, which the entries must fill.
pub(super) fn sum(
    cycle: &Option<At<u64>>,
    mut times: impl Iterator<Item = u64>,
    span: &Range<usize>,
    report: &mut Report,
) -> Result<u64, Reported> {
    let sum = times.try_fold(0u64, u64::checked_add);
    let Some(sum) = sum else { return Err(report.error(span.clone(), "the entries are too long a time together")) };
    match cycle {
        Some(cycle) if *cycle.get_ref() != sum => {
            let cycle_ns = *cycle.get_ref();
            let off = if sum < cycle_ns {
                format!("add {} to an entry", exact(cycle_ns - sum))
            } else {
                format!("take {} off an entry", exact(sum - cycle_ns))
            };
            let sum = exact(sum);
            let what = format!("the entries sum up to {sum}, not to the cycle; {off}, or write cycle = \"{sum}\"");
            Err(report.error(cycle.span(), what))
        }
        _ => Ok(sum),
    }
}

pub(super) fn base(table: &mut Table, report: &mut Report) -> Read<At<Base>> {
    let Some(value) = table.get("base-time") else { return Ok(None) };
    let base = match value.get_ref() {
        DeValue::String(text) if text == "next second" => Base::NextSecond,
        DeValue::Integer(number) => match table::integer(number) {
            Some(ns) => Base::At(ns),
            None => {
                return Err(report.error(value.span(), "`base-time` is in nanoseconds, from 0 to 18446744073709551615"));
            }
        },
        other => {
            let what = format!("`base-time` is \"next second\" or a number of nanoseconds, not {}", table::kind(other));
            return Err(report.error(value.span(), what));
        }
    };
    Ok(Some(At::new(value.span(), base)))
}

/// Reads a guard band: `none`, a time, or `largest-frame`.
pub fn guard_band(text: &str) -> Result<Guard, ValueError> {
    match text {
        "none" => Ok(Guard::None),
        "largest-frame" => Ok(Guard::LargestFrame),
        time => values::time(time).map(Guard::Fixed).map_err(|_| ValueError::NoneOf {
            text: text.into(),
            words: "\"none\", \"largest-frame\" or a time such as \"12us\"".into(),
        }),
    }
}

fn entries(table: &mut Table, classes: &[Class], report: &mut Report) -> Result<Vec<At<Entry>>, Reported> {
    let list = table.list("entries", report);
    let list = table.require("entries", "entries = [ { open = [\"red\"], for = \"200us\" }, … ]", list, report)?;
    match list.get_ref().len() {
        0 => {
            return Err(
                report.error(list.span(), "`entries` has none; leave [port.gates] out where all gates are always open")
            );
        }
        n if n > MOST_ENTRIES => {
            return Err(report.error(list.span(), format!("{n} entries; a list has {MOST_ENTRIES} at most")));
        }
        _ => {}
    }
    let entries: Vec<_> = list.into_inner().iter().map(|value| entry(value, classes, report)).collect();
    entries.into_iter().collect()
}

fn entry<'a>(value: &'a Spanned<DeValue<'a>>, classes: &[Class], report: &mut Report) -> Result<At<Entry>, Reported> {
    let mut table = table::table(value, "entries", "an entry of `entries`".into(), report)?;
    let open = table.list("open", report);
    let open = table.require("open", "open = [\"red\"]", open, report).and_then(|open| mask(open, classes, report));
    let time = entry_time(&mut table, report);
    let span = table.span();
    table.finish(report);
    Ok(At::new(span, Entry { open: open?, for_ns: time? }))
}

/// How long an entry lasts.
pub(super) fn entry_time(table: &mut Table, report: &mut Report) -> Result<u64, Reported> {
    let time = table.parsed("for", report, values::time);
    let time = table.require("for", "for = \"200us\"", time, report)?;
    match *time.get_ref() {
        0 => Err(report.error(time.span(), "an entry of no length does nothing; leave it out")),
        ns if ns > u32::MAX.into() => {
            // TimeInterval is a 32-bit number of nanoseconds (IEEE 802.1Q-2022 clause 8.6.8.4; tc-taprio(8) too).
            Err(report.error(time.span(), "an entry is below 4.294967296s; write two that follow each other"))
        }
        ns => Ok(ns),
    }
}

fn mask<'a>(open: At<&'a [Spanned<DeValue<'a>>]>, classes: &[Class], report: &mut Report) -> Result<u16, Reported> {
    let mut mask = Ok(0);
    let mut seen = Vec::new();
    for value in open.into_inner() {
        let bit = table::text(value, "open", report).and_then(|name| {
            let index = class_index(name.get_ref(), name.span(), classes, report)?;
            if seen.contains(&index) {
                return Err(report.error(name.span(), "the class occurs twice in this entry"));
            }
            seen.push(index);
            let queue = classes[index].queue.as_ref().map_err(|reported| *reported)?;
            Ok(1u16 << queue.get_ref())
        });
        mask = mask.and_then(|mask| Ok(mask | bit?));
    }
    mask
}
