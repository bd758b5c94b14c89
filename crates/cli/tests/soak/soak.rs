//! Starts all commands, does to them what the plan says, and judges.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::faults::{disk::Full, freeze::Frozen, load::Busy, memory::Taken, one_cpu::Confined};
use crate::journal::Journal;
use crate::oracle::leftovers;
use crate::participants::{Link, Participant, Sampling, Switching, Timer, Watching};
use crate::plan::{Fault, Pace, Plan, Step, TARGETS, Target};
use crate::site::Site;
use crate::table::{Life, Result};
use crate::usage::Usage;

const LOOKED_EVERY: Duration = Duration::from_millis(50);

pub struct Soak {
    site: Rc<Site>,
    timer: Timer,
    sample: Sampling,
    link: Link,
    switch: Switching,
    watch: Watching,
    journal: Journal,
    /// How often descriptors and memory are looked at.
    observed_every: Duration,
    observed_last: Instant,
    usages: BTreeMap<(&'static str, u32), Life>,
}

impl Soak {
    /// Nothing where this machine does not allow it, which is said.
    pub fn begin(journal: &Path, seed: u64, observed_every: Duration) -> Option<Self> {
        if !["setpriv", "nsenter", "nice", "ip", "tc"].into_iter().all(crate::has) {
            return None;
        }
        let site = Rc::new(Site::new()?);
        let switch = Switching::new(&site)?;
        let mut soak = Self {
            timer: Timer::new(&site),
            sample: Sampling::new(&site),
            link: Link::new(&site),
            switch,
            watch: Watching::new(&site),
            site,
            journal: Journal::begin(journal, seed),
            observed_every,
            observed_last: Instant::now(),
            usages: BTreeMap::new(),
        };
        soak.journal
            .note("CPUs stay online, as others' threads would be moved for good; threads are confined to one instead");
        soak.journal.note("the clock is not stepped, as it is the whole machine's");
        Some(soak)
    }

    /// Goes on for so long, and for one round at least.
    pub fn run(mut self, seed: u64, pace: Pace, lasts: Duration) -> Result {
        let before = leftovers::settings();
        self.site.mount_disk();
        for target in TARGETS {
            self.of(target).start();
        }
        let (began, mut plan) = (Instant::now(), Plan::new(seed, pace));
        let mut rounds = 0;
        while rounds == 0 || began.elapsed() < lasts {
            let step = plan.next_step();
            self.step(step);
            rounds += u64::from(plan.is_round_over());
        }
        self.end(&before)
    }

    fn step(&mut self, step: Step) {
        let lasts = if step.fault.lasts() { format!(" for {} ms", step.lasts.as_millis()) } else { String::new() };
        self.journal.fault(&format!("{:?}{lasts}", step.fault));
        let findings = self.inflict(step);
        self.journal.found(findings);
        self.go_on(step.rest);
        if matches!(step.fault, Fault::Cable(_) | Fault::Gates | Fault::Freeze(Target::Switch)) {
            let findings = self.switch.settle();
            self.journal.found(findings);
        }
    }

    fn inflict(&mut self, Step { fault, lasts, .. }: Step) -> Vec<String> {
        match fault {
            Fault::Kill(target) => {
                self.look();
                let mut findings = self.of(target).kill();
                if self.pids(target).is_empty() {
                    self.of(target).start();
                }
                findings.extend(self.of(target).check());
                return findings;
            }
            Fault::Freeze(target) => {
                let frozen = Frozen::stop(&self.pids(target));
                // Nobody asks a frozen command.
                std::thread::sleep(lasts);
                drop(frozen);
            }
            Fault::OneCpu(target) => {
                let confined = Confined::confine(&self.pids(target));
                self.go_on(lasts);
                drop(confined);
            }
            Fault::HangingClient => {
                self.sample.hang(true);
                self.go_on(lasts);
                self.sample.hang(false);
            }
            Fault::ResetClient => return self.sample.reset(),
            Fault::FullDisk => {
                self.watch.disk_was_full = true;
                let full = Full::fill(&self.site.disk());
                self.go_on(lasts);
                drop(full);
            }
            Fault::Cable(n) => {
                self.switch.cable(n, false);
                self.go_on(lasts);
                self.switch.cable(n, true);
            }
            Fault::Wire => {
                self.link.wire(false);
                self.go_on(lasts);
                self.link.wire(true);
            }
            Fault::Gates => return self.switch.change_gates(),
            Fault::Memory => {
                let taken = Taken::take();
                self.go_on(lasts);
                drop(taken);
            }
            Fault::Load => {
                let busy = Busy::begin();
                self.go_on(lasts);
                drop(busy);
            }
        }
        Vec::new()
    }

    /// Looks at everything for so long.
    fn go_on(&mut self, lasts: Duration) {
        let began = Instant::now();
        loop {
            self.look();
            if began.elapsed() >= lasts {
                return;
            }
            std::thread::sleep(LOOKED_EVERY.min(lasts));
        }
    }

    fn look(&mut self) {
        for target in TARGETS {
            let findings = self.of(target).check();
            let has_ended = findings.iter().any(|finding| finding.contains("ended by itself"));
            self.journal.found(findings);
            if has_ended {
                let findings = self.of(target).kill();
                self.journal.found(findings);
                if self.pids(target).is_empty() {
                    self.of(target).start();
                }
            }
        }
        if self.observed_last.elapsed() >= self.observed_every {
            self.observed_last = Instant::now();
            self.observe();
        }
    }

    fn observe(&mut self) {
        let at = self.journal.seconds();
        let running = TARGETS.map(|target| self.of(target).processes()).concat();
        for (name, pid) in running {
            let life =
                self.usages.entry((name, pid)).or_insert_with(|| Life { began: at, pid, usage: Usage::default() });
            life.usage.observe(pid);
        }
    }

    fn end(mut self, before: &str) -> Result {
        self.look();
        for target in TARGETS {
            let findings = self.of(target).end();
            self.journal.found(findings);
        }
        let findings = self.usages.iter().flat_map(|((name, pid), life)| life.usage.findings(name, *pid));
        let findings: Vec<String> = findings.collect();
        self.journal.found(findings);
        let counts = TARGETS.map(|target| (self.of(target).name(), self.of(target).count())).into();
        let Self { site, link, mut journal, usages, .. } = self;
        let chip = link.chip().to_owned();
        drop(link);
        site.unmount_disk();
        // Guardians end soon after what they guard.
        let until = Instant::now() + crate::participants::PATIENCE;
        let left = loop {
            let processes = leftovers::processes(&site.mark);
            let left = [processes, leftovers::files(&site.temporary(), &chip)].concat();
            if left.is_empty() || Instant::now() > until {
                break left;
            }
            std::thread::sleep(LOOKED_EVERY);
        };
        journal.found(left.into_iter().map(|what| format!("left behind: {what}")).collect());
        let after = leftovers::settings();
        if after != before {
            journal.found(vec![format!("mounts and settings are not as before: {before} then, {after} now")]);
        }
        let lives = usages.into_iter().map(|((name, _), life)| (name, life)).collect();
        journal.note("the end");
        Result { seconds: journal.seconds(), faults: journal.faults, findings: journal.findings, counts, lives }
    }

    fn pids(&mut self, target: Target) -> Vec<u32> {
        self.of(target).processes().into_iter().map(|(_, pid)| pid).collect()
    }

    fn of(&mut self, target: Target) -> &mut dyn Participant {
        match target {
            Target::Timer => &mut self.timer,
            Target::Sample => &mut self.sample,
            Target::Link => &mut self.link,
            Target::Switch => &mut self.switch,
            Target::Watch => &mut self.watch,
        }
    }
}
