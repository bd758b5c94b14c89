//! The systemd unit that applies the run-time settings again at each boot.

use super::apply::make_folders;
use super::{BootPlan, Edit};
use crate::journal::{Journal, JournalError, Undo};
use crate::root::{Root, reason};

/// Where the unit lies.
pub const PATH: &str = "/etc/systemd/system/ontick-tune.service";
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";

/// Whether the machine starts its services by systemd.
pub fn is_read(root: &Root) -> bool {
    let init = || root.value("/proc/1/comm").is_some_and(|name| name == "systemd");
    let installed = || ["/lib/systemd/systemd", "/usr/lib/systemd/systemd"].into_iter().any(|f| root.exists(f));
    // Of a card in a reader only what is installed is known.
    root.exists("/run/systemd/system") || !root.is_live() && (init() || installed())
}

/// The unit's text. `command` is the absolute path of ontick and its arguments, each of which systemd is
/// to take as one word.
pub fn text(command: &[&str]) -> String {
    let words: Vec<String> = command.iter().map(|w| quoted(w)).collect();
    format!(
        "# Written by ontick tune --boot; ontick tune revert takes it out again.\n\
         [Unit]\n\
         Description=Apply ontick's timing settings\n\
         # After those that set the same things, so that they do not have the last word.\n\
         After=systemd-sysctl.service irqbalance.service tuned.service cpufrequtils.service ondemand.service raspi-config.service rtirq.service cpupower.service tlp.service power-profiles-daemon.service auto-cpufreq.service\n\
         # The way out: boot once with ontick=off on the kernel's command line.\n\
         ConditionKernelCommandLine=!ontick=off\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         # Some settings were refused, which the log names; the others stand.\n\
         SuccessExitStatus=1\n\
         ExecStart={}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        words.join(" ")
    )
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.,:=+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        // `%` and `$` have a meaning of their own, also in quotes.
        false => {
            format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$"))
        }
    }
}

/// Adds the unit's file to a plan.
pub fn add_to(plan: &mut BootPlan, root: &Root, command: &[&str]) {
    plan.edits.extend(Edit::new(PATH, root.text(PATH).ok(), text(command)));
    if !plan.commands.iter().any(|c| c.contains("daemon-reload")) {
        plan.commands.push("systemctl daemon-reload".into());
    }
}

/// Lets the unit start at boot, once its file is written.
pub fn enable(root: &Root, journal: &mut Journal) -> Result<(), String> {
    let link = format!("{WANTED}/ontick-tune.service");
    if root.link_target(&link).is_some() {
        return Ok(());
    }
    let said = |e: JournalError| e.to_string();
    make_folders(root, &link, journal)?;
    let seq = journal.intend("boot", Undo::Link { path: link.clone(), target: PATH.into() }).map_err(said)?;
    match root.link(&link, PATH) {
        Ok(()) => journal.done(seq, None).map_err(said),
        Err(e) => {
            let _ = journal.void(seq);
            Err(format!("{link} cannot be made: {}", reason(&e)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_systemd() {
        assert_eq!(quoted("--cpu=2-3"), "--cpu=2-3");
        assert_eq!(quoted("a b%$\"\\"), "\"a b%%$$\\\"\\\\\"");
        assert!(text(&["/usr/bin/ontick", "tune", "apply"]).contains("\nExecStart=/usr/bin/ontick tune apply\n"));
    }

    /// Where systemd is installed, it is asked itself.
    #[test]
    fn systemd_accepts_the_unit() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ontick-tune.service");
        std::fs::write(&file, text(&["/bin/true", "tune", "apply", "--cpu", "3"])).unwrap();
        let verify = std::process::Command::new("systemd-analyze").arg("verify").arg(&file).output();
        let Ok(output) = verify else { return eprintln!("not tested: systemd-analyze is not installed") };
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let about_us: Vec<&str> = said.lines().filter(|l| l.contains("ontick-tune")).collect();
        assert!(about_us.is_empty(), "{about_us:?}");
        // Other units of this machine may have faults of their own.
        assert!(output.status.success() || !said.is_empty());
    }
}
