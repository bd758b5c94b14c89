//! What is not as planned at a port, in words.

use ontick_record::network_check::{CableEnd, CableVerdict, CheckedPort, Neighbour};

/// Characters of a neighbour's words in a sentence.
const LONGEST: usize = 63;
/// Neighbours or ports that a sentence lists.
const EACH: usize = 4;
const SWAPPED: &str = "a cable is swapped";
const PASSED_ON: &str = "something in between passes LLDP on";

/// What differs at a port, if something does.
pub(super) fn difference(port: &CheckedPort) -> Option<String> {
    let one = port.heard.first();
    let planned = port.planned.as_ref();
    Some(match (port.verdict, one) {
        (CableVerdict::AsPlanned, _) => return None,
        (CableVerdict::LinkDown, _) => "the link is down".into(),
        (CableVerdict::NotListening, _) => {
            "lldpd does not listen here (its option -I, or `configure system interface pattern`)".into()
        }
        (CableVerdict::Several, _) => {
            format!("{} neighbours are heard, {}: {PASSED_ON}", port.heard.len(), listed(&names(&port.heard)))
        }
        (CableVerdict::OtherNode, Some(one)) => other_node(one, planned) + &also(port),
        (CableVerdict::OtherPort, Some(one)) => other_port(one, planned) + &also(port),
        (CableVerdict::Shared, Some(one)) => {
            format!("{} at {}, too: {PASSED_ON}", is_heard(one), listed(&port.heard_also_at))
        }
        (CableVerdict::Unplanned, Some(one)) => {
            let belongs = one.belongs_at.as_ref().map(|end| format!(": it belongs {}", at(end))).unwrap_or_default();
            format!("{}, and the file has no cable here{belongs}", is_heard(one))
        }
        (_, _) if port.port.is_none() => {
            format!("no port hears {}, and the file names none", planned.map_or("", |end| end.node.as_str()))
        }
        (_, _) => "nobody is heard: the other end does not speak LLDP, or has not yet".into(),
    })
}

fn other_node(one: &Neighbour, planned: Option<&CableEnd>) -> String {
    match (&one.node, &one.belongs_at, planned) {
        (Some(_), Some(end), _) => format!("{SWAPPED}: {}, which belongs {}", is_heard(one), at(end)),
        (Some(_), None, Some(planned)) => format!("{}, not {}", is_heard(one), planned.node),
        _ => format!(
            "{}, which is no node of the network (a node whose host has another name has `system-name`)",
            is_heard(one)
        ),
    }
}

fn other_port(one: &Neighbour, planned: Option<&CableEnd>) -> String {
    let planned = planned.and_then(|end| end.port.as_deref()).unwrap_or_default();
    match &one.belongs_at {
        Some(end) => format!("{SWAPPED}: {}, not {planned}, and belongs {}", is_heard(one), at(end)),
        None => format!("{}, not {planned}", is_heard(one)),
    }
}

fn also(port: &CheckedPort) -> String {
    match port.heard_also_at.is_empty() {
        true => String::new(),
        false => format!("; it is heard at {}, too", listed(&port.heard_also_at)),
    }
}

fn is_heard(one: &Neighbour) -> String {
    match port_of(one).as_str() {
        "" => format!("{} is heard", name_of(one)),
        port => format!("port {port} of {} is heard", name_of(one)),
    }
}

fn at(end: &CableEnd) -> String {
    match &end.port {
        Some(port) => format!("at port {port} of {}", end.node),
        None => format!("at {}", end.node),
    }
}

fn names(heard: &[Neighbour]) -> Vec<String> {
    heard.iter().map(|one| format!("{} {}", name_of(one), port_of(one)).trim().to_owned()).collect()
}

fn listed(names: &[String]) -> String {
    match (names.split_last(), names.len().saturating_sub(EACH)) {
        (None, _) => String::new(),
        (Some((last, [])), _) => last.clone(),
        (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
        (_, more) => format!("{} and {more} more", names[..EACH].join(", ")),
    }
}

/// A neighbour's name: the node's, or else what it says itself.
fn name_of(one: &Neighbour) -> String {
    let chassis = one.chassis.as_ref().map(|id| id.value.as_str()).filter(|value| !value.is_empty());
    short(one.node.as_deref().or(one.system_name.as_deref()).or(chassis).unwrap_or("a neighbour without a name"))
}

/// A neighbour's port: by the name that it says, or else by its identifier.
fn port_of(one: &Neighbour) -> String {
    let by_name = one.port.as_ref().filter(|id| id.subtype == "ifname").map(|id| id.value.as_str());
    let described = one.port_description.as_deref();
    short(by_name.or(described).or(one.port.as_ref().map(|id| id.value.as_str())).unwrap_or_default())
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
