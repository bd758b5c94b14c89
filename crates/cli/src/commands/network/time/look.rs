//! A node's time at one look, as a document.

use std::path::Path;

use ontick_network::ptp::{Event, Node, Role, Watch, clock_programs};
use ontick_record::time_status::{
    GateStatus, Gates, Grandmaster, SCHEMA, Stamps, Steering, TimeEvent, TimeLossPolicy, TimePort, TimeRole,
    TimeStatus, TimeWatch,
};
use ontick_rt::clock::ClockId;
use ontick_tsn::model::GateOverride;

use super::asker::{Answer, profile};
use super::condition::lack;
use super::on_loss;
use super::report::RunReport;
use super::run::OF_OTHERS;
use super::sentences::Sentences;

/// What was found out of a node.
pub struct Look<'a> {
    node: &'a Node,
    answer: Answer,
    /// Programs that set clocks and run on this machine.
    programs: Vec<String>,
    /// Switches whose gates the time does not touch.
    kept: Vec<String>,
}

impl<'a> Look<'a> {
    /// What ptp4l answered, with what else there is on this machine, whose switches are in this folder if elsewhere.
    pub fn new(node: &'a Node, answer: Answer, home: Option<&Path>) -> Self {
        let forced = answer.report.as_ref().and_then(|report| report.forced);
        let kept = forced.map(|to| on_loss::kept(home, to)).unwrap_or_default();
        Self { node, answer, programs: clock_programs(), kept }
    }

    /// As a document, with what happened since the one before.
    pub fn status(&self, happened: Vec<TimeEvent>) -> TimeStatus {
        let Self { node, answer: Answer { seen, report, .. }, .. } = self;
        let free_running = report.as_ref().is_some_and(|report| report.free_running);
        let mut watch = Watch::new(node, free_running, 0);
        let events = watch.update(0, seen);
        let role = match watch.role() {
            Role::Grandmaster => TimeRole::Grandmaster,
            Role::Follower { .. } => TimeRole::Follower,
            Role::Unsynchronized => TimeRole::Unsynchronized,
        };
        // ptp4l has 0 before it knows the way's delay.
        let offset = seen.offset.filter(|offset| offset.ns != 0 || seen.path_delay_ns.is_some());
        let offset_ns = offset.map(|offset| offset.ns);
        let lack = lack(node, &watch, seen, offset_ns);
        // Whoever watches knows what went before; and what changed just now it has not seen yet.
        let reason = lack.clone().or_else(|| report.as_ref().filter(|report| !report.good)?.reason.clone());
        let good = reason.is_none();
        let now_ns = ClockId::Monotonic.now_ns();
        let same = report.as_ref().filter(|report| report.good == good);
        let ports: Vec<TimePort> = seen.ports.iter().map(|port| self.port(port.number)).collect();
        let stamps = ports.iter().find_map(|port| port.stamps);
        TimeStatus {
            schema: SCHEMA.into(),
            node: node.name.clone(),
            profile: profile(node),
            domain: node.time.domain,
            clock: seen.own.to_string(),
            role,
            grandmaster: self.grandmaster(),
            good,
            for_ns: same.map(|report| now_ns.saturating_sub(report.since_ns)),
            reason,
            offset_ns,
            offset_bound_ns: node.time.offset_bound_ns,
            path_delay_ns: seen.path_delay_ns,
            ports,
            steering: steering(role, stamps, free_running, &self.programs),
            gates: self.gates(),
            watch: report.as_ref().map(|report| watched(report, now_ns)),
            notes: self.notes(role, &events),
            events: happened,
        }
    }

    fn grandmaster(&self) -> Grandmaster {
        let Self { node, answer: Answer { seen, .. }, .. } = self;
        let is_own = seen.grandmaster == seen.own;
        let named = node.grandmaster_of(seen.grandmaster_priority1).filter(|name| *name != node.name || is_own);
        let own = is_own.then_some(node.name.as_str());
        Grandmaster {
            clock: seen.grandmaster.to_string(),
            node: own.or(named).map(str::to_owned),
            priority1: seen.grandmaster_priority1,
            steps_removed: seen.steps_removed,
        }
    }

    fn port(&self, number: u16) -> TimePort {
        let seen = self.answer.seen.ports.iter().find(|port| port.number == number);
        let properties = self.answer.ports.iter().find(|port| port.number == number);
        TimePort {
            number,
            interface: properties.map(|port| port.interface.clone()),
            state: seen.map_or("", |port| port.state.name()).into(),
            stamps: properties.map(|port| if port.by_hardware { Stamps::Hardware } else { Stamps::Software }),
            peer_delay_ns: seen.map(|port| port.peer_delay_ns).filter(|ns| *ns != 0),
        }
    }

    fn gates(&self) -> GateStatus {
        let policy = self.node.time.on_time_loss;
        GateStatus {
            now: gates_now(self.answer.report.as_ref()),
            on_time_loss: match policy.map(|policy| policy.gates) {
                None => TimeLossPolicy::Keep,
                Some(GateOverride::Open) => TimeLossPolicy::Open,
                Some(GateOverride::Closed) => TimeLossPolicy::Stop,
            },
            holdover_ns: policy.map(|policy| policy.holdover_ns),
        }
    }

    fn notes(&self, role: TimeRole, events: &[Event]) -> Vec<String> {
        let Self { node, answer: Answer { ports, .. }, programs, kept } = self;
        let sentences = Sentences::of(node);
        let of_grandmasters = |event: &&Event| matches!(event, Event::TwoGrandmasters { .. } | Event::Unnamed { .. });
        let mut notes: Vec<String> =
            events.iter().filter(of_grandmasters).map(|event| sentences.event(event).1).collect();
        let interfaces: Vec<&str> = ports.iter().map(|port| port.interface.as_str()).collect();
        if !interfaces.is_empty() && interfaces != node.interfaces {
            notes.push(format!(
                "ptp4l's ports are {}, and those of node {} in the file are {}",
                interfaces.join(", "),
                node.name,
                node.interfaces.join(", ")
            ));
        }
        let others = programs.iter().filter(|name| OF_OTHERS.contains(&name.as_str()));
        if role != TimeRole::Grandmaster {
            notes.extend(others.map(|name| format!("{name} runs on this machine, and sets its clock, too")));
        }
        if !kept.is_empty() {
            notes.push(format!("the gates of {} follow their lists", kept.join(", ")));
        }
        notes
    }
}

/// The same node while its ptp4l does not answer: its clock and its grandmaster are those of the last answer.
pub fn unanswered(last: TimeStatus, report: Option<RunReport>, happened: Vec<TimeEvent>) -> TimeStatus {
    let now_ns = ClockId::Monotonic.now_ns();
    let bad = report.as_ref().filter(|report| !report.good);
    TimeStatus {
        role: TimeRole::Unsynchronized,
        good: false,
        for_ns: bad.map(|report| now_ns.saturating_sub(report.since_ns)),
        reason: Some("ptp4l does not answer".into()),
        offset_ns: None,
        path_delay_ns: None,
        ports: Vec::new(),
        steering: Steering::default(),
        gates: GateStatus { now: gates_now(report.as_ref()), ..last.gates },
        watch: report.as_ref().map(|report| watched(report, now_ns)),
        notes: Vec::new(),
        events: happened,
        ..last
    }
}

fn gates_now(report: Option<&RunReport>) -> Gates {
    match report.and_then(|report| report.forced) {
        None => Gates::Lists,
        Some(GateOverride::Open) => Gates::Open,
        Some(GateOverride::Closed) => Gates::Closed,
    }
}

fn watched(report: &RunReport, now_ns: u64) -> TimeWatch {
    TimeWatch {
        for_ns: now_ns.saturating_sub(report.began_ns),
        losses: report.losses,
        beyond_bound: report.beyond_bound,
    }
}

/// Who steers which clock, by what is stamped and which programs run.
fn steering(role: TimeRole, stamps: Option<Stamps>, free_running: bool, programs: &[String]) -> Steering {
    if free_running {
        return Steering { free_running, ..Steering::default() };
    }
    let runs = |name: &str| programs.iter().find(|program| *program == name).cloned();
    let others = OF_OTHERS.into_iter().find_map(runs);
    let ptp4l = (role == TimeRole::Follower).then(|| "ptp4l".to_owned());
    let (system, cards) = match stamps {
        Some(Stamps::Software) => (ptp4l.or(others), None),
        Some(Stamps::Hardware) => match (role, runs("phc2sys")) {
            // By a pulse the card has its time, and gives it to the system.
            (TimeRole::Grandmaster, phc2sys) if runs("ts2phc").is_some() => (phc2sys.or(others), runs("ts2phc")),
            (TimeRole::Grandmaster, phc2sys) => (others, phc2sys),
            (_, phc2sys) => (phc2sys.or(others), ptp4l),
        },
        None => (others, None),
    };
    Steering { system, cards, free_running }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_steers_follows_from_stamps_role_and_programs() {
        let of = |role, stamps, programs: &[&str]| {
            let programs: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
            let found = steering(role, Some(stamps), false, &programs);
            [found.system, found.cards].map(Option::unwrap_or_default)
        };
        let both = ["chronyd", "phc2sys", "ptp4l"];
        assert_eq!(of(TimeRole::Follower, Stamps::Software, &both), ["ptp4l", ""]);
        assert_eq!(of(TimeRole::Grandmaster, Stamps::Software, &both), ["chronyd", ""]);
        assert_eq!(of(TimeRole::Unsynchronized, Stamps::Software, &["ptp4l"]), ["", ""]);
        assert_eq!(of(TimeRole::Follower, Stamps::Hardware, &both), ["phc2sys", "ptp4l"]);
        assert_eq!(of(TimeRole::Follower, Stamps::Hardware, &["ptp4l"]), ["", "ptp4l"]);
        assert_eq!(of(TimeRole::Grandmaster, Stamps::Hardware, &both), ["chronyd", "phc2sys"]);
        let pulse = ["phc2sys", "ptp4l", "ts2phc"];
        assert_eq!(of(TimeRole::Grandmaster, Stamps::Hardware, &pulse), ["phc2sys", "ts2phc"]);
        let free = steering(TimeRole::Follower, Some(Stamps::Software), true, &["ptp4l".to_owned()]);
        assert_eq!((free.system, free.free_running), (None, true));
    }
}
