//! The file of a switch, in one form: keys in the order of the guide, defaults left out.

use ontick_units::CpuList;
use std::fmt::Write;

use ontick_units::{exact, show_bit_rate};

use super::{class, head, preemption, values};
use crate::model::{
    Base, Bridge, BridgePriority, CLASSES, Class, Datapath, Elimination, Entry, Gates, Guard, Meter, Offload, Port,
    Preemption, Reserved, Rule, SpanningTree, StaticEntry, Stream, StreamGate, Switch,
};

/// The text that [`super::read`] makes this switch of.
pub fn write(switch: &Switch) -> String {
    let mut text = head(switch);
    for class in &switch.classes {
        text += &self::class(class);
    }
    for port in &switch.ports {
        text += &self::port(port, &switch.classes);
    }
    for entry in &switch.forwarding.entries {
        text += &forward(entry, switch);
    }
    for stream in &switch.streams {
        text += &self::stream(stream, switch);
    }
    text
}

fn stream(stream: &Stream, switch: &Switch) -> String {
    let mut text = format!("\n[[stream]]\nname = {}\n", quoted(&stream.name));
    let mut part = |key: &str, value: Option<String>| {
        text += &value.map_or(String::new(), |value| format!("{key} = {value}\n"));
    };
    part("handle", stream.handle.map(|handle| handle.to_string()));
    part("to", Some(quoted(&values::show_mac(stream.to))));
    part("vlan", stream.vlan.map(|vlan| vlan.to_string()));
    part("from", stream.from.map(|from| quoted(&values::show_mac(from))));
    part("ingress", stream.ingress.as_ref().map(|ports| port_names(ports, switch)));
    part("max-sdu", stream.max_sdu.map(|octets| octets.to_string()));
    part("meter", stream.meter.map(meter));
    part("eliminate", stream.eliminate.as_ref().map(elimination));
    part("replicate", stream.replicate.as_ref().map(|ports| port_names(ports, switch)));
    text + &stream.gate.as_ref().map_or(String::new(), stream_gate)
}

fn meter(meter: Meter) -> String {
    format!("{{ rate = \"{}\", burst = {} }}", show_bit_rate(meter.rate), meter.burst)
}

fn elimination(of: &Elimination) -> String {
    let (length, timeout) = (of.history_length, exact(of.reset_timeout_ns));
    format!("{{ history-length = {length}, reset-timeout = \"{timeout}\", paths = {} }}", of.paths)
}

fn stream_gate(gate: &StreamGate) -> String {
    let entries = gate.entries.iter();
    let entries = entries.map(|entry| format!("{{ open = {}, for = \"{}\" }}", entry.open, exact(entry.for_ns)));
    format!(
        "\n[stream.gate]\ncycle = \"{}\"\nbase-time = {}\nentries = {}\n",
        exact(gate.cycle_ns),
        base(gate.base),
        list(entries)
    )
}

fn base(base: Base) -> String {
    match base {
        Base::At(ns) => ns.to_string(),
        Base::NextSecond => quoted("next second"),
    }
}

fn forward(entry: &StaticEntry, switch: &Switch) -> String {
    let vlan = entry.vlan.map_or(String::new(), |vlan| format!("vlan = {vlan}\n"));
    let ports = port_names(&entry.ports, switch);
    format!("\n[[forward]]\nto = {}\n{vlan}ports = {ports}\n", quoted(&values::show_mac(entry.to)))
}

fn port_names(ports: &[usize], switch: &Switch) -> String {
    let names: Vec<String> = ports.iter().map(|port| quoted(&switch.ports[*port].name)).collect();
    format!("[{}]", names.join(", "))
}

fn head(switch: &Switch) -> String {
    let mut text = format!("[switch]\nname = {}\n", quoted(&switch.name));
    let word = |key: &str, word: &str, default: &str| {
        if word == default { String::new() } else { format!("{key} = \"{word}\"\n") }
    };
    text += &word("role", name_of(&head::ROLES, switch.role), "bridge");
    text += &word("plane", name_of(&head::PLANES, switch.plane), "auto");
    if let Bridge::OpenVswitch(datapath) = switch.bridge {
        text += "bridge = \"openvswitch\"\n";
        text += &word("datapath", datapath.name(), Datapath::System.name());
    }
    text += &word("classifier", name_of(&head::CLASSIFIERS, switch.classifier), "auto");
    text += &word("socket", name_of(&head::SOCKETS, switch.socket), "packet");
    text += &match switch.cpus.as_slice() {
        [] => String::new(),
        [cpu] => format!("cpu = {cpu}\n"),
        several => format!("cpus = \"{}\"\n", several.iter().copied().collect::<CpuList>()),
    };
    text += &word("clock", switch.clock.name(), "tai");
    if switch.ageing_ns != head::AGEING_NS {
        text += &format!("ageing-time = \"{}\"\n", exact(switch.ageing_ns));
    }
    if switch.addresses != head::ADDRESSES {
        text += &format!("mac-table = {}\n", switch.addresses);
    }
    text += match switch.stp {
        SpanningTree::Off => "",
        SpanningTree::Stp(_) => "stp = true\n",
        SpanningTree::Rstp(_) => "stp = \"rstp\"\n",
    };
    if let Some(priority) = switch.stp.priority().filter(|priority| *priority != BridgePriority::default()) {
        text += &format!("bridge-priority = {}\n", priority.number());
    }
    if switch.forward_reserved != Reserved::default() {
        text += &format!("forward-reserved = {}\n", list(switch.forward_reserved.names().map(quoted)));
    }
    if switch.transparent_clock {
        text += "transparent-clock = true\n";
    }
    if !switch.forwarding.learning {
        text += "learning = false\n";
    }
    if let Some(flood) = &switch.forwarding.flood {
        text += &format!("flood = {}\n", port_names(flood, switch));
    }
    text
}

fn name_of<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

fn class(class: &Class) -> String {
    let mut text = format!("\n[[class]]\nname = {}\nqueue = {}\n", quoted(&class.name), class.queue);
    if class.limit != class::LIMIT {
        text += &format!("limit = {}\n", class.limit);
    }
    if !class.rules.is_empty() {
        text += &format!("match = {}\n", list(class.rules.iter().map(rule)));
    }
    text
}

fn rule(rule: &Rule) -> String {
    let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol, to_port, from_port, to_ip, socket_priority } = rule;
    let mut parts = Vec::new();
    let mut part = |key: &str, value: Option<String>| parts.extend(value.map(|value| format!("{key} = {value}")));
    part("pcp", pcp.map(|pcp| pcp.to_string()));
    part("vlan", vlan.map(|vlan| vlan.to_string()));
    part("ether-type", ether_type.map(|number| format!("{number:#06x}")));
    part("to", to.map(|address| quoted(&values::show_address(&address))));
    part("from", from.map(|address| quoted(&values::show_address(&address))));
    part("dscp", dscp.map(|dscp| dscp.to_string()));
    // A port's key names the protocol, too.
    let (to_key, from_key, named) = match ip_protocol {
        Some(17) => ("udp-port", "from-udp-port", true),
        Some(6) => ("tcp-port", "from-tcp-port", true),
        _ => ("to-port", "from-port", false),
    };
    let said = named && rule.has_ports();
    part(
        "ip-protocol",
        ip_protocol.filter(|_| !said).map(|number| values::protocol_name(number).map_or(number.to_string(), quoted)),
    );
    part(to_key, to_port.map(|port| port.to_string()));
    part(from_key, from_port.map(|port| port.to_string()));
    part("to-ip", to_ip.map(|network| quoted(&values::show_network(network))));
    part("socket-priority", socket_priority.map(|priority| priority.to_string()));
    format!("{{ {} }}", parts.join(", "))
}

fn port(port: &Port, classes: &[Class]) -> String {
    let mut text = format!("\n[[port]]\nname = {}\n", quoted(&port.name));
    if let Some(rate) = port.rate {
        text += &format!("rate = \"{}\"\n", show_bit_rate(rate));
    }
    match port.offload {
        Offload::None => {}
        Offload::Full => text += "offload = \"full\"\n",
        Offload::TxTime { delay_ns } => {
            text += &format!("offload = \"txtime\"\ntxtime-delay = \"{}\"\n", exact(delay_ns.into()));
        }
    }
    let limited = classes.iter().zip(&port.max_sdu);
    let sizes: Vec<String> =
        limited.filter_map(|(class, size)| Some(format!("{} = {}", class.name, (*size)?))).collect();
    if !sizes.is_empty() {
        text += &format!("max-sdu = {{ {} }}\n", sizes.join(", "));
    }
    if !port.transmit_queues.is_empty() {
        let several = classes.iter().zip(&port.transmit_queues).filter(|(_, count)| **count > 1);
        let counts: Vec<String> = several.map(|(class, count)| format!("{} = {count}", class.name)).collect();
        text += &format!("transmit-queues = {{ {} }}\n", counts.join(", "));
    }
    if port.is_shaped() {
        let shaped = classes.iter().zip(&port.idle_slopes);
        let slopes =
            shaped.filter_map(|(class, rate)| Some(format!("{} = \"{}\"", class.name, show_bit_rate((*rate)?))));
        text += &format!("idle-slope = {{ {} }}\n", slopes.collect::<Vec<String>>().join(", "));
    }
    if let Some(preemption) = &port.preemption {
        text += &self::preemption(preemption, classes);
    }
    if let Some(gates) = &port.gates {
        text += &self::gates(gates, classes);
    }
    text
}

fn preemption(preemption: &Preemption, classes: &[Class]) -> String {
    let Preemption { preemptible, verify, verify_time_ms, min_fragment_size } = preemption;
    let names: Vec<String> = preemptible.iter().map(|class| quoted(&classes[*class].name)).collect();
    let mut text = format!("\n[port.preemption]\npreemptible = [{}]\n", names.join(", "));
    if !verify {
        text += "verify = false\n";
    }
    if *verify_time_ms != preemption::VERIFY_TIME_MS {
        text += &format!("verify-time = \"{verify_time_ms}ms\"\n");
    }
    if *min_fragment_size != preemption::FRAGMENT_SIZES[0] {
        text += &format!("min-fragment-size = {min_fragment_size}\n");
    }
    text
}

fn gates(gates: &Gates, classes: &[Class]) -> String {
    let (cycle, base) = (exact(gates.cycle_ns), base(gates.base));
    let mut text = format!("\n[port.gates]\ncycle = \"{cycle}\"\nbase-time = {base}\n");
    match gates.guard {
        Guard::None => {}
        Guard::Fixed(ns) => writeln!(text, "guard-band = \"{}\"", exact(ns)).unwrap_or_default(),
        Guard::LargestFrame => text += "guard-band = \"largest-frame\"\n",
    }
    text + &format!("entries = {}\n", list(gates.entries.iter().map(|entry| self::entry(entry, classes))))
}

fn entry(entry: &Entry, classes: &[Class]) -> String {
    // The highest first, as it would be sent.
    let named = |queue: usize| classes.iter().find(|class| usize::from(class.queue) == queue);
    let open: Vec<String> = (0..CLASSES)
        .rev()
        .filter(|queue| entry.open & (1 << queue) != 0)
        .filter_map(|queue| named(queue).map(|class| quoted(&class.name)))
        .collect();
    format!("{{ open = [{}], for = \"{}\" }}", open.join(", "), exact(entry.for_ns))
}

/// One item in the line, several below each other.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.as_slice() {
        [item] => format!("[{item}]"),
        items => format!("[\n    {},\n]", items.join(",\n    ")),
    }
}

/// A basic string of TOML. Names of files need no escapes; those of documents were not looked at yet, and must not become keys.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::super::{defaults, read};
    use super::*;
    use crate::model::Role;

    #[test]
    fn a_name_that_was_not_looked_at_becomes_no_keys() {
        let class = Class { name: "blue".into(), queue: 0, rules: Vec::new(), limit: defaults().limit };
        let called = |name: &str| {
            let port = Port {
                name: name.into(),
                rate: None,
                offload: Offload::None,
                transmit_queues: Vec::new(),
                idle_slopes: Vec::new(),
                preemption: None,
                max_sdu: vec![None],
                gates: None,
            };
            write(&defaults().switch("cell".into(), Role::Station, vec![class.clone()], vec![port]))
        };
        let lines = called("eth0").lines().count();
        for name in ["a\"\n[x]", "a\\", "a\r\n", "a\u{7f}\u{85}", "a\t\0"] {
            let text = called(name);
            assert_eq!(text.lines().count(), lines, "{text}");
            let error = read(&text).unwrap_err().problems.remove(0).what;
            assert!(error.starts_with(&format!("`name`: \"{name}\": an interface's name is of letters")), "{error}");
        }
    }
}
