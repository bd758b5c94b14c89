//! Percentiles, means and deviations of histograms, and their sums.

use super::*;
use proptest::prelude::*;

fn of(values: &[u64]) -> Histogram {
    let mut h = Histogram::default();
    values.iter().for_each(|v| h.add(*v, 1, 1));
    h
}

#[test]
fn empty_has_no_percentile() {
    let h = Histogram::default();
    assert_eq!((h.quantile(0.5), h.count(), h.below(3_000)), (None, 0, 0));
}

/// A record may state a maximum of no samples.
#[test]
fn buckets_without_samples_have_no_percentile() {
    let h: Histogram = serde_json::from_str(r#"{"max_ns":95,"buckets":[[3,1,0]]}"#).unwrap();
    assert!(h.is_empty());
    for q in [0.0, 0.5, 1.0] {
        assert_eq!(h.quantile(q), None, "{q}");
    }
}

#[test]
fn a_percentile_beyond_the_last_bucket_is_the_maximum_or_unknown() {
    let mut h = of(&[10; 98]);
    h.overflow = 2;
    h.max_ns = None;
    assert_eq!(h.quantile(0.99), None);
    h.max_ns = Some(5_000);
    assert_eq!(h.quantile(0.99), Some(5_000));
    assert_eq!(h.count(), 100);
}

#[test]
fn a_summary_knows_its_maximum_but_no_percentile() {
    let h = Histogram { overflow: 1000, min_ns: Some(3), max_ns: Some(95), mean_ns: Some(5.0), ..Histogram::default() };
    assert_eq!((h.quantile(0.5), h.quantile(0.999), h.quantile(1.0)), (None, None, Some(95)));
    assert_eq!((h.below(95), h.below(96)), (0, 1000));
}

#[test]
fn a_quantile_is_held_by_a_bucket_or_is_the_maximum() {
    let mut h = of(&[10; 98]);
    (h.overflow, h.max_ns) = (2, Some(5_000));
    assert_eq!([0.5, 0.98, 0.99, 1.0].map(|q| h.holds_quantile(q)), [true, true, false, true]);
    h.max_ns = None;
    assert!(!h.holds_quantile(1.0) && !Histogram::default().holds_quantile(0.5));
}

#[test]
fn a_quantile_lies_within_its_bucket() {
    let mut h = Histogram::default();
    h.add(100, 8, 50);
    h.add(200, 8, 49);
    h.add(300, 8, 1);
    h.max_ns = Some(303);
    assert_eq!([0.5, 0.99, 1.0].map(|q| h.bucket_of_quantile(q)), [Some((100, 107)), Some((200, 207)), None]);
    h.min_ns = Some(103);
    assert_eq!(h.bucket_of_quantile(0.5), Some((103, 107)));
    assert_eq!(Histogram::default().bucket_of_quantile(0.5), None);
}

#[test]
fn ranks_are_not_moved_by_rounding() {
    let hundred = of(&(1..=100).collect::<Vec<_>>());
    for percent in 1..=100u64 {
        assert_eq!(hundred.quantile(percent as f64 / 100.0), Some(percent));
    }
    let thousand = of(&(1..=1000).collect::<Vec<_>>());
    // As a requirement writes it: 99.9 / 100 is 0.9990000000000001.
    assert_eq!(thousand.quantile(99.9 / 100.0), Some(999));
}

#[test]
fn percentiles_rise_where_buckets_overlap() {
    let mut fine = of(&[15_000, 16_000]);
    let coarse = Histogram::from_buckets([Bucket { low_ns: 14_000, width_ns: 500_000, count: 1 }]);
    fine.merge(&coarse);
    assert_eq!([0.3, 0.6, 0.9].map(|q| fine.quantile(q)), [Some(15_000), Some(16_000), Some(513_999)]);
    // The smallest of them may be the coarse one.
    assert_eq!(fine.bucket_of_quantile(0.3), Some((14_000, 15_000)));
    assert_eq!(fine.bucket_of_quantile(0.6), Some((15_000, 16_000)));
}

#[test]
fn more_samples_than_a_float_can_count() {
    let mut h = Histogram::default();
    h.add(1, 1, (1 << 60) - 1);
    h.add(7, 1, 1);
    assert_eq!((h.quantile(1.0), h.quantile(0.5)), (Some(7), Some(1)));
}

#[test]
fn a_maximum_that_one_side_does_not_know_stays_unknown() {
    let mut h = of(&[10]);
    let mut overflown = of(&[20]);
    (overflown.overflow, overflown.max_ns) = (1, None);
    h.merge(&overflown);
    assert_eq!((h.min_ns, h.max_ns, h.count()), (Some(10), None, 3));
    h.add(30, 1, 1);
    assert_eq!((h.max_ns, h.quantile(1.0)), (None, None));
    let mut empty = Histogram::default();
    empty.merge(&h);
    assert_eq!(empty, h);
}

#[test]
fn samples_beyond_the_extremes_are_unsound() {
    let of = |text: &str| serde_json::from_str::<Histogram>(text).unwrap().check();
    assert_eq!(of(r#"{"max_ns":100,"buckets":[[9000000,1,5000]]}"#), Err(HistogramError::Extremes));
    assert_eq!(of(r#"{"min_ns":9000000,"max_ns":9000000,"buckets":[[7,1,1]]}"#), Err(HistogramError::Extremes));
    // The extremes lie within their buckets, or beside them by rounding.
    assert_eq!(of(r#"{"min_ns":1100,"max_ns":2010,"buckets":[[1000,128,1],[2000,128,1]]}"#), Ok(()));
    assert_eq!(of(r#"{"min_ns":1130,"max_ns":1999,"buckets":[[1000,128,1],[2000,128,1]]}"#), Ok(()));
    assert_eq!(of(r#"{"max_ns":95,"buckets":[[9000000,1,0]]}"#), Ok(()));
}

#[test]
fn adding_after_the_mean_was_set_forgets_it() {
    let mut h = of(&[10]);
    (h.mean_ns, h.std_dev_ns) = (Some(10.0), Some(0.0));
    h.add(20, 1, 1);
    assert_eq!((h.mean_ns, h.std_dev_ns), (None, None));
}

#[test]
fn a_straddling_bucket_is_not_below() {
    let mut h = Histogram::default();
    h.add(2_992, 16, 5);
    assert_eq!((h.below(3_000), h.below(3_007), h.below(3_008)), (0, 0, 5));
}

#[test]
fn means_are_weighed_by_their_samples() {
    let with = |count, mean_ns| {
        let mut h = Histogram::default();
        h.add(10, 1, count);
        h.mean_ns = Some(mean_ns);
        h
    };
    let mut sum = with(1, 2.0);
    sum.merge(&with(3, 10.0));
    assert_eq!((sum.mean_ns, sum.mean()), (Some(8.0), Some(8.0)));
    // Where none is known, each sample counts as its bucket's upper edge.
    let mut edges = of(&[5]);
    edges.add(8, 4, 3);
    assert_eq!((edges.mean_ns, edges.mean()), (None, Some((5.0 + 3.0 * 11.0) / 4.0)));
    assert_eq!(Histogram::default().mean(), None);
}

#[test]
fn a_deviation_out_of_buckets_states_their_resolution() {
    let us = |us: u64, count| Bucket { low_ns: us * 1_000, width_ns: 1_000, count };
    let mut rows = Histogram::from_buckets([us(2, 1), us(4, 3), us(5, 2), us(7, 1), us(9, 1)]);
    assert_eq!(rows.deviation(), Some(Deviation { ns: 2_000.0, resolution_ns: 1_000 }));
    rows.std_dev_ns = Some(2_113.0);
    assert_eq!(rows.deviation(), Some(Deviation { ns: 2_113.0, resolution_ns: 0 }));
    // Where the others lie is not known.
    (rows.std_dev_ns, rows.overflow) = (None, 1);
    assert_eq!((rows.deviation(), Histogram::default().deviation()), (None, None));
    assert_eq!(of(&[1, 3]).deviation(), Some(Deviation { ns: 1.0, resolution_ns: 0 }));
}

#[test]
fn deviations_are_merged_around_the_common_mean() {
    let with = |values: &[u64], mean_ns, std_dev_ns| {
        let mut h = of(values);
        (h.mean_ns, h.std_dev_ns) = (Some(mean_ns), Some(std_dev_ns));
        h
    };
    let mut sum = with(&[2, 4, 4, 4], 3.5, 0.75f64.sqrt());
    sum.merge(&with(&[5, 5, 7, 9], 6.5, 2.75f64.sqrt()));
    assert_eq!(sum.mean_ns, Some(5.0));
    assert!((sum.std_dev_ns.unwrap() - 2.0).abs() < 1e-12, "{sum:?}");
    // A record of before has none.
    let old: Histogram =
        serde_json::from_str(r#"{"min_ns":1,"max_ns":1,"mean_ns":1.0,"overflow":0,"buckets":[[1,1,1]]}"#).unwrap();
    sum.merge(&old);
    assert_eq!((sum.std_dev_ns, sum.mean_ns.is_some()), (None, true));
}

proptest! {
    #[test]
    fn one_pass_counts_what_each_limit_would(
        values in prop::collection::vec((0u64..2_000, 1u64..300), 0..40),
        mut limits in prop::collection::vec(0u64..2_500, 0..10),
        overflow in 0u64..3,
    ) {
        let mut h = Histogram::default();
        values.iter().for_each(|(low, width)| h.add(*low, *width, 2));
        h.overflow = overflow;
        limits.sort_unstable();
        let each: Vec<u64> = limits.iter().map(|limit| h.below(*limit)).collect();
        prop_assert_eq!(h.below_each(&limits), each);
    }
}

proptest! {
    #[test]
    fn percentiles_are_ranks(mut values in prop::collection::vec(0u64..1_000_000, 1..200), q in 0.0f64..=1.0) {
        let h = of(&values);
        values.sort_unstable();
        let rank = rank(q, values.len() as u64);
        prop_assert!(rank as f64 >= q * values.len() as f64 * (1.0 - 1e-12));
        prop_assert!(rank == 1 || ((rank - 1) as f64) < q * values.len() as f64);
        prop_assert_eq!(h.quantile(q), Some(values[rank as usize - 1]));
    }

    #[test]
    fn json_loses_nothing(
        buckets in prop::collection::vec((0u64..1 << 40, 1u64..1 << 20, 1u64..1 << 30), 0..50),
        mean in prop::option::of(0.0f64..1e11),
    ) {
        let mut h = Histogram::from_buckets(buckets.into_iter().map(Bucket::from));
        h.mean_ns = mean;
        let text = serde_json::to_string(&h).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        prop_assert!(back.check().is_ok());
        prop_assert_eq!(back, h);
    }

    #[test]
    fn merging_is_adding(a in prop::collection::vec(0u64..9_999, 0..50), b in prop::collection::vec(0u64..9_999, 0..50)) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        let both: Vec<u64> = a.into_iter().chain(b).collect();
        prop_assert_eq!(merged, of(&both));
    }
}
