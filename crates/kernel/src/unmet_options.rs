//! What was asked for and did not come to be. The kernel's tools drop such options without a word.

use ontick_machine::facts::KernelConfig;
use serde::Serialize;

use super::fragment::OptionRequest;
use super::kconfig::Options;
use super::source::Version;

/// An option that was asked for in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnmetOption {
    /// With `CONFIG_`.
    pub name: String,
    /// What was asked for.
    pub asked: String,
    /// What became of it.
    pub actual: String,
    /// Why, in words.
    pub why: String,
}

/// Options that got another name: the old one, the new one, the version with the new one.
const RENAMED: &[(&str, &str, (u32, u32))] = &[
    ("PREEMPT_RT_FULL", "PREEMPT_RT", (5, 3)),
    ("RCU_NOCB_CPU_ALL", "RCU_NOCB_CPU_DEFAULT_ALL", (5, 17)),
    ("GPIO_MOCKUP", "GPIO_SIM", (6, 12)),
    ("DEBUG_LOCK_ALLOC", "PROVE_LOCKING", (4, 0)),
    ("CPU_FREQ_STAT_DETAILS", "CPU_FREQ_STAT", (4, 12)),
];

/// Compares a configuration with what was asked for; `options` is read only if something is missing.
pub fn unmet(
    asked: &[OptionRequest],
    actual: &KernelConfig,
    version: &Version,
    options: impl FnOnce() -> Options,
) -> Vec<UnmetOption> {
    // Some real-time series for 6.12 have PREEMPT_RT beside the other models, as 6.13 does: one of them is on with it.
    let beside = |asked: &OptionRequest| asked.name == "PREEMPT" && actual.has("PREEMPT_RT") == Some(true);
    let concerns =
        |asked: &&OptionRequest| asked.given.is_none_or(|given| actual.has(given) == Some(true)) && !beside(asked);
    let lost: Vec<&OptionRequest> =
        asked.iter().filter(concerns).filter(|one| !one.fits(actual.get(&one.name))).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let options = options();
    let unmet = |asked: &OptionRequest| UnmetOption {
        name: format!("CONFIG_{}", asked.name),
        asked: asked.value.clone().unwrap_or_else(|| "not set".into()),
        actual: actual.get(&asked.name).unwrap_or("not set").into(),
        why: why(asked, actual, version, &options),
    };
    lost.into_iter().map(unmet).collect()
}

fn why(asked: &OptionRequest, actual: &KernelConfig, version: &Version, options: &Options) -> String {
    let name = &asked.name;
    if !options.has(name) {
        return absent(name, version, options);
    }
    let selected = options.selected_by(name, actual);
    if !selected.is_empty() && actual.get(name).is_some() {
        return format!("{} turns it on", listed(&selected));
    }
    let unmet = options.unmet(name, actual);
    if name == "PREEMPT_RT" && actual.get("ARCH_SUPPORTS_RT").is_none() {
        return needs_series(version, &unmet);
    }
    if !unmet.is_empty() {
        return format!("depends on {}", unmet.join(", and on "));
    }
    if asked.value.as_deref() == Some("m") && options.is_yes_or_no(name) {
        return "it is y or not set, never a module".into();
    }
    match options.chosen_instead(name, actual) {
        Some(other) => return format!("{other} was chosen instead"),
        None if options.in_choice(name) => return "one of its choice has to be on, and no other could be".into(),
        None => {}
    }
    if !options.has_prompt(name) {
        let by = options.selectors(name);
        return match by.is_empty() {
            true => "it cannot be set: it follows from other options".into(),
            false => format!("it cannot be set, only {} can turn it on", listed(&by)),
        };
    }
    match actual.get(name) {
        Some("m") => "it became a module, since something that it depends on is one".into(),
        Some(_) => "the kernel's tools gave it another value".into(),
        None => "the kernel's tools dropped it, and its Kconfig does not say why".into(),
    }
}

fn absent(name: &str, version: &Version, options: &Options) -> String {
    let renamed = RENAMED.iter().find(|(old, new, _)| *old == name && options.has(new));
    let former = RENAMED.iter().find(|(old, new, _)| *new == name && options.has(old));
    match (renamed.or(former), name) {
        (Some((old, new, since)), _) => {
            let right = if *old == name { new } else { old };
            format!("this tree calls it CONFIG_{right} (it was renamed in {}.{})", since.0, since.1)
        }
        (None, "PREEMPT_RT") => format!("linux {version} does not have it: it needs the real-time series"),
        _ => format!("linux {version} has no such option: it is misspelt, gone, or comes with a vendor's patches"),
    }
}

fn needs_series(version: &Version, unmet: &[String]) -> String {
    let depends = if unmet.is_empty() { String::new() } else { format!(" (depends on {})", unmet.join(", and on ")) };
    format!("linux {version} cannot be real-time on this architecture without the real-time series{depends}")
}

fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::parse;

    const TREE: &str = "config EXPERT\n\tbool \"x\"\nconfig ARCH_SUPPORTS_RT\n\tbool\n\
        config PREEMPT_RT\n\tbool \"rt\"\n\tdepends on EXPERT && ARCH_SUPPORTS_RT\n\
        config NOCB\n\tbool \"n\"\n\tdepends on TREE_RCU\nconfig USER\n\tbool \"u\"\n\tselect HELPER\n\
        config HELPER\n\tbool\nconfig GPIO_SIM\n\ttristate \"s\"\nchoice\n\tprompt \"c\"\n\
        config ONE\n\tbool \"1\"\nconfig TWO\n\tbool \"2\"\nendchoice\n";

    fn why(asked: &str, got: &str) -> String {
        let version = Version { major: 6, minor: 1, patch: 9, extra: String::new() };
        let asked = parse(asked).unwrap();
        let got = KernelConfig::parse("x", got);
        let found = unmet(&asked, &got, &version, || Options::parse(TREE));
        found.iter().map(|one| format!("{}: {}", one.name, one.why)).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn each_loss_has_its_reason() {
        assert_eq!(why("CONFIG_NOCB=y", ""), "CONFIG_NOCB: depends on TREE_RCU, which is not set");
        assert_eq!(
            why("CONFIG_PREEMPT_RT=y", "CONFIG_EXPERT=y\n"),
            "CONFIG_PREEMPT_RT: linux 6.1.9 cannot be real-time on this architecture without the real-time series \
             (depends on ARCH_SUPPORTS_RT, which is not set)"
        );
        assert_eq!(
            why("# CONFIG_HELPER is not set", "CONFIG_USER=y\nCONFIG_HELPER=y\n"),
            "CONFIG_HELPER: USER turns it on"
        );
        assert_eq!(why("CONFIG_HELPER=y", ""), "CONFIG_HELPER: it cannot be set, only USER can turn it on");
        assert!(why("CONFIG_GPIO_MOCKUP=m", "").contains("this tree calls it CONFIG_GPIO_SIM"));
        assert!(why("CONFIG_MISSPELT=y", "").contains("has no such option"));
        assert_eq!(why("CONFIG_TWO=y", "CONFIG_ONE=y\n"), "CONFIG_TWO: ONE was chosen instead");
        assert_eq!(
            why("# CONFIG_TWO is not set", "CONFIG_TWO=y\n"),
            "CONFIG_TWO: one of its choice has to be on, and no other could be"
        );
        assert_eq!(why("CONFIG_USER=m", ""), "CONFIG_USER: it is y or not set, never a module");
        assert!(why("CONFIG_GPIO_SIM=y", "CONFIG_GPIO_SIM=m\n").contains("a module"));
    }

    #[test]
    fn what_came_to_be_is_not_missing() {
        assert_eq!(why("CONFIG_NOCB=m\n# CONFIG_X is not set\n", "CONFIG_NOCB=y\n"), "");
    }

    #[test]
    fn another_model_may_stay_where_full_preemption_does_not_replace_it() {
        let off = "# CONFIG_PREEMPT is not set\n";
        assert_eq!(why(off, "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT=y\n"), "");
        assert_ne!(why(off, "CONFIG_PREEMPT=y\n"), "");
    }
}
