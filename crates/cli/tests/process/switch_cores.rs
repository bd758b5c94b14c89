//! Two switches on one machine, and what else wants their CPUs.

use std::process::{Child, Command, Output, Stdio};

use ontick_rt::cpus;
use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use super::put_back::revert_switches;
use super::run_command::may_be_real_time;
use super::{alone_on_this_machine, has, namespace::namespace, ontick, run, send, stderr, wait_until};

/// A switch of two ports, with a network and a folder of its own.
struct Switch {
    here: Namespace,
    _far: Namespace,
    folder: tempfile::TempDir,
}

impl Switch {
    fn new() -> Option<Self> {
        let (here, far) = (namespace()?, namespace()?);
        here.join("port0", &far, "far0").unwrap();
        here.join("port1", &far, "far1").unwrap();
        Some(Self { here, _far: far, folder: tempfile::tempdir().unwrap() })
    }

    /// Its file, with a line that names CPUs, or none.
    fn file(&self, cpu: &str) -> String {
        let text = format!(
            "[switch]\nname = \"cell\"\nplane = \"user\"\n{cpu}\n\n[[class]]\nname = \"all\"\nqueue = 0\n\n[[port]]\nname \
             = \"port0\"\nrate = \"1Gbit\"\n\n[[port]]\nname = \"port1\"\nrate = \"1Gbit\"\n"
        );
        let path = self.folder.path().join("cell.toml");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn command(&self, words: &[&str]) -> Command {
        let state = self.folder.path().join("state").display().to_string();
        ontick(&[&["switch"], words, &["--state", &state]].concat())
    }

    fn start(&self) -> Child {
        let mut command = self.command(&["run", &self.file("")]);
        let child = self.here.within(|| command.stderr(Stdio::piped()).spawn()).unwrap().unwrap();
        wait_until("the switch to work", || self.report().is_object());
        child
    }

    fn run(&self, words: &[&str]) -> Output {
        self.here.within(|| self.command(words).output()).unwrap().unwrap()
    }

    fn report(&self) -> Value {
        let status: Value = serde_json::from_slice(&self.run(&["status", "--json"]).stdout).unwrap_or_default();
        status["report"].clone()
    }

    fn turns(&self) -> u64 {
        self.report()["counters"]["turns"].as_u64().unwrap_or(0)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        revert_switches(&self.here, &self.folder.path().join("state"));
    }
}

/// Both ended within the patience of `wait_until`, and with success.
fn end(mut child: Child) -> String {
    send(child.id(), Signal::INT);
    let mut status = None;
    wait_until("the switch to end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(status.is_some_and(|status| status.success()), "{said}");
    // Not by the last resort, which is patience at its end.
    assert!(!said.contains("the core did not end in time"), "{said}");
    said
}

/// On two CPUs the second has none for itself, or the machine would have none left; on more it has another.
#[test]
fn two_switches_work_side_by_side_and_end() {
    if !has("ip") || !has("tc") {
        return;
    }
    let _alone = alone_on_this_machine();
    let (Some(first), Some(second)) = (Switch::new(), Switch::new()) else { return };
    let has_a_cpu = cpus::online().len() > 1 && may_be_real_time();
    let one = first.start();
    let (report, pid) = (first.report(), one.id());
    let other = second.start();
    let beside = second.report();
    let is_real_time = |report: &Value| report["policy"] == "fifo:99";
    assert_eq!(is_real_time(&report), has_a_cpu, "{report}");
    assert!(!is_real_time(&report) || !is_real_time(&beside) || report["cpu"] != beside["cpu"], "{report}\n{beside}");
    // Both are at work.
    for switch in [&first, &second] {
        let turns = switch.turns();
        wait_until("the core to turn", || switch.turns() > turns);
    }
    if is_real_time(&report) {
        let cpu = report["cpu"].as_u64().unwrap();
        let third = Switch::new().unwrap();
        let refused = third.run(&["run", &third.file(&format!("cpu = {cpu}"))]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        let wanted = format!("CPU {cpu} is held by ontick switch run");
        assert!(stderr(&refused).contains(&wanted), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(&format!("(process {pid})")), "{}", stderr(&refused));
        let measured = run(&["latency", "timer", "--count", "20", "--cpu", &cpu.to_string()]);
        assert_eq!(measured.status.code(), Some(2), "{}", stderr(&measured));
        assert!(stderr(&measured).contains(&wanted), "{}", stderr(&measured));
        let ordinary = run(&["latency", "timer", "--count", "20", "--cpu", &cpu.to_string(), "--policy", "other"]);
        assert!(ordinary.status.success(), "{}", stderr(&ordinary));
    }
    end(one);
    let turns = second.turns();
    wait_until("the other to go on", || second.turns() > turns);
    let said = end(other);
    if !is_real_time(&beside) && is_real_time(&report) {
        assert!(said.contains("runs as an ordinary thread") && said.contains(&format!("(process {pid})")), "{said}");
    }
}

/// More than one core is tried in the lab, on four CPUs.
#[test]
fn cores_without_a_port_and_those_that_leave_no_cpu_are_refused() {
    if !has("ip") || !has("tc") {
        return;
    }
    let _alone = alone_on_this_machine();
    let Some(switch) = Switch::new() else { return };
    let refused = |cpus: &str, words: &str| {
        let output = switch.run(&["run", &switch.file(&format!("cpus = \"{cpus}\""))]);
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{cpus}: {}", stderr(&output));
        let status = switch.run(&["status"]);
        let said = String::from_utf8_lossy(&status.stdout).into_owned() + &stderr(&status);
        assert!(said.contains("No switch is set up here"), "{said}");
    };
    refused("0-2", "cpus names 3 CPUs, and there is work for 2 at most: each core needs a port");
    if cpus::online() == [0, 1] {
        refused("0-1", "no CPU is left");
        let file = switch.file("cpus = \"0-1\"");
        let check = switch.here.within(|| ontick(&["switch", "check", &file]).output()).unwrap().unwrap();
        let said = String::from_utf8_lossy(&check.stdout).into_owned();
        assert!(said.contains("the file names every CPU"), "{said}");
    }
}
