//! `ontick kernel build`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ontick_kernel::build::{self, BuildError, Built, Event, From, Order};
use ontick_report::text;

use super::config_flags::ConfigFlags;
use super::configure::unmet_in_words;
use super::errors::not_built;
use super::progress::Progress;
use crate::failure::{Failure, Outcome};
use crate::{stop, terminal};

/// Build a real-time kernel, for this machine or another (`ontick kernel list` may save the build).
///
/// Takes the distribution's source unless a tree is named. An interrupted build continues when it is started again with
/// the same arguments; the same inputs make the same file. Nothing is installed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick kernel build --board rpi4\n  ontick kernel build --board rpi5 --source linux --format tar\n  ontick kernel build --package linux-source-6.1 --patches patches-6.1.176-rt64\n\nWithout --source and --package, the newest source of the distribution is built. --source takes a tree, such as Raspberry Pi's own."
)]
pub struct Build {
    #[command(flatten)]
    request: ConfigFlags,
    /// The kernel's source tree; it is not changed
    #[arg(long, value_name = "DIR", conflicts_with = "package")]
    source: Option<PathBuf>,
    /// The distribution's package of a kernel's source [default: the newest linux-source-*]
    #[arg(long, value_name = "NAME[=VERSION]")]
    package: Option<String>,
    /// The real-time patches for sources that need them: a folder of patches or one file
    #[arg(long, value_name = "PATH")]
    patches: Option<PathBuf>,
    /// Output folder [default: ontick-kernel-BOARD]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Format of the result: a Debian package or a tar
    #[arg(long, value_enum, default_value = "deb")]
    format: Format,
    /// Suffix of the kernel's release
    #[arg(long, value_name = "WORDS", default_value = "-ontick-rt", allow_hyphen_values = true, value_parser = name)]
    name: String,
    /// Number of parallel compilers [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Build even if requested options are missing from the configuration
    #[arg(long)]
    allow_missing: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Deb,
    Tar,
}

impl Build {
    pub fn run(self) -> Result<Outcome, Failure> {
        let order = self.order()?;
        let stop = stop::on_signal()?;
        let progress = Progress::new();
        let result = build::build(&order, &stop, &mut |event: Event| progress.report(event));
        drop(progress);
        match result {
            Ok(built) => {
                self.print(&built)?;
                Ok(if built.unmet.is_empty() { Outcome::Met } else { Outcome::NotMet })
            }
            Err(BuildError::UnmetOptions(unmet)) => {
                let words = unmet_in_words(&unmet);
                terminal::print(&format!("nothing was built (--allow-missing builds all the same){words}"))?;
                Ok(Outcome::NotMet)
            }
            Err(error) if error.interrupted() => {
                Err(Failure::new("interrupted: start it again with the same arguments, and it continues"))
            }
            Err(error) => Err(not_built(error)),
        }
    }

    fn order(&self) -> Result<Order, Failure> {
        let request = self.request.request()?;
        let work = self.output.clone().unwrap_or_else(|| format!("ontick-kernel-{}", request.board.name).into());
        Ok(Order {
            from: match &self.source {
                Some(folder) => From::Tree(folder.clone()),
                None => From::Package(self.package.clone()),
            },
            patches: self.patches.clone(),
            work: std::path::absolute(work)?,
            cross: self.request.cross.clone(),
            jobs: self.jobs.map(usize::from),
            format: match self.format {
                Format::Deb => build::Format::Deb,
                Format::Tar => build::Format::Tar,
            },
            name: self.name.clone(),
            even_if_missing: self.allow_missing,
            request,
        })
    }

    fn print(&self, built: &Built) -> Result<(), Failure> {
        if self.json {
            return terminal::print(&(serde_json::to_string_pretty(built)? + "\n"));
        }
        let style = terminal::style();
        let already = if built.already { " (it was there already, from the same inputs)" } else { "" };
        let mut shown = text::labelled("kernel  ", &built.release, &style);
        shown += &text::labelled("file    ", &format!("{}{already}", built.file.display()), &style);
        shown += &text::labelled("sha256  ", &built.sha256, &style);
        shown += &text::labelled("source  ", &built.inputs.source, &style);
        if !built.inputs.series.is_empty() {
            shown += &text::labelled("series  ", &built.inputs.series, &style);
        }
        terminal::print(&(shown + &unmet_in_words(&built.unmet)))
    }
}

/// A release is part of file names and of a package's name.
fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    match text.len() <= 30 && text.starts_with(['-', '+', '.']) && text.chars().all(plain) {
        true => Ok(text.into()),
        false => Err("begin with - + or . and go on with small letters, digits and these, at most 30 in all".into()),
    }
}
