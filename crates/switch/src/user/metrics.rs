//! Counters of the user data plane as OpenMetrics text.

use crate::model::Switch;
use crate::openmetrics::{header, quoted};

use super::counters::{Counters, PortCounters, QueueCounters};
use super::serve::Report;

type Whole = fn(&Counters) -> u64;
type OfPort = fn(&PortCounters) -> u64;
type OfQueue = fn(&QueueCounters) -> u64;

const WHOLE: [(&str, &str, Whole); 7] = [
    ("stalls", "Times that the core was kept from its work.", |all| all.stalls.get()),
    ("stalled_nanoseconds", "For how long in all.", |all| all.stalled_ns.get()),
    ("clock_steps", "Times that the clock of the gates was set.", |all| all.clock_steps.get()),
    ("rests", "Times that the core slept to leave the CPU to others.", |all| all.rests.get()),
    ("rested_nanoseconds", "For how long in all.", |all| all.rested_ns.get()),
    ("addresses_without_place", "Addresses that found no place in the table.", |all| all.addresses_without_place.get()),
    ("addresses_moved", "Addresses that moved from port to port.", |all| all.addresses_moved.get()),
];
const OF_PORT: [(&str, &str, OfPort); 10] = [
    ("received", "Frames that came in.", |port| port.received.get()),
    ("received_bytes", "Their octets.", |port| port.octets.get()),
    ("overflowed", "Frames that found the ring full.", |port| port.overflowed.get()),
    ("oversized", "Frames longer than the link allows.", |port| port.oversized.get()),
    ("malformed", "Frames without a header.", |port| port.malformed.get()),
    ("reserved", "Frames to addresses that no bridge forwards.", |port| port.reserved.get()),
    ("closed", "Frames that came in while the port was closed, as it makes a loop.", |port| port.closed.get()),
    ("filtered", "Frames with nowhere else to go.", |port| port.filtered.get()),
    ("flooded", "Frames to addresses not known.", |port| port.flooded.get()),
    ("no_entry", "Frames without the static entry that their port asks for.", |port| port.no_entry.get()),
];
const OF_QUEUE: [(&str, &str, OfQueue); 9] = [
    ("packets", "Frames that left.", |queue| queue.sent.get()),
    ("bytes", "Octets that left.", |queue| queue.octets.get()),
    ("drops", "Frames that were dropped, for whatever reason.", |queue| queue.dropped()),
    ("drops_full", "Dropped: too many waited.", |queue| queue.full.get()),
    ("drops_over_sdu", "Dropped: larger than the class may be.", |queue| queue.over_sdu.get()),
    ("drops_no_window", "Dropped: no window is long enough.", |queue| queue.no_window.get()),
    ("drops_down", "Dropped: the link is down.", |queue| queue.down.get()),
    ("drops_refused", "Dropped: the interface did not take it, at once or for too long.", |queue| queue.refused.get()),
    ("late", "Sent, but ended after the gate had closed, as handing over was held up.", |queue| queue.late.get()),
];

/// The text, complete with its end.
pub fn text(switch: &Switch, report: &Report) -> String {
    let mut text = String::new();
    let name = quoted(&switch.name);
    for (metric, help, count) in WHOLE {
        header(&mut text, metric, "counter", help);
        text += &format!("ontick_switch_{metric}_total{{switch={name}}} {}\n", count(&report.counters));
    }
    let ports = || report.ports.iter().zip(&report.counters.ports);
    for (metric, help, count) in OF_PORT {
        header(&mut text, metric, "counter", help);
        for (port, counters) in ports() {
            let port = quoted(&port.name);
            text += &format!("ontick_switch_{metric}_total{{switch={name},port={port}}} {}\n", count(counters));
        }
    }
    for (metric, help, count) in OF_QUEUE {
        header(&mut text, metric, "counter", help);
        for (port, counters) in ports() {
            for class in &switch.classes {
                let (port, named) = (quoted(&port.name), quoted(&class.name));
                let count = count(&counters.queues[usize::from(class.queue)]);
                text += &format!("ontick_switch_{metric}_total{{switch={name},port={port},class={named}}} {count}\n");
            }
        }
    }
    header(&mut text, "waiting", "gauge", "Frames that wait.");
    for (port, counters) in ports() {
        for class in &switch.classes {
            let (port, named) = (quoted(&port.name), quoted(&class.name));
            let waiting = counters.queues[usize::from(class.queue)].waiting.get();
            text += &format!("ontick_switch_waiting{{switch={name},port={port},class={named}}} {waiting}\n");
        }
    }
    header(&mut text, "link_up", "gauge", "Whether a port can send.");
    for port in &report.ports {
        let up = u8::from(port.link && port.open && !port.closed);
        text += &format!("ontick_switch_link_up{{switch={name},port={}}} {up}\n", quoted(&port.name));
    }
    text + "# EOF\n"
}
