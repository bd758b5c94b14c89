//! What becomes of the set that was found: a profile, and the machine's settings.

use std::path::Path;

use ontick_machine::profile_file::ProfileFile;
use ontick_machine::{Facts, Journal, Root, Target, TuningPlan};
use ontick_record::search::{Search, Verdict};
use ontick_record::{date, store};
use ontick_units::exact;

use super::asked::Asked;
use super::candidates::Candidate;
use crate::commands::tune::Prepared;
use crate::commands::tune::apply::carry_out;
use crate::failure::Failure;

/// The knobs of a set, and what of it is of the loop.
fn parts(found: &Search) -> (Vec<String>, Vec<String>) {
    let is_knob = |name: &String| name.parse::<Candidate>().is_ok_and(|candidate| candidate.knob().is_some());
    found.set.iter().cloned().partition(is_knob)
}

/// What of the set is of the loop, and how it is measured again; none if nothing is.
fn loop_options(of_loop: &[String], found: &Search) -> Option<String> {
    let options: Vec<String> =
        of_loop.iter().filter_map(|name| name.parse::<Candidate>().ok().and_then(|c| c.option())).collect();
    let every = exact(found.interval_ns);
    (!options.is_empty())
        .then(|| format!("{} (ontick latency timer --interval {every} {})", of_loop.join(", "), options.join(" ")))
}

/// Writes the set as a profile, if there is a setting in it; what is to be said of it.
pub fn write_profile(path: &Path, asked: &Asked, found: &Search) -> Result<String, Failure> {
    let (knobs, rest) = parts(found);
    let (arguments, of_loop) = if asked.boots.is_some() { (rest, Vec::new()) } else { (Vec::new(), rest) };
    let file = path.display();
    if knobs.is_empty() && arguments.is_empty() {
        let of_loop = loop_options(&of_loop, found).map(|of| format!("Of the loop: {of}.\n")).unwrap_or_default();
        return Ok(format!("No setting of the machine was found that helps: {file} is not written.\n{of_loop}"));
    }
    let mut notes = vec![format!("Found by ontick tune search, {}.", date::now())];
    let (job, every, load) = (&found.job, exact(found.interval_ns), &found.load);
    notes.push(format!("Job: {job}, every {every}; load: {load}; seed {}.", found.seed));
    for effect in found.that(Verdict::Helps).filter(|effect| found.set.contains(&effect.name)) {
        let bound = effect.low.map_or(String::new(), |low| format!(", at least {low:+.3}"));
        let gain = effect.gain.unwrap_or_default();
        notes.push(format!("{}: {gain:+.3} ({}){bound}", effect.name, found.judged_by));
    }
    notes.extend(loop_options(&of_loop, found).map(|of| format!("Of the loop, which the program chooses: {of}.")));
    let cpus = asked.cpus.parse().ok();
    let text = ProfileFile { profile: asked.profile, cpus, knobs, arguments, set: Vec::new() }.text(&notes);
    store::write_whole(path, text.as_bytes())?;
    let boot = if asked.boots.is_some() { "--boot " } else { "" };
    Ok(format!("Apply the set: sudo ontick tune apply {boot}--profile {file}\n"))
}

/// Applies the knobs of the set, for good; what is to be said of it, and whether all were set.
pub fn apply(facts: Facts, target: &Target, found: &Search) -> Result<(String, bool), Failure> {
    let (knobs, of_loop) = parts(found);
    let of_loop = loop_options(&of_loop, found)
        .map(|of| format!("; of the loop, which the program chooses: {of}"))
        .unwrap_or_default();
    if knobs.is_empty() {
        let mut said = "no setting of the machine was found that helps: nothing is applied".to_owned();
        said += &of_loop;
        return Ok((said, true));
    }
    let root = Root::live();
    let target = Target { only: knobs.clone(), ..target.clone() };
    let plan = TuningPlan::make(&root, &facts, &target).map_err(Failure::new)?;
    let mut journal = Journal::open(&root)?;
    let done = carry_out(Prepared { root, facts, target, plan, boot: None }, &mut journal);
    journal.close();
    let done = done?;
    if let Some(why) = done.stopped() {
        return Err(Failure::new(why));
    }
    let mut said = format!("applied: {} (sudo ontick tune revert restores what was there before)", knobs.join(", "));
    if !done.complete() {
        said += "; not all of it could be set: see ontick tune status";
    }
    said += &of_loop;
    Ok((said, done.complete()))
}
