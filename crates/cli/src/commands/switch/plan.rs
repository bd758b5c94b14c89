//! `ontick switch plan`

use clap::Args;
use ontick_switch::apply::Plan;
use serde::Serialize;

use super::aimed::{FileFlags, kernel_plan};
use super::file;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Print what `apply` would do, as commands that a person can read, and change nothing.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick switch plan cell4.toml")]
pub struct PlanCommand {
    #[command(flatten)]
    file: FileFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    plane: &'static str,
    steps: Vec<ShownStep<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ShownStep<'a> {
    what: &'a str,
    commands: Vec<String>,
}

impl PlanCommand {
    pub fn run(self) -> Result<Outcome, Failure> {
        let plan = kernel_plan(&self.file.read()?)?;
        if self.json {
            terminal::print(&(serde_json::to_string_pretty(&shown(&plan))? + "\n"))?;
        } else {
            terminal::print(&text(&plan))?;
            plan.notes.iter().for_each(|note| file::note(note));
        }
        Ok(Outcome::Met)
    }
}

fn shown(plan: &Plan) -> Shown<'_> {
    let step = |step: &'_ ontick_switch::apply::Step| step.acts.iter().map(ToString::to_string).collect();
    let steps = plan.steps.iter().map(|s| ShownStep { what: &s.what, commands: step(s) }).collect();
    Shown { name: &plan.name, plane: "kernel", steps, notes: &plan.notes }
}

/// A script that a shell would take, too.
fn text(plan: &Plan) -> String {
    let mut text = String::new();
    for step in &plan.steps {
        text += &format!("# {}\n", step.what);
        step.acts.iter().for_each(|act| text += &format!("{act}\n"));
    }
    text
}
