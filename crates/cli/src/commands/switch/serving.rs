//! The user data plane at work: in the foreground (`ontick switch run`), or in the background after `apply`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_machine::{Facts, Root};
use ontick_record::store;
use ontick_rt::cpus;
use ontick_rt::cpus::claim::holders;
use ontick_switch::apply::{Folder, Lock};
use ontick_switch::user::rest::is_preempt_rt;
use ontick_switch::user::running::Noticed;
use ontick_switch::user::serve::{Happened, Service};
use ontick_switch::user::{Place, metrics};
use ontick_switch::verify::proof;
use ontick_switch::{Switch, config};

use super::file;
use crate::commands::tuned::Tuned;
use crate::failure::{Failure, Outcome};

/// Events are looked after in turns of this length.
const TURN: Duration = Duration::from_millis(100);
/// Counters are written so often.
const COUNT: Duration = Duration::from_secs(1);
/// Without throttling the core need not rest.
const THROTTLING: [&str; 2] = ["rt-throttling", "rt-group-throttling"];

/// How the core treats those that have its CPU too.
#[derive(clap::Args, Debug, Clone, Copy)]
pub struct RestFlags {
    /// Leave real-time throttling as it is; the core of the user data plane then rests on an isolated CPU, too
    #[arg(long)]
    keep_throttling: bool,
    /// Let the core of the user data plane spin all the time on a CPU that is not isolated: a busy thread there then
    /// stops it for up to 50 ms at a time (not on PREEMPT_RT kernels, where the core rests in any case)
    #[arg(long, conflicts_with = "keep_throttling")]
    never_rest: bool,
}

impl RestFlags {
    /// As words of a command line.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let given = [(self.keep_throttling, "--keep-throttling"), (self.never_rest, "--never-rest")];
        given.into_iter().filter_map(|(given, word)| given.then_some(word))
    }
}

/// Serves until it is told to stop, or somebody reverts the switch.
pub fn serve(
    folder: &Folder,
    switch: &Switch,
    metrics: Option<&Path>,
    rest: RestFlags,
    watch: &Lock,
    stop: &AtomicBool,
) -> Result<Outcome, Failure> {
    let place = Place { never_rest: rest.never_rest, ..proof::place(switch, None) };
    let throttling = if rest.keep_throttling { None } else { unthrottled(place) };
    let mut service = Service::start(switch, place)?;
    service.keep_settings(folder);
    let report = service.report();
    let cpu = report.cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
    file::note(&format!("switch {} works on {cpu}, {} (Ctrl-C ends it)", switch.name, report.policy));
    report.refused.iter().for_each(|refused| file::note(refused));
    if !place.policy.is_real_time() {
        let held: Vec<String> =
            holders().iter().map(|holder| format!("CPU {} is held by {holder}", holder.cpu)).collect();
        let why = if held.is_empty() { String::new() } else { format!(" ({})", held.join("; ")) };
        file::note(&format!(
            "no CPU is left for the core alone{why}: it runs as an ordinary thread, and gates hold as well as that allows"
        ));
    }
    if report.rests {
        file::note(
            "the core rests 70us each millisecond, between gates where it can, as it does not have its CPU for itself",
        );
    }
    let ended = keep(folder, &mut service, switch, metrics, watch, stop);
    let stalls = service.stop().stalls.get();
    if stalls > 0 {
        file::note(&format!("the core was kept from its work {stalls} times"));
    }
    if let Some(throttling) = throttling {
        throttling.restore()?;
    }
    ended
}

/// Whether a core may keep a CPU for itself for good. Threads of that CPU starve then: on a PREEMPT_RT kernel some that
/// the whole machine waits for; elsewhere nothing that matters on an isolated CPU. On others the fair server lets them
/// run, at the cost of the core: only where that was asked for.
fn may_spin(place: Place) -> bool {
    let isolated = place.cpu.is_some_and(|cpu| cpus::isolated().contains(&cpu));
    let fair_server = || Facts::gather(&Root::live()).scheduling.fair_server;
    !is_preempt_rt() && (isolated || place.never_rest && fair_server())
}

/// Lifts real-time throttling for as long as this lives; what stands in the way is told, and the core rests then.
fn unthrottled(place: Place) -> Option<Tuned> {
    if !place.policy.is_real_time() {
        return None;
    }
    if !may_spin(place) {
        if place.never_rest {
            file::note("--never-rest is ignored: this kernel needs threads of the core's CPU to run");
        }
        return None;
    }
    match Tuned::apply(place.cpu, &THROTTLING.map(String::from)) {
        Ok(tuned) => Some(tuned),
        Err(failure) => {
            file::note(&format!("real-time throttling stays as it is: {failure}"));
            None
        }
    }
}

fn keep(
    folder: &Folder,
    service: &mut Service,
    switch: &Switch,
    metrics: Option<&Path>,
    watch: &Lock,
    stop: &AtomicBool,
) -> Result<Outcome, Failure> {
    let mut in_force = (config::write(switch), switch.clone());
    let mut told = None;
    let mut counted: Option<Instant> = None;
    while !stop.load(Relaxed) {
        let happened = service.tend(TURN)?;
        happened.iter().for_each(|happened| file::note(&happened.to_string()));
        if happened.contains(&Happened::Core(Noticed::Ended)) {
            return Err(Failure::new("the core ended by itself: that is a fault of ontick"));
        }
        // What nobody asks for here: status and metrics count stalls.
        service.stalls().for_each(drop);
        if !folder.holds(watch) {
            file::note(&format!("switch {} was taken away by somebody else", switch.name));
            return Ok(Outcome::Met);
        }
        change_gates(folder, service, &mut in_force, &mut told);
        if counted.is_none_or(|at| at.elapsed() >= COUNT) {
            counted = Some(Instant::now());
            count(folder, service, &in_force.1, metrics)?;
        }
    }
    Ok(Outcome::Met)
}

/// Another configuration may have been put into the folder.
fn change_gates(folder: &Folder, service: &mut Service, in_force: &mut (String, Switch), told: &mut Option<String>) {
    let Ok(text) = folder.configuration() else { return };
    if text == in_force.0 || told.as_ref() == Some(&text) {
        return;
    }
    let changed = config::read(&text).map_err(|e| e.to_string()).map(|parsed| parsed.switch);
    match changed.and_then(|switch| service.change(&switch).map(|()| switch)) {
        Ok(switch) => {
            file::note("the gates change at their base time");
            *in_force = (text, switch);
        }
        Err(why) => {
            file::note(&format!("the changed configuration is not taken: {why}"));
            *told = Some(text);
        }
    }
}

fn count(folder: &Folder, service: &Service, switch: &Switch, path: Option<&Path>) -> Result<(), Failure> {
    let report = service.report();
    folder.keep_report(&serde_json::to_string(&report)?)?;
    if let Some(path) = path {
        store::write_whole(path, metrics::text(switch, &report).as_bytes())?;
    }
    Ok(())
}
