//! A recording of samples: the binary format and Arrow.
#![no_main]

use ontick_acquire::format::{Binary, Encode, Entry};
use ontick_acquire::recording::read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut recording = match read(bytes) {
        Ok(recording) => recording,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let binary = Binary::new(recording.channels());
    let (mut written, mut first) = (Vec::new(), Vec::new());
    binary.begin(&mut written);
    while let Ok(Some(entry)) = recording.next() {
        match entry {
            // This number marks a gap in the binary format; no run lasts until it.
            Entry::Sample(sample) if sample.number == u64::MAX => return,
            Entry::Sample(sample) => binary.sample(&sample, &mut written),
            Entry::Gap(gap) => binary.gap(gap, &mut written),
        }
        first.push(format!("{entry:?}"));
    }
    // A channel without a finite scale has none in JSON, and no run has one.
    let Ok(mut again) = read(&written[..]) else { return };
    let mut second = Vec::new();
    while let Some(entry) = again.next().expect("what was written is whole") {
        second.push(format!("{entry:?}"));
    }
    assert_eq!(first, second);
});
