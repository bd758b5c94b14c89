//! Whether a configuration is fit for real time: each option of the table against it, worst first.

use ontick_machine::facts::KernelConfig;
use ontick_record::{Finding, Severity};

use super::options::{Arch, KernelOption, OPTIONS, Want};

/// Judges a configuration; `version` where the configuration itself does not tell the kernel's.
pub fn check(config: &KernelConfig, version: Option<(u32, u32)>) -> Vec<Finding> {
    let (arch, version) = (Arch::of(config), config.version().or(version));
    let concerns = |option: &&KernelOption| {
        option.exists(arch, version) && option.given.is_none_or(|given| config.has(given) == Some(true))
    };
    let mut found: Vec<Finding> = OPTIONS.iter().filter(concerns).map(|option| finding(option, config)).collect();
    // Stable: what is equally bad stays in the order of the table.
    found.sort_by_key(|f| f.severity);
    found
}

fn finding(option: &KernelOption, config: &KernelConfig) -> Finding {
    let former = option.formerly.filter(|former| config.get(option.name).is_none() && config.get(former).is_some());
    let name = former.unwrap_or(option.name);
    let value = config.get(name);
    let fits = option.want.fits(value);
    Finding {
        id: format!("CONFIG_{name}"),
        severity: if fits { Severity::Ok } else { option.otherwise },
        observed: value.unwrap_or("not set").into(),
        should: if fits { String::new() } else { option.want.in_words() },
        why: option.why.into(),
        source: option.source.into(),
        ..Finding::default()
    }
}

impl Want {
    /// Whether a value is what is wanted; `None` for an option that is not set.
    pub fn fits(self, value: Option<&str>) -> bool {
        match self {
            Want::BuiltIn => value == Some("y"),
            Want::On => matches!(value, Some("y" | "m")),
            Want::Off => matches!(value, None | Some("n")),
            Want::AtLeast(least) => value.and_then(|v| v.parse().ok()).is_some_and(|value: u32| value >= least),
        }
    }

    /// As a person reads it.
    pub fn in_words(self) -> String {
        match self {
            Want::BuiltIn => "y".into(),
            Want::On => "y or m".into(),
            Want::Off => "not set".into(),
            Want::AtLeast(least) => format!("{least} or more"),
        }
    }
}

impl Arch {
    /// The processors that a configuration is for, where that is known here.
    pub fn of(config: &KernelConfig) -> Option<Self> {
        let on = |name| config.get(name) == Some("y");
        let named = [("X86", Arch::X86), ("ARM64", Arch::Arm64), ("ARM", Arch::Arm)];
        named.into_iter().find(|(name, _)| on(name)).map(|(_, arch)| arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIT: &str = "# Linux/arm64 6.12.95 Kernel Configuration\nCONFIG_ARM64=y\nCONFIG_PREEMPT_RT=y\n\
        CONFIG_HIGH_RES_TIMERS=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n\
        CONFIG_CPUSETS=y\nCONFIG_RCU_BOOST=y\nCONFIG_HZ=250\nCONFIG_OSNOISE_TRACER=y\nCONFIG_TIMERLAT_TRACER=y\n\
        CONFIG_GPIO_CDEV=y\nCONFIG_NET_SCH_TAPRIO=m\nCONFIG_NET_SCH_ETF=m\nCONFIG_PTP_1588_CLOCK=y\n";

    fn severity(text: &str, name: &str) -> Option<Severity> {
        let found = check(&KernelConfig::parse("x", text), None);
        found.iter().find(|f| f.id == format!("CONFIG_{name}")).map(|f| f.severity)
    }

    #[test]
    fn a_fit_configuration_has_no_findings_but_good_ones() {
        let found = check(&KernelConfig::parse("x", FIT), None);
        assert!(found.iter().all(|f| f.severity == Severity::Ok), "{found:?}");
    }

    #[test]
    fn each_option_that_is_not_as_it_should_be_is_found() {
        let config = KernelConfig::parse("x", FIT);
        for option in OPTIONS.iter().filter(|o| o.exists(Some(Arch::Arm64), Some((6, 12))) && o.given.is_none()) {
            let without: String =
                FIT.lines().filter(|l| !l.contains(&format!("_{}=", option.name))).map(|l| format!("{l}\n")).collect();
            let text = match option.want {
                Want::Off => format!("{without}CONFIG_{}=y\n", option.name),
                _ => without,
            };
            assert_eq!(severity(&text, option.name), Some(option.otherwise), "{}", option.name);
            assert!(option.want.fits(config.get(option.name)), "{}", option.name);
        }
    }

    #[test]
    fn what_a_kernel_does_not_have_is_not_asked_of_it() {
        let old = FIT.replace("6.12.95", "4.19.0").replace("PREEMPT_RT=", "PREEMPT_RT_FULL=");
        assert_eq!(severity(&old, "PREEMPT_RT_FULL"), Some(Severity::Ok));
        assert_eq!(severity(&old, "OSNOISE_TRACER"), None);
        assert_eq!(severity(&format!("{FIT}CONFIG_KMSAN=y\n"), "KMSAN"), None);
        assert_eq!(severity(FIT, "CPU_FREQ_GOV_PERFORMANCE"), None);
        assert_eq!(severity(&format!("{FIT}CONFIG_CPU_FREQ=y\n"), "CPU_FREQ_GOV_PERFORMANCE"), Some(Severity::Warn));
    }
}
