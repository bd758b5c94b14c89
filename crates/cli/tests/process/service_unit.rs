//! A service that root starts at boot runs nothing that another user can replace, and no name adds a line to its unit.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};

use crate::{stderr, stdout};

const SWITCH: &str = "[switch]\nname = \"cell4\"\n[[class]]\nname = \"all\"\nqueue = 0\n[[port]]\nname = \"lan1\"\n[[port]]\nname = \"lan2\"\n";

/// `switch unit` of a copy of ontick and a file, both of which this prepares.
fn unit(program: &str, file: &str, prepare: impl Fn(&std::path::Path)) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        ontick_skip::skipped!("only root can give files to others");
        return None;
    }
    // Not below /tmp, where everybody can write.
    let folder = tempfile::tempdir_in("/var/lib").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (program, file) = (folder.path().join(program), folder.path().join(file));
    for path in [&program, &file] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    // By another process: a test beside this one that forks meanwhile would have the file open for writing, and nothing
    // could run it.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_ontick")).arg(&program).status().unwrap().success());
    fs::write(&file, SWITCH).unwrap();
    prepare(folder.path());
    Some(Command::new(&program).args(["switch", "unit"]).arg(&file).output().unwrap())
}

/// Makes a program's path what it should not be.
type Prepare<'a> = &'a dyn Fn(&std::path::Path);

#[test]
fn a_unit_with_the_program_of_a_home_folder_is_refused() {
    let prepared: [(&str, Prepare); 4] = [
        ("belongs to another user than root (uid 65534)", &|f| chown(f.join("bin"), Some(65_534), None).unwrap()),
        ("belongs to another user than root (uid 65534)", &|f| {
            chown(f.join("bin/ontick"), Some(65_534), None).unwrap();
        }),
        ("can be written by others (mode 0777)", &|f| {
            fs::set_permissions(f.join("bin"), fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("can be written by others (mode 0775)", &|f| {
            fs::set_permissions(f.join("bin/ontick"), fs::Permissions::from_mode(0o775)).unwrap();
        }),
    ];
    for (why, prepare) in prepared {
        let Some(output) = unit("bin/ontick", "cell4.toml", prepare) else { return };
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains(why) && stderr(&output).contains("sudo install"), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    let Some(output) = unit("bin/ontick", "cell4.toml", |_| {}) else { return };
    assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
    assert!(stdout(&output).contains("/bin/ontick switch run /var/lib/"), "{}", stdout(&output));
}

#[test]
fn a_newline_in_a_file_s_name_adds_no_line() {
    let Some(output) = unit("ontick", "a\nExecStartPre=evil\n/cell4.toml", |_| {}) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("/a\\x0aExecStartPre=evil\\x0a/cell4.toml\"\n"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("ExecStartPre")), "{text}");
}

#[test]
fn a_file_that_others_can_write_is_said_beside_the_unit() {
    let open = |folder: &std::path::Path| chown(folder.join("cell4.toml"), Some(65_534), None).unwrap();
    let Some(output) = unit("ontick", "cell4.toml", open) else { return };
    assert!(output.status.success() && stderr(&output).contains("put it where only root can write"));
}

/// A guardian is in the service's own cgroup, and is killed with it: the service manager reverts then.
#[test]
fn a_unit_reverts_the_switch_however_its_process_ended() {
    let Some(output) = unit("ontick", "cell4.toml", |_| {}) else { return };
    let text = stdout(&output);
    let line = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(key));
        let value = lines.next().unwrap_or_else(|| panic!("{key} is missing: {text}"));
        assert_eq!(lines.next(), None, "{text}");
        value.to_owned()
    };
    let program = line("ExecStart=").split(' ').next().unwrap().to_owned();
    assert_eq!(line("ExecStopPost="), format!("{program} switch revert cell4"));
    // The core is asked to end first; what it started is not.
    assert_eq!(line("KillMode="), "mixed");
    assert_eq!(line("Restart="), "on-failure");
}
