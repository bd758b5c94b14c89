//! The user data plane at work: in the foreground (`ontick switch run`), or in the background after `apply`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_machine::{Facts, Root};
use ontick_record::store;
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_rt::cpus::claim::holders;
use ontick_switch::apply::{Lock, SwitchDir};
use ontick_switch::user::ending::Ending;
use ontick_switch::user::rest::is_preempt_rt;
use ontick_switch::user::running::{CoreEvent, Stopped};
use ontick_switch::user::serve::{Report, Service, ServiceEvent};
use ontick_switch::user::{CorePlacement, metrics, placement};
use ontick_tsn::config;
use ontick_tsn::model::{GateOverride, Switch};
use ontick_units::CpuList;

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
    /// Leave real-time throttling as it is; the core of the user data plane then rests also on an isolated CPU
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

/// An applied switch that this process services.
pub struct Served {
    pub folder: SwitchDir,
    pub switch: Switch,
    pub watch: Lock,
}

/// Serves until it is asked to stop, or somebody reverts one of the switches.
pub fn serve(
    served: &[&Served],
    metrics: Option<&Path>,
    rest: RestFlags,
    stop: &AtomicBool,
) -> Result<Outcome, Failure> {
    let switches: Vec<Switch> = served.iter().map(|served| served.switch.clone()).collect();
    let Some(switch) = switches.iter().find(|switch| !switch.cpus.is_empty()).or(switches.first()) else {
        return Ok(Outcome::Met);
    };
    let places: Vec<CorePlacement> = placement::places(switch)
        .into_iter()
        .map(|place| CorePlacement { never_rest: rest.never_rest, ..place })
        .collect();
    let throttling = if rest.keep_throttling { None } else { unthrottled(&places) };
    let mut services = Service::start_together(&switches, &places)?;
    services.iter_mut().zip(served).for_each(|(service, of)| service.keep_settings(&of.folder));
    let report = services[0].report();
    let cpu = report.place();
    let names: Vec<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
    let who = if names.len() == 1 { "switch" } else { "switches" };
    let work = if names.len() == 1 { "works" } else { "work by turns" };
    file::note(&format!("{who} {} {work} on {cpu}, {} (Ctrl-C ends it)", names.join(", "), report.policy));
    report.refused.iter().for_each(|refused| file::note(refused));
    if !places.iter().all(|place| place.policy.is_real_time()) {
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
    let mut keepers: Vec<Keeper> = served.iter().zip(&mut services).map(|(of, by)| Keeper::new(of, by)).collect();
    let ended = keep(&mut keepers, metrics, stop);
    let stopped: Vec<Stopped> = services.into_iter().map(Service::stop).collect();
    served.iter().for_each(|of| of.folder.released());
    if stopped.iter().any(|stopped| stopped.ending == Ending::LeftBehind) {
        file::note("the core did not end in time: its thread is left behind, with its sockets at the ports");
    }
    let stalls: u64 = stopped.iter().map(|stopped| stopped.counters.stalls.get()).sum();
    if stalls > 0 {
        file::note(&format!("the core was stalled {stalls} times"));
    }
    if let Some(throttling) = throttling {
        throttling.restore()?;
    }
    ended
}

/// Whether a core may keep a CPU for itself for good. Threads of that CPU starve then: on a PREEMPT_RT kernel some that
/// the whole machine waits for; elsewhere nothing that matters on an isolated CPU. On others the fair server lets them
/// run, at the cost of the core: only where that was asked for.
fn may_spin(place: CorePlacement) -> bool {
    let isolated = place.cpu.is_some_and(|cpu| cpus::isolated().contains(&cpu));
    let fair_server = || Facts::gather(&Root::live()).scheduling.fair_server;
    !is_preempt_rt() && (isolated || place.never_rest && fair_server())
}

/// Lifts real-time throttling for as long as this lives; what stands in the way is reported, and the core rests then.
fn unthrottled(places: &[CorePlacement]) -> Option<Tuned> {
    if !places.iter().all(|place| place.policy.is_real_time()) {
        return None;
    }
    if !places.iter().all(|place| may_spin(*place)) {
        if places.iter().any(|place| place.never_rest) {
            file::note("--never-rest is ignored: this kernel needs threads of the core's CPU to run");
        }
        return None;
    }
    let cpus: CpuList = places.iter().filter_map(|place| place.cpu).collect();
    match Tuned::apply((!cpus.is_empty()).then_some(cpus), &THROTTLING.map(String::from)) {
        Ok(tuned) => Some(tuned),
        Err(failure) => {
            file::note(&format!("real-time throttling stays as it is: {failure}"));
            None
        }
    }
}

fn keep(keepers: &mut [Keeper], metrics: Option<&Path>, stop: &AtomicBool) -> Result<Outcome, Failure> {
    let turn = TURN / keepers.len().max(1) as u32;
    while !stop.load(Relaxed) {
        for keeper in &mut *keepers {
            if !keeper.look(turn, metrics)? {
                return Ok(Outcome::Met);
            }
        }
    }
    Ok(Outcome::Met)
}

/// One switch, looked after.
struct Keeper<'a> {
    served: &'a Served,
    service: &'a mut Service,
    in_force: (String, Switch),
    /// A configuration that was refused, and why.
    refused: Option<(String, String)>,
    counted: Option<Instant>,
    /// What could not be written last, and why.
    unwritten: Option<String>,
}

impl<'a> Keeper<'a> {
    fn new(served: &'a Served, service: &'a mut Service) -> Self {
        let in_force = (config::write(&served.switch), served.switch.clone());
        Self { served, service, in_force, refused: None, counted: None, unwritten: None }
    }

    /// Looks after everything for so long; whether the switch is still applied.
    fn look(&mut self, turn: Duration, metrics: Option<&Path>) -> Result<bool, Failure> {
        let Served { folder, switch, watch } = self.served;
        let happened = self.service.service(turn)?;
        happened.iter().for_each(|happened| file::note(&happened.to_string()));
        if happened.contains(&ServiceEvent::Core(CoreEvent::Ended)) {
            return Err(Failure::new("the core ended by itself: that is a fault of ontick"));
        }
        // What nobody asks for here: status and metrics count stalls.
        self.service.stalls().for_each(drop);
        if !folder.holds(watch) {
            file::note(&format!("switch {} was removed by another program", switch.name));
            return Ok(false);
        }
        if folder.is_release_asked() {
            file::note(&format!("switch {} is about to be removed by another program", switch.name));
            return Ok(false);
        }
        if change_gates(folder, self.service, &mut self.in_force, &mut self.refused) {
            // Whoever put it there waits to read what became of it.
            self.counted = None;
        }
        follow_time(folder, self.service, &self.in_force.1);
        if self.counted.is_none_or(|at| at.elapsed() >= COUNT) {
            self.counted = Some(Instant::now());
            self.count(metrics);
        }
        Ok(true)
    }

    /// What cannot be written is said once, and tried again: frames are forwarded without it.
    fn count(&mut self, metrics: Option<&Path>) {
        let report = Report { refused_change: self.refused.clone(), ..self.service.report() };
        let unwritten = count(&self.served.folder, &report, &self.in_force.1, metrics).err();
        if let Some(why) = unwritten.as_ref().filter(|why| self.unwritten.as_ref() != Some(why)) {
            file::note(why);
        }
        self.unwritten = unwritten;
    }
}

/// Another configuration may have been put into the folder; whether there is something new to report of it.
fn change_gates(
    folder: &SwitchDir,
    service: &mut Service,
    in_force: &mut (String, Switch),
    refused: &mut Option<(String, String)>,
) -> bool {
    let Ok(text) = folder.configuration() else { return false };
    if text == in_force.0 {
        // Whoever was refused has taken it back, and may try again.
        return refused.take().is_some();
    }
    if refused.as_ref().is_some_and(|(before, _)| *before == text) {
        return false;
    }
    let changed =
        config::read_at(&text, ClockId::Realtime.now_ns()).map_err(|e| e.to_string()).map(|parsed| parsed.switch);
    match changed.and_then(|switch| service.change(&switch).map(|()| switch).map_err(|e| e.to_string())) {
        Ok(switch) => {
            file::note("gates change at their base time, streams have changed");
            (*in_force, *refused) = ((text, switch), None);
        }
        Err(why) => {
            file::note(&format!("the changed configuration is refused: {why}"));
            *refused = Some((text, why));
        }
    }
    true
}

/// Somebody who watches the network's time may have lost it. A switch without gates has no use for it.
fn follow_time(folder: &SwitchDir, service: &mut Service, switch: &Switch) {
    let lost = folder.time_loss().filter(|_| switch.ports.iter().any(|port| port.gates.is_some()));
    // A core that does not take it now is asked again.
    if lost == service.forced() || service.force(lost).is_err() {
        return;
    }
    file::note(match lost {
        Some(GateOverride::Open) => "the network's time is lost: all gates are open until it is good again",
        Some(GateOverride::Closed) => "the network's time is lost: all gates are closed until it is good again",
        None => "the gates follow their lists again",
    });
}

fn count(folder: &SwitchDir, report: &Report, switch: &Switch, path: Option<&Path>) -> Result<(), String> {
    let text = serde_json::to_string(report).map_err(|error| error.to_string());
    let kept = text.and_then(|text| folder.keep_report(&text).map_err(|error| error.to_string()));
    let kept = kept.map_err(|why| format!("what `ontick switch status` shows cannot be written: {why}"));
    let write = |path| store::write_whole(path, metrics::text(switch, report).as_bytes());
    path.map_or(Ok(()), write).map_err(|error| format!("metrics cannot be written: {error}")).and(kept)
}
