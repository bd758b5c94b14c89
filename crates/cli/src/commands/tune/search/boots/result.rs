//! What a search by restarts found.

use ontick_machine::Root;
use ontick_measure::document;
use ontick_measure::search::{BOOT, Kept, Rounds, SearchJournal, replay};
use ontick_record::search::{self as record, Effect};
use ontick_record::{Measurement as Kind, Run, date};

use super::machine;
use crate::commands::tune::search::asked::Asked;
use crate::commands::tune::search::searching::output_of;
use crate::commands::tune::search::{Search, found};
use crate::failure::{Failure, Outcome};
use crate::terminal;

const SIMULATED: &str = "a modelled machine that restarts, with candidates of known effect, in virtual time";

/// Shows what the journal holds, and changes nothing.
pub fn show(flags: &Search, root: &Root) -> Result<Outcome, Failure> {
    let kept = SearchJournal::read::<Asked>(&machine::journal_path(root)?, None)?;
    deliver(flags, root, &kept)
}

/// Delivers what a journal holds.
pub fn deliver(flags: &Search, root: &Root, kept: &Kept<Asked>) -> Result<Outcome, Failure> {
    let asked = &kept.search;
    let rounds = replay(asked.plan_of_boots(asked.of_boots()?), &kept.boots).rounds;
    if rounds.boots() == 0 {
        return Err(Failure::new("no boot of the search is measured yet"));
    }
    of(flags, asked, &rounds, !root.is_live())
}

/// Delivers what was measured.
pub fn of(flags: &Search, asked: &Asked, rounds: &Rounds, simulated: bool) -> Result<Outcome, Failure> {
    let output = output_of(flags);
    output.check()?;
    let mut run = match simulated {
        true => Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Kind::TuneSearch),
        false => document::begin(Kind::TuneSearch, Vec::new(), Some(asked.cpu)),
    };
    run.started = date::now();
    run.simulated = simulated.then(|| SIMULATED.into());
    run.duration_ns = rounds.spent_ns();
    let found = found_in(asked, rounds, simulated)?;
    if !simulated {
        run.facts.push("the machine's line is of the boot in which this was written".into());
    }
    let mut words = String::new();
    if let Some(path) = &flags.out {
        words = found::write_profile(path, asked, &found)?;
    }
    let more = found.wants_boots().map(|more| rounds.boots() + more);
    run.search = Some(found);
    let outcome = output.deliver(&run)?;
    if !flags.json {
        if let Some(boots) = more.filter(|_| !simulated || flags.goes_on || flags.status) {
            let command = machine::command(&flags.root, &format!("--continue --boots {boots}"));
            words += &format!("With more boots: {command}\n");
        }
        terminal::print(&words)?;
    }
    Ok(outcome)
}

fn found_in(asked: &Asked, rounds: &Rounds, simulated: bool) -> Result<record::Search, Failure> {
    let boots = asked.of_boots()?;
    let mut found = rounds.race().result();
    let each_ns = rounds.spent_ns() / rounds.boots().max(1);
    // The race counts in boots.
    let in_time =
        |effect: &mut Effect| effect.wants_ns = effect.wants_ns.map(|cost| cost.saturating_mul(each_ns) / BOOT);
    found.effects.iter_mut().chain(&mut found.together).chain(&mut found.members).for_each(in_time);
    found.boots = Some(record::Boots {
        measured: rounds.boots(),
        most: rounds.most(),
        rounds: rounds.rounds(),
        blocks: boots.blocks,
        settle_ns: boots.settle_ns,
    });
    found.spent_ns = rounds.spent_ns();
    found.time_ns = rounds.most().saturating_mul(each_ns);
    asked.describe(&mut found, simulated);
    Ok(found)
}
