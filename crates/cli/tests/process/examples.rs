//! Every example of the documentation, run as it is written, only shorter.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Restored, alone_on_this_machine, has, may_tune, ontick};

/// The pages whose `console` blocks are run, each in a folder of its own.
fn pages() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(top.join("docs")).unwrap().map(|file| file.unwrap().path());
    docs.filter(|path| path.extension().is_some_and(|e| e == "md")).chain([top.join("README.md")]).collect()
}

/// The simulated chip of the examples. Whoever tests may use one of that name.
const CHIP: &str = "sim:bench";

/// Commands in ```` ```console ```` blocks: lines that begin with `$ ontick` or `$ sudo ontick`.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ "));
    lines
        .map(|line| line.strip_prefix("sudo ").unwrap_or(line))
        .filter(|l| l.starts_with("ontick "))
        .map(String::from)
        .collect()
}

/// Files in ```` ```toml ```` blocks: those whose first line is a comment with the file's name.
pub fn files(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let named = |block| {
        let name = str::strip_prefix(block, "# ")?.lines().next()?;
        name.ends_with(".toml").then_some((name, block))
    };
    blocks.filter_map(named).collect()
}

#[test]
fn the_documentations_examples_work() {
    if !has("stress-ng") {
        return;
    }
    let may_tune = {
        // Settings that another test has changed are no reason against it.
        let _alone = alone_on_this_machine();
        may_tune()
    };
    let own_chip = format!("sim:test-docs-{}", std::process::id());
    let mut count = 0;
    for page in pages() {
        let folder = tempfile::tempdir().unwrap();
        let mut receiver = None;
        let text = fs::read_to_string(&page).unwrap();
        let commands = commands(&text);
        let disturbs: Vec<bool> = commands.iter().map(|command| disturbs_others(command)).collect();
        // The machine is put back before others may have it.
        let (mut alone, mut is_tuned) = (None, false);
        // A page may use the files of a page that it leads to.
        let leads_to = |other: &PathBuf| text.contains(&format!("]({}", other.file_name().unwrap().to_string_lossy()));
        let texts: Vec<String> =
            pages().iter().filter(|other| leads_to(other)).map(|p| fs::read_to_string(p).unwrap()).collect();
        for (name, content) in texts.iter().chain([&text]).flat_map(|text| files(text)) {
            fs::write(folder.path().join(name), content).unwrap();
        }
        for file in linked_captures(&text) {
            let name = file.rsplit('/').next().unwrap();
            fs::copy(page.parent().unwrap().join(file), folder.path().join(name)).unwrap();
        }
        for (n, command) in commands.into_iter().enumerate() {
            // An analyser that needs no device needs its program.
            if command.contains(" sigrok:") && !has("sigrok-cli") {
                continue;
            }
            if disturbs[n] && alone.is_none() {
                let machine = alone_on_this_machine();
                alone = Some((may_tune.then_some(Restored), machine));
            }
            if !disturbs[n] && !is_tuned && receiver.is_none() {
                alone = None;
            }
            let (words, redirected) = match command.split_once(" > ") {
                Some((command, file)) => (command, Some(file.trim())),
                None => (command.as_str(), None),
            };
            let mut words = shlex::split(words).unwrap_or_else(|| panic!("{command}"));
            words.iter_mut().for_each(|word| *word = word.replace(CHIP, &own_chip));
            if !may_tune && changes_settings(&words) {
                continue;
            }
            // The last of an option that is given twice counts.
            if let Some(duration) = short_duration(&words) {
                words.extend(["--duration".into(), duration.into()]);
            }
            if words[1] == "pulse" {
                shorten_pulses(&mut words);
            }
            if proves_a_switch(&words) {
                words.extend(["--duration".into(), "300ms".into()]);
            }
            if words[1] == "sample" {
                // Somebody may have that port.
                words.iter_mut().for_each(|word| *word = word.replace(":5000", ":0"));
                if !words.iter().any(|word| ["--count", "--read"].contains(&word.as_str())) {
                    words.extend(["--duration".into(), "700ms".into()]);
                }
            }
            let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            let mut command_ = ontick(&arguments);
            if arguments.starts_with(&["link", "recv"]) {
                receiver = Some(Receiver::start(&mut command_, &folder.path().join(redirected.unwrap())));
                count += 1;
                continue;
            }
            match arguments[..] {
                ["tune", "apply", ..] => is_tuned = true,
                ["tune", "revert", ..] => is_tuned = false,
                _ => {}
            }
            let output = match lasts(&words) {
                true => run_until_ctrl_c(&mut command_, folder.path()),
                false => run_in(&mut command_, folder.path()),
            };
            let status = output.status.code();
            assert!(
                status == Some(0) || (matches!(status, Some(1 | 3)) && judges(&words)),
                "{}: {command}: {}",
                page.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            if arguments.starts_with(&["link", "send"]) {
                assert_eq!(status, Some(0), "{}: {command}", page.display());
                let sent = words.iter().skip_while(|word| *word != "--file").nth(1).unwrap();
                receiver.take().expect("the receiver's command stands before the sender's").has_got(Path::new(sent));
            }
            if let Some(file) = redirected {
                fs::write(folder.path().join(file), &output.stdout).unwrap();
            }
            count += 1;
        }
        drop(alone);
    }
    crate::run(&["gpio", "remove", &own_chip]);
    assert!(count > 5, "the documentation has examples, and they were found");
}

/// Captures in the repository that a page leads to: its commands find them in their folder.
fn linked_captures(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| target.starts_with("../") && target.ends_with(".sr"))
}

/// `ontick link recv`, at work in another terminal; killed if nothing came of it.
struct Receiver {
    child: Child,
    into: PathBuf,
}

impl Receiver {
    fn start(command: &mut Command, into: &Path) -> Self {
        let mut child = command.stdout(fs::File::create(into).unwrap()).stderr(Stdio::piped()).spawn().unwrap();
        // It speaks when it is at work.
        child.stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Self { child, into: into.into() }
    }

    fn has_got(mut self, file: &Path) {
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert!(fs::read(&self.into).unwrap() == fs::read(file).unwrap(), "the copy is the same");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long is enough to see that it works.
fn short_duration(words: &[String]) -> Option<&'static str> {
    match (words[1].as_str(), words.get(2).map(String::as_str)) {
        ("prove", _) => Some("700ms"),
        ("network", Some("prove")) => Some("200ms"),
        ("latency", _) if words.iter().any(|word| word == "--count") => None,
        // Of each of many.
        ("latency", Some("delay")) => Some("10ms"),
        ("latency", Some("wallclock")) => Some("700ms"),
        // As many dips as it asks for.
        ("latency", Some("dip")) => None,
        ("latency", _) => Some("200ms"),
        _ => None,
    }
}

/// A table has a shortest duration; a train has a count or takes any.
fn shorten_pulses(words: &mut Vec<String>) {
    let has = |option: &str| words.iter().any(|word| word == option);
    let option = match (has("--table"), has("--count")) {
        (true, _) => ["--duration", "6s"],
        (_, true) => ["--count", "100"],
        _ => ["--duration", "700ms"],
    };
    words.extend(option.map(String::from));
}

/// Commands whose exit status tells whether all is well with the machine, or a requirement was met.
fn judges(words: &[String]) -> bool {
    let judges = ["check", "link"].contains(&words[1].as_str());
    let looks = words[1] == "switch" && words[2] == "check";
    let kernel = words[1] == "kernel" && ["check", "list"].contains(&words[2].as_str());
    // Whether there is one.
    let exists = words[1] == "switch" && words[2] == "status";
    let asks = words.iter().any(|word| ["--require", "--fault"].contains(&word.as_str()));
    judges || looks || exists || kernel || proves_a_switch(words) || runs_in_namespaces(words) || asks
}

/// Windows are kept as well as the machine can, which others use too.
fn proves_a_switch(words: &[String]) -> bool {
    words[1] == "switch" && ["demo", "verify"].contains(&words[2].as_str())
}

/// The same of a network, and of a round trip without a wire.
fn runs_in_namespaces(words: &[String]) -> bool {
    let round_trips = words[1] == "latency" && words[2] == "roundtrip";
    round_trips || words[1] == "network" && words.iter().any(|word| word == "namespaces")
}

/// Commands that only root may give.
fn changes_settings(words: &[String]) -> bool {
    let tunes = words[1] == "tune" && ["apply", "revert", "search"].contains(&words[2].as_str());
    tunes
        || proves_a_switch(words)
        || runs_in_namespaces(words)
        || words[1] == "run"
        || words.iter().any(|word| word.starts_with("--tune"))
}

/// Commands beside which no other test of time can be.
fn disturbs_others(command: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    words[1] == "link" || changes_settings(&words)
}

/// Commands that go on until Ctrl-C.
fn lasts(words: &[String]) -> bool {
    words[1] == "gpio" && words[2] == "watch" && !words.iter().any(|word| word == "--count")
}

fn run_until_ctrl_c(command: &mut Command, folder: &Path) -> std::process::Output {
    let mut child = command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It speaks when it is at work.
    child.stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    crate::send(child.id(), rustix::process::Signal::INT);
    child.wait_with_output().unwrap()
}

fn run_in(command: &mut Command, folder: &Path) -> std::process::Output {
    command.current_dir(folder).output().unwrap()
}
