//! What ontick keeps to put a machine back: another user can neither forge nor hold it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::settings::{AsBefore, difference, settings};
use crate::{alone_on_this_machine, has, may_tune, ontick, run, stderr, stdout, wait_until};

const FOLDER: &str = "/var/lib/ontick";
const JOURNAL: &str = "/var/lib/ontick/tune.jsonl";
const KNOB: &str = "/proc/sys/vm/stat_interval";
const NOBODY: u32 = 65_534;

fn mode(path: &str) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Takes a folder away that a test planted.
struct Planted(&'static str);

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0);
    }
}

/// What another user would write, to let root set a value.
fn forged() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    format!(
        "{}\n{}\n",
        serde_json::json!({ "step": "begin", "journal": "ontick-tune/1", "boot": boot.trim() }),
        serde_json::json!({ "step": "intend", "seq": 1, "knob": "stat-interval", "undo":
            { "kind": "value", "path": KNOB, "form": "plain", "original": "77\n", "wanted": "10" } })
    )
}

fn refused(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", stdout(output));
    let text = stderr(output);
    assert!(text.contains(why) && text.contains("sudo chown root:") && text.lines().count() == 1, "{text}");
}

#[test]
fn a_forged_journal_writes_nothing() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let _planted = Planted(FOLDER);
    // Another user's folder; everybody's folder; another user's file in root's own folder.
    for (owner, mode, file_owner, why) in [
        (NOBODY, 0o755, NOBODY, "belongs to another user (uid 65534)"),
        (0, 0o777, NOBODY, "can be written by others (mode 0777)"),
        (0, 0o755, NOBODY, "belongs to another user (uid 65534)"),
    ] {
        fs::create_dir(FOLDER).unwrap();
        fs::write(JOURNAL, forged()).unwrap();
        chown(JOURNAL, Some(file_owner), None).unwrap();
        fs::set_permissions(FOLDER, fs::Permissions::from_mode(mode)).unwrap();
        chown(FOLDER, Some(owner), None).unwrap();
        refused(&run(&["tune", "revert"]), why);
        refused(&run(&["tune", "apply", "stat-interval"]), why);
        refused(&run(&["tune", "status"]), why);
        assert_eq!(fs::read_to_string(KNOB).unwrap(), before[KNOB]);
        fs::remove_dir_all(FOLDER).unwrap();
    }
}

#[test]
fn another_user_who_locks_the_folder_blocks_nobody() {
    let _alone = alone_on_this_machine();
    if !has("flock") || !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let applied = run(&["tune", "apply", "stat-interval"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let lock = |file: &str| {
        let mut command = Command::new("flock");
        // It says when it has it, and keeps it until its input ends.
        command.args(["--nonblock", file, "sh", "-c", "echo locked; read x"]).uid(NOBODY).gid(NOBODY);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut holder = lock(FOLDER);
    let mut said = [0; 7];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"locked\n", "the folder itself can be locked");
    let reverted = run(&["tune", "revert"]);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(reverted.status.code(), Some(0), "{}", stderr(&reverted));
    assert!(difference(&before, &settings()).is_empty());

    // What ontick does lock, another user cannot even open.
    let applied = run(&["tune", "apply", "stat-interval"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert_eq!(mode("/var/lib/ontick/.lock"), 0o600);
    assert!(!lock("/var/lib/ontick/.lock").wait().unwrap().success());
}

/// A command and its guardian were killed together: its settings are in the journal, and nobody holds that.
#[test]
fn switch_revert_puts_the_settings_of_a_killed_command_back() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = AsBefore(before.clone());
    let applied = run(&["tune", "apply", "stat-interval"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let state = tempfile::tempdir().unwrap();
    let words = ["switch", "revert", "--state", state.path().to_str().unwrap()];
    let changed = settings();
    // What `tune apply` set stays.
    let reverted = run(&words);
    assert!(reverted.status.success() && stderr(&reverted).is_empty(), "{}", stderr(&reverted));
    assert!(difference(&changed, &settings()).is_empty());

    let journal = fs::read_to_string(JOURNAL).unwrap();
    let temporary = journal.replacen("\"step\":\"begin\"", "\"step\":\"begin\",\"command\":\"switch run\"", 1);
    assert_ne!(journal, temporary);
    fs::write(JOURNAL, temporary).unwrap();
    let changed = settings();
    // While somebody holds the journal, the command still runs.
    let held = fs::File::open("/var/lib/ontick/.lock").unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert!(run(&words).status.success() && difference(&changed, &settings()).is_empty());
    drop(held);
    // A process that was just being started may have the lock for a moment more.
    let mut said = String::new();
    wait_until("the settings as before", || {
        let reverted = run(&words);
        assert!(reverted.status.success(), "{}", stderr(&reverted));
        said += &stderr(&reverted);
        difference(&before, &settings()).is_empty()
    });
    assert!(said.contains(&format!("settings of a command that was killed are as before: {KNOB}")), "{said}");
}

#[test]
fn the_umask_is_of_no_account() {
    let _alone = alone_on_this_machine();
    if !may_tune() {
        return;
    }
    let _as_before = AsBefore(settings());
    for umask in ["0", "077"] {
        let text = format!("umask {umask}; exec \"$0\" tune apply stat-interval");
        let applied = Command::new("sh").args(["-c", &text, env!("CARGO_BIN_EXE_ontick")]).output().unwrap();
        assert!(applied.status.success(), "{}", stderr(&applied));
        assert_eq!((mode(FOLDER), mode(JOURNAL)), (0o755, 0o644), "umask {umask}");
        assert!(run(&["tune", "revert"]).status.success());
        assert!(!Path::new(FOLDER).exists());
    }
}

#[test]
fn the_folder_of_switches_is_not_believed_where_others_can_write() {
    if !rustix::process::geteuid().is_root() {
        return ontick_skip::skipped!("root is needed");
    }
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("ontick/switch");
    fs::create_dir_all(state.join("cell4")).unwrap();
    // A file that root would write.
    let target = place.path().join("target");
    fs::write(&target, "old").unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let network = fs::read_link("/proc/self/ns/net").unwrap().to_str().unwrap().to_owned();
    let number: u64 = network.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    let journal = format!(
        "{}\n{}\n",
        serde_json::json!({ "record": "begin", "journal": "ontick-switch/1", "boot": boot.trim(), "network": number }),
        serde_json::json!({ "record": "intend", "step": "s", "undos":
            [{ "undo": "value", "path": target, "was": "forged", "port": null }] })
    );
    fs::write(state.join("cell4/journal.jsonl"), journal).unwrap();
    let words = ["switch", "revert", "cell4", "--state", state.to_str().unwrap()];
    for at_fault in [state.join("cell4"), state.clone(), place.path().join("ontick")] {
        let set_mode = |mode| fs::set_permissions(&at_fault, fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o777);
        let output = ontick(&words).output().unwrap();
        refused(&output, "can be written by others (mode 0777)");
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        set_mode(0o755);
    }
    // The same journal, as root's own: the test is about something.
    let output = ontick(&words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&target).unwrap().trim(), "forged");
}
