//! `ontick switch plan --for-another-machine`: the commands of the kernel's data plane for ports and a kernel that are not
//! here.

use std::path::Path;

use clap::Args;
use ontick_record::Severity;
use ontick_report::text;
use ontick_switch::check;
use ontick_switch::kernel::{AnotherMachine, Release, plan_elsewhere};
use ontick_tsn::model::Plane;

use super::super::file;
use super::super::target_flags::PlaneFlag;
use super::setup;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// The other machine.
#[derive(Args, Debug)]
pub struct ElsewhereFlags {
    /// The commands for a machine that has the file's ports, not for this one; what is not known of it is assumed, and
    /// printed (of a switch, for the kernel's data plane)
    #[arg(long)]
    pub for_another_machine: bool,
    /// Release of its kernel [default: 6.12]
    #[arg(long, value_name = "RELEASE", requires = "for_another_machine")]
    kernel_version: Option<Release>,
    /// Driver of its ports, as `ethtool -i PORT` shows it
    #[arg(long, value_name = "NAME", requires = "for_another_machine")]
    driver: Option<String>,
    /// Transmit queues of each of its ports [default: one for each class]
    #[arg(long, value_name = "N", requires = "for_another_machine", value_parser = clap::value_parser!(u32).range(1..=256))]
    queues: Option<u32>,
}

impl ElsewhereFlags {
    pub fn run(&self, path: &Path, plane: Option<PlaneFlag>, json: bool) -> Result<Outcome, Failure> {
        let mut switch = file::read(path)?;
        if plane.map_or(switch.plane, Plane::from) == Plane::User {
            return Err(Failure::new(
                "--for-another-machine prints the commands of the kernel's data plane, and the user data plane needs none \
                 but `ontick switch run`: add --plane kernel",
            ));
        }
        switch.plane = Plane::Kernel;
        let machine = AnotherMachine { release: self.kernel_version, driver: self.driver.clone(), queues: self.queues };
        let short = check::windows(&switch, Plane::Kernel, |port| port.rate, None);
        if let Some(short) = short.iter().find(|finding| finding.severity == Severity::Bad) {
            return Err(Failure::new(format!(
                "{}: {}, and it needs {}; {}",
                short.id, short.observed, short.should, short.why
            )));
        }
        let there = plan_elsewhere(&machine, &switch, ontick_switch::clock::now_ns(switch.clock))?;
        if json {
            let shown = setup::render(&switch, &there.plan, &there.assumptions);
            terminal::print(&(serde_json::to_string_pretty(&shown)? + "\n"))?;
        } else {
            let assumed = there.assumptions.iter().cloned().chain(self.options_not_given());
            let assumed: String = assumed.map(|sentence| comment(&sentence)).collect();
            let commands = setup::text(path, &switch, &there.plan);
            terminal::print(&format!("# For another machine, which has:\n{assumed}{commands}"))?;
            file::notes(&there.plan);
        }
        Ok(Outcome::Met)
    }

    /// How what is assumed is said instead.
    fn options_not_given(&self) -> Option<String> {
        let options = [
            ("--kernel-version", self.kernel_version.is_some()),
            ("--driver", self.driver.is_some()),
            ("--queues, with the number in /sys/class/net/PORT/queues", self.queues.is_some()),
        ];
        let open: Vec<&str> = options.into_iter().filter(|(_, given)| !given).map(|(option, _)| option).collect();
        (!open.is_empty()).then(|| format!("what is assumed can be given: {}", open.join("; ")))
    }
}

/// A sentence as lines of a script that a shell passes over.
fn comment(sentence: &str) -> String {
    let style = text::Style { width: terminal::style().width.saturating_sub(4), colour: false };
    let lines = text::labelled("- ", sentence, &style);
    lines.lines().map(|line| format!("#   {line}\n")).collect()
}
