//! `ontick kernel configure`

use std::path::PathBuf;

use clap::Args;
use ontick_kernel::configure::{Configured, asked, configure};
use ontick_kernel::fragment;
use ontick_kernel::make::Make;
use ontick_kernel::source::Source;
use ontick_kernel::unmet_options::UnmetOption;
use ontick_report::text;
use serde::Serialize;

use super::config_flags::ConfigFlags;
use super::errors::not_configured;
use super::uses;
use crate::failure::{Failure, Outcome};
use crate::{stop, terminal};

/// Make a real-time configuration for a board, from an existing configuration and the options that real time needs.
///
/// Every requested option that is not in the result is named with the reason; the exit status is then 1. Without a
/// source tree, only the requested options are printed; --base and --cross are for a configuration in a tree.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick kernel configure --board rpi4                  only the changes\n  ontick kernel configure --board rpi4 --source linux   into ontick-kernel-rpi4/\n  ontick kernel configure --source linux --base /boot/config-$(uname -r)"
)]
pub struct Configure {
    #[command(flatten)]
    request: ConfigFlags,
    /// The kernel's source tree
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Output folder [default: ontick-kernel-BOARD]
    #[arg(long, value_name = "DIR", requires = "source")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    source: String,
    base: &'a str,
    config: String,
    asked: usize,
    #[serde(rename = "missing")]
    unmet: &'a [UnmetOption],
}

#[derive(Serialize)]
struct ShownOption<'a> {
    name: &'a str,
    value: Option<&'a str>,
    why: &'a str,
}

impl Configure {
    pub fn run(self) -> Result<Outcome, Failure> {
        let request = self.request.request()?;
        let Some(folder) = &self.source else {
            self.request.needs_no_tree()?;
            let mut asked = asked(&request, None);
            uses::in_requests(&mut asked);
            self.print(&asked)?;
            return Ok(Outcome::Met);
        };
        let source = Source::open(folder)?;
        let output = self.output.clone().unwrap_or_else(|| format!("ontick-kernel-{}", request.board.name).into());
        let output = std::path::absolute(output)?;
        let make = Make::new(&source, &output, request.arch, self.request.cross.as_deref());
        let configured = configure(&source, &make, &request, &*stop::on_signal()?).map_err(not_configured)?;
        if self.json {
            let shown = Shown {
                source: source.version.to_string(),
                base: &configured.base,
                config: configured.file.display().to_string(),
                asked: configured.asked,
                unmet: &configured.unmet,
            };
            terminal::print(&(serde_json::to_string_pretty(&shown)? + "\n"))?;
        } else {
            terminal::print(&render(&source, &configured))?;
        }
        Ok(if configured.unmet.is_empty() { Outcome::Met } else { Outcome::NotMet })
    }

    fn print(&self, asked: &[fragment::OptionRequest]) -> Result<(), Failure> {
        if !self.json {
            return terminal::print(&fragment::text(asked));
        }
        let option = |one: &'_ fragment::OptionRequest| {
            serde_json::to_value(ShownOption { name: &one.name, value: one.value.as_deref(), why: &one.why })
        };
        let options: Vec<_> = asked.iter().map(option).collect::<Result<_, _>>()?;
        terminal::print(&(serde_json::to_string_pretty(&options)? + "\n"))
    }
}

fn render(source: &Source, configured: &Configured) -> String {
    let there = configured.asked - configured.unmet.len();
    let style = terminal::style();
    let mut text = text::labelled("source  ", &format!("linux {}", source.version), &style);
    text += &text::labelled("base    ", &configured.base, &style);
    text += &text::labelled("result  ", &configured.file.display().to_string(), &style);
    text += &text::labelled("options ", &format!("{there} of {} as asked for", configured.asked), &style);
    text + &unmet_in_words(&configured.unmet)
}

/// What was asked for in vain, one line each.
pub fn unmet_in_words(unmet: &[UnmetOption]) -> String {
    let style = terminal::style();
    let line = |one: &UnmetOption| {
        let words = format!("asked for {}, got {}: {}", one.asked, one.actual, one.why);
        text::labelled(&format!("  {} ", one.name), &words, &style)
    };
    match unmet.is_empty() {
        true => String::new(),
        false => format!("\nnot as asked for:\n{}", unmet.iter().map(line).collect::<String>()),
    }
}
