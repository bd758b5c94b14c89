//! Samples per microsecond, ten to a line, as `0us: 0 76961522 31486427 9058 …`.

use std::collections::BTreeMap;
use std::fmt::Write;

use ontick_record::{Histogram, Run};

use crate::printable::printable;

/// The rows of a run: each line begins with its first microsecond and counts the samples of that one
/// and the nine after it. Lines without samples are left out. A sample lies in the microsecond of its
/// bucket's upper edge, so none is shown earlier than it was.
///
/// With several series, a line with the name stands before each; a simulated run says so first.
pub fn rows(run: &Run) -> String {
    let mut text = String::new();
    if let Some(what) = &run.simulated {
        let _ = writeln!(text, "simulated: {}", printable(what));
    }
    for series in &run.series {
        if run.series.len() > 1 {
            let _ = writeln!(text, "{}", printable(&series.name));
        }
        let mut lines: BTreeMap<u64, [u64; 10]> = BTreeMap::new();
        for (us, count) in per_microsecond(&series.latency) {
            let cell = &mut lines.entry(us / 10).or_default()[(us % 10) as usize];
            *cell = cell.saturating_add(count);
        }
        for (tens, counts) in lines {
            let counts = counts.map(|n| n.to_string()).join(" ");
            let _ = writeln!(text, "{}us: {counts}", tens * 10);
        }
        if series.latency.overflow > 0 {
            let _ = writeln!(text, "beyond: {}", series.latency.overflow);
        }
    }
    text
}

/// The whole microsecond that each bucket's samples lie in, never earlier than they were.
pub(crate) fn per_microsecond(h: &Histogram) -> impl Iterator<Item = (u64, u64)> + '_ {
    let max = h.max_ns.unwrap_or(u64::MAX);
    h.buckets().iter().map(move |b| (b.high_ns().min(max) / 1_000, b.count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Series;

    #[test]
    fn ten_to_a_line_and_empty_lines_left_out() {
        let mut run = Run::new("ontick", "timer");
        let mut s = Series::default();
        for (low, count) in [(1_000, 76_961_522), (2_999, 31_486_427), (3_000, 9_058), (41_000, 1)] {
            s.latency.add(low, 1, count);
        }
        s.latency.overflow = 2;
        run.series.push(s);
        assert_eq!(rows(&run), "0us: 0 76961522 31486427 9058 0 0 0 0 0 0\n40us: 0 1 0 0 0 0 0 0 0 0\nbeyond: 2\n");
    }

    #[test]
    fn a_simulated_run_says_so_first() {
        let run = Run { simulated: Some("line sim:bench/17".into()), ..Run::new("ontick", "pulse") };
        assert_eq!(rows(&run), "simulated: line sim:bench/17\n");
    }

    #[test]
    fn a_bucket_over_two_microseconds_counts_in_the_later() {
        let mut h = Histogram::default();
        h.add(2_992, 16, 5);
        assert_eq!(per_microsecond(&h).collect::<Vec<_>>(), [(3, 5)]);
        h.max_ns = Some(2_995);
        assert_eq!(per_microsecond(&h).collect::<Vec<_>>(), [(2, 5)]);
    }
}
