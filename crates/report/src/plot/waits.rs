//! A loop of several waits: the largest, the second largest and the sum of each cycle, with a mark where the worst cycle
//! would be if worst cases added.

use ontick_record::{Histogram, Series};

use super::frame::Paper;
use super::latency;
use super::palette::{Curve, Ink, nth};
use crate::waits::Loop;

/// Grey, which no curve of these has.
const BOUND: Ink = Ink { colour: 6, dash: 1 };

pub(super) fn draw(of_loop: &Loop, paper: &Paper) -> String {
    let of = |name: &str, latency: &Histogram| Series { latency: latency.clone(), ..Series::from(name.to_string()) };
    let sum = format!("sum of {} waits", of_loop.waits);
    let all = [of("largest wait", of_loop.largest), of("second largest", of_loop.second), of(&sum, of_loop.sum)];
    let curves: Vec<Curve> = (all.iter().enumerate())
        .map(|(i, series)| Curve { name: series.name.clone(), series, ink: nth(i), quantity: "latency" })
        .collect();
    let mut added = Series::default();
    added.latency.max_ns = of_loop.bound_ns();
    let bound = Curve { name: "if worst cases added".into(), series: &added, ink: BOUND, quantity: "latency" };
    latency::draw_beside(&curves, Some(&bound), paper)
}

#[cfg(test)]
mod tests {
    use crate::plot::{Plot, svg};
    use crate::waits::tests::run;

    #[test]
    fn the_sum_is_drawn_beside_what_it_would_be_if_worst_cases_added() {
        let run = run(&[&[1_000, 2_000, 3_000], &[1_000, 41_000, 1_500], &[900, 800, 700]]);
        assert_eq!(Plot::of(&run), Plot::Waits);
        let drawn = svg(&run, Plot::Waits);
        assert_eq!(drawn.matches("class=\"line stroke").count(), 3, "{drawn}");
        for words in ["largest wait", "second largest", "sum of 3 waits", "if worst cases added", "123"] {
            assert!(drawn.contains(words), "{words}: {drawn}");
        }
        // The axis has room for what would be.
        assert!(drawn.contains(">1 ms<") || drawn.contains(">1\u{202f}ms<"), "{drawn}");
    }

    #[test]
    fn without_several_waits_there_is_nothing_to_draw() {
        let run = ontick_record::Run::new("ontick", "timer");
        assert_eq!(Plot::of(&run), Plot::Latency);
        assert!(svg(&run, Plot::Waits).contains("no loop of several waits"));
    }
}
