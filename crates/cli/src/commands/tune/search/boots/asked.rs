//! A search by restarts from its options, and the race that it runs.

use ontick_measure::search::{BOOT, BootStep, Candidate, Plan, fewest_boots};

use crate::commands::tune::search::Search;
use crate::commands::tune::search::asked::{Asked, ERROR};
use crate::commands::tune::search::asked_boots::AskedBoots;
use crate::failure::Failure;

/// Blocks in a boot, and the time since its start after which they begin, where nothing else is asked for.
const BLOCKS: u64 = 20;
const SETTLE_NS: u64 = 30_000_000_000;
/// Arguments are numbers in a set of so many.
const MOST_CANDIDATES: usize = 64;

/// As the options have it, for a kernel and the command line of its usual boot.
pub fn asked_boots(flags: &Search, release: &str, usual: &str, arguments: Vec<String>) -> Result<AskedBoots, Failure> {
    let (blocks, fewest) = (flags.blocks.unwrap_or(BLOCKS), fewest_boots(ERROR, arguments.len()));
    let most = flags.boots.unwrap_or(2 * fewest);
    if arguments.len() > MOST_CANDIDATES {
        return Err(Failure::new(format!("a search by restarts takes {MOST_CANDIDATES} candidates at most")));
    }
    check_boots(most, arguments.len())?;
    Ok(AskedBoots {
        most,
        blocks,
        settle_ns: flags.settle.unwrap_or(SETTLE_NS),
        release: release.into(),
        usual: usual.into(),
        arguments,
    })
}

/// Refuses a number of boots by which no effect could be shown.
pub fn check_boots(most: u64, candidates: usize) -> Result<(), Failure> {
    let fewest = fewest_boots(ERROR, candidates);
    match most < fewest {
        true => Err(Failure::new(format!(
            "--boots {most} cannot show an effect of any size: {} at least {fewest} boots (name fewer candidates, or allow more boots)",
            if candidates == 1 { "1 candidate needs".into() } else { format!("{candidates} candidates need") }
        ))),
        false => Ok(()),
    }
}

pub fn is_measured(step: &BootStep) -> bool {
    matches!(step, BootStep::Measured(_))
}

impl Asked {
    /// The race of a search by restarts; its costs are in boots.
    pub fn plan_of_boots(&self, boots: &AskedBoots) -> Plan {
        let candidate = |name: &String| Candidate { name: name.clone(), combines: true };
        let plan = self.plan_of(self.candidates.iter().map(candidate).collect());
        Plan { most: boots.most.saturating_mul(BOOT), each: 2 * BOOT, ..plan }
    }

    /// What it was asked for as a search by restarts.
    pub fn of_boots(&self) -> Result<&AskedBoots, Failure> {
        self.boots.as_ref().ok_or_else(|| Failure::new("the journal is of a search without restarts"))
    }
}
