//! Static entries, and ports that take nothing else.

use super::*;
use ontick_tsn::model::StaticEntry;

/// Of a switch with these entries, the ports that a frame leaves by which comes in by the first one.
fn leaves_by(forwarding: &Forwarding, frames: &[(usize, Vec<u8>)]) -> (Vec<usize>, u64) {
    let mut bench = Bench::new(4);
    let mut core = core!(bench, &Switch { forwarding: forwarding.clone(), ..switch(4, 8) }, None);
    for (from, frame) in frames {
        bench.far.iter().for_each(|far| far.0.borrow_mut().gone.clear());
        bench.far[*from].0.borrow_mut().coming.push_back(frame.clone());
        (0..20).for_each(|_| core.turn());
    }
    let dropped = bench.counters.ports.iter().map(|port| port.no_entry.get()).sum();
    ((0..4).filter(|port| !gone(&bench.far[*port]).is_empty()).collect(), dropped)
}

fn entry(to: u8, vlan: Option<u16>, ports: &[usize]) -> StaticEntry {
    StaticEntry { to: [2, 0, 0, 0, 0, to], vlan, ports: ports.to_vec() }
}

#[test]
fn a_static_entry_goes_before_what_was_learned() {
    let forwarding = Forwarding { entries: vec![entry(9, None, &[1, 2])], ..Forwarding::default() };
    // 9 is seen behind port 3.
    let seen = (3, frame(9, 1, 0, 0, 60));
    let to_9 = (0, frame(1, 9, 0, 1, 60));
    assert_eq!(leaves_by(&forwarding, &[seen.clone(), to_9.clone()]), (vec![1, 2], 0));
    assert_eq!(leaves_by(&Forwarding::default(), &[seen, to_9]), (vec![3], 0));
    // Never back to where it came from.
    assert_eq!(leaves_by(&forwarding, &[(1, frame(1, 9, 0, 1, 60))]).0, [2]);
}

#[test]
fn an_entry_of_a_vlan_is_for_its_frames_alone() {
    let forwarding =
        Forwarding { flood: Some(vec![]), entries: vec![entry(9, Some(1), &[2])], ..Forwarding::default() };
    // Frames of this test are of VLAN 1.
    let tagged = frame(1, 9, 0, 1, 60);
    let mut untagged = tagged.clone();
    untagged.drain(12..16);
    assert_eq!(leaves_by(&forwarding, &[(0, tagged)]), (vec![2], 0));
    assert_eq!(leaves_by(&forwarding, &[(0, untagged)]), (vec![], 1));
}

#[test]
fn without_an_entry_frames_stay_on_the_ports_that_flood() {
    let forwarding =
        Forwarding { flood: Some(vec![0, 2]), entries: vec![entry(9, None, &[3])], ..Forwarding::default() };
    let mut broadcast = frame(1, 0, 0, 1, 60);
    broadcast[..6].fill(0xff);
    assert_eq!(leaves_by(&forwarding, &[(0, broadcast.clone())]), (vec![2], 0));
    assert_eq!(leaves_by(&forwarding, &[(0, frame(1, 5, 0, 1, 60))]), (vec![2], 0));
    // By another port only what has an entry comes in, and nobody is learned there.
    assert_eq!(leaves_by(&forwarding, &[(1, broadcast)]), (vec![], 1));
    assert_eq!(leaves_by(&forwarding, &[(1, frame(5, 9, 0, 1, 60)), (0, frame(1, 5, 0, 2, 60))]), (vec![2], 0));
    assert_eq!(leaves_by(&forwarding, &[(2, frame(5, 9, 0, 1, 60)), (0, frame(1, 5, 0, 2, 60))]), (vec![2], 0));
    assert_eq!(leaves_by(&forwarding, &[(2, frame(5, 9, 0, 1, 60)), (1, frame(1, 5, 0, 2, 60))]), (vec![], 1));
}

#[test]
fn without_learning_a_station_that_was_seen_stays_unknown() {
    let forwarding = Forwarding { learning: false, ..Forwarding::default() };
    let frames = [(3, frame(9, 1, 0, 0, 60)), (0, frame(1, 9, 0, 1, 60))];
    assert_eq!(leaves_by(&forwarding, &frames).0, [1, 2, 3]);
}
