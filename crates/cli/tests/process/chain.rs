//! From a network's file to frames on wires: planned, set up on the user data plane, and judged by what tcpdump captures on
//! every link. All switches of a network are served by one core, by turns (`ontick switch run` with several files).

mod bench;
mod networks;
mod readme;
mod station;

use bench::{Bench, CYCLES, Carried};

use crate::stdout;

/// Sends all streams of a network and a broadcast of each station, and judges what every link carried.
fn holds(name: &str, network: &str) {
    if let Some(bench) = Bench::new(network) {
        carries(name, bench);
    }
}

fn carries(name: &str, bench: Bench) -> Carried {
    let carried = bench.carry();
    carried.links_carry_planned_streams_alone(name);
    carried.every_message_arrives_or_is_counted(name);
    carried.frames_keep_to_their_windows_or_are_counted(name);
    carried.broadcasts_arrive_once(name);
    assert!(carried.sent.iter().all(|sent| *sent == CYCLES), "{name}: {:?}", carried.sent);
    carried
}

#[test]
fn a_line_of_two_switches() {
    holds("line of two", &networks::line(2));
}

#[test]
fn a_line_of_three_switches() {
    holds("line of three", &networks::line(3));
}

#[test]
fn a_star() {
    holds("star", &networks::star());
}

#[test]
fn a_ring() {
    holds("ring", &networks::ring());
}

#[test]
fn a_mesh() {
    holds("mesh", &networks::mesh());
}

#[test]
fn two_cables_between_two_switches() {
    holds("two cables", &networks::two_cables());
}

/// Where the first of two cables has no room for all streams, the others go by the second one, and arrive.
#[test]
fn streams_beyond_the_room_of_the_first_cable_take_the_second() {
    let spread = "240us";
    let planned = bench::plan(&networks::more_than_one_cable_carries(1), spread, tempfile::tempdir().unwrap().path());
    assert_eq!(planned.status.code(), Some(1), "one cable is to have no room: {}", stdout(&planned));
    let Some(bench) = Bench::with_spread(&networks::more_than_one_cable_carries(2), spread) else { return };
    let carried = carries("streams for two cables", bench);
    let [first, second] = ["s2-s1", "s2-s1x"].map(|into| carried.streams_at(into));
    assert!(!second.is_empty() && first.len() + second.len() == 6, "{first:?} and {second:?}");
    println!("streams for two cables: {first:?} by the first, {second:?} by the second");
}
