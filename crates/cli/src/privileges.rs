//! Which capabilities (capabilities(7)) commands need, use and keep: the one list of them. `--help` and
//! `docs/privileges.md` say the same, and a test compares them.

mod list;
#[cfg(test)]
mod page;

use clap::Command;
use ontick_gpio::Name;
use ontick_undo::privilege::{hand_down, keep_only, missing, names};
use ontick_undo::system_calls::{self, Needed};
use rustix::thread::CapabilitySet;

pub use list::*;

use crate::failure::Failure;
use crate::terminal;

/// What commands need of a machine's privileges.
pub struct Privileges {
    /// As they are typed, without `ontick`.
    commands: &'static [&'static str],
    /// They are refused without these.
    needs: CapabilitySet,
    /// With these they do more; without one they go on, and say what was refused.
    uses: CapabilitySet,
    /// Where no capability is enough: the kernel, or the owner of files, asks for the user root.
    root: Root,
    /// What a long-running process gives up once it is set up: all but this.
    keeps: Option<Kept>,
}

/// What the user root is needed for, and why.
enum Root {
    NotAsked,
    /// Others are refused.
    #[cfg_attr(not(test), expect(dead_code, reason = "the page says why"))]
    Needed(&'static str),
    /// Others are told less.
    #[cfg_attr(not(test), expect(dead_code, reason = "the page says why"))]
    DoesMore(&'static str),
}

/// What is kept until the process ends.
struct Kept {
    capabilities: CapabilitySet,
    /// What for.
    #[cfg_attr(not(test), expect(dead_code, reason = "the page has it"))]
    why: &'static str,
}

impl Privileges {
    /// Refuses a command that lacks one, and lets the programs that it starts have what it has.
    pub fn require(&self, command: &str) -> Result<(), Failure> {
        if matches!(self.root, Root::Needed(_)) && !rustix::process::geteuid().is_root() {
            return Err(Failure::new(format!("`ontick {command}` needs the user root: run it with sudo")));
        }
        let missing = missing(self.needs);
        if !missing.is_empty() {
            let names = names(missing);
            return Err(Failure::new(format!(
                "`ontick {command}` lacks {names}: run it with sudo, or give it that by AmbientCapabilities= of a \
                 service, setpriv(1) or setcap(8)"
            )));
        }
        Ok(hand_down(self.needs | self.uses)?)
    }

    /// Gives up, for good, what is not kept. Threads that run already do not; so it is called before they are started.
    pub fn settle(&self) -> Result<(), Failure> {
        self.settle_but(CapabilitySet::empty())
    }

    /// The same, where this call of the command takes more.
    pub fn settle_but(&self, more: CapabilitySet) -> Result<(), Failure> {
        match &self.keeps {
            Some(kept) => Ok(keep_only(kept.capabilities | more)?),
            None => Ok(()),
        }
    }

    /// In words, for the help.
    fn clauses(&self) -> String {
        let mut clauses = Vec::new();
        match self.root {
            Root::Needed(_) => clauses.push("the user root".to_owned()),
            _ if self.needs.is_empty() => clauses.push("no capability".to_owned()),
            _ => clauses.push(names(self.needs)),
        }
        if let Root::DoesMore(_) = self.root {
            clauses.push("as the user root it does more".to_owned());
        }
        if !self.uses.is_empty() {
            clauses.push(format!("with {} it does more", names(self.uses)));
        }
        if let Some(kept) = &self.keeps {
            clauses.push(format!("once set up it keeps {}", or_none(kept.capabilities)));
        }
        clauses.join("; ")
    }
}

/// Has the kernel refuse, for good and to all threads, system calls that a command which serves others never needs. A kernel
/// without such filters is no reason not to serve them.
pub fn refuse_calls(needed: Needed) {
    if let Err(error) = system_calls::refuse(needed) {
        terminal::say(&format!("note: system calls are not filtered: {error}"));
    }
}

/// What it takes to open these lines: registers are mapped from `/dev/mem` where nothing else shows them.
pub fn of_lines<'n>(lines: impl IntoIterator<Item = &'n Name>) -> CapabilitySet {
    match lines.into_iter().any(|line| matches!(line, Name::Register(_))) {
        true => CapabilitySet::SYS_RAWIO,
        false => CapabilitySet::empty(),
    }
}

fn or_none(set: CapabilitySet) -> String {
    if set.is_empty() { "none".into() } else { names(set) }
}

/// Puts what each command below this one needs at the end of its help.
pub fn describe(command: &mut Command) {
    describe_below(command, "");
}

fn describe_below(command: &mut Command, path: &str) {
    // Help of help is of no command.
    for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name());
        match below.has_subcommands() {
            true => describe_below(below, &path),
            false => describe_one(below, path.trim_start()),
        }
    }
}

fn describe_one(command: &mut Command, path: &str) {
    let sentences = sentences(path);
    if !sentences.is_empty() {
        let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
        *command = std::mem::take(command).after_help(format!("{before}{sentences}"));
    }
}

/// What a command needs, and what with which option; nothing for one that has no row.
fn sentences(path: &str) -> String {
    let row = |all: &'static Privileges| all.commands.iter().map(move |command| (*command, all));
    let of_this = ALL.into_iter().flat_map(row).filter_map(|(command, of)| {
        let (words, option) =
            command.split_once(" --").map_or((command, None), |(words, option)| (words, Some(option)));
        let meant = path == words || path.strip_prefix(words).is_some_and(|rest| rest.starts_with(' '));
        meant.then(|| (words, option, of.clauses()))
    });
    let of_this: Vec<(&str, Option<&str>, String)> = of_this.collect();
    // What a command needs itself is in place of what those beside it do.
    let nearest = of_this.iter().filter(|(_, option, _)| option.is_none()).map(|(words, ..)| words.len()).max();
    let of_this: Vec<(Option<&str>, String)> = of_this
        .into_iter()
        .filter(|(words, option, _)| option.is_some() || Some(words.len()) == nearest)
        .map(|(_, option, clauses)| (option, clauses))
        .collect();
    // An option that needs no more is not worth a sentence.
    let says_more = |clauses: &str| !of_this.iter().any(|(option, usual)| option.is_none() && usual == clauses);
    let sentence = |(option, clauses): &(Option<&str>, String)| match option {
        Some(option) => says_more(clauses).then(|| format!("With --{option}: {clauses}.")),
        None => Some(format!("Needs {clauses}.")),
    };
    let sentences: Vec<String> = of_this.iter().filter_map(sentence).collect();
    if sentences.is_empty() { String::new() } else { format!("{} See docs/privileges.md.", sentences.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_needs_no_more_has_no_sentence() {
        assert_eq!(sentences("tune apply"), "Needs the user root. See docs/privileges.md.");
        assert!(sentences("prove").contains(" With --tune: the user root; "), "{}", sentences("prove"));
        assert!(sentences("inspect").starts_with("Needs no capability; as the user root it does more."));
    }

    #[test]
    fn what_one_command_needs_is_said_in_place_of_what_those_beside_it_do() {
        let said = sentences("latency roundtrip");
        assert!(said.starts_with("Needs CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN; "), "{said}");
        assert_eq!(said.matches("Needs ").count(), 1, "{said}");
        assert!(said.contains(" With --to HOST:PORT: no capability; "), "{said}");
        assert!(said.contains(" With --interface: CAP_NET_RAW; "), "{said}");
        let noise = sentences("latency noise");
        assert!(
            noise.starts_with("Needs no capability; ") && noise.contains(" With --hwlat: the user root."),
            "{noise}"
        );
    }
}
