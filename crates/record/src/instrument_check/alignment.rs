//! Finds the line between the program's clock and the instrument's, out of the edges of both.
//!
//! Nobody knows when the instrument began, so any edge may be the counterpart of any other. Some of the program's edges are
//! tried against each of the instrument's: the neighbours of two that belong together lie near each other too. What fits
//! best is followed from edge to edge in both directions, so that clocks which drift apart are followed, and a line is laid
//! through what was found. Pulses that repeat evenly fit next to their places nearly as well: then it counts which edges
//! are left over, and how far the edges are from the line, and if neither decides, there is no answer.

use ontick_units::{count, counted, exact, show};

use super::fit::{Line, median};
use super::matching::{nearest, pairs};
use crate::capture::{Edge, Recorded};

/// Fewer edges tell nothing.
const FEWEST: usize = 8;
/// Edges on each side by which a place is judged.
const NEIGHBOURS: usize = 24;
/// The program's edges that are tried.
const ANCHORS: usize = 5;
/// Places of each that are followed.
const FOLLOWED: usize = 6;
/// Beginnings and ends that are tried against each other: so many that one of the two lacks.
const SHIFTED: usize = 3;
/// An instrument with so many times the edges shows something else.
const CROWD: usize = 16;
/// No clock of an instrument is further off than this.
const MOST_DRIFT: f64 = 1_000e-6;

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub enum Unaligned {
    #[error("channel {channel} has {edges} edges in the capture, too few to align it: {FEWEST} are needed")]
    TooFew { channel: String, edges: usize },
    #[error("the program made {edges} edges that could be aligned, which are too few: {FEWEST} are needed")]
    TooFewOwn { edges: usize },
    #[error(
        "the instrument is too coarse to tell the edges apart: a sample is {}, and they come every {}",
        exact(*.sample_ns), exact(*.period_ns)
    )]
    TooCoarse { sample_ns: u64, period_ns: u64 },
    #[error(
        "channel {channel} shows another pattern than the program made: of {} {} have a counterpart, and {} recorded",
        counted(*.own as u64, "edge"), count(*.matched as u64), were(*.seen)
    )]
    AnotherPattern { channel: String, own: usize, matched: usize, seen: usize },
    #[error(
        "the capture of channel {channel} holds only {} of {} of the program, which are too few to align it: the instrument recorded too late or not long enough",
        count(*.covered as u64), counted(*.own as u64, "edge")
    )]
    NotCovered { channel: String, own: usize, covered: usize },
    #[error(
        "the edges repeat so evenly that several alignments fit, {} apart: begin the capture before the run and end it after, or let the period vary",
        show(*.apart_ns)
    )]
    Ambiguous { apart_ns: u64 },
}

/// `1 edge was`, `2 000 edges were`.
fn were(edges: usize) -> String {
    format!("{} {}", counted(edges as u64, "edge"), if edges == 1 { "was" } else { "were" })
}

/// How far an edge may be from the line and still be one of it: a quarter of the time between edges.
pub fn tolerance_ns(own: &[Edge]) -> f64 {
    period_ns(own) / 4.0
}

fn period_ns(own: &[Edge]) -> f64 {
    median(own.windows(2).map(|two| two[1].at_ns.saturating_sub(two[0].at_ns) as f64).collect())
}

/// The line on which the program's edges, in order, lie beside those of the first channel.
pub fn line(own: &[Edge], recorded: &Recorded) -> Result<Line, Unaligned> {
    let channel = || recorded.channels.first().cloned().unwrap_or_default();
    let made = |edge: &&Edge| own.iter().take(2).any(|own| own.rising == edge.rising);
    let seen: Vec<Edge> = recorded.edges.first().into_iter().flatten().filter(made).copied().collect();
    if own.len() < FEWEST {
        return Err(Unaligned::TooFewOwn { edges: own.len() });
    }
    if seen.len() < FEWEST {
        return Err(Unaligned::TooFew { channel: channel(), edges: seen.len() });
    }
    let (resolution_ns, tolerance_ns) = (recorded.instrument.resolution_ps as f64 / 1_000.0, tolerance_ns(own));
    if resolution_ns > tolerance_ns {
        let (sample_ns, period_ns) = (resolution_ns as u64, period_ns(own) as u64);
        return Err(Unaligned::TooCoarse { sample_ns, period_ns });
    }
    let another = |matched| Unaligned::AnotherPattern { channel: channel(), own: own.len(), matched, seen: seen.len() };
    if seen.len() > CROWD * own.len() {
        return Err(another(0));
    }
    let search = Search { own, seen: &seen, ends_ns: recorded.ends_ns, resolution_ns, tolerance_ns };
    let found = search.best()?.ok_or_else(|| another(0))?;
    if found.covered < FEWEST {
        return Err(Unaligned::NotCovered { channel: channel(), own: own.len(), covered: found.covered });
    }
    let fits = found.pairs.len() * 10 >= found.covered * 6
        && found.pairs.len() >= FEWEST
        && found.extra <= found.pairs.len()
        && found.line.residual_ns <= tolerance_ns / 3.0;
    if fits { Ok(found.line) } else { Err(another(found.pairs.len())) }
}

struct Search<'e> {
    own: &'e [Edge],
    seen: &'e [Edge],
    ends_ns: u64,
    resolution_ns: f64,
    tolerance_ns: f64,
}

/// A place of the program's edges among the instrument's.
struct Place {
    line: Line,
    pairs: Vec<(usize, usize)>,
    /// Own edges from while the instrument recorded.
    covered: usize,
    /// The instrument's edges in between that are no counterpart.
    extra: usize,
}

impl Place {
    /// Edges with a counterpart, less those that should have one.
    fn score(&self) -> i64 {
        2 * self.pairs.len() as i64 - self.covered as i64
    }
}

impl Search<'_> {
    fn best(&self) -> Result<Option<Place>, Unaligned> {
        let places = self.places();
        let best = places.iter().map(Place::score).max();
        let Some(best) = best else { return Ok(None) };
        let spread = |place: &Place| place.line.residual_ns.max(self.resolution_ns / 2.0);
        // A few edges more by chance do not outweigh edges that lie much nearer to the line.
        let slack = (self.own.len() as i64 / 50).max(4);
        let near = |place: &&Place| place.score() >= best - slack;
        let nearest = places.iter().filter(near).map(spread).fold(f64::INFINITY, f64::min);
        let with = |place: &&Place| near(place) && spread(place) <= 3.0 * nearest;
        let Some(chosen) = places.iter().filter(with).max_by_key(|place| place.score()) else { return Ok(None) };
        let apart_ns = |place: &Place| (place.line.at(self.own[0].at_ns) - chosen.line.at(self.own[0].at_ns)).abs();
        let rivals = places.iter().filter(|place| {
            apart_ns(place) > self.tolerance_ns
                && place.score() >= chosen.score()
                && spread(place) <= 2.0 * spread(chosen)
        });
        match rivals.min_by(|a, b| apart_ns(a).total_cmp(&apart_ns(b))) {
            Some(rival) if self.could_be(chosen) => Err(Unaligned::Ambiguous { apart_ns: apart_ns(rival) as u64 }),
            _ => {
                let chosen = places.iter().position(|place| std::ptr::eq(place, chosen));
                Ok(chosen.and_then(|chosen| places.into_iter().nth(chosen)))
            }
        }
    }

    /// Whether it is the program's pattern at all.
    fn could_be(&self, place: &Place) -> bool {
        place.pairs.len() * 10 >= place.covered * 6 && place.extra <= place.pairs.len()
    }

    /// The places that are worth a look.
    fn places(&self) -> Vec<Place> {
        let (last_own, last_seen) = (self.own.len() - 1, self.seen.len() - 1);
        let mut begun: Vec<(usize, usize)> = Vec::new();
        for n in 0..=SHIFTED {
            begun.extend([(n, 0), (0, n), (last_own - n, last_seen), (last_own, last_seen - n)]);
        }
        for anchor in (0..ANCHORS).map(|n| n * last_own / (ANCHORS - 1)) {
            begun.extend(self.likely(anchor));
        }
        begun.retain(|(own, seen)| self.own[*own].rising == self.seen[*seen].rising);
        let mut places: Vec<Place> = Vec::new();
        for (own, seen) in begun {
            let Some(place) = self.follow(own, seen) else { continue };
            let same = |other: &Place| {
                [self.own[0].at_ns, self.own[last_own].at_ns]
                    .iter()
                    .all(|own_ns| (other.line.at(*own_ns) - place.line.at(*own_ns)).abs() < self.tolerance_ns / 4.0)
            };
            if !places.iter().any(same) {
                places.push(place);
            }
        }
        places
    }

    /// The instrument's edges whose neighbours fit those of one of the program's best.
    fn likely(&self, own: usize) -> Vec<(usize, usize)> {
        let mut all: Vec<(usize, f64, usize)> = (0..self.seen.len())
            .filter(|seen| self.seen[*seen].rising == self.own[own].rising)
            .map(|seen| {
                let (matched, spread_ns) = self.fit_of_neighbours(own, seen);
                (matched, spread_ns, seen)
            })
            .collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
        all.into_iter().take(FOLLOWED).map(|(.., seen)| (own, seen)).collect()
    }

    /// How many neighbours have a counterpart, and how far these are from where they should be.
    fn fit_of_neighbours(&self, own: usize, seen: usize) -> (usize, f64) {
        let offset_ns = self.seen[seen].at_ns as f64 - self.own[own].at_ns as f64;
        let from = own.saturating_sub(NEIGHBOURS);
        let to = (own + NEIGHBOURS + 1).min(self.own.len());
        let first_ns = self.own[from].at_ns as f64 + offset_ns - self.tolerance_ns;
        let mut cursor = self.seen[..=seen].partition_point(|edge| (edge.at_ns as f64) < first_ns);
        let (mut matched, mut sum, mut squares) = (0usize, 0.0, 0.0);
        for edge in &self.own[from..to] {
            let at_ns = edge.at_ns as f64 + offset_ns;
            if let Some(found) = nearest(self.seen, &mut cursor, at_ns, edge.rising, self.tolerance_ns) {
                let off_ns = self.seen[found].at_ns as f64 - at_ns;
                (matched, sum, squares) = (matched + 1, sum + off_ns, squares + off_ns * off_ns);
            }
        }
        let n = matched.max(1) as f64;
        (matched, (squares / n - (sum / n).powi(2)).max(0.0).sqrt())
    }

    /// Follows the edges from a pair on in both directions, and lays a line through them.
    fn follow(&self, own: usize, seen: usize) -> Option<Place> {
        let mut found = self.walk(&self.own[own..], &self.seen[seen..]);
        let mirrored = |edges: &[Edge]| -> Vec<Edge> {
            let mirror = |edge: &Edge| Edge { at_ns: u64::MAX - edge.at_ns, ..*edge };
            edges.iter().rev().map(mirror).collect()
        };
        let before = self.walk(&mirrored(&self.own[..=own]), &mirrored(&self.seen[..=seen]));
        found.extend(before.into_iter().skip(1).map(|(own_ns, seen_ns)| (u64::MAX - own_ns, u64::MAX - seen_ns)));
        found.sort_unstable();
        if found.len() < FEWEST {
            return None;
        }
        let mut line = Line::fit(&found, self.resolution_ns);
        let mut matched = Vec::new();
        for _ in 0..2 {
            matched = pairs(self.own, self.seen, |own_ns| line.at(own_ns), self.tolerance_ns);
            if matched.len() < FEWEST {
                return None;
            }
            let times: Vec<(u64, u64)> =
                matched.iter().map(|(own, seen)| (self.own[*own].at_ns, self.seen[*seen].at_ns)).collect();
            line = Line::fit(&times, self.resolution_ns);
        }
        if (line.rate - 1.0).abs() > MOST_DRIFT + line.rate_uncertainty {
            return None;
        }
        let while_recorded = |edge: &&Edge| (0.0..=self.ends_ns as f64).contains(&line.at(edge.at_ns));
        let covered = self.own.iter().filter(while_recorded).count().max(matched.len());
        let (first_ns, last_ns) = (line.at(self.own[0].at_ns), line.at(self.own[self.own.len() - 1].at_ns));
        let within = first_ns - self.tolerance_ns..=last_ns + self.tolerance_ns;
        let between = self.seen.iter().filter(|edge| within.contains(&(edge.at_ns as f64))).count();
        Some(Place { line, covered, extra: between.saturating_sub(matched.len()), pairs: matched })
    }

    /// Times of edges that belong together, from the first of both on. Offset and rate follow what is found (an α-β filter),
    /// the rate within what clocks do.
    fn walk(&self, own: &[Edge], seen: &[Edge]) -> Vec<(u64, u64)> {
        const ALPHA: f64 = 0.2;
        const BETA: f64 = 0.02;
        let (mut all, mut cursor, mut rate) = (Vec::new(), 0, 1.0f64);
        // Counted from the first pair: the times of mirrored edges are too large to be told apart as they are.
        let base_ns = seen[0].at_ns;
        let seen: Vec<Edge> = seen.iter().map(|edge| Edge { at_ns: edge.at_ns - base_ns, ..*edge }).collect();
        let (mut last_ns, mut predicted_ns) = (own[0].at_ns, 0.0);
        for edge in own {
            let step_ns = (edge.at_ns - last_ns) as f64;
            (last_ns, predicted_ns) = (edge.at_ns, predicted_ns + rate * step_ns);
            let found = nearest(&seen, &mut cursor, predicted_ns, edge.rising, self.tolerance_ns);
            let Some(found) = found else { continue };
            all.push((edge.at_ns, seen[found].at_ns + base_ns));
            // One edge that is far off does not lead astray.
            let off_ns =
                (seen[found].at_ns as f64 - predicted_ns).clamp(-self.tolerance_ns / 8.0, self.tolerance_ns / 8.0);
            predicted_ns += ALPHA * off_ns;
            if step_ns > 0.0 {
                rate = (rate + BETA * off_ns / step_ns).clamp(1.0 - MOST_DRIFT, 1.0 + MOST_DRIFT);
            }
        }
        all
    }
}
