//! An irqbalance that keeps off some CPUs goes on to choose among the others.

use std::cell::OnceCell;

use ontick_units::CpuList;

use super::{Entry, Undo};
use crate::root::{IRQBALANCE, Root, irqbalance};

/// The CPUs that irqbalance keeps off: what the journal says that it was told, else what it says itself, which is asked for
/// once at most.
pub(crate) struct Balanced<'a> {
    root: &'a Root,
    told: Option<CpuList>,
    says: OnceCell<Option<CpuList>>,
}

impl<'a> Balanced<'a> {
    pub fn new<'e>(root: &'a Root, all: impl IntoIterator<Item = &'e Entry>) -> Self {
        let told = all.into_iter().find_map(|entry| match &entry.undo {
            Undo::Value { path, wanted, .. } if path == IRQBALANCE => irqbalance::cpus(wanted),
            _ => None,
        });
        Self { root, told, says: OnceCell::new() }
    }

    /// Whether an interrupt goes where irqbalance may have it go: to none of the CPUs that it keeps off.
    pub fn chose(&self, entry: &Entry, shown: &str) -> bool {
        let Undo::Value { path, original, wanted, .. } = &entry.undo else { return false };
        if !path.starts_with("/proc/irq/") || !path.ends_with("/smp_affinity_list") {
            return false;
        }
        let list = |text: &str| text.trim().parse::<CpuList>().ok();
        let Some(goes) = list(shown).filter(|goes| !goes.is_empty()) else { return false };
        let off = self.told.as_ref().or_else(|| {
            // It was not told, as it kept off already what this interrupt was taken from.
            let left = list(original)?.without(&list(wanted)?);
            self.says().filter(|off| !left.is_empty() && left.within(off))
        });
        off.is_some_and(|off| !goes.meets(off))
    }

    fn says(&self) -> Option<&CpuList> {
        self.says.get_or_init(|| irqbalance::cpus(&self.root.text(IRQBALANCE).ok()?)).as_ref()
    }
}
