//! The table of rtla timerlat hist.
#![no_main]

use ontick_record::import::Format;

libfuzzer_sys::fuzz_target!(|text: &str| ontick_fuzz::must_import(text, Some(Format::RtlaTimerlat)));
