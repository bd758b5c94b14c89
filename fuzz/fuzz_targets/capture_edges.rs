//! A capture of a logic analyser, of which the edges are kept and held against a program's.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ontick_fuzz::must_keep_edges(bytes));
