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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
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
    Some(network)
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

/// The operational state of a port's other end follows a little later.
fn is_as(before: &str, when: &str) {
    let began = Instant::now();
    loop {
        let now = snapshot();
        if now == before {
            return;
        }
        if began.elapsed() > Duration::from_secs(20) {
            let other = now.lines().zip(before.lines()).filter(|(now, before)| now != before);
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
    let stop = AtomicBool::new(false);
    let metrics = place.path().join("cell4.prom");
    std::thread::scope(|scope| {
        let (folder, switch, stop, metrics) = (&folder, &switch, &stop, metrics.clone());
        let keeper = scope.spawn(move || {
            let mut said = Vec::new();
            let options = Options { metrics: Some(metrics) };
            let held = folder.watch().unwrap().expect("nobody else watches it");
            let ended =
                kernel::reconcile::run(&Live, folder, &held, switch, &options, stop, &mut |s| said.push(s.to_owned()))
                    .unwrap();
            (ended, said)
        });
        let stopped = SetAtTheEnd(stop);
        run("nft delete table bridge ontick_cell4");
        until_as_planned(folder);
        run("ip link set dev p1 nomaster");
        until_as_planned(folder);
        Live.act(&Act::Features { port: "p1".into(), wanted: vec![("tx-tcp-segmentation".into(), true)] }).unwrap();
        until_as_planned(folder);
        if has_prio() {
            run("ip link del dev p2");
            run("ip link add p2 type veth peer name q2");
            run("ip link set dev q2 up");
            until_as_planned(folder);
        } else {
            eprintln!("left out: a port that comes back would get a prio, which this kernel lacks");
        }
        let text = wait_for(|| std::fs::read_to_string(place.path().join("cell4.prom")).ok());
        assert!(
            text.ends_with("# EOF\n") && text.contains("ontick_switch_link_up{switch=\"cell4\",port=\"p1\"} 1"),
            "{text}"
        );
        judges::openmetrics(&text);
        drop(stopped);
        let ((ended, tally), said) = keeper.join().unwrap();
        assert_eq!(ended, ReconcileEnd::Stopped);
        assert!(tally.put_back >= 3, "{said:?}");
        for part in [
            "ontick_cell4 is gone: put back",
            "p1 is not in cell4: put back",
            "p1 has tx-tcp-segmentation on: put back",
        ] {
            assert!(said.iter().any(|sentence| sentence.contains(part)), "{part} in {said:#?}");
        }
        let back = said.iter().any(|sentence| sentence == "port p2 is back, and set up again");
        assert_eq!(back, has_prio(), "{said:#?}");
    });
    let reverted = revert(&Live, &folder, &lock(&folder)).unwrap().unwrap();
    assert!(reverted.complete());
    // The first p2 took its part with it.
    assert_eq!(reverted.undone.iter().any(|reported| reported.outcome == Undone::Gone), has_prio());
    let ours =
        |snapshot: &str| snapshot.lines().filter(|line| !line.contains("p2")).map(str::to_owned).collect::<Vec<_>>();
    let known = |lines: Vec<String>| {
        lines
            .into_iter()
            .filter(|line| line.contains("\"p1\"") || line.starts_with("table") || line.starts_with("p1"))
            .collect::<Vec<_>>()
    };
    assert_eq!(known(ours(&snapshot())), known(ours(&before)));
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
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it never came about");
        std::thread::sleep(Duration::from_millis(50));
    }
}
