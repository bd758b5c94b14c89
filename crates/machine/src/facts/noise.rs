//! What else takes time now and then: watchdogs, statistics, messages on slow consoles, the hypervisor.

use serde::Serialize;

use crate::root::Root;
use ontick_units::CpuList;

/// Sources of short interruptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Noise {
    /// The hard-lockup detector uses a performance counter interrupt.
    pub nmi_watchdog: Option<bool>,
    /// The soft-lockup detector runs on each of its CPUs.
    pub soft_watchdog: Option<bool>,
    /// The CPUs of both detectors.
    pub watchdog_cpus: Option<CpuList>,
    /// Seconds between updates of the memory statistics of each CPU.
    pub stat_interval_s: Option<u32>,
    /// Seconds between looks for corrected hardware errors on each CPU (x86); 0 where none are looked for.
    pub machine_check_interval_s: Option<u64>,
    /// Kernel messages below this level go to the consoles.
    pub console_level: Option<u32>,
    /// Serial consoles that print kernel messages.
    pub slow_consoles: Vec<String>,
    /// The hypervisor; empty on bare metal.
    pub hypervisor: String,
    /// Time that the hypervisor took since boot, in ns (10 ms resolution).
    pub steal_ns: u64,
    /// Time since boot, of all CPUs together, in ns.
    pub total_ns: u64,
}

impl Noise {
    pub(crate) fn probe(root: &Root) -> Self {
        let on = |path: &str| root.value(path).map(|v| v != "0");
        let (steal_ns, total_ns) = steal(&root.text("/proc/stat").unwrap_or_default());
        Self {
            nmi_watchdog: on("/proc/sys/kernel/nmi_watchdog"),
            soft_watchdog: on("/proc/sys/kernel/soft_watchdog"),
            watchdog_cpus: root.value("/proc/sys/kernel/watchdog_cpumask").and_then(|v| v.parse().ok()),
            stat_interval_s: root.number("/proc/sys/vm/stat_interval"),
            machine_check_interval_s: machine_check_interval(root),
            console_level: root
                .value("/proc/sys/kernel/printk")
                .and_then(|v| v.split_whitespace().next()?.parse().ok()),
            slow_consoles: slow_consoles(&root.text("/proc/consoles").unwrap_or_default()),
            hypervisor: hypervisor(root),
            steal_ns,
            total_ns,
        }
    }
}

/// One value for all CPUs, in each one's folder.
fn machine_check_interval(root: &Root) -> Option<u64> {
    let folder = "/sys/devices/system/machinecheck/machinecheck0";
    let seconds = root.number(&format!("{folder}/check_interval"))?;
    let is_ignored = root.value(&format!("{folder}/ignore_ce")).is_some_and(|value| value == "1");
    Some(if is_ignored { 0 } else { seconds })
}

/// `ttyS0  -W- (EC p a)  4:64`: enabled consoles (E) that are serial lines.
fn slow_consoles(text: &str) -> Vec<String> {
    let serial = |name: &str| ["ttyS", "ttyAMA", "ttyO", "ttymxc", "ttyPS"].iter().any(|p| name.starts_with(p));
    let enabled = |line: &str| line.split_once('(').is_some_and(|(_, flags)| flags.starts_with('E'));
    let names = text.lines().filter(|l| enabled(l)).filter_map(|l| l.split_whitespace().next());
    names.filter(|n| serial(n)).map(str::to_owned).collect()
}

/// The first line of /proc/stat, in ticks of 10 ms: the eighth column is what the hypervisor took.
fn steal(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().and_then(|l| l.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|t| t.parse().ok()).take(8).collect();
    (
        ticks.get(7).copied().unwrap_or(0).saturating_mul(10_000_000),
        ticks.iter().sum::<u64>().saturating_mul(10_000_000),
    )
}

fn hypervisor(root: &Root) -> String {
    if let Some(kind) = root.value("/sys/hypervisor/type") {
        return kind;
    }
    let vendor = root.value("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = root.value("/sys/class/dmi/id/product_name").unwrap_or_default();
    let known = [
        ("QEMU", "QEMU/KVM"),
        ("KVM", "KVM"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Amazon EC2", "Amazon EC2"),
        ("Google Compute", "Google"),
    ];
    let named = |text: &str| known.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| (*name).to_owned());
    if let Some(name) = named(&vendor).or_else(|| named(&product)) {
        return name;
    }
    // A device tree names the hypervisor in a node of that name.
    if let Some(kind) = root.value("/proc/device-tree/hypervisor/compatible") {
        return kind.split('\0').next().unwrap_or_default().into();
    }
    let flagged = root.text("/proc/cpuinfo").is_ok_and(|t| {
        t.lines().filter(|l| l.starts_with("flags")).any(|l| l.split_whitespace().any(|f| f == "hypervisor"))
    });
    let clocks = root.value("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    match (flagged, clocks.contains("kvm-clock")) {
        (true, true) => "KVM".into(),
        (true, false) => "unknown".into(),
        (false, _) => String::new(),
    }
}
