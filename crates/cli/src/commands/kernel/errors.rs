//! What the kernel library refuses, with the command or option that mends it.

use ontick_kernel::build::{BuildError, FetchError};
use ontick_kernel::configure::ConfigureError;
use ontick_kernel::install::{InstallError, KeepError, LoaderError, OnceError};

use crate::failure::Failure;
use crate::flags::RootFlag;

/// Why a kernel was not installed.
pub(super) fn not_installed(error: InstallError, root: &RootFlag) -> Failure {
    let mut cause = &error;
    while let InstallError::TakenBack(problem) = cause {
        cause = problem;
    }
    let mends = match cause {
        InstallError::Left { .. }
        | InstallError::Interrupted
        | InstallError::AlreadyInstalled(_)
        | InstallError::ModulesLeft(_) => Some(root.command("sudo ontick kernel rollback")),
        InstallError::ReleaseTaken { .. } => Some("ontick kernel build --name NAME".into()),
        InstallError::BadName(_) | InstallError::NameTaken(_) => Some("--name NAME".into()),
        InstallError::Loader(error) => of_loader(error, root),
        _ => None,
    };
    with(&error, mends)
}

/// Why the kernel was not kept.
pub(super) fn not_kept(error: KeepError, root: &RootFlag) -> Failure {
    let mends = match &error {
        KeepError::NotInstalled => Some("ontick kernel install does so".into()),
        KeepError::Interrupted => Some(root.command("sudo ontick kernel rollback")),
        KeepError::Untried(_) => Some("ontick kernel install says how to try it, --untried keeps it untried".into()),
        KeepError::Edited(_) => Some(root.command("sudo ontick kernel rollback --force")),
        KeepError::Loader(error) => of_loader(error, root),
        _ => None,
    };
    with(&error, mends)
}

fn of_loader(error: &LoaderError, root: &RootFlag) -> Option<String> {
    Some(match error {
        LoaderError::NameTaken(_) => "--name NAME".into(),
        LoaderError::TrialGoesOn(_) => format!("{}, if it is from ontick", root.command("sudo ontick tune revert")),
        LoaderError::Once(OnceError::NoBlock(_) | OnceError::Block { .. }) => return None,
        LoaderError::Once(_) => "leave out --once".into(),
        _ => return None,
    })
}

/// Why a kernel was not built.
pub(super) fn not_built(error: BuildError) -> Failure {
    let mends = match &error {
        BuildError::NeedsSeries { .. } => Some("--patches DIR"),
        BuildError::NoRoom { .. } | BuildError::Busy(_) => Some("--output DIR"),
        BuildError::Fetch(FetchError::NoneListed | FetchError::Unknown(_) | FetchError::NoApt) => Some("--source DIR"),
        BuildError::Configure(error) => of_configuration(error),
        _ => None,
    };
    with(&error, mends.map(str::to_owned))
}

/// Why no configuration was made.
pub(super) fn not_configured(error: ConfigureError) -> Failure {
    let mends = of_configuration(&error).map(str::to_owned);
    with(&error, mends)
}

fn of_configuration(error: &ConfigureError) -> Option<&'static str> {
    matches!(error, ConfigureError::NoBase { .. }).then_some("--base FILE")
}

fn with(error: &dyn std::error::Error, mends: Option<String>) -> Failure {
    match mends {
        Some(mends) => Failure::new(format!("{error} ({mends})")),
        None => Failure::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_library_refuses_names_what_mends_it() {
        let root = RootFlag::default();
        let back = "(sudo ontick kernel rollback)";
        assert!(not_installed(InstallError::Interrupted, &root).to_string().ends_with(back));
        let left = InstallError::Left { problem: Box::new(InstallError::Stopped), left: "/boot/x".into() };
        assert!(not_installed(left, &root).to_string().ends_with(back));
        let taken = InstallError::TakenBack(Box::new(LoaderError::from(OnceError::AtRestart).into()));
        assert!(not_installed(taken, &root).to_string().ends_with("as it was before (leave out --once)"));
        assert!(not_kept(KeepError::Untried("6.12".into()), &root).to_string().contains("--untried"));
        assert!(not_built(FetchError::NoApt.into()).to_string().ends_with("name a source tree (--source DIR)"));
        assert_eq!(not_installed(InstallError::Stopped, &root).to_string(), "it was ended");
    }
}
