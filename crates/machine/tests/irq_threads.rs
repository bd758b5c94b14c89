//! Priorities of threads that handle interrupts: planned, changed and put back, wherever it is stopped.

mod machine;

use machine::stop::{Manner, at_each_step};
use machine::{Machine, state};
use ontick_machine::{Journal, Profile, TuningPlan, apply, boot, revert};
use ontick_undo::Undone;

/// The state of threads of interrupts, as `/proc/PID/stat` shows it.
fn with_irq_threads(machine: &Machine) {
    for (task, name, policy, priority) in
        [(71, "irq/36-eth0", 1, 50), (72, "irq/40-mmc0 (x) y", 1, 50), (73, "irq/40-s-mmc0", 2, 49)]
    {
        let prio = -1 - priority;
        let rest = format!(
            "S 2 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 {prio} 0 1 0 8{task} 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 1 {priority} {policy} 0 0 0 0 0 0 0 0 0 0 0"
        );
        machine.write(&format!("/proc/{task}/stat"), &format!("{task} ({name}) {rest}\n"));
    }
}

fn irq_plan(machine: &Machine, wanted: &[&str]) -> TuningPlan {
    let mut target = machine.target(Profile::DedicatedCore);
    target.irq_threads = wanted.iter().map(|text| text.parse().unwrap()).collect();
    TuningPlan::make(&machine.root, &machine.facts(), &target).unwrap()
}

#[test]
fn digits_alone_are_the_number_of_an_interrupt() {
    let machine = Machine::lay("pi4");
    with_irq_threads(&machine);
    let changed = |wanted: &str| {
        let plan = irq_plan(&machine, &[wanted]);
        let threads = plan.changes().filter(|item| item.knob == "irq-threads").map(|item| item.path.clone());
        threads.collect::<Vec<_>>().join(" ")
    };
    // The name of another has a 0 in it.
    assert_eq!(changed("0=fifo:70"), "");
    assert_eq!(changed("36=fifo:70"), "thread:71@871/irq/36-eth0");
    assert_eq!(changed("eth0=fifo:70"), "thread:71@871/irq/36-eth0");
}

/// As a program shows that calls itself by the name of a thread of interrupts.
fn as_a_program(machine: &Machine, task: u32) {
    let path = format!("/proc/{task}/stat");
    machine.write(&path, &machine.read(&path).replace(" 2129984 ", " 4194304 "));
}

#[test]
fn a_program_that_has_the_name_of_an_interrupt_thread_gets_no_priority() {
    let machine = Machine::lay("pi4");
    with_irq_threads(&machine);
    as_a_program(&machine, 72);
    let plan = irq_plan(&machine, &["fifo:40"]);
    let paths = |plan: &TuningPlan| plan.changes().map(|item| item.path.clone()).collect::<Vec<_>>();
    assert_eq!(
        paths(&plan).into_iter().filter(|path| path.starts_with("thread:")).collect::<Vec<_>>(),
        ["thread:71@871/irq/36-eth0", "thread:73@873/irq/40-s-mmc0"]
    );
    // One that is no thread of the kernel any more is not the one that was planned, nor the one that is put back.
    as_a_program(&machine, 73);
    let mut journal = Journal::open(&machine.root).unwrap();
    apply(&machine.root, &plan, &mut journal);
    assert!(machine.read("/proc/71/stat").contains(" 17 1 40 1 "));
    as_a_program(&machine, 71);
    let before = ["71", "72", "73"].map(|task| machine.read(&format!("/proc/{task}/stat")));
    let reverted = revert(&machine.root, &mut journal, false);
    journal.close();
    let thread = reverted.steps.iter().find(|step| step.path.ends_with("/irq/36-eth0")).unwrap();
    assert_eq!(thread.outcome, Undone::Gone);
    assert_eq!(before, ["71", "72", "73"].map(|task| machine.read(&format!("/proc/{task}/stat"))));
    assert!(before[1].contains(" 17 1 50 1 ") && before[2].contains(" 17 1 49 2 "), "{before:?}");
}

#[test]
fn priorities_of_interrupt_threads_come_back_wherever_it_is_stopped() {
    let machine = Machine::lay("pi4");
    with_irq_threads(&machine);
    let before = state(&machine);
    let plan = irq_plan(&machine, &["fifo:40", "mmc0=fifo:60", "36=rr:30"]);
    let changes: Vec<_> =
        plan.changes().filter(|i| i.knob == "irq-threads").map(|i| (i.current.as_str(), i.wanted.as_str())).collect();
    assert_eq!(changes, [("fifo:50", "rr:30"), ("fifo:50", "fifo:60"), ("rr:49", "fifo:60")]);
    let mut stopped_between = 0;
    at_each_step(&Manner::ALL, |kill| {
        if let Ok(mut journal) = Journal::open(&machine.root.clone().with_hook(kill.clone())) {
            apply(&machine.root.clone().with_hook(kill.clone()), &plan, &mut journal);
        }
        stopped_between += usize::from(
            machine.read("/proc/71/stat").contains(" 17 1 30 2 ")
                && machine.read("/proc/73/stat").contains(" 17 1 49 2 "),
        );
        let mut journal = Journal::open(&machine.root).unwrap();
        let reverted = revert(&machine.root, &mut journal, false);
        journal.close();
        assert!(reverted.complete(), "{kill}: {reverted:?}");
        assert!(before == state(&machine), "{kill}");
    });
    assert!(stopped_between > 3, "{stopped_between}");
}

/// Numbers of threads are used again; another program may have its own wish; and one that is not asked for is left.
#[test]
fn an_interrupt_thread_that_is_not_ours_any_more_is_left() {
    let machine = Machine::lay("pi4");
    with_irq_threads(&machine);
    let plan = irq_plan(&machine, &["fifo:40"]);
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(apply(&machine.root, &plan, &mut journal).complete());
    assert!(
        machine.read("/proc/71/stat").contains(" -41 0 1 0 871 ")
            && machine.read("/proc/71/stat").contains(" 17 1 40 1 0 ")
    );
    let again = machine.read("/proc/71/stat").replace(" 871 ", " 999 ");
    machine.write("/proc/71/stat", &again);
    let others = machine.read("/proc/73/stat").replace(" 17 1 40 1 ", " 17 1 77 1 ");
    machine.write("/proc/73/stat", &others);
    let reverted = revert(&machine.root, &mut journal, false);
    let of = |name: &str| reverted.steps.iter().find(|s| s.path.ends_with(name)).map(|s| s.outcome.clone());
    assert_eq!(of("/irq/36-eth0"), Some(Undone::Gone));
    assert_eq!(of("/irq/40-s-mmc0"), Some(Undone::ChangedByOthers("fifo:77".into())));
    assert_eq!((machine.read("/proc/71/stat"), machine.read("/proc/73/stat")), (again, others));
    assert!(machine.read("/proc/72/stat").contains(" 17 1 50 1 "));

    let unasked = machine.plan(Profile::DedicatedCore);
    assert!(unasked.items.iter().all(|i| i.knob != "irq-threads"));
    let without = Machine::lay("pi4");
    let absent = irq_plan(&without, &["fifo:40"]);
    let state = absent.items.iter().find(|i| i.knob == "irq-threads").map(|i| format!("{:?}", i.state));
    assert!(state.as_ref().is_some_and(|s| s.contains("no interrupt has a thread")), "{state:?}");
    assert!(absent.notes.iter().any(|note| note.contains("threadirqs")) && unasked.notes.is_empty());
    let boot = boot::plan(&without.root, &without.facts(), &absent.target, false).unwrap();
    assert!(boot.arguments.iter().any(|a| a.text() == "threadirqs"));
    assert!(
        "mmc0=other".parse::<ontick_machine::IrqThreads>().is_err()
            && "=fifo:3".parse::<ontick_machine::IrqThreads>().is_err()
    );
}
