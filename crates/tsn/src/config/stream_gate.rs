//! Stream gates: the `[stream.gate]` tables.

use toml::Spanned;
use toml::de::DeValue;

use super::check::cycle;
use super::gates::{self, MOST_ENTRIES};
use super::head::Head;
use super::problem::{Report, Reported};
use super::table::{self, Table};
use super::values;
use crate::model::{Base, StreamGate, StreamGateEntry};
use ontick_units::exact;

pub(super) fn gate(
    mut table: Table,
    head: Option<&Head>,
    now_ns: u64,
    report: &mut Report,
) -> Result<StreamGate, Reported> {
    let cycle = table.parsed("cycle", report, values::time);
    let base = gates::base(&mut table, report);
    let entries = entries(&mut table, report);
    let span = table.span();
    table.finish(report);
    let (cycle, base, entries) = (cycle?, base?, entries?);
    let cycle_ns = gates::sum(&cycle, entries.iter().map(|entry| entry.for_ns), &span, report)?;
    let never = match (entries.iter().any(|entry| entry.open), entries.iter().all(|entry| entry.open)) {
        (false, _) => Some("no entry is open, so no frame of the stream would ever pass; open one"),
        (_, true) => Some("no entry is closed; leave [stream.gate] out where frames may always pass"),
        _ => None,
    };
    if let Some(what) = never {
        return Err(report.error(span, what));
    }
    if cycle_ns < cycle::SHORTEST_NS {
        let (is, least) = (exact(cycle_ns), exact(cycle::SHORTEST_NS));
        let what = format!("a cycle of {is} is too short for gates in software; {least} at least");
        return Err(report.error(cycle.map_or(span, |cycle| cycle.span()), what));
    }
    if let (Some(head), Some(base)) = (head, &base) {
        if let Base::At(base_ns) = base.get_ref() {
            cycle::base(*base_ns, head.clock, now_ns, base.span(), report);
        }
    }
    Ok(StreamGate { base: base.map_or(Base::NextSecond, Spanned::into_inner), cycle_ns, entries })
}

fn entries(table: &mut Table, report: &mut Report) -> Result<Vec<StreamGateEntry>, Reported> {
    let list = table.list("entries", report);
    let example = "entries = [ { open = true, for = \"200us\" }, { open = false, for = \"800us\" } ]";
    let list = table.require("entries", example, list, report)?;
    if list.get_ref().len() > MOST_ENTRIES {
        let what = format!("{} entries; a list has {MOST_ENTRIES} at most", list.get_ref().len());
        return Err(report.error(list.span(), what));
    }
    let entries: Vec<_> = list.into_inner().iter().map(|value| entry(value, report)).collect();
    entries.into_iter().collect()
}

fn entry<'a>(value: &'a Spanned<DeValue<'a>>, report: &mut Report) -> Result<StreamGateEntry, Reported> {
    let mut table = table::table(value, "entries", "an entry of `entries`".into(), report)?;
    let open = table.flag("open", report);
    let open = table.require("open", "open = true", open, report);
    let time = gates::entry_time(&mut table, report);
    table.finish(report);
    Ok(StreamGateEntry { open: open?, for_ns: time? })
}
