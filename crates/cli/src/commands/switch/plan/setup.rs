//! `ontick switch plan` of one switch: what `apply` would do.

use std::path::Path;

use ontick_switch::apply::Plan;
use ontick_tsn::model::Plane;
use ontick_tsn::model::Switch;
use serde::Serialize;

use super::super::file;
use super::super::measured::Measured;
use super::super::target_flags::{self, FileFlags};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// What `--json` prints.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    name: &'a str,
    plane: &'static str,
    steps: Vec<ShownStep<'a>>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    assumptions: &'a [String],
}

#[derive(Serialize)]
struct ShownStep<'a> {
    what: &'a str,
    commands: Vec<String>,
}

pub fn run(flags: &FileFlags, measured: Option<&Measured>, json: bool) -> Result<Outcome, Failure> {
    let (switch, plan) = target_flags::plan(flags.read()?, measured)?;
    if json {
        terminal::print(&(serde_json::to_string_pretty(&render(&switch, &plan, &[]))? + "\n"))?;
    } else {
        terminal::print(&text(&flags.file, &switch, &plan))?;
        file::notes(&plan);
        file::way_back(&plan);
    }
    Ok(Outcome::Met)
}

/// A script that a shell would take, too.
pub(super) fn text(file: &Path, switch: &Switch, plan: &Plan) -> String {
    let mut text = steps(plan);
    if switch.plane == Plane::User {
        let file = file.display();
        text += &format!(
            "# the data plane: a dedicated core, as long as this runs\nontick switch run --plane user {file}\n"
        );
    }
    text
}

/// The part of it that prepares the ports, and in the kernel does all.
pub fn steps(plan: &Plan) -> String {
    let mut text = String::new();
    for step in &plan.steps {
        text += &format!("# {}\n", step.what);
        step.acts.iter().for_each(|act| text += &format!("{act}\n"));
    }
    text
}

pub(super) fn render<'a>(switch: &Switch, plan: &'a Plan, assumptions: &'a [String]) -> Shown<'a> {
    let step = |step: &'_ ontick_switch::apply::Step| step.acts.iter().map(ToString::to_string).collect();
    let steps = plan.steps.iter().map(|s| ShownStep { what: &s.what, commands: step(s) }).collect();
    Shown {
        name: &plan.name,
        plane: if switch.plane == Plane::User { "user" } else { "kernel" },
        steps,
        notes: &plan.notes,
        assumptions,
    }
}
