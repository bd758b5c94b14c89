//! A kernel's configuration, its command line, and lists and masks of CPUs.
#![no_main]

use ontick_machine::CpuList;
use ontick_machine::facts::{Arguments, KernelConfig};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let config = KernelConfig::parse("x", text);
    if let Some(value) = config.get("HZ") {
        assert!(text.contains(value) && !value.contains('\n'));
        assert!(config.has("HZ").is_some());
    }
    let line: Vec<String> = Arguments::parse(text).iter().map(String::from).collect();
    assert_eq!(Arguments::parse(&line.join(" ")).iter().collect::<Vec<_>>(), line);
    if let Ok(cpus) = text.parse::<CpuList>() {
        assert_eq!(cpus.to_string().parse().as_ref(), Ok(&cpus));
        assert_eq!(CpuList::from_mask(&cpus.mask()), Ok(cpus));
    }
    let _ = CpuList::from_mask(text);
});
