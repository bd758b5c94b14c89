//! Tracing in a folder of plain files, as the kernel would show them.

use std::fs;
use std::path::Path;

use super::*;

/// The timed thread.
pub const TID: i32 = 7;
/// Some of the fields that are read, without what lies between them.
const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;\n";
const PAGE_FAULT: &str = "name: page_fault_user\nID: 140\nformat:\n";
const HEADER: &str = "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
const STATS: &str = "entries: 5\noverrun: 30\ncommit overrun: 200\nbytes: 77\noldest event ts: 1.2\n\
    dropped events: 1000\nread events: 9\n";

/// What an instance has for CPU 1; of the events, the scheduler's and page faults.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("events/header_page", HEADER);
    write("events/sched/sched_switch/format", SWITCH);
    write("events/exceptions/page_fault_user/format", PAGE_FAULT);
    // One that is not understood.
    write("events/irq/irq_handler_exit/format", "name: irq_handler_exit\n");
    write("per_cpu/cpu1/stats", STATS);
    write("per_cpu/cpu1/trace_pipe_raw", "");
    write("trace", "what was there before");
    folder
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

fn start(folder: &Path, call_ns: impl Fn() -> Option<u64>) -> io::Result<Tracer> {
    Tracer::start_in(Instance::of_files(folder.into()), OF_CAUSES, RINGS_KB, &[1], call_ns)
}

/// A tracer of CPU 1 whose events cost `cost_ns` and whose ring holds a page: after a loss, the thread is switched to
/// 1 ms after boot, and meets a page fault 5 µs later.
pub fn tracer(cost_ns: u64) -> (tempfile::TempDir, Tracer) {
    let folder = files();
    let path = folder.path().to_owned();
    let tracer = start(&path, || Some(if text(&path, "tracing_on") == "1" { 100 + cost_ns } else { 100 })).unwrap();
    let mut page = 1_000_000u64.to_ne_bytes().to_vec();
    page.extend((36u64 | 1 << 31).to_ne_bytes());
    // A head of two parts, length and time since the event before; then number, task and fields.
    page.extend([4u32, 372, 9, 9, TID as u32].iter().flat_map(|word| word.to_ne_bytes()));
    page.extend([5_000 << 5 | 2u32, 140, TID as u32].iter().flat_map(|word| word.to_ne_bytes()));
    // One that nobody asked for.
    page.extend([1 << 5 | 1u32, 7].iter().flat_map(|word| word.to_ne_bytes()));
    page.resize(rustix::param::page_size(), 0);
    fs::write(path.join("per_cpu/cpu1/trace_pipe_raw"), page).unwrap();
    (folder, tracer)
}

#[test]
fn masks_have_groups() {
    assert_eq!(mask(&[1]), "00000002");
    assert_eq!(mask(&[0, 33]), "00000002,00000001");
    assert_eq!(mask(&[0, 3]), "00000009");
    assert_eq!(mask(&[3, 3]), "00000008", "a CPU that is named twice is one");
}

#[test]
fn what_is_traced_is_what_was_asked_for() {
    let (folder, tracer) = tracer(0);
    let reported = |name| text(folder.path(), name);
    assert_eq!(
        [reported("tracing_on"), reported("trace_clock"), reported("tracing_cpumask")],
        ["1", "mono", "00000002"]
    );
    assert_eq!(reported("per_cpu/cpu1/buffer_size_kb"), "16384");
    assert_eq!(reported("trace"), "", "what was recorded before is not read");
    assert_eq!(reported("events/sched/sched_switch/enable"), "1");
    assert_eq!(reported("events/exceptions/page_fault_user/enable"), "1");
    assert!(!folder.path().join("events/irq/irq_handler_exit/enable").exists());
    drop(tracer);
    assert_eq!(reported("tracing_on"), "0");
}

#[test]
fn events_that_the_kernel_does_not_have_are_missing() {
    let (_folder, tracer) = tracer(0);
    let known = ["sched/sched_switch", "exceptions/page_fault_user"];
    let missing: Vec<_> = WANTED.iter().map(|(name, _)| *name).filter(|name| !known.contains(name)).collect();
    assert_eq!(tracer.missing(), missing);
}

#[test]
fn without_the_scheduler_nothing_is_traced() {
    let folder = files();
    fs::remove_dir_all(folder.path().join("events/sched")).unwrap();
    let error = start(folder.path(), || None).err().unwrap();
    assert_eq!(error.to_string(), "this kernel does not trace sched/sched_switch");
    let folder = files();
    fs::write(folder.path().join("events/header_page"), "data").unwrap();
    let error = start(folder.path(), || None).err().unwrap();
    assert_eq!(error.to_string(), "the ring buffer's pages have a form that is not known");
}

#[test]
fn of_an_event_only_those_records_are_asked_for_that_are_wanted() {
    let folder = files();
    let filters = &[("sched/sched_switch", "next_pid == 7")];
    let asked = Asked { events: &WANTED[..1], filters, ..OF_CAUSES };
    Tracer::start_in(Instance::of_files(folder.path().into()), asked, RINGS_KB, &[1], || None).unwrap();
    assert_eq!(text(folder.path(), "events/sched/sched_switch/filter"), "next_pid == 7");
    assert!(!folder.path().join("events/exceptions/page_fault_user/enable").exists());
}

/// What it costs is not what an event costs.
#[test]
fn stacks_are_taken_of_what_timers_interrupt_once_the_call_was_timed() {
    let stacks = |has: bool| {
        let folder = files();
        let kept = folder.path().join("events/ftrace/kernel_stack/format");
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::create_dir_all(folder.path().join("events/timer/hrtimer_expire_entry")).unwrap();
        if has {
            fs::write(kept, "name: kernel_stack\nID: 4\nformat:\n").unwrap();
        }
        let trigger = || text(folder.path(), "events/timer/hrtimer_expire_entry/trigger");
        let call_ns = || trigger().is_empty().then_some(7);
        let instance = Instance::of_files(folder.path().into());
        let tracer = Tracer::start_in(instance, WITH_STACKS, RINGS_KB, &[1], call_ns).unwrap();
        (trigger(), tracer.missing().contains(&STACK.0))
    };
    assert_eq!(stacks(true), ("stacktrace if common_pid != 0".into(), false));
    assert_eq!(stacks(false), ("".into(), true));
}

/// The call is timed before events are enabled, and again while all CPUs are traced.
#[test]
fn an_event_costs_what_a_call_takes_longer() {
    let cost = |quiet: Option<u64>, traced: Option<u64>| {
        let folder = files();
        let call_ns = || match text(folder.path(), "tracing_on").as_str() {
            "0" if text(folder.path(), "events/sched/sched_switch/enable").is_empty() => quiet,
            "1" if text(folder.path(), "tracing_cpumask").is_empty() => traced,
            on => panic!("timed while tracing_on is {on}"),
        };
        start(folder.path(), call_ns).unwrap().event_cost_ns()
    };
    assert_eq!(cost(Some(300), Some(450)), 150);
    assert_eq!(cost(Some(300), Some(299)), 0, "disturbed");
    assert_eq!([cost(None, Some(450)), cost(Some(300), None)], [0, 0]);
}

#[test]
fn a_page_is_read_once_and_its_first_event_tells_of_a_loss() {
    let (_folder, mut tracer) = tracer(0);
    let mut took = Vec::new();
    tracer.take(|event| took.push(event));
    let [lost, switch, fault] = &took[..] else { panic!("{took:?}") };
    assert_eq!(*lost, Event { at_ns: 1_000_000, cpu: 1, pid: 0, kind: Kind::Lost });
    assert_eq!((switch.at_ns, switch.cpu, switch.pid), (1_000_000, 1, 9));
    assert!(matches!(switch.kind, Kind::Switch { prev, next, .. } if (prev.pid, next.pid) == (9, TID)), "{switch:?}");
    assert_eq!(*fault, Event { at_ns: 1_005_000, cpu: 1, pid: TID, kind: Kind::PageFault });
    tracer.take(|event| panic!("{event:?}"));
}

/// Those that were read and those that lie in the ring or were overwritten there; others could not be recorded.
#[test]
fn totals_are_of_what_was_read_and_of_what_was_not() {
    let (_folder, mut tracer) = tracer(0);
    assert_eq!(tracer.totals(), Totals { events: 35, lost: 1_200 });
    tracer.take(|_| {});
    assert_eq!(tracer.totals(), Totals { events: 38, lost: 1_200 });
}

/// Between blocks nothing is recorded, and then on one CPU; what is enabled stays so.
#[test]
fn it_rests_and_goes_on_where_it_is_needed() {
    let (folder, tracer) = tracer(0);
    tracer.pause().unwrap();
    assert_eq!(text(folder.path(), "tracing_on"), "0");
    tracer.resume(33).unwrap();
    assert_eq!(text(folder.path(), "tracing_on"), "1");
    assert_eq!(text(folder.path(), "tracing_cpumask"), "00000002,00000000");
    assert_eq!(text(folder.path(), "events/sched/sched_switch/enable"), "1");
}
