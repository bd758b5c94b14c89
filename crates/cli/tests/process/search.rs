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

/// In a folder like /tmp anybody can put one where root looks for it, with a command in it.
#[test]
fn another_users_journal_is_refused_with_privileges() {
    if !rustix::process::geteuid().is_root() {
        return ontick_skip::skipped!("only root can give a file to another user");
    }
    let place = Place::new();
    let journal = place.file("j");
    let begun = ["sim:good=2", "--time", "2min"];
    assert!(run(&place.words(&begun, &journal)).status.success());
    let before = fs::read(&journal).unwrap();
    std::os::unix::fs::chown(&journal, Some(65_534), None).unwrap();
    for words in [&["--continue", "--time", "5min"][..], &["--give-up"], &begun] {
        let refused = run(&place.words(words, &journal));
        let why = stderr(&refused);
        assert!(
            refused.status.code() == Some(2) && why.contains("belongs to another user (uid 65534)"),
            "{words:?}: {why}"
        );
        assert_eq!(fs::read(&journal).unwrap(), before, "{words:?}");
    }
    // The user who called sudo is no other.
    let mut sudo = ontick(&place.words(&["--give-up"], &journal));
    let given_up = sudo.env("SUDO_UID", "65534").env("SUDO_GID", "65534").output().unwrap();
    assert!(given_up.status.success(), "{}", stderr(&given_up));
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
        (&["sim:a=1", "--time", "1s"], "--time 1s is too short: four blocks of 500ms take about 2.4s"),
        (&["sim:a=1", "--judge", "p99"], "p99.9, missed, max"),
        (&["sim:a=1", "--judge", "p99.9", "--block", "100ms"], "needs 1000 cycles, 1s at least"),
        (&["sim:a=1", "--smallest", "-1"], "negative"),
        (&["sim:a=1", "--smallest", "0"], "above 0"),
        (&["sim:a=1", "--steal", "0%"], "share above 0%"),
        (&["sim:a=1", "--undo-after", "200ms"], "1s at least"),
        (&["--continue", "--undo-after", "9s"], "cannot be used with"),
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
    assert!(
        found["facts"].to_string().contains("ontick latency timer --interval 1ms --method hybrid"),
        "{}",
        found["facts"]
    );
    assert!(!Path::new(&out).exists(), "a profile without a setting");
}

/// Of this machine's settings, those that any kernel has.
const KNOBS: [&str; 2] = ["stat-interval", "timer-migration"];

fn started(place: &Place, journal: &str, more: &[&str]) -> Running {
    let words = [&KNOBS[..], &["--block", "50ms", "--steal", "100%", "--time", "10min"], more].concat();
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
    let mut search = started(&place, &journal, &[]);
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
    let on = record(&run(&place.words(&["--continue", "--time", "3s", "--json"], &journal)));
    assert!(on["search"]["quartets"].as_u64().unwrap() as usize >= kept - 1, "{on}");
    assert_eq!(on["search"]["skipped"].as_array().unwrap().len(), 0, "{on}");
    assert!(is_as_before(), "{:?}", difference(&as_before.0, &settings()));

    // Killed together with its guardian, it is put back by whoever gives it up.
    fs::remove_file(&journal).unwrap();
    let mut search = started(&place, &journal, &[]);
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

/// What the watchdog wrote into a journal, as lines.
fn unusable(journal: &str) -> Vec<String> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    text.lines().filter(|line| line.contains("\"step\":\"unusable\"")).map(String::from).collect()
}

fn skipped(record: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let all = record["search"]["skipped"].as_array().expect("those that were skipped");
    all.iter().map(|skipped| (text(&skipped["name"]), text(&skipped["why"]))).collect()
}

#[test]
fn what_hangs_is_undone_and_the_rest_is_judged() {
    let place = Place::new();
    let journal = place.file("j");
    let known = ["sim:good=3", "sim:stuck=hang", "sim:none=0", "--seed", "1", "--smallest", "0.5"];
    let words = [&known[..], &["--undo-after", "1s", "--time", "20min", "--json"]].concat();
    let found = record(&run(&place.words(&words, &journal)));
    let stuck = [("sim:stuck=hang".to_owned(), "unusable: undone after 1s".to_owned())];
    assert_eq!(skipped(&found), stuck);
    let verdict = |name: &str, verdict: &str| (name.to_owned(), verdict.to_owned());
    assert_eq!(verdicts(&found), [verdict("sim:good=3", "helps"), verdict("sim:none=0", "no-effect")]);
    assert_eq!(unusable(&journal), ["{\"step\":\"unusable\",\"on\":[1],\"undone_after_ns\":1000000000}"]);

    // It is not tried again.
    let on = record(&run(&place.words(&["--continue", "--time", "30min", "--json"], &journal)));
    assert_eq!((skipped(&on), unusable(&journal).len()), (stuck.to_vec(), 1));
    let text = stdout(&run(&place.words(&["--continue", "--time", "30min"], &journal)));
    assert!(text.contains("sim:stuck=hang") && text.contains("unusable: undone after 1s"), "{text}");
}

/// Takes a process every turn without stopping it, as a machine does that has none for it.
struct Freezer {
    folder: PathBuf,
    /// Its file, what freezes and thaws, the file that tells whether it is frozen, and by what.
    words: [&'static str; 5],
}

impl Freezer {
    /// With the process in it, thawed; none where this kernel has no such group, or lets nobody make one.
    fn of(process: u32) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let of = |mount: &str| -> Option<Self> {
            let [_, place, kind, options, ..] = mount.split(' ').collect::<Vec<_>>()[..] else { return None };
            let words = match kind {
                "cgroup2" => ["cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"],
                "cgroup" if options.split(',').any(|option| option == "freezer") => {
                    ["freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN"]
                }
                _ => return None,
            };
            let folder = Path::new(place).join(format!("ontick-test-{process}"));
            fs::create_dir(&folder).ok()?;
            let freezer = Self { folder, words };
            fs::write(freezer.folder.join("cgroup.procs"), process.to_string()).ok()?;
            freezer.folder.join(words[0]).exists().then_some(freezer)
        };
        let found = mounts.lines().find_map(of);
        if found.is_none() {
            ontick_skip::skipped!("no process can be frozen here");
        }
        found
    }

    fn freeze(&self) {
        fs::write(self.folder.join(self.words[0]), self.words[1]).unwrap();
        let state = || fs::read_to_string(self.folder.join(self.words[3])).unwrap();
        wait_until("a frozen process", || state().contains(self.words[4]));
    }

    fn thaw(&self) {
        fs::write(self.folder.join(self.words[0]), self.words[2]).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.folder.join(self.words[0]), self.words[2]);
        let processes = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        processes.lines().filter_map(|process| process.parse().ok()).for_each(|process| send(process, Signal::KILL));
        wait_until("the group's end", || fs::remove_dir(&self.folder).is_ok());
    }
}

/// A search without a turn is what a setting makes of a machine that becomes unusable with it.
#[test]
fn a_setting_with_which_the_search_gets_no_turn_is_undone_and_left_out() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let as_before = AsBefore(settings());
    let before = values();
    let place = Place::new();
    let [journal, kept] = ["j", "r.json"].map(|name| place.file(name));
    let is_as_before = || difference(&as_before.0, &settings()).is_empty();

    let mut search = started(&place, &journal, &["--undo-after", "3s", "--record", &kept]);
    wait_for_a_change(&before, &journal, 2);
    let Some(freezer) = Freezer::of(search.0.id()) else { return };
    wait_until("a setting that is changed", || {
        freezer.freeze();
        let changed = values() != before;
        if !changed {
            freezer.thaw();
        }
        changed
    });
    wait_until("the watchdog", || values() == before);
    wait_until("its record", || unusable(&journal).len() == 1);
    assert!(runs(search.0.id() as i32));

    // With the next turn it goes on without that setting.
    let lines = || fs::read_to_string(&journal).unwrap().lines().count();
    let by_then = lines();
    freezer.thaw();
    wait_until("more quartets", || lines() > by_then + 2);
    send(search.0.id(), Signal::INT);
    assert!(search.0.wait().unwrap().success());
    assert!(is_as_before(), "{:?}", difference(&as_before.0, &settings()));
    let kept: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let [(name, why)] = &skipped(&kept)[..] else { panic!("{kept}") };
    assert!(KNOBS.contains(&name.as_str()) && why == "unusable: undone after 3s", "{name}: {why}");
    assert!(verdicts(&kept).len() == 1 && verdicts(&kept)[0].0 != *name, "{kept}");

    let on = record(&run(&place.words(&["--continue", "--time", "2s", "--json"], &journal)));
    assert_eq!((skipped(&on), unusable(&journal).len()), (vec![(name.clone(), why.clone())], 1));
    assert!(is_as_before(), "{:?}", difference(&as_before.0, &settings()));
}

/// Whoever stops a search at a terminal stops it on purpose: no setting is to blame.
#[test]
fn a_stopped_search_leaves_the_machine_as_it_was_and_blames_no_setting() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let as_before = AsBefore(settings());
    let before = values();
    let place = Place::new();
    let journal = place.file("j");
    let mut search = started(&place, &journal, &["--undo-after", "3s"]);
    wait_for_a_change(&before, &journal, 2);
    let pid = search.0.id();
    let stopped = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ");
    wait_until("a setting that is changed", || {
        send(pid, Signal::STOP);
        wait_until("a stopped search", stopped);
        let changed = values() != before;
        if !changed {
            send(pid, Signal::CONT);
        }
        changed
    });
    // The search itself keeps the journal of the settings.
    wait_until("the guardian", || values() == before);
    assert!(stopped());

    let lines = fs::read_to_string(&journal).unwrap().lines().count();
    send(pid, Signal::CONT);
    wait_for_a_change(&before, &journal, lines + 2);
    assert_eq!(unusable(&journal), [""; 0]);
    kill(&mut search.0);
    wait_until("the guardian", || difference(&as_before.0, &settings()).is_empty());
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
