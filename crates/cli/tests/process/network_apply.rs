//! `ontick network apply`: the switches of a network on this machine, all of them or none, and back.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

use super::put_back::revert_switches;
use super::switch_user::descendants;
use super::{Running, alone_on_this_machine, has, namespace::namespace, ontick, send, stderr, stdout, wait_until};

/// Two switches in a row, both of this machine.
const NETWORK: &str = r#"
switch = [{ name = "s1" }, { name = "s2" }]
station = [{ name = "a" }, { name = "b" }]
link = [
  { between = ["a", "s1"], ports = ["a0", "s1a"] },
  { between = ["s1", "s2"], ports = ["s1b", "s2a"] },
  { between = ["s2", "b"], ports = ["s2b", "b0"] },
]
stream = [{ name = "setpoint", from = "a", to = "b", size = 100, period = "10ms" }]
"#;
const PORTS: [&str; 4] = ["s1a", "s1b", "s2a", "s2b"];
/// Both switches share a core, on a machine that may be busy.
const PLAN: [&str; 6] = ["network", "plan", "network.toml", "--target", "user", "--forwarding"];
const FORWARDING: [&str; 2] = ["1ms", "--spread"];

/// The switches' interfaces and the cables between them in one namespace, the stations in another.
pub struct Cell {
    pub here: Namespace,
    far: Namespace,
    pub folder: TempDir,
    _alone: crate::apart::Alone,
}

pub fn cell() -> Option<Cell> {
    if !has("ip") || !has("tc") {
        return None;
    }
    let (here, far) = (namespace()?, namespace()?);
    here.join("s1a", &far, "a0").unwrap();
    here.join("s1b", &here, "s2a").unwrap();
    here.join("s2b", &far, "b0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("network.toml"), NETWORK).unwrap();
    let words = [&PLAN[..], &FORWARDING, &["100us", "--out", "plan.json"]].concat();
    let planned = ontick(&words).current_dir(&folder).output().unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    Some(Cell { here, far, folder, _alone: alone_on_this_machine() })
}

impl Cell {
    fn command(&self, command: &str, files: &[&str], more: &[&str]) -> Command {
        let state = self.folder.path().join("state").display().to_string();
        let mut all = ontick(&[&["network", command], files, more, &["--state", &state]].concat());
        all.current_dir(&self.folder);
        all
    }

    fn run(&self, command: &str, files: &[&str], more: &[&str]) -> Output {
        self.here.within(|| self.command(command, files, more).output()).unwrap().unwrap()
    }

    fn apply(&self, more: &[&str]) -> Output {
        self.run("apply", &["network.toml", "plan.json"], more)
    }

    fn status(&self) -> Value {
        serde_json::from_slice(&self.run("status", &["network.toml", "plan.json"], &["--json"]).stdout).expect("JSON")
    }

    fn states(&self) -> Vec<Value> {
        self.status().as_array().unwrap().iter().map(|node| node["state"].clone()).collect()
    }

    /// When each switch goes by itself.
    fn go_in(&self) -> Vec<Option<u64>> {
        self.status().as_array().unwrap().iter().map(|node| node["goes_in_ns"].as_u64()).collect()
    }

    fn revert(&self) -> Output {
        self.run("revert", &["network.toml"], &[])
    }

    fn is_applied(&self, switch: &str) -> bool {
        self.folder.path().join("state").join(switch).exists()
    }

    /// Everything that setting up changes.
    pub fn settings(&self) -> String {
        let look = |program: &str, words: &[&str]| self.here.run(program, words).unwrap();
        let features =
            |port: &&str| self.here.within(|| format!("{:?}", ontick_switch::features::get(port).unwrap())).unwrap();
        let ports = PORTS.iter().map(features).collect::<Vec<_>>().join("\n");
        format!("{}\n{}\n{ports}", look("ip", &["-o", "link", "show"]), look("tc", &["qdisc", "show"]))
    }

    /// Has `ip` do something else where the second switch's last port is to be switched on, which is off until then.
    fn trap(&self, instead: &str) -> String {
        self.here.ip(&["link", "set", "dev", "s2b", "down"]).unwrap();
        let bin = self.folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let script = format!(
            "#!/bin/sh\nPATH=${{PATH#*:}}\ncase \"$*\" in *\"set dev s2b up\") {instead};; esac\nexec ip \"$@\"\n"
        );
        fs::write(bin.join("ip"), script).unwrap();
        fs::set_permissions(bin.join("ip"), fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
    }

    /// An `apply` that has set up the first switch and is at work on the second.
    fn half_applied(&self) -> Child {
        let marker = self.folder.path().join("half-way");
        // No program writes the marker: one that ends meanwhile could not be sent a signal.
        let path = self.trap(&format!(": >{}; exec sleep 100", marker.display()));
        let mut command = self.command("apply", &["network.toml", "plan.json"], &[]);
        command.env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null());
        let child = self.here.within(|| command.spawn()).unwrap().unwrap();
        wait_until("the second switch", || marker.exists());
        assert!(self.is_applied("s1") && self.is_applied("s2"));
        child
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        revert_switches(&self.here, &self.folder.path().join("state"));
    }
}

#[test]
fn both_switches_are_set_up_with_one_base_time_carry_frames_and_are_taken_away() {
    let Some(cell) = cell() else { return };
    let before = cell.settings();
    assert_eq!(cell.states(), ["not-applied", "not-applied"]);
    let shown = cell.apply(&["--dry-run"]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    for words in ["# switch s1\n", "# switch s2\n", "ethtool -K s1a", "# the data plane of s1, s2: "] {
        assert!(stdout(&shown).contains(words), "{words}: {}", stdout(&shown));
    }
    assert!(!cell.is_applied("s1") && cell.settings() == before);

    let applied = cell.apply(&[]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let (text, begins) = (stdout(&applied), "Switches s1, s2 work by turns in process ");
    let pid =
        text.strip_prefix(begins).and_then(|text| text.split_whitespace().next()).unwrap_or_else(|| panic!("{text}"));
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(line.starts_with("ontick\0switch\0run\0--plane\0"), "{line}");
    assert_ne!(cell.settings(), before, "offloads are off meanwhile");
    let status = cell.status();
    assert_eq!(cell.states(), ["as-planned", "as-planned"], "{status}");
    let base = |node: usize| status[node]["base_time_ns"].as_u64().unwrap();
    assert!(base(0) == base(1) && base(0) % 1_000_000_000 == 0, "{status}");
    assert!(stdout(&applied).contains(&format!("Cycles begin at {} ns of TAI", base(0))), "{}", stdout(&applied));
    let again = cell.apply(&[]);
    assert_eq!(again.status.code(), Some(2));
    let state = cell.folder.path().join("state").display().to_string();
    let set_up = format!(
        "switches s1, s2 are set up already: `sudo ontick network status network.toml plan.json --state {state}` shows how, \
         `sudo ontick network revert network.toml --state {state}` restores"
    );
    assert!(stderr(&again).contains(&set_up), "{}", stderr(&again));

    carries(&cell);

    // Held against another plan, it is another network.
    fs::write(cell.folder.path().join("other.toml"), NETWORK.replace("10ms", "5ms")).unwrap();
    let other = cell.run("status", &["other.toml"], &["--json"]);
    assert_eq!(other.status.code(), Some(1));
    let other: Value = serde_json::from_slice(&other.stdout).unwrap();
    assert_eq!([&other[0]["state"], &other[1]["state"]], ["drifted", "drifted"], "{other}");
    assert!(other[0]["differences"].to_string().contains("its gates are of another plan"), "{other}");

    let reverted = cell.revert();
    assert!(reverted.status.success(), "{}{}", stdout(&reverted), stderr(&reverted));
    let gone = |name| format!("Switch {name} is gone; everything else is as before.\n");
    assert_eq!(stdout(&reverted), gone("s2") + &gone("s1"));
    assert_eq!(cell.settings(), before);
    assert_eq!(cell.states(), ["not-applied", "not-applied"]);
    assert_eq!(stdout(&cell.revert()), "No switch of the network is set up here.\n");
}

/// From station to station, through both.
fn carries(cell: &Cell) {
    let station = |command: &str, words: &[&str]| {
        let mut all = ontick(&[&["network", command, "network.toml", "plan.json"], words].concat());
        all.current_dir(&cell.folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        cell.far.within(|| all.spawn()).unwrap().unwrap()
    };
    let mut listener = Running(station("listen", &["--station", "b", "--interface", "b0", "--json"]));
    let mut line = String::new();
    BufReader::new(listener.0.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("listening for 1 stream of station b"), "{line}");
    let talker = station("talk", &["--station", "a", "--interface", "a0", "--count", "50"]);
    let talked = talker.wait_with_output().unwrap();
    assert!(talked.status.success(), "{}", stderr(&talked));
    send(listener.0.id(), Signal::INT);
    let mut heard = String::new();
    listener.0.stdout.as_mut().unwrap().read_to_string(&mut heard).unwrap();
    let heard: Value = serde_json::from_str(&heard).unwrap();
    let stream = &heard["network"]["streams"][0];
    // The last ones may be on their way still.
    assert!(stream["received"].as_u64().unwrap() > 25 && stream["duplicates"] == 0, "{stream}");
}

#[test]
fn what_fails_at_the_second_switch_leaves_nothing_of_the_first() {
    let Some(cell) = cell() else { return };
    let path = cell.trap("echo no such luck >&2; exit 1");
    let before = cell.settings();
    let mut command = cell.command("apply", &["network.toml", "plan.json"], &[]);
    let failed = cell.here.within(|| command.env("PATH", path).output()).unwrap().unwrap();
    assert_eq!(failed.status.code(), Some(2), "{}", stdout(&failed));
    let said = stderr(&failed);
    assert!(said.contains("no such luck") && said.ends_with(". Everything is as before\n"), "{said}");
    assert_eq!(cell.settings(), before);
    assert!(!cell.is_applied("s1") && !cell.is_applied("s2"));
}

#[test]
fn killed_between_two_switches_it_leaves_nothing_behind() {
    let Some(cell) = cell() else { return };
    cell.trap(":");
    let before = cell.settings();
    let child = cell.half_applied();
    let below = descendants(child.id() as i32);
    // Of its children, one is the data plane, which has the blocked program; guardians are in sessions of their own.
    // 0 where the leader is outside this PID namespace, as in a container: rustix's type has no such number.
    // SAFETY: getsid has no preconditions.
    let session = |pid: i32| unsafe { libc::getsid(pid) };
    let own = session(child.id() as i32);
    let guarded: Vec<i32> = below.into_iter().filter(|pid| session(*pid) == own).collect();
    kill(&[&[child.id() as i32][..], &guarded].concat());
    wait_until("the settings to be as before", || cell.settings() == before);
    wait_until("the journals to go", || !cell.is_applied("s1") && !cell.is_applied("s2"));
    reap(child);
}

#[test]
fn killed_with_its_guardians_one_revert_restores_all() {
    let Some(cell) = cell() else { return };
    cell.trap(":");
    let before = cell.settings();
    let child = cell.half_applied();
    kill(&[&descendants(child.id() as i32)[..], &[child.id() as i32][..]].concat());
    reap(child);
    let status = cell.status();
    assert_eq!(cell.states(), ["drifted", "drifted"], "{status}");
    assert!(status[1]["differences"].to_string().contains("was interrupted"), "{status}");
    let refused = cell.apply(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    let reverted = cell.revert();
    assert!(reverted.status.success(), "{}{}", stdout(&reverted), stderr(&reverted));
    assert_eq!(cell.settings(), before);
    assert!(!cell.is_applied("s1") && !cell.is_applied("s2"));
}

/// All at one time: none of them sees the end of another. Some end by themselves or with their parent, before their turn.
fn kill(processes: &[i32]) {
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in processes.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let sent = rustix::process::kill_process(pid, signal);
            assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::SRCH)), "{sent:?}");
        }
    }
}

fn reap(mut child: Child) {
    let _ = child.wait();
}

#[test]
fn unconfirmed_all_go_by_themselves_and_confirmed_all_stay() {
    let Some(cell) = cell() else { return };
    let before = cell.settings();
    let applied = cell.apply(&["--confirm", "500ms"]);
    let state = cell.folder.path().join("state").display().to_string();
    let hints = ["status network.toml plan.json", "confirm network.toml"]
        .map(|of| format!("sudo ontick network {of} --state {state}\n"));
    let said = stdout(&applied);
    assert!(hints.iter().all(|hint| said.contains(hint)), "{said}{}", stderr(&applied));
    wait_until("them to go", || !cell.is_applied("s1") && !cell.is_applied("s2"));
    wait_until("the settings to be as before", || cell.settings() == before);
    let late = cell.run("confirm", &["network.toml"], &[]);
    assert_eq!((late.status.code(), &*stdout(&late)), (Some(1), "No switch of the network waits to be confirmed.\n"));

    let applied = cell.apply(&["--confirm", "60s"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(matches!(cell.go_in()[..], [Some(_), Some(_)]), "{}", cell.status());
    assert_eq!(stdout(&cell.run("confirm", &["network.toml"], &[])), "Switches s1, s2 stay.\n");
    assert_eq!(cell.go_in(), [None, None]);
    assert!(cell.revert().status.success());
    assert_eq!(cell.settings(), before);
}

#[test]
fn what_it_cannot_do_is_said_before_anything_is_changed() {
    let Some(cell) = cell() else { return };
    let before = cell.settings();
    let said = |output: Output| {
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(!cell.is_applied("s1") && !cell.is_applied("s2"));
        stderr(&output)
    };
    for (more, says) in [
        (&["--node", "s3"][..], "the network has no switch s3; its switches are s1, s2"),
        (&["--node", "a"][..], "a is a station: `ontick network talk` and `listen` are for stations"),
        (&["--base-time", "1000"][..], "the base time 1000 was "),
    ] {
        let text = said(cell.apply(more));
        assert!(text.contains(says) && text.lines().count() == 1, "{more:?}: {text}");
    }
    cell.here.ip(&["link", "set", "dev", "s2b", "down"]).unwrap();
    cell.here.ip(&["link", "set", "dev", "s2b", "name", "other"]).unwrap();
    let text = said(cell.apply(&[]));
    assert!(text.contains("switch s2 has interfaces of this machine, but s2b is not here"), "{text}");
    cell.here.ip(&["link", "set", "dev", "other", "name", "s2b"]).unwrap();
    cell.here.ip(&["link", "set", "dev", "s2b", "up"]).unwrap();
    // The stations' side of the cables is none of the switches.
    let far = cell.far.within(|| cell.command("apply", &["network.toml", "plan.json"], &[]).output()).unwrap();
    let text = said(far.unwrap());
    assert!(text.contains("no switch of the network (s1, s2) has its interfaces on this machine"), "{text}");
    // A link that was down takes its time.
    crate::wait_until("all is as before", || cell.settings() == before);
}
