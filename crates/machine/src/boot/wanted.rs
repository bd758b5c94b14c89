//! Which kernel arguments and firmware settings a target asks for.

use serde::Serialize;

use crate::facts::arguments::{key_of, same_key};
use crate::facts::{Facts, Preemption};
use crate::target::{Profile, Target};

/// A kernel argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// Its name.
    pub key: String,
    /// Its value; empty for one without.
    pub value: String,
    /// Why it is wanted.
    pub why: &'static str,
}

impl Argument {
    /// As on the command line.
    pub fn text(&self) -> String {
        if self.value.is_empty() { self.key.clone() } else { format!("{}={}", self.key, self.value) }
    }
}

/// A setting in a Raspberry Pi's `config.txt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Why it is wanted.
    pub why: &'static str,
}

/// The arguments that a profile asks for on some machine.
const OF_PROFILES: [&str; 7] =
    ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "threadirqs", "preempt", "skew_tick"];

/// Those of the running kernel that a profile could have given it, and that are not wanted.
pub(super) fn perhaps_ours<'a>(facts: &'a Facts, wanted: &[Argument]) -> Vec<&'a str> {
    let is_wanted = |key: &str| wanted.iter().any(|argument| same_key(&argument.key, key));
    let left = |argument: &&str| {
        let key = key_of(argument);
        OF_PROFILES.iter().any(|ours| same_key(ours, key)) && !is_wanted(key)
    };
    facts.arguments.iter().filter(left).collect()
}

/// Kernel arguments, and notes on those that this kernel could not use.
pub(super) fn arguments(facts: &Facts, target: &Target) -> (Vec<Argument>, Vec<String>) {
    let mut wanted = Vec::new();
    let mut notes = Vec::new();
    let mut want = |key: &str, value: String, why| wanted.push(Argument { key: key.into(), value, why });
    let kernel = &facts.kernel;
    if target.profile == Profile::DedicatedCore && !target.can_dedicate() {
        notes.push("this machine has one CPU: none can be kept for one program".into());
    }
    if target.profile == Profile::DedicatedCore && target.can_dedicate() {
        let cpus = target.cpus.to_string();
        // Since Linux 5.6 also queues of managed interrupts can be kept away.
        let isolated = if kernel.at_least(5, 6) { format!("managed_irq,domain,{cpus}") } else { cpus.clone() };
        want("isolcpus", isolated, "no task is put on these CPUs but those that ask for them (source 000)");
        match facts.config.has("NO_HZ_FULL") {
            Some(false) => notes.push("nohz_full is left out: this kernel is built without NO_HZ_FULL".into()),
            _ => want("nohz_full", cpus.clone(), "no timer tick while one task runs there"),
        }
        match facts.config.has("RCU_NOCB_CPU") {
            Some(false) => notes.push("rcu_nocbs is left out: this kernel is built without RCU_NOCB_CPU".into()),
            _ => want("rcu_nocbs", cpus, "RCU callbacks run on the other CPUs"),
        }
        want("irqaffinity", target.others.to_string(), "interrupts go to the other CPUs from the start");
    }
    if !target.irq_threads.is_empty() && kernel.preemption != Preemption::Rt {
        want("threadirqs", String::new(), "interrupts are handled by threads, which have a priority");
    }
    if target.profile != Profile::ThroughputSafe {
        // What was switched on since is gone with the next boot.
        let there = match kernel.preemption {
            Preemption::Rt => true,
            Preemption::Full => facts.config.has("PREEMPT") != Some(false),
            _ => false,
        };
        let by_argument = facts.arguments.get("preempt") == Some("full");
        if kernel.preemption_dynamic == Some(true) && (!there || by_argument) {
            want("preempt", "full".into(), "the kernel itself can be preempted; this kernel lets it be chosen at boot");
        }
        if facts.cpus.online.len() > 1 {
            want("skew_tick", "1".into(), "the CPUs' ticks do not all contend for the same locks at the same moment");
        }
    }
    if let Some(only) = &target.only_arguments {
        let named = only.iter().filter(|argument| !argument.contains('='));
        let missing = named.filter(|name| wanted.iter().all(|argument| argument.key != **name));
        notes.extend(
            missing.map(|name| format!("{name} of the profile's file is left out: it is not wanted on this machine")),
        );
        wanted.retain(|argument| only.contains(&argument.key));
        wanted.extend(only.iter().filter_map(|argument| argument.split_once('=')).map(|(key, value)| Argument {
            key: key.into(),
            value: value.into(),
            why: "the profile's file asks for it",
        }));
    }
    (wanted, notes)
}

/// Firmware settings of a Raspberry Pi; `is_ours` where ontick wrote to its file before, so that they may be there by that.
pub(super) fn settings(facts: &Facts, target: &Target, is_ours: bool, notes: &mut Vec<String>) -> Vec<Setting> {
    let is_wanted = target.profile == Profile::DedicatedCore && target.only_arguments.is_none();
    let Some(pi) = facts.board.raspberry_pi.as_ref().filter(|_| is_wanted) else {
        return Vec::new();
    };
    let raised = |key: &str| pi.config.get(key).and_then(|v| v.parse::<i32>().ok()).is_some_and(|v| v > 0);
    if pi.config.get("force_turbo") == Some("1") && !is_ours {
        return Vec::new();
    }
    if ["over_voltage", "over_voltage_sdram", "over_voltage_min"].into_iter().any(raised) {
        notes.push(
            "force_turbo is left out: together with over_voltage in config.txt it may set the warranty bit".into(),
        );
        return Vec::new();
    }
    let why = "CPU and core clocks stay at their highest, so that neither they nor SPI change in flight (source 000)";
    vec![Setting { key: "force_turbo".into(), value: "1".into(), why }]
}
