//! An ontick record.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(run) = ontick_record::store::parse(text) {
        ontick_fuzz::must_be_sound(&run);
    }
});
