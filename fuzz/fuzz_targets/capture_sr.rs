//! A capture of a logic analyser: a session of sigrok.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ontick_fuzz::must_measure(bytes, "sr"));
