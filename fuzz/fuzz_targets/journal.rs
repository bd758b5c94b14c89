//! The journal of a run that was killed.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(run) = ontick_record::journal::recover(text) {
        ontick_fuzz::must_be_sound(&run);
    }
});
