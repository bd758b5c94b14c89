//! cyclictest's text and JSON.
#![no_main]

use ontick_record::import::Format;

libfuzzer_sys::fuzz_target!(|text: &str| ontick_fuzz::must_import(text, Some(Format::Cyclictest)));
