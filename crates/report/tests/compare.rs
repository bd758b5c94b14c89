//! Runs side by side.

mod sample;

use ontick_report::Style;
use ontick_report::compare::{self, Named};

#[test]
fn ratios_are_to_the_series_of_the_same_name() {
    let first = sample::prove();
    let mut second = first.clone();
    for s in &mut second.series {
        let mut twice = ontick_record::Histogram::default();
        s.latency.buckets().iter().for_each(|b| twice.add(b.low_ns * 2, b.width_ns * 2, b.count));
        s.latency = twice;
    }
    let text = compare::text(
        &[Named { name: "before", run: &first }, Named { name: "after", run: &second }],
        &Style::default(),
    );
    let ratios: Vec<&str> = text.lines().filter(|l| l.trim_start().starts_with('×')).collect();
    assert_eq!(ratios.len(), 4, "{text}");
    for line in ratios {
        // Buckets have width: twice the upper edge can be one off.
        assert!(line.split_whitespace().all(|r| (1.98..=2.02).contains(&r[2..].parse::<f64>().unwrap())), "{text}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[test]
fn runs_of_one_series_each_are_compared_whatever_it_is_called() {
    let ours = sample::single();
    let mut foreign = sample::single();
    (foreign.tool, foreign.series[0].name) = ("cyclictest".into(), "thread 0".into());
    let runs = [Named { name: "ours.json", run: &ours }, Named { name: "cyclictest.hist", run: &foreign }];
    let text = compare::text(&runs, &Style::default());
    assert!(text.contains("cyclictest.hist: thread 0") && text.contains("×1.00"), "{text}");
    assert!(ontick_report::html_of_several(&runs).contains("×1.00"));
    assert!(!text.contains("different measurements"), "{text}");
}

#[test]
fn ratios_of_different_measurements_come_with_a_word_of_it() {
    let ours = sample::single();
    let mut other = ours.clone();
    other.measurement = ontick_record::Measurement::Intervals;
    let runs = [Named { name: "ours.json", run: &ours }, Named { name: "other.json", run: &other }];
    let text = compare::text(&runs, &Style { width: 200, ..Style::default() });
    let said = "ours.json of \"timer\" and other.json of \"intervals\" are different measurements";
    assert!(text.contains(said), "{text}");
    assert!(ontick_report::html_of_several(&runs).contains("are different measurements"));
}

#[test]
fn series_of_one_name_stand_against_each_other_in_their_order() {
    let of = |latencies: &[u64]| {
        let mut run = ontick_record::Run::new("ontick 1", "timer");
        for ns in latencies {
            let mut series = ontick_record::Series { name: "a".into(), ..Default::default() };
            series.latency.add(*ns, 1, 100);
            run.series.push(series);
        }
        run
    };
    let (first, second) = (of(&[10, 20]), of(&[20, 20, 50]));
    let runs = [Named { name: "x", run: &first }, Named { name: "y", run: &second }];
    let text = compare::text(&runs, &Style::default());
    let seen: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().find(|w| w.contains(['×', 'n']))).collect();
    assert_eq!(seen[..7], ["10ns", "20ns", "×2.00", "20ns", "20ns", "×1.00", "50ns"], "{text}");
    let page = ontick_report::html_of_several(&runs);
    assert_eq!(
        (page.matches("×2.00").count(), page.matches("×1.00").count(), page.matches("×5.00").count()),
        (4, 4, 0)
    );
}

#[test]
fn a_series_that_nothing_stands_against_is_shown_without_ratios() {
    let (many, one) = (sample::methods(), sample::single());
    let mut one = one;
    one.series[0].name = "other".into();
    let text = compare::text(&[Named { name: "a", run: &many }, Named { name: "b", run: &one }], &Style::default());
    assert!(text.contains("b: other") && !text.contains('×'), "{text}");
}

#[test]
fn missed_cycles_stand_beside_the_percentiles() {
    let first = sample::single();
    let mut second = first.clone();
    second.series[0].missed = 9_876_543;
    let runs = [Named { name: "a", run: &first }, Named { name: "b", run: &second }];
    for width in [40, 60, 80] {
        let text = compare::text(&runs, &Style { width, ..Style::default() });
        assert!(text.contains("missed\n") && text.contains(" 9 876 543\n") && text.contains(" p99 "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        assert_eq!(text.contains("p99.9"), width > 60, "{text}");
    }
}

#[test]
fn nothing_to_compare_is_no_crash() {
    let empty = ontick_record::Run::new("ontick", "timer");
    let full = sample::single();
    for runs in [vec![], vec![&empty], vec![&empty, &full], vec![&full, &empty]] {
        let named: Vec<_> = runs.into_iter().map(|run| Named { name: "x", run }).collect();
        compare::text(&named, &Style::default());
    }
}
