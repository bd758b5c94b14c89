//! Every setting that ontick changes while the machine runs, as one table of small entries.
//!
//! An entry names a file (or a pattern of files) and says what value is wanted there for a [`Target`],
//! why, and on whose word. Reading, writing, journal and revert are the same for all of them, so a new
//! knob is a few lines in one of the tables below.

mod cpu;
pub(crate) mod interrupts;
mod memory;
pub(crate) mod network;
mod noise;
mod scheduling;

pub use cpu::isolate;
pub use network::is_of_interfaces;
use serde::Serialize;

use crate::facts::Facts;
use crate::root::Root;
use crate::target::{Profile, Target};
use crate::value_format::ValueFormat;

/// One setting.
pub struct Knob {
    /// As it is named on the command line.
    pub name: &'static str,
    /// The files; the first pattern that names any is used. `{cpu}` stands for each wanted CPU, `{interface}` for each
    /// network interface of the target, `*` for any part of a name.
    pub paths: &'static [&'static str],
    /// How the kernel writes the value.
    pub form: ValueFormat,
    /// The profiles that it belongs to.
    pub profiles: &'static [Profile],
    /// Whether it affects other programs' tasks, so that it needs `--isolate`.
    pub isolates: bool,
    /// The wanted value of one file.
    pub want: fn(&Target, &KnobFile) -> Want,
    /// Why it matters.
    pub why: &'static str,
    /// Who says so, or where it was measured.
    pub source: &'static str,
}

/// One file of a knob.
pub struct KnobFile<'a> {
    /// The machine's files.
    pub root: &'a Root,
    /// What is known of the machine.
    pub facts: &'a Facts,
    /// Which file.
    pub path: &'a str,
    /// What it shows now.
    pub shown: &'a str,
}

/// What a knob wants of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Want {
    /// This value.
    Set(String),
    /// Nothing, for this reason.
    Leave(String),
}

impl Want {
    pub(crate) fn set(value: impl ToString) -> Self {
        Self::Set(value.to_string())
    }

    pub(crate) fn leave(reason: impl Into<String>) -> Self {
        Self::Leave(reason.into())
    }
}

pub(crate) const DEDICATED: &[Profile] = &[Profile::DedicatedCore];
pub(crate) const QUICK: &[Profile] = &[Profile::DedicatedCore, Profile::LowLatency];
pub(crate) const EVERY: &[Profile] = &Profile::ALL;

/// What the kernel changes of its own when it changes a setting, by knob. `{folder}` is that of the
/// setting's file.
const ALONG: &[(&str, &[&str])] = &[
    // Starting and stopping khugepaged sets it anew, also where a user had chosen a value.
    ("huge-pages", &["/proc/sys/vm/min_free_kbytes"]),
    // The governor performance of intel_pstate and amd-pstate overrides the preference.
    ("governor", &["{folder}/energy_performance_preference"]),
    // Limits are clamped to what is left, and not all drivers widen them again.
    (
        "boost",
        &[
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
        ],
    ),
    // Drivers set the times anew when the card is to choose them, or no longer.
    ("interrupt-coalescing", &["{folder}/rx-frames", "{folder}/rx-usecs"]),
];

/// The files whose values the kernel changes along with one of a knob's.
pub(crate) fn along(root: &Root, knob: &str, path: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let patterns = ALONG.iter().filter(|(name, _)| *name == knob).flat_map(|(_, patterns)| *patterns);
    patterns.flat_map(|pattern| root.matching(&pattern.replace("{folder}", folder))).collect()
}

/// What a refusal of a knob's setting mostly means.
pub(crate) fn refusal(knob: &str, error: &std::io::Error) -> Option<&'static str> {
    match (knob, error.raw_os_error()) {
        // EIO before Linux 6.0.
        ("irq-affinity", Some(1 | 5)) => {
            Some("the kernel does not let it be moved: its driver keeps a queue for each CPU")
        }
        ("interrupt-coalescing", Some(22 | 95)) => Some("this driver takes other values, or none"),
        ("threaded-napi", Some(95)) => Some("no frames are taken from it by polling"),
        ("cache-allocation", Some(22 | 28)) => Some("/sys/fs/resctrl/info/last_cmd_status says why"),
        ("pcie-power", Some(1)) => Some("the firmware keeps this to itself"),
        _ => None,
    }
}

/// All knobs, in the order in which they are applied; they are reverted in the opposite order.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    [scheduling::KNOBS, cpu::KNOBS, interrupts::KNOBS, memory::KNOBS, noise::KNOBS, network::KNOBS, cpu::LAST]
        .into_iter()
        .flatten()
}

/// No knob has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no knob \"{0}\" (there are {names})", names = all().map(|k| k.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownKnob(pub String);

/// The knob of that name.
pub fn named(name: &str) -> Result<&'static Knob, UnknownKnob> {
    all().find(|k| k.name == name).ok_or_else(|| UnknownKnob(name.into()))
}

impl Knob {
    /// The files of this knob on this machine.
    pub fn files(&self, root: &Root, target: &Target) -> Vec<String> {
        let expand = |pattern: &&str| -> Vec<String> {
            if pattern.contains(network::INTERFACE) {
                let each = target.interfaces.iter().map(|name| pattern.replace(network::INTERFACE, name));
                return each.flat_map(|pattern| root.matching(&pattern)).collect();
            }
            if !pattern.contains("{cpu}") {
                return root.matching(pattern);
            }
            target.cpus.iter().flat_map(|cpu| root.matching(&pattern.replace("{cpu}", &cpu.to_string()))).collect()
        };
        let mut files = self.paths.iter().map(expand).find(|files| !files.is_empty()).unwrap_or_default();
        files.sort_by_key(|f| f.split('/').filter_map(|p| p.parse::<u32>().ok()).next());
        files
    }
}

/// Whether a change takes seconds: irqbalance does what it is told when it looks at the machine next.
pub fn is_slow(knob: &Knob) -> bool {
    knob.name == interrupts::BALANCER
}

/// Leaves a setting that steers work off a CPU alone where there is no other CPU.
pub(crate) fn steered(target: &Target, value: impl FnOnce() -> Want) -> Want {
    if target.can_dedicate() { value() } else { Want::leave("this machine has one CPU, nothing can be steered off it") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_says_what_why_and_who() {
        let mut names: Vec<_> = all().map(|k| k.name).collect();
        for knob in all() {
            assert!(knob.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", knob.name);
            assert!(knob.why.len() > 30 && knob.source.len() > 8 && !knob.paths.is_empty(), "{}", knob.name);
            assert!(
                knob.paths.iter().all(|p| ["/proc/", "/sys/", "thread:", "ethtool:", "resctrl:", "irqbalance:"]
                    .iter()
                    .any(|beginning| p.starts_with(beginning))),
                "{}",
                knob.name
            );
        }
        names.sort_unstable();
        names.windows(2).for_each(|w| assert_ne!(w[0], w[1]));
        assert!(named("nonsense").is_err_and(|e| e.to_string().contains("governor")));
    }

    #[test]
    fn what_changes_along_belongs_to_a_knob() {
        for (name, patterns) in ALONG {
            assert!(named(name).is_ok() && !patterns.is_empty());
            assert!(
                patterns
                    .iter()
                    .all(|p| p.starts_with("/proc/") || p.starts_with("/sys/") || p.starts_with("{folder}/"))
            );
        }
    }

    #[test]
    fn the_energy_preference_is_restored_after_the_governor() {
        // Under performance the kernel takes no other preference; the last set is the first restored.
        let place = |name| all().position(|k| k.name == name).unwrap();
        assert!(place("energy-preference") < place("governor"));
    }

    #[test]
    fn siblings_go_last_and_come_back_first() {
        assert_eq!(all().last().map(|knob| knob.name), Some("smt-siblings"));
    }

    #[test]
    fn throttling_is_raised_outside_in() {
        // The kernel refuses a group more than the whole has, and the whole less than a group has: the
        // sysctl is raised first and, reverting in the opposite order, lowered last.
        let place = |name| all().position(|k| k.name == name).unwrap();
        assert!(place("rt-throttling") < place("rt-group-throttling"));
    }
}
