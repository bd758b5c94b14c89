//! What a search is made of: one start after the other, and restarts as long as it may go on.

use std::cell::Cell;

use super::random::Random;
use super::*;
use crate::network::{Stream, samples};

/// Goes on for so many times that it is asked.
fn times(most: u32) -> (Cell<u32>, u32) {
    (Cell::new(0), most)
}

fn go_on((asked, most): &(Cell<u32>, u32)) -> bool {
    asked.set(asked.get() + 1);
    asked.get() <= *most
}

/// One message every 60 us leaves gaps that take one of the others each; there are two gaps for three of them,
/// each 24.7 us every 120 us. No proof knows that.
fn too_many() -> Network {
    let text = r#"
        station = [{ name = "a" }, { name = "b" }]
        link = [{ between = ["a", "b"] }]
        stream = [{ name = "f", from = "a", to = "b", size = 1, period = "1ms" }]"#;
    let mut network = crate::network::read(text).unwrap();
    let of = |(size, period_ns)| Stream { size, period_ns, deadline_ns: period_ns, ..network.streams[0].clone() };
    network.streams = [(2_500, 60_000), (3_000, 120_000), (3_000, 120_000), (3_000, 120_000)].map(of).to_vec();
    network
}

/// A ring with streams by chance, all short of time.
fn drawn(random: &mut Random) -> Network {
    let mut network = samples::ring(3, 12);
    for stream in &mut network.streams {
        stream.talker = 3 + random.below(3) as usize;
        stream.listeners = vec![3 + (stream.talker - 3 + 1 + random.below(2) as usize) % 3];
        stream.period_ns = [60_000, 120_000, 240_000][random.below(3) as usize];
        stream.deadline_ns = stream.period_ns / (1 + random.below(2));
        stream.size = 300 + random.below(2_600) as u32;
    }
    network
}

/// Step by step: starts, then the best of them improved, then restarts, each an eighth more patient than the one before.
fn by_hand(network: &Network, options: &PlanOptions, go_on: &dyn Fn() -> bool) -> (Outcome, usize) {
    let kept = Timetable::default();
    let crowded = Planner::new(network, options, &kept, 0).is_crowded();
    let routes = Routes::new(network, options.routes, options.slot_ns);
    let packed = PlanOptions { prefer: Prefer::FewEntries, ..options.clone() };
    let mut starts: Vec<Beginning> = Vec::new();
    for style in [options, &packed] {
        if starts.is_empty() || options.prefer != Prefer::FewEntries {
            starts.extend(BEGINNINGS.iter().filter(|of| of.0 || !crowded).map(|of| (style, *of)));
        }
    }
    let mut begun = Vec::new();
    for start in &starts {
        let (planner, left) = begin(&routes, network, *start, (&kept, 0), go_on);
        if left.is_empty() {
            return (Outcome::Planned(planner.into_table()), begun.len());
        }
        begun.push((planner, left));
        if !go_on() {
            break;
        }
    }
    let least = begun.iter().map(|(_, left)| left.len()).min().unwrap();
    let (mut planner, left) = begun.into_iter().find(|(_, left)| left.len() == least).unwrap();
    let mut patience = 20 * network.streams.len() + 1_000;
    planner.improve(left, patience, go_on);
    let (mut places, mut moved) = (planner.effort.places, planner.effort.moved);
    let mut tables = vec![planner.into_table()];
    while tables.last().unwrap().missing().count() > 0 && go_on() {
        let start = starts[(tables.len() - 1) % starts.len()];
        let (mut planner, left) = begin(&routes, network, start, (&kept, tables.len() as u64), go_on);
        planner.improve(left, patience, go_on);
        patience += patience / 8;
        places += planner.effort.places;
        moved += planner.effort.moved;
        tables.push(planner.into_table());
    }
    let restarts = tables.len() - 1;
    let least = tables.iter().map(|table| table.missing().count()).min().unwrap();
    let table = tables.into_iter().find(|table| table.missing().count() == least).unwrap();
    let outcome = match least {
        0 => Outcome::Planned(table),
        _ => Outcome::NotFound(NotFound {
            tightest: tightest(network, &table),
            effort: SearchEffort { places, moved },
            table,
        }),
    };
    (outcome, 100 * (restarts + 1))
}

#[test]
fn a_search_is_its_starts_and_restarts_one_after_the_other() {
    let mut random = Random::new(51);
    let mut networks: Vec<Network> = vec![too_many(); 3];
    networks.extend((0..60).map(|_| drawn(&mut random)));
    let (mut later_start, mut by_restart, mut not_found, mut asked_on) = (0, 0, 0, 0);
    for (n, network) in networks.iter().enumerate() {
        let prefer = [Prefer::Early, Prefer::FewEntries, Prefer::Spread][n % 3];
        let options = PlanOptions { prefer, routes: 2, ..PlanOptions::default() };
        if !certificate::certificates(network).is_empty() {
            continue;
        }
        for most in [0, 20, 120, if n < 3 { 3_700 } else { 600 }] {
            let (own, other) = (times(most), times(most));
            let (expected, steps) = by_hand(network, &options, &|| go_on(&own));
            let found = plan(network, &options, &Timetable::default(), &|| go_on(&other));
            assert_eq!(found, expected, "{n} {most}");
            assert_eq!(own.0.get(), other.0.get());
            later_start += usize::from(matches!(found, Outcome::Planned(_)) && (1..100).contains(&steps));
            by_restart += usize::from(steps >= 200);
            not_found += usize::from(matches!(found, Outcome::NotFound(_)));
            asked_on += usize::from(other.0.get() > 3_000);
        }
    }
    assert!(later_start >= 2 && by_restart >= 2, "{later_start} {by_restart}");
    assert!(not_found >= 20 && asked_on >= 2, "{not_found} {asked_on}");
}
