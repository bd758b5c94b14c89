//! From a network's file to frames on wires: planned, set up on the user data plane, and judged by what tcpdump captures on
//! every link. All switches of a network are served by one core, by turns (`ontick switch run` with several files).

mod bench;
mod networks;
mod readme;
mod station;

use bench::{Bench, CYCLES};

/// Sends all streams of a network and a broadcast of each station, and judges what every link carried.
fn holds(name: &str, network: &str) {
    let Some(bench) = Bench::new(network) else { return };
    let carried = bench.carry();
    carried.links_carry_planned_streams_alone(name);
    carried.every_message_arrives_or_is_counted(name);
    carried.frames_keep_to_their_windows_or_are_counted(name);
    carried.broadcasts_arrive_once(name);
    assert!(carried.sent.iter().all(|sent| *sent == CYCLES), "{name}: {:?}", carried.sent);
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
