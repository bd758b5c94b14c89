//! The kernel's own makefiles: for which processor, with which compiler, into which folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::command::{self, CommandError};
use super::null_device;
use super::options::Arch;
use super::source::Source;

/// How make is called for one kernel.
#[derive(Debug, Clone)]
pub struct Make {
    /// The tree.
    pub source: PathBuf,
    /// Where everything that is made goes.
    pub output: PathBuf,
    /// For which processor.
    pub arch: Arch,
    /// What stands before the names of the compiler and its companions (`aarch64-linux-gnu-`); empty for this machine's.
    pub cross: String,
    /// How many at once.
    pub jobs: usize,
    /// The moment that stands in everything made, in seconds since 1970, so that the same inputs make the same kernel.
    pub epoch: u64,
}

impl Make {
    /// For this machine's cores.
    pub fn new(source: &Source, output: &Path, arch: Arch, cross: Option<&str>) -> Self {
        let cross = cross.map_or_else(|| default_cross(arch).to_owned(), str::to_owned);
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self { source: source.folder.clone(), output: output.to_owned(), arch, cross, jobs, epoch: 0 }
    }

    /// The compiler's name.
    pub fn compiler(&self) -> String {
        format!("{}gcc", self.cross)
    }

    /// A call with these targets and settings.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = null_device::command_that_keeps_it("make");
        command.arg("-C").arg(&self.source).arg(format!("O={}", self.output.display()));
        command.arg(format!("ARCH={}", self.arch.name())).arg(format!("CROSS_COMPILE={}", self.cross));
        command.arg(format!("-j{}", self.jobs)).args(words);
        // Nothing of who builds where and when may reach the kernel.
        let moment = format!("@{}", self.epoch);
        let fixed = [
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("KBUILD_BUILD_TIMESTAMP", moment.as_str()),
            ("KBUILD_BUILD_USER", "ontick"),
            ("KBUILD_BUILD_HOST", "ontick"),
            ("KBUILD_BUILD_VERSION", "1"),
            // Empty, but set: else a tree with changes would add a plus to the release.
            ("LOCALVERSION", ""),
        ];
        command.envs(fixed).env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        // What a caller's make, or a kernel developer's habits, would change.
        let foreign = ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KBUILD_OUTPUT", "KCONFIG_CONFIG", "KCFLAGS", "KCPPFLAGS"];
        for name in foreign {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub fn run(
        &self,
        what: &str,
        words: &[&str],
        stop: &AtomicBool,
        line: &mut dyn FnMut(&str),
    ) -> Result<(), CommandError> {
        command::run(what, &mut self.command(words), stop, line)
    }

    /// What it prints (`kernelrelease`, `image_name`).
    pub fn says(&self, target: &str) -> Result<String, CommandError> {
        let said =
            command::output(&format!("make {target}"), &mut self.command(&["-s", "--no-print-directory", target]))?;
        Ok(said.lines().last().unwrap_or_default().trim().to_owned())
    }
}

/// Debian's names of the compilers for other machines.
pub fn default_cross(arch: Arch) -> &'static str {
    match arch {
        _ if Arch::named(std::env::consts::ARCH) == Some(arch) => "",
        Arch::Arm64 => "aarch64-linux-gnu-",
        Arch::Arm => "arm-linux-gnueabihf-",
        Arch::X86 => "x86_64-linux-gnu-",
    }
}
