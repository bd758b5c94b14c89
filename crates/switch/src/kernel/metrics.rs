//! A switch's counters as OpenMetrics text, for a node exporter's textfile collector or whoever reads files.

use std::fmt::Write;

use super::keep::Tally;
use super::status::{LinkState, Status};
use crate::openmetrics::{header, quoted};

/// The text, complete with its end.
pub fn text(status: &Status, tally: &Tally) -> String {
    let mut text = String::new();
    let switch = quoted(&status.name);
    let classes = || status.ports.iter().flat_map(|port| port.classes.iter().map(move |class| (port, class)));
    type Count = fn(&super::status::ClassCount) -> u64;
    let families: [(&str, &str, &str, Count); 4] = [
        ("packets", "counter", "Frames that left.", |class| class.packets),
        ("bytes", "counter", "Octets that left.", |class| class.bytes),
        ("drops", "counter", "Frames that were dropped.", |class| class.drops),
        ("waiting", "gauge", "Frames that wait.", |class| class.waiting),
    ];
    for (name, kind, help, count) in families {
        header(&mut text, name, kind, help);
        let total = if kind == "counter" { "_total" } else { "" };
        for (port, class) in classes() {
            let (port, value, class) = (quoted(&port.name), count(class), quoted(&class.class));
            let _ = writeln!(text, "ontick_switch_{name}{total}{{switch={switch},port={port},class={class}}} {value}");
        }
    }
    header(&mut text, "link_up", "gauge", "Whether a port can send.");
    for port in &status.ports {
        let up = u8::from(port.link == LinkState::Up);
        let _ = writeln!(text, "ontick_switch_link_up{{switch={switch},port={}}} {up}", quoted(&port.name));
    }
    header(&mut text, "gates_reissued", "counter", "Times that a port's gates were set anew.");
    for (port, times) in &tally.reissued {
        let _ = writeln!(text, "ontick_switch_gates_reissued_total{{switch={switch},port={}}} {times}", quoted(port));
    }
    let whole = [
        ("put_back", tally.put_back, "Things that another tool had changed and that were put back."),
        ("clock_steps", tally.clock_steps, "Times that the clock of the gates was set."),
    ];
    for (name, value, help) in whole {
        header(&mut text, name, "counter", help);
        let _ = writeln!(text, "ontick_switch_{name}_total{{switch={switch}}} {value}");
    }
    header(&mut text, "differences", "gauge", "Things that are not as they were set up.");
    let _ = writeln!(text, "ontick_switch_differences{{switch={switch}}} {}", status.differences.len());
    text + "# EOF\n"
}
