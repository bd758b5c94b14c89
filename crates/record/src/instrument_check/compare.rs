//! The program's times beside the instrument's of the same edges.

use super::alignment::tolerance_ns;
use super::fit::Line;
use super::matching::pairs;
use super::{Alignment, Between, CheckedQuantity, Figures, Interval, Quantity, UnmatchedEdges};
use crate::capture::{Edge, Recorded};

/// Edges without a counterpart that are listed.
const LISTED: usize = 16;

/// Compares what lies on a line.
pub fn compare(
    own: &[Interval],
    between: Between,
    recorded: &Recorded,
    line: Line,
) -> (Option<Alignment>, Vec<CheckedQuantity>) {
    let (begins, ends) = (Between::begins(own), between.ends(own));
    let tolerance_ns = tolerance_ns(&begins);
    let (Some(first), Some(last)) = (recorded.edges.first(), recorded.edges.last()) else { return (None, Vec::new()) };
    let begun = Side::of(&begins, first, line, tolerance_ns);
    let ended = Side::of(&ends, last, line, tolerance_ns);
    let rate = line.known_rate();
    let scale = rate.map_or(1.0, |(rate, _)| rate);

    let time = |from: Option<u64>, to: Option<u64>| Some((to? as f64 - from? as f64) / scale);
    let whole = (0..own.len()).filter_map(|i| Some((own[i].ns as f64, time(begun.seen[i], ended.seen[i])?)));
    let periods = (1..own.len())
        .filter_map(|i| Some(((own[i].from_ns - own[i - 1].from_ns) as f64, time(begun.seen[i - 1], begun.seen[i])?)));
    let quantities = match between {
        Between::Pulse => vec![(Quantity::Width, whole.collect()), (Quantity::Period, periods.collect::<Vec<_>>())],
        Between::Response { .. } => vec![(Quantity::Response, whole.collect())],
    };
    let quantities = quantities.into_iter().filter(|(_, times)| !times.is_empty());
    let quantities = quantities.map(|(quantity, times)| of_times(quantity, &times)).collect();

    let zero_ns = own.first().map_or(0, |interval| interval.from_ns);
    let after = |edge: &Edge| edge.at_ns.saturating_sub(zero_ns);
    let recording = |edge: &&Edge| (0.0..=recorded.ends_ns as f64).contains(&line.at(edge.at_ns));
    let lone = begun.lone(&begins).chain(ended.lone(&ends));
    let (missing, uncovered): (Vec<&Edge>, Vec<&Edge>) = lone.partition(recording);

    let until_ns = ends.iter().map(|edge| edge.at_ns).max().unwrap_or(zero_ns);
    let within = line.at(zero_ns) - tolerance_ns..=line.at(until_ns) + tolerance_ns;
    let is_matched = |channel: usize, place: usize| {
        (channel == 0 && begun.matched[place]) || (channel + 1 == recorded.edges.len() && ended.matched[place])
    };
    let unknown = recorded.edges.iter().enumerate().flat_map(|(channel, edges)| {
        let lone = edges.iter().enumerate().filter(move |(place, _)| !is_matched(channel, *place));
        lone.map(|(_, edge)| edge)
    });
    let (extra, outside): (Vec<&Edge>, Vec<&Edge>) = unknown.partition(|edge| within.contains(&(edge.at_ns as f64)));
    let before_first_ns = line.own_after_zero(0) + line.zero_ns as f64 - zero_ns as f64;
    let alignment = Alignment {
        offset_ns: line.at(zero_ns),
        rate_ppm: rate.map(|(rate, _)| (rate - 1.0) * 1e6),
        rate_uncertainty_ppm: rate.map(|(_, uncertainty)| uncertainty * 1e6),
        residual_ns: line.residual_ns,
        matched: begun.count() + ended.count(),
        missing: listed(missing.iter().map(|edge| after(edge)).collect()),
        extra: listed(
            extra.iter().map(|edge| (edge.at_ns as f64 / line.rate + before_first_ns).max(0.0) as u64).collect(),
        ),
        uncovered: uncovered.len() as u64,
        outside: outside.len() as u64,
    };
    (Some(alignment), quantities)
}

/// Own edges and their counterparts.
struct Side {
    /// By own edge: when the instrument's came, in ns of its clock.
    seen: Vec<Option<u64>>,
    /// By the instrument's edge: whether it is a counterpart.
    matched: Vec<bool>,
}

impl Side {
    fn of(own: &[Edge], seen: &[Edge], line: Line, tolerance_ns: f64) -> Self {
        let mut side = Self { seen: vec![None; own.len()], matched: vec![false; seen.len()] };
        for (own_place, seen_place) in pairs(own, seen, |own_ns| line.at(own_ns), tolerance_ns) {
            side.seen[own_place] = Some(seen[seen_place].at_ns);
            side.matched[seen_place] = true;
        }
        side
    }

    fn count(&self) -> u64 {
        self.seen.iter().flatten().count() as u64
    }

    /// Own edges without a counterpart.
    fn lone<'s>(&'s self, own: &'s [Edge]) -> impl Iterator<Item = &'s Edge> {
        own.iter().zip(&self.seen).filter(|(_, seen)| seen.is_none()).map(|(edge, _)| edge)
    }
}

fn listed(mut at_ns: Vec<u64>) -> UnmatchedEdges {
    at_ns.sort_unstable();
    let count = at_ns.len() as u64;
    at_ns.truncate(LISTED);
    UnmatchedEdges { count, first_ns: at_ns }
}

fn of_times(quantity: Quantity, times: &[(f64, f64)]) -> CheckedQuantity {
    CheckedQuantity {
        quantity,
        count: times.len() as u64,
        own: Figures::of(times.iter().map(|(own, _)| *own).collect()),
        instrument: Figures::of(times.iter().map(|(_, seen)| *seen).collect()),
        difference: Figures::of(times.iter().map(|(own, seen)| seen - own).collect()),
    }
}

impl Figures {
    /// Of one time at least.
    fn of(mut all: Vec<f64>) -> Self {
        all.sort_unstable_by(f64::total_cmp);
        let rank = |q: f64| all[((q * all.len() as f64).ceil() as usize).clamp(1, all.len()) - 1];
        let mean_ns = all.iter().sum::<f64>() / all.len() as f64;
        Self { min_ns: rank(0.0), mean_ns, p50_ns: rank(0.5), p99_ns: rank(0.99), max_ns: rank(1.0) }
    }
}
