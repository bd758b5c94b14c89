//! The queueing disciplines at a port's way out.

use std::collections::BTreeMap;

use crate::apply::{Act, Expect, Host, Iface, Step, Undo, qdiscs, root_of, tc_can_set};
use crate::qdisc::{Cbs, HANDLE, Mqprio, PRIORITIES, Prio, Taprio};
use ontick_tsn::model::{Base, Clock, Gates, Guard, Offload, Port, STANDARD_CLASSES, Switch};
use ontick_tsn::schedule::{guard_ns, with_guards};
use ontick_tsn::target::KERNEL_ENTRIES;
use ontick_tsn::wire::LARGEST_SDU;

use super::found::PortState;
use super::preemption;
use super::priority_map::{First, Lanes};
use super::probe;
use super::shaper;

const SECOND: u64 = 1_000_000_000;
/// The kernel that taprio's largest service data unit of a class came with.
const MAX_SDU_SINCE: (u32, u32) = (6, 1);
/// A base time that follows from "the next second" leaves at least so long to set everything up. Later than that is no
/// fault: whole cycles are counted from it.
const LEAD_NS: u64 = 1_500_000_000;
/// What taprio holds a cycle's length in.
const LONGEST_CYCLE_NS: u64 = i32::MAX as u64;
/// taprio takes no entry that is shorter than a frame of so many octets.
const SHORTEST_ENTRY: u64 = 60;

/// What base times are found from.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// It is this time on the switch's clock, in ns.
    Now(u64),
    /// Cycles have begun at this time.
    Base(u64),
}

/// When cycles begin.
pub(super) fn base_ns(base: Base, when: When) -> u64 {
    match (base, when) {
        (_, When::Base(ns)) | (Base::At(ns), _) => ns,
        (Base::NextSecond, When::Now(ns)) => (ns + LEAD_NS).div_ceil(SECOND) * SECOND,
    }
}

/// As tc(8) calls it, without `CLOCK_`.
pub(super) fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Monotonic => "MONOTONIC",
        Clock::Realtime => "REALTIME",
        Clock::Tai => "TAI",
    }
}

/// Which class goes first on this port.
pub(super) fn first(host: &impl Host, port: &Port) -> First {
    let version = super::release(host);
    let by_queue = host.driver(&port.name).is_some_and(|driver| driver == "igb" || driver == "igc");
    if version < (6, 3) || by_queue { First::LowestQueue } else { First::Highest }
}

/// The root queueing discipline that the port has: the kernel's own, or a sentence against it.
pub(super) fn root_kind(host: &impl Host, port: &str) -> Result<String, String> {
    let qdiscs = qdiscs(host, port).map_err(|e| e.to_string())?;
    let Some(root) = root_of(&qdiscs) else { return Ok("noqueue".into()) };
    let text = |key: &str| root[key].as_str().unwrap_or_default().to_owned();
    match text("handle").as_str() {
        "0:" => Ok(text("kind")),
        HANDLE => Err(format!(
            "port {port} has a queueing discipline that an ontick set up ({}, handle {HANDLE}): revert the switch that it \
             belongs to, or remove it (tc qdisc del dev {port} root)",
            text("kind")
        )),
        handle => Err(format!(
            "port {port} has a queueing discipline that somebody set up ({}, handle {handle}), which could not be \
             restored exactly: remove it first (tc qdisc del dev {port} root)",
            text("kind")
        )),
    }
}

/// The step for the port: taprio where it has gates, mqprio where it preempts frames, else strict priority, else nothing.
pub(super) fn step(
    host: &impl Host,
    switch: &Switch,
    found: &PortState,
    lanes: &Lanes,
    when: When,
    notes: &mut Vec<String>,
) -> Result<Option<Step>, String> {
    let was = root_kind(host, found.port.name.as_str())?;
    let back = Undo::RootQdisc { port: Iface::from(found.link), handle: HANDLE.into(), was };
    Ok(disciplines(host, switch, found, lanes, when, notes)?.map(|step| step.undo(back)))
}

/// The same without a way back.
pub(super) fn disciplines(
    host: &impl Host,
    switch: &Switch,
    found: &PortState,
    lanes: &Lanes,
    when: When,
    notes: &mut Vec<String>,
) -> Result<Option<Step>, String> {
    match &found.port.gates {
        Some(gates) => {
            let taprio = taprio(host, switch, found, gates, lanes, when, notes)?;
            let below = Below { switch, shapers: shaper::of(host, switch, found)? };
            if !below.shapers.is_empty() {
                probe::prio(host).required()?;
            }
            Ok(Some(taprio_step(&below, found, lanes, taprio)))
        }
        None if found.port.preemption.is_some() => {
            probe::mqprio(host).required()?;
            enough_queues(found, lanes, "mqprio")?;
            let below = Below { switch, shapers: BTreeMap::new() };
            Ok(Some(mqprio_step(&below, found, lanes)))
        }
        None if switch.classes.len() > 1 || found.port.is_shaped() => {
            probe::prio(host).required()?;
            let below = Below { switch, shapers: shaper::of(host, switch, found)? };
            Ok(Some(prio_step(&below, found, lanes)))
        }
        None => Ok(None),
    }
}

pub(super) fn taprio(
    host: &impl Host,
    switch: &Switch,
    found: &PortState,
    gates: &Gates,
    lanes: &Lanes,
    when: When,
    notes: &mut Vec<String>,
) -> Result<Taprio, String> {
    let (name, classes) = (found.port.name.as_str(), lanes.lanes.len());
    probe::taprio(host).required()?;
    if let Some(why) = shaper::unshaped(switch, found.port) {
        return Err(format!("port {name}: {why}"));
    }
    let counts = enough_queues(found, lanes, "taprio")?;
    if found.port.offload != Offload::None && classes > STANDARD_CLASSES {
        return Err(format!(
            "port {name}: {classes} classes, and hardware has the {STANDARD_CLASSES} of IEEE 802.1Q at most: have fewer, \
             or offload = \"none\""
        ));
    }
    if gates.cycle_ns > LONGEST_CYCLE_NS {
        return Err(format!(
            "port {name}: a cycle of {} ns is longer than taprio can count ({LONGEST_CYCLE_NS} ns): use the user data \
             plane",
            gates.cycle_ns
        ));
    }
    let entries = guarded(switch, found, gates, lanes)?;
    if entries.len() > KERNEL_ENTRIES {
        return Err(format!(
            "port {name}: {} entries, guard bands included, and the kernel shows lists of {KERNEL_ENTRIES} at most: use \
             the user data plane",
            entries.len()
        ));
    }
    let (flags, delay_ns) = match found.port.offload {
        Offload::None => (0, None),
        Offload::TxTime { delay_ns } => (1, Some(delay_ns)),
        Offload::Full => (2, None),
    };
    if flags == 1 {
        probe::etf(host).required()?;
    }
    Ok(Taprio {
        map: lanes.map,
        queues: counts.iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect(),
        counts: if counts.iter().all(|count| *count == 1) { Vec::new() } else { counts },
        base_ns: base_ns(gates.base, when),
        cycle_ns: gates.cycle_ns,
        entries,
        // With full offload it is the port's.
        clock: (flags != 2).then(|| clock_name(switch.clock).into()),
        flags,
        delay_ns,
        max_sdu: max_sdu(host, found, lanes, notes),
        preemptible: preemption::by_traffic_class(found.port, lanes),
    })
}

/// The transmit queues of each traffic class, if the port has so many.
fn enough_queues(found: &PortState, lanes: &Lanes, kind: &str) -> Result<Vec<u16>, String> {
    let (name, classes) = (found.port.name.as_str(), lanes.lanes.len());
    let counts: Vec<u16> = lanes.lanes.iter().map(|lane| found.port.transmit_queues_of(lane.class)).collect();
    let needed = usize::from(counts.iter().sum::<u16>());
    match found.queues {
        Some(1) => Err(format!(
            "port {name} has one transmit queue, and {kind} needs one for each class: use the user data plane"
        )),
        Some(queues) if (queues as usize) < classes => Err(format!(
            "port {name} has {queues} transmit queues, and the switch has {classes} classes: {kind} needs one for each. \
             Have fewer classes, more queues (ethtool -L {name}), or use the user data plane"
        )),
        Some(queues) if (queues as usize) < needed => Err(format!(
            "port {name} has {queues} transmit queues, and its classes have {needed} (transmit-queues): give them fewer, \
             or the port more (ethtool -L {name})"
        )),
        _ => Ok(counts),
    }
}

/// The entries with their guard bands, as gate masks of the kernel.
fn guarded(switch: &Switch, found: &PortState, gates: &Gates, lanes: &Lanes) -> Result<Vec<(u32, u64)>, String> {
    let rate = found.rate_for_guards();
    let largest =
        |class: usize| found.port.max_sdu.get(class).copied().flatten().unwrap_or(found.link.mtu.max(LARGEST_SDU));
    let guards = lanes.by_queue(|class| guard_ns(gates.guard, largest(class), rate));
    let entries = match gates.guard {
        Guard::None => gates.entries.clone(),
        _ => with_guards(&gates.entries, &guards),
    };
    let shortest_ns = SHORTEST_ENTRY * 8 * SECOND / found.assumed_rate();
    if let Some(short) = entries.iter().find(|entry| entry.for_ns < shortest_ns) {
        return Err(format!(
            "port {}: {} an entry of {} ns, and the kernel takes none shorter than its shortest frame ({shortest_ns} ns \
             at this rate): make the window longer{}",
            found.port.name.as_str(),
            if gates.guard == Guard::None { "there is" } else { "the guard bands leave" },
            short.for_ns,
            if gates.guard == Guard::None { "" } else { " or the guard longer" },
        ));
    }
    debug_assert!(switch.classes.len() == lanes.lanes.len());
    Ok(entries.iter().map(|entry| (lanes.mask(entry.open), entry.for_ns)).collect())
}

fn max_sdu(host: &impl Host, found: &PortState, lanes: &Lanes, notes: &mut Vec<String>) -> Vec<u32> {
    let of = |class: usize| found.port.max_sdu.get(class).copied().flatten();
    if lanes.lanes.iter().all(|lane| of(lane.class).is_none()) {
        return Vec::new();
    }
    if super::release(host) < MAX_SDU_SINCE {
        notes.push(format!(
            "port {}: this kernel does not know max-sdu (Linux 6.1 does), so longer frames of a class are not \
             dropped",
            found.port.name.as_str()
        ));
        return Vec::new();
    }
    lanes.lanes.iter().map(|lane| of(lane.class).unwrap_or(0)).collect()
}

/// Sets a port's gates, for the first time or anew.
pub(super) fn replace(port: &str, taprio: &Taprio) -> Act {
    match tc_can_set(taprio) {
        true => Act::run(format!("tc qdisc replace dev {port} {}", taprio.words())),
        false => Act::Gates { port: port.into(), taprio: taprio.clone() },
    }
}

fn taprio_step(below: &Below, found: &PortState, lanes: &Lanes, taprio: Taprio) -> Step {
    let name = found.port.name.as_str();
    let replace = replace(name, &taprio);
    let mut step = Step::of(name, "gates (taprio)").act(replace.clone());
    let mut children = Vec::new();
    let all = taprio.all_queues();
    for (lane, queue) in lanes.lanes.iter().zip(all).flat_map(|(lane, all)| all.map(move |queue| (lane, queue))) {
        let parent = parent(queue);
        match taprio.delay_ns {
            // The port holds frames until their time if it can.
            Some(delay_ns) => {
                let clock = taprio.clock.as_deref().unwrap_or("TAI");
                let base = format!("tc qdisc replace dev {name} parent {parent} handle {}", handle(1, queue + 1));
                let etf = format!("{base} etf clockid CLOCK_{clock} delta {delay_ns} skip_sock_check");
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                step = step.act(Act::First { of: vec![words(&format!("{etf} offload")), words(&etf)] });
                children.push((parent, "etf".to_owned()));
            }
            None => {
                let disciplines = below.disciplines(lane.class, true);
                step = attach(step, name, parent, queue + 1, disciplines, &mut children);
            }
        }
    }
    // Attaching a child stops software taprio for ever, as a link event does; asking for the same again starts it.
    step = step.act(replace);
    step.expect(Expect::Taprio { port: name.into(), taprio }).expect(Expect::Children { port: name.into(), children })
}

/// What classes have below taprio or prio.
struct Below<'a> {
    switch: &'a Switch,
    shapers: BTreeMap<usize, Cbs>,
}

/// A queueing discipline below another.
enum Discipline {
    /// Holds frames, up to so many.
    Pfifo { limit: u32 },
    /// Holds them to a rate.
    Cbs(Cbs),
    /// Passes them on.
    Prio,
}

impl Below<'_> {
    /// Those of a class, from above.
    fn disciplines(&self, class: usize, below_taprio: bool) -> Vec<Discipline> {
        let pfifo = Discipline::Pfifo { limit: self.switch.classes[class].limit };
        match self.shapers.get(&class) {
            None => vec![pfifo],
            // Software taprio looks at a frame before it takes one. For that cbs takes it out of its queue, and then
            // gives taprio the next, so that the first is held for ever. prio keeps the one that was looked at.
            Some(cbs) if below_taprio => vec![Discipline::Prio, Discipline::Cbs(*cbs), pfifo],
            Some(cbs) => vec![Discipline::Cbs(*cbs), pfifo],
        }
    }
}

impl Discipline {
    fn kind(&self) -> &'static str {
        match self {
            Discipline::Pfifo { .. } => "pfifo",
            Discipline::Cbs(_) => "cbs",
            Discipline::Prio => "prio",
        }
    }

    /// What follows `handle HANDLE`.
    fn words(&self) -> String {
        let kind = self.kind();
        match self {
            Discipline::Pfifo { limit } => format!("{kind} limit {limit}"),
            Discipline::Cbs(cbs) => format!("{kind} {}", cbs.words()),
            Discipline::Prio => format!("{kind} bands 2 priomap{}", " 0".repeat(PRIORITIES)),
        }
    }
}

/// Attaches queueing disciplines to a place of taprio or prio, one below the other.
fn attach(
    mut step: Step,
    port: &str,
    mut parent: String,
    number: u16,
    disciplines: Vec<Discipline>,
    children: &mut Vec<(String, String)>,
) -> Step {
    for (level, discipline) in (1..).zip(disciplines) {
        let handle = handle(level, number);
        let words = discipline.words();
        step = step.act(Act::run(format!("tc qdisc replace dev {port} parent {parent} handle {handle} {words}")));
        if let Discipline::Cbs(cbs) = discipline {
            step = step.expect(Expect::Cbs { port: port.into(), parent: parent.clone(), cbs });
        }
        let below = format!("{handle}1");
        children.push((std::mem::replace(&mut parent, below), discipline.kind().to_owned()));
    }
    step
}

/// Where among these the command is that attaches a queueing discipline to this place.
pub(super) fn attaching(acts: &[Act], parent: &str) -> Option<usize> {
    let attaches = |act: &Act| match act {
        Act::Run { argv } => argv.windows(2).any(|pair| pair == ["parent", parent]),
        _ => false,
    };
    acts.iter().position(attaches)
}

/// The handle of a queueing discipline so many levels below the root, for a transmit queue or a band counted from one.
fn handle(level: u16, number: u16) -> String {
    format!("{}{level:x}{number:02x}:", &HANDLE[..1])
}

/// The place of a transmit queue below taprio, or of a band below prio.
pub(super) fn parent(queue: u16) -> String {
    format!("{HANDLE}{:x}", queue + 1)
}

fn mqprio_step(below: &Below, found: &PortState, lanes: &Lanes) -> Step {
    let name = found.port.name.as_str();
    let mqprio = Mqprio { map: lanes.map, preemptible: preemption::by_traffic_class(found.port, lanes) };
    let mut step = Step::of(name, "strict priority and preemption (mqprio)")
        .act(Act::run(format!("tc qdisc replace dev {name} {}", mqprio.words())));
    let mut children = Vec::new();
    for (lane, queue) in lanes.lanes.iter().zip(0..) {
        step = attach(step, name, parent(queue), queue + 1, below.disciplines(lane.class, false), &mut children);
    }
    step.expect(Expect::Mqprio { port: name.into(), mqprio }).expect(Expect::Children { port: name.into(), children })
}

fn prio_step(below: &Below, found: &PortState, lanes: &Lanes) -> Step {
    let name = found.port.name.as_str();
    let classes = lanes.lanes.len() as u8;
    // The band that goes first is 0. There are at least two.
    let by_class: Vec<u8> = {
        let mut order: Vec<usize> = (0..lanes.lanes.len()).collect();
        order.sort_by_key(|class| std::cmp::Reverse(lanes.lanes[*class].queue));
        (0..lanes.lanes.len()).map(|class| order.iter().position(|c| *c == class).unwrap_or(0) as u8).collect()
    };
    let map = lanes.map.map(|class| by_class[usize::from(class)]);
    let prio = Prio { bands: classes.max(2), map, on_the_wire: !below.shapers.is_empty() };
    let mut step =
        Step::of(name, "strict priority (prio)").act(Act::run(format!("tc qdisc replace dev {name} {}", prio.words())));
    let mut children = Vec::new();
    for (class, lane) in lanes.lanes.iter().enumerate() {
        let band = u16::from(by_class[class]);
        step = attach(step, name, parent(band), band + 1, below.disciplines(lane.class, false), &mut children);
    }
    step.expect(Expect::Prio { port: name.into(), prio }).expect(Expect::Children { port: name.into(), children })
}
