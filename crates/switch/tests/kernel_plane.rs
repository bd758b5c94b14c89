//! The kernel plane in a network namespace of its own, as far as this machine's kernel goes: a bridge, nftables, ports
//! without gates. Every act is refused once, before and after it was done; everything must then be as before.

#[path = "../../record/tests/judges/mod.rs"]
mod judges;
#[path = "../../undo/tests/kill/mod.rs"]
mod kill;
#[path = "kernel_plane/open_vswitch.rs"]
mod open_vswitch;

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kill::{Kill, Manner, Step, at_each_step};
use ontick_switch::apply::{
    Act, ApplyError, Expect, Host, Journal, Live, Lock, Plan, Refused, SwitchDir, apply, differences, revert,
};
use ontick_switch::ethtool::{self, mac_merge};
use ontick_switch::features::Features;
use ontick_switch::kernel::{self, Options, ReconcileEnd};
use ontick_switch::verify::namespace::Namespace;
use ontick_tsn::config;
use ontick_tsn::model::{Class, Classifier, Forwarding, Offload, Plane, Port, Role, Rule, Socket, Switch};
use ontick_undo::Undone;

/// This machine with a fault at one act, which may be done first.
struct Faulty {
    fault: Arc<Kill>,
    /// Nothing works any more after the fault, as if the process had been killed there.
    for_good: bool,
}

impl Host for Faulty {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        if self.for_good && self.fault.happened() { Err(fault()) } else { Live.query(argv) }
    }

    /// Kernels of test machines may lack queueing disciplines, whose steps are then left out below.
    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        if input.contains("prio\n") { Ok(String::new()) } else { Live.try_out(argv, input) }
    }

    fn read(&self, path: &str) -> Option<String> {
        Live.read(path)
    }

    fn features(&self, port: &str) -> Result<Features, Refused> {
        Live.features(port)
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        Live.mac_merge(port)
    }

    fn transmit_queues(&self, port: &str) -> Option<u32> {
        ethtool::transmit_queues(port)
    }

    fn rate(&self, port: &str) -> Option<u64> {
        ethtool::rate(port)
    }

    fn driver(&self, port: &str) -> Option<String> {
        ethtool::driver(port)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        match self.fault.step() {
            Step::Made => Live.act(act),
            Step::Last(manner) => {
                if manner == Manner::After {
                    let _ = Live.act(act);
                }
                Err(fault())
            }
            Step::Dead if self.for_good => Err(fault()),
            Step::Dead => Live.act(act),
        }
    }
}

fn fault() -> Refused {
    Refused { what: "this".into(), why: "the test refuses it".into() }
}

fn switch(classifier: Classifier) -> Switch {
    let rule = Rule { ip_protocol: Some(17), to_port: Some(7777), ..Rule::default() };
    let class = |name: &str, queue, rules| Class { name: name.into(), queue, rules, limit: 100 };
    let port = |name: &str| Port {
        name: name.into(),
        rate: None,
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; 2],
        gates: None,
    };
    Switch {
        name: "cell4".into(),
        role: Role::Bridge,
        plane: Plane::Kernel,
        classifier,
        socket: Socket::Packet,
        cpus: Vec::new(),
        clock: ontick_tsn::model::Clock::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 1024,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        streams: Vec::new(),
        forwarding: Forwarding::default(),
        classes: vec![class("red", 1, vec![rule]), class("blue", 0, vec![])],
        ports: vec![port("p1"), port("p2")],
    }
}

fn plan(switch: &Switch) -> Plan {
    let mut plan =
        kernel::plan(&Faulty { fault: Kill::at(usize::MAX, Manner::Before), for_good: false }, switch, 0).unwrap();
    if !has_prio() {
        plan.steps.retain(|step| !step.what.contains("(prio)"));
    }
    plan
}

fn has_prio() -> bool {
    kernel::probe::prio(&Live) == kernel::probe::Known::There
}

/// A namespace with two ports, one on and one off, or why there is none.
fn ports() -> Option<Namespace> {
    let network = match Namespace::new() {
        Ok(network) => network,
        Err(why) => {
            ontick_skip::skipped!("a network namespace is needed: {why}");
            return None;
        }
    };
    for port in ["1", "2"] {
        let (ours, theirs) = (format!("p{port}"), format!("q{port}"));
        network.ip(&["link", "add", &ours, "type", "veth", "peer", "name", &theirs]).unwrap();
        network.ip(&["link", "set", &theirs, "up"]).unwrap();
        // A port that was never on is not to be had again.
        network.ip(&["link", "set", &ours, "up"]).unwrap();
    }
    network.ip(&["link", "set", "p2", "down"]).unwrap();
    // What the kernel says of links follows a little later, and is in what is compared.
    wait_for(|| is_settled(&network).then_some(()));
    Some(network)
}

/// Whether the kernel says of each link what it is to be. One that is asked for by its name is brought up to date (since Linux
/// 6.9; before, some time later).
fn is_settled(network: &Namespace) -> bool {
    let is_up = |link: &str| {
        let shown = network.run("ip", &["-j", "link", "show", "dev", link]).unwrap();
        shown.contains("\"operstate\":\"UP\"")
    };
    ["p1", "q1", "p2", "q2"].map(is_up) == [true, true, false, false]
}

fn has(classifier: Classifier) -> bool {
    let known = match classifier {
        Classifier::Nft => kernel::probe::nft(&Live),
        _ => kernel::probe::iptables(&Live),
    };
    if let kernel::probe::Known::Missing { what, why } = &known {
        ontick_skip::skipped!("{what}: {why}");
    }
    known == kernel::probe::Known::There
}

/// Everything that a switch could have changed, as text.
fn snapshot() -> String {
    let mut text = String::new();
    let look = |argv: &[&str]| Live.query(argv).unwrap_or_else(|refused| refused.to_string());
    // Counters and what IPv6 does by itself in time change without anybody's doing.
    for argv in [
        &["ip", "-d", "-j", "link"][..],
        &["tc", "-j", "qdisc"],
        &["tc", "-j", "filter", "show", "dev", "p1", "egress"],
        &["tc", "-j", "filter", "show", "dev", "p2", "egress"],
        &["nft", "list", "tables"],
        &["iptables", "-t", "mangle", "-S"],
    ] {
        writeln!(text, "{argv:?}\n{}", look(argv).replace(",{", ",\n{")).unwrap();
    }
    for port in ["p1", "p2"] {
        writeln!(text, "{port} {:?}", Live.features(port).unwrap()).unwrap();
        for key in ["disable_ipv6", "forwarding"] {
            let path = format!("/proc/sys/net/ipv6/conf/{port}/{key}");
            writeln!(text, "{path} {:?}", Live.read(&path)).unwrap();
        }
    }
    for file in ["call-iptables", "call-ip6tables", "call-arptables", "filter-vlan-tagged"] {
        let path = format!("/proc/sys/net/bridge/bridge-nf-{file}");
        writeln!(text, "{path} {:?}", Live.read(&path)).unwrap();
    }
    text
}

fn is_as(before: &str, when: &str) {
    is_as_in_lines(before, when, |_| true);
}

/// As far as these lines go. The operational state of a port's other end follows a little later.
fn is_as_in_lines(before: &str, when: &str, counts: impl Fn(&str) -> bool) {
    let lines = |text: &str| text.lines().filter(|line| counts(line)).map(str::to_owned).collect::<Vec<_>>();
    let (before, began) = (lines(before), Instant::now());
    loop {
        let now = lines(&snapshot());
        if now == before {
            return;
        }
        if began.elapsed() > LONGEST {
            let other = now.iter().zip(&before).filter(|(now, before)| now != before);
            panic!("{when}: {:#?}", other.collect::<Vec<_>>());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn folder(place: &Path) -> SwitchDir {
    SwitchDir::of("cell4", Some(place)).unwrap()
}

/// A program that another test starts at this moment has the lock's file open, too, until it is itself.
fn lock(folder: &SwitchDir) -> Lock {
    wait_for(|| folder.lock().ok())
}

fn apply_with(host: &impl Host, folder: &SwitchDir, plan: &Plan, switch: &Switch) -> Result<(), ApplyError> {
    let lock = lock(folder);
    apply(host, folder, &lock, plan, &config::write(switch))
}

fn goes_and_comes_back(classifier: Classifier) {
    let Some(network) = ports() else { return };
    network.within(|| round(classifier)).unwrap();
}

fn round(classifier: Classifier) {
    if !has(classifier) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    let switch = switch(classifier);
    let before = snapshot();
    let plan = plan(&switch);
    is_as(&before, "a plan changes nothing");

    apply_with(&Live, &folder, &plan, &switch).unwrap();
    assert!(Journal::read(&folder).unwrap().unwrap().is_complete());
    assert_eq!(config::read(&folder.configuration().unwrap()).unwrap().switch, switch);
    assert_eq!(folder.plan().unwrap(), plan);
    assert_ne!(snapshot(), before);
    let again = apply_with(&Live, &folder, &plan, &switch).unwrap_err();
    assert!(matches!(again, ApplyError::Exists(_)), "{again}");
    let reverted = revert(&Live, &folder, &lock(&folder)).unwrap().unwrap();
    assert!(reverted.complete());
    is_as(&before, "after a revert");
    assert!(revert(&Live, &folder, &lock(&folder)).unwrap().is_none());

    let acts: usize = plan.steps.iter().map(|step| step.acts.len()).sum();
    for for_good in [false, true] {
        let tried = at_each_step(&Manner::AROUND, |kill| {
            let applied = apply_with(&Faulty { fault: kill.clone(), for_good }, &folder, &plan, &switch);
            let journal = Journal::read(&folder).unwrap();
            match applied {
                Ok(()) => assert!(!kill.happened(), "{kill}: nobody noticed"),
                Err(refused) if !for_good => {
                    assert!(refused.to_string().contains("the test refuses it. Everything is as before"), "{refused}");
                    assert!(journal.is_none());
                    is_as(&before, &format!("refused where {kill}"));
                }
                // The first step may have nothing to undo that could fail.
                Err(ApplyError::Stuck { .. }) => assert!(!journal.unwrap().is_complete()),
                Err(_) => {}
            }
            revert(&Live, &folder, &lock(&folder)).unwrap();
            is_as(&before, &format!("{kill}, and a revert"));
        });
        assert_eq!(tried, acts);
    }
}

#[test]
fn every_step_goes_back_with_nft() {
    goes_and_comes_back(Classifier::Nft);
}

#[test]
fn every_step_goes_back_with_iptables() {
    goes_and_comes_back(Classifier::Iptables);
}

/// A journal of version 0.1.0 of a switch that stands: what later versions must go on undoing.
#[test]
fn a_journal_that_an_earlier_version_left_is_reverted() {
    let Some(network) = ports() else { return };
    network.within(reverted_by_an_old_journal).unwrap();
}

fn reverted_by_an_old_journal() {
    if !has(Classifier::Nft) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (folder, switch) = (folder(place.path()), switch(Classifier::Nft));
    let before = snapshot();
    apply_with(&Live, &folder, &plan(&switch), &switch).unwrap();
    let file = place.path().join("cell4/journal.jsonl");
    let own = std::fs::read_to_string(&file).unwrap();
    // Its boot and network namespace are these, and offloads those of this kernel; interfaces have the same numbers as
    // in any new namespace.
    let old = include_str!("journals/cell4.jsonl").lines().zip(own.lines());
    let of_this_machine = |line: &str| line.contains("\"begin\"") || line.contains("\"features\"");
    let text: String = old.map(|(old, own)| if of_this_machine(old) { own } else { old }.to_owned() + "\n").collect();
    std::fs::write(&file, text).unwrap();
    let reverted = revert(&Live, &folder, &lock(&folder)).unwrap().unwrap();
    assert!(reverted.complete() && reverted.damage.is_empty() && reverted.undone.len() > 5, "{reverted:?}");
    is_as(&before, "reverted by a journal of before");
}

#[test]
fn what_others_change_is_reported_and_put_back() {
    let Some(network) = ports() else { return };
    network.within(kept).unwrap();
}

fn kept() {
    if !has(Classifier::Nft) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    let switch = switch(Classifier::Nft);
    let before = snapshot();
    let plan = plan(&switch);
    apply_with(&Live, &folder, &plan, &switch).unwrap();
    let run = |words: &str| Live.act(&Act::run(words)).unwrap();
    let (stop, said) = (AtomicBool::new(false), Said::default());
    let metrics = place.path().join("cell4.prom");
    std::thread::scope(|scope| {
        let (folder, switch, stop, said, written) = (&folder, &switch, &stop, &said, metrics.clone());
        let keeper = scope.spawn(move || {
            let options = Options { metrics: Some(written) };
            let held = folder.watch().unwrap().expect("nobody else watches it");
            kernel::reconcile::run(&Live, folder, &held, switch, &options, stop, &mut |s| said.add(s)).unwrap()
        });
        let stopped = SetAtTheEnd(stop);
        // A step that is put back may have more to do when nothing differs any more: its sentence ends it.
        run("nft delete table bridge ontick_cell4");
        said.wait_for("ontick_cell4 is gone: put back");
        until_as_planned(folder);
        run("ip link set dev p1 nomaster");
        said.wait_for("p1 is not in cell4: put back");
        until_as_planned(folder);
        Live.act(&Act::Features { port: "p1".into(), wanted: vec![("tx-tcp-segmentation".into(), true)] }).unwrap();
        said.wait_for("p1 has tx-tcp-segmentation on: put back");
        until_as_planned(folder);
        if has_prio() {
            run("ip link del dev p2");
            run("ip link add p2 type veth peer name q2");
            run("ip link set dev q2 up");
            said.wait_for("port p2 is back, and set up again");
            until_as_planned(folder);
        } else {
            eprintln!("left out: a port that comes back would get a prio, which this kernel lacks");
        }
        let is_up = "ontick_switch_link_up{switch=\"cell4\",port=\"p1\"} 1";
        let counted = || std::fs::read_to_string(&metrics).ok().filter(|text| text.contains(is_up));
        let text = wait_for(counted);
        assert!(text.ends_with("# EOF\n"), "{text}");
        judges::openmetrics(&text);
        drop(stopped);
        let (ended, tally) = keeper.join().unwrap();
        assert_eq!(ended, ReconcileEnd::Stopped);
        assert!(tally.put_back >= 3, "{said:?}");
        assert_eq!(said.has("port p2 is back, and set up again"), has_prio(), "{said:?}");
    });
    let reverted = revert(&Live, &folder, &lock(&folder)).unwrap().unwrap();
    assert!(reverted.complete());
    // The first p2 took its part with it.
    assert_eq!(reverted.undone.iter().any(|reported| reported.outcome == Undone::Gone), has_prio());
    let is_of_p1 = |line: &str| line.contains("\"p1\"") || line.starts_with("table") || line.starts_with("p1");
    is_as_in_lines(&before, "after a revert", |line| is_of_p1(line) && !line.contains("p2"));
}

/// What a keeper said so far.
#[derive(Debug, Default)]
struct Said(Mutex<Vec<String>>);

impl Said {
    fn add(&self, sentence: &str) {
        self.0.lock().unwrap().push(sentence.to_owned());
    }

    fn has(&self, part: &str) -> bool {
        self.0.lock().unwrap().iter().any(|sentence| sentence.contains(part))
    }

    fn wait_for(&self, part: &str) {
        let began = Instant::now();
        while !self.has(part) {
            assert!(began.elapsed() < LONGEST, "{part} in {self:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Also when the test fails: whoever runs until it is set would hold it up.
struct SetAtTheEnd<'a>(&'a AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Until nothing differs from the plan that stands.
fn until_as_planned(folder: &SwitchDir) {
    wait_for(|| {
        let plan = folder.plan().ok()?;
        let expects: Vec<Expect> = plan.steps.iter().flat_map(|step| step.expects.clone()).collect();
        differences(&Live, &expects).is_empty().then_some(())
    });
}

/// Long enough for any machine; whoever waits so long has failed.
const LONGEST: Duration = Duration::from_secs(60);

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LONGEST, "it never came about");
        std::thread::sleep(Duration::from_millis(50));
    }
}
