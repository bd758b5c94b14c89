//! From the kernel's records to [`Event`]s.

use super::events::{Comm, Event, Kind, Task, Vector};
use super::format::Format;

/// Events that are asked for: where they are, what for, and how their records are read.
pub const WANTED: &[(&str, Reader)] = &[
    ("sched/sched_switch", switch),
    ("sched/sched_wakeup", wakeup),
    ("sched/sched_migrate_task", migrate),
    ("sched/sched_stat_runtime", ran),
    ("irq/irq_handler_entry", irq_entry),
    ("irq/irq_handler_exit", |_, _| Some(Kind::IrqExit)),
    ("irq/softirq_entry", |f, r| Some(Kind::SoftirqEntry(f.number(r, "vec") as u32))),
    ("irq/softirq_exit", |_, _| Some(Kind::SoftirqExit)),
    ("timer/hrtimer_start", timer_start),
    ("timer/hrtimer_expire_entry", timer_fires),
    ("exceptions/page_fault_user", |_, _| Some(Kind::PageFault)),
    ("power/cpu_idle", idle),
    ("power/cpu_frequency", |f, r| Some(Kind::Frequency(f.number(r, "state") as u64))),
    // x86 tells each interrupt of the CPU's own by an event of its own …
    ("irq_vectors/local_timer_entry", |_, _| Some(Kind::VectorEntry(Vector::Timer))),
    ("irq_vectors/local_timer_exit", |_, _| Some(Kind::VectorExit(Vector::Timer))),
    ("irq_vectors/call_function_entry", |_, _| Some(Kind::VectorEntry(Vector::Call))),
    ("irq_vectors/call_function_exit", |_, _| Some(Kind::VectorExit(Vector::Call))),
    ("irq_vectors/call_function_single_entry", |_, _| Some(Kind::VectorEntry(Vector::Call))),
    ("irq_vectors/call_function_single_exit", |_, _| Some(Kind::VectorExit(Vector::Call))),
    ("irq_vectors/reschedule_entry", |_, _| Some(Kind::VectorEntry(Vector::Reschedule))),
    ("irq_vectors/reschedule_exit", |_, _| Some(Kind::VectorExit(Vector::Reschedule))),
    ("irq_vectors/irq_work_entry", |_, _| Some(Kind::VectorEntry(Vector::Work))),
    ("irq_vectors/irq_work_exit", |_, _| Some(Kind::VectorExit(Vector::Work))),
    ("irq_vectors/thermal_apic_entry", |_, _| Some(Kind::VectorEntry(Vector::Other))),
    ("irq_vectors/thermal_apic_exit", |_, _| Some(Kind::VectorExit(Vector::Other))),
    // … Arm tells those from other CPUs by two, and the timer as a device's.
    ("ipi/ipi_entry", |_, _| Some(Kind::VectorEntry(Vector::Call))),
    ("ipi/ipi_exit", |_, _| Some(Kind::VectorExit(Vector::Call))),
];

/// The record that a trigger makes of the kernel's stack.
pub const STACK: (&str, Reader) = ("ftrace/kernel_stack", stack);

/// Reads one kind of record.
pub type Reader = fn(&Format, &[u8]) -> Option<Kind>;

/// Reads records of all events that this kernel has.
#[derive(Default)]
pub struct Parser {
    formats: Vec<Option<(Format, Reader)>>,
}

impl Parser {
    /// Learns an event from its `format` file; `false` if that is not understood.
    pub fn learn(&mut self, format: &str, reader: Reader) -> bool {
        let Some(format) = Format::parse(format) else { return false };
        let id = format.id as usize;
        if self.formats.len() <= id {
            self.formats.resize_with(id + 1, || None);
        }
        self.formats[id] = Some((format, reader));
        true
    }

    /// The event of a record; `None` for those that were not asked for.
    pub fn event(&self, at_ns: u64, cpu: u32, record: &[u8]) -> Option<Event> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        let (format, reader) = self.formats.get(id as usize)?.as_ref()?;
        let pid = i32::from_ne_bytes(record.get(4..8)?.try_into().ok()?);
        Some(Event { at_ns, cpu, pid, kind: reader(format, record)? })
    }
}

fn switch(format: &Format, record: &[u8]) -> Option<Kind> {
    let task = |pid, priority, comm| Task {
        pid: format.number(record, pid) as i32,
        priority: format.number(record, priority) as i32,
        comm: Comm::new(format.text(record, comm)),
    };
    Some(Kind::Switch {
        prev: task("prev_pid", "prev_prio", "prev_comm"),
        state: format.number(record, "prev_state"),
        next: task("next_pid", "next_prio", "next_comm"),
    })
}

fn wakeup(format: &Format, record: &[u8]) -> Option<Kind> {
    Some(Kind::Wakeup(format.number(record, "pid") as i32))
}

fn migrate(format: &Format, record: &[u8]) -> Option<Kind> {
    Some(Kind::Migrate {
        pid: format.number(record, "pid") as i32,
        from: format.number(record, "orig_cpu") as u32,
        to: format.number(record, "dest_cpu") as u32,
    })
}

fn ran(format: &Format, record: &[u8]) -> Option<Kind> {
    Some(Kind::Ran { pid: format.number(record, "pid") as i32, ns: format.number(record, "runtime") as u64 })
}

/// Arm's timer is a device to the kernel.
fn irq_entry(format: &Format, record: &[u8]) -> Option<Kind> {
    let name = String::from_utf8_lossy(format.text(record, "name")).into_owned();
    Some(Kind::IrqEntry { irq: format.number(record, "irq") as i32, name: name.into() })
}

fn timer_start(format: &Format, record: &[u8]) -> Option<Kind> {
    Some(Kind::TimerStart {
        timer: format.number(record, "hrtimer") as u64,
        soft_ns: format.number(record, "softexpires") as u64,
        hard_ns: format.number(record, "expires") as u64,
    })
}

fn timer_fires(format: &Format, record: &[u8]) -> Option<Kind> {
    Some(Kind::TimerFires {
        timer: format.number(record, "hrtimer") as u64,
        function: format.number(record, "function") as u64,
    })
}

/// The last may be a mark of the end.
fn stack(format: &Format, record: &[u8]) -> Option<Kind> {
    let words = record.get(format.offset("caller")?..)?.chunks_exact(size_of::<usize>());
    let returns = words.filter_map(|word| word.try_into().ok()).map(|word| usize::from_ne_bytes(word) as u64);
    let is_return = |address: &u64| *address != 0 && *address != usize::MAX as u64;
    Some(Kind::Stack(returns.take(format.number(record, "size") as usize).filter(is_return).collect()))
}

fn idle(format: &Format, record: &[u8]) -> Option<Kind> {
    let state = format.number(record, "state") as u32;
    Some(Kind::Idle((state != u32::MAX).then_some(state)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SWITCH: &str = "name: sched_switch
ID: 372
format:
	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;
";

    fn parser() -> Parser {
        let mut parser = Parser::default();
        assert!(parser.learn(SWITCH, switch));
        parser
    }

    #[test]
    fn a_switch_names_both_tasks() {
        let mut record = vec![0; 64];
        record[..2].copy_from_slice(&372u16.to_ne_bytes());
        record[4..8].copy_from_slice(&41i32.to_ne_bytes());
        record[8..21].copy_from_slice(b"ontick-timed\0");
        record[24..28].copy_from_slice(&41i32.to_ne_bytes());
        record[32..40].copy_from_slice(&0x100i64.to_ne_bytes());
        record[40..50].copy_from_slice(b"a task\0xyz");
        record[56..60].copy_from_slice(&42i32.to_ne_bytes());
        record[60..64].copy_from_slice(&120i32.to_ne_bytes());
        let event = parser().event(5, 1, &record).unwrap();
        let Kind::Switch { prev, state, next } = event.kind else { panic!("{event:?}") };
        assert_eq!((prev.pid, prev.policy(), prev.comm.to_string()), (41, "fifo:99".into(), "ontick-timed".into()));
        assert_eq!(
            (next.pid, next.policy(), next.comm.to_string(), state),
            (42, "other".into(), "a task".into(), 0x100)
        );
    }

    /// `format` files as kernels gave them, one after the other.
    const KERNELS: [(&str, &str); 2] = [
        ("6.12 PREEMPT_RT", include_str!("formats/linux-6.12-rt-amd64.txt")),
        ("6.18", include_str!("formats/linux-6.18-amd64.txt")),
    ];

    #[test]
    fn kernels_tell_the_fields_that_are_read() {
        let read = |name: &str| match name {
            "sched_switch" => {
                &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"][..]
            }
            "sched_wakeup" => &["pid"],
            "sched_migrate_task" => &["pid", "orig_cpu", "dest_cpu"],
            "sched_stat_runtime" => &["pid", "runtime"],
            "irq_handler_entry" => &["irq", "name"],
            "softirq_entry" => &["vec"],
            "hrtimer_start" => &["hrtimer", "softexpires", "expires"],
            "hrtimer_expire_entry" => &["hrtimer", "function"],
            "cpu_idle" | "cpu_frequency" => &["state"],
            _ => &[],
        };
        for (kernel, formats) in KERNELS {
            let mut known = 0;
            for text in formats.split_inclusive("\n\n") {
                let name = text.lines().next().and_then(|line| line.strip_prefix("name: ")).unwrap();
                assert!(WANTED.iter().any(|(path, _)| path.ends_with(name)), "{kernel}: {name}");
                let format = Format::parse(text).unwrap();
                for field in read(name).iter().chain(&["common_pid"]) {
                    assert!(format.has(field), "{kernel}: {name} has no {field}");
                }
                known += 1;
            }
            assert!(known >= 10, "{kernel}: {known}");
        }
    }

    /// The name lies behind the fields, which say where.
    #[test]
    fn a_handler_is_reported_with_its_device() {
        let text = KERNELS[1].1.split("\n\n").find(|text| text.trim_start().starts_with("name: irq_handler_entry"));
        let reader = WANTED.iter().find(|(name, _)| *name == "irq/irq_handler_entry").unwrap().1;
        let mut parser = Parser::default();
        assert!(parser.learn(text.unwrap(), reader));
        let mut record = vec![0; 16];
        record[..2].copy_from_slice(&225u16.to_ne_bytes());
        record[4..8].copy_from_slice(&41i32.to_ne_bytes());
        record[8..12].copy_from_slice(&36i32.to_ne_bytes());
        record[12..].copy_from_slice(&(6u32 << 16 | 16).to_ne_bytes());
        record.extend(b"mmc0\0x");
        let kind = Kind::IrqEntry { irq: 36, name: "mmc0".into() };
        assert_eq!(parser.event(5, 3, &record), Some(Event { at_ns: 5, cpu: 3, pid: 41, kind }));
        assert_eq!(parser.event(5, 3, &[1, 0, 0, 0, 0, 0, 0, 0]), None, "not asked for");
    }

    /// Fields of eight bytes, each its own, behind what every record has.
    #[test]
    fn every_reader_takes_what_its_event_tells() {
        let read = |event: &str, fields: &[(&str, i64)]| {
            let reader = WANTED.iter().find(|(name, _)| *name == event).unwrap().1;
            let line = |(n, (name, _)): (usize, &(&str, i64))| {
                format!("\tfield:long {name};\toffset:{};\tsize:8;\tsigned:1;\n", 8 * (n + 1))
            };
            let text: String = fields.iter().enumerate().map(line).collect();
            let format = Format::parse(&format!("name: x\nID: 9\nformat:\n{text}")).unwrap();
            let record: Vec<u8> =
                [7].iter().chain(fields.iter().map(|(_, n)| n)).flat_map(|n: &i64| n.to_ne_bytes()).collect();
            reader(&format, &record).unwrap()
        };
        let armed = [("hrtimer", 11), ("function", 12), ("expires", 14), ("softexpires", 13)];
        assert_eq!(read("timer/hrtimer_start", &armed), Kind::TimerStart { timer: 11, soft_ns: 13, hard_ns: 14 });
        assert_eq!(read("timer/hrtimer_expire_entry", &armed), Kind::TimerFires { timer: 11, function: 12 });
        assert_eq!(read("sched/sched_wakeup", &[("prio", 1), ("pid", 41)]), Kind::Wakeup(41));
        let moved = [("pid", 41), ("orig_cpu", 2), ("dest_cpu", 3)];
        assert_eq!(read("sched/sched_migrate_task", &moved), Kind::Migrate { pid: 41, from: 2, to: 3 });
        assert_eq!(
            read("sched/sched_stat_runtime", &[("pid", 41), ("runtime", 5_000)]),
            Kind::Ran { pid: 41, ns: 5_000 }
        );
        assert_eq!(read("irq/irq_handler_exit", &[]), Kind::IrqExit);
        assert_eq!(read("irq/softirq_entry", &[("vec", 3)]), Kind::SoftirqEntry(3));
        assert_eq!(read("irq/softirq_exit", &[]), Kind::SoftirqExit);
        assert_eq!(read("exceptions/page_fault_user", &[]), Kind::PageFault);
        assert_eq!(read("power/cpu_frequency", &[("state", 1_500_000)]), Kind::Frequency(1_500_000));
    }

    /// Kernels since 6.5 say that the array has no length, those of before that it has 8.
    #[test]
    fn a_stack_has_as_many_functions_as_it_says() {
        for array in ["caller[];\toffset:16;\tsize:0", "caller[8];\toffset:16;\tsize:64"] {
            let text = format!(
                "name: kernel_stack\nID: 4\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
                 \tfield:unsigned long {array};\tsigned:0;\n"
            );
            let format = Format::parse(&text).unwrap();
            let head = [&[4, 0, 0, 0, 9, 0, 0, 0], &3i32.to_ne_bytes()[..], &[0; 4]].concat();
            let of = |words: &[usize]| {
                let words: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                stack(&format, &[&head[..], &words].concat()).unwrap()
            };
            assert_eq!(of(&[5, 6, 7, 8]), Kind::Stack(vec![5, 6, 7].into()), "{array}");
            assert_eq!(of(&[5, usize::MAX, 0, 8]), Kind::Stack(vec![5].into()));
            assert_eq!(of(&[5]), Kind::Stack(vec![5].into()), "cut off");
        }
    }

    /// Coming back from idle is reported as a state that there is not.
    #[test]
    fn a_cpu_goes_idle_and_comes_back() {
        let text = "name: cpu_idle\nID: 9\nformat:\n\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n";
        let format = Format::parse(text).unwrap();
        assert!(format.has("state") && !format.has("cpu"));
        let reported = |state: u32| idle(&format, &[&[0; 8], &state.to_ne_bytes()[..]].concat());
        assert_eq!(
            [reported(u32::MAX), reported(0), reported(3)].map(Option::unwrap),
            [None, Some(0), Some(3)].map(Kind::Idle)
        );
    }

    #[test]
    fn every_wanted_event_is_named_once() {
        let mut names: Vec<_> = WANTED.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), WANTED.len());
    }

    proptest! {
        #[test]
        fn any_record_is_answered(mut record in proptest::collection::vec(any::<u8>(), 0..80), ours in any::<bool>()) {
            if ours && record.len() >= 2 {
                record[..2].copy_from_slice(&372u16.to_ne_bytes());
            }
            let _ = parser().event(0, 0, &record);
            for (_, reader) in WANTED {
                let _ = reader(&Format::parse(SWITCH).unwrap(), &record);
            }
        }
    }
}
