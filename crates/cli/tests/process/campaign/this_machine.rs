//! Commands that change settings of this machine while they measure, or keep something while they run.

use std::time::{Duration, Instant};

use super::{PATIENCE, Trial, campaign, succeeds, words};
use crate::settings::{AsBefore, nobody_else_tunes, settings};
use crate::{alone_on_this_machine, may_tune};

/// A command whose guardians put back what it changed, and what is done besides where something is left.
struct Guarded<'a> {
    name: &'static str,
    words: Vec<String>,
    back: &'a dyn Fn(&Self) -> Result<(), String>,
}

impl Trial for Guarded<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn words(&self) -> Vec<String> {
        self.words.clone()
    }

    fn go_back(&self) -> Result<(), String> {
        (self.back)(self)
    }

    fn state(&self) -> String {
        settings().iter().map(|(path, text)| format!("{path} {}\n", text.escape_debug())).collect()
    }
}

/// As soon as no guardian is at work any more.
fn reverts(trial: &Guarded) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match succeeds(trial, &["tune", "revert"]) {
            Err(_) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            reverted => return reverted,
        }
    }
}

#[test]
fn a_proof_killed_at_any_call_leaves_settings_as_they_were() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let _as_before = AsBefore(settings());
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html").display().to_string();
    let pace = ["--tune=stat-interval,timer-migration", "--duration", "300ms", "--load", "none"];
    let command = [&["prove", "--html", &html], &pace[..]].concat();
    campaign(&Guarded { name: "prove --tune", words: words(&command), back: &reverts });
}

#[test]
fn a_search_killed_at_any_call_is_given_up() {
    let _alone = alone_on_this_machine();
    if !may_tune() || !nobody_else_tunes() {
        return;
    }
    let _as_before = AsBefore(settings());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    let journal = file.display().to_string();
    let command = ["tune", "search", "stat-interval", "--block", "50ms", "--steal", "100%", "--time", "1s"];
    let give_up = ["tune", "search", "--give-up", "--journal", &journal];
    let back = |trial: &Guarded| {
        reverts(trial)?;
        // Where it was killed before its journal had a line, there is nothing to give up.
        if std::fs::metadata(&file).is_ok_and(|journal| journal.len() > 0) { succeeds(trial, &give_up) } else { Ok(()) }
    };
    campaign(&Guarded { name: "tune search", words: words(&[&command[..], &give_up[3..]].concat()), back: &back });
}

/// What was kept is read by the next one, which goes on.
#[test]
fn a_watch_killed_at_any_call_goes_on_with_what_it_had() {
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().display().to_string();
    let pace = ["--cycles", "20", "--every", "50ms", "--duration", "300ms"];
    let watch = words(&[&["watch", "--state", &state, "--listen", "127.0.0.1:0"], &pace[..]].concat());
    campaign(&Guarded { name: "watch", words: watch.clone(), back: &|trial| succeeds(trial, &watch) });
}
