//! A capture of a logic analyser: a table of levels.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ontick_fuzz::must_measure(bytes, "csv"));
