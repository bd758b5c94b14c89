//! The file of a network: `[network]`, `[time]`, `[[switch]]`, `[[station]]`, `[[link]]` and `[[stream]]`.

use std::collections::HashMap;
use std::ops::Range;

use toml::Spanned;

use super::names::{Names, named, one_or_several};
use super::{Graph, Kind, LONGEST_NAME, Link, Network, Node, NodeId, Overhead, Stream, StreamId, system_name, time};
use crate::config::problem::{Report, Reported};
use crate::config::table::{At, Read, Table, parse, text as text_of};
use crate::config::{Errors, ValueError, values};
use crate::egress::EgressTiming;

/// More nodes, links or streams than any plan was made for.
const MOST: usize = 1_000_000;
/// The longest period, in ns: a gate's cycle is as long (tc-taprio(8) has 63 bits; nobody has more than a minute).
pub const LONGEST_PERIOD_NS: u64 = 60_000_000_000;
/// Octets of one message at most: more than a thousand frames are a bulk transfer.
pub const LARGEST_SIZE: u64 = 1_500_000;
/// Of a link, in bits per second.
pub const RATES: std::ops::RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;

/// The tables of the file.
pub(super) const TABLES: [&str; 6] = ["network", "switch", "station", "time", "link", "stream"];

/// Whether a text is meant to be a network, not a switch: it has stations or links, or streams without the classes of a
/// switch.
pub fn is_meant(text: &str) -> bool {
    let has = |keys: &[&str]| {
        let begins = |line: &str| {
            let name: String = line.chars().filter(|c| !c.is_whitespace() && !"[\"".contains(*c)).collect();
            let is = |key: &&str| name.strip_prefix(key).is_some_and(|rest| rest.starts_with([']', '=']));
            keys.iter().any(is)
        };
        text.lines().any(begins)
    };
    text.trim_start().starts_with('{') || has(&["station", "link", "network"]) || has(&["stream"]) && !has(&["class"])
}

pub(super) fn read(text: &str) -> Result<Network, Errors> {
    let mut report = Report::new(text);
    let network = network(text, &mut report);
    finish(network, report.errors)
}

/// What was read, unless something was wrong.
pub(super) fn finish(
    network: Result<Network, Reported>,
    mut errors: Vec<crate::config::Problem>,
) -> Result<Network, Errors> {
    errors.sort_by_key(|problem| (problem.line, problem.column));
    match network {
        Ok(network) if errors.is_empty() => Ok(network),
        _ => Err(Errors { problems: errors }),
    }
}

/// What links have that say nothing of their own.
struct Defaults {
    rate: u64,
    propagation_ns: u64,
    processing_ns: u64,
    queues: u8,
}

pub(super) fn network(text: &str, report: &mut Report) -> Result<Network, Reported> {
    let document = parse(text, report)?;
    let mut file = Table::new(document.get_ref(), 0..0, "the file");
    let head = file.table("network", "[network]".into(), report);
    let (defaults, sync_error_ns, overhead) = head_of(head?, report)?;
    let mut nodes = Vec::new();
    let mut names = Names::new();
    let mut system_names = Vec::new();
    for (key, kind) in [("switch", Kind::Switch), ("station", Kind::Station)] {
        for table in tables(&mut file, key, report)? {
            let id = nodes.len();
            if let Some(span) = node(table, kind, &mut nodes, &mut names, report) {
                system_names.push((id, span));
            }
        }
    }
    system_name::check_distinct(&nodes, &system_names, report);
    let time = file.table("time", "[time]".into(), report)?.map(|table| time::read(table, &names, report));
    let mut links = Vec::new();
    let mut used = Interfaces::new();
    let mut dropped = false;
    for table in tables(&mut file, "link", report)? {
        // What is wrong is reported; all of it is wanted.
        dropped |= cable(table, &defaults, &names, &mut used, &mut links, report).is_err();
    }
    let mut streams: Vec<At<Stream>> = Vec::new();
    for table in tables(&mut file, "stream", report)? {
        if let Ok(stream) = stream(table, &names, &nodes, report) {
            streams.push(stream);
        }
    }
    file.finish(report);
    check_names(&streams, report);
    let spans: Vec<Range<usize>> = streams.iter().map(Spanned::span).collect();
    let streams: Vec<Stream> = streams.into_iter().map(Spanned::into_inner).collect();
    let time = time.transpose()?;
    let network = Network { nodes, links, streams, sync_error_ns, overhead, timing: EgressTiming::IDEAL, time };
    if network.streams.is_empty() && report.errors.is_empty() {
        return Err(report.error(0..0, "there is no [[stream]]; write one for each that is to be carried"));
    }
    // Without a link of the file, what cannot be reached follows from what is wrong with that link.
    if !dropped {
        check_reach(&network, &spans, report);
        check_queues(&network, &spans, report);
    }
    Ok(network)
}

fn tables<'a>(file: &mut Table<'a>, key: &'static str, report: &mut Report) -> Result<Vec<Table<'a>>, Reported> {
    let found = file.tables(key, report)?.unwrap_or_default();
    match found.len() {
        n if n > MOST => Err(report.error(0..0, format!("{n} times [[{key}]]; {MOST} are the most"))),
        _ => Ok(found.into_iter().flatten().collect()),
    }
}

fn head_of(head: Option<Table>, report: &mut Report) -> Result<(Defaults, u64, Overhead), Reported> {
    let defaults = Defaults { rate: 1_000_000_000, propagation_ns: 0, processing_ns: 0, queues: 8 };
    let Some(mut table) = head else { return Ok((defaults, 0, Overhead::Wire)) };
    let defaults = delays(&mut table, &defaults, report);
    let sync = table.parsed("sync-error", report, within_a_second);
    let overhead = table.choice("overhead", &[("wire", Overhead::Wire), ("payload", Overhead::PayloadOnly)], report);
    table.finish(report);
    Ok((defaults?, sync?.map_or(0, Spanned::into_inner), overhead?.map_or(Overhead::Wire, Spanned::into_inner)))
}

/// What `[network]` and `[[link]]` both can say.
fn delays(table: &mut Table, defaults: &Defaults, report: &mut Report) -> Result<Defaults, Reported> {
    let rate = table.parsed("rate", report, |text| match values::rate(text)? {
        rate if RATES.contains(&rate) => Ok(rate),
        _ => Err(ValueError::is_not(text, "from 1Mbit to 1000Gbit")),
    });
    let propagation = table.parsed("propagation", report, within_a_second);
    let processing = table.parsed("processing", report, within_a_second);
    let queues = table.whole("queues", 1..=8, report);
    Ok(Defaults {
        rate: rate?.map_or(defaults.rate, Spanned::into_inner),
        propagation_ns: propagation?.map_or(defaults.propagation_ns, Spanned::into_inner),
        processing_ns: processing?.map_or(defaults.processing_ns, Spanned::into_inner),
        queues: queues?.map_or(defaults.queues, |queues| queues.into_inner() as u8),
    })
}

fn within_a_second(text: &str) -> Result<u64, ValueError> {
    match values::time(text)? {
        ns if ns <= 1_000_000_000 => Ok(ns),
        _ => Err(ValueError::more_than(text, "1s")),
    }
}

/// Where its `system-name` is, if the node has one.
fn node<'a>(
    mut table: Table<'a>,
    kind: Kind,
    nodes: &mut Vec<Node>,
    names: &mut Names<'a>,
    report: &mut Report,
) -> Option<Range<usize>> {
    let name = table.text("name", report);
    let name = table.require("name", "name = \"s1\"", name, report);
    let system_name = table.parsed("system-name", report, system_name::check);
    table.finish(report);
    let (name, system_name) = (name.ok()?, system_name.ok().flatten());
    if let Err(what) = check_name(name.get_ref()) {
        report.error(name.span(), what);
    } else if names.contains_key(name.get_ref()) {
        report.error(name.span(), format!("there are two nodes called \"{}\"", name.get_ref()));
    } else {
        names.insert(name.get_ref(), nodes.len());
        let span = system_name.as_ref().map(Spanned::span);
        let system_name = system_name.map(Spanned::into_inner);
        nodes.push(Node { name: name.get_ref().to_string(), system_name, kind });
        return span;
    }
    None
}

/// Why nothing can be called so.
fn check_name(name: &str) -> Result<(), ValueError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match name {
        "" => Err(ValueError::EmptyName),
        name if name.len() > LONGEST_NAME => Err(ValueError::LongName(LONGEST_NAME)),
        name if !name.bytes().all(fits) || name.starts_with(['.', '-']) => Err(ValueError::name(
            name,
            "a name is of letters a to z, digits, - _ and ., and begins with none of - and .",
        )),
        _ => Ok(()),
    }
}

/// Interfaces of nodes that have a cable, and where the file says so.
type Interfaces<'a> = HashMap<(NodeId, &'a str), Range<usize>>;

/// A cable: two links.
fn cable<'a>(
    mut table: Table<'a>,
    defaults: &Defaults,
    names: &Names,
    used: &mut Interfaces<'a>,
    links: &mut Vec<Link>,
    report: &mut Report,
) -> Result<(), Reported> {
    let between = pair(&mut table, "between", report);
    let between = table.require("between", "between = [\"camera\", \"s1\"]", between, report);
    let ports = pair(&mut table, "ports", report);
    let own = delays(&mut table, defaults, report);
    table.finish(report);
    let [a, b] = between?;
    let (from, to) = (named(&a, names, report), named(&b, names, report));
    let (from, to, own) = (from?, to?, own?);
    if from == to {
        return Err(report.error(b.span(), "a link is between two nodes, not one"));
    }
    let ports = match ports? {
        Some([a, b]) => [(from, a), (to, b)].map(|(node, name)| interface(node, &name, used, report).map(Some)),
        None => [Ok(None), Ok(None)],
    };
    let [out, back] = ports;
    for (from, to, port) in [(from, to, out?), (to, from, back?)] {
        let Defaults { rate, propagation_ns, processing_ns, queues } = own;
        links.push(Link { from, to, port, rate, propagation_ns, processing_ns, queues });
    }
    Ok(())
}

fn interface<'a>(
    node: NodeId,
    name: &At<&'a str>,
    used: &mut Interfaces<'a>,
    report: &mut Report,
) -> Result<String, Reported> {
    let interface = values::interface(name.get_ref()).map_err(|what| report.error(name.span(), what))?;
    match used.insert((node, name.get_ref()), name.span()) {
        Some(first) => {
            let line = report.line(&first);
            let what =
                format!("interface \"{interface}\" has a cable already, in line {line}; one interface has one cable");
            Err(report.error(name.span(), what))
        }
        None => Ok(interface),
    }
}

/// Two texts.
fn pair<'a>(table: &mut Table<'a>, key: &'static str, report: &mut Report) -> Read<[At<&'a str>; 2]> {
    let Some(list) = table.list(key, report)? else { return Ok(None) };
    let texts: Result<Vec<At<&str>>, Reported> =
        list.get_ref().iter().map(|value| text_of(value, key, report)).collect();
    match <[At<&str>; 2]>::try_from(texts?) {
        Ok(pair) => Ok(Some(pair)),
        Err(texts) => Err(report.error(list.span(), format!("`{key}` has two names, not {}", texts.len()))),
    }
}

fn stream(mut table: Table, names: &Names, nodes: &[Node], report: &mut Report) -> Result<At<Stream>, Reported> {
    let span = table.span();
    let name = table.text("name", report);
    let name = table.require("name", "name = \"video\"", name, report);
    let from = table.text("from", report);
    let from = table.require("from", "from = \"camera\"", from, report);
    let to = listeners(&mut table, names, nodes, report);
    let size = table.whole("size", 1..=LARGEST_SIZE, report);
    let size = table.require("size", "size = 1400, in octets", size, report);
    let period = table.parsed("period", report, |text| match values::time(text)? {
        // What is shorter is read as none.
        0 => Err(ValueError::less_than(text, "1ns")),
        ns if ns > LONGEST_PERIOD_NS => Err(ValueError::more_than(text, "a minute")),
        ns => Ok(ns),
    });
    let period = table.require("period", "period = \"1ms\"", period, report);
    let deadline = table.parsed("deadline", report, values::time);
    let jitter = table.parsed("jitter", report, values::time);
    let queue = table.whole("queue", 1..=7, report);
    let address = table.parsed("address", report, values::of_stream);
    let vlan = table.whole("vlan", 0..=4094, report);
    table.finish(report);

    let name = name.and_then(|name| match check_name(name.get_ref()) {
        Ok(()) => Ok(Spanned::new(name.span(), name.get_ref().to_string())),
        Err(what) => Err(report.error(name.span(), what)),
    });
    let talker = from.and_then(|from| {
        let talker = At::new(from.span(), named(&from, names, report)?);
        is_station(&talker, "talks", nodes, report).map(|()| talker)
    });
    let period_ns = period.map(Spanned::into_inner);
    let deadline_ns = deadline.and_then(|deadline| match (deadline, period_ns) {
        (Some(deadline), Ok(period)) if *deadline.get_ref() == 0 || *deadline.get_ref() > period => {
            Err(report.error(deadline.span(), "a deadline is 1ns at least and not beyond the period"))
        }
        (Some(deadline), _) => Ok(deadline.into_inner()),
        (None, period) => period,
    });
    let (talker, listeners) = (talker?, to?);
    if listeners.contains(talker.get_ref()) {
        return Err(report.error(talker.span(), "a stream's talker is none of its listeners"));
    }
    let stream = Stream {
        name: name?.into_inner(),
        talker: talker.into_inner(),
        listeners,
        size: size?.into_inner() as u32,
        period_ns: period_ns?,
        deadline_ns: deadline_ns?,
        jitter_ns: jitter?.map_or(0, Spanned::into_inner),
        queue: queue?.map(|queue| queue.into_inner() as u8),
        address: address?.map(Spanned::into_inner),
        vlan: vlan?.map(|vlan| vlan.into_inner() as u16),
    };
    Ok(At::new(span, stream))
}

fn listeners(table: &mut Table, names: &Names, nodes: &[Node], report: &mut Report) -> Result<Vec<NodeId>, Reported> {
    let found = one_or_several(table, "to", names, report);
    let found = table.require("to", "to = [\"screen\"]", found, report)?;
    if found.get_ref().is_empty() {
        return Err(report.error(found.span(), "a stream has at least one listener"));
    }
    let checked = found.get_ref().iter().map(|node| is_station(node, "listens", nodes, report));
    // Each is wanted, not the first alone.
    let checked: Vec<Result<(), Reported>> = checked.collect();
    checked.into_iter().collect::<Result<(), Reported>>()?;
    Ok(found.into_inner().into_iter().map(Spanned::into_inner).collect())
}

/// Switches have no end points: nothing there would send a stream's messages, or take them.
fn is_station(node: &At<NodeId>, does: &str, nodes: &[Node], report: &mut Report) -> Result<(), Reported> {
    match &nodes[*node.get_ref()] {
        Node { kind: Kind::Station, .. } => Ok(()),
        Node { name, .. } => {
            let what = format!(
                "\"{name}\" is a switch, and only a station {does}; name one, and if that machine {does} too, \
                 write a [[station]] for it with a [[link]] to {name}"
            );
            Err(report.error(node.span(), what))
        }
    }
}

fn check_names(streams: &[At<Stream>], report: &mut Report) {
    let mut lines = HashMap::new();
    for stream in streams {
        if let Some(span) = lines.insert(stream.get_ref().name.as_str(), stream.span()) {
            let line = report.line(&span);
            report
                .error(stream.span(), format!("stream \"{}\" is there already, in line {line}", stream.get_ref().name));
        }
    }
}

/// That every listener can be reached. Streams of one talker are looked at together.
fn check_reach(network: &Network, spans: &[Range<usize>], report: &mut Report) {
    for (stream, to) in unreached(network) {
        let names = (&network.nodes[network.streams[stream].talker].name, &network.nodes[to].name);
        let what = format!("no links lead from \"{}\" to \"{}\" (stations forward nothing)", names.0, names.1);
        report.error(spans[stream].clone(), what);
    }
}

/// That every queue that is asked for is on all links of some way. That there is a way at all is looked at elsewhere.
fn check_queues(network: &Network, spans: &[Range<usize>], report: &mut Report) {
    let graph = Graph::new(network);
    for (stream, span) in network.streams.iter().zip(spans) {
        let Some(queue) = stream.queue.filter(|queue| network.links.iter().any(|link| link.queues <= *queue)) else {
            continue;
        };
        let [any, fit] = [0, queue].map(|queue| graph.reach_by(stream.talker, |id| network.links[id].queues > queue));
        if let Some(to) = stream.listeners.iter().find(|to| any[**to] && !fit[**to]) {
            let names = (&network.nodes[stream.talker].name, &network.nodes[*to].name);
            let what = format!(
                "every way from \"{}\" to \"{}\" has a port without queue {queue}; name a lower one, or leave `queue` out",
                names.0, names.1
            );
            report.error(span.clone(), what);
        }
    }
}

/// Streams with listeners that no path leads to, in the streams' order.
pub(super) fn unreached(network: &Network) -> Vec<(StreamId, NodeId)> {
    let graph = Graph::new(network);
    let mut streams: Vec<StreamId> = (0..network.streams.len()).collect();
    streams.sort_by_key(|stream| network.streams[*stream].talker);
    let mut unreached = Vec::new();
    for of_talker in streams.chunk_by(|a, b| network.streams[*a].talker == network.streams[*b].talker) {
        let reached = graph.reach(network.streams[of_talker[0]].talker);
        for &stream in of_talker {
            let lost = network.streams[stream].listeners.iter().filter(|to| !reached[**to]);
            unreached.extend(lost.map(|to| (stream, *to)));
        }
    }
    unreached.sort_by_key(|(stream, _)| *stream);
    unreached
}

#[cfg(test)]
mod tests {
    const NODES: &str = "switch = [{ name = \"s1\" }]\nstation = [{ name = \"a\" }, { name = \"b\" }]\n";
    const LINKS: &str = "link = [{ between = [\"a\", \"s1\"] }, { between = [\"s1\", \"b\"] }]\n";
    const STREAM: &str = "stream = [{ name = \"x\", from = \"a\", to = \"b\", size = 64, period = \"1ms\" }]\n";

    fn said(text: &str) -> String {
        crate::network::read(text).map_or_else(|errors| errors.in_file("f"), |_| String::new())
    }

    #[test]
    fn an_interface_has_one_cable() {
        let links = |a: &str, b: &str| {
            format!(
                "link = [\n{{ between = [\"a\", \"s1\"], ports = [\"e0\", \"{a}\"] }},\n{{ between = [\"b\", \"s1\"], ports = [\"e0\", \"{b}\"] }}]\n"
            )
        };
        assert_eq!(said(&format!("{NODES}{}{STREAM}", links("p1", "p2"))), "");
        assert_eq!(
            said(&format!("{NODES}{}{STREAM}", links("p1", "p1"))),
            "f:5:41: interface \"p1\" has a cable already, in line 4; one interface has one cable"
        );
    }

    #[test]
    fn clocks_differ_by_a_second_at_most() {
        let toml = |sync: &str| said(&format!("network = {{ sync-error = \"{sync}\" }}\n{NODES}{LINKS}{STREAM}"));
        assert_eq!(toml("1s"), "");
        assert_eq!(toml("9000000000s"), "f:1:26: `sync-error`: \"9000000000s\" is more than 1s");
        let json = include_str!("../../../../fuzz/seeds/switch_network/named_twice.json");
        let json = said(&json.replacen('{', "{ \"network\": { \"sync-error\": \"9000000000s\" }, ", 1));
        assert!(json.contains("`sync-error`: \"9000000000s\" is more than 1s"), "{json}");
    }

    #[test]
    fn a_period_has_a_nanosecond_at_least() {
        let period = |text: &str| said(&format!("{NODES}{LINKS}{}", STREAM.replace("1ms", text)));
        assert_eq!(period("1ns"), "");
        assert_eq!(period("0.1ns"), "f:4:67: `period`: \"0.1ns\" is less than 1ns");
        assert_eq!(period("0ms"), "f:4:67: `period`: \"0ms\" is less than 1ns");
    }

    #[test]
    fn no_stream_has_the_address_of_all_stations_or_of_none() {
        let address = |text: &str| {
            let to = format!("size = 64, address = \"{text}\"");
            said(&format!("{NODES}{LINKS}{}", STREAM.replace("size = 64", &to)))
        };
        assert_eq!(address("03:00:00:00:00:01"), "");
        assert_eq!(address("01:80:c2:00:00:10"), "");
        for (reserved, why) in [
            ("00:00:00:00:00:00", "no frame has an address of zeros"),
            ("01:80:c2:00:00:00", "not forwarded by any bridge"),
            ("01:80:c2:00:00:0f", "not forwarded by any bridge"),
        ] {
            assert!(address(reserved).contains(why), "{reserved}: {}", address(reserved));
        }
        let refused = address("ff:ff:ff:ff:ff:FF");
        assert!(refused.starts_with("f:4:68: `address`: \"ff:ff:ff:ff:ff:FF\" is the address of all"), "{refused}");
    }

    #[test]
    fn what_follows_from_a_wrong_link_is_not_said() {
        let wrong = LINKS.replacen("[\"a\", \"s1\"]", "[\"a\", \"s1\"], rate = \"100Mb\"", 1);
        let errors = said(&format!("{NODES}{wrong}{STREAM}"));
        assert!(errors.starts_with("f:3:") && errors.lines().count() == 1, "{errors}");
        let missing = said(&format!("{NODES}link = [{{ between = [\"a\", \"s1\"] }}]\n{STREAM}"));
        assert!(missing.contains("no links lead from \"a\" to \"b\""), "{missing}");
    }

    #[test]
    fn a_queue_is_one_that_all_ports_of_some_way_have() {
        let with = |queue: u8, ends: &str| {
            let links = LINKS.replacen("\"b\"] }", &format!("\"b\"], queues = 4 }}{ends}"), 1);
            said(&format!("{NODES}{links}{}", STREAM.replace("size = 64", &format!("size = 64, queue = {queue}"))))
        };
        assert_eq!(with(3, ""), "");
        assert_eq!(
            with(4, ""),
            "f:4:11: every way from \"a\" to \"b\" has a port without queue 4; name a lower one, or leave `queue` out"
        );
        // By a second cable.
        assert_eq!(with(7, ", { between = [\"b\", \"s1\"] }"), "");
    }

    #[test]
    fn a_stream_is_from_a_station_to_stations() {
        let stream = |from: &str, to: &str| {
            said(&format!(
                "{NODES}{LINKS}{}",
                STREAM.replace("from = \"a\", to = \"b\"", &format!("from = {from}, to = {to}"))
            ))
        };
        assert_eq!(stream("\"a\"", "\"b\""), "");
        let talker = stream("\"s1\"", "\"b\"");
        assert!(talker.starts_with("f:4:32: \"s1\" is a switch, and only a station talks; "), "{talker}");
        let listener = stream("\"a\"", "[\"b\", \"s1\"]");
        assert!(listener.starts_with("f:4:48: \"s1\" is a switch, and only a station listens; "), "{listener}");
    }
}
