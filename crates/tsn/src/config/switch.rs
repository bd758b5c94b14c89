//! The whole document: `[switch]`, `[[class]]`, `[[port]]`, `[[forward]]` and `[[stream]]`.

use std::ops::Range;

use super::problem::{Report, Reported};
use super::table::{Table, parse};
use super::{check, class, forwarding, head, other, port, stream};
use crate::model::Switch;

/// More ports than a machine has.
const MOST_PORTS: usize = 256;

pub(super) fn switch(text: &str, now_ns: u64, report: &mut Report) -> Result<Switch, Reported> {
    refuse_json(text, report)?;
    let document = parse(text, report)?;
    let mut table = Table::new(document.get_ref(), 0..0, "the file");
    let head = table.table("switch", "[switch]".into(), report);
    let head = table
        .require("switch", "write [switch], with a name", head, report)
        .and_then(|table| head::head(table, report));
    let classes: Vec<class::Draft> =
        tables(&mut table, "class", report)?.into_iter().map(|table| class::class(table, report)).collect();
    let ports: Vec<port::Draft> =
        tables(&mut table, "port", report)?.into_iter().map(|table| port::port(table, &classes, report)).collect();
    let forwarding = forwarding::forwarding(&mut table, head.as_ref().ok(), &ports, report);
    let streams = stream::streams(&mut table, head.as_ref().ok(), &ports, now_ns, report);
    table.finish(report);
    check::classes(&classes, head.as_ref().ok(), report);
    check::ports(&ports, head.as_ref().ok(), report);
    check::gates(&ports, &classes, head.as_ref().ok(), now_ns, report);
    let head = head?;
    Ok(Switch {
        name: head.name.into_inner(),
        role: head.role,
        plane: head.plane,
        bridge: head.bridge,
        classifier: head.classifier,
        socket: head.socket,
        cpus: head.cpus,
        clock: head.clock,
        ageing_ns: head.ageing_ns,
        addresses: head.addresses,
        stp: head.stp,
        forward_reserved: head.forward_reserved,
        transparent_clock: head.transparent_clock,
        classes: classes.iter().map(class::Draft::class).collect::<Result<_, _>>()?,
        ports: ports.iter().map(port::Draft::port).collect::<Result<_, _>>()?,
        forwarding: forwarding?,
        streams: streams?,
    })
}

/// No TOML begins with a brace, and what a reader of TOML says of JSON helps nobody.
fn refuse_json(text: &str, report: &mut Report) -> Result<(), Reported> {
    let begin = text.len() - text.trim_start().len();
    if !text[begin..].starts_with('{') {
        return Ok(());
    }
    let what = other::named(text).unwrap_or_else(|| "JSON".into());
    Err(report
        .error(begin..begin, format!("this is {what}; the file that describes a switch, in TOML, is wanted here")))
}

/// The tables of a kind, of which there must be some; a wrong one is left out (and reported).
fn tables<'a>(table: &mut Table<'a>, key: &'static str, report: &mut Report) -> Result<Vec<Table<'a>>, Reported> {
    let found = table.tables(key, report)?.unwrap_or_default();
    match found.len() {
        0 => Err(report.error(Range::default(), format!("there is no [[{key}]]; write one for each {key}"))),
        n if key == "port" && n > MOST_PORTS => {
            Err(report.error(Range::default(), format!("{n} ports; a switch has {MOST_PORTS} at most")))
        }
        _ => Ok(found.into_iter().flatten().collect()),
    }
}
