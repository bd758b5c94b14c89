//! Applied switches for `ontick watch`: their gates and counters, without anything being changed.

use std::io::ErrorKind;
use std::path::Path;

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, Live, SwitchDir};
use ontick_switch::kernel::status::status;
use ontick_switch::kernel::time_loss;
use ontick_switch::user::serve::Report;
use ontick_tsn::model::{GateOverride, Plane, Switch};
use ontick_watch::switches::{SwitchNow, Switches};

use super::target_flags::standing;
use super::{background, data_path};
use crate::failure::Failure;

/// A report that is older is of a core that does not report any more, in ns.
const OLD_NS: u64 = 5_000_000_000;

/// All switches in the usual place or in `home`.
pub fn watched(home: Option<&Path>) -> Switches {
    let mut found = Switches::default();
    match SwitchDir::readable(home) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            found
                .unknown
                .push("applied switches can be seen by root alone, and this service does not run as root".into());
        }
        _ => {
            for name in SwitchDir::all(home) {
                match switch(&name, home) {
                    Ok(switch) => found.switches.extend(switch),
                    Err(failure) => found.unknown.push(format!("switch {name}: {failure}")),
                }
            }
        }
    }
    found
}

/// None where it was taken away while it was looked at.
fn switch(name: &str, home: Option<&Path>) -> Result<Option<SwitchNow>, Failure> {
    let folder = SwitchDir::of(name, home)?;
    let Some(journal) = Journal::read(&folder)? else { return Ok(None) };
    let found = standing(&folder).and_then(|switch| match switch.plane {
        Plane::User => Ok(of_user(&folder, &journal, &switch)),
        _ => of_kernel(&folder, &journal, &switch),
    });
    match found {
        Err(_) if matches!(Journal::read(&folder), Ok(None)) => Ok(None),
        found => found.map(Some),
    }
}

fn of_user(folder: &SwitchDir, journal: &Journal, switch: &Switch) -> SwitchNow {
    let report = background::report(folder);
    let age_ns = report.as_ref().map(|report| ClockId::Monotonic.now_ns().saturating_sub(report.at_ns));
    let works = journal.is_complete() && folder.is_watched();
    let (state, fine) = match (works, &report, age_ns) {
        (false, ..) if !journal.is_complete() => ("was interrupted while it was set up".into(), false),
        (false, ..) => ("its process is gone".into(), false),
        (true, None, _) => ("begins".into(), true),
        (true, Some(_), Some(ns)) if ns > OLD_NS => (format!("its counters are {} s old", ns / 1_000_000_000), false),
        (true, Some(report), _) => match report.forced {
            None => (at_work(report), true),
            Some(GateOverride::Open) => ("its gates are all open, as the network's time is lost".into(), false),
            Some(GateOverride::Closed) => ("its gates are all closed, as the network's time is lost".into(), false),
        },
    };
    SwitchNow {
        name: switch.name.clone(),
        plane: "user",
        state,
        fine,
        base_ns: report.as_ref().map(|report| report.base_ns),
        path: data_path::of_user(switch, report.as_ref()),
    }
}

fn at_work(report: &Report) -> String {
    let cpu = report.place();
    let stalls = match report.counters.stalls.get() {
        0 => "never stalled".into(),
        n => format!("stalled {n} times, {} at most", ontick_units::show(report.counters.longest_stall_ns.get())),
    };
    format!("at work on {cpu}, {} · {stalls}", report.policy)
}

fn of_kernel(folder: &SwitchDir, journal: &Journal, switch: &Switch) -> Result<SwitchNow, Failure> {
    let forced = time_loss::in_force(folder, switch);
    let found = status(&Live, switch, &folder.plan()?, forced)?;
    let (state, fine) = match (journal.is_complete(), found.differences.as_slice(), folder.is_watched()) {
        (true, [], _) if forced == Some(GateOverride::Open) => {
            ("its gates are all open, as the network's time is lost".into(), false)
        }
        (true, [], _) if forced.is_some() => ("it forwards nothing, as the network's time is lost".into(), false),
        (false, ..) => ("was interrupted while it was set up".into(), false),
        (true, [], true) => ("kept correct by its process".into(), true),
        (true, [], false) => ("no process keeps it correct".into(), true),
        (true, [one], _) => (format!("differs from what was set up: {one}"), false),
        (true, [one, more @ ..], _) => (format!("differs from what was set up: {one}, and {} more", more.len()), false),
    };
    let base_ns = found.ports.iter().find_map(|port| port.oper.as_ref().map(|times| times.base_ns));
    Ok(SwitchNow {
        name: switch.name.clone(),
        plane: "kernel",
        state,
        fine,
        base_ns,
        path: data_path::of_kernel(switch, &found),
    })
}
