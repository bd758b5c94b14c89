//! System management interrupts: the firmware stops all CPUs at once, and the kernel sees a gap.

use serde::Serialize;

use super::Cpus;
use crate::root::Root;

/// Intel's count of them since power-on, in its lower 32 bits (Intel SDM, volume 4: MSR_SMI_COUNT).
const SMI_COUNT: u32 = 0x34;

/// What is known of system management interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Firmware {
    /// What counts them.
    pub counter: SmiCounter,
    /// How many there were since power-on; `None` where nobody says so.
    pub smis: Option<u32>,
}

/// What counts system management interrupts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SmiCounter {
    /// Nothing, as there are none or it is not known.
    #[default]
    None,
    /// A model-specific register (Intel).
    Register,
    /// An event of perf (AMD: `ls_smi_rx`).
    PerfEvent,
}

impl Firmware {
    pub(crate) fn probe(root: &Root, cpus: &Cpus) -> Self {
        let counter = match cpus.vendor.as_str() {
            "GenuineIntel" => SmiCounter::Register,
            "AuthenticAMD" | "HygonGenuine" => SmiCounter::PerfEvent,
            _ => SmiCounter::None,
        };
        // They stop all CPUs, so the count of one is that of all.
        let first = cpus.online.iter().next().filter(|_| counter == SmiCounter::Register);
        Self { counter, smis: first.and_then(|cpu| smis(root, cpu)) }
    }
}

/// How many system management interrupts a CPU has counted.
pub fn smis(root: &Root, cpu: u32) -> Option<u32> {
    root.register(cpu, SMI_COUNT).ok().map(|value| value as u32)
}
