//! The watchdog of a search: undoes what makes the machine unusable, so that the search gets no turn any more.
//!
//! It is the search's guardian, which runs with the highest real-time priority and hears signs of life. It undoes all
//! settings first, then writes into the search's journal what they were set for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ontick_machine::{Journal, Root, undo_for_holder};
use ontick_measure::search::{Attempt, SearchJournal, Unusable};
use ontick_rt::thread::{Policy, Setup};
use ontick_undo::guardian::{self, Guardian, Silence, Word};
use ontick_units::exact;

use super::asked::Asked;
use crate::failure::{Failure, Outcome};
use crate::launch::sudo_user;
use crate::{flags, temporary_settings, terminal};

/// The shortest time without a sign of life that means anything: they come every 200 ms.
const SHORTEST_NS: u64 = 1_000_000_000;
/// What is announced while candidates are tried that have no numbers yet.
pub const TRIED: &str = "tried";

/// The value of `--undo-after`, in ns.
pub fn undo_after(text: &str) -> Result<u64, String> {
    match flags::time(text)? {
        SHORTEST_NS.. => flags::time(text),
        _ => Err(format!("{} at least", exact(SHORTEST_NS))),
    }
}

/// What the guardian of a search is started with.
#[derive(Args)]
pub struct GuardianFlags {
    /// Undoes the settings if no sign of life comes for so long
    #[arg(long, hide = true, requires = "when_killed", requires = "search_journal")]
    silent_for_ns: Option<u64>,
    /// Writes into this journal what was undone
    #[arg(long, hide = true)]
    search_journal: Option<PathBuf>,
    /// There are no settings
    #[arg(long, hide = true)]
    modelled: bool,
}

impl GuardianFlags {
    /// As the guardian of a search is given them.
    pub fn of(undo_after_ns: u64, journal: &Path, modelled: bool) -> Vec<OsString> {
        let mut path = OsString::from("--search-journal=");
        path.push(journal);
        let modelled = modelled.then(|| "--modelled".into());
        [format!("--silent-for-ns={undo_after_ns}").into(), path].into_iter().chain(modelled).collect()
    }

    /// Guards a search; none where another command is guarded.
    pub fn guard(&self) -> Option<Result<Outcome, Failure>> {
        let (Some(silent_ns), Some(journal)) = (self.silent_for_ns, &self.search_journal) else { return None };
        // What is refused leaves a watchdog that may come late.
        let _setup = Setup::new().lock_memory().policy(Policy::Fifo(99)).best_effort();
        let word = guardian::watch(Duration::from_nanos(silent_ns), |announced, silence| {
            if !self.modelled {
                undo_settings();
            }
            if silence == Silence::NoTurn {
                add_to(journal, announced, silent_ns);
            }
        });
        Some(match word {
            Word::Settled => Ok(Outcome::Met),
            _ if self.modelled => Ok(Outcome::Met),
            _ => temporary_settings::put_back_of_killed(),
        })
    }
}

/// The search holds the journal of `tune`, and puts it in order when it gets its turn again.
fn undo_settings() {
    let root = Root::live();
    if let Ok(journal) = Journal::read(&root) {
        undo_for_holder(&root, &journal);
    }
}

/// What cannot be written is known to the search alone, if it gets its turn again.
fn add_to(journal: &Path, announced: &str, undone_after_ns: u64) {
    let Ok(on) = announced.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>() else { return };
    if SearchJournal::read::<Asked>(journal, sudo_user()).is_ok() {
        let _ = SearchJournal::resume::<Asked>(journal, sudo_user())
            .and_then(|mut journal| journal.add_unusable(&Unusable { on, undone_after_ns }));
    }
}

/// What the guardian of a search knows of it.
pub struct Watchdog {
    undo_after_ns: u64,
    /// The candidates that were announced last.
    on: Vec<usize>,
    /// The guardian was killed.
    gone: bool,
}

impl Watchdog {
    pub fn new(undo_after_ns: u64) -> Self {
        Self { undo_after_ns, on: Vec::new(), gone: false }
    }

    /// Announces that a candidate is tried, or that none is any more; why it cannot be used, where it was undone.
    pub fn try_out(&mut self, guardian: &mut Guardian, begins: bool) -> Option<String> {
        let silence = self.tell(guardian, if begins { TRIED } else { "" });
        (silence? == Silence::NoTurn).then(|| format!("unusable: undone after {}", exact(self.undo_after_ns)))
    }

    /// Announces the candidates that are on; what became of those before, where they were undone.
    pub fn announce(&mut self, guardian: &mut Guardian, on: &[usize]) -> Option<Attempt> {
        let numbers: Vec<String> = on.iter().map(ToString::to_string).collect();
        let silence = self.tell(guardian, &numbers.join(" "));
        let before = std::mem::replace(&mut self.on, on.to_vec());
        let unusable = match silence? {
            Silence::NoTurn => Some(Unusable { on: before, undone_after_ns: self.undo_after_ns }),
            Silence::Stopped => None,
        };
        Some(Attempt::Undone(unusable))
    }

    fn tell(&mut self, guardian: &mut Guardian, what: &str) -> Option<Silence> {
        if self.gone {
            return None;
        }
        guardian.announce(what).unwrap_or_else(|_| {
            self.gone = true;
            terminal::say(
                "the guardian was killed: the search goes on, and nothing would undo what makes the machine unusable",
            );
            None
        })
    }
}
