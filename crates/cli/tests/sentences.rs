//! The libraries speak of what is wrong and what would mend it; which command or option of ontick does so is the command
//! line's to say. No string in them names one, but those listed here.

mod source;

use std::fs;
use std::path::{Path, PathBuf};

use source::without_tests;

/// The crates that know the command line: the report renders results for those who type commands.
const KNOW: [&str; 3] = ["cli", "report", "skip"];

/// Strings that are no such sentence: the file, a part of the string, and why it may be there.
const ALLOWED: [(&str, &str, &str); 27] = [
    ("kernel/src/build/pack.rs", "run-parts --arg=", "a script of the package that is built"),
    ("kernel/src/install/loader/grub.rs", "### BEGIN ontick kernel", "a mark in a file of others, found again by it"),
    ("kernel/src/install/loader/grub.rs", "### END ontick kernel", "a mark in a file of others, found again by it"),
    ("kernel/src/install/loader/grub.rs", "menuentry '{title}'", "GRUB's own option"),
    ("kernel/src/install/loader/mod.rs", "Written by ontick kernel", "a mark for who finds the file"),
    ("kernel/src/install/loader/mod.rs", "Written by ontick tune", "a mark for who finds the file"),
    ("machine/src/boot.rs", "Written by ontick tune", "a mark for who finds the file"),
    ("machine/src/boot/tryboot.rs", "Written by ontick kernel", "a mark for who finds the file"),
    ("machine/src/boot/unit.rs", "Written by ontick tune", "a mark for who finds the file"),
    ("machine/src/boot/error.rs", "use grubby --args", "another program's option"),
    ("machine/src/boot/error.rs", "sudo grubby --update-kernel", "another program's option"),
    ("machine/src/facts/rivals.rs", "systemctl disable --now", "another program's option"),
    ("measure/src/analyser/program.rs", "sigrok-cli --list-supported", "another program's option"),
    ("measure/src/error/kmod.rs", "sudo mokutil --import", "another program's option"),
    ("measure/src/error/kmod.rs", "sudo dkms install --force", "another program's option"),
    ("measure/src/load/pings.rs", "unshare --net sleep", "a script that is run"),
    ("measure/src/load/pings.rs", "nsenter --net=", "a script that is run"),
    ("measure/src/response/table.rs", "`stress --cpu 4`", "another program's option"),
    ("record/src/import/rtla.rs", "rtla without --no-index", "another program's option"),
    ("switch/src/apply/act.rs", "ethtool --set-mm", "another program's option"),
    ("switch/src/apply/host.rs", "ethtool --show-mm", "another program's option"),
    ("switch/src/kernel/classify/iptables.rs", "-j CLASSIFY --set-class", "another program's option"),
    ("switch/src/kernel/classify/iptables.rs", "-m dscp --dscp", "another program's option"),
    ("switch/src/kernel/openvswitch/mod.rs", "--may-exist add-port", "another program's option"),
    ("switch/src/kernel/openvswitch/mod.rs", "ovs-ofctl --timeout=10", "another program's option"),
    ("tsn/src/network/outline.rs", "ontick network", "the title of a schema: what kind of file it describes"),
    ("tsn/src/config/document.rs", "ontick switch", "the title of a schema: what kind of file it describes"),
];

#[test]
fn no_library_names_a_command_or_an_option_of_ontick() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let commands = commands(&crates.join("cli/src/commands"));
    let mut used = [false; ALLOWED.len()];
    let mut wrong = Vec::new();
    for file in sources(&crates) {
        let name = file.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        for sentence in
            strings(without_tests(&text)).into_iter().filter(|sentence| names_a_command(sentence, &commands))
        {
            match ALLOWED.iter().position(|(file, part, _)| *file == name && sentence.contains(part)) {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{name}: \"{sentence}\"")),
            }
        }
    }
    assert!(wrong.is_empty(), "the command line is to say this, not a library:\n{}", wrong.join("\n"));
    let unused: Vec<_> = ALLOWED.iter().zip(used).filter(|(_, used)| !used).map(|(allowed, _)| allowed).collect();
    assert!(unused.is_empty(), "these are allowed and not there any more: {unused:?}");
}

/// Commands of ontick, by their files.
fn commands(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| name != "mod");
    assert!(names.len() > 10, "{names:?}");
    names
}

/// The libraries' sources, without files of tests.
fn sources(crates: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !KNOW.contains(&entry.file_name().to_str().unwrap()))
        .map(|entry| entry.path().join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            match path.is_dir() {
                true if name != "tests" => folders.push(path),
                false if path.extension().is_some_and(|e| e == "rs") && !is_of_tests(&name) => found.push(path),
                _ => {}
            }
        }
    }
    assert!(found.len() > 200, "{}", found.len());
    found.sort();
    found
}

fn is_of_tests(file: &str) -> bool {
    file == "tests" || file.ends_with("_test")
}

/// Whether it says `ontick COMMAND`, or `--option` among other words.
fn names_a_command(sentence: &str, commands: &[String]) -> bool {
    let words: Vec<&str> = sentence.split(|c: char| c.is_whitespace() || "(`'\"".contains(c)).collect();
    let is_command = |word: &str| commands.iter().any(|c| c == word.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let is_option = |word: &&str| {
        word.strip_prefix("--").is_some_and(|option| option.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    words.windows(2).any(|pair| pair[0] == "ontick" && is_command(pair[1]))
        || words.iter().filter(|word| !word.is_empty()).count() >= 3 && words.iter().any(is_option)
}

/// The string literals of a source, without its comments.
fn strings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let tail = &rest[at..];
        if tail.starts_with("//") {
            rest = tail.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(after) = tail.strip_prefix("'\"'") {
            rest = after;
        } else if let Some(inner) = tail.strip_prefix('"') {
            let mut escaped = false;
            let end = inner.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let end = end.unwrap_or(inner.len());
            found.push(inner[..end].to_owned());
            rest = inner.get(end + 1..).unwrap_or_default();
        } else {
            rest = &tail[1..];
        }
    }
    found
}

#[test]
fn commands_and_options_are_found_in_strings_and_not_in_comments() {
    let commands = ["tune".to_owned()];
    let found = |text: &str| strings(text).iter().any(|s| names_a_command(s, &commands));
    assert!(found(r#"let a = '"'; f("give it (--isolate) first")"#));
    assert!(found(r#"f("\"x\": run `ontick tune`")"#));
    assert!(!found("// \"ontick tune\"\nf(\"ontick tuned it\")"));
    assert!(!found(r#"["--cpu", "--vm"]"#));
}

#[test]
fn only_the_module_of_tests_is_left_out() {
    let text = "#[cfg(test)]\nmod other;\nf(\"here\");\n#[cfg(test)]\npub(crate) mod tests {\n    g(\"there\");\n}\n";
    assert_eq!(strings(without_tests(text)), ["here"]);
}
