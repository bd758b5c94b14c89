//! Kernel arguments: those that matter for timing among the facts, all of them behind a fold.

use ontick_record::Environment;

use crate::markup::Markup;

/// Names of arguments that matter; one that ends in a dot stands for every parameter of that module.
const TIMING: [&str; 45] = [
    "acpi_irq_nobalance",
    "amd_pstate",
    "audit",
    "clocksource",
    "cpufreq.",
    "cpuidle.",
    "cpuidle_haltpoll.",
    "dwc_otg.",
    "efi",
    "haltpoll.",
    "highres",
    "hpet",
    "hugepages",
    "idle",
    "intel_idle.",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "nr_cpus",
    "numa_balancing",
    "pcie_aspm",
    "pcie_aspm.",
    "preempt",
    "processor.",
    "psi",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcupdate.",
    "rcutree.",
    "skew_tick",
    "smt",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "watchdog_thresh",
    "workqueue.",
];

/// The arguments that matter for timing.
pub(super) fn timing(environment: &Environment) -> String {
    let all = words(&environment.kernel_arguments);
    let matter: Vec<&str> = all.iter().copied().filter(|word| matters(word)).collect();
    match (all.is_empty(), matter.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "none that matters for timing".into(),
        (false, false) => matter.join(" "),
    }
}

/// The whole command lines, for whoever wants them.
pub(super) fn whole(body: &mut Markup, machines: &[(&str, &Environment)]) {
    let with: Vec<_> = machines.iter().filter(|(_, e)| !e.kernel_arguments.is_empty()).collect();
    if with.is_empty() {
        return;
    }
    body.open("details", &[]).leaf("summary", &[], "All kernel arguments");
    for (name, environment) in &with {
        let label = if with.len() > 1 { format!("{name}: ") } else { String::new() };
        body.open("p", &[]).words(&label).leaf("code", &[], &environment.kernel_arguments).close();
    }
    body.close();
}

fn matters(word: &str) -> bool {
    // The kernel takes - and _ as one.
    let key = word.split('=').next().unwrap_or(word).trim_matches('"').replace('-', "_");
    TIMING.iter().any(|name| match name.ends_with('.') {
        true => key.starts_with(name),
        false => key == *name,
    })
}

/// Split at white space outside of quotes.
fn words(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let at_gap = |c: char| {
        quoted ^= c == '"';
        c.is_ascii_whitespace() && !quoted
    };
    line.split(at_gap).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        timing(&Environment { kernel_arguments: line.into(), ..Environment::default() })
    }

    #[test]
    fn only_what_matters_for_timing_is_shown() {
        let line =
            "root=/dev/sda1 isolcpus=2-3 dyndbg=\"file a.c +p idle=poll\" rcu-nocbs=2 intel_idle.max_cstate=0 quiet";
        assert_eq!(shown(line), "isolcpus=2-3 rcu-nocbs=2 intel_idle.max_cstate=0");
        assert_eq!(shown("idle=poll"), "idle=poll");
        assert_eq!(shown("root=/dev/sda1 idlemode=x"), "none that matters for timing");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn the_whole_is_behind_a_fold() {
        let one = Environment { kernel_arguments: "root=<x> quiet".into(), ..Environment::default() };
        let mut body = Markup::default();
        whole(&mut body, &[("a", &one), ("b", &Environment::default())]);
        let text = body.finish();
        assert!(text.starts_with("<details>") && text.contains("<code>root=&lt;x&gt; quiet</code>"), "{text}");
        let mut empty = Markup::default();
        whole(&mut empty, &[("b", &Environment::default())]);
        assert_eq!(empty.finish(), "");
    }
}
