//! What `ontick network time run` prints: a line each second, one for each event, and what it came to.

use std::time::Duration;

use ontick_network::ptp::{Event, Node, Observation, Role, Spread, Summary, Watch};
use ontick_units::{exact, show};
use serde_json::{Value, json};

use super::sentences::{Sentences, signed};
use crate::failure::Failure;
use crate::terminal;

/// For whom it is.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Text,
    Json,
}

/// Prints.
pub struct Shown {
    form: Form,
    sentences: Sentences,
    bound_ns: Option<u64>,
}

impl Shown {
    pub fn new(node: &Node, form: Form) -> Self {
        Self { form, sentences: Sentences::of(node), bound_ns: node.time.offset_bound_ns }
    }

    /// How it is now.
    pub fn line(&self, at: Duration, watch: &Watch, seen: &Observation) -> Result<(), Failure> {
        if self.form == Form::Json {
            let ports: Vec<Value> = seen
                .ports
                .iter()
                .map(|port| json!({ "interface": self.sentences.interface(port.number), "state": port.state.name() }))
                .collect();
            return self.document(json!({
                "kind": "state",
                "at_ns": at.as_nanos() as u64,
                "role": role_name(watch.role()),
                "grandmaster": seen.grandmaster.to_string(),
                "offset_ns": watch.offset_ns(),
                "path_delay_ns": seen.path_delay_ns,
                "steps_removed": seen.steps_removed,
                "ports": ports,
            }));
        }
        let what = match watch.role() {
            Role::Grandmaster => "grandmaster".into(),
            Role::Follower { grandmaster, port } => {
                let offset = watch.offset_ns().map_or("unknown".into(), signed);
                let delay = seen.path_delay_ns.map_or("unknown".into(), signed);
                format!(
                    "offset {offset:>8}  path delay {delay:>8}  {grandmaster} by {}",
                    self.sentences.interface(port)
                )
            }
            Role::Unsynchronized => {
                let states = seen.ports.iter().map(|port| port.state.name()).collect::<Vec<_>>().join(", ");
                format!("no master ({states})")
            }
        };
        self.text(at, &what)
    }

    /// Something happened.
    pub fn event(&self, at: Duration, event: &Event) -> Result<(), Failure> {
        let (name, text) = self.sentences.event(event);
        self.happened(at, name, &text)
    }

    /// ptp4l runs and does not answer.
    pub fn silent(&self, at: Duration) -> Result<(), Failure> {
        self.happened(at, "silent", "ptp4l does not answer")
    }

    /// It answers again.
    pub fn answers(&self, at: Duration, after: Duration) -> Result<(), Failure> {
        self.happened(at, "answers", &format!("ptp4l answers again, after {}", show(after.as_nanos() as u64)))
    }

    /// The time is lost for gates, or good again for them; what becomes of them.
    pub fn gates(&self, at: Duration, name: &str, text: &str) -> Result<(), Failure> {
        self.happened(at, name, text)
    }

    /// What it came to; how often and for how long, in ns, the time was not good after it was.
    pub fn summary(
        &self,
        summary: &Summary,
        (lost, lost_ns): (u64, u64),
        took: Duration,
        free_running: bool,
    ) -> Result<(), Failure> {
        // Two nodes may be off to either side.
        let sync_error_ns = summary.offsets.quantile(1.0).filter(|_| !free_running).map(|ns| 2 * ns);
        if self.form == Form::Json {
            return self.document(json!({
                "kind": "summary",
                "took_ns": took.as_nanos() as u64,
                "offset_ns": spread(&summary.offsets),
                "path_delay_ns": spread(&summary.path_delays),
                "beyond_bound": summary.beyond_bound,
                "first_time_ns": summary.first_time_ns,
                "without_master_ns": summary.without_master_ns,
                "losses": summary.losses,
                "not_good_ns": lost_ns,
                "role_changes": summary.role_changes,
                "sync_error_ns": sync_error_ns,
            }));
        }
        let mut text = String::new();
        let mut row = |name: &str, value: String| text += &format!("{name:<16} {value}\n");
        for (name, spread) in [("offset", &summary.offsets), ("path delay", &summary.path_delays)] {
            row(name, described(spread));
        }
        if let Some(bound_ns) = self.bound_ns {
            row(
                "beyond bound",
                format!(
                    "{} of {} (offset-bound = \"{}\")",
                    summary.beyond_bound,
                    summary.offsets.count(),
                    exact(bound_ns)
                ),
            );
        }
        row(
            "without a master",
            match summary.first_time_ns {
                None => "all the time".into(),
                Some(first_ns) => format!(
                    "{}, lost {}; the first after {}",
                    show(summary.without_master_ns),
                    times(summary.losses),
                    show(first_ns)
                ),
            },
        );
        if lost > 0 {
            row(
                "not good",
                format!("{}, {}: beyond the bound, without a master or without word", show(lost_ns), times(lost)),
            );
        }
        row("role changes", summary.role_changes.to_string());
        if let Some(ns) = sync_error_ns {
            row("for the planner", format!("sync-error = \"{}\"", exact(ns)));
        }
        terminal::print(&format!("\n{text}"))
    }

    fn happened(&self, at: Duration, name: &str, text: &str) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.document(json!({
                "kind": "event",
                "at_ns": at.as_nanos() as u64,
                "event": name,
                "text": text,
            })),
            Form::Text => self.text(at, text),
        }
    }

    fn text(&self, at: Duration, text: &str) -> Result<(), Failure> {
        terminal::print(&format!("{:>8.1}s  {text}\n", at.as_secs_f64()))
    }

    fn document(&self, document: Value) -> Result<(), Failure> {
        terminal::print(&format!("{document}\n"))
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Grandmaster => "grandmaster",
        Role::Follower { .. } => "follower",
        Role::Unsynchronized => "unsynchronized",
    }
}

fn spread(spread: &Spread) -> Value {
    let Some((min, max)) = spread.extremes() else { return Value::Null };
    json!({
        "min": min,
        "max": max,
        "median_magnitude": spread.quantile(0.5),
        "p99_magnitude": spread.quantile(0.99),
        "count": spread.count(),
    })
}

fn times(number: u64) -> String {
    match number {
        0 => "never".into(),
        1 => "once".into(),
        n => format!("{n} times"),
    }
}

fn described(spread: &Spread) -> String {
    let Some((min, max)) = spread.extremes() else { return "not measured".into() };
    let share = |share| spread.quantile(share).map(show).unwrap_or_default();
    format!(
        "{} to {}; without sign: median {}, 99 % {}; {} measured",
        signed(min),
        signed(max),
        share(0.5),
        share(0.99),
        spread.count()
    )
}
