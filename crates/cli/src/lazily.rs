//! A command whose options are declared once it is the one that is asked for. To declare those of all commands, a few
//! hundred, took most of the time in which the program starts.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// What is parsed for a command. Until `clap::Command::build`, or until the command is parsed, neither its text nor its
/// options are declared.
pub struct Lazily<T>(pub T);

impl<T: FromArgMatches> FromArgMatches for Lazily<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Lazily<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

impl<T: Subcommand> Subcommand for Lazily<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(T::augment_subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_are_declared_of_the_command_that_is_asked_for_alone() {
        let mut all = crate::command();
        let asked = ["ontick", "network", "plan", "--task", "task.csv", "--topo", "topo.csv"];
        all.try_get_matches_from_mut(asked).unwrap();
        let mut with_options = Vec::new();
        let mut left = vec![&all];
        while let Some(command) = left.pop() {
            let of_all = |name: &str| ["help", "version"].contains(&name);
            let has_own = command.get_arguments().any(|one| one.get_long().is_some_and(|name| !of_all(name)));
            with_options.extend(has_own.then(|| command.get_name()));
            left.extend(command.get_subcommands());
        }
        assert_eq!(with_options, ["plan"]);
    }
}
