//! The systemd units that begin at boot: one applies the run-time settings again, one goes on with a search.

use super::apply::make_folders;
use super::{BootPlan, BootWriteError, Edit};
use crate::journal::{Journal, JournalError, Undo};
use crate::profile_file::ProfileFile;
use crate::root::{FileError, Root};
use crate::service_unit::{ServiceUnit, UnitError};
use crate::target::Target;

/// Where the unit of the settings lies.
pub const PATH: &str = "/etc/systemd/system/ontick-tune.service";
/// Where the profile's file lies that the unit reads, where it reads one.
pub const PROFILE: &str = "/etc/ontick/tune-boot.toml";
/// Where that of a search lies.
pub const SEARCH_PATH: &str = "/etc/systemd/system/ontick-search.service";
/// The way out of both: whoever boots once with this on the kernel's command line has none of them.
const WAY_OUT: &str = "!ontick=off";
/// Services that set the same things.
const RIVALS: &str = "systemd-sysctl.service irqbalance.service tuned.service cpufrequtils.service ondemand.service raspi-config.service rtirq.service cpupower.service tlp.service power-profiles-daemon.service auto-cpufreq.service";
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";

/// Whether the machine starts its services by systemd.
pub fn is_read(root: &Root) -> bool {
    let init = || root.value("/proc/1/comm").is_some_and(|name| name == "systemd");
    let installed = || ["/lib/systemd/systemd", "/usr/lib/systemd/systemd"].into_iter().any(|f| root.exists(f));
    // Of a card in a reader only what is installed is known.
    root.exists("/run/systemd/system") || !root.is_live() && (init() || installed())
}

/// The unit's text: `program` is ontick's absolute path.
pub fn text(program: &str, arguments: &[&str]) -> Result<String, UnitError> {
    let unit = ServiceUnit::new()
        .comment("Written by ontick tune --boot; ontick tune revert takes it out again.")
        .section("Unit")
        .value("Description", "Apply ontick's timing settings")?
        .comment("After those that set the same things, so that they do not have the last word.")
        .value("After", RIVALS)?
        .comment("The way out: boot once with ontick=off on the kernel's command line.")
        .value("ConditionKernelCommandLine", WAY_OUT)?
        .section("Service")
        .value("Type", "oneshot")?
        .value("RemainAfterExit", "yes")?
        .comment("Some settings were refused, which the log names; the others stand.")
        .value("SuccessExitStatus", "1")?
        .command("ExecStart", program, arguments)?
        .section("Install")
        .value("WantedBy", "multi-user.target")?;
    Ok(unit.text())
}

/// What the unit holds when there is nothing for it to apply any more.
const IDLE: &str = "\
# Written by ontick tune --boot, which has no settings to apply any more; ontick tune revert takes it out again.
[Unit]
Description=Apply none of ontick's timing settings

[Service]
Type=oneshot
ExecStart=/bin/true

[Install]
WantedBy=multi-user.target
";

/// The text of the unit that goes on with a search after each restart.
pub fn search_text(program: &str, arguments: &[&str]) -> Result<String, UnitError> {
    let unit = ServiceUnit::new()
        .comment("Written by ontick tune search --boot; it is removed when the search ends, or by ontick tune revert.")
        .section("Unit")
        .value("Description", "Go on with ontick's search over boot parameters")?
        .comment("What runs while the machine starts is no part of what is measured.")
        .value("After", "multi-user.target")?
        .value("ConditionKernelCommandLine", WAY_OUT)?
        .section("Service")
        .value("Type", "oneshot")?
        .command("ExecStart", program, arguments)?
        .section("Install")
        .value("WantedBy", "multi-user.target")?;
    Ok(unit.text())
}

/// Adds a profile's file of root's own to a plan, where the target has settings that no knob is about: whoever wrote the one
/// that was given may write it anew. One of an earlier plan that is of no use any more is emptied.
pub fn keep_profile(plan: &mut BootPlan, root: &Root, target: &Target) -> Result<(), JournalError> {
    let before = root.text(PROFILE).ok();
    let note = "Written by ontick tune --boot for its unit; ontick tune revert takes it out again.";
    let text = match target.own.is_empty() {
        true if Journal::read(root)?.entry(PROFILE).is_some() => format!("# {note}\n"),
        true => return Ok(()),
        false => ProfileFile {
            profile: target.profile,
            cpus: Some(target.cpus.clone()),
            knobs: target.only.clone(),
            arguments: Vec::new(),
            set: target.own.clone(),
        }
        .text(&[note.into()]),
    };
    plan.edits.extend(Edit::new(PROFILE, before, text));
    Ok(())
}

/// Adds the unit's file to a plan.
pub fn add_to(plan: &mut BootPlan, root: &Root, program: &str, arguments: &[&str]) -> Result<(), UnitError> {
    write_to(plan, root.text(PATH).ok(), text(program, arguments)?);
    Ok(())
}

/// Has the unit of an earlier plan apply nothing any more; says whether there is such a unit.
pub fn empty(plan: &mut BootPlan, root: &Root) -> Result<bool, JournalError> {
    let before = root.text(PATH).ok();
    let is_ours = before.is_some() && Journal::read(root)?.entry(PATH).is_some();
    if is_ours {
        write_to(plan, before, IDLE.into());
    }
    Ok(is_ours)
}

fn write_to(plan: &mut BootPlan, before: Option<String>, text: String) {
    plan.edits.extend(Edit::new(PATH, before, text));
    if !plan.commands.iter().any(|c| c.contains("daemon-reload")) {
        plan.commands.push("systemctl daemon-reload".into());
    }
}

/// Lets the unit start at boot, once its file is written.
pub fn enable(root: &Root, path: &str, journal: &mut Journal) -> Result<(), BootWriteError> {
    let link = format!("{WANTED}/{}", path.rsplit('/').next().unwrap_or_default());
    if root.link_target(&link).is_some() {
        return Ok(());
    }
    make_folders(root, &link, journal)?;
    let seq = journal.intend("boot", Undo::Link { path: link.clone(), target: path.into() })?;
    match root.link(&link, path) {
        Ok(()) => Ok(journal.done(seq, None)?),
        Err(e) => {
            let _ = journal.void(seq);
            Err(FileError::new(&link, "cannot be made", &e).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where systemd is installed, it is asked itself.
    #[test]
    fn systemd_accepts_the_units() {
        let settings = text("/bin/true", &["tune", "apply", "--cpu", "3"]).unwrap();
        let search = search_text("/bin/true", &["tune", "search", "--boot", "--continue"]).unwrap();
        for (path, text) in [(PATH, settings), (PATH, IDLE.into()), (SEARCH_PATH, search)] {
            let dir = tempfile::tempdir().unwrap();
            let name = path.rsplit('/').next().unwrap();
            let file = dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            let verify = std::process::Command::new("systemd-analyze").arg("verify").arg(&file).output();
            let Ok(output) = verify else { return ontick_skip::skipped!("systemd-analyze is not installed") };
            let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            let about_us: Vec<&str> = said.lines().filter(|l| l.contains(name)).collect();
            assert!(about_us.is_empty(), "{about_us:?}");
            // Other units of this machine may have faults of their own.
            assert!(output.status.success() || !said.is_empty());
        }
    }
}
