//! All long-running commands side by side, while faults come over them in an order that a seed decides.
//!
//! `make test` does so for one round; `make soak MINUTES=… SEED=…` for as long as is asked for, and leaves its journal, table
//! and picture in the folder that `ONTICK_SOAK` names (docs/endurance.md).

#[path = "../process/apart.rs"]
#[allow(dead_code, reason = "nothing here is alone on the machine")]
mod apart;
mod faults;
mod journal;
#[path = "../../../switch/tests/testbed/namespace.rs"]
mod namespace;
mod oracle;
mod participants;
mod plan;
mod site;
mod soak;
mod table;
#[path = "../process/tools.rs"]
mod tools;
mod usage;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ontick_switch::verify::namespace::{Namespace, NamespaceError};

use plan::Pace;
use soak::Soak;
use tools::has;

const SEED: u64 = 1;
const SHORT: Pace = Pace { lasts: [200, 600], rest: [0, 200] };
const LONG: Pace = Pace { lasts: [1000, 8000], rest: [2000, 15_000] };

/// The program, with a command line.
fn ontick(arguments: &[&str]) -> Command {
    apart::beside_others(arguments);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ontick"));
    command.args(arguments);
    command
}

/// Waits until `done`, at most as long as any of this may take on a loaded machine.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < participants::PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a whole number, not \"{text}\"")))
}

#[test]
fn nothing_is_lost_or_left_and_nothing_grows_whatever_is_done() {
    let kept = std::env::var_os("ONTICK_SOAK").map(PathBuf::from);
    if kept.is_none() {
        // A long one would keep all others from being alone for as long as it lasts.
        apart::beside_others(&["run"]);
    }
    let minutes = number("ONTICK_SOAK_MINUTES").filter(|_| kept.is_some()).unwrap_or(0);
    let seed = number("ONTICK_SOAK_SEED").unwrap_or(SEED);
    let (pace, observed_every) = match minutes {
        0 => (SHORT, Duration::from_millis(250)),
        _ => (LONG, Duration::from_secs(2)),
    };
    let own = tempfile::tempdir().unwrap();
    let folder = kept.as_deref().unwrap_or(own.path());
    let Some(soak) = Soak::begin(&folder.join("journal.tsv"), seed, observed_every) else { return };
    let result = soak.run(seed, pace, Duration::from_secs(60 * minutes));
    let table = result.table(seed);
    std::fs::write(folder.join("table.md"), &table).unwrap();
    std::fs::write(folder.join("usage.svg"), result.picture(seed)).unwrap();
    std::fs::write(folder.join("usage.tsv"), result.usage()).unwrap();
    let journal = std::fs::read_to_string(folder.join("journal.tsv")).unwrap();
    assert!(result.findings.is_empty(), "{journal}\n{table}\n{:#?}", result.findings);
    // Something was at work in each.
    for (name, count) in &result.counts {
        assert!(count.lives >= 2 && (count.delivered > 0 || *name == "watch"), "{name}: {count:?}\n{journal}");
    }
}
