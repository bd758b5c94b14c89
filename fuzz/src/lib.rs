//! What must hold of every run that was read, from wherever.

use ontick_record::import::{self, Format};
use ontick_record::{Run, compare, store};

/// It can be asked for anything, compared, and written and read without loss.
pub fn must_be_sound(run: &Run) {
    for series in &run.series {
        let latency = &series.latency;
        let percentiles: Vec<_> = [0.0, 0.5, 0.999, 1.0].into_iter().filter_map(|q| latency.quantile(q)).collect();
        assert!(percentiles.is_sorted(), "{percentiles:?} of {}", series.name);
        assert!(latency.below(3_000) <= latency.count());
        for requirement in ["99.9% < 3us", "p99 < 20us", "max <= 1ms", "mean < 1s", "missed = 0"] {
            requirement.parse::<ontick_record::Requirement>().unwrap().judge(&run.series);
        }
        let mut twice = latency.clone();
        twice.merge(latency);
        assert_eq!(twice.count(), latency.count().saturating_mul(2));
    }
    let compared = compare::compare(run, run);
    assert!(compared.only_before.is_empty() && compared.only_after.is_empty());
    assert_eq!(store::parse(&store::text(run)).as_ref(), Ok(run));
}

/// Reads a text as a tool's output.
pub fn must_import(text: &str, format: Option<Format>) {
    match import::read(text, "file", format) {
        Ok(run) => must_be_sound(&run),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
