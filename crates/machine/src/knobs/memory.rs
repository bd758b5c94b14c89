//! What the kernel does with memory behind a program's back.

use super::{DEDICATED, EVERY, Knob, QUICK, Want, steered};
use crate::resctrl::Division;
use crate::target::Profile;
use crate::value_format::ValueFormat;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "huge-pages",
        paths: &["/sys/kernel/mm/transparent_hugepage/enabled"],
        form: ValueFormat::Choice,
        profiles: EVERY,
        isolates: false,
        want: |target, file| match (target.profile, file.facts.memory.huge_pages.as_str()) {
            (Profile::DedicatedCore, _) => Want::set("never"),
            (_, "never") => Want::leave("off already"),
            _ => Want::set("madvise"),
        },
        why: "putting pages together stops the threads of a process while its page table changes, and needs compaction",
        source: "kernel: admin-guide/mm/transhuge",
    },
    Knob {
        name: "huge-page-defrag",
        paths: &["/sys/kernel/mm/transparent_hugepage/defrag"],
        form: ValueFormat::Choice,
        profiles: QUICK,
        isolates: false,
        want: |_, file| match file.shown.contains("[always]") {
            true => Want::set("madvise"),
            false => Want::leave("does not stall every page fault"),
        },
        why: "with \"always\" a page fault may compact memory before it returns",
        source: "kernel: admin-guide/mm/transhuge",
    },
    Knob {
        name: "page-merging",
        paths: &["/sys/kernel/mm/ksm/run"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, _| Want::set(0),
        why: "merged pages cost a page fault at the next write, and the merging thread a CPU",
        source: "kernel: admin-guide/mm/ksm",
    },
    Knob {
        name: "numa-balancing",
        paths: &["/proc/sys/kernel/numa_balancing"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, _| Want::set(0),
        why: "balancing unmaps pages on purpose to see who uses them: each costs a page fault",
        source: "kernel: admin-guide/sysctl/kernel (numa_balancing)",
    },
    Knob {
        name: "compaction",
        paths: &["/proc/sys/vm/compaction_proactiveness"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |_, _| Want::set(0),
        why: "compaction in the background moves pages under running programs",
        source: "kernel: admin-guide/sysctl/vm (compaction_proactiveness)",
    },
    Knob {
        name: "swappiness",
        paths: &["/proc/sys/vm/swappiness"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, file| match file.facts.memory.swaps.is_empty() && file.facts.memory.compressed_swaps.is_empty() {
            true => Want::leave("there is no swap"),
            false => Want::set(1),
        },
        why: "a page that was swapped out costs milliseconds, on an SD card tens of them, when it is touched",
        source: "kernel: admin-guide/sysctl/vm (swappiness); locked memory (mlockall) is not swapped at all",
    },
    Knob {
        name: "cache-allocation",
        paths: &["resctrl:L3", "resctrl:L2"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |target, file| {
            steered(target, || match Division::tuned(file.root, &target.cpus) {
                Ok(divided) => Want::set(divided),
                Err(why) => Want::leave(why.to_string()),
            })
        },
        why: "other programs replace what a timed one has in the last-level cache; with a quarter of it for the timed CPUs alone they cannot",
        source: "source 003 (cache misses are what is left); kernel: filesystems/resctrl",
    },
];
