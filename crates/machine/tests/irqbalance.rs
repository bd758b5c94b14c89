//! An irqbalance that runs on a modelled machine is told to keep off the timed CPUs: found, planned, told and told otherwise,
//! wherever it is stopped.

mod machine;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machine::stop::{Manner, at_each_step};
use machine::{Machine, back, difference, state};
use ontick_machine::plan::State;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::status::SettingState;
use ontick_machine::{
    Finding, Journal, Profile, Remedy, Severity, Status, Target, TuningPlan, apply, boot, check, status,
};

const BANNED: &str = "/irqbalance/banned-cpus";
const CARD: &str = "/proc/irq/131/smp_affinity_list";

/// A desktop on which irqbalance runs and keeps off none of 4 CPUs, all of which the interrupts may go to.
fn lay() -> Machine {
    let machine = Machine::lay("x86-grub");
    machine.write(BANNED, "none\n");
    machine
}

fn target(machine: &Machine, only: &[&str]) -> Target {
    let mut target = machine.target(Profile::DedicatedCore);
    target.only = only.iter().map(|name| (*name).to_owned()).collect();
    target
}

fn plan(machine: &Machine, only: &[&str]) -> TuningPlan {
    TuningPlan::make(&machine.root, &machine.facts(), &target(machine, only)).unwrap()
}

fn rivals(machine: &Machine) -> Finding {
    let all = check(&machine.facts(), &machine.target(Profile::DedicatedCore), &Remedy::to_string);
    all.into_iter().find(|finding| finding.id == "rivals").unwrap()
}

fn now(machine: &Machine) -> Status {
    status(&machine.root, &Journal::read(&machine.root).unwrap())
}

#[test]
fn it_is_told_to_keep_off_the_timed_cpu_and_may_go_on_besides() {
    let machine = lay();
    let as_before = state(&machine);
    let runs = rivals(&machine);
    assert_eq!((runs.severity, runs.knob.as_deref()), (Severity::Bad, Some("irqbalance")));
    assert_eq!(runs.should, "told to keep off CPU 3");
    let plan = plan(&machine, &["irq-affinity", "irqbalance"]);
    let last = plan.changes().last().unwrap();
    assert_eq!(
        (last.path.as_str(), last.current.as_str(), last.wanted.as_str()),
        ("irqbalance:banned-cpus", "none", "3")
    );
    assert!(apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap()).complete());
    assert_eq!((machine.read(BANNED).as_str(), machine.read(CARD).as_str()), ("3\n", "0-2\n"));
    let keeps_off = rivals(&machine);
    assert_eq!(
        (keeps_off.severity, keeps_off.observed.as_str()),
        (Severity::Ok, "irqbalance runs, and keeps off CPU 3")
    );

    // It goes on to balance among the CPUs that are left to it, and comes back to where the interrupt was.
    machine.write(CARD, "1\n");
    let standing = now(&machine);
    let card = standing.changes.iter().find(|change| change.path == CARD).unwrap();
    assert_eq!((card.state, card.now.as_str()), (SettingState::AsSet, "1"));
    assert!(card.note.as_ref().unwrap().contains("irqbalance chose CPU 1"), "{card:?}");
    assert_eq!(self::plan(&machine, &["irq-affinity", "irqbalance"]).changes().count(), 0);
    let reverted = back(&machine.root);
    assert!(reverted.complete(), "{reverted:?}");
    assert!(state(&machine) == as_before, "{}", difference(&as_before, &state(&machine)));
}

#[test]
fn an_interrupt_that_goes_to_the_timed_cpu_again_is_somebody_elses() {
    let machine = lay();
    let plan = plan(&machine, &["irq-affinity", "irqbalance"]);
    assert!(apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap()).complete());
    machine.write(CARD, "3\n");
    let card = |status: &Status| status.changes.iter().find(|change| change.path == CARD).unwrap().state;
    assert_eq!(card(&now(&machine)), SettingState::ChangedByOthers);
    assert!(!back(&machine.root).complete());
    assert_eq!(machine.read(CARD), "3\n");
}

/// As with isolated CPUs, which it keeps off by itself, and with the file that `tune --boot` writes.
#[test]
fn what_it_chooses_is_its_own_also_where_it_kept_off_the_timed_cpu_already() {
    for (kept_off, goes, is_its) in
        [("3", "1", true), ("1,3", "0", true), ("1", "0", false), ("1,3", "1", false), ("3", "3", false)]
    {
        let machine = lay();
        machine.write(BANNED, &format!("{kept_off}\n"));
        let as_before = state(&machine);
        let names: &[&str] = if kept_off == "1" { &["irq-affinity"] } else { &["irq-affinity", "irqbalance"] };
        let plan = plan(&machine, names);
        assert!(plan.changes().all(|item| item.knob == "irq-affinity"), "{plan:?}");
        assert!(apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap()).complete());
        machine.write(CARD, &format!("{goes}\n"));
        let card = now(&machine).changes.into_iter().find(|change| change.path == CARD).unwrap();
        let is_chosen = card.note.as_ref().is_some_and(|note| note.contains("irqbalance chose CPU"));
        assert_eq!((card.state == SettingState::AsSet, is_chosen), (is_its, is_its), "{kept_off}, {goes}: {card:?}");
        assert_eq!(back(&machine.root).complete(), is_its, "{kept_off}, {goes}");
        match is_its {
            true => assert!(state(&machine) == as_before, "{}", difference(&as_before, &state(&machine))),
            false => assert_eq!(machine.read(CARD), format!("{goes}\n")),
        }
    }
}

#[test]
fn what_it_keeps_off_already_stays_and_comes_back_at_each_step() {
    let machine = lay();
    machine.write(BANNED, "0\n");
    let as_before = state(&machine);
    let plan = plan(&machine, &["irqbalance"]);
    assert_eq!(plan.changes().map(|item| item.wanted.as_str()).collect::<Vec<_>>(), ["0,3"]);
    let steps = at_each_step(&Manner::ALL, |kill| {
        let root = machine.root.clone().with_hook(kill.clone());
        if let Ok(mut journal) = Journal::open(&root) {
            apply(&root, &plan, &mut journal);
        }
        assert!(back(&machine.root).complete(), "{kill}");
        assert!(state(&machine) == as_before, "{kill}: {}", difference(&as_before, &state(&machine)));
    });
    assert!(steps > 3, "{steps}");
}

/// It shows what it was told when it has done it: until then it is as if nothing had been said.
struct Slow(AtomicUsize);

impl Hook for Slow {
    fn before(&self, act: &Act) -> Verdict {
        match act {
            Act::Set { path: BANNED, .. } => {
                self.0.fetch_add(1, Ordering::Relaxed);
                Verdict::Handled
            }
            // Killed before it is known to be done.
            Act::Append { content, .. } if content.windows(6).any(|part| part == b"\"done\"") => {
                Verdict::Refuse(std::io::Error::other("stopped"))
            }
            _ => Verdict::Go,
        }
    }

    fn after(&self, _: &Act, _: &Path) {}
}

#[test]
fn what_it_was_told_and_has_not_done_yet_is_taken_back() {
    let machine = lay();
    let slow = Arc::new(Slow(AtomicUsize::new(0)));
    let root = machine.root.clone().with_hook(slow.clone());
    apply(&root, &plan(&machine, &["irqbalance"]), &mut Journal::open(&root).unwrap());
    assert_eq!((slow.0.load(Ordering::Relaxed), machine.read(BANNED).as_str()), (1, "none\n"));
    assert!(back(&root).complete());
    assert_eq!(slow.0.load(Ordering::Relaxed), 2, "told that it may use every CPU again");
}

const DEFAULTS: &str = "/etc/default/irqbalance";

/// Its service as packaged reads a file of its own, and then that of the administrator.
fn with_service(machine: &Machine) {
    let unit =
        "[Service]\nEnvironmentFile=/usr/lib/irqbalance/defaults.env\nEnvironmentFile=-/etc/default/irqbalance\n";
    machine.write("/lib/systemd/system/irqbalance.service", unit);
}

fn write_boot_files(machine: &Machine, profile: Profile) {
    write_boot_files_for(machine, None, profile);
}

fn write_boot_files_for(machine: &Machine, cpus: Option<&str>, profile: Profile) {
    let cpus = cpus.map(|cpus| cpus.parse().unwrap());
    let target = Target::new(&machine.facts(), cpus, profile).unwrap();
    let plan = boot::plan(&machine.root, &machine.facts(), &target, false).unwrap();
    let applied = boot::apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap());
    assert!(applied.stopped.is_none(), "{applied:?}");
}

#[test]
fn from_its_start_on_it_keeps_off_cpus_that_nothing_isolates() {
    let machine = lay();
    with_service(&machine);
    let packaged = "#IRQBALANCE_BANNED_CPULIST=\nIRQBALANCE_ARGS=\"\"\n";
    machine.write(DEFAULTS, packaged);
    let as_before = state(&machine);
    write_boot_files(&machine, Profile::DedicatedCore);
    assert_eq!(machine.read(DEFAULTS), packaged, "isolated CPUs are kept off by themselves");
    for _ in 0..2 {
        write_boot_files(&machine, Profile::LowLatency);
        let lines = machine.read(DEFAULTS);
        assert!(
            lines.starts_with(packaged)
                && lines.ends_with("tune revert takes it out again.\nIRQBALANCE_BANNED_CPULIST=3\n"),
            "{lines}"
        );
    }
    write_boot_files(&machine, Profile::DedicatedCore);
    assert_eq!(machine.read(DEFAULTS), packaged, "a second plan takes the place of the first");
    write_boot_files(&machine, Profile::LowLatency);
    machine.write(DEFAULTS, &machine.read(DEFAULTS).replace("ARGS=\"\"", "ARGS=\"-j\""));
    assert!(back(&machine.root).complete());
    assert_eq!(machine.read(DEFAULTS), packaged.replace("\"\"", "\"-j\""), "what others wrote since stays");
    machine.write(DEFAULTS, packaged);
    assert!(state(&machine) == as_before, "{}", difference(&as_before, &state(&machine)));
}

#[test]
fn a_file_that_its_service_would_read_is_made_and_goes_again() {
    let machine = lay();
    with_service(&machine);
    let as_before = state(&machine);
    write_boot_files(&machine, Profile::DedicatedCore);
    assert!(!machine.place(DEFAULTS).exists());
    write_boot_files(&machine, Profile::LowLatency);
    assert!(machine.read(DEFAULTS).ends_with("\nIRQBALANCE_BANNED_CPULIST=3\n"));
    assert!(back(&machine.root).complete());
    assert!(state(&machine) == as_before, "{}", difference(&as_before, &state(&machine)));

    machine.write(DEFAULTS, "IRQBALANCE_BANNED_CPUS=$MASK\n");
    let plan = boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::LowLatency), false).unwrap();
    assert!(plan.notes.iter().any(|note| note.contains("cannot be read")), "{:?}", plan.notes);
    assert!(plan.edits.iter().all(|edit| edit.path != DEFAULTS));
}

/// As a restart with these arguments more leaves it.
fn restart(machine: &Machine, arguments: &str, isolated: &str, nohz_full: &str) {
    machine.write("/proc/cmdline", &format!("{}{arguments}\n", machine.read("/proc/cmdline").trim_end()));
    machine.write("/sys/devices/system/cpu/isolated", &format!("{isolated}\n"));
    machine.write("/sys/devices/system/cpu/nohz_full", &format!("{nohz_full}\n"));
}

#[test]
fn cpus_that_an_earlier_plan_isolates_until_the_next_start_are_not_kept_off_for_good() {
    let grub = "/etc/default/grub";
    for (theirs, isolated, line) in [("", "", "2"), (" isolcpus=1", "1", "1-2")] {
        let machine = lay();
        with_service(&machine);
        let text = machine.read(grub);
        machine.write(grub, &text.replace("LINUX=\"\"", &format!("LINUX=\"{theirs}\"")));
        restart(&machine, theirs, isolated, "");
        write_boot_files_for(&machine, Some("3"), Profile::DedicatedCore);
        restart(&machine, " isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2", "3", "3");
        for _ in 0..2 {
            write_boot_files_for(&machine, Some("2"), Profile::LowLatency);
            let text = machine.read(DEFAULTS);
            assert!(text.ends_with(&format!("IRQBALANCE_BANNED_CPULIST={line}\n")), "{theirs}: {text}");
        }
    }
    // What others isolate stays so.
    let machine = lay();
    with_service(&machine);
    restart(&machine, " isolcpus=1", "1", "");
    write_boot_files_for(&machine, Some("2"), Profile::LowLatency);
    assert!(machine.read(DEFAULTS).ends_with("IRQBALANCE_BANNED_CPULIST=1-2\n"), "{}", machine.read(DEFAULTS));
}

#[test]
fn what_others_add_to_a_file_that_was_made_for_it_stays() {
    for again in [None, Some(Profile::LowLatency), Some(Profile::DedicatedCore)] {
        let machine = lay();
        with_service(&machine);
        write_boot_files(&machine, Profile::LowLatency);
        let theirs = "IRQBALANCE_ARGS=-j\n";
        machine.write(DEFAULTS, &(machine.read(DEFAULTS) + theirs));
        if let Some(profile) = again {
            write_boot_files(&machine, profile);
            let text = machine.read(DEFAULTS);
            let keeps_off = text.contains("\nIRQBALANCE_BANNED_CPULIST=3\n");
            assert!(text.contains(theirs) && keeps_off == (profile == Profile::LowLatency), "{profile:?}: {text}");
        }
        assert!(back(&machine.root).complete(), "{again:?}");
        assert_eq!(machine.read(DEFAULTS), theirs, "{again:?}");
    }
}

#[test]
fn a_machine_without_it_has_no_such_setting() {
    let machine = Machine::lay("pi4");
    let item = plan(&machine, &["irqbalance"]).items.remove(0);
    assert!(matches!(&item.state, State::Absent(why) if why.contains("does not run here")), "{item:?}");
    let one = Machine::lay("beaglebone");
    one.write(BANNED, "none\n");
    let left = plan(&one, &["irqbalance"]).items.remove(0).state;
    assert!(matches!(&left, State::Left(why) if why.contains("one CPU")), "{left:?}");
}
