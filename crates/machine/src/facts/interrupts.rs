//! Interrupts: who they are, where they may go, and where unbound work of the kernel may go.

use std::collections::BTreeMap;

use ontick_rt::cpus::{self, InterruptCounts};
use ontick_units::CpuList;
use serde::Serialize;

use crate::root::Root;

/// One numbered interrupt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// Its number, as in `/proc/irq`.
    pub number: u32,
    /// Controller, type and device.
    pub about: String,
    /// Where it may go; `None` where the kernel does not say.
    pub affinity: Option<CpuList>,
    /// Where it does go.
    pub effective: Option<CpuList>,
    /// How often it has interrupted each CPU.
    #[serde(skip)]
    pub counts: BTreeMap<u32, u64>,
}

impl Interrupt {
    /// The device: what stands after the type of trigger.
    pub fn device(&self) -> &str {
        let trigger = |word: &str| ["edge", "level", "fasteoi"].iter().any(|t| word.to_lowercase().ends_with(t));
        let words: Vec<&str> = self.about.split(' ').collect();
        // The first word is the controller, whose name may end like a trigger.
        let after = words.iter().skip(1).rposition(|w| trigger(w)).map_or(0, |at| at + 2);
        let start: usize = words[..after.min(words.len())].iter().map(|w| w.len() + 1).sum();
        self.about.get(start..).unwrap_or_default()
    }

    /// As the choice of a CPU takes it; whether the kernel refuses to move it cannot be read from a mounted disk.
    pub(crate) fn for_choice(&self) -> cpus::Interrupt {
        let list = |cpus: &Option<CpuList>| cpus.iter().flat_map(CpuList::iter).collect();
        cpus::Interrupt {
            number: self.number,
            device: self.device().into(),
            fixed: None,
            affinity: list(&self.affinity),
            effective: list(&self.effective),
            counts: self.counts.clone(),
        }
    }

    /// Whether it is a timer of the kernel's own, which cannot be steered: each CPU has its own (ARM), or the one
    /// that started the machine has it (interrupt 0 of a PC).
    pub fn fixed_timer(&self) -> bool {
        matches!(self.device(), "arch_timer" | "twd") || (self.number == 0 && self.device() == "timer")
    }
}

/// Everything that steers interrupts and the kernel's unbound work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Interrupts {
    /// The numbered interrupts, ascending.
    pub list: Vec<Interrupt>,
    /// Where new interrupts will go.
    pub default_affinity: Option<CpuList>,
    /// Where unbound workqueues may run.
    pub workqueues: Option<CpuList>,
    /// Workqueues with a mask of their own, by name.
    pub own_workqueues: BTreeMap<String, CpuList>,
    /// Network queues whose receive or transmit steering names CPUs: path and CPUs.
    pub packet_steering: BTreeMap<String, CpuList>,
}

impl Interrupts {
    pub(crate) fn probe(root: &Root) -> Self {
        let counts = InterruptCounts::parse(&root.text("/proc/interrupts").unwrap_or_default());
        let list = |path: String| root.value(&path)?.parse().ok();
        let mask = |path: &str| CpuList::from_mask(&root.value(path)?).ok();
        let numbers = root.list("/proc/irq").into_iter().filter_map(|name| name.parse::<u32>().ok());
        let interrupt = |number: u32| {
            let row = counts.rows.get(&number.to_string()).cloned().unwrap_or_default();
            Interrupt {
                number,
                about: row.about,
                affinity: list(format!("/proc/irq/{number}/smp_affinity_list")),
                effective: list(format!("/proc/irq/{number}/effective_affinity_list")),
                counts: counts.cpus.iter().copied().zip(row.counts).collect(),
            }
        };
        let mut packet_steering = BTreeMap::new();
        for pattern in ["/sys/class/net/*/queues/rx-*/rps_cpus", "/sys/class/net/*/queues/tx-*/xps_cpus"] {
            for path in root.matching(pattern) {
                if let Some(cpus) = mask(&path).filter(|cpus| !cpus.is_empty()) {
                    packet_steering.insert(path, cpus);
                }
            }
        }
        let own = |path: String| Some((path.split('/').nth(5)?.to_owned(), mask(&path)?));
        Self {
            own_workqueues: root
                .matching("/sys/devices/virtual/workqueue/*/cpumask")
                .into_iter()
                .filter_map(own)
                .collect(),
            list: numbers.map(interrupt).collect(),
            default_affinity: mask("/proc/irq/default_smp_affinity"),
            workqueues: mask("/sys/devices/virtual/workqueue/cpumask"),
            packet_steering,
        }
    }

    /// Interrupts in use (those with a device) that may go to any of these CPUs.
    pub fn reaching<'a>(&'a self, cpus: &'a CpuList) -> impl Iterator<Item = &'a Interrupt> {
        self.list.iter().filter(move |i| {
            let goes = i.effective.as_ref().filter(|e| !e.is_empty()).or(i.affinity.as_ref());
            !i.about.is_empty() && !i.fixed_timer() && goes.is_some_and(|goes| goes.meets(cpus))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_stands_after_its_trigger() {
        for (about, device) in [
            ("ARMCTRL-level 2 Edge VCHIQ doorbell", "VCHIQ doorbell"),
            ("PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0", "virtio1-req.0"),
            ("IR-IO-APIC 9-fasteoi acpi", "acpi"),
            ("GICv2 30 Level arch_timer", "arch_timer"),
            ("something else", "something else"),
            ("", ""),
        ] {
            assert_eq!(Interrupt { about: about.into(), ..Interrupt::default() }.device(), device);
        }
    }

    #[test]
    fn timers_of_the_kernel_are_known() {
        let timer =
            |number, about: &str| Interrupt { number, about: about.into(), ..Interrupt::default() }.fixed_timer();
        assert!(timer(0, "IO-APIC 2-edge timer") && timer(11, "GICv2 30 Level arch_timer"));
        assert!(!timer(9, "IO-APIC 9-fasteoi acpi") && !timer(17, "PRU 3 Level timer"));
    }
}
