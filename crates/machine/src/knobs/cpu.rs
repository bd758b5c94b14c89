//! Frequency, boost, idle states, siblings.

use super::{DEDICATED, EVERY, Knob, KnobFile, QUICK, Want};
use crate::facts::Facts;
use crate::facts::frequency::Policy;
use crate::target::{Profile, Target};
use crate::value_format::ValueFormat;
use ontick_units::CpuList;

pub(super) const KNOBS: &[Knob] = &[
    // Before the governor, and so restored after it: under performance the kernel takes no other preference (EBUSY).
    Knob {
        name: "energy-preference",
        paths: &["/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"],
        form: ValueFormat::Plain,
        profiles: EVERY,
        isolates: false,
        want: |target, file| {
            wanted_policy(target, file, |policy| match policy.preferences.iter().any(|p| p == "performance") {
                true => Want::set("performance"),
                false => Want::leave("the preference \"performance\" is not there"),
            })
        },
        why: "a processor that chooses its clock itself raises it late where it is to save energy, whatever the governor asks for",
        source: "kernel: admin-guide/pm/intel_pstate (Energy vs Performance Hints), admin-guide/pm/amd-pstate",
    },
    Knob {
        name: "governor",
        paths: &["/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"],
        form: ValueFormat::Plain,
        profiles: EVERY,
        isolates: false,
        want: |target, file| {
            wanted_policy(target, file, |policy| match policy.governors.iter().any(|g| g == "performance") {
                true => Want::set("performance"),
                false => Want::leave("the governor \"performance\" is not there"),
            })
        },
        why: "a CPU that was clocked down is slow when its event comes, and changing the clock takes time",
        source: "source 000 (turbo off: a changing clock moves SPI and timing); kernel: admin-guide/pm/cpufreq",
    },
    Knob {
        name: "lowest-frequency",
        paths: &["/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |target, file| match policy_of(file).and_then(|p| Some((p, p.range_khz?))) {
            Some((policy, _)) if !policy.cpus.meets(&target.cpus) => {
                Want::leave(format!("CPU {} is not wanted for timed programs", policy.cpus))
            }
            Some((_, (_, highest))) => Want::set(highest),
            None => Want::leave("its range is unknown"),
        },
        why: "some drivers (intel_pstate, amd-pstate) change the clock also under the governor performance",
        source: "kernel: admin-guide/pm/intel_pstate, admin-guide/pm/amd-pstate",
    },
    // The highest first, as its path sorts first: the lowest never exceeds it, in either direction.
    Knob {
        name: "uncore-frequency",
        paths: &[
            "/sys/devices/system/cpu/intel_uncore_frequency/uncore*/m*_freq_khz",
            "/sys/devices/system/cpu/intel_uncore_frequency/package_*/m*_freq_khz",
        ],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |target, file| match folder_of(file)
            .and_then(|f| file.facts.frequency.uncore.iter().find(|u| u.folder == f))
        {
            Some(uncore) if !uncore.cpus.is_empty() && !uncore.cpus.meets(&target.cpus) => {
                Want::leave(format!("its package has CPU {}, which is not wanted for timed programs", uncore.cpus))
            }
            Some(uncore) => Want::set(uncore.highest_khz),
            None => Want::leave("its range is unknown"),
        },
        why: "the clock of the last-level cache and the memory controllers falls while most cores idle, and every cache miss of a timed program takes longer then",
        source: "kernel: admin-guide/pm/intel_uncore_frequency_scaling",
    },
    Knob {
        name: "boost",
        paths: &["/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/intel_pstate/no_turbo"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |_, file| Want::set(if file.path.ends_with("no_turbo") { 1 } else { 0 }),
        why: "boost frequencies come and go with temperature and with what the other cores do",
        source: "source 000 (turbo off); kernel: admin-guide/pm/cpufreq (boost)",
    },
    Knob {
        name: "idle-states",
        paths: &["/sys/devices/system/cpu/cpu*/cpuidle/state*/disable"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: idle_state,
        why: "leaving an idle state takes from 1 µs (C1) to some 100 µs (C6), before the program runs at all",
        source: "kernel: admin-guide/pm/cpuidle; the driver's own figures in cpuidle/state*/latency",
    },
];

/// The last of all: while a sibling goes, the kernel moves interrupts that may go nowhere else to any CPU. Restored first.
pub(super) const LAST: &[Knob] = &[Knob {
    name: SIBLINGS,
    paths: &["/sys/devices/system/cpu/cpu*/online"],
    form: ValueFormat::Plain,
    profiles: DEDICATED,
    isolates: true,
    want: |target, file| {
        let siblings = siblings(target, file.facts);
        match numbered(file.path) {
            Some(cpu) if siblings.contains(cpu) && target.others.within(&siblings) => {
                Want::leave("no CPU would be left for everything else")
            }
            Some(cpu) if siblings.contains(cpu) => Want::set(0),
            _ => Want::leave("shares no core with the wanted CPUs"),
        }
    },
    why: "a sibling shares the core's execution units and caches, so what runs there slows the timed program",
    source: "kernel: admin-guide/hw-vuln/core-scheduling, admin-guide/kernel-parameters (nosmt)",
}];

const SIBLINGS: &str = "smt-siblings";

/// The CPUs that share a core with those for timed programs.
fn siblings(target: &Target, facts: &Facts) -> CpuList {
    let near = target.cpus.iter().filter_map(|cpu| facts.cpus.siblings.get(&cpu));
    near.fold(CpuList::default(), |all, siblings| all.with(siblings)).without(&target.cpus)
}

/// Lets a plan move other programs' tasks and switch siblings off, where they are among what is asked for: they are no CPUs for
/// everything else then.
pub fn isolate(target: &mut Target, facts: &Facts) {
    target.isolate = true;
    let wanted = match target.only.is_empty() {
        true => target.profile == Profile::DedicatedCore && target.only_arguments.is_none(),
        false => target.only.iter().any(|name| name == SIBLINGS),
    };
    let siblings = siblings(target, facts);
    let left = target.others.without(&siblings);
    if wanted && !left.is_empty() {
        (target.others, target.siblings) = (left, siblings);
    }
}

/// What is wanted of a frequency policy that counts: of all CPUs where all are to answer quickly, else of the timed ones.
fn wanted_policy(target: &Target, file: &KnobFile, want: impl FnOnce(&Policy) -> Want) -> Want {
    match policy_of(file) {
        Some(policy) if target.profile != Profile::LowLatency && !policy.cpus.meets(&target.cpus) => {
            Want::leave(format!("CPU {} is not wanted for timed programs", policy.cpus))
        }
        Some(policy) => want(policy),
        None => Want::leave("its CPUs are unknown"),
    }
}

fn policy_of<'a>(file: &'a KnobFile) -> Option<&'a Policy> {
    let folder = folder_of(file)?;
    file.facts.frequency.policies.iter().find(|p| p.folder == folder)
}

fn folder_of<'a>(file: &'a KnobFile) -> Option<&'a str> {
    file.path.rsplit_once('/').map(|(folder, _)| folder)
}

/// The CPU of a path `/sys/devices/system/cpu/cpuN/…`.
fn numbered(path: &str) -> Option<u32> {
    path.strip_prefix("/sys/devices/system/cpu/cpu")?.split('/').next()?.parse().ok()
}

/// A dedicated core does not sleep at all beyond halting; otherwise states up to 10 µs are a fair price.
fn idle_state(target: &Target, file: &KnobFile) -> Want {
    let Some(cpu) = numbered(file.path) else { return Want::leave("its CPU is unknown") };
    let number = file.path.rsplit('/').nth(1).and_then(|s| s.strip_prefix("state")?.parse::<u32>().ok());
    let states = file.facts.frequency.idle_states.get(&cpu);
    let Some(state) = states.and_then(|all| all.iter().find(|s| Some(s.number) == number)) else {
        return Want::leave("the time to leave it is unknown");
    };
    let dedicated = target.profile == Profile::DedicatedCore;
    let limit_us = if dedicated { 1 } else { 10 };
    match () {
        () if dedicated && !target.cpus.contains(cpu) => Want::leave("not a CPU for timed programs"),
        () if state.exit_us <= limit_us => Want::leave(format!("{} is left within {} µs", state.name, state.exit_us)),
        () => Want::set(1),
    }
}
