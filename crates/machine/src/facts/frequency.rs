//! Frequencies, boost and idle states.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::root::Root;
use ontick_units::CpuList;

/// How fast the CPUs run and how deep they sleep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Frequency {
    /// Groups of CPUs that change frequency together.
    pub policies: Vec<Policy>,
    /// Whether frequencies above the nominal one are allowed (boost, turbo); `None` where there is no switch.
    pub boost: Option<bool>,
    /// Parts of the processor beside its cores that have a clock of their own (Intel's uncore).
    pub uncore: Vec<Uncore>,
    /// The driver that puts idle CPUs to sleep; empty or `none` where there is none.
    pub idle_driver: String,
    /// Idle states by CPU.
    pub idle_states: BTreeMap<u32, Vec<IdleState>>,
}

/// CPUs with one frequency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Its folder.
    pub folder: String,
    /// Its CPUs.
    pub cpus: CpuList,
    /// What drives it.
    pub driver: String,
    /// Governor.
    pub governor: String,
    /// Governors to choose from.
    pub governors: Vec<String>,
    /// What the processor prefers when it chooses its clock itself, from `performance` to `power` or as a number from 0 to
    /// 255; empty where it does not.
    pub preference: String,
    /// Preferences to choose from.
    pub preferences: Vec<String>,
    /// Lowest and highest frequency that the governor may choose, in kHz.
    pub range_khz: Option<(u64, u64)>,
    /// Lowest and highest frequency of the hardware, in kHz.
    pub hardware_khz: Option<(u64, u64)>,
}

/// Last-level cache, mesh and memory controllers, with one frequency: of a package's die, or a cluster of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Uncore {
    /// Its folder.
    pub folder: String,
    /// The CPUs of its package.
    pub cpus: CpuList,
    /// Lowest and highest frequency that the hardware may choose, in kHz.
    pub range_khz: (u64, u64),
    /// The highest that was allowed when the driver was loaded, in kHz.
    pub highest_khz: u64,
}

/// Where the kernel shows uncore frequencies: of single clusters on processors that have them, else of dies. What is set for
/// a die goes to all its clusters, whose own values would be lost.
const UNCORE: [&str; 2] = [
    "/sys/devices/system/cpu/intel_uncore_frequency/uncore*",
    "/sys/devices/system/cpu/intel_uncore_frequency/package_*",
];

/// A state in which an idle CPU sleeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IdleState {
    /// Its number.
    pub number: u32,
    /// `POLL`, `C1`, `C6`, `WFI`.
    pub name: String,
    /// Time that leaving it takes, in µs, as the driver states it.
    pub exit_us: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

impl Frequency {
    pub(crate) fn probe(root: &Root) -> Self {
        let cpu = "/sys/devices/system/cpu";
        // intel_pstate's switch says the opposite of the general one.
        let boost = root.value(&format!("{cpu}/cpufreq/boost")).map(|v| v == "1");
        let turbo = || root.value(&format!("{cpu}/intel_pstate/no_turbo")).map(|v| v == "0");
        let numbered = |name: &String| name.strip_prefix("cpu")?.parse::<u32>().ok();
        let idle = |number| Some((number, idle_states(root, number))).filter(|(_, states)| !states.is_empty());
        Self {
            policies: root.matching(&format!("{cpu}/cpufreq/policy*")).iter().map(|p| policy(root, p)).collect(),
            boost: boost.or_else(turbo),
            uncore: uncore(root),
            idle_driver: root.value(&format!("{cpu}/cpuidle/current_driver")).unwrap_or_default(),
            idle_states: root.list(cpu).iter().filter_map(numbered).filter_map(idle).collect(),
        }
    }
}

fn policy(root: &Root, folder: &str) -> Policy {
    let read = |file: &str| root.value(&format!("{folder}/{file}")).unwrap_or_default();
    let words = |file: &str| read(file).split_whitespace().map(str::to_owned).collect();
    let pair = |low: &str, high: &str| Some((read(low).parse().ok()?, read(high).parse().ok()?));
    let cpus = |file: &str| read(file).split_whitespace().filter_map(|c| c.parse().ok()).collect::<CpuList>();
    Policy {
        folder: folder.into(),
        cpus: cpus("affected_cpus"),
        driver: read("scaling_driver"),
        governor: read("scaling_governor"),
        governors: words("scaling_available_governors"),
        preference: read("energy_performance_preference"),
        preferences: words("energy_performance_available_preferences"),
        range_khz: pair("scaling_min_freq", "scaling_max_freq"),
        hardware_khz: pair("cpuinfo_min_freq", "cpuinfo_max_freq"),
    }
}

fn uncore(root: &Root) -> Vec<Uncore> {
    let folders = UNCORE.iter().map(|pattern| root.matching(pattern)).find(|folders| !folders.is_empty());
    let read = |folder: String| {
        let khz = |file: &str| root.number(&format!("{folder}/{file}_freq_khz"));
        // A die's folder has its package in its name, a cluster's in a file.
        let named = || folder.rsplit_once("/package_")?.1.split('_').next()?.parse().ok();
        let package: u32 = root.number(&format!("{folder}/package_id")).or_else(named)?;
        let (range_khz, highest_khz) = ((khz("min")?, khz("max")?), khz("initial_max")?);
        Some(Uncore { cpus: cpus_of_package(root, package), range_khz, highest_khz, folder })
    };
    folders.unwrap_or_default().into_iter().filter_map(read).collect()
}

fn cpus_of_package(root: &Root, package: u32) -> CpuList {
    let files = root.matching("/sys/devices/system/cpu/cpu*/topology/physical_package_id");
    let cpu = |path: &String| {
        let number = path.strip_prefix("/sys/devices/system/cpu/cpu")?.split('/').next()?.parse().ok()?;
        (root.number(path) == Some(package)).then_some(number)
    };
    files.iter().filter_map(cpu).collect()
}

fn idle_states(root: &Root, cpu: u32) -> Vec<IdleState> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let state = |name: String| {
        let read = |file: &str| root.value(&format!("{folder}/{name}/{file}"));
        Some(IdleState {
            number: name.strip_prefix("state")?.parse().ok()?,
            name: read("name")?,
            exit_us: read("latency")?.parse().ok()?,
            disabled: read("disable").is_some_and(|d| d != "0"),
        })
    };
    root.list(&folder).into_iter().filter_map(state).collect()
}
