//! The file that describes a switch, as commands take it.

use std::path::Path;

use ontick_switch::apply::Plan;
use ontick_switch::files::{self, FileError};
use ontick_tsn::config;
use ontick_tsn::model::Switch;

use crate::failure::Failure;
use crate::terminal;

/// Reads it; what is doubtful is said on standard error.
pub fn read(file: &Path) -> Result<Switch, Failure> {
    let parsed = files::switch(file).map_err(|error| match error {
        FileError::Wrong { .. } if files::network(file).is_ok() => Failure::new(format!(
            "{} describes a network, not a switch: `ontick network plan {0} --nodes FOLDER` writes a file for each of its \
             switches",
            file.display()
        )),
        FileError::Wrong { .. } => Failure::list(error),
        other => Failure::new(other),
    })?;
    warn(&parsed.warnings, &file.display().to_string());
    Ok(parsed.switch)
}

/// Says what is doubtful.
pub fn warn(warnings: &[config::Problem], file: &str) {
    for warning in warnings {
        note(&format!("warning: {}", warning.in_file(file)));
    }
}

/// Says what whoever applies a plan should know.
pub fn notes(plan: &Plan) {
    plan.notes.iter().for_each(|sentence| note(sentence));
}

/// Says how to come back, should the connection be one that the plan ends.
pub fn way_back(plan: &Plan) {
    if !plan.disconnects.is_empty() {
        note(&format!(
            "if you are connected through {}, use ontick switch apply --confirm 60s: the switch is removed by itself unless \
             you confirm it",
            plan.disconnects.join(" or ")
        ));
    }
}

/// Says something that standard output has no place for.
pub fn note(sentence: &str) {
    terminal::say(&format!("ontick: {sentence}"));
}
