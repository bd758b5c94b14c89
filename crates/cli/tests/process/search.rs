//! `ontick tune search`: what is found, what is left behind, and how a search that was killed goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::Machine;
use crate::settings::{AsBefore, difference, nobody_else_tunes, settings};
use crate::{Running, alone_on_this_machine, may_tune, ontick, record, run, runs, send, stderr, stdout, wait_until};

/// A folder with the journal's place.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// A search with its journal here.
    fn words<'a>(&self, words: &[&'a str], journal: &'a str) -> Vec<&'a str> {
        [&["tune", "search"], words, &["--journal", journal]].concat()
    }
}

fn verdicts(record: &Value) -> Vec<(String, String)> {
    let effects = record["search"]["effects"].as_array().expect("effects");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    effects.iter().map(|effect| (text(&effect["name"]), text(&effect["verdict"]))).collect()
}

#[test]
fn a_modelled_search_finds_the_known_effects_and_is_labelled() {
    let place = Place::new();
    let [journal, svg, html, kept] = ["j", "p.svg", "p.html", "r.json"].map(|name| place.file(name));
    let known = ["sim:good=3", "sim:none=0", "sim:bad=-4"];
    let words = [&known[..], &["--seed", "1", "--smallest", "0.5", "--time", "20min"]].concat();
    let files = ["--svg", &svg, "--html", &html, "--record", &kept];
    let output = run(&place.words(&[&words[..], &files[..]].concat(), &journal));
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.starts_with("simulated a modelled machine"), "{text}");
    assert!(text.contains("Of 3 candidates sim:good=3 helps.") && text.contains("seed 1"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for file in [&svg, &html] {
        let page = fs::read_to_string(file).unwrap();
        assert!(page.contains("imulated") && page.contains("sim:good=3"), "{file}");
    }
    let kept: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let of = |name: &str| verdicts(&kept).into_iter().find(|(of, _)| of == name).unwrap().1;
    assert_eq!([of("sim:good=3"), of("sim:none=0"), of("sim:bad=-4")], ["helps", "no-effect", "hurts"]);

    // The same seed is the same search.
    let again = record(&run(&place.words(&[&words[..], &["--json"]].concat(), &journal)));
    assert_eq!(again["search"], kept["search"]);
    let shown = run(&["report", &place.file("r.json"), "--plot", "forest", "--svg", &svg]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(
        stdout(&run(&["report", &place.file("r.json")])).contains("sim:good=3 helps"),
        "a record is shown as the run was"
    );
}

#[test]
fn a_search_that_did_not_end_goes_on_or_is_given_up() {
    let place = Place::new();
    let journal = place.file("j");
    let begun = ["sim:good=2", "sim:none=0", "--time", "5min", "--judge", "share", "--limit", "5us"];
    let first = record(&run(&place.words(&[&begun[..], &["--json"]].concat(), &journal)));
    let quartets = first["search"]["quartets"].as_u64().unwrap();
    // As a kill would leave it: in the middle of a line.
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() * 2 / 3]).unwrap();
    let refused = run(&place.words(&begun, &journal));
    assert_eq!(refused.status.code(), Some(2));
    for word in ["did not end", "--continue", "--give-up"] {
        assert!(stderr(&refused).contains(word), "{}", stderr(&refused));
    }
    let on = record(&run(&place.words(&["--continue", "--json", "--time", "10min"], &journal)));
    assert!(on["search"]["quartets"].as_u64().unwrap() > quartets * 2 / 3 - 2, "{on}");
    assert_eq!((&on["search"]["limit_ns"], &on["search"]["seed"]), (&5_000.into(), &first["search"]["seed"]));

    let given_up = run(&place.words(&["--give-up"], &journal));
    assert!(given_up.status.success() && stdout(&given_up).contains("given up"), "{}", stderr(&given_up));
    assert!(!Path::new(&journal).exists());
    for words in [["--continue"], ["--give-up"]] {
        let none = run(&place.words(&words, &journal));
        assert!(
            none.status.code() == Some(2) && stderr(&none).contains("no search to go on with"),
            "{}",
            stderr(&none)
        );
    }
}

#[test]
fn what_cannot_be_searched_is_refused_in_a_sentence() {
    let place = Place::new();
    let journal = place.file("j");
    let other = place.file("other");
    fs::write(&other, "{}\n").unwrap();
    for (words, part) in [
        (&["nonsense"][..], "there is no knob \"nonsense\""),
        (&["wait=usleep"], "clock_nanosleep"),
        (&["sim:a=1", "governor"], "by themselves"),
        (&["sim:a"], "sim:NAME=POINTS"),
        (&["sim:a=1", "--time", "1s"], "four blocks of 500ms take about"),
        (&["sim:a=1", "--judge", "p99"], "p99.9, missed, max"),
        (&["sim:a=1", "--judge", "p99.9", "--block", "100ms"], "needs 1000 cycles, 1s at least"),
        (&["sim:a=1", "--smallest", "-1"], "negative"),
        (&["sim:a=1", "--smallest", "0"], "above 0"),
        (&["sim:a=1", "--steal", "0%"], "share above 0%"),
        (&["sim:a=1", "--out", &place.file("found.toml")], "no settings of this machine"),
        (&["sim:a=1", "--apply"], "no settings of this machine"),
        (&["--continue", "governor"], "cannot be used with"),
        (&["--profile", "./no-such.toml"], "no-such.toml"),
        (&["sim:a=1", "--svg", "/no/such/folder/p.svg"], "/no/such/folder"),
    ] {
        let output = run(&place.words(words, &journal));
        assert!(output.status.code() == Some(2) && stdout(&output).is_empty(), "{words:?}: {}", stdout(&output));
        assert!(stderr(&output).contains(part), "{words:?}: {}", stderr(&output));
        assert!(!Path::new(&journal).exists(), "{words:?}");
    }
    let foreign = run(&place.words(&["sim:a=1"], &other));
    assert!(stderr(&foreign).contains("no journal of a search"), "{}", stderr(&foreign));
    assert_eq!(fs::read_to_string(&other).unwrap(), "{}\n");
}

/// A loop that sleeps to its deadline is tens of microseconds late each time, one that spins the last part is not: an effect
/// that is known before.
#[test]
fn a_known_effect_of_the_loop_is_found_here() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let place = Place::new();
    let [journal, out] = ["j", "found.toml"].map(|name| place.file(name));
    let words = ["wait=hybrid", "--method", "clock_nanosleep", "--policy", "fifo:80", "--interval", "1ms"];
    let rest =
        ["--block", "60ms", "--steal", "100%", "--time", "30s", "--load", "none", "--apply", "--json", "--out", &out];
    let found = record(&run(&place.words(&[&words[..], &rest[..]].concat(), &journal)));
    assert_eq!(verdicts(&found), [("wait=hybrid".to_owned(), "helps".to_owned())], "{found}");
    assert!(found["simulated"].is_null() && found["search"]["set"][0] == "wait=hybrid", "{found}");
    assert!(found["facts"].to_string().contains("nothing is applied"), "{}", found["facts"]);
    assert!(!Path::new(&out).exists(), "a profile without a setting");
}

/// Of this machine's settings, those that any kernel has.
const KNOBS: [&str; 2] = ["stat-interval", "timer-migration"];

fn started(place: &Place, journal: &str, time: &str) -> Running {
    let words = [&KNOBS[..], &["--block", "50ms", "--steal", "100%", "--time", time]].concat();
    let child = ontick(&place.words(&words, journal)).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Running(child.expect("the program starts"))
}

/// The knobs' own values.
fn values() -> Vec<String> {
    ["/proc/sys/vm/stat_interval", "/proc/sys/kernel/timer_migration"]
        .iter()
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .collect()
}

/// Waits until a setting is changed, and some quartets are kept.
fn wait_for_a_change(before: &[String], journal: &str, quartets: usize) {
    let kept = || fs::read_to_string(journal).map_or(0, |text| text.lines().count());
    wait_until("quartets", || kept() > quartets);
    wait_until("a changed setting", || values() != before);
}

fn kill(search: &mut Child) {
    send(search.id(), Signal::KILL);
    search.wait().expect("it ends");
}

#[test]
fn a_killed_search_leaves_the_machine_as_it_was_and_goes_on() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let as_before = AsBefore(settings());
    let before = values();
    let place = Place::new();
    let journal = place.file("j");
    let is_as_before = || difference(&as_before.0, &settings()).is_empty();

    // The guardian puts back what a killed search had changed.
    let mut search = started(&place, &journal, "10min");
    wait_for_a_change(&before, &journal, 2);
    kill(&mut search.0);
    wait_until("the guardian", is_as_before);

    // It goes on, and says so of a machine that is not the same.
    fs::write("/proc/sys/vm/stat_interval", "7").unwrap();
    let refused = run(&place.words(&["--continue"], &journal));
    fs::write("/proc/sys/vm/stat_interval", before[0].trim()).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("not as the search began: /proc/sys/vm/stat_interval was"),
        "{}",
        stderr(&refused)
    );
    let kept = fs::read_to_string(&journal).unwrap().lines().count();
    let on = record(&run(&place.words(&["--continue", "--time", "8s", "--json"], &journal)));
    assert!(on["search"]["quartets"].as_u64().unwrap() as usize >= kept - 1, "{on}");
    assert_eq!(on["search"]["skipped"].as_array().unwrap().len(), 0, "{on}");
    assert!(is_as_before(), "{:?}", difference(&as_before.0, &settings()));

    // Killed together with its guardian, it is put back by whoever gives it up.
    fs::remove_file(&journal).unwrap();
    let mut search = started(&place, &journal, "10min");
    wait_for_a_change(&before, &journal, 1);
    let guardian = guardian_of(search.0.id());
    send(guardian, Signal::KILL);
    wait_until("a changed setting", || values() != before);
    kill(&mut search.0);
    wait_until("the guardian's end", || !runs(guardian as i32));
    let given_up = run(&place.words(&["--give-up"], &journal));
    assert!(given_up.status.success() && stdout(&given_up).contains("as they were"), "{}", stderr(&given_up));
    wait_until("what was changed", is_as_before);
}

/// The process that waits for the end of another.
fn guardian_of(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let is_guardian = |child: &&str| {
        fs::read_to_string(format!("/proc/{child}/cmdline")).is_ok_and(|words| words.contains("--when-killed"))
    };
    children.split_whitespace().find(is_guardian).expect("a guardian").parse().unwrap()
}

#[test]
fn a_profile_file_is_applied_as_it_was_found() {
    let machine = Machine::lay("pi4");
    fs::create_dir_all(machine.place("/var/lib")).unwrap();
    let before = machine.snapshot();
    let place = Place::new();
    let file = PathBuf::from(place.file("found.toml"));
    fs::write(
        &file,
        "format = \"ontick-profile/1\"\nprofile = \"low-latency\"\ncpus = \"3\"\nknobs = [\"stat-interval\"]\n",
    )
    .unwrap();
    let file = file.display().to_string();
    let root = machine.folder().display().to_string();
    let tune = |words: &[&str]| run(&[&["tune"], words, &["--root", &root]].concat());
    let plan = tune(&["plan", "--profile", &file]);
    let text = stdout(&plan);
    assert!(plan.status.success(), "{}", stderr(&plan));
    assert!(text.contains("profile low-latency · CPU 3") && !text.contains("governor"), "{text}");
    assert!(text.contains(&format!("tune apply --profile {file}")), "{text}");
    assert!(tune(&["apply", "--profile", &file]).status.success());
    assert_eq!(machine.read("/proc/sys/vm/stat_interval"), "10\n");
    assert!(tune(&["revert"]).status.success());
    assert!(machine.snapshot() == before);

    fs::write(&file, "format = \"ontick-profile/1\"\nprofile = \"low-latency\"\nknobs = [\"colour\"]\n").unwrap();
    let refused = tune(&["apply", "--profile", &file]);
    assert!(
        refused.status.code() == Some(2) && stderr(&refused).contains("no knob \"colour\""),
        "{}",
        stderr(&refused)
    );
    let boot = tune(&["plan", "--boot", "--profile", "fast"]);
    assert!(boot.status.code() == Some(2) && stderr(&boot).contains("./fast"), "{}", stderr(&boot));
}
