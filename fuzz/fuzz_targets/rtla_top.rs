//! The tables of rtla timerlat top and rtla osnoise top.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ontick_fuzz::must_import(text, Some("rtla-top")));
