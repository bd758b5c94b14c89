//! The commands: parse, call one wing, hand the result to report.
#![deny(unsafe_code)]

mod attempts;
mod commands;
mod failure;
mod flags;
mod hints;
mod itself;
mod launch;
mod lazily;
mod named_files;
#[cfg(test)]
mod options;
mod privileges;
mod progress;
mod screen;
mod stop;
mod temporary_settings;
mod terminal;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use commands::Command;
use failure::{Failure, Outcome};

/// Makes a stock Linux machine act on time, and proves it.
///
/// Exit status: 0 done and requirements met, 1 done but not met, 2 not possible, 3 not proven.
#[derive(Parser)]
#[command(
    name = "ontick",
    version,
    propagate_version = true,
    args_override_self = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Ontick {
    #[command(subcommand)]
    command: Command,
}

/// The command line as it is declared, for what is generated from it: manual pages and completions. The commands have
/// their options once it is built, by [`built`] with their whole texts.
pub fn command() -> clap::Command {
    Ontick::command()
}

/// The command line with the options and texts of all commands, as it is in help.
pub fn built(mut command: clap::Command) -> clap::Command {
    command.build();
    privileges::describe(&mut command);
    command
}

/// Terminals below so many columns have no room for a description beside an option.
const NARROW: usize = 60;

/// As this terminal has room for it: in a narrow one descriptions are below their options.
fn fitted(command: clap::Command, columns: Option<usize>) -> clap::Command {
    command.next_line_help(columns.is_some_and(|columns| columns < NARROW))
}

/// What this process's arguments ask for.
fn parse() -> Result<Ontick, clap::Error> {
    match fitted(command(), terminal::width()).try_get_matches() {
        Ok(mut matches) => {
            named_files::check(&matches)?;
            Ontick::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))
        }
        Err(error) if error.kind() == ErrorKind::DisplayVersion => Err(error),
        // Help and errors speak of commands that were not asked for, too.
        Err(_) => {
            let mut matches = built(fitted(command(), terminal::width())).try_get_matches()?;
            Ontick::from_arg_matches_mut(&mut matches)
        }
    }
}

/// Does what this process's arguments ask for.
pub fn main() -> ExitCode {
    itself::take_name();
    let asked = match parse() {
        Ok(asked) => asked,
        Err(error) if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return terminal::report(&Failure::usage(&error));
        }
        Err(help) => {
            return match help.print() {
                // A closed pipe (ontick --help | head) is not worth a word.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    terminal::report(&Failure::new(format!("cannot write to standard output: {error}")))
                }
                _ => ExitCode::from(if help.use_stderr() { 2 } else { 0 }),
            };
        }
    };
    // Simulated chips are the user's, with sudo and without.
    if let Some((user, _)) = launch::calling_user() {
        ontick_gpio::sim::act_for(user);
    }
    match asked.command.run() {
        Ok(Outcome::Met) => ExitCode::SUCCESS,
        Ok(Outcome::NotMet) => ExitCode::from(1),
        Ok(Outcome::NotProven) => ExitCode::from(3),
        Ok(Outcome::Ended(status)) => ExitCode::from(status),
        Err(failure) => {
            ontick_gpio::sim::remove_made();
            terminal::report(&failure)
        }
    }
}
