//! Every option of the command tree is passed by a test of the program as a process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

/// Options that no process test passes, and why.
const UNTRIED: [(&str, &str); 3] = [
    ("firmware", "needs a BeagleBone's coprocessor"),
    ("modules-too", "acts on the modules of the kernel that runs, and of no other root"),
    ("paths", "planning/tests.rs: what is found does not depend on it in small networks"),
];

/// The long options of a command and all below it, with the commands that have them.
fn options(command: &Command, path: &str, found: &mut BTreeMap<String, Vec<String>>) {
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let name = argument.get_long().filter(|name| !["help", "version"].contains(name));
        found.entry(name.unwrap_or_default().into()).or_default().push(path.into());
    }
    for below in command.get_subcommands() {
        options(below, &format!("{path} {}", below.get_name()), found);
    }
}

/// The sources of a folder of tests, without comments.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => fs::read_to_string(&path).unwrap(),
    };
    let text: String = entries.map(read).collect();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| line.to_owned() + "\n").collect()
}

/// Whether an option is among the words: as a whole, not as the beginning of a longer one.
fn is_passed(name: &str, sources: &str) -> bool {
    let option = format!("--{name}");
    sources.match_indices(&option).any(|(at, _)| {
        let next = sources[at + option.len()..].chars().next();
        !next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '-')
    })
}

/// The whole tree.
fn declared() -> Command {
    crate::built(crate::command().disable_help_subcommand(true))
}

#[test]
fn every_option_is_passed_by_a_process_test() {
    let mut found = BTreeMap::new();
    options(&declared(), "ontick", &mut found);
    found.remove("");
    assert!(found.len() > 140, "{} options", found.len());
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process"));
    let untried: Vec<&str> = found.keys().map(String::as_str).filter(|name| !is_passed(name, &sources)).collect();
    let known = UNTRIED.map(|(name, _)| name);
    let new: Vec<String> = untried
        .iter()
        .filter(|name| !known.contains(name))
        .map(|name| format!("--{name} ({})", found[*name].join(", ")))
        .collect();
    assert!(new.is_empty(), "no process test passes {}", new.join("; "));
    let tried: Vec<&str> = known.into_iter().filter(|name| !untried.contains(name)).collect();
    assert!(tried.is_empty(), "a process test passes {tried:?} now: take it off the list");
}

#[test]
fn an_option_is_not_the_beginning_of_another() {
    assert!(is_passed("guard", "[\"--guard\", \"1us\"]") && is_passed("guard", "--guard=1us"));
    assert!(!is_passed("guard", "\"--guard-band\"") && !is_passed("guard", "guard"));
}

/// The help below the options of a command and of all below it, with the command.
fn texts_below_options(command: &Command, path: &str) -> Vec<(String, String)> {
    let own = command.get_after_help().into_iter().map(|text| (path.to_owned(), text.to_string()));
    let below = command.get_subcommands().flat_map(|c| texts_below_options(c, &format!("{path} {}", c.get_name())));
    own.chain(below).collect()
}

/// A terminal of 80 columns would break an example anywhere. Prose is wrapped by the terminal's width alone.
#[test]
fn examples_in_help_fit_80_columns() {
    let texts = texts_below_options(&declared(), "ontick");
    assert!(texts.len() > 30, "{} commands have examples", texts.len());
    let lines = texts.iter().flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
    let wide: Vec<_> = lines.filter(|(_, line)| line.starts_with(' ') && line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

/// The help of a command and of all below it, short and long, as a terminal of so many columns shows it.
fn helps(command: &Command, columns: usize, path: &str) -> Vec<(String, String)> {
    let mut own = command.clone().term_width(columns);
    let texts = [own.render_help().to_string(), own.render_long_help().to_string()];
    let below = command.get_subcommands().flat_map(|c| helps(c, columns, &format!("{path} {}", c.get_name())));
    texts.map(|text| (path.to_owned(), text)).into_iter().chain(below).collect()
}

/// Descriptions that begin right of a narrow terminal's end are a word on each line.
#[test]
fn help_fits_a_narrow_terminal() {
    for columns in [60, 40] {
        let all = crate::built(crate::fitted(crate::command().disable_help_subcommand(true), Some(columns)));
        let texts = helps(&all, columns, "ontick");
        assert!(texts.len() > 100, "{} texts", texts.len());
        let lines = texts.iter().flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
        // What has no space cannot be wrapped, and an option's name is not.
        let is_prose = |line: &str| !line.starts_with("Usage:") && !line.trim().starts_with('-');
        let room = columns - 10;
        let wide: Vec<_> = lines
            .filter(|(_, line)| line.chars().count() > columns && is_prose(line))
            .filter(|(_, line)| line.trim().contains(' ') || line.trim().chars().count() < room)
            .collect();
        assert!(wide.is_empty(), "{columns} columns: {wide:#?}");
    }
}

/// Prose that is wrapped by hand is wrapped once more by a narrower terminal, and leaves single words on lines.
#[test]
fn prose_in_help_is_not_wrapped_by_hand() {
    let texts = texts_below_options(&declared(), "ontick");
    let paragraphs = texts.iter().flat_map(|(path, text)| text.split("\n\n").map(move |paragraph| (path, paragraph)));
    let is_prose = |line: &str| !line.starts_with(' ') && line.chars().count() > 60;
    let wrapped: Vec<_> =
        paragraphs.filter(|(_, paragraph)| paragraph.lines().filter(|line| is_prose(line)).count() > 1).collect();
    assert!(wrapped.is_empty(), "{wrapped:#?}");
}

/// Code of the tables in the list of what the sources describe.
fn commands_of_sources() -> impl Iterator<Item = &'static str> {
    let rows = include_str!("../../../docs/sources.md").lines().filter(|line| line.starts_with("| "));
    let code = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    code.filter(|code| code.starts_with("ontick ") || code.starts_with("sudo ontick "))
}

/// What is an example in a sentence may lack arguments; what stands in the column of commands runs as printed.
#[test]
fn the_commands_of_the_sources_list_lack_no_argument() {
    let column = |row: &'static str| row.split(" | ").nth(2);
    let rows = include_str!("../../../docs/sources.md").lines().filter(|line| line.starts_with("| 00"));
    let code = rows.filter_map(column).flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let commands: Vec<&str> =
        code.filter_map(|code| code.trim_start_matches("sudo ").strip_prefix("ontick ")).collect();
    assert!(commands.len() > 90, "{commands:?}");
    let refused = |command: &&str| {
        let words = ["ontick".to_owned()].into_iter().chain(shlex::split(command)?);
        crate::Ontick::command().try_get_matches_from(words).err().map(|error| format!("{command}: {error}"))
    };
    let refused: Vec<String> = commands.iter().filter_map(refused).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn every_command_of_the_sources_list_is_one_of_this_program() {
    let mut count = 0;
    for command in commands_of_sources() {
        // What follows is another program's; and everything before --help is checked first.
        let own = command.split(" -- ").next().unwrap().trim_start_matches("sudo ");
        let words = shlex::split(own).unwrap_or_else(|| panic!("{command}"));
        let parsed = crate::Ontick::command().try_get_matches_from(words.into_iter().chain(["--help".into()]));
        let kind = parsed.map_err(|error| (error.kind(), error.to_string()));
        assert!(matches!(kind, Err((clap::error::ErrorKind::DisplayHelp, _))), "{command}: {kind:?}");
        count += 1;
    }
    assert!(count > 90, "{count} commands: the list was not found");
}

/// What a unit or a manifest starts is a command of this version.
#[test]
fn what_units_and_manifests_start_is_accepted() {
    let job = include_str!("../../../packaging/container/latency-job.yaml");
    let arguments = job.split("args:\n").nth(1).unwrap().lines().map_while(|line| line.trim().strip_prefix("- "));
    let mut commands: Vec<Vec<String>> = vec![arguments.map(String::from).collect()];
    for unit in [
        include_str!("../../../packaging/debian/ontick/ontick-switch@.service"),
        include_str!("../../../packaging/debian/ontick/ontick-watch.service"),
    ] {
        let lines = unit.lines().filter(|line| line.starts_with("Exec"));
        commands.extend(lines.map(|line| line.split_whitespace().skip(1).map(String::from).collect()));
    }
    assert_eq!(commands.iter().filter(|words| words.len() > 2).count(), 4, "{commands:?}");
    for words in commands {
        let all = ["ontick".to_owned()].into_iter().chain(words.iter().cloned());
        let parsed = crate::Ontick::command().try_get_matches_from(all);
        assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
    }
}

/// The role writes a unit of its own where another command is wanted: but for that it is the package's.
#[test]
fn the_unit_of_the_ansible_role_is_that_of_the_package() {
    let mut unit =
        include_str!("../../../deploy/ansible/roles/ontick_watch/templates/ontick-watch.service.j2").to_owned();
    let defaults = include_str!("../../../deploy/ansible/roles/ontick_watch/defaults/main.yml");
    for default in [
        "ontick_watch_program: \"{{ ontick_program | default('/usr/bin/ontick') }}\"\n",
        "ontick_watch_listen: 127.0.0.1:9119\n",
        "ontick_watch_arguments: []\n",
    ] {
        assert!(defaults.contains(default), "{default}");
    }
    for (expression, value) in [
        ("{{ ontick_watch_program }}", "/usr/bin/ontick"),
        ("{{ ontick_watch_listen }}", "127.0.0.1:9119"),
        ("{{ ([\"\"] + ontick_watch_arguments) | join(\" \") }}", ""),
    ] {
        assert_eq!(unit.matches(expression).count(), 1, "{expression}");
        unit = unit.replace(expression, value);
    }
    assert_eq!(unit, include_str!("../../../packaging/debian/ontick/ontick-watch.service"));
}
