//! Settings of network interfaces on a modelled machine: found, planned, changed and put back, wherever it is stopped.

mod machine;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine::stop::{Kill, Manner, at_each_step};
use machine::{Machine, state};
use ontick_machine::apply::{Outcome, apply_appeared};
use ontick_machine::plan::State;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{
    Facts, Finding, Journal, Profile, Remedy, Root, Severity, Target, TuningPlan, apply, check, revert, status,
};
use ontick_undo::Undone;

/// A card as ethtool(8) shows one of those that most machines have.
const CARD: [(&str, &str); 16] = [
    ("/sys/class/net/eno1/device/msi_irqs/131", "msix\n"),
    ("/sys/class/net/eno1/threaded", "0\n"),
    ("/ethtool/eno1/coalesce/adaptive-rx", "1\n"),
    ("/ethtool/eno1/coalesce/adaptive-tx", "1\n"),
    ("/ethtool/eno1/coalesce/rx-frames", "32\n"),
    ("/ethtool/eno1/coalesce/rx-usecs", "50\n"),
    ("/ethtool/eno1/coalesce/tx-frames", "0\n"),
    ("/ethtool/eno1/coalesce/tx-usecs", "72\n"),
    ("/ethtool/eno1/eee/enabled", "1\n"),
    ("/ethtool/eno1/ring/rx", "256\n"),
    ("/ethtool/eno1/ring/rx-max", "4096\n"),
    ("/ethtool/eno1/feature/rx-gro", "on\n"),
    ("/ethtool/eno1/feature/rx-lro", "off [fixed]\n"),
    ("/ethtool/eno1/feature/rx-gro-hw", "on [fixed]\n"),
    ("/ethtool/eno1/feature/tx-tcp-segmentation", "on\n"),
    ("/ethtool/eno1/feature/tx-udp-segmentation", "off\n"),
];

fn with_card() -> Machine {
    let machine = Machine::lay("x86-grub");
    CARD.iter().for_each(|(path, content)| machine.write(path, content));
    machine
}

fn facts(machine: &Machine) -> Facts {
    let mut facts = machine.facts();
    facts.look_at_interfaces(&machine.root, &["eno1".into()]).unwrap();
    facts
}

fn target(machine: &Machine, only: &[&str]) -> Target {
    let mut target = machine.target(Profile::DedicatedCore);
    target.interfaces = vec!["eno1".into()];
    target.only = only.iter().map(|name| (*name).to_owned()).collect();
    target
}

/// All but the ring, which only who names it gets.
const OURS: [&str; 5] =
    ["interrupt-coalescing", "energy-efficient-ethernet", "joined-frames", "threaded-napi", "napi-threads"];

/// What a driver and the kernel do of their own.
struct Driver(PathBuf);

const THREAD_STAT: &str = "/proc/901/stat";

impl Hook for Driver {
    fn before(&self, _: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, _: &Path) {
        let place = |path: &str| self.0.join(path.trim_start_matches('/'));
        match act {
            Act::Set { path: "ethtool:eno1/coalesce/adaptive-rx", .. } => {
                fs::write(place("/ethtool/eno1/coalesce/rx-usecs"), "3\n").unwrap();
            }
            Act::Set { path: "/sys/class/net/eno1/threaded", value: "1" } => {
                let rest = "S 2 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 8901 0 0 18446744073709551615 0 0 0 0 0 0 0 \
                            2147483647 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0";
                fs::create_dir_all(place("/proc/901")).unwrap();
                fs::write(place(THREAD_STAT), format!("901 (napi/eno1-8193) {rest}\n")).unwrap();
            }
            Act::Set { path: "/sys/class/net/eno1/threaded", .. } => {
                let _ = fs::remove_dir_all(place("/proc/901"));
            }
            _ => {}
        }
    }
}

struct Both(Driver, Arc<Kill>);

impl Hook for Both {
    fn before(&self, act: &Act) -> Verdict {
        self.1.before(act)
    }

    fn after(&self, act: &Act, place: &Path) {
        self.0.after(act, place);
        self.1.after(act, place);
    }
}

fn driven(machine: &Machine) -> Root {
    machine.root.clone().with_hook(Arc::new(Driver(machine.folder().to_owned())))
}

#[test]
fn the_plan_says_what_is_wanted_of_a_card_and_what_is_not() {
    let machine = with_card();
    let plan = TuningPlan::make(&machine.root, &facts(&machine), &target(&machine, &[])).unwrap();
    let ours: Vec<_> = plan.items.iter().filter(|item| OURS.contains(&item.knob)).collect();
    let changes: Vec<_> = ours
        .iter()
        .filter(|item| item.state == State::Change)
        .map(|item| (item.path.rsplit('/').next().unwrap(), item.current.as_str(), item.wanted.as_str()))
        .collect();
    assert_eq!(
        changes,
        [
            ("adaptive-rx", "1", "0"),
            ("rx-frames", "32", "1"),
            ("rx-usecs", "50", "0"),
            ("enabled", "1", "0"),
            ("rx-gro", "on", "off"),
            ("tx-tcp-segmentation", "on", "off"),
            ("threaded", "0", "1"),
        ]
    );
    let left = |name: &str| ours.iter().find(|item| item.path.ends_with(name)).unwrap().state.clone();
    assert_eq!(left("/rx-lro"), State::Left("the driver keeps it off".into()));
    assert_eq!(left("/rx-gro-hw"), State::Left("the driver keeps it on".into()));
    assert_eq!(left("/tx-udp-segmentation"), State::AsWanted);
    assert!(matches!(left("/tx-usecs"), State::Left(why) if why.contains("frames that have left")));
    assert!(matches!(left("napi/eno1-*"), State::Absent(why) if why.contains("threaded-napi")));
    assert!(plan.items.iter().all(|item| item.knob != "receive-ring"));
    // Of no interface, nothing; and by name, the ring.
    let none = Target { interfaces: Vec::new(), ..target(&machine, &[]) };
    let plan = TuningPlan::make(&machine.root, &facts(&machine), &none).unwrap();
    assert!(plan.items.iter().all(|item| !OURS.contains(&item.knob)));
    let plan = TuningPlan::make(&machine.root, &facts(&machine), &target(&machine, &["receive-ring"])).unwrap();
    let ring: Vec<_> = plan.items.iter().map(|item| (item.current.as_str(), item.wanted.as_str())).collect();
    assert_eq!(ring, [("256", "4096")]);
}

#[test]
fn wherever_it_is_stopped_a_card_is_as_before() {
    let machine = with_card();
    let before = state(&machine);
    let names: Vec<&str> = OURS.into_iter().chain(["receive-ring"]).collect();
    let (facts, target) = (facts(&machine), target(&machine, &names));
    let plan = TuningPlan::make(&machine.root, &facts, &target).unwrap();
    let (mut whole, mut with_thread) = (0, 0);
    let steps = at_each_step(&Manner::ALL, |kill| {
        let root = machine.root.clone().with_hook(Arc::new(Both(Driver(machine.folder().to_owned()), kill.clone())));
        if let Ok(mut journal) = Journal::open(&root) {
            let mut applied = apply(&root, &plan, &mut journal);
            apply_appeared(&root, &facts, &plan, &mut journal, &mut applied);
            whole += usize::from(applied.complete());
        }
        let stat = fs::read_to_string(machine.place(THREAD_STAT)).unwrap_or_default();
        with_thread += usize::from(stat.contains(" 17 1 50 1 "));
        let mut journal = Journal::open(&machine.root).unwrap();
        let reverted = revert(&driven(&machine), &mut journal, false);
        journal.close();
        assert!(reverted.complete(), "{kill}: {reverted:?}");
        assert!(before == state(&machine), "{kill}: {reverted:?}");
    });
    assert!(steps > 20 && whole > 0 && with_thread > 0, "{steps} {whole} {with_thread}");
}

#[test]
fn what_is_changed_shows_in_status_and_a_card_that_went_is_gone() {
    let machine = with_card();
    let root = driven(&machine);
    let (facts, target) = (facts(&machine), target(&machine, &OURS));
    let plan = TuningPlan::make(&root, &facts, &target).unwrap();
    let mut journal = Journal::open(&root).unwrap();
    let mut applied = apply(&root, &plan, &mut journal);
    apply_appeared(&root, &facts, &plan, &mut journal, &mut applied);
    assert!(applied.complete(), "{applied:?}");
    let last = applied.changes.last().unwrap();
    assert_eq!((last.knob.as_str(), last.from.as_str(), last.to.as_str()), ("napi-threads", "other", "fifo:50"));
    assert!(applied.changes.iter().all(|change| change.outcome == Outcome::Done));
    assert_eq!(machine.read("/ethtool/eno1/coalesce/rx-usecs"), "0\n");
    let standing = status(&root, &journal);
    let now = |name: &str| {
        standing.changes.iter().find(|c| c.path.ends_with(name)).map(|c| (c.original.clone(), c.now.clone()))
    };
    assert_eq!(now("rx-usecs"), Some(("50".into(), "0".into())));
    assert_eq!(now("rx-gro"), Some(("on".into(), "off".into())));
    // Somebody else wanted another value meanwhile, and another card is gone.
    machine.write("/ethtool/eno1/coalesce/rx-frames", "8\n");
    fs::remove_dir_all(machine.place("/ethtool/eno1/feature")).unwrap();
    let reverted = revert(&root, &mut journal, false);
    journal.close();
    let became =
        |name: &str| reverted.steps.iter().find(|s| s.path.ends_with(name)).map(|s| s.outcome.clone()).unwrap();
    assert_eq!(became("rx-frames"), Undone::ChangedByOthers("8".into()));
    assert_eq!((became("rx-gro"), became("rx-usecs")), (Undone::Gone, Undone::Restored));
    assert_eq!(machine.read("/ethtool/eno1/coalesce/rx-frames"), "8\n");
    // The driver set it anew when the card was to choose again.
    assert_eq!(machine.read("/ethtool/eno1/coalesce/rx-usecs"), "50\n");
}

#[test]
fn a_program_that_has_the_name_of_a_cards_thread_gets_no_priority() {
    let machine = with_card();
    Driver(machine.folder().to_owned())
        .after(&Act::Set { path: "/sys/class/net/eno1/threaded", value: "1" }, Path::new(""));
    let of_a_program = machine.read(THREAD_STAT).replace("901 (napi/eno1-8193)", "902 (napi/eno1-1)");
    machine.write("/proc/902/stat", &of_a_program.replace(" 2129984 ", " 4194304 "));
    let plan = TuningPlan::make(&machine.root, &facts(&machine), &target(&machine, &["napi-threads"])).unwrap();
    let paths: Vec<&str> = plan.items.iter().map(|item| item.path.as_str()).collect();
    assert_eq!(paths, ["thread:901@8901/napi/eno1-8193"]);
}

fn findings(machine: &Machine, cpus: &str) -> Vec<Finding> {
    let facts = facts(machine);
    let mut target = Target::new(&facts, Some(cpus.parse().unwrap()), Profile::DedicatedCore).unwrap();
    target.interfaces = vec!["eno1".into()];
    check(&facts, &target, &Remedy::to_string)
}

fn found<'a>(all: &'a [Finding], id: &str) -> &'a Finding {
    all.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no finding {id}"))
}

#[test]
fn what_a_card_does_is_found_and_what_is_as_it_should_be_is_so() {
    let machine = with_card();
    let all = findings(&machine, "1");
    let saw = |id: &str| (found(&all, id).severity, found(&all, id).observed.as_str(), found(&all, id).knob.as_deref());
    assert_eq!(
        saw("interrupt-coalescing"),
        (
            Severity::Warn,
            "eno1 interrupts 50 µs after a frame or with 32 frames, or as it chooses itself",
            Some("interrupt-coalescing")
        )
    );
    assert_eq!(found(&all, "interrupt-coalescing").effect_ns, Some(50_000));
    assert_eq!(
        saw("energy-efficient-ethernet"),
        (Severity::Warn, "eno1 may rest between frames (EEE)", Some("energy-efficient-ethernet"))
    );
    assert_eq!(
        saw("joined-frames"),
        (Severity::Warn, "eno1 has rx-gro, tx-tcp-segmentation on", Some("joined-frames"))
    );
    assert_eq!(saw("receive-ring"), (Severity::Ok, "eno1 holds 256 frames that came, and could 4096", None));
    assert_eq!(saw("threaded-napi"), (Severity::Warn, "eno1 has its frames taken in softirqs", Some("threaded-napi")));
    assert_eq!(saw("card-interrupts"), (Severity::Bad, "eno1 may interrupt CPU 1: 131 eno1", Some("irq-affinity")));
    assert!(!all.iter().any(|f| f.id == "virtual-interface"));

    for (path, content) in [
        ("/ethtool/eno1/coalesce/adaptive-rx", "0\n"),
        ("/ethtool/eno1/coalesce/rx-frames", "1\n"),
        ("/ethtool/eno1/coalesce/rx-usecs", "0\n"),
        ("/ethtool/eno1/eee/enabled", "0\n"),
        ("/ethtool/eno1/feature/rx-gro", "off\n"),
        ("/ethtool/eno1/feature/tx-tcp-segmentation", "off\n"),
        ("/proc/irq/131/smp_affinity_list", "0,2-3\n"),
        ("/proc/irq/131/effective_affinity_list", "2\n"),
    ] {
        machine.write(path, content);
    }
    // As the kernel shows a thread at ordinary priority, and then at another.
    Driver(machine.folder().to_owned())
        .after(&Act::Set { path: "/sys/class/net/eno1/threaded", value: "1" }, Path::new(""));
    machine.write("/sys/class/net/eno1/threaded", "1\n");
    let all = findings(&machine, "1");
    for id in ["interrupt-coalescing", "energy-efficient-ethernet", "joined-frames", "card-interrupts"] {
        assert_eq!(found(&all, id).severity, Severity::Ok, "{id}: {}", found(&all, id).observed);
    }
    let threads = found(&all, "threaded-napi");
    assert_eq!((threads.severity, threads.knob.as_deref()), (Severity::Warn, Some("napi-threads")));
    let stat = machine.read(THREAD_STAT).replace(" 17 1 0 0 ", " 17 1 50 1 ");
    machine.write(THREAD_STAT, &stat);
    let all = findings(&machine, "1");
    assert_eq!(found(&all, "threaded-napi").observed, "eno1 has its frames taken by threads (fifo:50)");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let machine = with_card();
    for name in ["eno9", "..", "eno1/device", "*"] {
        let error = machine.facts().look_at_interfaces(&machine.root, &[name.into()]).unwrap_err();
        assert_eq!(error.to_string(), format!("there is no network interface {name} (there are eno1)"));
    }
    // One of software has no card to be looked at.
    machine.write("/sys/class/net/br0/threaded", "0\n");
    let mut facts = machine.facts();
    facts.look_at_interfaces(&machine.root, &["br0".into()]).unwrap();
    let target = Target { interfaces: vec!["br0".into()], ..target(&machine, &[]) };
    let all = check(&facts, &target, &Remedy::to_string);
    assert_eq!(found(&all, "virtual-interface").observed, "br0 is made by software: no card, no wire");
    assert!(!all.iter().any(|f| ["interrupt-coalescing", "card-interrupts", "receive-ring"].contains(&f.id.as_str())));
}
