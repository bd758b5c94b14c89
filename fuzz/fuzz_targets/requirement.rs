//! What a user requires of a run.
#![no_main]

use ontick_record::{Requirement, Run, Series};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(requirement) = text.parse::<Requirement>() else { return };
    assert_eq!(requirement.to_string().parse::<Requirement>().as_ref(), Ok(&requirement));
    let mut series = Series::default();
    series.latency.add(2_500, 1, 99);
    series.latency.add(5_000, 16, 1);
    requirement.judge(&Run::new("ontick", "timer"), [&series]);
});
