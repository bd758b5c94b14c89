//! What a sampler sends to `ontick watch`: its binary format and lines of JSON.
#![no_main]

use std::sync::Mutex;

use ontick_watch::signals::heard::{Heard, SPANS_MS};
use ontick_watch::signals::reader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let heard = Mutex::new(Heard::default());
    if let Err(error) = reader::read(bytes, &mut &heard) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let heard = heard.into_inner().unwrap();
    assert!(heard.channels.len() <= 16);
    assert!(heard.rate().is_none_or(|rate| rate.is_finite() && rate >= 0.0));
    for trace in SPANS_MS.iter().filter_map(|ms| heard.trace(*ms)) {
        assert!(trace.samples() <= heard.samples);
        for channel in 0..heard.channels.len() {
            let columns = trace.columns(channel);
            assert!(columns.iter().map(|column| column.0).is_sorted() && columns.iter().all(|column| column.0 < 500));
            assert!(columns.iter().all(|(_, least, largest)| least <= largest || least.is_nan() || largest.is_nan()));
        }
    }
});
