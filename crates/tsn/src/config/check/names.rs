//! Nothing is called as something else is.

use super::super::class::Draft as Class;
use super::super::head::Head;
use super::super::port::Draft as Port;
use super::super::problem::Report;
use crate::model::{Bridge, CLASSES, Classifier, Plane, Role};

pub(super) fn classes(classes: &[Class], report: &mut Report) {
    for (index, class) in classes.iter().enumerate() {
        let before = &classes[..index];
        if index == CLASSES {
            let what =
                format!("{} classes; there are {CLASSES} at most (IEEE 802.1Q-2022 clause 8.6.6)", classes.len());
            report.error(class.span.clone(), what);
        }
        let namesake = class
            .name
            .as_ref()
            .ok()
            .and_then(|name| before.iter().find(|other| other.named(name.get_ref())).map(|other| (name, other)));
        if let Some((name, other)) = namesake {
            let what = format!("there is a class `{}` already, on line {}", name.get_ref(), report.line(&other.span));
            report.error(name.span(), what);
        }
        let has = |other: &Class, number: &u8| other.queue.as_ref().is_ok_and(|queue| queue.get_ref() == number);
        let rival = class
            .queue
            .as_ref()
            .ok()
            .and_then(|queue| before.iter().find(|other| has(other, queue.get_ref())).map(|other| (queue, other)));
        if let Some((queue, other)) = rival {
            let number = queue.get_ref();
            let line = report.line(&other.span);
            let free =
                (0..CLASSES as u8).find(|n| !classes.iter().any(|c| c.queue.as_ref().is_ok_and(|q| q.get_ref() == n)));
            let free = free.map(|free| format!("; queue = {free} is free")).unwrap_or_default();
            report.error(queue.span(), format!("queue {number} is the one of the class on line {line} already{free}"));
        }
    }
}

pub(super) fn ports(ports: &[Port], report: &mut Report) {
    for (index, port) in ports.iter().enumerate() {
        let Ok(name) = &port.name else { continue };
        let same = |other: &&Port| other.name.as_ref().is_ok_and(|other| other.get_ref() == name.get_ref());
        if let Some(other) = ports[..index].iter().find(same) {
            let what = format!("{} is a port already, on line {}", name.get_ref(), report.line(&other.span));
            report.error(name.span(), what);
        }
    }
}

pub(super) fn bridge(ports: &[Port], head: &Head, report: &mut Report) {
    let same = |port: &&Port| port.name.as_ref().is_ok_and(|name| name.get_ref() == head.name.get_ref());
    if ports.iter().any(|port| same(&port)) {
        let what = format!("the switch is called as its port {} is; give it another name", head.name.get_ref());
        report.error(head.name.span(), what);
    }
    if head.role == Role::Bridge && ports.len() == 1 {
        let what = "a bridge has two ports at least; add a [[port]], or write role = \"station\" in [switch]";
        report.error(ports[0].span.clone(), what);
    }
    if head.role == Role::Station && head.plane == Plane::User && ports.len() > 1 {
        let what = "the user data plane serves a station with one port; write a file for each, or plane = \"kernel\"";
        report.error(head.name.span(), what);
    }
    if matches!(head.bridge, Bridge::OpenVswitch(_)) {
        let what = match (head.role, head.plane, head.classifier) {
            (Role::Station, ..) => "a station has no bridge; leave `bridge` out",
            (_, Plane::User, _) => "Open vSwitch is a bridge of the kernel's data plane; write plane = \"kernel\"",
            (.., Classifier::Nft | Classifier::Iptables) => {
                "netfilter does not see frames of Open vSwitch; leave `classifier` out, or write \"flower\""
            }
            _ => return,
        };
        report.error(head.name.span(), what);
    }
}
