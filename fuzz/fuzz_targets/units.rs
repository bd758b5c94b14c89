//! Times and rates as people write them.
#![no_main]

use ontick_record::units::{exact, parse_interval, parse_time, show};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(ns) = parse_time(text) {
        assert_eq!(parse_time(&exact(ns)), Ok(ns));
        assert!(!show(ns).is_empty());
    }
    if let Ok(ns) = parse_interval(text) {
        assert_eq!(parse_time(&exact(ns)), Ok(ns));
    }
});
