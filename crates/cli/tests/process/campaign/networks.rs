//! `switch` and `network` in namespaces.

use std::process::{Command, Output};

use ontick_switch::verify::namespace::Namespace;

use super::{Trial, campaign, succeeds, words};
use crate::network_apply::cell;
use crate::switch_user::bench;

/// A command about the switches that a namespace has the ports of: `apply`, or `revert` of what was applied.
struct Switches<'a> {
    here: &'a Namespace,
    /// `switch` or `network`.
    group: &'a str,
    /// What `apply` has, and what `revert` has.
    files: [Vec<String>; 2],
    state: String,
    settings: &'a dyn Fn() -> String,
    reverts: bool,
}

impl Switches<'_> {
    fn command(&self, reverts: bool) -> Vec<String> {
        let command = words(&[self.group, if reverts { "revert" } else { "apply" }]);
        [&command[..], &self.files[usize::from(reverts)], &["--state".to_owned(), self.state.clone()]].concat()
    }
}

impl Trial for Switches<'_> {
    fn name(&self) -> String {
        self.words()[..2].join(" ")
    }

    fn prepare(&self) {
        if self.reverts {
            succeeds(self, &self.command(false)).unwrap();
        }
    }

    fn words(&self) -> Vec<String> {
        self.command(self.reverts)
    }

    fn run(&self, command: &mut Command) -> Output {
        self.here.within(|| command.output()).unwrap().unwrap()
    }

    fn go_back(&self) -> Result<(), String> {
        succeeds(self, &self.command(true))
    }

    fn state(&self) -> String {
        (self.settings)()
    }
}

#[test]
fn a_switch_killed_at_any_call_goes_or_is_taken_away() {
    let Some(bench) = bench() else { return };
    let (state, settings) = (bench.folder.path().join("state").display().to_string(), || bench.settings());
    for reverts in [false, true] {
        let files = [vec![bench.file()], Vec::new()];
        let here = &bench.here;
        campaign(&Switches { here, group: "switch", files, state: state.clone(), settings: &settings, reverts });
    }
}

#[test]
fn a_networks_switches_killed_at_any_call_go_or_are_taken_away() {
    let Some(cell) = cell() else { return };
    let of = |name: &str| cell.folder.path().join(name).display().to_string();
    let settings = || cell.settings();
    for reverts in [false, true] {
        let files = [vec![of("network.toml"), of("plan.json")], vec![of("network.toml")]];
        let here = &cell.here;
        campaign(&Switches { here, group: "network", files, state: of("state"), settings: &settings, reverts });
    }
}
