//! Keeps a switch in the kernel true: software taprio stands still for ever after a link event, other tools change what
//! is not theirs, ports go and come back, clocks are set.

mod count;
mod events;
mod put_back;
mod reissue;
mod rejoin;
mod time;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::apply::{Difference, Host, Journal, Lock, Plan, SwitchDir};
use crate::link::Watch;
use ontick_tsn::config;
use ontick_tsn::model::{GateOverride, Switch};

use super::clock::Steps;
use super::tally::Tally;

/// How often everything is compared, for what no event tells of (nft, sysctl).
const LOOK: Duration = Duration::from_secs(2);
/// How often counters are read.
const COUNT: Duration = Duration::from_secs(1);
/// The clock and the wish to stop are looked at so often.
const TURN: Duration = Duration::from_millis(100);

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
}

#[cfg(test)]
mod tests;
