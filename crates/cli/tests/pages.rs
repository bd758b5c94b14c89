//! What packages bring beside the program: manual pages and completions, read by the programs that they are for; and the
//! package itself, by lintian.

#[path = "../examples/pages/completions.rs"]
mod completions;
#[path = "../examples/pages/manual.rs"]
mod manual;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn pages() -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    manual::write(folder.path()).unwrap();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.path().join("man1")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    (folder, files)
}

/// The output of a program, or a skip where it is not installed.
fn judge(program: &str, arguments: &[&str], file: &Path) -> Option<Output> {
    match Command::new(program).args(arguments).arg(file).output() {
        Ok(output) => Some(output),
        Err(_) => {
            ontick_skip::skipped!("{program} is not installed");
            None
        }
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The names of a command's page and of those below it, with its long options.
fn commands(command: &clap::Command, name: &str) -> Vec<(String, Vec<String>)> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let options = shown.filter_map(|argument| argument.get_long()).map(str::to_owned).collect();
    let below = command.get_subcommands().flat_map(|below| commands(below, &format!("{name}-{}", below.get_name())));
    [(name.to_owned(), options)].into_iter().chain(below).collect()
}

#[test]
fn every_command_has_a_page_with_all_its_options() {
    let (_folder, files) = pages();
    let all = ontick::built(ontick::command().disable_help_subcommand(true));
    let expected = commands(&all, "ontick");
    assert!(expected.len() > 40, "{} commands", expected.len());
    let mut names: Vec<String> = expected.iter().map(|(name, _)| format!("{name}.1")).collect();
    names.sort();
    assert_eq!(files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect::<Vec<_>>(), names);
    for (name, options) in expected {
        let file = files.iter().find(|file| file.file_stem().unwrap() == name.as_str()).unwrap();
        let text = fs::read_to_string(file).unwrap().replace('\\', "");
        for part in [".SH NAME", ".SH SYNOPSIS", ".SH \"EXIT STATUS\""] {
            assert!(text.contains(part), "{name} has no {part}: {text}");
        }
        for option in options {
            assert!(text.contains(&format!("fB--{option}fR")), "the page of {name} does not have --{option}");
        }
    }
}

#[test]
fn man_and_mandoc_find_no_fault_in_a_page() {
    let (_folder, files) = pages();
    for file in &files {
        let Some(output) = judge("man", &["--warnings", "--encoding=UTF-8", "--local-file"], file) else { break };
        assert!(output.status.success() && output.stderr.is_empty(), "{}: {}", file.display(), said(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("SYNOPSIS"), "{}", file.display());
    }
    for file in &files {
        // Below a warning it finds fault with style, a missing date for one.
        let Some(output) = judge("mandoc", &["-T", "lint", "-W", "warning"], file) else { break };
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn shells_read_their_completions() {
    let folder = tempfile::tempdir().unwrap();
    completions::write(folder.path()).unwrap();
    let files = [
        ("bash", "bash-completion/completions/ontick"),
        ("zsh", "zsh/vendor-completions/_ontick"),
        ("fish", "fish/vendor_completions.d/ontick.fish"),
    ];
    for (shell, file) in files {
        let Some(output) = judge(shell, &["-n"], &folder.path().join(file)) else { continue };
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {}", said(&output));
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = tempfile::tempdir().unwrap();
    completions::write(folder.path()).unwrap();
    let complete = |words: &str, last: &str| {
        let script = format!(
            "source \"$1\"; COMP_WORDS=({words} '{last}'); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _ontick ontick '{last}' \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let file = folder.path().join("bash-completion/completions/ontick");
        let output = Command::new("bash").args(["-c", &script, "bash"]).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete("ontick", "lat"), "latency\n");
    assert_eq!(complete("ontick latency timer", "--dur"), "--duration\n");
}

/// The words of each command that has none below it, with its long options.
fn leaves(command: &clap::Command, words: &str) -> Vec<(String, Vec<String>)> {
    let below: Vec<&clap::Command> = command.get_subcommands().collect();
    if below.is_empty() {
        let mut options: Vec<String> = command
            .get_arguments()
            .flat_map(|argument| argument.get_long_and_visible_aliases().unwrap_or_default())
            .map(|name| format!("--{name}"))
            .collect();
        options.sort();
        return vec![(words.to_owned(), options)];
    }
    below.into_iter().flat_map(|below| leaves(below, &format!("{words} {}", below.get_name()))).collect()
}

#[test]
fn fish_offers_each_command_its_own_options_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    completions::write(folder.path()).unwrap();
    let all = ontick::built(ontick::command().disable_help_subcommand(true));
    let expected = leaves(&all, "ontick");
    assert!(expected.iter().any(|(words, _)| words == "ontick network time status"), "no command of three levels");
    let script =
        "source $argv[1]; for line in $argv[2..-1]; complete -C \"$line --\" | cut -f1 | sort | string join ' '; end";
    let mut fish = Command::new("fish");
    fish.args(["--no-config", "-c", script]).arg(folder.path().join("fish/vendor_completions.d/ontick.fish"));
    fish.env("HOME", folder.path()).env("LC_ALL", "C").args(expected.iter().map(|(words, _)| words));
    let Ok(output) = fish.output() else { return ontick_skip::skipped!("fish is not installed") };
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    let offered = String::from_utf8(output.stdout).unwrap();
    assert_eq!(offered.lines().count(), expected.len(), "{offered}");
    for ((words, options), offered) in expected.iter().zip(offered.lines()) {
        assert_eq!(options.join(" "), offered, "{words}");
    }
}

#[test]
fn lintian_finds_no_fault_in_a_package_of_this_program() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return ontick_skip::skipped!("dpkg-deb is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, pages) = (folder.path().join("ontick"), folder.path().join("pages"));
    let stripped = Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_ontick")).status().unwrap();
    assert!(stripped.success());
    manual::write(&pages.join("man")).unwrap();
    completions::write(&pages).unwrap();
    let output = Command::new(top.join("packaging/packages"))
        .arg("--of")
        .args([&program, &pages, &folder.path().to_owned()])
        // What means something to sed.
        .env("DEBFULLNAME", r"A & B/C \1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let found = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let packages: Vec<PathBuf> = found.filter(|file| file.extension().is_some_and(|e| e == "deb")).collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    for package in packages {
        // Such a name is no fault of the package.
        let names = "malformed-contact,bogus-mail-host-in-debian-changelog";
        let arguments = ["--fail-on", "error,warning", "--allow-root", "--suppress-tags", names];
        let maintainer = Command::new("dpkg-deb").arg("--field").arg(&package).arg("Maintainer").output().unwrap();
        assert!(said(&maintainer).starts_with(r"A & B/C \1 <"), "{}", said(&maintainer));
        let Some(output) = judge("lintian", &arguments, &package) else { return };
        assert!(output.status.success(), "{}", said(&output));
    }
}

/// The script of the package, which has udev look again at devices that are there.
#[test]
fn devices_that_are_there_get_the_right_of_the_group() {
    let script = include_str!("../../../packaging/debian/ontick/postinst").replace("\\\n", " ");
    let triggers: Vec<&str> =
        script.lines().map(str::trim).filter(|line| line.starts_with("udevadm trigger ")).collect();
    assert!(!triggers.is_empty(), "{script}");
    if Command::new("udevadm").arg("--version").output().is_err() {
        return ontick_skip::skipped!("udevadm is not installed");
    }
    let triggers = triggers.iter().map(|line| line.replacen("trigger", "trigger --dry-run --verbose", 1));
    let script = format!("set -e; {}", triggers.collect::<Vec<_>>().join("; "));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    let found = said(&output);
    for device in ["/sys/devices/virtual/misc/cpu_dma_latency"].into_iter().filter(|device| Path::new(device).exists())
    {
        assert!(found.lines().any(|line| line == device), "{device}: {found}");
    }
    let others = |line: &&str| line.contains("/misc/") && !line.ends_with("/cpu_dma_latency");
    assert_eq!(found.lines().find(others), None);
}
