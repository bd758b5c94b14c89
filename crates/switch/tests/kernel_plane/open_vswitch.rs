//! Open vSwitch in place of the kernel's bridge, with daemons of the test's own: `ovs-vswitchd` forwards by itself, so
//! that no module is needed.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use ontick_tsn::model::{Bridge, Datapath};

use super::*;

/// Daemons with a database and sockets in a folder of their own, which they do not outlive.
struct Daemons {
    folder: tempfile::TempDir,
    running: Vec<Child>,
}

impl Daemons {
    /// In the network namespace of the calling thread; nothing where Open vSwitch is not installed.
    fn start() -> Option<Self> {
        for tool in ["ovs-vsctl", "ovsdb-server", "ovsdb-tool", "ovs-vswitchd"] {
            if !installed(tool) {
                assert!(std::env::var_os("ONTICK_REQUIRE_TOOLS").is_none(), "{tool} is not installed");
                ontick_skip::skipped!("{tool} is not installed (package openvswitch-switch)");
                return None;
            }
        }
        let mut own = Self { folder: tempfile::tempdir().unwrap(), running: Vec::new() };
        let file = |name: &str| own.folder.path().join(name).to_str().unwrap().to_owned();
        let (database, socket) = (file("conf.db"), file("db.sock"));
        let made = own.command("ovsdb-tool", &["create", &database, "/usr/share/openvswitch/vswitch.ovsschema"]);
        assert!(made.status.success(), "{made:?}");
        own.spawn("ovsdb-server", &[&database, &format!("--remote=punix:{socket}")]);
        wait_for(|| own.command("ovs-vsctl", &["--timeout=5", "--no-wait", "init"]).status.success().then_some(()));
        own.spawn("ovs-vswitchd", &[&format!("unix:{socket}"), "--disable-system"]);
        wait_for(|| {
            own.command("ovs-appctl", &["--timeout=5", "-t", "ovs-vswitchd", "version"]).status.success().then_some(())
        });
        Some(own)
    }

    fn of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for name in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"] {
            command.env(name, self.folder.path());
        }
        command.stdin(Stdio::null());
        command
    }

    fn spawn(&mut self, program: &str, arguments: &[&str]) {
        let pidfile = format!("--pidfile={}", self.folder.path().join(program).with_extension("pid").display());
        let mut command = self.of(program);
        command.args(arguments).arg(pidfile).stdout(Stdio::null()).stderr(Stdio::null());
        self.running.push(command.spawn().unwrap());
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Output {
        self.of(program).args(arguments).output().unwrap()
    }

    /// What a program of Open vSwitch prints.
    fn said(&self, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let output = self.command(words[0], &words[1..]);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A machine whose programs find these daemons.
    fn host<H: Host>(&self, host: H) -> Private<H> {
        Private { host, folder: self.folder.path().to_owned() }
    }
}

impl Drop for Daemons {
    /// `ovs-vswitchd` first, so that it takes its interfaces with it.
    fn drop(&mut self) {
        for child in self.running.iter_mut().rev() {
            let pid = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = child.wait();
        }
    }
}

fn installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).any(|folder| folder.join(tool).is_file())
}

/// A machine on which Open vSwitch's sockets are elsewhere.
struct Private<H> {
    host: H,
    folder: PathBuf,
}

impl<H> Private<H> {
    fn elsewhere<T: From<String> + AsRef<str>>(&self, argv: &[T]) -> Vec<String> {
        let environment = ["env".to_owned(), format!("OVS_RUNDIR={}", self.folder.display())];
        let prefix = environment.into_iter().filter(|_| argv[0].as_ref().starts_with("ovs-"));
        prefix.chain(argv.iter().map(|word| word.as_ref().to_owned())).collect()
    }
}

impl<H: Host> Host for Private<H> {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        let owned: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let argv = self.elsewhere(&owned);
        self.host.query(&argv.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The kernels of test machines may lack tc flower, whose steps are then left out.
    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        if input.contains("flower") { Ok(String::new()) } else { self.host.try_out(argv, input) }
    }

    fn read(&self, path: &str) -> Option<String> {
        self.host.read(path)
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        self.host.features(port)
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        self.host.mac_merge(port)
    }

    fn transmit_queues(&self, port: &str) -> Option<u32> {
        self.host.transmit_queues(port)
    }

    fn rate(&self, port: &str) -> Option<u64> {
        self.host.rate(port)
    }

    fn driver(&self, port: &str) -> Option<String> {
        self.host.driver(port)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        self.host.act(&match act {
            Act::Run { argv } => Act::Run { argv: self.elsewhere(argv) },
            Act::Feed { argv, input } => Act::Feed { argv: self.elsewhere(argv), input: input.clone() },
            other => other.clone(),
        })
    }
}

fn faulty(fault: Arc<Kill>, for_good: bool) -> Faulty {
    Faulty { fault, for_good }
}

fn never() -> Faulty {
    faulty(Kill::at(usize::MAX, Manner::Before), false)
}

fn open_vswitch() -> Switch {
    let mut switch = Switch { bridge: Bridge::OpenVswitch(Datapath::Netdev), ..switch(Classifier::Auto) };
    switch.classes[0].rules.push(Rule { pcp: Some(6), ..Rule::default() });
    switch
}

fn plan(daemons: &Daemons, switch: &Switch) -> Result<Plan, kernel::CannotPlan> {
    let mut plan = kernel::plan(&daemons.host(never()), switch, 0)?;
    let flower = kernel::probe::flower(&Live) == kernel::probe::Known::There;
    plan.steps.retain(|step| has_prio() || !step.what.contains("(prio)"));
    plan.steps.retain(|step| flower || !step.what.contains("(tc flower)"));
    Ok(plan)
}

/// In a namespace with two ports and daemons that work there.
fn with_daemons(test: impl FnOnce(Daemons) + Send) {
    let Some(network) = ports() else { return };
    network.within(|| Daemons::start().map(test)).unwrap();
}

#[test]
fn every_step_goes_back_with_open_vswitch() {
    with_daemons(|daemons| {
        let place = tempfile::tempdir().unwrap();
        let (folder, switch) = (folder(place.path()), open_vswitch());
        let live = daemons.host(Live);
        // Another's bridge stays as it is throughout.
        daemons.said("ovs-vsctl --timeout=10 add-br other -- set bridge other datapath_type=netdev");
        let everything = || snapshot() + &daemons.said("ovs-vsctl --timeout=5 show");
        let before = (snapshot(), everything());
        let plan = plan(&daemons, &switch).unwrap();
        let goes_back = |when: &str| {
            revert(&live, &folder, &lock(&folder)).unwrap();
            is_as(&before.0, when);
            assert_eq!(everything(), before.1, "{when}");
        };

        apply_with(&live, &folder, &plan, &switch).unwrap();
        assert_eq!(daemons.said("ovs-vsctl --timeout=5 list-ports cell4"), "p1\np2\n");
        assert_eq!(config::read(&folder.configuration().unwrap()).unwrap().switch, switch);
        goes_back("after a revert");

        let acts: usize = plan.steps.iter().map(|step| step.acts.len()).sum();
        for for_good in [false, true] {
            let tried = at_each_step(&Manner::AROUND, |kill| {
                let applied = apply_with(&daemons.host(faulty(kill.clone(), for_good)), &folder, &plan, &switch);
                match applied {
                    Ok(()) => assert!(!kill.happened(), "{kill}: nobody noticed"),
                    Err(_) if !for_good => {
                        assert!(Journal::read(&folder).unwrap().is_none());
                        is_as(&before.0, &format!("refused where {kill}"));
                    }
                    Err(_) => {}
                }
                goes_back(&format!("{kill}, and a revert"));
            });
            assert_eq!(tried, acts);
        }
    });
}

#[test]
fn a_bridge_of_another_is_refused_and_never_removed() {
    with_daemons(|daemons| {
        let (live, switch) = (daemons.host(Live), open_vswitch());
        daemons.said("ovs-vsctl --timeout=10 add-br cell4 -- set bridge cell4 datapath_type=netdev");
        let refused = plan(&daemons, &switch).unwrap_err().to_string();
        assert_eq!(
            refused,
            "there is an Open vSwitch bridge cell4 already: remove it (ovs-vsctl del-br cell4), or give the switch \
             another name"
        );
        daemons.said("ovs-vsctl --timeout=10 del-br cell4 -- add-br other -- add-port other p2");
        let refused = plan(&daemons, &switch).unwrap_err().to_string();
        assert_eq!(
            refused,
            "port p2 belongs to Open vSwitch bridge other: take it out first (ovs-vsctl del-port other p2)"
        );
        daemons.said("ovs-vsctl --timeout=10 del-br other");
        // Somebody replaces ontick's bridge by one of the same name.
        let place = tempfile::tempdir().unwrap();
        let folder = folder(place.path());
        apply_with(&live, &folder, &plan(&daemons, &switch).unwrap(), &switch).unwrap();
        daemons.said("ovs-vsctl --timeout=10 del-br cell4 -- add-br cell4 -- add-port cell4 p1");
        assert!(revert(&live, &folder, &lock(&folder)).unwrap().unwrap().complete());
        assert_eq!(daemons.said("ovs-vsctl --timeout=5 list-ports cell4"), "p1\n");
    });
}

#[test]
fn without_its_daemon_one_sentence_says_so() {
    with_daemons(|mut daemons| {
        let mut vswitchd = daemons.running.pop().unwrap();
        vswitchd.kill().unwrap();
        vswitchd.wait().unwrap();
        let refused = plan(&daemons, &open_vswitch()).unwrap_err();
        assert_eq!(refused.reasons.len(), 1, "{refused}");
        let begin = "ovs-vswitchd does not answer (systemctl start openvswitch-switch): ";
        assert!(refused.reasons[0].starts_with(begin), "{refused}");
    });
}

/// Frames as a machine at the other end of the cable sends them: UDP to port 7777, with a tag of priority 6, others.
const SEND: &str = r#"
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("q1", 0))
ends = bytes.fromhex("0200000000020200000000aa")
def udp(port):
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 48, 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
    return struct.pack("!H", 0x0800) + ip + struct.pack("!HHHH", 9, port, 28, 0) + bytes(20)
for frame, times in [(udp(7777), 7), (b"\x81\0\xc0\0\x88\xb5" + bytes(46), 5), (udp(7778), 11)]:
    for _ in range(times):
        s.send(ends + frame)
"#;

#[test]
fn flows_count_the_frames_of_each_class_and_forward_them_all() {
    if !installed("tcpdump") {
        assert!(std::env::var_os("ONTICK_REQUIRE_TOOLS").is_none(), "tcpdump is not installed");
        ontick_skip::skipped!("tcpdump is not installed");
        return;
    }
    with_daemons(|daemons| {
        let place = tempfile::tempdir().unwrap();
        let (folder, switch) = (folder(place.path()), open_vswitch());
        let live = daemons.host(Live);
        apply_with(&live, &folder, &plan(&daemons, &switch).unwrap(), &switch).unwrap();
        let capture = place.path().join("q2.pcap");
        let capture = capture.to_str().unwrap();
        let mut tcpdump = Command::new("tcpdump")
            .args(["-i", "q2", "-U", "-Z", "root", "-c", "23", "-w", capture, "ether src 02:00:00:00:00:aa"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It writes the head of the file once it listens.
        wait_for(|| std::fs::metadata(capture).ok().filter(|file| file.len() >= 24));
        let sent = Command::new("python3").args(["-c", SEND]).output().unwrap();
        assert!(sent.status.success(), "{sent:?}");
        wait_for(|| tcpdump.try_wait().unwrap());
        let captured = |filter: &str| {
            let read = Command::new("tcpdump").args(["-n", "-r", capture, filter]).output().unwrap();
            String::from_utf8(read.stdout).unwrap().lines().filter(|line| !line.starts_with('\t')).count()
        };
        assert_eq!((captured("udp port 7777"), captured("vlan"), captured("udp port 7778")), (7, 5, 11));
        let flows = || daemons.said("ovs-ofctl dump-flows cell4");
        let counted = |part: &str| {
            let flows = flows();
            let line = flows.lines().find(|line| line.contains("table=0") && line.contains(part)).unwrap().to_owned();
            line.split("n_packets=").nth(1).unwrap().split(',').next().unwrap().parse::<u64>().unwrap()
        };
        // Its counters follow a little later.
        for (part, frames) in [("udp,tp_dst=7777", 7), ("dl_vlan_pcp=6", 5)] {
            wait_for(|| (counted(part) >= frames).then_some(()));
            assert_eq!(counted(part), frames, "{}", flows());
        }
        // Deleted flows are noticed and put back.
        daemons.said("ovs-ofctl del-flows cell4");
        let step = folder.plan().unwrap().steps.pop().unwrap();
        assert_eq!(differences(&live, &step.expects)[0].to_string(), "cell4 has other flows");
        step.acts.iter().for_each(|act| live.act(act).unwrap());
        assert!(differences(&live, &step.expects).is_empty());
        assert!(revert(&live, &folder, &lock(&folder)).unwrap().unwrap().complete());
    });
}
