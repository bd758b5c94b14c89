//! Programs that set the same things as ontick, now or at the next boot.

use ontick_units::CpuList;
use serde::Serialize;

use crate::root::{IRQBALANCE, Root, irqbalance};

/// A program that fights over settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rival {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub sets: &'static str,
    /// Whether it runs now.
    pub running: bool,
    /// Whether it will run at boot.
    pub at_boot: bool,
    /// How to stop it.
    pub remedy: String,
    /// Whether it can be told to keep off some CPUs while it runs (irqbalance).
    pub can_be_told: bool,
    /// Which it keeps off; root alone is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps_off: Option<CpuList>,
}

struct Known {
    name: &'static str,
    /// As `/proc/PID/comm` shows it (15 characters at most); empty for one that only runs at boot.
    process: &'static str,
    /// System V script and systemd unit names.
    services: &'static [&'static str],
    sets: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        name: "irqbalance",
        process: "irqbalance",
        services: &["irqbalance"],
        sets: "interrupt affinity, every 10 seconds",
    },
    Known { name: "tuned", process: "tuned", services: &["tuned"], sets: "governor, idle states, sysctls, affinities" },
    Known {
        name: "power-profiles-daemon",
        process: "power-profiles-",
        services: &["power-profiles-daemon"],
        sets: "governor and boost",
    },
    Known { name: "tlp", process: "", services: &["tlp"], sets: "governor, boost, device power saving" },
    Known { name: "thermald", process: "thermald", services: &["thermald"], sets: "frequency limits when warm" },
    Known {
        name: "cpufrequtils",
        process: "",
        services: &["cpufrequtils"],
        sets: "governor and frequency limits at boot",
    },
    Known { name: "ondemand", process: "", services: &["ondemand"], sets: "governor a minute after boot" },
    Known { name: "raspi-config", process: "", services: &["raspi-config"], sets: "governor ondemand at boot" },
    Known { name: "rtirq", process: "", services: &["rtirq"], sets: "priorities of interrupt threads at boot" },
    Known {
        name: "auto-cpufreq",
        process: "auto-cpufreq",
        services: &["auto-cpufreq"],
        sets: "governor, boost and frequency limits, every few seconds",
    },
    Known { name: "cpupower", process: "", services: &["cpupower"], sets: "governor and frequency limits at boot" },
    Known {
        name: "laptop-mode",
        process: "",
        services: &["laptop-mode"],
        sets: "governor, boost, device power saving, writeback",
    },
    Known { name: "numad", process: "numad", services: &["numad"], sets: "affinity and memory of other programs" },
    Known { name: "ksmtuned", process: "ksmtuned", services: &["ksmtuned"], sets: "same-page merging" },
    Known { name: "gamemoded", process: "gamemoded", services: &[], sets: "governor" },
    Known {
        name: "ananicy",
        process: "ananicy",
        services: &["ananicy", "ananicy-cpp"],
        sets: "scheduling policy of other programs",
    },
];

pub(crate) fn probe(root: &Root) -> Vec<Rival> {
    let processes: Vec<String> = root.matching("/proc/*/comm").iter().filter_map(|path| root.value(path)).collect();
    let rival = |known: &Known| {
        let running = !known.process.is_empty() && processes.iter().any(|p| p == known.process);
        let enabled = known.services.iter().find(|name| enabled(root, name));
        let remedy = match enabled {
            Some(service) => format!("systemctl disable --now {service}"),
            None => format!("stop {}", known.name),
        };
        let at_boot = enabled.is_some();
        let can_be_told = running && known.name == "irqbalance" && root.exists(IRQBALANCE);
        let told = || irqbalance::cpus(&root.text(IRQBALANCE).ok()?);
        let keeps_off = if can_be_told { told() } else { None };
        let Known { name, sets, .. } = *known;
        (running || at_boot).then_some(Rival { name, sets, running, at_boot, remedy, can_be_told, keeps_off })
    };
    KNOWN.iter().filter_map(rival).collect()
}

/// Started at boot: wanted by a systemd target or linked into a System V run level.
fn enabled(root: &Root, service: &str) -> bool {
    let wanted = root.matching(&format!("/etc/systemd/system/*.wants/{service}.service"));
    let started = ["/etc/rc2.d", "/etc/rc3.d", "/etc/rc5.d", "/etc/rcS.d"].iter().any(|folder| {
        let script = |name: &String| {
            name.strip_prefix('S').is_some_and(|n| n.trim_start_matches(|c: char| c.is_ascii_digit()) == service)
        };
        root.list(folder).iter().any(script)
    });
    !wanted.is_empty() || started
}
