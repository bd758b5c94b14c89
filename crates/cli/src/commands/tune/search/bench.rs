//! This machine as a bench: puts settings on, measures a block, puts all back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ontick_machine::apply::Outcome;
use ontick_machine::plan::State;
use ontick_machine::{Facts, Root, Target, TuningPlan, ValueFormat, apply};
use ontick_measure::search::{Attempt, Bench, Block, block_of};
use ontick_measure::timer::{self, Job};
use ontick_measure::{Length, Limits, Live, Observer, Placement};
use ontick_record::search::Skipped;

use super::asked::Asked;
use super::candidates::Candidate;
use super::watchdog::{GuardianFlags, Watchdog};
use crate::failure::Failure;
use crate::temporary_settings::TemporarySettings;

/// After a change of settings the machine has this long before a block begins.
const SETTLE: Duration = Duration::from_millis(50);

/// The machine, and what of it is changed now.
pub struct Machine<'a> {
    facts: Facts,
    target: Target,
    settings: TemporarySettings,
    watchdog: Watchdog,
    candidates: Vec<Candidate>,
    /// Knobs that are on.
    on: Vec<&'static str>,
    job: Job,
    placement: Placement,
    asked: Asked,
    stop: &'a AtomicBool,
}

impl<'a> Machine<'a> {
    /// Begins with the machine as it is; what has to be undone is written into the search's journal.
    pub fn new(
        target: Target,
        facts: Facts,
        asked: Asked,
        journal: &Path,
        stop: &'a AtomicBool,
    ) -> Result<Self, Failure> {
        let (job, placement) = asked.job()?;
        placement.check()?;
        let settings = TemporarySettings::begin_with(&GuardianFlags::of(asked.undo_after_ns, journal, false))?;
        let watchdog = Watchdog::new(asked.undo_after_ns);
        let (candidates, on) = (Vec::new(), Vec::new());
        Ok(Self { facts, target, settings, watchdog, candidates, on, job, placement, asked, stop })
    }

    fn plan(&self, knobs: &[&'static str]) -> Result<TuningPlan, Failure> {
        let only = knobs.iter().map(|knob| (*knob).to_owned()).collect();
        let target = Target { only, ..self.target.clone() };
        TuningPlan::make(&Root::live(), &self.facts, &target).map_err(Failure::new)
    }

    /// The settings that these candidates would change, as they are now: file and value.
    pub fn base(&self, candidates: &[Candidate]) -> Result<BTreeMap<String, String>, Failure> {
        let knobs: Vec<&'static str> = candidates.iter().filter_map(Candidate::knob).collect();
        // No knob at all would be all of the profile.
        let plan = if knobs.is_empty() { return Ok(BTreeMap::new()) } else { self.plan(&knobs)? };
        let items = plan.items.iter().filter(|item| item.state == State::Change);
        Ok(items.map(|item| (item.path.clone(), item.current.clone())).collect())
    }

    /// Tries each candidate once, without measuring: those that cannot be tried here, and why.
    pub fn try_out(&mut self, candidates: Vec<Candidate>) -> Result<(Vec<Candidate>, Vec<Skipped>), Failure> {
        let (mut tried, mut skipped) = (Vec::new(), Vec::new());
        for candidate in candidates {
            let why = match &candidate {
                Candidate::Knob(knob) => self.refused(knob)?,
                of_loop => self.same_as_base(of_loop),
            };
            match why {
                None => tried.push(candidate),
                Some(why) => skipped.push(Skipped { name: candidate.to_string(), why }),
            }
        }
        Ok((tried, skipped))
    }

    /// Why a candidate of the loop changes nothing, or cannot be.
    fn same_as_base(&self, candidate: &Candidate) -> Option<String> {
        let (mut job, mut placement) = (self.job, self.placement);
        candidate.put_into(&mut job, &mut placement);
        if (job, placement) == (self.job, self.placement) {
            return Some("the job is so already".into());
        }
        match candidate {
            Candidate::Phase(ns) if *ns >= self.asked.interval_ns => {
                Some("the phase must be shorter than the interval".into())
            }
            Candidate::Margin(_) => job.check_margin().err().map(|error| error.to_string()),
            Candidate::Duty(_) if !job.method.spins() => Some(format!("{} does not spin", job.method)),
            _ => placement.check().err().map(|error| error.to_string()),
        }
    }

    /// Why a knob cannot be tried; none if some of its files take the value.
    fn refused(&mut self, knob: &'static str) -> Result<Option<String>, Failure> {
        let plan = self.plan(&[knob])?;
        if plan.changes().next().is_none() {
            return Ok(Some(nothing_to_change(&plan)));
        }
        self.watchdog.try_out(self.settings.guardian(), true);
        let applied = apply(&Root::live(), &plan, self.settings.journal());
        let done = applied.changes.iter().filter(|change| change.outcome == Outcome::Done).count();
        let why = applied.changes.iter().find_map(|change| match &change.outcome {
            Outcome::Refused(why) => Some(format!("{}: {why}", change.path)),
            Outcome::Different(now) => Some(format!("{} was set to {}, but reads {now}", change.path, change.to)),
            Outcome::Done => None,
        });
        self.settings.put_back_now()?;
        let unusable = self.watchdog.try_out(self.settings.guardian(), false);
        match applied.stopped {
            Some(why) => Err(Failure::new(why)),
            None => Ok(unusable.or(why.filter(|_| done == 0))),
        }
    }

    /// The candidates that are measured from here on, by number.
    pub fn measure(&mut self, candidates: Vec<Candidate>, asked: Asked) -> Result<(), Failure> {
        (self.job, self.placement) = asked.job()?;
        (self.candidates, self.asked) = (candidates, asked);
        Ok(())
    }

    /// Settings of the machine as these candidates want them.
    fn switch(&mut self, on: &[usize]) -> Result<(), Failure> {
        let wanted: Vec<&'static str> = on.iter().filter_map(|n| self.candidates[*n].knob()).collect();
        if wanted == self.on {
            return Ok(());
        }
        if !self.on.is_empty() {
            self.settings.put_back_now()?;
            self.on.clear();
        }
        if !wanted.is_empty() {
            let plan = self.plan(&wanted)?;
            let applied = apply(&Root::live(), &plan, self.settings.journal());
            if let Some(why) = applied.stopped {
                return Err(Failure::new(why));
            }
            self.on = wanted;
        }
        std::thread::sleep(SETTLE);
        Ok(())
    }

    /// Tells the watchdog what is on from here on. Where it undid what was on before, the machine is put in order.
    fn announce(&mut self, on: &[usize]) -> Result<Option<Attempt>, Failure> {
        let undone = self.watchdog.announce(self.settings.guardian(), on);
        if undone.is_some() {
            self.settings.put_back_now()?;
            self.on.clear();
        }
        Ok(undone)
    }

    /// Puts everything back; fails if any setting is not as it was.
    pub fn restore(self) -> Result<(), Failure> {
        let Self { settings, asked, .. } = self;
        settings.restore()?;
        match differs(&asked.base) {
            None => Ok(()),
            Some((path, was, now)) => Err(Failure::new(format!("{path} was {was} before the search and is {now} now"))),
        }
    }
}

/// The first setting that is not as it was: its file, and the value then and now.
pub fn differs(base: &BTreeMap<String, String>) -> Option<(&str, &str, String)> {
    differs_in(&Root::live(), base)
}

fn differs_in<'a>(root: &Root, base: &'a BTreeMap<String, String>) -> Option<(&'a str, &'a str, String)> {
    base.iter().find_map(|(path, was)| {
        let now = root.text(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        // A choice shows all its values, the chosen one marked.
        let same = now == *was || ValueFormat::Choice.value(&now) == *was;
        (!same).then_some((path.as_str(), was.as_str(), now))
    })
}

fn nothing_to_change(plan: &TuningPlan) -> String {
    let reason = plan.items.iter().find_map(|item| match &item.state {
        State::Left(why) | State::Absent(why) | State::Unreadable(why) | State::Refused(why) => Some(why.clone()),
        State::NeedsIsolate => Some("it would affect other programs (ontick tune apply --isolate)".into()),
        State::AsWanted | State::Change => None,
    });
    match plan.items.iter().any(|item| item.state == State::AsWanted) {
        true => "it is set so already".into(),
        false => reason.unwrap_or_else(|| "there is nothing to change".into()),
    }
}

impl Bench for Machine<'_> {
    type Error = Failure;

    fn block(&mut self, on: &[usize]) -> Result<Attempt, Failure> {
        let began = Instant::now();
        // What is on is watched from before it is set until it is put back.
        if on.is_empty() {
            self.switch(on)?;
        }
        if let Some(undone) = self.announce(on)? {
            return Ok(undone);
        }
        self.switch(on)?;
        let (mut job, mut placement) = (self.job, self.placement);
        on.iter().for_each(|n| self.candidates[*n].put_into(&mut job, &mut placement));
        let limits = Limits::new(Length::Duration(self.asked.block_ns));
        let mut look = |_: &Live| {};
        let mut observer = Observer::new(self.stop, &mut look);
        let guardian = self.settings.guardian();
        let mut sign = || guardian.sign_of_life();
        observer.each_turn(&mut sign);
        let series = timer::measure("block", job, placement, limits, &mut observer)?;
        if observer.stopped() {
            return Ok(Attempt::Ended);
        }
        if let Some(undone) = self.announce(on)? {
            return Ok(undone);
        }
        let block = block_of(&series, self.asked.limit_ns, self.asked.block_ns, Asked::cpus_online());
        Ok(Attempt::Measured(Block { took_ns: began.elapsed().as_nanos() as u64, ..block }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_that_is_as_it_was_does_not_differ() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        // As sysfs and as the scheduler in debugfs mark the chosen one.
        let shown =
            [("pages", "always [madvise] never\n"), ("preempt", "(none) voluntary full lazy\n"), ("swap", "60\n")];
        shown.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        let base = |values: [&str; 3]| {
            let paths = ["/pages", "/preempt", "/swap"].map(String::from);
            paths.into_iter().zip(values.map(String::from)).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(differs_in(&root, &base(["madvise", "none", "60"])), None);
        for (values, path, now) in [
            (["never", "none", "60"], "/pages", "always [madvise] never"),
            (["madvise", "full", "60"], "/preempt", "(none) voluntary full lazy"),
            (["madvise", "none", "6"], "/swap", "60"),
        ] {
            let base = base(values);
            let (differs, _, shows) = differs_in(&root, &base).unwrap();
            assert_eq!((differs, shows.as_str()), (path, now));
        }
    }
}
