//! What the kernel does with memory behind a program's back.

use super::{Check, CheckInput, MS, Observation, Remedy};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "huge-pages",
        why: "putting pages together stops a process while its page table changes",
        source: "kernel: admin-guide/mm/transhuge",
        look: |look| match look.facts.memory.huge_pages.as_str() {
            "" => Vec::new(),
            "always" => {
                Observation::warn("always", "madvise or never").knob("huge-pages").boot(Remedy::AtBoot(None)).only()
            }
            other => Observation::ok(other).only(),
        },
    },
    Check {
        id: "huge-page-defrag",
        why: "with \"always\" a page fault may compact memory before it returns",
        source: "kernel: admin-guide/mm/transhuge (defrag)",
        look: |look| match (look.facts.memory.huge_pages.as_str(), look.facts.memory.huge_page_defrag.as_str()) {
            (_, "") | ("never", _) => Vec::new(),
            (_, "always") => {
                Observation::warn("always", "madvise").knob("huge-page-defrag").boot(Remedy::AtBoot(None)).only()
            }
            (_, other) => Observation::ok(other).only(),
        },
    },
    Check {
        id: "compaction",
        why: "compaction in the background moves pages under running programs",
        source: "kernel: admin-guide/sysctl/vm (compaction_proactiveness)",
        look: |look| match look.facts.memory.compaction {
            None => Vec::new(),
            Some(0) => Observation::ok("only on demand").only(),
            Some(n) => Observation::warn(format!("in the background too (proactiveness {n})"), "only on demand (0)")
                .knob("compaction")
                .boot(Remedy::AtBoot(None))
                .only(),
        },
    },
    Check {
        id: "page-merging",
        why: "merged pages cost a page fault at the next write, and the merging thread a CPU",
        source: "kernel: admin-guide/mm/ksm",
        look: |look| match look.facts.memory.merging {
            Some(true) => Observation::warn("running", "off").knob("page-merging").only(),
            Some(false) => Observation::ok("off").only(),
            None => Vec::new(),
        },
    },
    Check {
        id: "numa-balancing",
        why: "balancing unmaps pages on purpose to see who uses them: each costs a page fault",
        source: "kernel: admin-guide/sysctl/kernel (numa_balancing)",
        look: |look| match (look.facts.memory.numa_balancing, look.facts.memory.nodes) {
            (Some(true), nodes) if nodes > 1 => Observation::warn(format!("on, over {nodes} nodes"), "off")
                .knob("numa-balancing")
                .boot(Remedy::AtBoot(None))
                .only(),
            (Some(_), _) => Observation::ok("off or without effect (one node)").only(),
            (None, _) => Vec::new(),
        },
    },
    Check {
        id: "swap",
        why: "a page that was swapped out costs milliseconds when it is touched, on an SD card tens of them",
        source: "man 2 mlockall; kernel: admin-guide/sysctl/vm (swappiness)",
        look: |look| {
            let memory = &look.facts.memory;
            let swappiness = memory.swappiness.map(|s| format!(", swappiness {s}")).unwrap_or_default();
            match (memory.swaps.first(), memory.compressed_swaps.first()) {
                (None, None) => Observation::ok("none").only(),
                (None, Some(_)) => Observation::ok(format!("compressed memory only{swappiness}")).only(),
                (Some(device), _) if memory.swappiness.is_some_and(|s| s <= 1) => {
                    Observation::ok(format!("{device}{swappiness}: a last resort")).only()
                }
                (Some(device), _) => {
                    Observation::warn(format!("{device}{swappiness}"), "none, or swappiness 1 and locked memory")
                        .costs_elsewhere(10 * MS)
                        .knob("swappiness")
                        .boot("swapoff, and the entry out of /etc/fstab (dphys-swapfile on a Raspberry Pi)")
                        .only()
                }
            }
        },
    },
    Check {
        id: "cache-allocation",
        why: "other programs replace what a timed one has in the last-level cache, and each miss costs a read of memory",
        source: "source 003 (cache misses are what is left); kernel: filesystems/resctrl",
        look: |look| cache_allocation(look).into_iter().collect(),
    },
];

fn cache_allocation(look: &CheckInput) -> Option<Observation> {
    let cache = &look.facts.cache;
    let should = "a part of its own, where other programs use much memory";
    let mount = "mount -t resctrl resctrl /sys/fs/resctrl";
    Some(match (cache.mounted, &cache.group, cache.features.is_empty()) {
        (true, Some(group), _) => Observation::ok(format!("divided by others, by the group {group}")),
        (true, None, _) if look.target.cpus.within(&cache.own) => {
            Observation::ok(format!("CPU {} has a part of its own", look.target.cpus))
        }
        (true, None, _) => {
            Observation::warn("shared with all other CPUs", should).knob("cache-allocation").boot(Remedy::AtBoot(None))
        }
        (false, _, true) => return None,
        (false, _, false) => {
            let seen = format!("shared; the processor can divide it ({})", cache.features.join(", "));
            match cache.in_kernel {
                true => Observation::warn(format!("{seen}, and resctrl is not mounted"), should).now(mount),
                false => Observation::warn(format!("{seen}, and this kernel has no resctrl"), should)
                    .boot(Remedy::Kernel("X86_CPU_RESCTRL")),
            }
        }
    })
}
