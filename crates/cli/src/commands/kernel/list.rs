//! `ontick kernel list`

use clap::Args;
use ontick_kernel::packages::{Listed, Package, list};
use ontick_report::{printable, text};

use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::terminal;

/// List the real-time kernels of this system's package manager, which save a build; changes nothing.
///
/// Exit status 1 if there is none.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick kernel list\n  ontick kernel list --root /media/card   the system on a mounted card"
)]
pub struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

impl List {
    pub fn run(self) -> Result<Outcome, Failure> {
        let listed = list(&self.root.open()?).map_err(Failure::new)?;
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&listed)? + "\n"))?,
            false => terminal::print(&render(&listed))?,
        }
        Ok(if listed.spares_a_build() { Outcome::Met } else { Outcome::NotMet })
    }
}

fn render(listed: &Listed) -> String {
    let style = terminal::style();
    let mut shown = text::labelled("system   ", &listed.system, &style);
    if !listed.running.is_empty() {
        let kind = if listed.running_is_real_time { "real-time" } else { "not real-time" };
        shown += &text::labelled("running  ", &format!("{}, {kind}", listed.running), &style);
    }
    shown += "\n";
    for package in &listed.packages {
        shown += &text::labelled("  ", &line(package), &style);
        if let Some(command) = command(package) {
            // Never wrapped, so that it can be copied.
            shown += &format!("    sudo {}\n", printable(command));
        }
    }
    if !listed.packages.is_empty() {
        shown += "\n";
    }
    shown += &text::labelled("", verdict(listed), &style);
    for note in &listed.notes {
        shown += &text::labelled("", note, &style);
    }
    shown
}

fn line(package: &Package) -> String {
    let suite = if package.suite.is_empty() { String::new() } else { format!(" ({})", package.suite) };
    let state = match (&package.installed, package.running) {
        (_, true) => ": running".into(),
        (Some(version), _) if *version == package.version => ": installed".into(),
        (Some(version), _) => format!(": installed: {version}"),
        (None, _) => String::new(),
    };
    format!("{} {}{suite}{state}", package.name, package.version)
}

/// What installs this version, where it is not there yet.
fn command(package: &Package) -> Option<&str> {
    let is_there = package.running || package.installed.as_ref() == Some(&package.version);
    (!is_there).then_some(package.install.as_str())
}

fn verdict(listed: &Listed) -> &'static str {
    let to_install = listed.packages.iter().any(|package| package.installed.is_none());
    match (listed.running_is_real_time, to_install) {
        (true, _) => "A real-time kernel runs already: there is nothing to build.",
        (false, true) => "No build is needed: install one of these and restart the machine.",
        (false, false) if !listed.packages.is_empty() => {
            "A real-time kernel is installed, and another one runs: restart the machine and choose it."
        }
        (false, false) => "No real-time kernel was found: ontick kernel build makes one.",
    }
}
