//! What the kernel does with memory behind a program's back.

use serde::Serialize;

use crate::root::Root;

/// Huge pages, merging, balancing, swap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Transparent huge pages: `always`, `madvise`, `never`; empty where the kernel has none.
    pub huge_pages: String,
    /// When memory is compacted to make them: `always`, `madvise`, …; empty where it cannot be known.
    pub huge_page_defrag: String,
    /// Same-page merging is running.
    pub merging: Option<bool>,
    /// Pages move between memory nodes.
    pub numa_balancing: Option<bool>,
    /// Memory nodes.
    pub nodes: usize,
    /// Swap devices and files in use, without compressed memory.
    pub swaps: Vec<String>,
    /// Compressed memory used as swap (zram).
    pub compressed_swaps: Vec<String>,
    /// How readily pages are swapped out.
    pub swappiness: Option<u32>,
    /// How eagerly memory is compacted in the background.
    pub compaction: Option<u32>,
}

impl Memory {
    pub(crate) fn probe(root: &Root) -> Self {
        let bracketed = |v: String| Some(v.split_once('[')?.1.split_once(']')?.0.to_owned());
        let table = root.text("/proc/swaps").unwrap_or_default();
        let swaps = table.lines().skip(1).filter_map(|l| l.split_whitespace().next()).map(str::to_owned);
        let (compressed_swaps, swaps) = swaps.partition(|s| s.contains("zram"));
        Self {
            huge_pages: root
                .value("/sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(bracketed)
                .unwrap_or_default(),
            huge_page_defrag: root
                .value("/sys/kernel/mm/transparent_hugepage/defrag")
                .and_then(bracketed)
                .unwrap_or_default(),
            merging: root.value("/sys/kernel/mm/ksm/run").map(|v| v == "1"),
            numa_balancing: root.value("/proc/sys/kernel/numa_balancing").map(|v| v != "0"),
            nodes: root.matching("/sys/devices/system/node/node*").len(),
            swaps,
            compressed_swaps,
            swappiness: root.number("/proc/sys/vm/swappiness"),
            compaction: root.number("/proc/sys/vm/compaction_proactiveness"),
        }
    }
}
