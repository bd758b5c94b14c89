//! Whether caches can be divided, and by whom they are.

use ontick_units::CpuList;
use serde::Serialize;

use super::Cpus;
use crate::root::Root;
use crate::root::cache::{self, FOLDER, GROUP};

/// Division of caches (resctrl: Intel CAT, AMD's and ARM's equivalents).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// What the processor says of it, as `/proc/cpuinfo` names it: `cat_l3`, `cdp_l3`, `cat_l2`, `cdp_l2`.
    pub features: Vec<String>,
    /// Whether the kernel has resctrl.
    pub in_kernel: bool,
    /// Whether it is mounted.
    pub mounted: bool,
    /// A group that somebody else made.
    pub group: Option<String>,
    /// The CPUs of ontick's group.
    pub own: CpuList,
}

impl Cache {
    pub(crate) fn probe(root: &Root, cpus: &Cpus) -> Self {
        let of_caches = |flag: &&String| ["cat_l", "cdp_l"].iter().any(|kind| flag.starts_with(kind));
        let systems = root.text("/proc/filesystems").unwrap_or_default();
        Self {
            features: cpus.flags.iter().filter(of_caches).cloned().collect(),
            in_kernel: systems.split_whitespace().any(|name| name == "resctrl"),
            mounted: root.exists(&format!("{FOLDER}/schemata")),
            group: cache::group(root, &[GROUP]),
            own: root.value(&format!("{FOLDER}/{GROUP}/cpus_list")).and_then(|l| l.parse().ok()).unwrap_or_default(),
        }
    }
}
