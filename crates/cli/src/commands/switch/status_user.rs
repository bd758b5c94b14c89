//! The status of a user data plane.

use ontick_rt::clock::ClockId;
use ontick_switch::user::counters::QueueCounters;
use ontick_switch::user::serve::{PortReport, Report};
use ontick_tsn::model::{Class, GateOverride, Port, Switch};
use ontick_units::{count, exact, show};
use serde::Serialize;

use super::causes::causes;
use super::{forwarding, streams};

/// What `--json` prints.
#[derive(Serialize)]
pub struct Shown {
    pub name: String,
    pub plane: &'static str,
    /// Whether all that was planned was done.
    pub complete: bool,
    /// Whether the process that does the work is there.
    pub watched: bool,
    /// Time until it goes unless it is confirmed, in ns.
    pub goes_in_ns: Option<u64>,
    /// What is not as it was set up.
    pub differences: Vec<String>,
    /// What the process reported last, each second.
    pub report: Option<Report>,
}

impl Shown {
    pub fn is_fine(&self) -> bool {
        let forced = self.report.as_ref().and_then(|report| report.forced);
        self.complete && self.watched && self.differences.is_empty() && forced.is_none()
    }

    pub fn text(&self, switch: &Switch) -> String {
        let name = &self.name;
        let state = match (self.complete, self.watched) {
            (false, _) => format!("was interrupted while it was set up: sudo ontick switch revert {name}"),
            (true, true) => "at work".into(),
            (true, false) => format!("its process is gone: sudo ontick switch revert {name}"),
        };
        let mut text = format!("{name}  user data plane · {state}\n");
        if let Some(ns) = self.goes_in_ns {
            let seconds = ns.div_ceil(1_000_000_000);
            text += &format!("is removed in {seconds} s unless confirmed: sudo ontick switch confirm {name}\n");
        }
        if let Some(report) = &self.report {
            text += &core(report);
            text += &forwarding::text(switch);
            text += &streams::text(switch, &report.counters.streams.all());
            for ((port, seen), counters) in switch.ports.iter().zip(&report.ports).zip(&report.counters.ports) {
                text += &self::port(switch, port, seen, report);
                text += &counted(switch, counters);
            }
        }
        self.differences.iter().for_each(|difference| text += &format!("\ndiffers   {difference}"));
        if !self.differences.is_empty() {
            text += "\n";
        }
        text
    }
}

fn core(report: &Report) -> String {
    let counters = &report.counters;
    let cpu = report.place();
    let rests = match report.rests {
        true => format!(" · rests 70us each millisecond, {} in all", show(counters.rested_ns.get())),
        false => String::new(),
    };
    let stalls = match counters.stalls.get() {
        0 => "never stalled".into(),
        n => format!(
            "stalled {n} times, {} in all, {} at most",
            show(counters.stalled_ns.get()),
            show(counters.longest_stall_ns.get())
        ),
    };
    let age_s = ClockId::Monotonic.now_ns().saturating_sub(report.at_ns) / 1_000_000_000;
    let old = if age_s > 3 { format!(" · as of {age_s} s ago") } else { String::new() };
    let mut text = format!("process {} · {cpu}, {}{rests} · {stalls}{old}\n", report.pid, report.policy);
    if !report.strayed_to.is_empty() {
        let cpus: Vec<String> = report.strayed_to.iter().map(u32::to_string).collect();
        text += &format!("moved     its CPU was unplugged or taken from it; it was found on CPU {}\n", cpus.join(", "));
    }
    if let Some(forced) = report.forced {
        let all = match forced {
            GateOverride::Open => "open",
            GateOverride::Closed => "closed",
        };
        text += &format!("time      the network's is lost: all gates are {all}\n");
    }
    report.refused.iter().for_each(|refused| text += &format!("refused   {refused}\n"));
    text
}

fn port(switch: &Switch, port: &Port, seen: &PortReport, report: &Report) -> String {
    let link = match (seen.open, seen.closed, seen.link) {
        (false, ..) => "gone",
        (_, true, _) => "closed, as it made a loop",
        (.., true) => "up",
        (.., false) => "no link",
    };
    let mut text = format!("\nport {}  {link}\n", port.name);
    if seen.put_back > 0 {
        text += &format!("  settings  put back {} times, as another program changes them\n", seen.put_back);
    }
    if let Some(gates) = &port.gates {
        let names = |open: u16| {
            let opened = switch.classes.iter().filter(|class| open & (1 << class.queue) != 0);
            let names: Vec<&str> = opened.map(|class| class.name.as_str()).collect();
            if names.is_empty() { "none".into() } else { names.join("+") }
        };
        let entries: Vec<String> =
            gates.entries.iter().map(|entry| format!("{} {}", names(entry.open), exact(entry.for_ns))).collect();
        let base_ns = gates.base.at_second(seen.base_ns.unwrap_or(report.base_ns));
        text += &format!(
            "  gates     {} · cycle {} · base time {}.{:09}\n",
            entries.join(", "),
            exact(gates.cycle_ns),
            base_ns / 1_000_000_000,
            base_ns % 1_000_000_000
        );
        if seen.ahead_ns > 0 {
            text += &format!(
                "  ahead     {} before its gate opens a frame is handed over, as it takes longer than that to the link\n",
                show(seen.ahead_ns)
            );
        }
    }
    text
}

fn counted(switch: &Switch, counters: &ontick_switch::user::counters::PortCounters) -> String {
    let lost = causes(&counters.not_forwarded());
    let lost = if lost.is_empty() { String::new() } else { format!(" · {}", lost.join(", ")) };
    let mut text = format!(
        "  came in   {} frames, {} octets{lost}\n",
        count(counters.received.get()),
        count(counters.octets.get())
    );
    text += &format!(
        "  {:<16} {:>12} {:>16} {:>8} {:>7} {:>5} {:>7}\n",
        "class", "frames", "octets", "dropped", "waiting", "late", "overdue"
    );
    for class in &switch.classes {
        text += &row(class, &counters.queues[usize::from(class.queue)]);
    }
    text
}

/// The name of a class, on a line of its own if it has no room.
pub(super) fn first_column(name: &str) -> String {
    match name.chars().count() {
        0..=16 => format!("  {name:<16}"),
        _ => format!("  {name}\n  {:<16}", ""),
    }
}

fn row(class: &Class, counters: &QueueCounters) -> String {
    let (sent, octets) = (count(counters.sent.get()), count(counters.octets.get()));
    let (dropped, waiting) = (count(counters.dropped()), count(counters.waiting.get()));
    let (late, overdue) = (count(counters.late.get()), count(counters.overdue.get()));
    let mut text = format!(
        "{} {sent:>12} {octets:>16} {dropped:>8} {waiting:>7} {late:>5} {overdue:>7}\n",
        first_column(&class.name)
    );
    let why = causes(&counters.drops());
    if !why.is_empty() {
        text += &format!("    dropped: {}\n", why.join(", "));
    }
    text
}
