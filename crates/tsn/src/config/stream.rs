//! Streams: the `[[stream]]` tables.

use std::ops::Range;

use toml::Spanned;

use super::forwarding::places;
use super::head::{Head, port_names};
use super::port::{Draft as Port, largest_sdu};
use super::problem::{Report, Reported};
use super::table::{At, Table};
use super::terms::Terms;
use super::value_error::ValueError;
use super::{stream_gate, values};
use crate::model::{Elimination, Meter, Role, Stream};
use crate::wire;

/// More than a network plans through one switch.
pub(crate) const MOST_STREAMS: usize = 16_384;
/// Numbers that elimination remembers.
pub(crate) const HISTORY_LENGTH: std::ops::RangeInclusive<u64> = 2..=128;
/// Time without a frame after which any number is accepted, in ns.
pub(crate) const RESET_TIMEOUT_NS: std::ops::RangeInclusive<u64> = 1_000_000..=3_600_000_000_000;
/// Paths that copies come by.
pub(crate) const PATHS: std::ops::RangeInclusive<u64> = 2..=8;
/// Of a burst, in octets: the smallest frame with its check sequence, and 16 MiB.
const BURST: std::ops::RangeInclusive<u64> = 64..=16_777_216;

pub(super) fn streams(
    file: &mut Table,
    head: Option<&Head>,
    ports: &[Port],
    now_ns: u64,
    report: &mut Report,
) -> Result<Vec<Stream>, Reported> {
    let tables = file.tables("stream", report)?.unwrap_or_default();
    if tables.len() > MOST_STREAMS {
        let what = format!("{} streams; a switch has {MOST_STREAMS} at most", tables.len());
        return Err(report.error(Range::default(), what));
    }
    if let Some(head) = head.filter(|head| head.role == Role::Station && !tables.is_empty()) {
        let what = report.terms().pick("leave [[stream]] out", "leave streams out");
        return Err(report.error(head.name.span(), format!("a station forwards nothing; {what}")));
    }
    let mut streams: Vec<At<Stream>> = Vec::new();
    let mut wrong = None;
    for table in tables.into_iter().flatten() {
        match stream(table, head, ports, now_ns, report).and_then(|stream| apart(stream, &streams, report)) {
            Ok(stream) => streams.push(stream),
            Err(reported) => wrong = Some(reported),
        }
    }
    wrong.map_or_else(|| Ok(streams.into_iter().map(Spanned::into_inner).collect()), Err)
}

fn stream(
    mut table: Table,
    head: Option<&Head>,
    ports: &[Port],
    now_ns: u64,
    report: &mut Report,
) -> Result<At<Stream>, Reported> {
    let name = table.parsed("name", report, values::class_name);
    let name = table.require("name", "name = \"axis1\"", name, report);
    let handle = table.whole("handle", 0..=u32::MAX.into(), report);
    let to = table.parsed("to", report, values::forwarded);
    let to = table.require("to", "to = \"02:00:00:00:00:01\"", to, report);
    let vlan = table.whole("vlan", 0..=4094, report);
    let from = table.parsed("from", report, station);
    let ingress = port_names(&mut table, "ingress", report);
    let max_sdu = table.whole("max-sdu", 0..=u32::MAX.into(), report);
    let max_sdu = max_sdu.and_then(|size| size.map(|size| largest_sdu(&size, report)).transpose());
    let meter = table.table("meter", "[stream.meter]".into(), report);
    let meter = meter.and_then(|table| table.map(|table| self::meter(table, report)).transpose());
    let gate = table.table("gate", "[stream.gate]".into(), report);
    let gate = gate.and_then(|table| table.map(|table| stream_gate::gate(table, head, now_ns, report)).transpose());
    let eliminate = table.table("eliminate", "[stream.eliminate]".into(), report);
    let eliminate = eliminate.and_then(|table| table.map(|table| elimination(table, report)).transpose());
    let replicate = port_names(&mut table, "replicate", report);
    let span = table.span();
    table.finish(report);
    let (meter, ingress, replicate) = (meter?, ingress?, replicate?);
    let replicate = replicate.map(|names| two_or_more(&names, ports, &span, report)).transpose()?;
    let ingress = ingress.map(|names| by_place(&names, ports, &span, report)).transpose()?;
    let stream = Stream {
        name: name?.into_inner(),
        handle: handle?.map(|handle| handle.into_inner() as u32),
        to: to?.into_inner(),
        vlan: vlan?.map(|vlan| vlan.into_inner() as u16),
        from: from?.map(Spanned::into_inner),
        ingress,
        max_sdu: max_sdu?,
        meter: meter.as_ref().map(|meter| *meter.get_ref()),
        gate: gate?,
        eliminate: eliminate?,
        replicate,
    };
    let policed = stream.max_sdu.is_some() || stream.meter.is_some() || stream.gate.is_some();
    if !policed && stream.eliminate.is_none() && stream.replicate.is_none() {
        let what = report.terms().pick(
            "[[stream]] asks for nothing; give it `max-sdu`, `meter`, `gate`, `eliminate` or `replicate`",
            "its filter asks for nothing; give it max-sdu-size, a flow meter, or a stream gate that closes",
        );
        return Err(report.error(span, format!("{what}, or leave it out")));
    }
    if let Some(meter) = meter {
        holds_a_frame(&meter, &stream, report)?;
    }
    Ok(At::new(span, stream))
}

fn meter(mut table: Table, report: &mut Report) -> Result<At<Meter>, Reported> {
    let rate = table.parsed("rate", report, values::rate);
    let rate = table.require("rate", "rate = \"10Mbit\"", rate, report);
    let burst = table.whole("burst", BURST, report);
    let burst = table.require("burst", "burst = 3044", burst, report);
    let span = table.span();
    table.finish(report);
    Ok(At::new(span, Meter { rate: rate?.into_inner(), burst: burst?.into_inner() as u32 }))
}

fn elimination(mut table: Table, report: &mut Report) -> Result<Elimination, Reported> {
    let usual = Elimination::default();
    let length = table.whole("history-length", HISTORY_LENGTH, report);
    let timeout = table.parsed("reset-timeout", report, |text| match values::time(text)? {
        ns if RESET_TIMEOUT_NS.contains(&ns) => Ok(ns),
        _ => Err(ValueError::is_not(text, "from 1ms to 1h (2s is usual)")),
    });
    let paths = table.whole("paths", PATHS, report);
    table.finish(report);
    Ok(Elimination {
        history_length: length?.map_or(usual.history_length, |length| length.into_inner() as u32),
        reset_timeout_ns: timeout?.map_or(usual.reset_timeout_ns, Spanned::into_inner),
        paths: paths?.map_or(usual.paths, |paths| paths.into_inner() as u32),
    })
}

/// Ports that each frame leaves by.
fn two_or_more(
    names: &[At<String>],
    ports: &[Port],
    span: &Range<usize>,
    report: &mut Report,
) -> Result<Vec<usize>, Reported> {
    if names.len() < 2 {
        let what = "`replicate` is for two paths or more; name their ports, or leave it out and write [[forward]]";
        return Err(report.error(span.clone(), what));
    }
    places(names, ports, report)
}

/// A frame that is larger than the whole burst is always red.
fn holds_a_frame(meter: &At<Meter>, stream: &Stream, report: &mut Report) -> Result<(), Reported> {
    let tag = if stream.vlan == Some(0) { 0 } else { wire::TAG };
    let octets = wire::frame_octets(stream.max_sdu.unwrap_or(wire::LARGEST_SDU) + wire::HEADER + tag);
    let burst = meter.get_ref().burst;
    if burst >= octets {
        return Ok(());
    }
    let (subject, right) = match report.terms() {
        Terms::File => ("`burst`", format!("burst = {octets}")),
        Terms::Yang => ("committed-burst-size", format!("{octets}")),
    };
    let what = format!(
        "{subject} is {burst}, and the largest frame of the stream has {octets} octets with its check sequence"
    );
    if stream.max_sdu.is_some() {
        return Err(report.error(meter.span(), format!("{what}: it would always be dropped; write {right}")));
    }
    report.warn(meter.span(), format!("{what}: it would be dropped; write {right}, or `max-sdu`"));
    Ok(())
}

/// Ports that frames come in by; one at least.
fn by_place(
    names: &[At<String>],
    ports: &[Port],
    span: &Range<usize>,
    report: &mut Report,
) -> Result<Vec<usize>, Reported> {
    if names.is_empty() {
        let what = "`ingress` has no port; name one at least, or leave it out where frames may come in by any";
        return Err(report.error(span.clone(), what));
    }
    places(names, ports, report)
}

/// An address that frames come from.
fn station(text: &str) -> Result<[u8; 6], ValueError> {
    match values::mac(text) {
        Some([0, 0, 0, 0, 0, 0]) => Err(ValueError::ZeroAddress),
        Some(address) if address[0] & 1 == 0 => Ok(address),
        _ => Err(ValueError::is_not(text, "the MAC address of a station such as 02:00:00:00:00:02")),
    }
}

/// That a stream has a name and a handle of its own, and frames that no stream before it takes.
fn apart(stream: At<Stream>, before: &[At<Stream>], report: &mut Report) -> Result<At<Stream>, Reported> {
    let own = stream.get_ref();
    if let Some(other) = before.iter().find(|other| other.get_ref().name == own.name) {
        let what = format!("there is a stream `{}` already, on line {}", own.name, report.line(&other.span()));
        return Err(report.error(stream.span(), what));
    }
    if let Some(handle) = own.handle {
        if let Some(other) = before.iter().find(|other| other.get_ref().handle == own.handle) {
            let line = report.on_line(&other.span());
            let what = format!("the stream `{}`{line} has the handle {handle} already", other.get_ref().name);
            return Err(report.error(stream.span(), what));
        }
    }
    if let Some(other) = before.iter().find(|other| takes_all_of(other.get_ref(), own)) {
        let (name, line) = (&other.get_ref().name, report.on_line(&other.span()));
        let what = format!("no frame is left for it: the stream `{name}`{line} takes all of them; put it first");
        return Err(report.error(stream.span(), what));
    }
    Ok(stream)
}

fn takes_all_of(first: &Stream, other: &Stream) -> bool {
    let among = |ports: &Vec<usize>, others: &Vec<usize>| others.iter().all(|port| ports.contains(port));
    first.to == other.to
        && (first.vlan.is_none() || first.vlan == other.vlan)
        && (first.from.is_none() || first.from == other.from)
        && match (&first.ingress, &other.ingress) {
            (None, _) => true,
            (Some(ports), Some(others)) => among(ports, others),
            (Some(_), None) => false,
        }
}
