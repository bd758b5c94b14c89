//! `ontick kernel install`

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use clap::Args;
use ontick_kernel::install::{Applied, Initramfs, InstallOptions, InstallPlan, Package, apply};
use ontick_machine::boot::Edit;
use ontick_machine::journal::JournalKind;
use ontick_machine::{Facts, Journal, Root};
use ontick_report::Style;
use ontick_report::text::{Entry, Mark, diff, labelled, list};
use serde::Serialize;

use super::errors::not_installed;
use crate::commands::tune::render::{counted, entry, notes};
use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::{stop, terminal};

/// Install a kernel beside the present one, never over it.
///
/// It gets files and a boot entry of its own; the default boot entry stays as it is until `ontick kernel keep`. Takes a
/// tar with boot/…, lib/modules/RELEASE and device trees (plain, .gz, .xz, .zst), or a Debian
/// package. Every change is journaled first: `ontick kernel rollback` undoes it, also after a power cut.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick kernel install linux-rt.tar.xz\n  sudo ontick kernel install --dry-run linux-image-6.12-rt_arm64.deb\n  sudo ontick kernel install --once linux-rt.tar.xz\n  sudo ontick kernel install --root /media/card linux-rt.tar.xz"
)]
pub struct Install {
    /// A tar, or a Debian package
    #[arg(value_name = "PACKAGE|TAR")]
    package: PathBuf,
    /// Name of its folder under /boot and of its boot entry [default: ontick-RELEASE]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Let GRUB boot it once, at the next boot
    #[arg(long)]
    once: bool,
    /// Show what would be done; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Installed<'a> {
    plan: &'a InstallPlan,
    /// Not there where nothing was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<&'a Applied>,
}

impl Install {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = match self.dry_run {
            true => self.root.open()?,
            false => self.root.open_to_change("kernel install")?,
        };
        let package = Package::open(&self.package).map_err(Failure::new)?;
        let facts = Facts::gather(&root);
        let options = InstallOptions { name: self.name.clone(), once: self.once };
        let (plan, applied) = match self.dry_run {
            true => {
                (InstallPlan::make(&root, &facts, &package, &options).map_err(|e| not_installed(e, &self.root))?, None)
            }
            false => {
                let (plan, applied) = carry_out(&root, &facts, &package, &options, &self.root)?;
                (plan, Some(applied))
            }
        };
        if self.json {
            let said = Installed { plan: &plan, applied: applied.as_ref() };
            terminal::print(&(serde_json::to_string_pretty(&said)? + "\n"))?;
            return Ok(Outcome::Met);
        }
        let style = terminal::style();
        let text = match &applied {
            Some(applied) => done(&plan, applied, &style) + &afterwards(&plan, &root, &self.root),
            None => would(&plan, &style),
        };
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }
}

/// The journal is held from before the plan is made, so that it holds when it is carried out.
fn carry_out(
    root: &Root,
    facts: &Facts,
    package: &Package,
    options: &InstallOptions,
    flag: &RootFlag,
) -> Result<(InstallPlan, Applied), Failure> {
    let mut journal = Journal::open_kind(root, JournalKind::Kernel)?;
    let stop = stop::on_signal()?;
    let result = InstallPlan::make(root, facts, package, options).and_then(|plan| {
        let applied = apply(root, &plan, package, &mut journal, &mut |_| !stop.load(Relaxed))?;
        Ok((plan, applied))
    });
    journal.close();
    result.map_err(|e| not_installed(e, flag))
}

fn would(plan: &InstallPlan, style: &Style) -> String {
    let mut text = list(&parts(plan, (Mark::Look, "would"), None), style);
    for space in &plan.space {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let said = format!("{} MiB needed, {} MiB free", mib(space.needed), mib(space.free));
        text += &list(&[entry(Mark::Good, "room", &space.folder, said, Vec::new())], style);
    }
    text += &notes(&plan.notes, style);
    plan.edits.iter().for_each(|edit: &Edit| text += &format!("\n{}", diff(&edit.diff, style)));
    text + "\nNothing is changed yet.\n"
}

fn done(plan: &InstallPlan, applied: &Applied, style: &Style) -> String {
    let mut entries = parts(plan, (Mark::Good, "done"), Some(applied.files));
    for file in &applied.written {
        let backup = file.backup.iter().map(|b| ("backup", b.clone())).collect();
        entries.push(entry(Mark::Good, "written", "boot file", file.path.clone(), backup));
    }
    let once = plan.once.as_ref().map(|o| entry(Mark::Good, "written", "next boot", o.path.clone(), Vec::new()));
    entries.extend(once);
    list(&entries, style) + &notes(&plan.notes, style)
}

fn parts(plan: &InstallPlan, (mark, word): (Mark, &str), files: Option<usize>) -> Vec<Entry> {
    let kernel = &plan.kernel;
    let files = files.map(|n| format!(" ({})", counted(n, "file"))).unwrap_or_default();
    let initramfs = match &plan.initramfs {
        Initramfs::None => None,
        Initramfs::Packed => Some("from the package".to_owned()),
        Initramfs::Made(program) => Some(format!("by {program}")),
    };
    let below = initramfs.map(|how| ("initramfs", how)).into_iter().collect();
    vec![
        entry(mark, word, "modules", format!("{}{files}", plan.modules), Vec::new()),
        entry(mark, word, "kernel", format!("{}/{}", kernel.folder, kernel.kernel), below),
    ]
}

fn afterwards(plan: &InstallPlan, root: &Root, flag: &RootFlag) -> String {
    let style = terminal::style();
    let mut text = String::from("\nThe default boot entry is unchanged.\n");
    let mut line = |label: &str, said: &str| text += &labelled(label, said, &style);
    let there = if root.is_live() { "" } else { " (on that machine)" };
    match plan.try_it.is_empty() {
        true => {
            line("try it    ", "see the notes above");
            line("untried   ", &flag.command("sudo ontick kernel keep --untried"));
        }
        false => line("try it    ", &format!("{}{there}", plan.try_it.join(" && "))),
    }
    line("keep it   ", &format!("sudo ontick kernel keep{there}, once it runs"));
    line("go back   ", &flag.command("sudo ontick kernel rollback"));
    text
}
