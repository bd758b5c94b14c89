//! `switch` and `network` in namespaces.

use std::process::{Command, Output};

use super::{Trial, campaign, succeeds, words};
use crate::network_apply::{Cell, cell};
use crate::switch_user::{Bench, bench};

/// A command about one switch; the one before it, if any, sets it up.
struct Switch<'a> {
    bench: &'a Bench,
    set_up: bool,
    command: &'static str,
}

impl Switch<'_> {
    fn all_words(&self, command: &str) -> Vec<String> {
        let file = (command == "apply").then(|| self.bench.file());
        let state = ["--state".to_owned(), self.bench.folder.path().join("state").display().to_string()];
        words(&["switch", command]).into_iter().chain(file).chain(state).collect()
    }
}

impl Trial for Switch<'_> {
    fn name(&self) -> String {
        format!("switch {}", self.command)
    }

    fn prepare(&self) {
        if self.set_up {
            succeeds(self, &self.all_words("apply")).unwrap();
        }
    }

    fn words(&self) -> Vec<String> {
        self.all_words(self.command)
    }

    fn run(&self, command: &mut Command) -> Output {
        self.bench.here.within(|| command.output()).unwrap().unwrap()
    }

    fn go_back(&self) -> Result<(), String> {
        succeeds(self, &self.all_words("revert"))
    }

    fn state(&self) -> String {
        self.bench.settings()
    }
}

/// A command about all switches of a network.
struct Network<'a> {
    cell: &'a Cell,
    set_up: bool,
    command: &'static str,
}

impl Network<'_> {
    fn all_words(&self, command: &str) -> Vec<String> {
        let of = |name: &str| self.cell.folder.path().join(name).display().to_string();
        let plan = (command == "apply").then(|| of("plan.json"));
        let words = words(&["network", command]).into_iter().chain([of("network.toml")]).chain(plan);
        words.chain(["--state".to_owned(), of("state")]).collect()
    }
}

impl Trial for Network<'_> {
    fn name(&self) -> String {
        format!("network {}", self.command)
    }

    fn prepare(&self) {
        if self.set_up {
            succeeds(self, &self.all_words("apply")).unwrap();
        }
    }

    fn words(&self) -> Vec<String> {
        self.all_words(self.command)
    }

    fn run(&self, command: &mut Command) -> Output {
        self.cell.here.within(|| command.output()).unwrap().unwrap()
    }

    fn go_back(&self) -> Result<(), String> {
        succeeds(self, &self.all_words("revert"))
    }

    fn state(&self) -> String {
        self.cell.settings()
    }
}

#[test]
fn a_switch_killed_at_any_call_goes_or_is_taken_away() {
    let Some(bench) = bench() else { return };
    campaign(&Switch { bench: &bench, set_up: false, command: "apply" });
    campaign(&Switch { bench: &bench, set_up: true, command: "revert" });
}

#[test]
fn a_networks_switches_killed_at_any_call_go_or_are_taken_away() {
    let Some(cell) = cell() else { return };
    campaign(&Network { cell: &cell, set_up: false, command: "apply" });
    campaign(&Network { cell: &cell, set_up: true, command: "revert" });
}
