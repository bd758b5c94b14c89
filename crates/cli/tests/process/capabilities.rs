//! Commands as a normal user with the capabilities that docs/privileges.md names, and with each of them missing; and what
//! long-running ones keep.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output, Stdio};

use ontick_switch::verify::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use crate::namespace::namespace;
use crate::network_time::cable;
use crate::switch_user::bench;
use crate::tune::settings;
use crate::{
    Restored, Running, alone_on_this_machine, copy_of_ontick, has, may_tune, ontick, send, stderr, stdout, wait_until,
};

/// What all timed commands do more with.
const TIMED: [&str; 2] = ["CAP_SYS_NICE", "CAP_IPC_LOCK"];
const NETWORK: &str = r#"
station = [{ name = "a" }, { name = "b" }]
switch = [{ name = "s" }]
link = [
  { between = ["a", "s"], ports = ["a0", "sa"] },
  { between = ["s", "b"], ports = ["sb", "b0"] },
]
stream = [{ name = "setpoint", from = "a", to = "b", size = 100, period = "10ms" }]
"#;

/// Threads that give up all but locked memory when they are set up: those that carry frames, are timed, or drive and watch
/// lines.
const TIMED_THREADS: [&str; 8] = [
    "ontick-switch",
    "ontick-timed",
    "ontick-waker",
    "ontick-driver",
    "ontick-scope",
    "ontick-sender",
    "ontick-receiver",
    // The kernel keeps 15 letters of a name.
    "ontick-responde",
];

/// A folder where anybody may read, with the program in it: the folder of a build may be its owner's alone.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !has("setpriv") {
            ontick_skip::skipped!("only root may take capabilities away from a program");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        copy_of_ontick(folder.path());
        Some(Self(folder))
    }

    /// The program as the user nobody with these capabilities.
    fn command(&self, capabilities: &[&str], words: &[&str]) -> Command {
        crate::apart::beside_others(words);
        let names = capabilities.iter().map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()));
        let set = format!("-all{}", names.collect::<String>());
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--inh-caps", &set, "--ambient-caps", &set, "--bounding-set", &set]);
        command.arg(self.0.path().join("ontick")).args(words).current_dir(&self.0);
        command
    }

    fn run(&self, capabilities: &[&str], words: &[&str]) -> Output {
        self.command(capabilities, words).output().unwrap()
    }
}

/// All of them but one, each in turn.
fn without_each<'c>(capabilities: &'c [&'c str]) -> impl Iterator<Item = (&'c str, Vec<&'c str>)> {
    capabilities
        .iter()
        .map(|left_out| (*left_out, capabilities.iter().copied().filter(|other| other != left_out).collect()))
}

/// What the system did not let the timed thread have, but for the device that a group has.
fn refused(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let refused = record["series"][0]["settings"]["refused"].as_array().cloned().unwrap_or_default();
    let texts = refused.iter().map(Value::to_string).filter(|text| !text.contains("cpu_dma_latency"));
    texts.collect::<Vec<_>>().join("\n")
}

/// A row of the page's table.
struct Row {
    needs: Vec<&'static str>,
    uses: Vec<&'static str>,
    keeps: Vec<&'static str>,
}

impl Row {
    fn of(command: &str) -> Self {
        let page = include_str!("../../../../docs/privileges.md");
        let is_of = |row: &&str| row.split('|').nth(1).is_some_and(|first| first.contains(&format!("`{command}`")));
        let row = page.lines().find(is_of).unwrap_or_else(|| panic!("{command} has no row"));
        let cell = |nth: usize| -> Vec<&'static str> {
            row.split('|').nth(nth).unwrap().split('`').filter(|word| word.starts_with("CAP_")).collect()
        };
        Self { needs: cell(2), uses: cell(3), keeps: cell(4) }
    }

    fn all(&self) -> Vec<&'static str> {
        [&self.needs[..], &self.uses].concat()
    }
}

#[test]
fn a_timed_command_has_all_it_asks_for_and_names_what_is_missing() {
    let Some(place) = Place::new() else { return };
    for words in [
        &["latency", "timer", "--count", "20", "--json"][..],
        &["latency", "wakeup", "--count", "20", "--json"],
        &["sample", "--source", "wave:ramp", "--count", "20", "--to", "udp:127.0.0.1:9", "--json"],
    ] {
        assert_eq!(refused(&place.run(&TIMED, words)), "", "{words:?}");
        for (missing, rest) in without_each(&TIMED) {
            let said = refused(&place.run(&rest, words));
            let named = if missing == "CAP_SYS_NICE" { "CAP_SYS_NICE" } else { "memory lock" };
            assert!(said.contains(named) && said.lines().count() == 1, "{words:?} without {missing}: {said}");
        }
    }
}

/// Two ends of a cable, `a0` and `sa`, and a plan of the network in the folder.
fn planned(place: &Place) -> Option<(Namespace, Namespace)> {
    let (here, far) = (namespace()?, namespace()?);
    here.join("a0", &far, "sa").unwrap();
    let file = |name: &str| place.0.path().join(name).display().to_string();
    fs::write(file("network.toml"), NETWORK).unwrap();
    let plan = ["network", "plan", "network.toml", "--target", "user", "--forwarding", "1ms", "--out", "plan.json"];
    let planned = ontick(&plan).current_dir(&place.0).output().unwrap();
    assert!(planned.status.success(), "{}", stderr(&planned));
    fs::set_permissions(file("plan.json"), fs::Permissions::from_mode(0o644)).unwrap();
    Some((here, far))
}

#[test]
fn a_talker_of_frames_is_refused_without_raw_sockets_only() {
    let Some(place) = Place::new() else { return };
    let Some((here, _far)) = planned(&place) else { return };
    let words = ["network", "talk", "network.toml", "plan.json", "--station", "a", "--interface", "a0", "--count", "5"];
    let talk = |capabilities: &[&str]| here.within(|| place.command(capabilities, &words).output()).unwrap().unwrap();
    let row = Row::of("network talk");
    assert_eq!(row.needs, ["CAP_NET_RAW"]);
    let frames = row.all();
    let talked = talk(&frames);
    let said = stdout(&talked) + &stderr(&talked);
    assert!(talked.status.success() && !said.contains("CAP_") && !said.contains("memory lock:"), "{said}");
    for (missing, rest) in without_each(&frames) {
        let talked = talk(&rest);
        match missing {
            "CAP_NET_RAW" => {
                assert_eq!(talked.status.code(), Some(2));
                assert!(stderr(&talked).contains("raw frames need root or CAP_NET_RAW"), "{}", stderr(&talked));
            }
            _ => assert!(talked.status.success(), "without {missing}: {}", stderr(&talked)),
        }
    }
}

/// By default the planned queue is one whose priority takes a right.
#[test]
fn a_talker_of_datagrams_is_refused_nothing_but_says_that_they_lack_their_priority() {
    let Some(place) = Place::new() else { return };
    if planned(&place).is_none() {
        return;
    }
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = format!("setpoint={}", receiver.local_addr().unwrap());
    let words =
        ["network", "talk", "network.toml", "plan.json", "--station", "a", "--udp", &to, "--count", "5", "--json"];
    let row = Row::of("network talk --udp");
    assert!(row.needs.is_empty());
    assert_eq!(refused(&place.run(&row.all(), &words)), "");
    let said = refused(&place.run(&TIMED, &words));
    assert!(said.contains("leave without their priority of 7: one above 6 needs root or CAP_NET_RAW"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let talked = place.run(&[], &words[..words.len() - 1]);
    assert!(talked.status.success() && stdout(&talked).contains("their priority of 7"), "{}", stdout(&talked));
    let mut room = [0; 2_000];
    receiver.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    receiver.recv(&mut room).expect("they are sent all the same");
}

#[test]
fn what_goes_by_datagrams_takes_no_right() {
    let Some(place) = Place::new() else { return };
    if planned(&place).is_none() {
        return;
    }
    let listener = ["network", "listen", "network.toml", "plan.json", "--station", "b", "--udp", "127.0.0.1:0"];
    let heard = place.run(&Row::of("network listen --udp").needs, &[&listener[..], &["--duration", "100ms"]].concat());
    // Nobody talks.
    assert_eq!(heard.status.code(), Some(1), "{}", stderr(&heard));
    let words = ["latency", "roundtrip", "--respond", "--udp", "127.0.0.1:0", "--duration", "100ms"];
    let answered = place.run(&Row::of("latency roundtrip --respond --udp").needs, &words);
    assert!(answered.status.success(), "{}", stderr(&answered));
}

/// Refused before anything is done, in one sentence with the name of what is missing and how to give it.
fn refused_for(output: &Output, missing: &str) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "without {missing}: {}{said}", stdout(output));
    assert!(said.contains(&format!(" lacks {missing}: run it with sudo, or give it that by Ambient")), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

#[test]
fn a_command_names_what_it_lacks_and_how_to_give_it() {
    let Some(place) = Place::new() else { return };
    for (row, words) in [
        ("switch run", &["switch", "run", "no.toml"][..]),
        ("switch apply", &["switch", "apply", "no.toml"]),
        ("network apply", &["network", "apply", "no.toml", "no.json"]),
        ("switch revert", &["switch", "revert", "no"]),
        ("network revert", &["network", "revert", "no.toml"]),
        ("switch netconf", &["switch", "netconf", "no"]),
        ("switch demo", &["switch", "demo"]),
        ("switch calibrate", &["switch", "calibrate"]),
        ("latency roundtrip", &["latency", "roundtrip", "--count", "5"]),
        ("latency roundtrip --udp", &["latency", "roundtrip", "--udp", "--count", "5"]),
        ("network time run", &["network", "time", "run", "no.toml", "--node", "a"]),
        ("network time run --free-running", &["network", "time", "run", "no.toml", "--node", "a", "--free-running"]),
    ] {
        for (missing, rest) in without_each(&Row::of(row).needs) {
            refused_for(&place.run(&rest, words), missing);
        }
        refused_for(&place.run(&[], words), &Row::of(row).needs.join(", "));
    }
    let hwlat = place.run(&["CAP_SYS_ADMIN"], &["latency", "noise", "--hwlat", "--cpu", "0", "--count", "1"]);
    assert_eq!(hwlat.status.code(), Some(2));
    assert!(stderr(&hwlat).contains("`ontick latency noise --hwlat` needs the user root: "), "{}", stderr(&hwlat));
    // Nobody but root writes /proc/sys, whatever the capabilities.
    let tune = place.run(&["CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE"], &["tune", "apply"]);
    assert_eq!(tune.status.code(), Some(2));
    assert!(stderr(&tune).contains("only root may change"), "{}", stderr(&tune));
}

/// By the kernel, which asks for a limit as well.
#[test]
fn a_program_is_started_with_what_its_row_says() {
    let _alone = alone_on_this_machine();
    let Some(place) = Place::new() else { return };
    for (row, words) in
        [("run", &["run", "--", "true"][..]), ("run --policy other", &["run", "--policy", "other", "--", "true"])]
    {
        let needs = Row::of(row).needs;
        let granted = place.run(&needs, words);
        assert!(granted.status.success(), "{row}: {}", stderr(&granted));
        // Whoever starts the tests may have a limit.
        let without = place.command(&[], words);
        let mut limited = Command::new("prlimit");
        limited.arg("--rtprio=0:0").arg(without.get_program()).args(without.get_args()).current_dir(&place.0);
        let output = limited.output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.success(), needs.is_empty(), "{row}: {said}");
        assert!(needs.iter().all(|name| said.contains(name)), "{row}: {said}");
    }
}

/// The lists of /proc/PID/task/TID/status, of each thread.
fn threads(pid: u32, list: &str) -> Vec<(String, u64)> {
    let folders = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let read = |folder: fs::DirEntry| {
        // One that ended meanwhile has none.
        let text = fs::read_to_string(folder.path().join("status")).ok()?;
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        Some((field("Name")?.to_owned(), u64::from_str_radix(field(list)?, 16).ok()?))
    };
    folders.filter_map(read).collect()
}

/// Waits until every thread of a process has the row's capabilities and no others, as far as this process has them.
fn has_settled(pid: u32, command: &str) {
    let keeps = Row::of(command).keeps;
    let named = |name: &str| rustix::thread::CapabilitySet::from_name(name.trim_start_matches("CAP_")).unwrap();
    let kept = keeps.iter().fold(rustix::thread::CapabilitySet::empty(), |all, name| all | named(name)).bits();
    for list in ["CapEff", "CapPrm", "CapBnd"] {
        let own = threads(std::process::id(), list)[0].1;
        let mut found = Vec::new();
        wait_until(&format!("{command} to keep {keeps:?} in {list}"), || {
            found = threads(pid, list);
            let fits = |(name, set): &(String, u64)| match TIMED_THREADS.contains(&name.as_str()) {
                // Its bounding set is as that of the process where that was narrowed first.
                true if list != "CapBnd" => *set == own & rustix::thread::CapabilitySet::IPC_LOCK.bits(),
                _ => *set == own & kept,
            };
            !found.is_empty() && found.iter().all(fits)
        });
    }
    for (list, wanted) in [("CapInh", 0), ("CapAmb", 0), ("NoNewPrivs", 1)] {
        let found = threads(pid, list);
        assert!(!found.is_empty() && found.iter().all(|(_, set)| *set == wanted), "{command}, {list}: {found:?}");
    }
}

/// Waits until the kernel filters the system calls of every thread of a process.
fn is_filtered(pid: u32, command: &str) {
    wait_until(&format!("{command} to have its system calls filtered"), || {
        let modes = threads(pid, "Seccomp");
        !modes.is_empty() && modes.iter().all(|(_, mode)| *mode == 2)
    });
}

#[test]
fn a_kernel_without_filters_is_no_reason_not_to_sample() {
    let Some(_place) = Place::new().filter(|_| has("strace")) else { return };
    let words = ["sample", "--source", "wave:ramp", "--count", "3", "--to", "-"];
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=seccomp", "-e", "inject=seccomp:error=ENOSYS"]);
    let output = traced.arg(env!("CARGO_BIN_EXE_ontick")).args(words).output().unwrap();
    let said = stderr(&output);
    if said.contains("PTRACE") || said.contains("ptrace") {
        return ontick_skip::skipped!("{said}");
    }
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("note: system calls are not filtered: ").count(), 1, "{said}");
    let samples = stdout(&output).lines().filter(|line| line.contains("\"number\"")).count();
    assert_eq!(samples, 3, "{}", stdout(&output));
}

#[test]
fn a_long_running_command_keeps_what_the_page_says() {
    let Some(place) = Place::new() else { return };
    let state = place.0.path().join("state").display().to_string();
    for (row, words) in [
        ("sample", &["sample", "--rate", "100Hz", "--source", "wave:ramp", "--to", "tcp:127.0.0.1:0"][..]),
        ("watch", &["watch", "--state", &state, "--listen", "127.0.0.1:0", "--every", "1s"]),
    ] {
        let mut command = ontick(words);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = Running(command.spawn().unwrap());
        has_settled(child.0.id(), row);
        is_filtered(child.0.id(), row);
        // It gives up rights before it is ready to be ended.
        wait_until("a handler of SIGINT", || threads(child.0.id(), "SigCgt").iter().all(|(_, caught)| caught & 2 != 0));
        send(child.0.id(), Signal::INT);
        assert!(child.0.wait().unwrap().code().is_some(), "{row} was killed");
    }
}

/// Runs a command until it has given up what its row does not keep; ends it by this signal.
fn settles(row: &str, mut command: Command, timed: &[&str], signal: Signal) {
    let mut child = Running(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let pid = child.0.id();
    let is_there = |name: &&str| threads(pid, "CapEff").iter().any(|(thread, _)| thread == name);
    wait_until(&format!("threads {timed:?} of {row}"), || timed.iter().all(is_there));
    has_settled(pid, row);
    if row == "network listen" {
        is_filtered(pid, row);
    }
    wait_until("a handler of SIGINT", || threads(pid, "SigCgt").iter().all(|(_, caught)| caught & 2 != 0));
    send(pid, signal);
    let ended = child.0.wait().unwrap();
    assert_eq!(ended.code().is_none(), signal == Signal::KILL, "{row}: {ended}");
}

#[test]
fn a_measurement_keeps_what_the_page_says() {
    let _alone = alone_on_this_machine();
    let Some(place) = Place::new() else { return };
    let file = |name: &str| place.0.path().join(name).display().to_string();
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    for (row, words, timed) in [
        ("latency", &["latency", "timer", "--duration", "1h"][..], &["ontick-timed"][..]),
        // A named mix starts with what is left; without the program it is refused.
        ("latency", &["latency", "timer", "--duration", "1h", "--load", "cpu"], &["ontick-timed"]),
        ("latency", &["latency", "wakeup", "--duration", "1h"], &["ontick-timed", "ontick-waker"]),
        ("latency", &["latency", "edge", "--duration", "1h"], &["ontick-timed", "ontick-driver"]),
        ("latency", &["latency", "response", "--duration", "1h"], &["ontick-timed", "ontick-scope"]),
        ("latency", &["latency", "roundtrip", "--duration", "1h"], &["ontick-timed", "ontick-responde"]),
        ("pulse", &["pulse", "--count", "100000000"], &["ontick-timed"]),
        ("prove", &["prove", "--duration", "1h", "--load", "none", "--html", &file("report.html")], &["ontick-timed"]),
    ] {
        if timed.len() > 1 && !two || words.contains(&"cpu") && !has("stress-ng") {
            continue;
        }
        settles(row, ontick(words), timed, Signal::INT);
    }
    let all = ontick(&["latency", "timer", "--duration", "1h", "--load", "cmd:sleep 3600"]).spawn().unwrap();
    let all = Running(all);
    wait_until("the timed thread", || threads(all.0.id(), "CapEff").iter().any(|(name, _)| name == "ontick-timed"));
    let own = threads(std::process::id(), "CapPrm")[0].1;
    assert_eq!(threads(all.0.id(), "CapPrm")[0].1, own, "a command as load has what it was started with");
}

#[test]
fn a_link_keeps_what_the_page_says_at_both_ends() {
    let _alone = alone_on_this_machine();
    if Place::new().is_none() {
        return;
    }
    let chip = format!("kept-{}", std::process::id());
    let line = |n: u32| format!("sim:{chip}/{n}");
    let (one, other) = (line(4), line(17));
    settles("link", ontick(&["link", "recv", "--input", &other]), &["ontick-receiver"], Signal::INT);
    settles("link", ontick(&["link", "send", "--output", &one]), &["ontick-sender"], Signal::INT);
    let pty = ["link", "pty", "--output", &one, "--input", &other];
    settles("link", ontick(&pty), &["ontick-sender", "ontick-receiver"], Signal::INT);
    settles("gpio watch", ontick(&["gpio", "watch", &other]), &[], Signal::INT);
    assert!(ontick(&["gpio", "remove", &format!("sim:{chip}")]).output().unwrap().status.success());
}

#[test]
fn stations_keep_what_the_page_says() {
    let _alone = alone_on_this_machine();
    let Some(place) = Place::new() else { return };
    let Some((here, far)) = planned(&place) else { return };
    let at = |station: &str, interface: &str, verb: &str| {
        let words = ["network", verb, "network.toml", "plan.json", "--station", station, "--interface", interface];
        let mut command = ontick(&words);
        command.current_dir(&place.0);
        command
    };
    here.within(|| settles("network talk", at("a", "a0", "talk"), &["ontick-timed"], Signal::INT)).unwrap();
    far.within(|| settles("network listen", at("b", "sa", "listen"), &[], Signal::INT)).unwrap();
}

/// Nobody but its guardian could put settings back: the command has no right left that some of them take.
#[test]
fn settings_are_put_back_for_a_proof_that_gave_its_rights_up_and_was_killed() {
    let _alone = alone_on_this_machine();
    let Some(place) = Place::new() else { return };
    if !may_tune() {
        return;
    }
    let before = settings();
    let _as_before = Restored;
    let html = place.0.path().join("report.html").display().to_string();
    let tune = "--tune=stat-interval,timer-migration";
    for signal in [Signal::INT, Signal::KILL] {
        let words = ["prove", tune, "--duration", "1h", "--load", "none", "--html", &html];
        settles("prove --tune", ontick(&words), &["ontick-timed"], signal);
        wait_until("the settings as before", || settings() == before && !fs::exists("/var/lib/ontick").unwrap());
    }
}

#[test]
fn a_switch_keeps_what_the_page_says_and_reverts_with_it() {
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    for plane in ["user", "kernel"] {
        let mut command = bench.command(&["run", &bench.file(), "--plane", plane]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Running(bench.here.within(|| command.spawn()).unwrap().unwrap());
        let began = BufReader::new(child.0.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said: Vec<String> = Vec::new();
        let works = began.inspect(|line| said.push(line.clone())).any(|line| line.contains("Ctrl-C ends it"));
        if !works {
            let said = said.join("\n");
            ontick_skip::skipped!("{said}");
            continue;
        }
        has_settled(child.0.id(), "switch run");
        is_filtered(child.0.id(), "switch run");
        assert_ne!(bench.settings(), before, "{plane}");
        send(child.0.id(), Signal::INT);
        assert!(child.0.wait().unwrap().success(), "{plane}");
        assert_eq!(bench.settings(), before, "{plane}");
    }
}

#[test]
fn the_networks_time_is_watched_without_any_capability() {
    let Some(cable) = cable(crate::network_time::NETWORK) else { return };
    let mut node = cable.start("a", "network.toml");
    node.event("grandmaster");
    has_settled(node.child.0.id(), "network time run");
    let (_, status) = node.end();
    assert_eq!(status, Some(0));
    wait_until("its program to end", || cable.programs().is_empty());
}

#[test]
fn a_switch_is_set_up_and_taken_away_by_a_user_with_the_capabilities_alone() {
    let Some(place) = Place::new() else { return };
    let Some(bench) = bench() else { return };
    let before = bench.settings();
    let file = place.0.path().join("cell.toml");
    fs::copy(bench.file(), &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let home = place.0.path().join("state");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(65_534), Some(65_534)).unwrap();
    let (file, home) = (file.display().to_string(), home.display().to_string());
    let by = |row: &Row, words: &[&str]| {
        let words = [&["switch"], words, &["--state", &home]].concat();
        bench.here.within(|| place.run(&row.needs, &words)).unwrap()
    };
    let applied = by(&Row::of("switch apply"), &["apply", &file]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert_ne!(bench.settings(), before);
    let reverted = by(&Row::of("switch revert"), &["revert", "cell"]);
    assert!(reverted.status.success(), "{}{}", stdout(&reverted), stderr(&reverted));
    assert_eq!(bench.settings(), before);
}

#[test]
fn the_networks_time_is_kept_by_a_user_with_the_capabilities_alone() {
    let Some(place) = Place::new() else { return };
    if !has("ptp4l") {
        return;
    }
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    here.join("porta", &far, "portb").unwrap();
    fs::write(place.0.path().join("network.toml"), crate::network_time::NETWORK).unwrap();
    fs::set_permissions(place.0.path().join("network.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(place.0.path().join("sockets")).unwrap();
    chown(place.0.path().join("sockets"), Some(65_534), Some(65_534)).unwrap();
    let words = ["network", "time", "run", "network.toml", "--node", "a", "--free-running", "--sockets", "sockets"];
    let words = [&words[..], &["--duration", "4s"]].concat();
    let row = Row::of("network time run --free-running");
    let run = here.within(|| place.run(&row.needs, &words)).unwrap();
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    assert!(stdout(&run).contains("grandmaster"), "{}", stdout(&run));
}
