//! `ontick kernel check`

use std::path::PathBuf;

use clap::Args;
use ontick_kernel::check::check;
use ontick_machine::facts::KernelConfig;
use ontick_machine::{Facts, Root};
use ontick_record::findings::{Finding, any_bad};
use ontick_report::text;
use serde::Serialize;

use super::uses;
use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::terminal;

/// Check whether a kernel's configuration is fit for real time, each option with the reason, worst first; changes
/// nothing.
///
/// Checks the running kernel's configuration unless a file is named. Exit status 1 if it is not fit.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick kernel check                          the running kernel\n  ontick kernel check --all\n  ontick kernel check --config linux/.config   one that is to be built"
)]
pub struct Check {
    /// The configuration to look at: a .config, a /boot/config-RELEASE, or one compressed by gzip
    #[arg(long, value_name = "FILE", conflicts_with = "folder")]
    config: Option<PathBuf>,
    /// Show also what is well, and every reason with its source
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Checked<'a> {
    config: &'a str,
    fit: bool,
    findings: Vec<Finding>,
}

impl Check {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (config, version) = self.read()?;
        let mut findings = check(&config, version);
        uses::in_findings(&mut findings);
        let fit = !any_bad(&findings);
        if self.json {
            let checked = Checked { config: &config.source, fit, findings };
            terminal::print(&(serde_json::to_string_pretty(&checked)? + "\n"))?;
        } else {
            let verdict = if fit { "fit" } else { "not fit" };
            let shown = text::findings(&findings, self.all, &terminal::style());
            terminal::print(&format!("{}: {verdict} for real time\n\n{shown}", config.source))?;
        }
        Ok(if fit { Outcome::Met } else { Outcome::NotMet })
    }

    fn read(&self) -> Result<(KernelConfig, Option<(u32, u32)>), Failure> {
        let Some(file) = &self.config else { return self.running() };
        let name = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|e| Failure::new(format!("{name} cannot be read: {e}")))?;
        match KernelConfig::read(&name, &bytes) {
            Some(config) if !config.is_empty() => Ok((config, None)),
            Some(_) => Err(Failure::new(format!("{name} sets no option: it is no configuration of a kernel"))),
            None => Err(Failure::new(format!("{name} does not unpack: it is cut off or too large"))),
        }
    }

    fn running(&self) -> Result<(KernelConfig, Option<(u32, u32)>), Failure> {
        let root = self.root.open()?;
        let facts = Facts::gather(&root);
        if !facts.config.known() {
            if facts.kernel.release.is_empty() {
                return Err(Failure::new(format!(
                    "no kernel runs here, so which configuration in {} or {} is meant is not known: name a file with --config",
                    here(&root, "/boot"),
                    here(&root, "/lib/modules")
                )));
            }
            return Err(Failure::new(format!(
                "no configuration of the kernel {} was found in /proc/config.gz, /boot or /lib/modules: try modprobe \
                 configs, or name a file with --config",
                facts.kernel.release
            )));
        }
        let version = Some(facts.kernel.version).filter(|version| *version != (0, 0));
        Ok((facts.config, version))
    }
}

/// A folder of the machine, as it is reached.
fn here(root: &Root, folder: &str) -> String {
    root.outside(folder).map_or_else(|_| folder.into(), |place| place.display().to_string())
}
