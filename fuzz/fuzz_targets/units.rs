//! Times, rates, and lists and masks of CPUs, as people and the kernel write them.
#![no_main]

use ontick_units::{CpuList, exact, parse_bit_rate, parse_frequency, parse_interval, parse_time, show, show_bit_rate};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(ns) = parse_time(text) {
        assert_eq!(parse_time(&exact(ns)), Ok(ns));
        assert!(!show(ns).is_empty());
    }
    if let Ok(ns) = parse_interval(text) {
        assert_eq!(parse_time(&exact(ns)), Ok(ns));
    }
    if let Ok(hertz) = parse_frequency(text) {
        assert!(hertz.is_finite() && hertz > 0.0);
    }
    if let Ok(bits) = parse_bit_rate(text) {
        assert_eq!(parse_bit_rate(&show_bit_rate(bits)), Ok(bits));
    }
    if let Ok(cpus) = text.parse::<CpuList>() {
        assert_eq!(cpus.to_string().parse().as_ref(), Ok(&cpus));
        assert_eq!(CpuList::from_mask(&cpus.mask()), Ok(cpus));
    }
    let _ = CpuList::from_mask(text);
});
