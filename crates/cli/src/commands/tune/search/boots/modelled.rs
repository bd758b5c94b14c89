//! A search by restarts on a modelled machine, in virtual time: what one of this length finds.

use ontick_machine::Profile;
use ontick_measure::search::model::Boots;
use ontick_measure::search::{Rounds, replay};
use ontick_units::CpuList;

use super::asked::asked_boots;
use super::result;
use super::session::effects;
use crate::commands::tune::search::Search;
use crate::commands::tune::search::asked::Asked;
use crate::commands::tune::search::candidates::Candidate;
use crate::failure::{Failure, Outcome};

pub fn search(flags: &Search) -> Result<Outcome, Failure> {
    if let Some(other) = flags.candidates.iter().find(|word| !is_modelled(word)) {
        return Err(Failure::new(format!(
            "{other} is no candidate of a modelled machine that restarts: write sim:NAME=POINTS, and name no others"
        )));
    }
    if flags.out.is_some() || flags.restart {
        return Err(Failure::new(
            "candidates of a modelled machine are no settings of this machine: leave out --out and --restart",
        ));
    }
    let mut asked = Asked::of(flags, flags.candidates.clone(), Profile::DedicatedCore, 0, &CpuList::one(0))?;
    let boots = asked_boots(flags, "", "", flags.candidates.clone())?;
    let mut rounds: Rounds = replay(asked.plan_of_boots(&boots), &[]).rounds;
    let mut machine = Boots::new(effects(&asked)?, asked.seed);
    while let Some(arm) = rounds.next() {
        rounds.add(machine.boot(&arm, boots.blocks));
    }
    asked.boots = Some(boots);
    result::of(flags, &asked, &rounds, true)
}

fn is_modelled(word: &str) -> bool {
    matches!(word.parse(), Ok(Candidate::Simulated(..)))
}
