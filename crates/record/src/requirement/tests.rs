use super::*;
use proptest::prelude::*;

fn series(name: &str, latencies: &[u64], missed: u64) -> Series {
    let mut s = Series { name: name.into(), missed, ..Series::default() };
    latencies.iter().for_each(|l| s.latency.add(*l, 1, 1));
    s
}

fn ours() -> Run {
    Run::new("ontick", "timer")
}

fn met(requirement: &str, s: &Series) -> bool {
    requirement.parse::<Requirement>().unwrap().judge(&ours(), [s]).met
}

#[test]
fn each_form_can_be_met_and_not_met() {
    let mut s = series("s", &[1_000, 2_000, 2_500, 3_000], 2);
    s.settings.outlier_threshold_ns = 100_000;
    for (requirement, expected) in [
        // Three, and with the limit four, of six cycles.
        ("50% < 3us", true),
        ("50.1% < 3us", false),
        ("66% <= 3us", true),
        ("67% <= 3us", false),
        ("max < 3us", false),
        ("max <= 3us", true),
        ("p50 < 2001ns", true),
        ("p50<2us", false),
        ("missed = 2", true),
        ("missed = 0", false),
        ("missed < 3", true),
        ("outliers = 0", true),
        ("p100 ≤ 3us", true),
    ] {
        assert_eq!(met(requirement, &s), expected, "{requirement}");
    }
}

#[test]
fn shares_are_compared_as_counts() {
    for percent in 1..=100u64 {
        let mut s = series("s", &[], 0);
        s.latency.add(1_000, 1, percent);
        s.latency.add(9_000, 1, 100 - percent);
        assert!(met(&format!("{percent}% < 3us"), &s), "{percent} of 100");
        assert!(percent == 100 || !met(&format!("{percent}.001% < 3us"), &s), "{percent} of 100");
    }
    let mut s = series("s", &[], 0);
    s.latency.add(1_000, 1, (1 << 60) - 1);
    s.latency.add(9_000, 1, 1);
    let judged = "100% < 3us".parse::<Requirement>().unwrap().judge(&ours(), [&s]);
    assert_eq!((judged.met, judged.observed.as_str()), (false, "99.9999% < 3us"));
}

#[test]
fn what_a_summary_does_not_tell_is_unknown() {
    let mut s = series("s", &[], 0);
    s.latency.overflow = 1000;
    (s.latency.max_ns, s.latency.mean_ns) = (Some(9_000), Some(f64::NAN));
    for requirement in ["99% < 3us", "p99 < 3us", "mean < 20us"] {
        let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&s]);
        assert!(!judged.met && judged.observed.ends_with("unknown"), "{}", judged.observed);
    }
    for requirement in ["99% < 10us", "100% <= 9us", "p99 < 10us", "max < 10us"] {
        assert!(met(requirement, &s), "{requirement}");
    }
}

#[test]
fn no_gap_at_all_is_within_every_limit_from_the_shortest_on() {
    let mut gaps = series("gaps", &[], 0);
    gaps.settings.shortest_ns = Some(50_000_000);
    let noise = Run::new("ontick", Measurement::Noise);
    let judged = |run: &Run, requirement: &str| requirement.parse::<Requirement>().unwrap().judge(run, [&gaps]);
    for requirement in ["max < 100ms", "max < 50ms", "p99.9 <= 50ms"] {
        let judged = judged(&noise, requirement);
        assert!(judged.met && judged.observed == "no gap of 50ms or more", "{requirement}: {}", judged.observed);
    }
    for requirement in ["max < 49ms", "mean < 100ms", "99% < 100ms"] {
        let judged = judged(&noise, requirement);
        assert!(!judged.met && judged.observed == "no samples", "{requirement}: {}", judged.observed);
    }
    for (watched_ns, met) in [(1, true), (0, false)] {
        let mut gaps = gaps.clone();
        gaps.settings.watched_ns = Some(watched_ns);
        let judged = "max < 100ms".parse::<Requirement>().unwrap().judge(&noise, [&gaps]);
        assert_eq!(judged.met, met, "{watched_ns}: {}", judged.observed);
    }
    assert!(!judged(&ours(), "max < 100ms").met, "a job that never ran was never in time");
}

#[test]
fn outliers_without_a_threshold_are_unknown() {
    let mut s = series("s", &[9_000_000], 0);
    for requirement in ["outliers = 0", "outliers < 3", "outliers <= 0"] {
        let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&s]);
        assert!(!judged.met && judged.observed.starts_with("outliers unknown"), "{}", judged.observed);
    }
    (s.settings.outlier_threshold_ns, s.outlier_count) = (100_000, 1);
    assert!(!met("outliers = 0", &s) && met("outliers < 3", &s));
}

#[test]
fn cycles_that_nobody_counted_are_not_none() {
    let counted: Requirement = "missed = 0".parse().unwrap();
    let judged = counted.judge(&Run::new("cyclictest 2.5", "timer"), [&series("T0", &[1_000], 0)]);
    assert!(!judged.met);
    assert_eq!(judged.observed, "missed unknown: cyclictest 2.5 does not count them");
}

#[test]
fn beside_a_load_that_ended_too_soon_nothing_is_met() {
    let (idle, mut loaded) = (series("idle", &[2_000], 0), series("loaded", &[1_000], 0));
    loaded.settings.load_ended = true;
    let judged = |requirement: &str| {
        let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&idle, &loaded]);
        (judged.met, judged.unproven, judged.series, judged.observed)
    };
    let (met, unproven, series, observed) = judged("max < 3us");
    assert_eq!((met, unproven, series.as_str()), (false, true, "loaded"));
    assert!(observed.ends_with(", but the load was not there to the end"), "{observed}");
    let (met, unproven, series, _) = judged("max < 1500ns");
    assert_eq!((met, unproven, series.as_str()), (false, false, "idle"), "what is broken is broken");
}

/// What was measured until then is judged; of the rest nobody can tell.
#[test]
fn what_an_interrupted_run_did_not_come_to_is_neither_met_nor_broken() {
    let cut = Run { interrupted: true, ..ours() };
    let judged = |run: &Run, all: &[Series]| {
        let judged = "max < 3us".parse::<Requirement>().unwrap().judge(run, all);
        (judged.met, judged.unproven, judged.observed)
    };
    let (in_time, late) = (series("a", &[2_000], 0), series("b", &[9_000], 0));
    let (not_begun, all_missed) = (series("c", &[], 0), series("d", &[], 7));
    let begun = |series: &Series| judged(&cut, std::slice::from_ref(series));
    assert_eq!(begun(&in_time), (true, false, "max 2.00us".into()));
    assert_eq!(begun(&not_begun), (false, true, "no samples, as the run was cut short".into()));
    assert_eq!(begun(&all_missed), (false, false, "no samples".into()));
    let (met, unproven, observed) = judged(&cut, &[]);
    assert!(!met && unproven && observed.contains("was not measured, as the run was cut short"), "{observed}");
    // What is broken is broken.
    assert_eq!(judged(&cut, &[late, not_begun.clone()]), (false, false, "max 9.00us".into()));
    assert_eq!(
        judged(&cut, &[in_time, not_begun.clone()]),
        (false, true, "no samples, as the run was cut short".into())
    );
    assert_eq!(judged(&ours(), &[not_begun]), (false, false, "no samples".into()));
    assert_eq!(judged(&ours(), &[]), (false, false, "nothing was measured".into()));
}

#[test]
fn a_missed_cycle_was_not_in_time() {
    let stalled = series("s", &[1_000; 99], 1);
    assert!(met("99% < 3us", &stalled) && !met("99.1% < 3us", &stalled) && met("max < 3us", &stalled));
    let early = Series { early: 1, ..series("s", &[0; 100], 0) };
    assert!(met("99% < 3us", &early) && !met("100% < 3us", &early));
}

#[test]
fn what_was_seen_does_not_contradict_the_verdict() {
    let seen = |requirement: &str, ns| {
        let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&series("s", &[ns], 0)]);
        (judged.met, judged.observed)
    };
    assert_eq!(seen("max < 1ms", 1_000_400), (false, format!("max {}", exact(1_000_400))));
    assert_eq!(seen("max < 1ms", 999_999), (true, format!("max {}", exact(999_999))));
    assert_eq!(seen("max < 1ms", 1_000_000), (false, format!("max {}", show(1_000_000))));
    assert_eq!(seen("max < 1ms", 41_234), (true, format!("max {}", show(41_234))));

    let share = |requirement: &str, below| {
        let mut s = series("s", &[], 0);
        s.latency.add(1_000, 1, below);
        s.latency.add(9_000, 1, 10_000_000 - below);
        let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&s]);
        (judged.met, judged.observed)
    };
    assert_eq!(share("99.99995% < 3us", 9_999_995), (true, "99.99995% < 3us".into()));
    assert_eq!(share("99.99995% < 3us", 9_999_994), (false, "99.99994% < 3us".into()));
    assert_eq!(share("99.9% < 3us", 9_990_000), (true, "99.9000% < 3us".into()));
    assert_eq!(share("100% < 3us", 9_999_999), (false, "99.9999% < 3us".into()));
}

#[test]
fn a_mean_between_two_nanoseconds_is_on_the_side_of_the_limit_where_it_is() {
    let mut s = series("s", &[2_999, 3_000], 0);
    for (mean, less, at_most) in [(2_999.3, true, true), (3_000.0, false, true), (3_000.2, false, false)] {
        (s.latency.mean_ns, s.latency.std_dev_ns) = (Some(mean), Some(mean));
        for what in ["mean", "stddev"] {
            assert_eq!(met(&format!("{what} < 3us"), &s), less, "{mean}");
            assert_eq!(met(&format!("{what} <= 3us"), &s), at_most, "{mean}");
        }
    }
}

#[test]
fn a_deviation_is_as_large_as_buckets_allow() {
    // All at 1 and 999 ns, or all at 500 ns.
    let mut s = series("s", &[], 0);
    s.latency.add(0, 1_000, 100);
    assert!(!met("stddev < 400ns", &s) && met("stddev <= 500ns", &s));
    let judged = "stddev < 400ns".parse::<Requirement>().unwrap().judge(&ours(), [&s]);
    assert_eq!(judged.observed, format!("stddev at most {}", show(500)));
    s.latency.std_dev_ns = Some(12.0);
    assert!(met("stddev < 400ns", &s));
}

#[test]
fn the_worst_series_decides() {
    let (good, bad) = (series("good", &[1], 0), series("bad", &[9_000_000], 0));
    let judged = "max < 1ms".parse::<Requirement>().unwrap().judge(&ours(), [&good, &bad]);
    assert_eq!((judged.series.as_str(), judged.met), ("bad", false));
}

#[test]
fn nothing_measured_meets_nothing() {
    assert!(!met("max < 1h", &series("empty", &[], 0)));
    assert!(!"missed = 0".parse::<Requirement>().unwrap().judge(&ours(), []).met);
}

#[test]
fn nonsense_is_explained() {
    for (text, word) in [
        ("fast please", "it has no"),
        ("99% < 3", "unit"),
        ("max < -1us", "not a time"),
        ("101% < 3us", "up to 100"),
        ("missed = some", "whole number"),
        ("max = 3us", "compared with"),
        ("p99 < 0us", "nothing is less"),
        ("max < 0.0000001ns", "is below 1 ns"),
        ("std < 1us", "mean, stddev, missed"),
        ("most < 3us", "most"),
    ] {
        let error = text.parse::<Requirement>().unwrap_err().to_string();
        assert!(error.contains(word) || error.contains("unknown unit"), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn shown_as_it_reads(text in "(99(\\.[0-9]{1,3})?%|p[1-9][0-9]?|max|mean) (<|<=) [1-9][0-9]{0,5}(ns|us|ms|s)") {
        let r: Requirement = text.parse().unwrap();
        prop_assert_eq!(r.to_string().parse::<Requirement>().unwrap(), r);
    }

    #[test]
    fn any_text_is_answered(text in "[a-z0-9.%<=≤ ]{0,24}") {
        let _ = text.parse::<Requirement>();
    }
}
