//! The user data plane: set up, looked at, changed and taken away, with and without violence.

use std::process::{Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use super::judges;
use super::put_back::revert_switches;
use super::{alone_on_this_machine, has, namespace::namespace, ontick, runs, send, stderr, stdout, wait_until};

const PORTS: [&str; 2] = ["port0", "port1"];

/// Two ports with cables, and a folder for what is known of switches, all of this test alone.
pub(super) struct Bench {
    pub(super) here: Namespace,
    pub(super) far: Namespace,
    pub(super) folder: tempfile::TempDir,
    /// Until the end of the test.
    alone: Option<crate::apart::Alone>,
}

/// Nothing where there are no namespaces to be had.
pub(super) fn bench() -> Option<Bench> {
    if !has("ip") || !has("tc") {
        return None;
    }
    let (here, far) = (namespace()?, namespace()?);
    for (n, port) in PORTS.iter().enumerate() {
        here.join(port, &far, &format!("far{n}")).unwrap();
    }
    // The state of a link follows a little later.
    let links = || here.run("ip", &["-o", "link", "show"]).unwrap();
    wait_until("both links are up", || links().matches("state UP").count() == PORTS.len());
    let bench = Bench { here, far, folder: tempfile::tempdir().unwrap(), alone: Some(alone_on_this_machine()) };
    bench.configure("800us", "200us");
    Some(bench)
}

impl Bench {
    fn configure(&self, blue: &str, red: &str) {
        let text = format!(
            "[switch]\nname = \"cell\"\nplane = \"user\"\n\n[[class]]\nname = \"blue\"\nqueue = 0\n\n[[class]]\nname = \
             \"red\"\nqueue = 1\nmatch = [{{ udp-port = 7777 }}]\n\n[[port]]\nname = \"port0\"\nrate = \"1Gbit\"\n\n\
             [[port]]\nname = \"port1\"\nrate = \"1Gbit\"\n[port.gates]\nentries = [{{ open = [\"blue\"], for = \
             \"{blue}\" }}, {{ open = [\"red\"], for = \"{red}\" }}]\n"
        );
        std::fs::write(self.file(), text).unwrap();
    }

    pub(super) fn file(&self) -> String {
        self.folder.path().join("cell.toml").display().to_string()
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let state = self.folder.path().join("state").display().to_string();
        ontick(&[&["switch"], words, &["--state", &state]].concat())
    }

    pub(super) fn switch(&self, words: &[&str]) -> Output {
        self.here.within(|| self.command(words).output()).unwrap().unwrap()
    }

    pub(super) fn status(&self) -> Value {
        serde_json::from_slice(&self.switch(&["status", "--json"]).stdout).expect("JSON")
    }

    pub(super) fn pid(&self) -> i32 {
        self.status()["report"]["pid"].as_i64().expect("it works") as i32
    }

    /// Everything that setting up changes.
    pub(super) fn settings(&self) -> String {
        let look = |program: &str, words: &[&str]| self.here.run(program, words).unwrap();
        let ipv6 = |port: &&str| {
            let path = format!("/proc/sys/net/ipv6/conf/{port}/disable_ipv6");
            self.here.within(|| std::fs::read_to_string(&path).unwrap_or_default()).unwrap()
        };
        let features =
            |port: &&str| self.here.within(|| format!("{:?}", ontick_switch::features::get(port).unwrap())).unwrap();
        let links = look("ip", &["-o", "link", "show"]);
        let qdiscs = look("tc", &["qdisc", "show"]);
        let ports = PORTS.iter().map(|port| ipv6(port) + &features(port)).collect::<Vec<_>>().join("\n");
        // Who forgets its neighbours meanwhile is none of ours.
        format!("{links}\n{qdiscs}\n{ports}")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        revert_switches(&self.here, &self.folder.path().join("state"));
    }
}

#[test]
fn it_is_set_up_changed_and_taken_away() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(stdout(&applied).contains("Switch cell works in process"), "{}", stdout(&applied));
    assert_ne!(bench.settings(), before, "offloads are off meanwhile");

    let status = bench.switch(&["status"]);
    assert!(status.status.success(), "{}{}", stdout(&status), stderr(&status));
    for words in ["user data plane · at work", "port port1  up", "blue 800us, red 200us · cycle 1ms"] {
        assert!(stdout(&status).contains(words), "{words}: {}", stdout(&status));
    }
    // No CPU of a machine for tests is isolated for the core, so that it rests.
    let report = &bench.status()["report"];
    if report["policy"] == "fifo:99" && report["refused"] == serde_json::json!([]) {
        let isolated = ontick_rt::cpus::isolated();
        let has_its_own = report["cpu"].as_u64().is_some_and(|cpu| isolated.contains(&(cpu as u32)));
        assert_eq!(report["rests"], !has_its_own, "{report}");
    }
    let again = bench.switch(&["apply", &bench.file()]);
    assert_eq!(stdout(&again), "Switch cell is already as the file says.\n");

    bench.configure("600us", "400us");
    let changed = bench.switch(&["apply", &bench.file()]);
    assert!(stdout(&changed).contains("change at their base time"), "{}{}", stdout(&changed), stderr(&changed));
    let configuration = bench.status()["report"]["configuration"].to_string();
    assert!(configuration.contains("600us"), "{configuration}");
    let apply = |change: &dyn Fn(&str) -> String| {
        let text = std::fs::read_to_string(bench.file()).unwrap();
        std::fs::write(bench.file(), change(&text)).unwrap();
        let output = bench.switch(&["apply", &bench.file()]);
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let sized = apply(&|text| text.replace("[port.gates]", "max-sdu = { red = 200 }\n[port.gates]"));
    assert_eq!(sized, (Some(0), "Frame sizes of switch cell are changed.\n".into()));
    let (status, said) = apply(&|text| text.replace("red = 200 }", "red = 3000 }"));
    assert!(status == Some(2) && said.contains("more than the 1964 octets"), "{said}");
    let (status, said) = apply(&|text| text.split("[port.gates]").next().unwrap().replace("3000", "200"));
    assert!(status == Some(0) && said.contains("Gates of switch cell change"), "{said}");
    wait_until("no gates", || !bench.status()["report"]["configuration"].to_string().contains("gates"));
    bench.configure("600us", "400us");
    let (status, said) = apply(&str::to_owned);
    assert!(status == Some(0) && said.contains("Gates") && said.contains("Frame sizes"), "{said}");
    // Other classes are another switch.
    let text = std::fs::read_to_string(bench.file()).unwrap().replace("7777", "7778");
    std::fs::write(bench.file(), text).unwrap();
    let refused = bench.switch(&["apply", &bench.file()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("only gates, frame sizes, idle slopes and streams can be changed"),
        "{}",
        stderr(&refused)
    );

    let pid = bench.pid();
    let reverted = bench.switch(&["revert"]);
    assert!(stdout(&reverted).contains("everything else is as before"), "{}{}", stdout(&reverted), stderr(&reverted));
    wait_until("the process to end", || !runs(pid));
    assert_eq!(bench.settings(), before);
    assert_eq!(bench.switch(&["status"]).status.code(), Some(1));
}

#[test]
fn killed_it_leaves_nothing_behind() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let applied = bench.switch(&["apply", &bench.file(), "--never-rest"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    send(bench.pid() as u32, Signal::KILL);
    // Its guardian takes it away.
    wait_until("the settings to be as before", || bench.settings() == before);
    wait_until("the journal to go", || bench.status().is_null());
    wait_until("throttling to be as before", || !std::path::Path::new("/var/lib/ontick/tune.jsonl").exists());
}

/// The processes below this one.
pub(super) fn descendants(of: i32) -> Vec<i32> {
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let all =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children: Vec<i32> = all.filter(|pid| parent(*pid) == Some(of)).collect();
    let below: Vec<i32> = children.iter().flat_map(|child| descendants(*child)).collect();
    [children, below].concat()
}

fn throttling() -> String {
    std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap()
}

/// Kills a switch and all that would put anything back.
pub(super) fn kill_with_guardians(bench: &Bench) {
    let main = bench.pid();
    let guardians = descendants(main);
    assert!(!guardians.is_empty());
    // Guardians first: none of them sees the end of what it guards.
    for pid in guardians.iter().chain([&main]) {
        send(*pid as u32, Signal::KILL);
    }
    // With all its threads: what they hold is held until the last of them has ended.
    let threads = |pid: &i32| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |threads| threads.count());
    wait_until("their end", || guardians.iter().chain([&main]).all(|pid| !runs(*pid) && threads(pid) <= 1));
}

#[test]
fn a_test_that_fails_half_way_leaves_settings_as_they_were() {
    let Some(mut bench) = bench() else { return };
    let _alone = bench.alone.take();
    let before = throttling();
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let applied = bench.switch(&["apply", &bench.file(), "--never-rest"]);
        assert!(applied.status.success(), "{}", stderr(&applied));
        kill_with_guardians(&bench);
        // As a failed assertion, without a message in the log.
        std::panic::resume_unwind(Box::new("half-way"));
    }));
    assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"half-way"));
    assert!(!std::path::Path::new("/var/lib/ontick/tune.jsonl").exists());
    assert_eq!(throttling(), before);
}

/// Nobody is left that could put anything back, and two journals say what there is to do.
#[test]
fn killed_with_its_guardians_one_revert_restores_settings_too() {
    let Some(bench) = bench() else { return };
    let throttling_before = throttling();
    for command in [&["switch", "revert"][..], &["tune", "revert"]] {
        let applied = bench.switch(&["apply", &bench.file(), "--never-rest"]);
        assert!(applied.status.success(), "{}", stderr(&applied));
        let lifted = std::path::Path::new("/var/lib/ontick/tune.jsonl").exists();
        kill_with_guardians(&bench);
        assert_eq!(std::path::Path::new("/var/lib/ontick/tune.jsonl").exists(), lifted);
        if command[0] == "tune" {
            // The switch of this test does not lie where `tune revert` would look for it.
            assert!(crate::run(command).status.success());
        }
        let reverted = bench.switch(&["revert"]);
        assert!(
            stdout(&reverted).contains("everything else is as before"),
            "{}{}",
            stdout(&reverted),
            stderr(&reverted)
        );
        let said = stderr(&reverted).contains("settings of a command that was killed are as before");
        assert_eq!(said, lifted && command[0] == "switch", "{}", stderr(&reverted));
        assert!(!std::path::Path::new("/var/lib/ontick/tune.jsonl").exists());
        assert_eq!(throttling(), throttling_before);
        assert!(bench.status().is_null());
    }
}

#[test]
fn unconfirmed_it_goes_by_itself() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let applied = bench.switch(&["apply", &bench.file(), "--confirm", "500ms"]);
    assert!(stdout(&applied).contains("ontick switch confirm cell"), "{}{}", stdout(&applied), stderr(&applied));
    wait_until("it to go", || bench.status().is_null());
    wait_until("the settings to be as before", || bench.settings() == before);

    let applied = bench.switch(&["apply", &bench.file(), "--confirm", "30s"]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(bench.status()["goes_in_ns"].is_u64());
    assert!(bench.switch(&["confirm"]).status.success());
    assert!(bench.status()["goes_in_ns"].is_null());
    assert!(bench.switch(&["revert"]).status.success());
    assert_eq!(bench.settings(), before);
}

#[test]
fn in_the_foreground_it_tells_what_happens_and_counts() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let metrics = bench.folder.path().join("cell.prom");
    let words = ["run", &bench.file(), "--metrics", &metrics.display().to_string()];
    let start = || bench.command(&words).stderr(Stdio::piped()).spawn();
    let mut child = bench.here.within(start).unwrap().unwrap();
    wait_until("it to work", || bench.status()["report"].is_object());
    bench.far.ip(&["link", "set", "dev", "far1", "down"]).unwrap();
    wait_until("the link to be down", || bench.status()["report"]["ports"][1]["link"] == Value::Bool(false));
    bench.far.ip(&["link", "set", "dev", "far1", "up"]).unwrap();
    wait_until("the link to be up", || bench.status()["report"]["ports"][1]["link"] == Value::Bool(true));
    let second = bench.switch(&["run", &bench.file()]);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("keeps switch cell already"), "{}", stderr(&second));
    send(child.id(), Signal::TERM);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    for words in ["port port1: the link is down", "port port1: the link is up"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let text = std::fs::read_to_string(&metrics).unwrap();
    assert!(text.contains("ontick_switch_packets_total{switch=\"cell\",port=\"port1\",class=\"red\"} "), "{text}");
    judges::openmetrics(&text);
    assert_eq!(bench.settings(), before);
}

/// A pipe holds 64 KiB of what the process in the background says.
#[test]
fn a_file_with_many_warnings_is_applied_like_any_other() {
    let Some(bench) = bench() else { return };
    let stream = |at: u32| {
        format!(
            "[[stream]]\nname = \"s{at}\"\nto = \"01:00:5e:00:{:02x}:{:02x}\"\nmeter = {{ rate = \"1Mbit\", burst = 1521 }}\n",
            at / 256,
            at % 256
        )
    };
    let text = std::fs::read_to_string(bench.file()).unwrap() + &(0..900).map(stream).collect::<String>();
    std::fs::write(bench.file(), text).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    let said = stderr(&applied);
    assert!(applied.status.success(), "{}", said.lines().last().unwrap_or_default());
    assert!(said.matches("ontick: warning: ").count() >= 900 && said.len() > 65_536, "{} octets", said.len());
    assert!(bench.switch(&["revert"]).status.success());
}

#[test]
fn what_somebody_gave_a_port_of_ipv6_is_not_lost() {
    let Some(bench) = bench() else { return };
    let ip = |words: &str| bench.here.run("ip", &words.split(' ').collect::<Vec<_>>()).unwrap();
    // Ports of namespaces for tests speak none otherwise.
    let switched_on = || std::fs::write("/proc/sys/net/ipv6/conf/port0/disable_ipv6", "0");
    if bench.here.within(switched_on).unwrap().is_err() {
        return ontick_skip::skipped!("this kernel has no IPv6");
    }
    ip("-6 addr add fe80::1/64 dev port0");
    ip("-6 route add fd00:5::/64 via fe80::99 dev port0");
    ip("-6 neigh add fe80::98 lladdr 02:00:00:00:00:98 dev port0 nud permanent");
    let before = bench.settings();
    // Each is removed as the message says, and then the next one is in the way.
    for remedy in [
        "ip addr del fe80::1/64 dev port0",
        "ip -6 route del fd00:5::/64 via fe80::99 dev port0",
        "ip -6 neigh del fe80::98 dev port0",
    ] {
        let refused = bench.switch(&["apply", &bench.file()]);
        assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
        assert!(stderr(&refused).contains(&format!("remove it first ({remedy})")), "{}", stderr(&refused));
        assert_eq!(bench.settings(), before, "{remedy}");
        ip(remedy.strip_prefix("ip ").unwrap());
    }
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(bench.switch(&["revert"]).status.success());
}

#[test]
fn metrics_that_cannot_be_written_end_nothing() {
    let Some(bench) = bench() else { return };
    let folder = bench.folder.path().join("metrics");
    let metrics = folder.join("cell.prom");
    std::fs::create_dir(&folder).unwrap();
    let words = ["run", &bench.file(), "--metrics", &metrics.display().to_string()];
    let start = || bench.command(&words).stderr(Stdio::piped()).spawn();
    let mut child = bench.here.within(start).unwrap().unwrap();
    wait_until("metrics", || metrics.exists());
    std::fs::remove_dir_all(&folder).unwrap();
    // It goes on, and tries again each second.
    let at_ns = || bench.status()["report"]["at_ns"].as_u64().unwrap();
    let removed_ns = at_ns();
    wait_until("three more reports", || at_ns() > removed_ns + 2_500_000_000);
    std::fs::create_dir(&folder).unwrap();
    wait_until("metrics again", || metrics.exists());
    send(child.id(), Signal::TERM);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert_eq!(said.matches("metrics cannot be written").count(), 1, "{said}");
}

#[test]
fn a_port_with_another_name_is_put_back_when_it_has_its_own() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let rename = |from: &str, to: &str| {
        bench.here.ip(&["link", "set", "dev", from, "down"]).unwrap();
        bench.here.ip(&["link", "set", "dev", from, "name", to]).unwrap();
        bench.here.ip(&["link", "set", "dev", to, "up"]).unwrap();
    };
    rename("port0", "wan0");
    let reverted = bench.switch(&["revert"]);
    assert_eq!(reverted.status.code(), Some(1), "{}", stdout(&reverted));
    let said = stdout(&reverted);
    assert!(said.contains("it is called wan0 now: ip link set dev wan0 name port0, then revert again"), "{said}");
    assert!(said.contains("try again: sudo ontick switch revert cell"), "{said}");
    rename("wan0", "port0");
    let reverted = bench.switch(&["revert"]);
    assert!(stdout(&reverted).contains("everything else is as before"), "{}{}", stdout(&reverted), stderr(&reverted));
    wait_until("the settings to be as before", || bench.settings() == before);
}

#[test]
fn a_port_belongs_to_one_switch() {
    let Some(bench) = bench() else { return };
    let plain = "[[class]]\nname = \"all\"\nqueue = 0\n[[port]]\nname = \"port0\"\n[[port]]\nname = \"port1\"\n";
    let other = bench.folder.path().join("other.toml").display().to_string();
    std::fs::write(&other, format!("[switch]\nname = \"other\"\n{plain}")).unwrap();
    let before = bench.settings();
    let both = bench.switch(&["run", "--plane", "user", &bench.file(), &other]);
    assert_eq!(both.status.code(), Some(2));
    let said = stderr(&both);
    assert!(said.contains("switches cell and other both have port port0"), "{said}");
    assert_eq!(bench.settings(), before);

    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let meanwhile = bench.settings();
    for (command, plane) in [("apply", "user"), ("run", "user"), ("apply", "kernel"), ("run", "kernel")] {
        let refused = bench.switch(&[command, &other, "--plane", plane]);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{command} {plane}: {said}");
        assert!(said.contains("port port0 belongs to switch cell: sudo ontick switch revert cell"), "{plane}: {said}");
        assert_eq!(bench.settings(), meanwhile, "{command} {plane}");
    }
    assert!(bench.switch(&["revert", "cell"]).status.success());
    assert_eq!(bench.settings(), before);
}

#[test]
fn what_it_cannot_do_is_said_before_anything_is_changed() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let text = std::fs::read_to_string(bench.file()).unwrap();
    for (from, to, says) in [
        ("\"port1\"", "\"port9\"", "there is no port port9"),
        ("plane = \"user\"", "plane = \"user\"\nrole = \"station\"", "plane = \"kernel\""),
        ("plane = \"user\"", "plane = \"user\"\nstp = true", "spanning tree"),
        ("queue = 1", "queue = 0", "queue"),
    ] {
        std::fs::write(bench.file(), text.replacen(from, to, 1)).unwrap();
        for command in ["apply", "run"] {
            let output = bench.switch(&[command, &bench.file()]);
            assert_eq!(output.status.code(), Some(2), "{to}: {}", stdout(&output));
            assert!(stderr(&output).contains(says), "{to}: {}", stderr(&output));
        }
        assert_eq!(bench.settings(), before, "{to}");
    }
    // A port of another bridge.
    std::fs::write(bench.file(), &text).unwrap();
    bench.here.ip(&["link", "add", "other", "type", "bridge"]).unwrap();
    bench.here.ip(&["link", "set", "dev", "port0", "master", "other"]).unwrap();
    let output = bench.switch(&["apply", &bench.file()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("belongs to other"), "{}", stderr(&output));
}
