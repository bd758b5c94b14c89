//! Keeps a switch in the kernel true: software taprio stands still for ever after a link event, other tools change what
//! is not theirs, ports go and come back, clocks are set.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_record::store;

use crate::apply::{
    Act, Difference, Expect, Host, Journal, Lock, Plan, Refused, Step, SwitchDir, Undo, carry_out, differences, links,
};
use crate::link::{Change, Event, Watch};
use ontick_tsn::config;
use ontick_tsn::model::{GateOverride, Port, Switch};
use ontick_tsn::schedule::Schedule;

use super::clock::{Stepped, Steps};
use super::policing;
use super::status::{LinkState, PortStatus, Status, port_statuses};
use super::tally::Tally;
use super::{gates, metrics, reconfigure, shaper, time_loss};

/// How often everything is compared, for what no event tells of (nft, sysctl).
const LOOK: Duration = Duration::from_secs(2);
/// How often counters are read.
const COUNT: Duration = Duration::from_secs(1);
/// The clock and the wish to stop are looked at so often.
const TURN: Duration = Duration::from_millis(100);
/// A driver may still be setting its queues up when it tells of the link: gates are set once more after this.
const AGAIN: Duration = Duration::from_millis(400);

/// How the switch is kept.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Counters go here each second, as OpenMetrics text.
    pub metrics: Option<PathBuf>,
}

/// Why keeping ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconcileEnd {
    /// It was asked to.
    Stopped,
    /// Somebody reverted the switch.
    Reverted,
}

/// Reconciles a switch until `stop`; `report` gets a sentence for each thing that happens.
pub fn run(
    host: &impl Host,
    folder: &SwitchDir,
    held: &Lock,
    switch: &Switch,
    options: &Options,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&str),
) -> io::Result<(ReconcileEnd, Tally)> {
    let mut watch = Watch::begin()?;
    let plan = folder.plan().map_err(io::Error::other)?;
    let mut keeper = Keeper::new(host, folder, switch, plan, options, report);
    // What happened to a link before the watch began is not reported by anybody.
    switch.ports.iter().for_each(|port| keeper.reissue_soon(&port.name));
    keeper.let_go();
    let ended = loop {
        if stop.load(Relaxed) {
            // Nobody follows the time any more.
            if keeper.forced.take().is_some() {
                keeper.let_go();
                switch.ports.iter().for_each(|port| keeper.reissue_one(&port.name));
            }
            break ReconcileEnd::Stopped;
        }
        let mut event = watch.next(keeper.until_due())?;
        // All that has come, before anything is done about it.
        while let Some(heard) = event {
            keeper.hear(&heard);
            event = watch.next(Duration::ZERO)?;
        }
        if !folder.holds(held) || keeper.service() {
            break ReconcileEnd::Reverted;
        }
    };
    Ok((ended, keeper.tally))
}

struct Keeper<'a, H> {
    host: &'a H,
    folder: &'a SwitchDir,
    switch: Switch,
    plan: Plan,
    options: &'a Options,
    report: &'a mut dyn FnMut(&str),
    tally: Tally,
    clock: Steps,
    /// What the gates are in place of their lists, as the network's time is lost.
    forced: Option<GateOverride>,
    /// Ports whose gates are to be set anew, and when.
    due: BTreeMap<String, BTreeSet<Instant>>,
    returned: BTreeSet<String>,
    look_at: Instant,
    count_at: Instant,
    /// Frames that had left each port when that last changed.
    progress: BTreeMap<String, (u64, Instant)>,
    differences: Vec<Difference>,
    /// What could not be put back, so that it is reported once.
    reported: BTreeSet<String>,
}

impl<'a, H: Host> Keeper<'a, H> {
    fn new(
        host: &'a H,
        folder: &'a SwitchDir,
        switch: &'a Switch,
        plan: Plan,
        options: &'a Options,
        report: &'a mut dyn FnMut(&str),
    ) -> Self {
        let now = Instant::now();
        Self {
            host,
            folder,
            switch: switch.clone(),
            plan,
            options,
            report,
            tally: Tally::default(),
            clock: Steps::new(crate::clock::id(switch.clock)),
            forced: None,
            due: BTreeMap::new(),
            returned: BTreeSet::new(),
            look_at: now,
            count_at: now,
            progress: BTreeMap::new(),
            differences: Vec::new(),
            reported: BTreeSet::new(),
        }
    }

    fn until_due(&self) -> Duration {
        let times = self.due.values().flatten().chain([&self.look_at, &self.count_at]);
        let first = times.min().copied().unwrap_or(self.look_at);
        first.saturating_duration_since(Instant::now()).min(TURN)
    }

    fn is_port(&self, name: &str) -> bool {
        self.switch.ports.iter().any(|port| port.name == name)
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::Link { change: Change::Renamed { from }, name, .. } => {
                if self.is_port(from) {
                    self.say(&format!("port {from} is called {name} now: it no longer takes part"));
                }
                if self.is_port(name) {
                    self.returned.insert(name.clone());
                }
            }
            Event::Link { name, change, .. } if self.is_port(name) => self.port_changed(name, change),
            Event::Link { name, .. } if *name == self.switch.name => self.look_at = Instant::now(),
            Event::Traffic { name: Some(name), .. } if self.is_port(name) => self.look_at = Instant::now(),
            Event::Lost => {
                self.say("events of the kernel were lost: everything is looked at anew");
                let ports: Vec<String> = self.switch.ports.iter().map(|port| port.name.clone()).collect();
                ports.iter().for_each(|port| self.reissue_soon(port));
                self.look_at = Instant::now();
            }
            _ => {}
        }
    }

    fn port_changed(&mut self, name: &str, change: &Change) {
        match change {
            Change::CarrierUp | Change::Flapped => {
                let came = if *change == Change::Flapped { "link went and came back" } else { "link is there" };
                self.say(&format!("port {name}: its {came}; gates are set anew"));
                self.reissue_soon(name);
            }
            Change::AdminUp => self.reissue_soon(name),
            Change::CarrierDown => self.say(&format!("port {name}: no link")),
            Change::AdminDown => self.say(&format!("port {name}: somebody switched it off")),
            Change::Gone => self.say(&format!("port {name} is gone; the others go on")),
            Change::Appeared => {
                self.returned.insert(name.into());
            }
            Change::Renamed { .. } | Change::Master { .. } => self.look_at = Instant::now(),
        }
    }

    fn reissue_soon(&mut self, name: &str) {
        let now = Instant::now();
        self.due.entry(name.into()).or_default().extend([now, now + AGAIN]);
    }

    fn say(&mut self, sentence: &str) {
        (self.report)(sentence);
    }

    fn say_once(&mut self, sentence: String) {
        if self.reported.insert(sentence.clone()) {
            self.say(&sentence);
        }
    }

    /// Does what is due; whether somebody has reverted the switch.
    fn service(&mut self) -> bool {
        self.look_at_clock();
        self.follow_time();
        let now = Instant::now();
        let has_work = !self.returned.is_empty()
            || now >= self.look_at
            || self.due.values().any(|times| times.first().is_some_and(|at| *at <= now));
        if has_work {
            // Another ontick at work with it is waited for.
            let Ok(_lock) = self.folder.lock() else { return false };
            let Ok(Some(mut journal)) = Journal::read(self.folder) else { return true };
            self.read_again();
            let Ok(replaced) = self.replaced() else { return false };
            self.returned.extend(replaced);
            self.rejoin(&mut journal);
            self.reissue();
            if Instant::now() >= self.look_at {
                self.look_at = Instant::now() + LOOK;
                self.put_back();
            }
        }
        if Instant::now() >= self.count_at {
            self.count_at = Instant::now() + COUNT;
            self.count();
        }
        false
    }

    /// Its gates and streams may have been changed.
    fn read_again(&mut self) {
        let configuration = self.folder.configuration().ok().and_then(|text| config::read(&text).ok());
        if let (Ok(plan), Some(configuration)) = (self.folder.plan(), configuration) {
            (self.plan, self.switch) = (plan, configuration.switch);
        }
    }

    /// Somebody who watches the network's time may have lost it. A switch without gates has no use for it.
    fn follow_time(&mut self) {
        let has_gates = self.switch.ports.iter().any(|port| port.gates.is_some());
        let lost = self.folder.time_loss().filter(|_| has_gates);
        if lost == self.forced {
            return;
        }
        match lost {
            None => self.say("the network's time is good again: the gates follow their lists"),
            Some(GateOverride::Open) => {
                self.say("the network's time is lost: all gates are open until it is good again");
            }
            Some(GateOverride::Closed) => match time_loss::not_stopped(&self.switch) {
                None => self.say("the network's time is lost: no port forwards anything until it is good again"),
                Some(why) => self.say(&format!("the network's time is lost, and {why}")),
            },
        }
        self.forced = lost;
        if lost != Some(GateOverride::Closed) {
            self.let_go();
        }
        let ports: Vec<String> = self.switch.ports.iter().map(|port| port.name.clone()).collect();
        ports.iter().for_each(|port| self.reissue_soon(port));
    }

    /// Ports forward again that were stopped by this process, or by one that was killed.
    fn let_go(&mut self) {
        let stopped = links(self.host).map(|links| time_loss::stopped(&self.switch, &links));
        for port in stopped.unwrap_or_default() {
            if let Err(refused) = self.host.act(&time_loss::forward(&port, true)) {
                self.say(&format!("port {port} forwards nothing: {refused}"));
            }
        }
    }

    /// Has a port forward nothing, where that is what is wanted. One without a link does so by itself, and is stopped when it
    /// gets one.
    fn stop_port(&mut self, name: &str) {
        if self.forced == Some(GateOverride::Closed) && time_loss::not_stopped(&self.switch).is_none() {
            let _ = self.host.act(&time_loss::forward(name, false));
        }
    }

    /// What is to be, with gates as the time has them.
    fn wanted(&self) -> Plan {
        self.forced.map_or_else(|| self.plan.clone(), |to| time_loss::forced(&self.plan, to))
    }

    fn look_at_clock(&mut self) {
        let Some(stepped) = self.clock.poll() else { return };
        let clock = self.switch.clock.name();
        match stepped {
            Stepped::By(ns) => {
                self.say(&format!("the {clock} clock was set by {:.6} s: gates are set anew", ns as f64 / 1e9));
            }
            Stepped::Offset(s) => {
                self.say(&format!("TAI is now {s} s ahead of UTC on this machine: gates are set anew"));
            }
        }
        self.tally.clock_steps += 1;
        let ports: Vec<String> = self.switch.ports.iter().map(|port| port.name.clone()).collect();
        ports.iter().for_each(|port| self.reissue_soon(port));
    }

    /// Ports that were deleted and made anew since they were set up, whether an event reported it or not. Nothing is done
    /// to them but by steps of their own: how to undo the others speaks of an interface that is gone.
    fn replaced(&self) -> Result<BTreeSet<String>, Refused> {
        let links = links(self.host)?;
        let replaced = |step: &&Step| {
            step.undos.iter().filter_map(Undo::port).any(|port| {
                links.iter().any(|link| link.name == port.name && link.index != port.index) && self.is_port(&port.name)
            })
        };
        Ok(self.plan.steps.iter().filter(replaced).filter_map(|step| step.port.clone()).collect())
    }

    fn is_replaced(&self, step: &Step) -> bool {
        let Some(port) = &step.port else { return false };
        self.replaced().map_or(true, |replaced| replaced.contains(port))
    }

    fn rejoin(&mut self, journal: &mut Journal) {
        for name in std::mem::take(&mut self.returned) {
            match self.rejoin_one(journal, &name) {
                Ok(()) => {
                    self.say(&format!("port {name} is back, and set up again"));
                    self.reissue_soon(&name);
                }
                Err(why) => {
                    self.say_once(format!("port {name} is back, and cannot be set up again: {why}"));
                }
            }
        }
    }

    fn rejoin_one(&mut self, journal: &mut Journal, name: &str) -> Result<(), String> {
        let steps = reconfigure::rejoin(self.host, &self.switch, &self.plan, name).map_err(|e| e.to_string())?;
        for (at, step) in steps.iter().enumerate() {
            if let Err(error) = carry_out(self.host, journal, step) {
                // All of it or nothing, so that it can be tried again.
                let begun = steps[..=at].iter().rev().flat_map(|step| step.undos.iter().rev());
                begin_anew(self.host, begun);
                return Err(error.to_string());
            }
        }
        self.plan
            .steps
            .retain(|step| step.port.as_deref() != Some(name) || steps.iter().all(|new| new.what != step.what));
        // What is as wanted without a step of its own has nothing to undo; what was before went with the old interface.
        let of_port = self.plan.steps.iter_mut().filter(|step| step.port.as_deref() == Some(name));
        of_port.for_each(|step| step.undos.clear());
        self.plan.steps.extend(steps);
        self.folder.keep_plan(&self.plan).map_err(|e| e.to_string())
    }

    fn reissue(&mut self) {
        let now = Instant::now();
        let due: Vec<String> =
            self.due.iter().filter(|(_, at)| at.first().is_some_and(|at| *at <= now)).map(|(n, _)| n.clone()).collect();
        for name in due {
            if let Some(times) = self.due.get_mut(&name) {
                times.retain(|at| *at > now);
            }
            self.reissue_one(&name);
        }
        self.due.retain(|_, times| !times.is_empty());
    }

    fn reissue_one(&mut self, name: &str) {
        self.stop_port(name);
        let Some(act) = self.gates_of(name) else { return };
        // Its own gates come with its return.
        if self.replaced().map_or(true, |replaced| replaced.contains(name)) {
            return;
        }
        match self.host.act(&act) {
            Ok(()) => *self.tally.reissued.entry(name.into()).or_default() += 1,
            // What else stands there is seen by the look at everything.
            Err(refused) => self.say_once(format!("port {name}: {refused}")),
        }
    }

    /// What sets the port's gates.
    fn gates_of(&self, name: &str) -> Option<Act> {
        let wanted = self.wanted();
        let expects = wanted.steps.iter().flat_map(|step| &step.expects);
        expects.into_iter().find_map(|expect| match expect {
            Expect::Taprio { port, taprio } if port == name => Some(gates::replace(port, taprio)),
            _ => None,
        })
    }

    /// Compares everything, and puts back what another tool has changed.
    fn put_back(&mut self) {
        let steps = self.wanted().steps;
        if self.forced == Some(GateOverride::Closed) {
            let ports: Vec<String> = self.switch.ports.iter().map(|port| port.name.clone()).collect();
            ports.iter().for_each(|port| self.stop_port(port));
        }
        let all = differences(self.host, steps.iter().flat_map(|step| &step.expects));
        if all.is_empty() {
            self.reported.clear();
        }
        self.differences = all;
        if self.differences.is_empty() {
            return;
        }
        for step in &steps {
            if self.is_replaced(step) {
                continue;
            }
            // Whoever switches a port off means it.
            let expects =
                step.expects.iter().filter(|expect| !matches!(expect, Expect::Up { port } if self.is_port(port)));
            let Some(difference) = differences(self.host, expects)
                .into_iter()
                .find(|difference| !difference.gone || !self.is_port(&difference.place))
            else {
                continue;
            };
            match redo(self.host, step) {
                Ok(()) => {
                    self.tally.put_back += 1;
                    self.say(&format!("{difference}: put back ({})", step.what));
                }
                Err(why) => self.say_once(format!("{difference}, and it cannot be put back: {why}")),
            }
            // Attaching filters stops software taprio.
            if let Some(port) = step
                .expects
                .iter()
                .any(|e| matches!(e, Expect::Filters { .. } | Expect::Policed { .. }))
                .then_some(step.port.as_ref())
                .flatten()
            {
                self.reissue_one(port);
            }
        }
    }

    /// Reads counters: for whoever wants them, and to see whether a port stands still that should not.
    fn count(&mut self) {
        let Ok(ports) = port_statuses(self.host, &self.switch) else { return };
        for status in &ports {
            if self.stands_still(status) && self.forced.is_none() {
                let name = status.name.clone();
                self.say(&format!("port {name}: frames wait at open gates and none leaves; gates are set anew"));
                self.reissue_soon(&name);
            }
        }
        if let Some(path) = &self.options.metrics {
            // What cannot be counted is left out.
            let streams = policing::counts(self.host, &self.switch, &self.plan).unwrap_or_default();
            let name = self.switch.name.clone();
            let status = Status { name, ports, streams, differences: self.differences.clone() };
            let text = metrics::text(&status, &self.tally);
            if let Err(error) = store::write_whole(path, text.as_bytes()) {
                self.say_once(format!("metrics cannot be written: {error}"));
            }
        }
    }

    fn stands_still(&mut self, status: &PortStatus) -> bool {
        let Some(port) = self.switch.ports.iter().find(|port| port.name == status.name) else { return false };
        let left: u64 = status.classes.iter().map(|class| class.packets).sum();
        let waits = status.classes.iter().any(|class| class.waiting > 0 && opens(port, class.queue));
        let now = Instant::now();
        let (before, since) = *self.progress.entry(status.name.clone()).or_insert((left, now));
        if before != left || !waits || status.link != LinkState::Up || port.gates.is_none() {
            self.progress.insert(status.name.clone(), (left, now));
            return false;
        }
        let cycle_ns = port.gates.as_ref().map_or(0, |gates| gates.cycle_ns);
        let long =
            now - since > COUNT.max(Duration::from_nanos(cycle_ns.saturating_mul(3))).max(shaper::longest_pause(port));
        if long {
            self.progress.insert(status.name.clone(), (left, now));
        }
        long
    }
}

fn opens(port: &Port, queue: u8) -> bool {
    port.gates.as_ref().is_none_or(|gates| !Schedule::new(0, &gates.entries).windows(usize::from(queue)).is_empty())
}

/// Undoes what was begun; what cannot be undone now is in the journal.
fn begin_anew<'a>(host: &impl Host, begun: impl Iterator<Item = &'a Undo>) {
    begun.for_each(|undo| drop(undo.carry_out(host)));
}

/// Does a step again whose work somebody has spoilt.
fn redo(host: &impl Host, step: &Step) -> Result<(), String> {
    let from_nothing = |expect: &Expect| {
        matches!(
            expect,
            Expect::Filters { .. }
                | Expect::Policed { .. }
                | Expect::NftTable { .. }
                | Expect::Chain { .. }
                | Expect::Groups { .. }
        )
    };
    if step.expects.iter().any(from_nothing) {
        step.undos.iter().rev().for_each(|undo| drop(undo.carry_out(host)));
    }
    let acts = step.acts.iter().filter(|act| !matches!(act, Act::AwaitLink { .. }));
    acts.into_iter().try_for_each(|act| host.act(act)).map_err(|refused| refused.to_string())
}

#[cfg(test)]
mod tests;
