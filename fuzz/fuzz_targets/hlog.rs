//! HdrHistogram's log.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ontick_fuzz::must_import(text, Some("hlog")));
