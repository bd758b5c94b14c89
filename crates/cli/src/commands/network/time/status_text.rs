//! A node's time for people.

use ontick_record::time_status::{
    GateStatus, Gates, Grandmaster, Stamps, Steering, TimeLossPolicy, TimePort, TimeProfile, TimeRole, TimeStatus,
};
use ontick_units::{exact, show};

use super::sentences::signed;

/// A profile's name.
pub fn profile(profile: TimeProfile) -> &'static str {
    match profile {
        TimeProfile::Gptp => "gPTP",
        TimeProfile::Default => "the default profile",
    }
}

pub fn text(status: &TimeStatus) -> String {
    let mut text =
        format!("{}  {}, domain {} · {}\n\n", status.node, profile(status.profile), status.domain, role(status));
    let mut row = |name: &str, value: String| text += &format!("{name:<12} {value}\n");
    row("time", time(status));
    if status.role != TimeRole::Grandmaster {
        let bound = status.offset_bound_ns.map(|ns| format!(" · bound {}", exact(ns))).unwrap_or_default();
        row("offset", status.offset_ns.map_or("unknown".into(), signed) + &bound);
        row("path delay", status.path_delay_ns.map_or("unknown".into(), signed));
    }
    row("grandmaster", grandmaster(&status.grandmaster));
    if status.grandmaster.clock != status.clock {
        row("this clock", status.clock.clone());
    }
    row("steered by", steered_by(&status.steering));
    row("gates", gates(status.gates, status.watch.is_some()));
    row("watched", watched(status));
    text += "\n";
    status.ports.iter().for_each(|one| text += &port(one));
    if !status.notes.is_empty() {
        text += "\n";
    }
    status.notes.iter().for_each(|note| text += &format!("note  {note}\n"));
    text
}

/// In one line.
pub fn line(status: &TimeStatus) -> String {
    let offset = match status.role {
        TimeRole::Follower => {
            let known = |ns: Option<i64>| ns.map_or("unknown".into(), signed);
            format!("  offset {:>8}  path delay {:>8}", known(status.offset_ns), known(status.path_delay_ns))
        }
        TimeRole::Grandmaster | TimeRole::Unsynchronized => String::new(),
    };
    format!("{}{offset}  {}", role(status), time(status))
}

fn role(status: &TimeStatus) -> String {
    let master = status.grandmaster.node.as_ref().unwrap_or(&status.grandmaster.clock);
    match status.role {
        TimeRole::Grandmaster => "grandmaster".into(),
        TimeRole::Follower => format!("follows {master}"),
        TimeRole::Unsynchronized => "unsynchronized".into(),
    }
}

fn time(status: &TimeStatus) -> String {
    let good = if status.good { "good" } else { "not good" };
    let since = status.for_ns.map(|ns| format!(" for {}", show(ns))).unwrap_or_default();
    let reason = status.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{good}{since}{reason}")
}

fn grandmaster(grandmaster: &Grandmaster) -> String {
    let node = grandmaster.node.as_ref().map(|node| format!(" · {node}")).unwrap_or_default();
    let steps = match grandmaster.steps_removed {
        0 => "this node".into(),
        1 => "1 step away".into(),
        n => format!("{n} steps away"),
    };
    format!("{}{node} · priority1 {} · {steps}", grandmaster.clock, grandmaster.priority1)
}

fn steered_by(steering: &Steering) -> String {
    if steering.free_running {
        return "nobody: ptp4l only measures (--free-running)".into();
    }
    match (&steering.system, &steering.cards) {
        (Some(system), None) => format!("{system} (the system's clock)"),
        (Some(system), Some(cards)) => format!("{cards} (the network cards' clocks), {system} (the system's clock)"),
        (None, Some(cards)) => format!("{cards} (the network cards' clocks); nobody steers the system's clock"),
        (None, None) => "no program that is known".into(),
    }
}

fn gates(gates: GateStatus, is_watched: bool) -> String {
    let holdover = gates.holdover_ns.map(exact).unwrap_or_default();
    let becomes =
        |what: &str| format!("follow their lists; {what} when the time was not good for longer than {holdover}");
    match (gates.now, gates.on_time_loss) {
        (Gates::Open, _) => "all open, as the time is lost".into(),
        (Gates::Closed, _) => "all closed, as the time is lost".into(),
        (Gates::Lists, TimeLossPolicy::Keep) => {
            "follow their lists, whatever the time (on-time-loss = \"keep\")".into()
        }
        (Gates::Lists, _) if !is_watched => "follow their lists, as nobody watches the time for them".into(),
        (Gates::Lists, TimeLossPolicy::Open) => becomes("open"),
        (Gates::Lists, TimeLossPolicy::Stop) => becomes("closed"),
    }
}

fn watched(status: &TimeStatus) -> String {
    let Some(watch) = status.watch else { return "by nobody (sudo ontick network time run)".into() };
    let losses = match watch.losses {
        0 => "grandmaster never lost".into(),
        1 => "grandmaster lost once".into(),
        n => format!("grandmaster lost {n} times"),
    };
    let beyond = match (status.offset_bound_ns, watch.beyond_bound) {
        (None, _) => String::new(),
        (Some(_), 1) => " · 1 offset beyond the bound".into(),
        (Some(_), n) => format!(" · {n} offsets beyond the bound"),
    };
    format!("for {} by ontick network time run · {losses}{beyond}", show(watch.for_ns))
}

fn port(port: &TimePort) -> String {
    let name = port.interface.clone().unwrap_or_else(|| port.number.to_string());
    let stamps = match port.stamps {
        Some(Stamps::Hardware) => " · frames stamped by hardware",
        Some(Stamps::Software) => " · frames stamped by software",
        None => "",
    };
    let delay = port.peer_delay_ns.map(|ns| format!(" · cable {}", signed(ns))).unwrap_or_default();
    format!("port {name}  {}{stamps}{delay}\n", port.state)
}

#[cfg(test)]
mod tests {
    use ontick_record::time_status::TimeWatch;

    use super::*;

    fn status() -> TimeStatus {
        TimeStatus {
            schema: ontick_record::time_status::SCHEMA.into(),
            node: "drive".into(),
            profile: TimeProfile::Gptp,
            domain: 0,
            clock: "fa65a7.fffe.80896f".into(),
            role: TimeRole::Follower,
            grandmaster: Grandmaster {
                clock: "46db95.fffe.0977c9".into(),
                node: Some("s1".into()),
                priority1: 64,
                steps_removed: 2,
            },
            good: true,
            for_ns: Some(12_400_000_000),
            reason: None,
            offset_ns: Some(-35),
            offset_bound_ns: Some(1_000),
            path_delay_ns: Some(412),
            ports: vec![TimePort {
                number: 1,
                interface: Some("eth0".into()),
                state: "SLAVE".into(),
                stamps: Some(Stamps::Hardware),
                peer_delay_ns: Some(412),
            }],
            steering: Steering { system: Some("phc2sys".into()), cards: Some("ptp4l".into()), free_running: false },
            gates: GateStatus {
                now: Gates::Lists,
                on_time_loss: TimeLossPolicy::Stop,
                holdover_ns: Some(10_000_000_000),
            },
            watch: Some(TimeWatch { for_ns: 61_000_000_000, losses: 1, beyond_bound: 2 }),
            notes: vec!["chronyd runs on this machine, and sets its clock, too".into()],
            events: Vec::new(),
        }
    }

    #[test]
    fn a_line_says_role_offset_delay_and_time() {
        assert_eq!(line(&status()), "follows s1  offset    -35ns  path delay    412ns  good for 12.4s");
        let own = TimeStatus { role: TimeRole::Grandmaster, for_ns: None, ..status() };
        assert_eq!(line(&own), "grandmaster  good");
        let lost = TimeStatus { role: TimeRole::Unsynchronized, good: false, reason: Some("it is".into()), ..own };
        assert_eq!(line(&lost), "unsynchronized  not good: it is");
    }

    #[test]
    fn a_follower_by_hardware() {
        let expected = "drive  gPTP, domain 0 · follows s1\n\n\
            time         good for 12.4s\n\
            offset       -35ns · bound 1us\n\
            path delay   412ns\n\
            grandmaster  46db95.fffe.0977c9 · s1 · priority1 64 · 2 steps away\n\
            this clock   fa65a7.fffe.80896f\n\
            steered by   ptp4l (the network cards' clocks), phc2sys (the system's clock)\n\
            gates        follow their lists; closed when the time was not good for longer than 10s\n\
            watched      for 61.0s by ontick network time run · grandmaster lost once · 2 offsets beyond the bound\n\n\
            port eth0  SLAVE · frames stamped by hardware · cable 412ns\n\n\
            note  chronyd runs on this machine, and sets its clock, too\n";
        assert_eq!(text(&status()), expected);
    }

    #[test]
    fn a_node_that_lost_its_time_says_why_and_what_gates_do() {
        let mut lost = TimeStatus { good: false, reason: Some("it has no master".into()), ..status() };
        lost.gates.now = Gates::Closed;
        let said = text(&lost);
        assert!(said.contains("time         not good for 12.4s: it has no master\n"), "{said}");
        assert!(said.contains("gates        all closed, as the time is lost\n"), "{said}");
        let unwatched = text(&TimeStatus { watch: None, for_ns: None, gates: status().gates, ..lost });
        assert!(unwatched.contains("time         not good: it has no master\n"), "{unwatched}");
        assert!(unwatched.contains("follow their lists, as nobody watches the time for them\n"), "{unwatched}");
    }
}
