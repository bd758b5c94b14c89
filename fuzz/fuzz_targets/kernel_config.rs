//! A kernel's configuration and its command line.
#![no_main]

use ontick_machine::facts::{Arguments, KernelConfig};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let config = KernelConfig::parse("x", text);
    if let Some(value) = config.get("HZ") {
        assert!(text.contains(value) && !value.contains('\n'));
        assert!(config.has("HZ").is_some());
    }
    let line: Vec<String> = Arguments::parse(text).iter().map(String::from).collect();
    assert_eq!(Arguments::parse(&line.join(" ")).iter().collect::<Vec<_>>(), line);
});
