//! Frequency, idle states, siblings.

use super::{Check, CheckInput, Observation, Remedy, US};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "governor",
        why: "a CPU that was clocked down is slow when its event comes, and changing the clock takes time",
        source: "source 000: turbo off, or SPI clock and timing change with it; kernel: admin-guide/pm/cpufreq",
        look: |look| governor(look).only(),
    },
    Check {
        id: "energy-preference",
        why: "a processor that chooses its clock itself raises it late where it is to save energy",
        source: "kernel: admin-guide/pm/intel_pstate (Energy vs Performance Hints), admin-guide/pm/amd-pstate",
        look: |look| energy_preference(look).into_iter().collect(),
    },
    Check {
        id: "frequency-range",
        why: "a limit below what the processor can do makes everything slower, and a wide range lets the clock move",
        source: "source 000: turbo off, or the clock changes; kernel: admin-guide/pm/cpufreq (scaling_min_freq, scaling_max_freq)",
        look: |look| frequency_range(look).into_iter().collect(),
    },
    Check {
        id: "uncore-frequency",
        why: "the clock of the last-level cache and the memory controllers falls while most cores idle, and cache misses take longer then",
        source: "kernel: admin-guide/pm/intel_uncore_frequency_scaling",
        look: |look| uncore_frequency(look).into_iter().collect(),
    },
    Check {
        id: "boost",
        why: "boost frequencies come and go with temperature and with what the other cores do",
        source: "source 000: turbo off; kernel: admin-guide/pm/cpufreq",
        look: |look| match look.facts.frequency.boost {
            Some(false) => Observation::ok("off").only(),
            Some(true) => Observation::warn("on", "off, where even run times matter")
                .knob("boost")
                .boot(Remedy::AtBoot(None))
                .only(),
            None => Vec::new(),
        },
    },
    Check {
        id: "idle-states",
        why: "leaving an idle state comes before the program can run at all",
        source: "the driver's own figures in cpuidle/state*/latency; kernel: admin-guide/pm/cpuidle",
        look: |look| idle_states(look).only(),
    },
    Check {
        id: "smt",
        why: "a sibling shares the core's units and caches, so what runs there slows the timed program",
        source: "kernel: admin-guide/kernel-parameters (nosmt); Linux Foundation real-time wiki: hardware considerations",
        look: |look| {
            let cpus = &look.target.cpus;
            let near: Vec<String> = cpus
                .iter()
                .filter_map(|cpu| Some((cpu, look.facts.cpus.siblings.get(&cpu)?)))
                .map(|(cpu, others)| format!("CPU {cpu} shares its core with {others}"))
                .collect();
            match near.is_empty() {
                true => Observation::ok("no other CPU shares the core").only(),
                false => {
                    Observation::warn(near.join(", "), "siblings offline").knob("smt-siblings").boot("nosmt").only()
                }
            }
        },
    },
];

fn governor(look: &CheckInput) -> Observation {
    let frequency = &look.facts.frequency;
    if frequency.policies.is_empty() {
        return Observation::ok("the kernel does not change frequencies here");
    }
    let ours: Vec<_> = frequency.policies.iter().filter(|p| p.cpus.meets(&look.target.cpus)).collect();
    let Some(policy) = ours.iter().find(|p| p.governor != "performance").or(ours.first()) else {
        return Observation::unknown(format!("no frequency policy names CPU {}", look.target.cpus), "performance");
    };
    let range =
        policy.hardware_khz.map(|(low, high)| format!(", {}–{} MHz", low / 1_000, high / 1_000)).unwrap_or_default();
    let seen = format!("{} ({}{range})", policy.governor, policy.driver);
    // powersave of intel_pstate and amd-pstate-epp moves with the load like ondemand.
    let pinned = policy.range_khz.is_some_and(|(low, high)| low == high);
    match policy.governor.as_str() {
        "performance" => Observation::ok(seen),
        _ if pinned => Observation::ok(format!("{seen}, held at one frequency")),
        _ => Observation::bad(seen, "performance").knob("governor").boot(Remedy::AtBoot(None)),
    }
}

fn energy_preference(look: &CheckInput) -> Option<Observation> {
    let ours = look.facts.frequency.policies.iter().filter(|p| p.cpus.meets(&look.target.cpus));
    let preferences: Vec<&str> = ours.map(|p| p.preference.as_str()).filter(|p| !p.is_empty()).collect();
    // A number stands for a preference without a name: 0 is the most performance.
    let saving = preferences.iter().find(|p| !matches!(**p, "performance" | "0"));
    Some(match (saving, preferences.first()) {
        (Some(saving), _) => {
            Observation::warn(*saving, "performance").knob("energy-preference").boot(Remedy::AtBoot(None))
        }
        (None, Some(first)) => Observation::ok(*first),
        (None, None) => return None,
    })
}

fn frequency_range(look: &CheckInput) -> Option<Observation> {
    let ours = look.facts.frequency.policies.iter().find(|p| p.cpus.meets(&look.target.cpus))?;
    let ((low, high), (_, hardware)) = (ours.range_khz?, ours.hardware_khz?);
    let seen = format!("{}–{} MHz", low / 1_000, high / 1_000);
    Some(match (high < hardware, low == high) {
        (true, _) => Observation::warn(
            format!("{seen}, although the processor reaches {} MHz", hardware / 1_000),
            "the highest, unless the heat forbids it",
        )
        .now(format!("echo {hardware} > {}/scaling_max_freq", ours.folder)),
        (_, true) => Observation::ok(format!("{seen}: it does not move")),
        _ => Observation::warn(seen, "its highest as its lowest, where even run times matter")
            .knob("lowest-frequency")
            .boot(Remedy::AtBoot(None)),
    })
}

fn uncore_frequency(look: &CheckInput) -> Option<Observation> {
    let ours = look.facts.frequency.uncore.iter().filter(|u| u.cpus.is_empty() || u.cpus.meets(&look.target.cpus));
    let widest = ours.max_by_key(|uncore| uncore.range_khz.1.saturating_sub(uncore.range_khz.0))?;
    let (low, high) = widest.range_khz;
    let seen = format!("{}–{} MHz", low / 1_000, high / 1_000);
    Some(match low == high {
        true => Observation::ok(format!("{seen}: it does not move")),
        false => Observation::warn(seen, "its highest as its lowest, where even run times matter")
            .knob("uncore-frequency")
            .boot(Remedy::AtBoot(None)),
    })
}

fn idle_states(look: &CheckInput) -> Observation {
    let frequency = &look.facts.frequency;
    let states = look.target.cpus.iter().filter_map(|cpu| frequency.idle_states.get(&cpu)).flatten();
    let deepest = states.filter(|s| !s.disabled).max_by_key(|s| s.exit_us);
    match deepest {
        None if frequency.idle_driver.is_empty() || frequency.idle_driver == "none" => {
            Observation::ok("no idle states beyond halting")
        }
        None => Observation::ok("all idle states are off"),
        Some(state) if state.exit_us <= 2 => {
            Observation::ok(format!("deepest is {}, left within {} µs", state.name, state.exit_us))
        }
        Some(state) => {
            let seen = format!("deepest is {}, which takes {} µs to leave", state.name, state.exit_us);
            let should = "off while timed programs run (or /dev/cpu_dma_latency held at 0, as ontick's own runs do)";
            let found =
                if state.exit_us > 10 { Observation::bad(seen, should) } else { Observation::warn(seen, should) };
            found.costs(state.exit_us * US).knob("idle-states").boot(Remedy::AtBoot(None))
        }
    }
}
