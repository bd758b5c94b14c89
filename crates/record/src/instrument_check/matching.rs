//! Which edge of an instrument is which of the program's.

use crate::capture::Edge;

/// The nearest edge of the same direction to `at_ns`, within `tolerance_ns`. The cursor is before all that are near enough,
/// and moves up with times that ascend.
pub fn nearest(seen: &[Edge], cursor: &mut usize, at_ns: f64, rising: bool, tolerance_ns: f64) -> Option<usize> {
    while seen.get(*cursor).is_some_and(|edge| (edge.at_ns as f64) < at_ns - tolerance_ns) {
        *cursor += 1;
    }
    let near = seen.iter().enumerate().skip(*cursor).take_while(|(_, edge)| edge.at_ns as f64 <= at_ns + tolerance_ns);
    let distance = |(_, edge): &(usize, &Edge)| (edge.at_ns as f64 - at_ns).abs();
    near.filter(|(_, edge)| edge.rising == rising)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .map(|(place, _)| place)
}

/// Pairs of places: an own edge and the instrument's nearest to where `at` says that it is. No edge is in two pairs.
pub fn pairs(own: &[Edge], seen: &[Edge], at: impl Fn(u64) -> f64, tolerance_ns: f64) -> Vec<(usize, usize)> {
    let (mut all, mut cursor) = (Vec::<(usize, usize)>::new(), 0);
    let distance =
        |(own_place, seen_place): (usize, usize)| (seen[seen_place].at_ns as f64 - at(own[own_place].at_ns)).abs();
    for (place, edge) in own.iter().enumerate() {
        let Some(found) = nearest(seen, &mut cursor, at(edge.at_ns), edge.rising, tolerance_ns) else { continue };
        match all.last().copied().filter(|(_, before)| *before == found) {
            Some(before) if distance(before) <= distance((place, found)) => continue,
            Some(_) => drop(all.pop()),
            None => {}
        }
        all.push((place, found));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(all: &[(u64, bool)]) -> Vec<Edge> {
        all.iter().map(|(at_ns, rising)| Edge { at_ns: *at_ns, rising: *rising }).collect()
    }

    #[test]
    fn the_nearest_edge_of_the_same_direction_is_the_one() {
        let seen = edges(&[(90, true), (95, false), (104, true), (130, true)]);
        let found = |at_ns, rising, tolerance_ns| nearest(&seen, &mut 0, at_ns, rising, tolerance_ns);
        assert_eq!((found(100.0, true, 20.0), found(100.0, false, 20.0)), (Some(2), Some(1)));
        assert_eq!((found(115.0, true, 10.0), found(60.0, true, 20.0)), (None, None));
    }

    #[test]
    fn no_edge_is_in_two_pairs() {
        let (own, seen) = (edges(&[(100, true), (104, true), (300, true)]), edges(&[(105, true), (301, true)]));
        assert_eq!(pairs(&own, &seen, |at_ns| at_ns as f64, 20.0), [(1, 0), (2, 1)]);
    }
}
