//! The page and the help say what the list says. `ONTICK_WRITE_PRIVILEGES=1` writes the page's part anew.

use std::fs;
use std::path::Path;

use super::*;

const BEGIN: &str = "| commands | refused without | do more with | keep once set up |\n";
const END: &str = "\n## ";

fn code(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn capabilities(set: CapabilitySet) -> String {
    match names(set) {
        names if names.is_empty() => "–".into(),
        names => code(&names.split(", ").collect::<Vec<_>>()),
    }
}

fn row(of: &Privileges) -> String {
    let root = || "the user root".to_owned();
    let needs = if matches!(of.root, Root::Needed(_)) { root() } else { capabilities(of.needs) };
    let uses = if matches!(of.root, Root::DoesMore(_)) { root() } else { capabilities(of.uses) };
    let keeps = of.keeps.as_ref().map_or("all".into(), |kept| match kept.capabilities.is_empty() {
        true => "none".into(),
        false => capabilities(kept.capabilities),
    });
    format!("| {} | {needs} | {uses} | {keeps} |\n", code(of.commands))
}

/// Why something is kept, or root is asked for.
fn reason(of: &Privileges) -> Option<String> {
    let root = match of.root {
        Root::NotAsked => None,
        Root::Needed(why) | Root::DoesMore(why) => Some(why),
    };
    let whys: Vec<&str> = root.into_iter().chain(of.keeps.as_ref().map(|kept| kept.why)).collect();
    (!whys.is_empty()).then(|| format!("- {}: {}.\n", code(of.commands), whys.join("; ")))
}

fn part() -> String {
    let rows: String = ALL.into_iter().map(row).collect();
    let reasons: String = ALL.into_iter().filter_map(reason).collect();
    format!("{BEGIN}|---|---|---|---|\n{rows}\nWhy root, and why something is kept:\n\n{reasons}")
}

#[test]
fn the_page_says_what_the_list_says() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/privileges.md");
    let page = fs::read_to_string(&place).unwrap();
    let begin = page.find(BEGIN).expect("the page has the table");
    let end = begin + page[begin..].find(END).expect("the page goes on after the table");
    if std::env::var_os("ONTICK_WRITE_PRIVILEGES").is_some() {
        fs::write(&place, format!("{}{}{}", &page[..begin], part(), &page[end..])).unwrap();
        return;
    }
    assert!(page[begin..end] == part(), "ONTICK_WRITE_PRIVILEGES=1 writes it anew; it should be:\n{}", part());
}

/// The command that is typed so, if there is one.
fn declared<'c>(all: &'c Command, words: &str) -> Option<&'c Command> {
    words.split(' ').try_fold(all, |command, word| command.find_subcommand(word))
}

/// Whether the list has this command without an option.
fn has_row(words: &str) -> bool {
    ALL.iter().any(|of| of.commands.contains(&words))
}

#[test]
fn the_help_of_each_command_says_what_it_needs() {
    let all = crate::built(crate::command().disable_help_subcommand(true));
    let mut count = 0;
    for of in ALL {
        for command in of.commands {
            let (words, option) = command.split_once(" --").unwrap_or((command, ""));
            let found = declared(&all, words).unwrap_or_else(|| panic!("there is no command {words}"));
            let option = option.split(' ').next().unwrap_or_default();
            let has = |name: &str| found.get_arguments().any(|argument| argument.get_long() == Some(name));
            assert!(option.is_empty() || has(option), "{words} has no --{option}");
            let below: Vec<&Command> = found.get_subcommands().collect();
            let has_its_own = |leaf: &Command| has_row(&format!("{words} {}", leaf.get_name()));
            for leaf in if below.is_empty() { vec![found] } else { below } {
                if option.is_empty() && has_its_own(leaf) {
                    continue;
                }
                let help = leaf.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&of.clauses()), "{command}, {}: {help}", leaf.get_name());
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count} commands");
}

#[test]
fn what_is_kept_is_no_more_than_what_is_asked_for_but_files() {
    let files = CapabilitySet::CHOWN | CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER;
    for of in ALL {
        let Some(kept) = &of.keeps else { continue };
        // Root has what it does more with, too.
        let asked = if matches!(of.root, Root::Needed(_)) { CapabilitySet::all() } else { of.needs | of.uses };
        let more = kept.capabilities - asked - files;
        assert!(more.is_empty(), "{}: {}", of.commands[0], names(more));
    }
}
