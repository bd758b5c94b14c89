//! An irqbalance that was told to keep off some CPUs goes on to choose among the others.

use ontick_units::CpuList;

use super::{Entry, Undo};
use crate::root::{IRQBALANCE, irqbalance};

/// Whether an interrupt goes where irqbalance may have it go: to none of the CPUs that it was told to keep off.
pub(crate) fn chosen_by_irqbalance<'a>(all: impl IntoIterator<Item = &'a Entry>, path: &str, shown: &str) -> bool {
    if !path.starts_with("/proc/irq/") || !path.ends_with("/smp_affinity_list") {
        return false;
    }
    let told = all.into_iter().find_map(|entry| match &entry.undo {
        Undo::Value { path, wanted, .. } if path == IRQBALANCE => irqbalance::cpus(wanted),
        _ => None,
    });
    told.zip(shown.parse::<CpuList>().ok()).is_some_and(|(off, goes)| !goes.is_empty() && !goes.meets(&off))
}
