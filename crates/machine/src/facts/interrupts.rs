//! Interrupts: who they are, where they may go, and where unbound work of the kernel may go.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::root::Root;
use ontick_units::CpuList;

/// `/proc/interrupts` or `/proc/softirqs`: a count for each source and CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The CPUs of the columns (only those that are online have one).
    pub cpus: Vec<u32>,
    /// One row for each source, by its label (`36`, `LOC`, `NET_RX`).
    pub rows: BTreeMap<String, Row>,
}

/// One source of interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// How often, in the order of the columns.
    pub counts: Vec<u64>,
    /// What the kernel says beside it: controller, type, device.
    pub about: String,
}

impl Counts {
    /// Reads the table. Rows without one count per CPU (`ERR`, `MIS`) are left out.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let cpus: Vec<u32> = header.split_whitespace().filter_map(|w| w.strip_prefix("CPU")?.parse().ok()).collect();
        let row = |line: &str| -> Option<(String, Row)> {
            let (label, rest) = line.split_once(':')?;
            let mut rest = rest.trim_start();
            let mut counts = Vec::new();
            for _ in &cpus {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                counts.push(rest[..end].parse().ok()?);
                rest = rest[end..].trim_start();
            }
            let about = rest.split_whitespace().collect::<Vec<_>>().join(" ");
            Some((label.trim().to_owned(), Row { counts, about }))
        };
        let rows = if cpus.is_empty() { BTreeMap::new() } else { lines.filter_map(row).collect() };
        Self { cpus, rows }
    }

    /// How often a source struck on a CPU.
    pub fn on(&self, label: &str, cpu: u32) -> Option<u64> {
        let column = self.cpus.iter().position(|c| *c == cpu)?;
        self.rows.get(label)?.counts.get(column).copied()
    }
}

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
        let counts = Counts::parse(&root.text("/proc/interrupts").unwrap_or_default());
        let list = |path: String| root.value(&path)?.parse().ok();
        let mask = |path: &str| CpuList::from_mask(&root.value(path)?).ok();
        let numbers = root.list("/proc/irq").into_iter().filter_map(|name| name.parse::<u32>().ok());
        let interrupt = |number: u32| Interrupt {
            number,
            about: counts.rows.get(&number.to_string()).map(|r| r.about.clone()).unwrap_or_default(),
            affinity: list(format!("/proc/irq/{number}/smp_affinity_list")),
            effective: list(format!("/proc/irq/{number}/effective_affinity_list")),
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
    use proptest::prelude::*;

    const TEXT: &str = "           CPU0       CPU2\n  2:   5   7  GICv2  29 Level     arch_timer\n\
                        ERR:          0\nLOC:  1  2   Local timer interrupts\n";

    #[test]
    fn columns_are_the_cpus_that_are_online() {
        let counts = Counts::parse(TEXT);
        assert_eq!((counts.on("2", 2), counts.on("LOC", 0), counts.on("LOC", 1)), (Some(7), Some(1), None));
        assert_eq!(counts.rows["2"].about, "GICv2 29 Level arch_timer");
        assert!(!counts.rows.contains_key("ERR"));
    }

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

    proptest! {
        #[test]
        fn counts_are_read_back(rows in prop::collection::vec(prop::collection::vec(any::<u64>(), 3), 1..20)) {
            let mut text = String::from("            CPU0       CPU1       CPU3\n");
            for (i, counts) in rows.iter().enumerate() {
                text += &format!("{i:>3}: {:>10} {:>10} {:>10}   chip  edge  dev{i}\n", counts[0], counts[1], counts[2]);
            }
            let parsed = Counts::parse(&text);
            for (i, counts) in rows.iter().enumerate() {
                prop_assert_eq!(&parsed.rows[&i.to_string()].counts, counts);
                prop_assert_eq!(parsed.on(&i.to_string(), 3), Some(counts[2]));
            }
        }

        #[test]
        fn any_text_is_answered(text in "( CPU[0-9]{1,3}){0,3}\n([A-Z0-9]{0,3}:[ 0-9a-z:]{0,20}\n){0,5}|.{0,60}") {
            let _ = Counts::parse(&text);
        }
    }
}
