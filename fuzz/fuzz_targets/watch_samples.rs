//! What a sampler sends to `ontick watch`: its binary format and lines of JSON.
#![no_main]

use std::sync::Mutex;

use ontick_watch::signals::reader;
use ontick_watch::signals::sampler_state::{SPANS_MS, SamplerState};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let sampler = Mutex::new(SamplerState::default());
    if let Err(error) = reader::read(bytes, &mut &sampler) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let sampler = sampler.into_inner().unwrap();
    assert!(sampler.channels.len() <= 16);
    assert!(sampler.rate().is_none_or(|rate| rate.is_finite() && rate >= 0.0));
    for trace in SPANS_MS.iter().filter_map(|ms| sampler.trace(*ms)) {
        assert!(trace.samples() <= sampler.samples);
        for channel in 0..sampler.channels.len() {
            let columns = trace.columns(channel);
            assert!(columns.iter().map(|column| column.0).is_sorted() && columns.iter().all(|column| column.0 < 500));
            assert!(columns.iter().all(|(_, least, largest)| least <= largest || least.is_nan() || largest.is_nan()));
        }
    }
});
