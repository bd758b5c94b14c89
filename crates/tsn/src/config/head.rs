//! The `[switch]` table: what holds for the switch as a whole.

use ontick_units::CpuList;
use toml::Spanned;
use toml::de::DeValue;

use super::problem::{Report, Reported};
use super::table::{At, Read, Table, choice, kind, text};
use super::value_error::ValueError;
use super::values;
use crate::model::{Bridge, BridgePriority, Classifier, Clock, Datapath, Plane, Reserved, Role, Socket, SpanningTree};

/// Linux' default for a bridge, and the standard's (IEEE 802.1Q-2022 Table 8-6).
pub(super) const AGEING_NS: u64 = 300_000_000_000;
/// Addresses that are remembered where that is not said.
pub(super) const ADDRESSES: usize = 8_192;
/// The highest number of a CPU.
const MOST_CPU: u64 = 65_535;
/// More cores than ports of a machine keep busy.
const MOST_CORES: usize = 64;
const CPUS: &str = "a list of 1 to 64 CPUs (1-3 or 1,3)";
/// More addresses than any one network has, in 32 MiB.
const MOST_ADDRESSES: u64 = 1 << 20;
/// The longest ageing time of the standard, in ns (Table 8-6).
const LONGEST_AGEING_NS: u64 = 1_000_000_000_000_000;

pub(super) const ROLES: [(&str, Role); 2] = [("bridge", Role::Bridge), ("station", Role::Station)];
pub(super) const PLANES: [(&str, Plane); 3] = [("auto", Plane::Auto), ("kernel", Plane::Kernel), ("user", Plane::User)];
pub(super) const CLASSIFIERS: [(&str, Classifier); 4] = [
    ("auto", Classifier::Auto),
    ("flower", Classifier::Flower),
    ("nft", Classifier::Nft),
    ("iptables", Classifier::Iptables),
];
/// The kind of `bridge`.
#[derive(Clone, Copy, PartialEq)]
enum BridgeKind {
    Linux,
    OpenVswitch,
}
const BRIDGES: [(&str, BridgeKind); 2] = [("linux", BridgeKind::Linux), ("openvswitch", BridgeKind::OpenVswitch)];
const DATAPATHS: [(&str, Datapath); 2] = [("system", Datapath::System), ("netdev", Datapath::Netdev)];
pub(super) const SOCKETS: [(&str, Socket); 2] = [("packet", Socket::Packet), ("xdp", Socket::Xdp)];
pub(super) const CLOCKS: [(&str, Clock); 3] =
    [("tai", Clock::Tai), ("realtime", Clock::Realtime), ("monotonic", Clock::Monotonic)];

/// The `[switch]` table.
pub(super) struct Head {
    pub(super) name: At<String>,
    pub(super) role: Role,
    pub(super) plane: Plane,
    pub(super) bridge: Bridge,
    pub(super) classifier: Classifier,
    pub(super) socket: Socket,
    pub(super) cpus: Vec<u32>,
    pub(super) clock: Clock,
    pub(super) ageing_ns: u64,
    pub(super) addresses: usize,
    pub(super) stp: SpanningTree,
    pub(super) forward_reserved: Reserved,
    pub(super) transparent_clock: bool,
    pub(super) learning: bool,
    pub(super) flood: Option<Vec<At<String>>>,
}

pub(super) fn head(mut table: Table, report: &mut Report) -> Result<Head, Reported> {
    let name = table.parsed("name", report, values::interface);
    let name = table.require("name", "name = \"cell4\"", name, report);
    let role = table.choice("role", &ROLES, report);
    let plane = table.choice("plane", &PLANES, report);
    let bridge = bridge(&mut table, report);
    let classifier = table.choice("classifier", &CLASSIFIERS, report);
    let socket = table.choice("socket", &SOCKETS, report);
    let cpus = cpus(&mut table, report);
    let clock = table.choice("clock", &CLOCKS, report);
    let ageing = table.parsed("ageing-time", report, |text| match values::time(text)? {
        ns @ 1_000_000_000..=LONGEST_AGEING_NS => Ok(ns),
        _ => Err(ValueError::is_not(text, "from 1s to 1000000s (300s is usual)")),
    });
    let addresses = table.whole("mac-table", 1..=MOST_ADDRESSES, report);
    let stp = spanning_tree(&mut table, report);
    let forward_reserved = reserved(&mut table, report);
    let transparent_clock = table.flag("transparent-clock", report);
    let learning = table.flag("learning", report);
    let flood = port_names(&mut table, "flood", report);
    table.finish(report);
    let bridge = bridge?;
    // No other data plane has it.
    let usual = if bridge == Bridge::Linux { Plane::Auto } else { Plane::Kernel };
    let plane = plane?.map_or(Plane::Auto, Spanned::into_inner);
    Ok(Head {
        name: name?,
        role: role?.map_or(Role::Bridge, Spanned::into_inner),
        plane: if plane == Plane::Auto { usual } else { plane },
        bridge,
        classifier: classifier?.map_or(Classifier::Auto, Spanned::into_inner),
        socket: socket?.map_or(Socket::Packet, Spanned::into_inner),
        cpus: cpus?,
        clock: clock?.map_or(Clock::Tai, Spanned::into_inner),
        ageing_ns: ageing?.map_or(AGEING_NS, Spanned::into_inner),
        addresses: addresses?.map_or(ADDRESSES, |addresses| addresses.into_inner() as usize),
        stp: stp?,
        forward_reserved: forward_reserved?,
        transparent_clock: transparent_clock?.unwrap_or(false),
        learning: learning?.unwrap_or(true),
        flood: flood?,
    })
}

/// `cpu` of one core, or `cpus` of several.
fn cpus(table: &mut Table, report: &mut Report) -> Result<Vec<u32>, Reported> {
    let one = table.whole("cpu", 0..=MOST_CPU, report);
    let several = table.parsed("cpus", report, |text| {
        let cpus: CpuList = text.parse().map_err(|_| ValueError::is_not(text, CPUS))?;
        match (cpus.len(), cpus.last()) {
            (1..=MOST_CORES, Some(last)) if u64::from(last) <= MOST_CPU => Ok(cpus.iter().collect()),
            _ => Err(ValueError::is_not(text, CPUS)),
        }
    });
    match (one?, several?) {
        (None, None) => Ok(Vec::new()),
        (Some(cpu), None) => Ok(vec![cpu.into_inner() as u32]),
        (None, Some(cpus)) => Ok(cpus.into_inner()),
        (Some(_), Some(cpus)) => Err(report.error(cpus.span(), "`cpu` and `cpus` say the same: leave one of them out")),
    }
}

/// `bridge`, with its `datapath`.
fn bridge(table: &mut Table, report: &mut Report) -> Result<Bridge, Reported> {
    let kind = table.choice("bridge", &BRIDGES, report);
    let datapath = table.choice("datapath", &DATAPATHS, report);
    match (kind?.map_or(BridgeKind::Linux, Spanned::into_inner), datapath?) {
        (BridgeKind::OpenVswitch, datapath) => {
            Ok(Bridge::OpenVswitch(datapath.map_or(Datapath::System, Spanned::into_inner)))
        }
        (BridgeKind::Linux, None) => Ok(Bridge::Linux),
        (BridgeKind::Linux, Some(datapath)) => {
            Err(report.error(datapath.span(), "`datapath` goes with bridge = \"openvswitch\" alone; leave it out"))
        }
    }
}

/// `stp`: whether, or by which protocol; with its `bridge-priority`.
fn spanning_tree(table: &mut Table, report: &mut Report) -> Result<SpanningTree, Reported> {
    let protocol: Option<fn(BridgePriority) -> SpanningTree> = match table.get("stp") {
        None => None,
        Some(value) => match value.get_ref() {
            DeValue::Boolean(false) => None,
            DeValue::Boolean(true) => Some(SpanningTree::Stp),
            DeValue::String(text) if text == "rstp" => Some(SpanningTree::Rstp),
            other => {
                let text = format!("`stp` is true, false or \"rstp\", not {}", kind(other));
                return Err(report.error(value.span(), text));
            }
        },
    };
    let number = table.whole("bridge-priority", 0..=u64::from(u16::MAX - (BridgePriority::STEP - 1)), report)?;
    match (protocol, number) {
        (None, None) => Ok(SpanningTree::Off),
        (None, Some(number)) => {
            Err(report
                .error(number.span(), "`bridge-priority` goes with `stp` alone; leave it out, or write stp = true"))
        }
        (Some(protocol), None) => Ok(protocol(BridgePriority::default())),
        (Some(protocol), Some(number)) => {
            let priority = BridgePriority::new(*number.get_ref() as u16);
            let wrong =
                "`bridge-priority` is a multiple of 4096 (IEEE 802.1Q-2022 clause 14.2.5), such as 4096 or 32768";
            priority.map(protocol).ok_or_else(|| report.error(number.span(), wrong))
        }
    }
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

/// Names of ports, as they are written.
pub(super) fn port_names(table: &mut Table, key: &'static str, report: &mut Report) -> Read<Vec<At<String>>> {
    let Some(list) = table.list(key, report)? else { return Ok(None) };
    let names = list.get_ref().iter().map(|value| {
        let name = text(value, key, report)?;
        Ok(At::new(name.span(), name.get_ref().to_string()))
    });
    names.collect::<Result<Vec<_>, Reported>>().map(Some)
}
