//! `--source`, `--to` and `--trigger`.
#![no_main]

use ontick_acquire::sink::Sink;
use ontick_acquire::{Trigger, source};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let source = source::check(text).err().map(|error| error.to_string());
    let sink = text.parse::<Sink>().err().map(|error| error.to_string());
    for error in [source, sink].into_iter().flatten() {
        assert!(error.contains(text), "{error}");
    }
    let _ = Trigger::edge(text);
});
