//! A search from its options to its result.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use ontick_machine::{Facts, Profile, Root, Target};
use ontick_measure::search::{self, Bench, Done, Kept, Race, SearchJournal, SearchJournalError, Unusable};
use ontick_measure::{document, timer};
use ontick_record::{Measurement as Kind, Run, date};
use ontick_rt::phase;
use ontick_units::CpuList;
use serde::de::IgnoredAny;

use super::asked::Asked;
use super::bench::{Machine, differs};
use super::candidates::{Candidate, expand};
use super::modelled::Modelled;
use super::{Search, found};
use crate::commands::measuring::announce_time;
use crate::failure::{Failure, Outcome};
use crate::flags::{OutputFlags, needs_root};
use crate::launch::sudo_user;
use crate::{stop, temporary_settings, terminal};

const SIMULATED: &str = "a modelled machine with candidates of known effect, in virtual time";

/// Searches, or goes on with a search, and delivers what was found.
pub fn search(flags: &Search) -> Result<Outcome, Failure> {
    let output = output_of(flags);
    output.check()?;
    if let Some(path) = &flags.out {
        ontick_record::store::check_writable(path)?;
    }
    let stop = stop::on_signal()?;
    let began = Instant::now();
    let mut prepared = Prepared::of(flags, &stop)?;
    let mut race = Race::new(prepared.asked.plan(&prepared.candidates));
    for done in std::mem::take(&mut prepared.done) {
        race.add(done);
    }
    std::mem::take(&mut prepared.unusable)
        .into_iter()
        .for_each(|unusable| race.exclude(unusable.on.clone(), unusable.why()));
    let ended = measure(&mut prepared, &mut race, &flags.journal, &stop);
    // Whatever became of it, the machine is put back first.
    let restored = match prepared.machine.take() {
        Some(machine) => machine.restore(),
        None => Ok(()),
    };
    let is_restored = restored.is_ok();
    let failure = ended.and(restored).err();
    if race.quartets() == 0 {
        if is_restored && !flags.goes_on {
            remove_empty(&flags.journal);
        }
        return Err(failure.unwrap_or_else(|| Failure::new("the search was ended before anything was measured")));
    }
    let mut run = record(&prepared, &race, began);
    run.interrupted = stop.load(Relaxed);
    let found = run.search.clone().unwrap_or_else(|| race.result());
    let is_simulated = run.simulated.is_some();
    let mut words = String::new();
    if let Some(path) = &flags.out {
        words = found::write_profile(path, &prepared.asked, &found)?;
    }
    let mut all_set = true;
    if let (true, Some((facts, target)), None) = (flags.apply, prepared.here.take(), &failure) {
        let (said, set) = found::apply(facts, &target, &found)?;
        all_set = set;
        run.facts.push(said);
    }
    let delivered = output.deliver(&run)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !flags.json {
        terminal::print(&(words + &last_words(flags, &found, is_simulated, run.interrupted)))?;
    }
    Ok(if all_set { delivered } else { Outcome::NotMet })
}

/// What becomes of a result.
pub fn output_of(flags: &Search) -> OutputFlags {
    OutputFlags {
        json: flags.json,
        record: flags.record.clone(),
        html: flags.html.clone(),
        pictures: flags.pictures.clone(),
        junit: None,
        require: Vec::new(),
        quiet: false,
        tail: None,
    }
}

/// Puts back what a killed search left, and removes its journal.
pub fn give_up(journal: &Path) -> Result<Outcome, Failure> {
    let kept = SearchJournal::read::<Asked>(journal, sudo_user())?;
    let is_simulated = kept.search.candidates()?.iter().any(Candidate::is_simulated);
    if !is_simulated {
        needs_root(&Root::live(), "tune search --give-up")?;
        temporary_settings::put_back_abandoned()?;
    }
    std::fs::remove_file(journal).map_err(|e| Failure::new(format!("{}: {e}", journal.display())))?;
    let settings = match differs(&kept.search.base) {
        None => "The machine's settings are as they were before it.".into(),
        Some((path, was, now)) => format!("{path} was {was} before it and is {now} now; ontick did not set that."),
    };
    let measured = kept.done.len();
    let quartets = if measured == 1 { "1 quartet".into() } else { format!("{measured} quartets") };
    let settings = if is_simulated { String::new() } else { format!(" {settings}") };
    terminal::print(&format!("The search is given up, with its {quartets}.{settings}\n"))?;
    Ok(Outcome::Met)
}

/// A search that can begin.
struct Prepared<'a> {
    asked: Asked,
    candidates: Vec<Candidate>,
    /// What was measured before.
    done: Vec<Done>,
    unusable: Vec<Unusable>,
    journal: SearchJournal,
    /// This machine; none of a modelled one.
    machine: Option<Machine<'a>>,
    here: Option<(Facts, Target)>,
}

impl<'a> Prepared<'a> {
    fn of(flags: &Search, stop: &'a AtomicBool) -> Result<Self, Failure> {
        if flags.goes_on { Self::again(flags, stop) } else { Self::new(flags, stop) }
    }

    fn new(flags: &Search, stop: &'a AtomicBool) -> Result<Self, Failure> {
        let simulated = flags.candidates.iter().any(|word| word.starts_with("sim:"));
        check_journal(&flags.journal)?;
        if simulated {
            if flags.out.is_some() || flags.apply {
                return Err(Failure::new(
                    "candidates of a modelled machine are no settings of this machine: leave out --out and --apply",
                ));
            }
            let (asked, candidates) = asked_for(flags, Profile::DedicatedCore, 0, &CpuList::one(0))?;
            let journal = begin_journal(&flags.journal, &asked)?;
            return Ok(Self::first(asked, candidates, journal, None, None));
        }
        let root = Root::live();
        let facts = Facts::gather(&root);
        let target = flags.target.named(&root, &facts)?;
        let cpu = flags.target.measured(&root, &target);
        let (mut asked, candidates) = asked_for(flags, target.profile, cpu, &target.cpus)?;
        needs_root(&root, "tune search")?;
        asked.load()?.check()?;
        temporary_settings::put_back_abandoned()?;
        let mut machine = Machine::new(target.clone(), facts.clone(), asked.clone(), &flags.journal, stop)?;
        asked.base = machine.base(&candidates)?;
        let (candidates, skipped) = machine.try_out(candidates)?;
        if candidates.is_empty() {
            let why: Vec<String> = skipped.iter().map(|of| format!("{}: {}", of.name, of.why)).collect();
            return Err(Failure::new(format!("nothing can be tried here ({})", why.join("; "))));
        }
        asked.candidates = candidates.iter().map(ToString::to_string).collect();
        asked.skipped = skipped;
        let (job, placement) = asked.job()?;
        if job.interval_ns <= phase::LONGEST_SCANNED_NS {
            asked.phase_ns = Some(timer::find_phase(job.interval_ns, placement)?);
        }
        machine.measure(candidates.clone(), asked.clone())?;
        let journal = begin_journal(&flags.journal, &asked)?;
        Ok(Self::first(asked, candidates, journal, Some(machine), Some((facts, target))))
    }

    /// Of a search that begins.
    fn first(
        asked: Asked,
        candidates: Vec<Candidate>,
        journal: SearchJournal,
        machine: Option<Machine<'a>>,
        here: Option<(Facts, Target)>,
    ) -> Self {
        Self { asked, candidates, done: Vec::new(), unusable: Vec::new(), journal, machine, here }
    }

    fn again(flags: &Search, stop: &'a AtomicBool) -> Result<Self, Failure> {
        let kept = SearchJournal::read::<Asked>(&flags.journal, sudo_user())?;
        let mut asked = kept.search;
        asked.time_ns = flags.time.unwrap_or(asked.time_ns);
        asked.check_time()?;
        let candidates = asked.candidates()?;
        let (done, unusable) = (kept.done, kept.unusable);
        if candidates.iter().any(Candidate::is_simulated) {
            let journal = SearchJournal::resume::<Asked>(&flags.journal, sudo_user())?;
            return Ok(Self { asked, candidates, done, unusable, journal, machine: None, here: None });
        }
        needs_root(&Root::live(), "tune search --continue")?;
        temporary_settings::put_back_abandoned()?;
        if let Some((path, was, now)) = differs(&asked.base) {
            return Err(Failure::new(format!(
                "the machine is not as the search began: {path} was {was} and is {now} (set it so again, or give the search up: --give-up)"
            )));
        }
        let root = Root::live();
        let facts = Facts::gather(&root);
        let cpus: CpuList = asked.cpus.parse().map_err(Failure::new)?;
        let target = crate::flags::target(&root, &facts, Some(cpus), asked.profile)?;
        let mut machine = Machine::new(target.clone(), facts.clone(), asked.clone(), &flags.journal, stop)?;
        machine.measure(candidates.clone(), asked.clone())?;
        let journal = SearchJournal::resume::<Asked>(&flags.journal, sudo_user())?;
        let (machine, here) = (Some(machine), Some((facts, target)));
        Ok(Self { asked, candidates, done, unusable, journal, machine, here })
    }
}

fn asked_for(flags: &Search, profile: Profile, cpu: u32, cpus: &CpuList) -> Result<(Asked, Vec<Candidate>), Failure> {
    let candidates = expand(&flags.candidates, profile, flags.method, cpu)?;
    let names = candidates.iter().map(ToString::to_string).collect();
    Ok((Asked::of(flags, names, profile, cpu, cpus)?, candidates))
}

/// A journal of a search that did not end must not be lost.
fn check_journal(path: &Path) -> Result<(), Failure> {
    match SearchJournal::read::<Asked>(path, sudo_user()) {
        Err(SearchJournalError::None(_)) => Ok(()),
        Ok(kept) if kept.ended => Ok(()),
        Ok(kept) => Err(Failure::new(format!(
            "{} holds a search that did not end, with {} quartets: go on with it (--continue), give it up (--give-up), or name another (--journal FILE)",
            path.display(),
            kept.done.len()
        ))),
        Err(error) => Err(error.into()),
    }
}

pub fn begin_journal(path: &Path, asked: &Asked) -> Result<SearchJournal, Failure> {
    if path.exists() {
        std::fs::remove_file(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    }
    Ok(SearchJournal::create(path, asked)?)
}

/// Removes the journal of a search in which nothing was learnt: there is nothing to go on with.
fn remove_empty(path: &Path) {
    let is_empty = |kept: Kept<IgnoredAny>| kept.done.is_empty() && kept.unusable.is_empty();
    if SearchJournal::read(path, sudo_user()).is_ok_and(is_empty) {
        // One that stays is named by the next search.
        let _ = std::fs::remove_file(path);
    }
}

fn measure(prepared: &mut Prepared, race: &mut Race, path: &Path, stop: &AtomicBool) -> Result<(), Failure> {
    let Prepared { asked, candidates, journal, machine, .. } = prepared;
    match machine {
        Some(machine) => {
            announce_time(race.plan().most.saturating_sub(race.spent()));
            let _beside = asked.load()?.start()?;
            race_with(race, machine, journal, stop)
        }
        None => {
            let mut modelled = Modelled::new(asked, candidates, race.quartets(), path, stop)?;
            race_with(race, &mut modelled, journal, stop)
        }
    }
}

fn race_with<B: Bench<Error = Failure>>(
    race: &mut Race,
    bench: &mut B,
    journal: &mut SearchJournal,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let can_rewrite = terminal::can_rewrite();
    let raced = search::run(race, bench, |done, race| {
        journal.add(done)?;
        if can_rewrite {
            terminal::rewrite(&progress(race));
        }
        Ok(())
    });
    if can_rewrite {
        terminal::clear_line();
    }
    if raced.is_ok() && !stop.load(Relaxed) {
        journal.end()?;
    }
    raced
}

fn progress(race: &Race) -> String {
    let (all, settled) = race.settled();
    let done = race.spent() as f64 / race.plan().most.max(1) as f64;
    let of = race.next().map_or(String::new(), |next| {
        let names = next.comparison.trial.iter().map(|n| race.plan().candidates[*n].name.as_str());
        format!("  {}", names.collect::<Vec<_>>().join(" + "))
    });
    format!("{:3.0}%  {settled} of {all} settled  {} quartets{of}", done * 100.0, race.quartets())
}

fn record(prepared: &Prepared, race: &Race, began: Instant) -> Run {
    let asked = &prepared.asked;
    let simulated = prepared.here.is_none();
    let mut run = match simulated {
        true => Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Kind::TuneSearch),
        false => document::begin(Kind::TuneSearch, Vec::new(), Some(asked.cpu)),
    };
    run.started = date::now();
    run.simulated = simulated.then(|| SIMULATED.into());
    run.duration_ns = if simulated { race.spent() } else { began.elapsed().as_nanos() as u64 };
    let mut found = race.result();
    asked.describe(&mut found, simulated);
    if !simulated {
        run.facts.push("kernel arguments were not searched: they need restarts (ontick tune search --boot)".into());
    }
    let aside = found.set_aside as f64 / found.quartets.max(1) as f64;
    if aside > 0.5 {
        run.notes.push(format!(
            "the hypervisor disturbed {:.0} % of the quartets, which count for no side: --steal raises the limit",
            aside * 100.0
        ));
    }
    run.search = Some(found);
    run
}

fn last_words(flags: &Search, found: &ontick_record::Search, is_simulated: bool, interrupted: bool) -> String {
    let mut text = String::new();
    if !is_simulated && !flags.apply {
        text += "The machine's settings are as they were before.\n";
    }
    let journal = match flags.journal.to_str() {
        Some("ontick-search.journal") => String::new(),
        _ => format!(" --journal {}", flags.journal.display()),
    };
    if interrupted {
        text += &format!("Go on with it: ontick tune search --continue{journal}\n");
    } else if let Some(more_ns) = found.wants_ns() {
        let minutes = found.time_ns.saturating_add(more_ns).div_ceil(60_000_000_000);
        text += &format!("With more time: ontick tune search --continue{journal} --time {minutes}min\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_stays_where_something_was_learnt() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = SearchJournal::create(&path, 7).unwrap();
        journal.add_unusable(&Unusable { on: vec![0], undone_after_ns: 1_000_000_000 }).unwrap();
        remove_empty(&path);
        assert!(path.exists());
        std::fs::remove_file(&path).unwrap();
        drop(SearchJournal::create(&path, 7).unwrap());
        remove_empty(&path);
        assert!(!path.exists());
    }
}
