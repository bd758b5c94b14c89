//! Completions, by the names under which each shell looks for them.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::{Shell, generate};

const FILES: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/ontick"),
    (Shell::Fish, "fish/vendor_completions.d/ontick.fish"),
    (Shell::Zsh, "zsh/vendor-completions/_ontick"),
];

/// Writes one file for each shell; `folder` is what `/usr/share` will be.
pub fn write(folder: &Path) -> io::Result<()> {
    for (shell, name) in FILES {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("it is in a folder"))?;
        let mut all = ontick::command();
        let text = generated(shell, &mut all);
        fs::write(file, if shell == Shell::Fish { with_the_third_level(text, &all) } else { text })?;
    }
    Ok(())
}

/// It also builds the command.
fn generated(shell: Shell, command: &mut Command) -> String {
    let mut text = Vec::new();
    generate(shell, command, "ontick", &mut text);
    String::from_utf8(text).expect("what clap has generated is text")
}

/// The generator for fish knows two levels: it gives `network time status` the options of `network status`.
fn with_the_third_level(mut text: String, all: &Command) -> String {
    for of in all.get_subcommands() {
        for group in of.get_subcommands().filter(|group| group.has_subcommands() && group.get_name() != "help") {
            let (of, group_name) = (of.get_name(), group.get_name());
            let names: Vec<&str> = group.get_subcommands().map(Command::get_name).collect();
            for name in &names {
                let beside = format!("{} and not __fish_seen_subcommand_from {group_name}", seen(of, name));
                text = text.replace(&condition(&seen(of, name)), &condition(&beside));
            }
            let chosen = seen(of, group_name);
            let none = format!("{chosen} and not __fish_seen_subcommand_from {}", names.join(" "));
            text = text.replace(&condition(&chosen), &condition(&none));
            for below in group.get_subcommands().filter(|below| below.get_name() != "help") {
                let name = below.get_name();
                // As if it were of the second level, below a name that does not matter.
                let mut alone = Command::new("ontick").subcommand(Command::new("of").subcommand(below.clone()));
                let lines = generated(Shell::Fish, &mut alone);
                let own = condition(&seen("of", name));
                let deeper = condition(&format!("{chosen} and __fish_seen_subcommand_from {name}"));
                // A list of values has lines of its own.
                let all = lines.split("\ncomplete ").filter(|line| line.contains(&own));
                text.extend(all.map(|line| format!("complete {}\n", line.trim_end().replace(&own, &deeper))));
            }
        }
    }
    text
}

/// The words of a condition that holds behind two commands.
fn seen(of: &str, name: &str) -> String {
    format!("__fish_ontick_using_subcommand {of}; and __fish_seen_subcommand_from {name};")
}

/// The condition of a line.
fn condition(words: &str) -> String {
    format!("-n \"{}\"", words.trim_end_matches(';'))
}
