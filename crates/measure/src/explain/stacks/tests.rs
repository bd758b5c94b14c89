use super::super::events::{Comm, Vector};
use super::*;

const TID: i32 = 7;

/// Functions by number, from 1.
const FUNCTIONS: [&str; 5] =
    ["asm_sysvec_apic_timer_interrupt", "hrtimer_interrupt", "rcu_core", "ext4_writepages", "do_writepages"];

fn stacks_of(names: &[&str]) -> Stacks {
    let text: String = names.iter().zip(1..).map(|(name, n)| format!("{:x} t {name}\n", n * 0x1000)).collect();
    Stacks::new(Symbols::of(&text))
}

fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
    Event { at_ns, cpu: 0, pid, kind }
}

/// Of the functions with these numbers, from 1.
fn stack(at_ns: u64, pid: i32, functions: &[u64]) -> Event {
    event(at_ns, pid, Kind::Stack(functions.iter().map(|n| n * 0x1000 + 5).collect()))
}

fn span(from_ns: u64, to_ns: u64, who: Occupant) -> Span {
    Span {
        from_ns,
        to_ns,
        cpu: 0,
        who,
        thread: Thread::Woken,
        timer: None,
        fault: false,
        frequency: false,
        migrated: false,
        woken_here: false,
    }
}

fn task_of(pid: i32, name: &str) -> Task {
    Task { pid, priority: 120, comm: Comm::new(name.as_bytes()) }
}

const TICK: Cause = Cause::TimerTick;

/// By kernel work in a time in which task 9 had CPU 0.
fn within(stacks: &Stacks, deadline_ns: u64, now_ns: u64) -> Vec<String> {
    let spans = [span(0, 10_000, Occupant::Task(task_of(9, "writer")))];
    let told = stacks.within(Window { deadline_ns, now_ns }, &TICK, &spans, TID).unwrap_or_default();
    assert_eq!(told.task, if told.functions.is_empty() { "" } else { "writer (other)" });
    told.functions
}

#[test]
fn a_stack_is_of_what_was_interrupted_first_within_the_time() {
    let mut stacks = stacks_of(&FUNCTIONS);
    let fault = event(900, 9, Kind::PageFault);
    let mut recorded = vec![
        stack(2_000, 9, &[2, 1, 5]),
        fault.clone(),
        stack(1_000, TID, &[2, 1, 4]),
        // In user space, and then in the kernel.
        stack(1_100, 9, &[2, 1]),
        stack(1_200, 9, &[2, 1, 4, 5]),
        // By no interrupt's entry that is known.
        stack(900, 9, &[2, 3]),
    ];
    stacks.take(&mut recorded);
    assert_eq!(recorded, [fault], "others stay");
    assert_eq!(within(&stacks, 950, 1_900), ["ext4_writepages", "do_writepages"]);
    assert_eq!(within(&stacks, 950, 1_199), [""; 0]);
    assert_eq!(within(&stacks, 1_900, 2_000), ["do_writepages"]);
    assert_eq!(within(&stacks, 900, 949), [""; 0], "what is the interrupt's own is not known");
    stacks.forget(1_200);
    assert_eq!(within(&stacks, 900, 1_900), ["ext4_writepages", "do_writepages"]);
    stacks.forget(1_201);
    assert_eq!(within(&stacks, 900, 1_900), [""; 0]);
}

/// Where the thread may run anywhere, all CPUs are traced, and an interrupt of the window may have come to another task.
#[test]
fn a_stack_is_of_the_task_that_held_the_threads_cpu() {
    let mut stacks = stacks_of(&FUNCTIONS);
    let elsewhere = Event { cpu: 1, ..stack(1_100, 9, &[2, 1, 3]) };
    stacks.take(&mut vec![elsewhere, stack(1_200, 8, &[2, 1, 4]), stack(1_300, 9, &[2, 1, 5])]);
    let (short, held) = (Occupant::Task(task_of(8, "short")), Occupant::Task(task_of(9, "held")));
    let mut spans = [
        span(1_000, 1_190, short),
        span(1_190, 1_210, Occupant::Timer(super::super::timeline::Fires::Nothing)),
        span(1_210, 2_000, held),
    ];
    let window = Window { deadline_ns: 1_000, now_ns: 2_000 };
    let told = |cause: Cause, spans: &[Span]| {
        let told = stacks.within(window, &cause, spans, TID).unwrap_or_default();
        (told.task, told.functions.concat())
    };
    let of = |task: &str, function: &str| (task.to_owned(), function.to_owned());
    let another = |name: &str| Cause::AnotherTask(format!("{name} (other)"));
    assert_eq!(told(another("held"), &spans), of("held (other)", "do_writepages"));
    assert_eq!(told(another("short"), &spans), of("short (other)", "ext4_writepages"));
    assert_eq!(told(another("gone"), &spans), of("", ""), "its stretch is not known");
    let by_work = Cause::vector(Vector::Call);
    assert_eq!(told(by_work.clone(), &spans), of("short (other)", "ext4_writepages"), "whoever ran there");
    // The fair server's stretches are those in which the thread wants to go on.
    assert_eq!(told(Cause::FairServer(""), &spans), of("", ""));
    spans[2].thread = Thread::Preempted;
    assert_eq!(told(Cause::FairServer(""), &spans), of("held (other)", "do_writepages"));
    // The thread was to run on CPU 1 all the time.
    spans.iter_mut().for_each(|span| span.cpu = 1);
    assert_eq!(told(by_work.clone(), &spans), of("held (other)", "rcu_core"));
    spans[2].who = Occupant::Idle;
    assert_eq!(told(by_work, &spans), of("pid 9", "rcu_core"), "no stretch names it");
}

fn functions_of(names: &[&str]) -> Vec<String> {
    let mut stacks = stacks_of(names);
    let all: Vec<u64> = (1..=names.len() as u64).collect();
    stacks.take(&mut vec![stack(1_000, 9, &all)]);
    within(&stacks, 900, 1_900)
}

/// On Arm an interrupt enters from user space by another function than from the kernel.
#[test]
fn arms_stacks_begin_below_the_interrupts_entry() {
    let handler = ["__hrtimer_run_queues", "hrtimer_interrupt", "arch_timer_handler_virt", "gic_handle_irq"];
    let told = |entry: &[&'static str]| functions_of(&[&handler, entry].concat());
    let from_kernel = ["el1_interrupt", "el1h_64_irq_handler", "el1h_64_irq", "ext4_writepages", "do_writepages"];
    assert_eq!(told(&from_kernel), ["ext4_writepages", "do_writepages"]);
    let from_user = ["el0_interrupt", "__el0_irq_handler_common", "el0t_64_irq_handler", "el0t_64_irq"];
    assert_eq!(told(&from_user), [""; 0]);
    assert_eq!(told(&["el0_interrupt", "__el0_irq_handler_common", "el0t_32_irq_handler", "el0t_32_irq"]), [""; 0]);
    assert_eq!(told(&["el1_irq", "vfs_read"]), ["vfs_read"], "before 5.14");
    for from_user in ["el0_irq", "el0_irq_naked", "__irq_usr"] {
        assert_eq!(told(&[from_user]), [""; 0], "{from_user}");
    }
    assert_eq!(told(&["__irq_svc", "vfs_read"]), ["vfs_read"], "of 32 bits");
}

#[test]
fn where_names_are_hidden_nothing_is_told() {
    let mut stacks = Stacks::new(Symbols::of("0000000000000000 T vfs_read\n"));
    stacks.take(&mut vec![stack(1_000, 9, &[1, 2, 3])]);
    assert_eq!(within(&stacks, 900, 1_900), [""; 0]);
}
