//! Gate control lists of a network.

use std::cell::Cell;
use std::time::{Duration, Instant};

use ontick_report::network::{Rows, svg};
use ontick_tsn::network::{self, Network};
use ontick_tsn::planning::{Document, DocumentError, Outcome, PlanOptions, Prefer, Timetable, gate_control_list};
use ontick_tsn::validate::{self as validation, MOST_MESSAGES, ValidationInput};
use ontick_tsn::{planning, target};
use pyo3::prelude::*;
use serde_json::json;

use crate::arguments::{time, word};
use crate::errors::{Class, argument};
use crate::interrupt::{self, LOOK_NS};

/// What a network is called that came without a file.
const UNNAMED: &str = "the network";

/// Reads a network; what is wrong is said with the name of its file, or what stands for it.
fn read(text: &str, name: &str) -> PyResult<Network> {
    network::read(text).map_err(|errors| argument(errors.in_file(name)))
}

fn named(target: &str) -> PyResult<&'static target::Target> {
    target::named(target).ok_or_else(|| argument(format!("there is no target \"{target}\"")))
}

/// Searches for so long; the result as JSON.
#[pyfunction]
#[pyo3(signature = (network, name, limit, paths, wait, prefer, slot, seed, keep, target))]
#[allow(clippy::too_many_arguments)]
pub fn plan(
    py: Python<'_>,
    network: &str,
    name: &str,
    limit: &str,
    paths: u8,
    wait: bool,
    prefer: &str,
    slot: &str,
    seed: u64,
    keep: Option<&str>,
    target: &str,
) -> PyResult<String> {
    let prefer = match prefer {
        "early" => Prefer::Early,
        "spread" => Prefer::Spread,
        "few-entries" => Prefer::FewEntries,
        other => return Err(argument(format!("prefer is \"{other}\": it must be early, spread or few-entries"))),
    };
    if !(1..=64).contains(&paths) {
        return Err(argument(format!("paths is {paths}: it must be from 1 to 64")));
    }
    let slot_ns = time("slot", slot)?.max(1);
    let limit = Duration::from_nanos(time("limit", limit)?);
    py.detach(|| {
        let target = named(target)?;
        let options =
            PlanOptions { routes: paths.into(), wait, prefer, slot_ns, shortest_ns: target.shortest_ns, seed };
        let network = read(network, name)?.timed(target.timing());
        if let Some(too_long) = gate_control_list::too_long_in_any_plan(&network) {
            return Err(Class::Plan.error(too_long));
        }
        let kept = match keep {
            Some(text) => Document::read(text).map_err(argument)?.timetable(&network),
            None => Timetable::default(),
        };
        let search = Search::new(limit);
        let outcome = planning::plan(&network, &options, &kept, &|| search.goes_on());
        search.end()?;
        Ok(match outcome {
            Outcome::Planned(table) => {
                let mut schedule =
                    gate_control_list::schedule(&network, &table).map_err(|error| Class::Plan.error(error))?;
                planning::close_short_gaps(&mut schedule, target.shortest_ns, &network, &table);
                if let Some(beyond) = validation::beyond_target(&network, &schedule, target) {
                    return Err(Class::Plan.error(beyond));
                }
                json!({ "outcome": "planned", "plan": Document::new(&network, &table, &schedule) })
            }
            Outcome::Impossible(certificates) => {
                let because: Vec<String> = certificates.iter().map(|one| one.in_words(&network)).collect();
                json!({ "outcome": "impossible", "because": because })
            }
            Outcome::NotFound(found) => {
                let missing: Vec<&str> =
                    found.table.missing().map(|stream| network.streams[stream].name.as_str()).collect();
                json!({ "outcome": "not found", "without_place": missing })
            }
        }
        .to_string())
    })
}

/// Follows every message through the gates of a plan; the result as JSON. Errors name the files, where there are any.
#[pyfunction]
#[pyo3(signature = (network, plan, target, network_name, plan_name))]
pub fn validate(
    py: Python<'_>,
    network: &str,
    plan: &str,
    target: &str,
    network_name: Option<&str>,
    plan_name: Option<&str>,
) -> PyResult<String> {
    py.detach(|| {
        let known = named(target)?;
        let network = read(network, network_name.unwrap_or(UNNAMED))?.timed(known.timing());
        let wrong = |error: DocumentError| match plan_name {
            Some(file) => argument(format!("{file}: {error}")),
            None => argument(error),
        };
        let document = Document::read(plan).map_err(wrong)?;
        let schedule = document.schedule(&network).map_err(wrong)?;
        let verdict = validation::validate(&ValidationInput {
            network: &network,
            schedule: &schedule,
            target: known,
            guard_bands: !known.length_aware,
            most_messages: MOST_MESSAGES,
        });
        let faults: Vec<String> = verdict.faults.iter().map(|fault| fault.in_words(&network)).collect();
        let delays: Vec<_> = verdict
            .delays
            .iter()
            .map(|delay| {
                json!({
                    "stream": network.streams[delay.stream].name,
                    "listener": network.nodes[delay.listener].name,
                    "least_ns": delay.least_ns,
                    "most_ns": delay.most_ns,
                })
            })
            .collect();
        Ok(json!({
            "faults": faults,
            "delays": delays,
            "messages": verdict.messages,
            "complete": verdict.complete,
        })
        .to_string())
    })
}

/// Draws a plan, as SVG.
#[pyfunction]
pub fn plan_svg(py: Python<'_>, network: &str, plan: &str, rows: &str) -> PyResult<String> {
    let rows: Rows = word(rows)?;
    py.detach(|| {
        let network = read(network, UNNAMED)?;
        let document = Document::read(plan).map_err(argument)?;
        let schedule = document.schedule(&network).map_err(argument)?;
        Ok(svg(rows, &network, &document.timetable(&network), &schedule))
    })
}

/// Ends a search when its time is over, or Ctrl-C comes.
struct Search {
    end: Instant,
    looked: Cell<Instant>,
    interrupt: Cell<Option<PyErr>>,
    over: Cell<bool>,
}

impl Search {
    fn new(limit: Duration) -> Self {
        let now = Instant::now();
        Self {
            end: now.checked_add(limit).unwrap_or(now + Duration::from_secs(86_400)),
            looked: Cell::new(now),
            interrupt: Cell::new(None),
            over: Cell::new(false),
        }
    }

    fn goes_on(&self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.looked.get()) >= Duration::from_nanos(LOOK_NS) {
            self.looked.set(now);
            if let Err(raised) = interrupt::check() {
                self.interrupt.set(Some(raised));
                self.over.set(true);
            }
        }
        now < self.end && !self.over.get()
    }

    fn end(self) -> PyResult<()> {
        self.interrupt.into_inner().map_or(Ok(()), Err)
    }
}
