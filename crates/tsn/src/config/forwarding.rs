//! How frames find their ports: `learning` and `flood` of `[switch]`, and the `[[forward]]` tables.

use std::ops::Range;

use toml::Spanned;

use super::head::{Head, port_names};
use super::port::Draft as Port;
use super::problem::{Report, Reported};
use super::table::{At, Table};
use super::{suggest, values};
use crate::model::{Forwarding, Role, StaticEntry};

/// More streams than any one switch forwards.
const MOST_ENTRIES: usize = 65_536;

pub(super) fn forwarding(
    file: &mut Table,
    head: Option<&Head>,
    ports: &[Port],
    report: &mut Report,
) -> Result<Forwarding, Reported> {
    let tables = file.tables("forward", report)?.unwrap_or_default();
    let mut entries: Vec<At<StaticEntry>> = Vec::new();
    let mut wrong = None;
    if tables.len() > MOST_ENTRIES {
        let what = format!("{} [[forward]] tables; a switch has {MOST_ENTRIES} at most", tables.len());
        return Err(report.error(Range::default(), what));
    }
    for table in tables.into_iter().flatten() {
        match entry(table, ports, &entries, report) {
            Ok(entry) => entries.push(entry),
            Err(reported) => wrong = Some(reported),
        }
    }
    let flood = head.and_then(|head| head.flood.as_ref());
    let flood = flood.map(|names| places(names, ports, report)).transpose()?;
    let learning = head.is_none_or(|head| head.learning);
    let set = flood.is_some() || !learning || !entries.is_empty();
    if let Some(head) = head.filter(|head| head.role == Role::Station && set) {
        let what = "a station forwards nothing; leave `flood`, `learning` and [[forward]] out";
        return Err(report.error(head.name.span(), what));
    }
    match wrong {
        Some(reported) => Err(reported),
        None => Ok(Forwarding { learning, flood, entries: entries.into_iter().map(Spanned::into_inner).collect() }),
    }
}

fn entry(
    mut table: Table,
    ports: &[Port],
    before: &[At<StaticEntry>],
    report: &mut Report,
) -> Result<At<StaticEntry>, Reported> {
    let to = table.parsed("to", report, values::forwarded);
    let to = table.require("to", "to = \"02:00:00:00:00:01\"", to, report);
    let vlan = table.whole("vlan", 0..=4094, report);
    let names = port_names(&mut table, "ports", report);
    let names = table.require("ports", "ports = [\"enp2s0f1\"]", names, report);
    let span = table.span();
    table.finish(report);
    let (to, vlan, names) = (to?.into_inner(), vlan?.map(|vlan| vlan.into_inner() as u16), names?);
    if names.is_empty() {
        return Err(report.error(span, "[[forward]] has no port; name one in `ports` at least"));
    }
    if let Some(other) = before.iter().find(|other| other.get_ref().to == to && other.get_ref().vlan == vlan) {
        let what = format!("line {} has this address and VLAN already", report.line(&other.span()));
        return Err(report.error(span, what));
    }
    Ok(At::new(span, StaticEntry { to, vlan, ports: places(&names, ports, report)? }))
}

/// The places of ports, in ascending order.
pub(super) fn places(names: &[At<String>], ports: &[Port], report: &mut Report) -> Result<Vec<usize>, Reported> {
    let known: Vec<&str> = ports.iter().filter_map(|port| Some(port.name.as_ref().ok()?.get_ref().as_str())).collect();
    let mut places = Vec::new();
    let mut wrong = None;
    for name in names {
        let text = name.get_ref().as_str();
        let named = |port: &Port| port.name.as_ref().is_ok_and(|name| name.get_ref() == text);
        match ports.iter().position(named) {
            Some(place) if places.contains(&place) => {
                wrong = Some(report.error(name.span(), format!("port \"{text}\" is in the list twice")));
            }
            Some(place) => places.push(place),
            None => {
                let what = format!("there is no port \"{text}\"{}", suggest::among(text, &known));
                wrong = Some(report.error(name.span(), what));
            }
        }
    }
    places.sort_unstable();
    wrong.map_or(Ok(places), Err)
}
