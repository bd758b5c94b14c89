//! A switch that is managed by NETCONF.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::errors::fails;
use super::judges::python_with;
use super::machines::Fleet;
use super::neighbours::{OF_GATES, OF_STREAMS, yanglint};
use super::switch_user::{Bench, bench};
use super::{has, send, stderr, stdout, wait_until};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/process/netconf_client.py");
pub(super) const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// A switch that is set up.
pub(super) fn managed() -> Option<Bench> {
    let bench = bench()?;
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    Some(bench)
}

/// A session in which this is said.
fn session(bench: &Bench, input: &str) -> Output {
    let mut command = bench.command(&["netconf"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = bench.here.within(|| command.spawn()).unwrap().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A session that goes on, in base:1.0.
pub(super) struct Talk(Child);

impl Talk {
    pub(super) fn begin(bench: &Bench) -> Self {
        Self::with(bench, &[])
    }

    /// With these options.
    pub(super) fn with(bench: &Bench, options: &[&str]) -> Self {
        let mut command = bench.command(&[&["netconf"], options].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut talk = Self(bench.here.within(|| command.spawn()).unwrap().unwrap());
        talk.say(&hello("1.0"));
        talk.hear();
        talk
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn say(&mut self, message: &str) {
        self.0.stdin.as_mut().unwrap().write_all(message.as_bytes()).unwrap();
    }

    pub(super) fn hear(&mut self) -> String {
        let (mut message, mut octets) = (Vec::new(), [0; 1 << 16]);
        while !message.ends_with(b"]]>]]>") {
            let count = self.0.stdout.as_mut().unwrap().read(&mut octets).unwrap();
            assert!(count > 0, "{}", String::from_utf8_lossy(&message));
            message.extend_from_slice(&octets[..count]);
        }
        String::from_utf8(message).unwrap()
    }

    /// Asks for what must be done.
    #[track_caller]
    pub(super) fn ask(&mut self, inner: &str) {
        let reply = self.answer(inner);
        assert!(reply.contains("<ok/>"), "{inner}: {reply}");
    }

    /// What is answered.
    pub(super) fn answer(&mut self, inner: &str) -> String {
        self.say(&(rpc(inner) + "]]>]]>"));
        self.hear()
    }

    /// Ends without a word.
    pub(super) fn kill(&mut self) {
        send(self.pid(), Signal::KILL);
        self.0.wait().unwrap();
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An edit of the first window, and of what is left of 1 ms.
pub(super) fn edit(blue_us: u32) -> String {
    let entry = |index: u32, us: u32| {
        format!(
            "<gate-control-entry><index>{index}</index><time-interval-value>{}</time-interval-value></gate-control-entry>",
            us * 1000
        )
    };
    format!(
        "<edit-config><target><candidate/></target><config><interfaces \
         xmlns='urn:ietf:params:xml:ns:yang:ietf-interfaces'><interface><name>port1</name><bridge-port \
         xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge'><gate-parameter-table \
         xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge'><admin-control-list>{}{}</admin-control-list>\
         </gate-parameter-table></bridge-port></interface></interfaces></config></edit-config>",
        entry(0, blue_us),
        entry(1, 1000 - blue_us)
    )
}

/// Whether the data plane has this window.
fn has_window(bench: &Bench, window: &str) -> bool {
    bench.status()["report"]["configuration"].as_str().is_some_and(|text| text.contains(window))
}

fn hello(base: &str) -> String {
    format!(
        "<hello xmlns='{BASE}'><capabilities><capability>urn:ietf:params:netconf:base:{base}</capability></capabilities>\
         </hello>]]>]]>"
    )
}

pub(super) fn rpc(inner: &str) -> String {
    format!("<rpc xmlns='{BASE}' message-id='7'>{inner}</rpc>")
}

#[test]
fn a_session_speaks_both_framings() {
    let Some(bench) = managed() else { return };
    let old =
        session(&bench, &(hello("1.0") + &rpc("<get-config><source><running/></source></get-config>") + "]]>]]>"));
    assert_eq!(old.status.code(), Some(0), "{}", stderr(&old));
    let messages: Vec<String> = stdout(&old).split("]]>]]>").map(str::to_owned).collect();
    let [greeting, reply, end] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(greeting.contains("base:1.1</capability>") && greeting.contains("<session-id>"), "{greeting}");
    assert!(reply.contains("message-id=\"7\"") && reply.contains("<time-interval-value>800000</"), "{reply}");
    assert_eq!(end, "");

    let request = rpc("<close-session/>");
    let new = session(&bench, &format!("{}\n#{}\n{request}\n##\n\n#1\n<\n##\n", hello("1.1"), request.len()));
    assert_eq!(new.status.code(), Some(0), "{}", stderr(&new));
    let said = stdout(&new);
    assert!(said.ends_with("<ok/></rpc-reply>\n##\n") && said.contains("]]>]]>\n#"), "nothing after its end: {said}");

    // The same message again, without end; and no chunk at all.
    let broken = session(&bench, &(hello("1.1") + "<rpc/>"));
    assert_eq!(broken.status.code(), Some(2));
    assert!(stderr(&broken).contains("no chunk begins"), "{}", stderr(&broken));
    let malformed =
        session(&bench, &(hello("1.0") + "<!DOCTYPE rpc [<!ENTITY a 'b'>]><rpc>&a;</rpc>]]>]]>" + "<a>]]>]]>"));
    assert_eq!(
        stdout(&malformed).matches("<error-tag>malformed-message</error-tag>").count(),
        2,
        "{}",
        stdout(&malformed)
    );
}

#[test]
fn only_a_switch_that_is_set_up_is_managed() {
    let Some(bench) = bench() else { return };
    let nothing = session(&bench, &hello("1.1"));
    assert_eq!((nothing.status.code(), stdout(&nothing).as_str()), (Some(2), ""));
    assert!(stderr(&nothing).contains("no such switch is set up"), "{}", stderr(&nothing));
    fails(&["switch", "netconf", "no/name"], &["cannot be a switch's name"]);
}

/// Sessions that a client of others has.
#[track_caller]
fn client_is_served(mut client: Command) {
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(stdout(&output), "done\n");
}

#[test]
fn ncclient_manages_a_switch() {
    // Debian 12's has no sessions on sockets.
    let Some(python) = python_with("ncclient.transport.unixSocket") else { return };
    let Some(bench) = managed() else { return };
    let startup = bench.folder.path().join("startup");
    let server = bench.command(&["netconf", "--startup", &startup.display().to_string()]);
    let mut client = Command::new(python);
    client
        .args(["-B", CLIENT, "socket"])
        .arg(bench.folder.path().join("socket"))
        .arg(server.get_program())
        .args(server.get_args());
    bench.here.within(|| client_is_served(client)).unwrap();
    assert_eq!(sessions(&bench).len(), 1, "that of the session that was killed");
    assert!(has_window(&bench, "700us"), "{}", bench.status());
    // What was kept is a file that sets up the switch.
    let applied = bench.switch(&["apply", &startup.join("cell.toml").display().to_string()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(has_window(&bench, "800us"), "{}", bench.status());
}

/// The numbers of the sessions that have a file.
fn sessions(bench: &Bench) -> Vec<u32> {
    let files = std::fs::read_dir(bench.folder.path().join("state")).unwrap();
    let name = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
    let mut numbers: Vec<u32> =
        files.filter_map(|file| name(file).strip_prefix(".cell.session-")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_session_removes_what_killed_ones_left() {
    let Some(bench) = managed() else { return };
    let living = Talk::begin(&bench);
    let killed: Vec<u32> = [(); 2]
        .map(|()| {
            let mut talk = Talk::begin(&bench);
            talk.kill();
            talk.pid()
        })
        .into();
    let left = |sessions: &[u32]| killed.iter().filter(|pid| sessions.contains(pid)).count();
    assert_eq!(left(&sessions(&bench)), 1, "the second has removed what the first left");
    let mut next = Talk::begin(&bench);
    let mut expected = [living.pid(), next.pid()];
    expected.sort_unstable();
    assert_eq!(sessions(&bench), expected);
    next.ask(&format!("<kill-session><session-id>{}</session-id></kill-session>", living.pid()));
}

/// Sets a switch up on a machine.
pub(super) fn set_up(fleet: &Fleet, name: &str) {
    super::apart::beside_others(&["switch"]);
    let file = fleet.path("cell.toml");
    std::fs::write(&file, super::ansible::switch("port1")).unwrap();
    let program = env!("CARGO_BIN_EXE_ontick");
    let link = format!("ln -s {program} /usr/local/bin/ontick");
    let applied = fleet.on(name, &format!("{link}; ontick switch apply {} --keep-throttling 2>&1", file.display()));
    assert!(applied.contains("works in process"), "{applied}");
}

/// With the set-up of docs/netconf.md.
#[test]
fn ncclient_manages_a_switch_over_ssh() {
    let Some(python) = python_with("ncclient") else { return };
    let Some(fleet) = Fleet::start(&["cell4"]) else { return };
    set_up(&fleet, "cell4");
    let mut client = fleet.beside(&python);
    client.args(["-B", CLIENT, "ssh", "10.77.0.2"]).args([fleet.path("key"), fleet.path("known_hosts")]);
    client_is_served(client);
    let revert = || {
        let reverted = fleet.on("cell4", "ontick switch revert cell 2>&1; ls -A /run/ontick/switch/cell 2>&1");
        assert!(reverted.contains("everything else is as before") && reverted.contains("No such file"), "{reverted}");
    };
    revert();
    // As the unit does at a boot.
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian/ontick/ontick-switch@.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/ontick switch run /etc/ontick/%i.toml\n"), "{unit}");
    let booted = fleet.on("cell4", "ontick switch apply /etc/ontick/cell.toml --keep-throttling 2>&1");
    assert!(booted.contains("works in process"), "{booted}");
    revert();
}

/// Killed as it is about to make any of these calls, a copy to startup leaves the file from before or the whole new one.
#[test]
fn startup_is_written_as_a_whole_or_not_at_all() {
    if !has("strace") {
        return;
    }
    let Some(bench) = managed() else { return };
    let (startup, input) = (bench.folder.path().join("startup"), bench.folder.path().join("input"));
    let file = startup.join("cell.toml");
    let copy = "<copy-config><target><startup/></target><source><running/></source></copy-config>";
    std::fs::write(&input, hello("1.0") + &rpc(copy) + "]]>]]>").unwrap();
    let own = bench.command(&["netconf", "--startup", &startup.display().to_string()]);
    let session = |words: &[&str]| {
        let mut command = Command::new("strace");
        command.args(["-qq", "-o", "/dev/null"]).args(words).arg(own.get_program()).args(own.get_args());
        command.stdin(std::fs::File::open(&input).unwrap()).stdout(Stdio::piped());
        bench.here.within(|| command.output()).unwrap().unwrap()
    };
    let whole = session(&["-e", "trace=none"]);
    if whole.stdout.is_empty() {
        return ontick_skip::skipped!("strace may not trace here");
    }
    let (old, new) = (std::fs::read_to_string(bench.file()).unwrap(), std::fs::read_to_string(&file).unwrap());
    let (mut kept, mut replaced) = (0, 0);
    for call in ["ftruncate", "write", "fchmod", "fsync", "/^rename"] {
        for number in 1.. {
            std::fs::write(&file, &old).unwrap();
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={number}"));
            let status = session(&["-e", &trace, "-e", &inject]).status;
            if status.success() {
                break;
            }
            assert!(status.signal() == Some(9) || status.code() == Some(137), "{call} {number}: {status}");
            match std::fs::read_to_string(&file).unwrap() {
                text if text == old => kept += 1,
                text if text == new => replaced += 1,
                text => panic!("{call} {number}: {text}"),
            }
        }
    }
    assert!(kept > 5 && replaced > 0, "{kept} as before, {replaced} replaced");
    // What a killed one left is in nobody's way, and goes.
    assert!(session(&["-e", "trace=none"]).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new);
    assert_eq!(std::fs::read_dir(&startup).unwrap().count(), 1);
}

#[test]
fn libyang_accepts_what_is_answered() {
    let modules: Vec<&str> = OF_GATES.into_iter().chain(OF_STREAMS).collect();
    let (Some(of_config), Some(of_state)) = (yanglint("getconfig", &modules), yanglint("get", &modules)) else {
        return;
    };
    let Some(bench) = bench() else { return };
    let stream = "\n[[stream]]\nname = \"axis1\"\nto = \"02:00:00:00:01:0a\"\nvlan = 10\nmax-sdu = 100\nmeter = { rate = \
                  \"976kbit\", burst = 244 }\neliminate = {}\nreplicate = [\"port0\", \"port1\"]\n\n[[stream]]\nname = \"axis2\"\nto = \
                  \"02:00:00:00:01:0b\"\nreplicate = [\"port0\", \"port1\"]\n";
    let text = std::fs::read_to_string(bench.file()).unwrap() + stream;
    let shaped = "name = \"port0\"\nidle-slope = { red = \"20Mbit\" }";
    std::fs::write(bench.file(), text.replace("name = \"port0\"", shaped)).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let mut talk = Talk::begin(&bench);
    let mut data = |asked: &str| {
        let reply = talk.answer(asked);
        let (_, data) = reply.split_once("<data>").unwrap();
        data.split_once("</data>").unwrap().0.to_owned()
    };
    let file = bench.folder.path().join("data.xml");
    let judged = |judge: &mut Command, data: &str| {
        std::fs::write(&file, data).unwrap();
        judge.output().unwrap()
    };
    let accepted = |mut judge: Command, data: &str, mistakes: &[[&str; 2]]| {
        judge.arg(&file);
        let found = judged(&mut judge, data);
        assert!(found.status.success(), "{}{data}", stderr(&found));
        // It would have refused what is wrong.
        for [right, wrong] in mistakes {
            assert!(data.contains(right), "{data}");
            assert!(!judged(&mut judge, &data.replace(right, wrong)).status.success(), "{wrong}");
        }
    };
    accepted(
        of_config,
        &data("<get-config><source><running/></source></get-config>"),
        &[
            ["gate-states-value", "gate-state"],
            [">wildcard<", ">any<"],
            [">tagged<", ">yes<"],
            [">20000000<", ">20Mbit<"],
            [":credit-based-shaper<", ":credit<"],
        ],
    );
    let mistakes = [
        ["rx-passed-pkts", "rx-pass-pkts"],
        ["<discontinuity-time>", "<discontinuity-time>at "],
        [">up<", ">on<"],
        ["<in-octets>", "<in-octets>some "],
        ["passing-sdu-count>", "passing-sdus-count>"],
    ];
    let all = data("<get/>");
    let part = |name: &str| {
        let (from, end) = (all.find(&format!("<{name} ")).unwrap(), format!("</{name}>"));
        &all[from..all.find(&end).unwrap() + end.len()]
    };
    let parts = [part("yang-library"), part("modules-state")];
    accepted(of_state, &parts.iter().fold(all.clone(), |data, part| data.replace(part, "")), &mistakes);
    // By the library that comes with it, and by no module that is named here.
    let by_library = |library: &str| {
        let path = bench.folder.path().join("library.xml");
        std::fs::write(&path, library).unwrap();
        let mut judge = yanglint("get", &[]).unwrap();
        judge.arg("-Y").arg(path);
        judge
    };
    let library = parts.concat();
    accepted(by_library(&library), &all, &mistakes);
    let feature = "<feature>credit-based-shaper-algorithm</feature>";
    assert!(library.contains(feature), "{library}");
    let mut without = by_library(&library.replace(feature, ""));
    assert!(!judged(without.arg(&file), &all).status.success());
}

#[test]
fn unconfirmed_gates_go_on_time_however_their_session_ends() {
    let Some(bench) = managed() else { return };
    let commit = |more: &str| format!("<commit><confirmed/>{more}</commit>");
    let mut talk = Talk::begin(&bench);
    talk.ask(&edit(600));
    talk.ask(&commit("<confirm-timeout>600</confirm-timeout>"));
    assert!(has_window(&bench, "600us"), "{}", bench.status());
    // Without <persist>, they go with their session.
    talk.kill();
    wait_until("the gates from before", || has_window(&bench, "800us"));

    // With it, they outlast it, and go at the end of their time, not before.
    let mut talk = Talk::begin(&bench);
    talk.ask(&edit(500));
    let began = Instant::now();
    talk.ask(&commit("<confirm-timeout>3</confirm-timeout><persist>a</persist>"));
    talk.kill();
    wait_until("the gates from before", || has_window(&bench, "800us"));
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());

    // A second one has a time of its own, and what was before the first comes back.
    let mut talk = Talk::begin(&bench);
    talk.ask(&edit(600));
    talk.ask(&commit("<confirm-timeout>600</confirm-timeout>"));
    talk.ask(&edit(700));
    talk.ask(&commit("<confirm-timeout>1</confirm-timeout>"));
    wait_until("the gates from before", || has_window(&bench, "800us"));

    // What is set at the machine stays.
    talk.ask("<discard-changes/>");
    talk.ask(&edit(600));
    talk.ask(&commit("<confirm-timeout>600</confirm-timeout>"));
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    talk.ask(&edit(700));
    talk.ask(&commit("<confirm-timeout>600</confirm-timeout>"));
    talk.ask("<commit/>");
    talk.kill();
    assert!(!bench.folder.path().join("state/cell/unconfirmed.json").exists());
    assert!(has_window(&bench, "700us"), "{}", bench.status());
}

/// Descriptors, kB of memory and processes of its own that a process has.
fn taken(pid: u32) -> (usize, u64, usize) {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let memory_kb = memory.trim().trim_end_matches(" kB").parse().unwrap();
    (files, memory_kb, super::switch_user::descendants(pid as i32).len())
}

#[test]
fn a_thousand_edits_leave_nothing_behind() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let mut cycles = |count: u32| {
        for round in 0..count {
            talk.ask(&edit(100 + round % 800));
            talk.ask("<discard-changes/>");
        }
        taken(talk.pid())
    };
    let (files, memory_kb, _) = cycles(100);
    let after = cycles(900);
    assert_eq!(after.0, files);
    assert!(after.1 < memory_kb + 1024, "from {memory_kb} kB to {} kB", after.1);
}

/// `bench/run --only netconf` has a thousand of them.
#[test]
fn confirmed_commits_leave_nothing_behind() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let mut cycles = |rounds: std::ops::Range<u32>| {
        for round in rounds {
            talk.ask(&edit(100 + 20 * round));
            talk.ask("<commit><confirmed/></commit>");
            talk.ask("<commit/>");
        }
        wait_until("guardians to go", || {
            talk.ask("<discard-changes/>");
            taken(talk.pid()).2 == 0
        });
        taken(talk.pid())
    };
    let (files, memory_kb, _) = cycles(0..5);
    let after = cycles(5..40);
    assert_eq!(after.0, files);
    assert!(after.1 < memory_kb + 1024, "from {memory_kb} kB to {} kB", after.1);
}
