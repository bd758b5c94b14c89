//! A file of which it is not known who wrote it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ontick_fuzz::must_import(text, None));
