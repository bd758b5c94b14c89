//! The whole document: `[switch]`, `[[class]]` and `[[port]]`.

use std::ops::Range;

use crate::model::Clock;
use toml::Spanned;

use super::problem::{Report, Reported};
use super::table::{At, Table, choice, parse, text};
use super::{check, class, forwarding, port, values};
use crate::model::{Classifier, Plane, Reserved, Role, Socket, Switch};

/// Linux' default for a bridge, and the standard's (IEEE 802.1Q-2022 Table 8-6).
pub(super) const AGEING_NS: u64 = 300_000_000_000;
/// Addresses that are remembered where that is not said.
pub(super) const ADDRESSES: usize = 8_192;
/// More addresses than any one network has, in 32 MiB.
const MOST_ADDRESSES: u64 = 1 << 20;
/// The longest ageing time of the standard, in ns (Table 8-6).
const LONGEST_AGEING_NS: u64 = 1_000_000_000_000_000;
/// More ports than a machine has.
const MOST_PORTS: usize = 256;

pub(super) const ROLES: [(&str, Role); 2] = [("bridge", Role::Bridge), ("station", Role::Station)];
pub(super) const PLANES: [(&str, Plane); 3] = [("auto", Plane::Auto), ("kernel", Plane::Kernel), ("user", Plane::User)];
pub(super) const CLASSIFIERS: [(&str, Classifier); 4] = [
    ("auto", Classifier::Auto),
    ("flower", Classifier::Flower),
    ("nft", Classifier::Nft),
    ("iptables", Classifier::Iptables),
];
pub(super) const SOCKETS: [(&str, Socket); 2] = [("packet", Socket::Packet), ("xdp", Socket::Xdp)];
pub(super) const CLOCKS: [(&str, Clock); 3] =
    [("tai", Clock::Tai), ("realtime", Clock::Realtime), ("monotonic", Clock::Monotonic)];

/// The `[switch]` table.
pub(super) struct Head {
    pub(super) name: At<String>,
    pub(super) role: Role,
    pub(super) plane: Plane,
    classifier: Classifier,
    socket: Socket,
    cpu: Option<u32>,
    pub(super) clock: Clock,
    ageing_ns: u64,
    addresses: usize,
    stp: bool,
    forward_reserved: Reserved,
    pub(super) learning: bool,
    pub(super) flood: Option<Vec<At<String>>>,
}

pub(super) fn switch(text: &str, now_ns: u64, report: &mut Report) -> Result<Switch, Reported> {
    let document = parse(text, report)?;
    let mut table = Table::new(document.get_ref(), 0..0, "the file");
    let head = table.table("switch", "[switch]".into(), report);
    let head =
        table.require("switch", "write [switch], with a name", head, report).and_then(|table| head_of(table, report));
    let classes: Vec<class::Draft> =
        tables(&mut table, "class", report)?.into_iter().map(|table| class::class(table, report)).collect();
    let ports: Vec<port::Draft> =
        tables(&mut table, "port", report)?.into_iter().map(|table| port::port(table, &classes, report)).collect();
    let forwarding = forwarding::forwarding(&mut table, head.as_ref().ok(), &ports, report);
    table.finish(report);
    check::classes(&classes, head.as_ref().ok(), report);
    check::ports(&ports, head.as_ref().ok(), report);
    check::gates(&ports, &classes, head.as_ref().ok(), now_ns, report);
    let head = head?;
    Ok(Switch {
        name: head.name.into_inner(),
        role: head.role,
        plane: head.plane,
        classifier: head.classifier,
        socket: head.socket,
        cpu: head.cpu,
        clock: head.clock,
        ageing_ns: head.ageing_ns,
        addresses: head.addresses,
        stp: head.stp,
        forward_reserved: head.forward_reserved,
        classes: classes.iter().map(class::Draft::class).collect::<Result<_, _>>()?,
        ports: ports.iter().map(port::Draft::port).collect::<Result<_, _>>()?,
        forwarding: forwarding?,
    })
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

fn head_of(mut table: Table, report: &mut Report) -> Result<Head, Reported> {
    let name = table.parsed("name", report, values::interface);
    let name = table.require("name", "name = \"cell4\"", name, report);
    let role = table.choice("role", &ROLES, report);
    let plane = table.choice("plane", &PLANES, report);
    let classifier = table.choice("classifier", &CLASSIFIERS, report);
    let socket = table.choice("socket", &SOCKETS, report);
    let cpu = table.whole("cpu", 0..=65_535, report);
    let clock = table.choice("clock", &CLOCKS, report);
    let ageing = table.parsed("ageing-time", report, |text| match values::time(text)? {
        ns @ 1_000_000_000..=LONGEST_AGEING_NS => Ok(ns),
        _ => Err(format!("\"{text}\" is not from 1s to 1000000s (300s is usual)")),
    });
    let addresses = table.whole("mac-table", 1..=MOST_ADDRESSES, report);
    let stp = table.flag("stp", report);
    let forward_reserved = reserved(&mut table, report);
    let learning = table.flag("learning", report);
    let flood = forwarding::port_names(&mut table, "flood", report);
    table.finish(report);
    Ok(Head {
        name: name?,
        role: role?.map_or(Role::Bridge, Spanned::into_inner),
        plane: plane?.map_or(Plane::Auto, Spanned::into_inner),
        classifier: classifier?.map_or(Classifier::Auto, Spanned::into_inner),
        socket: socket?.map_or(Socket::Packet, Spanned::into_inner),
        cpu: cpu?.map(|cpu| cpu.into_inner() as u32),
        clock: clock?.map_or(Clock::Tai, Spanned::into_inner),
        ageing_ns: ageing?.map_or(AGEING_NS, Spanned::into_inner),
        addresses: addresses?.map_or(ADDRESSES, |addresses| addresses.into_inner() as usize),
        stp: stp?.unwrap_or(false),
        forward_reserved: forward_reserved?,
        learning: learning?.unwrap_or(true),
        flood: flood?,
    })
}

/// Groups of reserved addresses that are forwarded all the same.
fn reserved(table: &mut Table, report: &mut Report) -> Result<Reserved, Reported> {
    const KEY: &str = "forward-reserved";
    let mut all = Ok(Reserved::default());
    for value in table.list(KEY, report)?.iter().flat_map(|list| list.get_ref().iter()) {
        let group = text(value, KEY, report).and_then(|name| {
            choice(name.get_ref(), &Reserved::GROUPS)
                .map_err(|what| report.error(name.span(), format!("`{KEY}`: {what}")))
        });
        all = all.and_then(|all| group.map(|group| all.with(group)));
    }
    all
}
