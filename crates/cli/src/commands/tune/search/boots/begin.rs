//! A search by restarts begins.

use ontick_machine::boot::{self, unit};
use ontick_machine::{Facts, Journal, Profile, Root, Target};
use ontick_measure::search::{SearchJournal, SearchJournalError, fewest_boots};
use ontick_record::search::Skipped;
use ontick_units::{CpuList, exact};

use super::asked::asked_boots;
use super::{go_on, machine};
use crate::commands::tune::program;
use crate::commands::tune::search::Search;
use crate::commands::tune::search::asked::{Asked, ERROR};
use crate::commands::tune::search::asked_boots::AskedBoots;
use crate::commands::tune::search::candidates::Candidate;
use crate::commands::tune::search::searching::begin_journal;
use crate::failure::{Failure, Outcome};
use crate::flags::needs_root;
use crate::terminal;

/// What is tried: its name, the argument, and why.
struct Tried {
    name: String,
    argument: String,
    why: String,
}

/// Shows what would be done, or does it.
pub fn begin(flags: &Search, root: &Root) -> Result<Outcome, Failure> {
    let (target, tried, skipped) = if root.is_live() { of_machine(flags, root)? } else { of_folder(flags)? };
    let cpu = flags.target.measured(root, &target);
    let names = tried.iter().map(|of| of.name.clone()).collect();
    let mut asked = Asked::of(flags, names, target.profile, cpu, &target.cpus)?;
    asked.skipped = skipped;
    let arguments: Vec<String> = tried.iter().map(|of| of.argument.clone()).collect();
    let boots = asked_boots(flags, &machine::release(root), &machine::cmdline(root), arguments)?;
    // Everything that would end the search at its first restart ends it now.
    let all: Vec<usize> = (0..tried.len()).collect();
    machine::trial(root, &boots, &all, 1)?;
    if !unit::is_read(root) {
        return Err(Failure::new(
            "no systemd here: a search by restarts needs it, as a unit of it goes on after each restart",
        ));
    }
    let path = machine::journal_path(root)?;
    match SearchJournal::read::<Asked>(&path, None) {
        Err(SearchJournalError::None(_)) => {}
        Ok(kept) if kept.ended => {}
        Ok(_) => {
            let words = |words| machine::command(&flags.root, words);
            return Err(Failure::new(format!(
                "a search by restarts did not end: go on with it ({}), or give it up ({})",
                words("--continue"),
                words("--give-up")
            )));
        }
        Err(error) => return Err(error.into()),
    }
    if !flags.restart {
        return shown(flags, &asked, &boots, &tried);
    }
    needs_root(root, "tune search --boot --restart")?;
    // The unit will run it as root.
    program(root)?;
    asked.boots = Some(boots);
    let settings = Journal::open(root)?;
    let standing = settings.entries().count();
    if standing > 0 {
        settings.close();
        return Err(Failure::new(
            "settings that ontick changed before are still in force: restore them first (sudo ontick tune revert)",
        ));
    }
    // From here on it is a search that can go on.
    begin_journal(&path, &asked)?;
    go_on::with(flags, root, settings)
}

/// The arguments of the plan of this machine's boot.
fn of_machine(flags: &Search, root: &Root) -> Result<(Target, Vec<Tried>, Vec<Skipped>), Failure> {
    let facts = Facts::gather(root);
    let target = flags.target.named(root, &facts)?;
    let planned = boot::arguments(&facts, &target);
    let known = || planned.iter().map(|argument| argument.key.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(other) = flags.candidates.iter().find(|name| planned.iter().all(|of| of.key != **name)) {
        return Err(Failure::new(format!("{other} is no kernel argument of this machine's plan ({})", known())));
    }
    let wanted = planned.iter().filter(|of| flags.candidates.is_empty() || flags.candidates.contains(&of.key));
    let (set, open): (Vec<_>, Vec<_>) = wanted.partition(|of| facts.arguments.get(&of.key) == Some(of.value.as_str()));
    if open.is_empty() {
        return Err(Failure::new("every kernel argument of this machine's plan is set so already"));
    }
    let tried = open.iter().map(|of| Tried { name: of.key.clone(), argument: of.text(), why: of.why.into() });
    let skipped = set.iter().map(|of| Skipped { name: of.key.clone(), why: "it is set so already".into() });
    let (tried, skipped) = (tried.collect(), skipped.collect());
    Ok((target, tried, skipped))
}

/// Candidates of a machine in a folder, whose boots somebody models.
fn of_folder(flags: &Search) -> Result<(Target, Vec<Tried>, Vec<Skipped>), Failure> {
    let one = |word: &String| match word.parse() {
        Ok(Candidate::Simulated(name, points)) => {
            let why = format!("a modelled gain of {points} points");
            Some(Tried { name: word.clone(), argument: format!("ontick.{name}"), why })
        }
        _ => None,
    };
    let tried: Option<Vec<Tried>> = flags.candidates.iter().map(one).collect();
    let no_kernel = || {
        Failure::new(
            "--root: no kernel runs there, so that only candidates of a modelled machine can be searched (sim:NAME=POINTS)",
        )
    };
    let tried = tried.filter(|tried| !tried.is_empty()).ok_or_else(no_kernel)?;
    let mut facts = Facts::default();
    facts.cpus.set_online(CpuList::one(0));
    let target = Target::new(&facts, None, Profile::DedicatedCore).map_err(Failure::new)?;
    Ok((target, tried, Vec::new()))
}

fn shown(flags: &Search, asked: &Asked, boots: &AskedBoots, tried: &[Tried]) -> Result<Outcome, Failure> {
    let mut text = String::from("Each of these is tried by boots of its own:\n\n");
    let width = tried.iter().map(|of| of.argument.chars().count()).max().unwrap_or(0);
    for of in tried {
        text += &format!("  {:<width$}  {}\n", of.argument, of.why);
    }
    for of in &asked.skipped {
        text += &format!("  {}: {}\n", of.name, of.why);
    }
    text += &format!(
        "\nA round is {} boots: the base, and each once, in an order by chance. At least {} boots are needed to show any \
         effect, and {} at most are made (--boots). Each is measured by {} blocks of {}, {} after its start.\n",
        tried.len() + 1,
        fewest_boots(ERROR, tried.len()),
        boots.most,
        boots.blocks,
        exact(asked.block_ns),
        exact(boots.settle_ns),
    );
    text += &format!(
        "Nothing is changed yet. This restarts the machine, again and again, until it has ended: {}\n",
        machine::command(&flags.root, "--restart")
    );
    terminal::print(&text)?;
    Ok(Outcome::Met)
}
