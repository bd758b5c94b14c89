//! That every class can be reached.

use super::super::class::Draft as Class;
use super::super::head::Head;
use super::super::port::Draft as Port;
use super::super::problem::Report;
use super::super::values::network_mask;
use crate::model::{Address, Role, Rule};

/// One class takes the frames that no rule fits, and one only.
pub(super) fn others(classes: &[Class], report: &mut Report) {
    let mut others = classes.iter().filter(|class| !class.matches);
    match (others.next(), others.next()) {
        (None, _) => {
            if let Some(last) = classes.last() {
                let what = "no class takes all other frames; leave `match` out of one class";
                report.error(last.span.clone(), what);
            }
        }
        (Some(first), Some(second)) => {
            let line = report.line(&first.span);
            let what = format!(
                "nothing can reach this class: without `match`, the one on line {line} takes all other frames; say what this one takes"
            );
            report.error(second.span.clone(), what);
        }
        (Some(_), None) => {}
    }
}

/// The first rule that fits decides, in the order of the file: a rule behind one that takes as much takes nothing.
pub(super) fn shadowed(classes: &[Class], report: &mut Report) {
    let mut before: Vec<(&Rule, usize)> = Vec::new();
    for class in classes {
        let Ok(rules) = &class.rules else { continue };
        let mut shadowed = Vec::new();
        for rule in rules {
            match before.iter().find(|(other, _)| covers(other, rule.get_ref())) {
                Some((_, line)) => shadowed.push((rule.span(), *line)),
                None => before.push((rule.get_ref(), report.line(&rule.span()))),
            }
        }
        let none_left = !rules.is_empty() && shadowed.len() == rules.len();
        for (span, line) in shadowed {
            let what = format!("the rule on line {line} comes first and takes all that this one would");
            match none_left {
                true => drop(report.error(span, format!("nothing can reach this class: {what}"))),
                false => report.warn(span, what),
            }
        }
    }
}

/// Whether every frame that fits `narrow` fits `wide`.
fn covers(wide: &Rule, narrow: &Rule) -> bool {
    fn part<T: PartialEq>(wide: Option<T>, narrow: Option<T>) -> bool {
        wide.is_none() || wide == narrow
    }
    let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol, to_port, from_port, to_ip, socket_priority } = *wide;
    let network = match (to_ip, narrow.to_ip) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((wide, length)), Some((narrow, longer))) => {
            length <= longer && u32::from(wide) == u32::from(narrow) & network_mask(length)
        }
    };
    network
        && part(pcp, narrow.pcp)
        && part(vlan, narrow.vlan)
        && part(ether_type, narrow.ether_type)
        && part(dscp, narrow.dscp)
        && part(ip_protocol, narrow.ip_protocol)
        && part(to_port, narrow.to_port)
        && part(from_port, narrow.from_port)
        && part(socket_priority, narrow.socket_priority)
        && addresses(to, narrow.to)
        && addresses(from, narrow.from)
}

fn addresses(wide: Option<Address>, narrow: Option<Address>) -> bool {
    let bit = |(wide, narrow): (Address, Address), i: usize| {
        wide.mask[i] & !narrow.mask[i] == 0 && narrow.bytes[i] & wide.mask[i] == wide.bytes[i]
    };
    match (wide, narrow) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => (0..6).all(|i| bit((wide, narrow), i)),
    }
}

/// A frame that is forwarded has no socket.
pub(super) fn sockets(classes: &[Class], head: &Head, report: &mut Report) {
    if head.role != Role::Bridge {
        return;
    }
    for rule in classes.iter().filter_map(|class| class.rules.as_ref().ok()).flatten() {
        if rule.get_ref().socket_priority.is_some() {
            let what =
                "`socket-priority` is of frames that this machine itself sends; none that a bridge forwards has it";
            report.warn(rule.span(), what);
        }
    }
}

/// Gates that never open.
pub(super) fn never_open(ports: &[Port], classes: &[Class], report: &mut Report) {
    // A port whose gates could not be read may be the one that opens.
    let Ok(gates) = ports.iter().map(|port| port.gates.as_ref()).collect::<Result<Vec<_>, _>>() else { return };
    for class in classes {
        let (Ok(name), Ok(queue)) = (&class.name, &class.queue) else { continue };
        let name = name.get_ref();
        let closed = |gates: &&Option<_>| closed(gates, *queue.get_ref());
        if gates.iter().all(closed) {
            let what = format!("nothing gets through this class: no port ever opens the gate of `{name}`");
            report.error(class.span.clone(), what);
            continue;
        }
        for gates in gates.iter().filter(|gates| closed(gates)).filter_map(|gates| gates.as_ref()) {
            let what = format!("this port never opens the gate of `{name}`: such frames wait and are dropped");
            if let Some(first) = gates.1.entries.first() {
                report.warn(first.clone(), what);
            }
        }
    }
}

type Placed = (crate::model::Gates, super::super::gates::Places);

fn closed(gates: &Option<Placed>, queue: u8) -> bool {
    gates.as_ref().is_some_and(|(gates, _)| gates.entries.iter().all(|entry| entry.open & (1 << queue) == 0))
}
