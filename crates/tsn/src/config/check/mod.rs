//! What the parts of a file must be to each other.

pub(super) mod cycle;
mod names;
mod reach;
mod shapers;
mod windows;

use super::class::Draft as Class;
use super::head::Head;
use super::port::Draft as Port;
use super::problem::Report;

/// Classes among themselves.
pub(super) fn classes(classes: &[Class], head: Option<&Head>, report: &mut Report) {
    names::classes(classes, report);
    reach::others(classes, report);
    reach::shadowed(classes, report);
    if let Some(head) = head {
        reach::sockets(classes, head, report);
    }
}

/// Ports among themselves.
pub(super) fn ports(ports: &[Port], head: Option<&Head>, report: &mut Report) {
    names::ports(ports, report);
    if let Some(head) = head {
        names::bridge(ports, head, report);
    }
}

/// Gates and shapers: in time, and for the classes.
pub(super) fn gates(ports: &[Port], classes: &[Class], head: Option<&Head>, now_ns: u64, report: &mut Report) {
    let Some(head) = head else { return };
    for port in ports {
        cycle::cycle(port, head, now_ns, report);
        windows::windows(port, classes, report);
        shapers::shapers(port, classes, report);
    }
    reach::never_open(ports, classes, report);
}
