//! What tells of kernels' sources and packages: Kconfig, pieces of configuration, versions, names of patches, apt's answers.
#![no_main]

use ontick_kernel::kconfig::{Expression, Options};
use ontick_kernel::source::Version;
use ontick_kernel::{fragment, packages, rt_patches};
use ontick_machine::facts::KernelConfig;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let config = KernelConfig::parse("x", text);
    let options = Options::parse(text);
    for name in ["A", "PREEMPT_RT"] {
        assert!(options.has(name) || options.unmet(name, &config).is_empty());
        let _ = (options.selected_by(name, &config), options.chosen_instead(name, &config));
    }
    let condition = Expression::parse(text);
    let _ = (condition.value(&config), condition.to_string());
    if let Ok(asked) = fragment::parse(text) {
        // What is laid over a configuration is there afterwards, and a second time changes nothing.
        let asked = fragment::last_wins(asked);
        let merged = fragment::merged(text, &asked);
        assert_eq!(fragment::merged(&merged, &asked), merged);
        assert_eq!(fragment::parse(&asked.iter().map(|one| one.line() + "\n").collect::<String>()), Ok(asked));
    }
    let _ = (Version::parse(text), rt_patches::real_time_version(text), packages::read_policy(text));
});
