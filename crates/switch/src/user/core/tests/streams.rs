//! Streams: filters, meters and gates on frames that come in, and what one that babbles does to others.

use super::super::streams::Outcome;
use super::*;
use crate::user::pool::SLOT;
use ontick_tsn::frame::Header;
use ontick_tsn::model::{Base, Elimination, Meter, Stream, StreamGate, StreamGateEntry};

/// Frames to the station 2, of any VLAN and source.
pub(super) fn stream() -> Stream {
    Stream {
        name: "axis".into(),
        handle: None,
        to: [2, 0, 0, 0, 0, 2],
        vlan: None,
        from: None,
        ingress: None,
        max_sdu: None,
        meter: None,
        gate: None,
        eliminate: None,
        replicate: None,
    }
}

pub(super) fn with(streams: Vec<Stream>, ports: usize) -> (Bench, Switch) {
    let switch = Switch { streams, ..switch(ports, 64) };
    let mut bench = Bench::new(ports);
    bench.counters = Counters::of(&switch);
    (bench, switch)
}

/// How many of these frames, which come in by the first port, leave by the second.
fn passed(stream: Stream, frames: &[Vec<u8>]) -> (usize, [u64; 4]) {
    let (mut bench, switch) = with(vec![stream], 2);
    let mut core = core!(bench, &switch, None);
    bench.far[0].0.borrow_mut().coming.extend(frames.iter().cloned());
    (0..400).for_each(|_| core.turn());
    let of = &bench.counters.streams.all()[0];
    let counted = [of.frames.get(), of.over_sdu.get(), of.gate_closed.get(), of.red.get()];
    assert_eq!(bench.counters.ports[0].policed.get(), counted[1..].iter().sum::<u64>());
    (gone(&bench.far[1]).len(), counted)
}

#[test]
fn a_frame_belongs_to_a_stream_by_all_that_this_asks_for() {
    // Whatever belongs to it is too large.
    let small = |stream: Stream| Stream { max_sdu: Some(42), ..stream };
    let one = [frame(1, 2, 0, 0, 100)];
    let mut untagged = one.clone();
    untagged[0].drain(12..16);
    let (taken, left) = ((0, [1, 1, 0, 0]), (1, [0, 0, 0, 0]));
    assert_eq!(passed(small(stream()), &one), taken);
    assert_eq!(passed(small(Stream { to: [2, 0, 0, 0, 0, 3], ..stream() }), &one), left);
    assert_eq!(passed(small(Stream { vlan: Some(1), ..stream() }), &one), taken);
    assert_eq!(passed(small(Stream { vlan: Some(2), ..stream() }), &one), left);
    assert_eq!(passed(small(Stream { vlan: Some(0), ..stream() }), &one), left);
    assert_eq!(passed(small(Stream { vlan: Some(0), ..stream() }), &untagged), taken);
    assert_eq!(passed(small(Stream { from: Some([2, 0, 0, 0, 0, 1]), ..stream() }), &one), taken);
    assert_eq!(passed(small(Stream { from: Some([2, 0, 0, 0, 0, 7]), ..stream() }), &one), left);
    assert_eq!(passed(small(Stream { ingress: Some(vec![0]), ..stream() }), &one), taken);
    assert_eq!(passed(small(Stream { ingress: Some(vec![1]), ..stream() }), &one), left);
}

#[test]
fn the_first_stream_in_the_file_that_fits_counts() {
    let one = |name: &str, to: u8, vlan, from: Option<u8>| Stream {
        name: name.into(),
        to: [2, 0, 0, 0, 0, to],
        vlan,
        from: from.map(|from| [2, 0, 0, 0, 0, from]),
        max_sdu: Some(42),
        ..stream()
    };
    let streams = vec![
        one("other", 3, None, None),
        one("of 7", 2, None, Some(7)),
        one("of vlan 1", 2, Some(1), None),
        one("of 8", 2, None, Some(8)),
        one("rest", 2, None, None),
    ];
    let (mut bench, switch) = with(streams, 2);
    let mut core = core!(bench, &switch, None);
    let mut untagged = [frame(8, 2, 0, 0, 100), frame(9, 2, 0, 0, 100)];
    untagged.iter_mut().for_each(|frame| drop(frame.drain(12..16)));
    let tagged = [frame(7, 2, 0, 0, 100), frame(8, 2, 0, 0, 100), frame(1, 3, 0, 0, 100)];
    bench.far[0].0.borrow_mut().coming.extend(tagged.into_iter().chain(untagged));
    (0..40).for_each(|_| core.turn());
    let counted: Vec<u64> = bench.counters.streams.all().iter().map(|of| of.over_sdu.get()).collect();
    assert_eq!(counted, [1, 1, 1, 1, 1]);
}

#[test]
fn data_above_the_largest_size_are_dropped() {
    let limited = Stream { max_sdu: Some(100), ..stream() };
    // A header and a tag before the data.
    assert_eq!(passed(limited.clone(), &[frame(1, 2, 0, 0, 118)]), (1, [1, 0, 0, 0]));
    assert_eq!(passed(limited, &[frame(1, 2, 0, 0, 119)]), (0, [1, 1, 0, 0]));
}

#[test]
fn red_frames_are_dropped() {
    // Ten frames of 100 octets with their check sequence at once, and nothing more for a long time.
    let meter = Some(Meter { rate: 1_000, burst: 1_000 });
    let frames: Vec<_> = (0..30).map(|number| frame(1, 2, 0, number, 96)).collect();
    assert_eq!(passed(Stream { meter, ..stream() }, &frames), (10, [30, 0, 0, 20]));
}

/// Frames pass by when they came, not by when the core took them in.
#[test]
fn a_frame_passes_if_its_gate_was_open_when_it_came() {
    let entries = [(false, 700_000), (true, 300_000)].map(|(open, for_ns)| StreamGateEntry { open, for_ns });
    let gate = Some(StreamGate { base: Base::At(1_000_000), cycle_ns: 1_000_000, entries: entries.to_vec() });
    let (mut bench, switch) = with(vec![Stream { gate, ..stream() }], 2);
    let mut core = core!(bench, &switch, None);
    let mut expected = Vec::new();
    for number in 0..400 {
        // The core is held up by the last of these, so that the frame had to wait for it.
        let age_ns = [0, 3_000, 120_000][number as usize % 3];
        let came_ns = bench.clock.0.get();
        bench.clock.pass(age_ns);
        {
            let mut far = bench.far[0].0.borrow_mut();
            far.coming.push_back(frame(1, 2, 0, number, 60));
            far.age_ns = age_ns;
        }
        core.turn();
        if came_ns < 1_000_000 || came_ns % 1_000_000 >= 700_000 {
            expected.push(number);
        }
        // To early in a microsecond, so that the few looks at the clock until the core asks are not beyond an edge.
        let now_ns = bench.clock.0.get();
        bench.clock.pass(23_000 - now_ns % 1_000 + 100);
    }
    (0..4_000).for_each(|_| core.turn());
    let came: Vec<u32> = gone(&bench.far[1]).iter().map(|frame| number(frame)).collect();
    assert_eq!(came, expected);
    assert!(expected.len() > 50 && expected.len() < 350, "{}", expected.len());
    assert_eq!(bench.counters.streams.all()[0].gate_closed.get(), 400 - expected.len() as u64);
}

#[test]
fn a_clock_that_was_set_back_neither_closes_a_gate_nor_empties_a_meter() {
    let entries = [(true, 500_000), (false, 500_000)].map(|(open, for_ns)| StreamGateEntry { open, for_ns });
    let gate = Some(StreamGate { base: Base::At(0), cycle_ns: 1_000_000, entries: entries.to_vec() });
    let meter = Some(Meter { rate: 100_000_000, burst: 1_000 });
    let (bench, switch) = with(vec![Stream { gate, meter, ..stream() }], 2);
    let mut streams = Streams::of(&switch.streams, &bench.counters.streams.all(), 3).unwrap();
    let counters = bench.counters.streams.all();
    let admit = |streams: &mut Streams, at_ns: u64, octets| {
        let mut frame = frame(1, 2, 0, 0, octets);
        let mut header = Header::read(&frame).unwrap();
        streams.receive(0, &mut header, (&mut frame[..], octets), || at_ns) == Outcome::Passes(octets, None)
    };
    assert!(admit(&mut streams, 5_000_000_400, 990));
    assert!(!admit(&mut streams, 5_000_000_450, 990), "the bucket is empty");
    streams.clock_was_set(1_000_000);
    // An octet in 80 ns.
    assert!(admit(&mut streams, 1_080_000, 990), "it fills");
    assert!(!admit(&mut streams, 1_600_000, 60), "and the gate follows its list");
    assert_eq!(counters[0].gate_closed.get(), 1);
}

/// Octets of a frame of the talker that babbles.
const BABBLED: usize = 1_000;
/// What it promised: one of its frames each 100 us.
const PERIOD_NS: u64 = 100_000;

/// The latency of each frame of a quiet stream, in order, where another talker sends to the same port in the same class:
/// as it promised, or without end.
fn latencies(babbles: bool, policed: bool) -> Vec<u64> {
    let octets = u64::from(wire::frame_octets(BABBLED as u32));
    let meter = Meter { rate: octets * 8 * 1_000_000_000 / PERIOD_NS, burst: octets as u32 };
    let babbler = Stream { from: Some([2, 0, 0, 0, 0, 1]), meter: Some(meter), ..stream() };
    let (mut bench, switch) = with(if policed { vec![babbler] } else { Vec::new() }, 3);
    let switch = Switch { forwarding: to_port_2(), ..switch };
    let mut core = core!(bench, &switch, None);
    let (mut sent, mut quiet, mut next_ns) = (Vec::new(), 0, 7_000);
    let mut babbled_ns = 0;
    while quiet < 200 {
        let now_ns = bench.clock.0.get();
        if now_ns >= next_ns {
            // Moments that have no regular distance from the other talker's.
            bench.far[1].0.borrow_mut().coming.push_back(frame(3, 2, 0, quiet, 60));
            sent.push(now_ns);
            quiet += 1;
            next_ns += 137_000 + u64::from(quiet) * 331 % 23_000;
        }
        let mut far = bench.far[0].0.borrow_mut();
        match babbles {
            true if far.coming.is_empty() => far.coming.push_back(frame(1, 2, 0, 0, BABBLED)),
            false if now_ns >= babbled_ns => {
                far.coming.push_back(frame(1, 2, 0, 0, BABBLED));
                babbled_ns += PERIOD_NS;
            }
            _ => {}
        }
        drop(far);
        core.turn();
    }
    (0..40_000).for_each(|_| core.turn());
    let far = bench.far[2].0.borrow();
    let quiet = far.gone.iter().filter(|(_, frame)| frame[11] == 3);
    quiet.map(|(at_ns, frame)| at_ns - sent[number(frame) as usize]).collect()
}

fn to_port_2() -> Forwarding {
    let entry = ontick_tsn::model::StaticEntry { to: [2, 0, 0, 0, 0, 2], vlan: None, ports: vec![2] };
    Forwarding { entries: vec![entry], ..Forwarding::default() }
}

#[test]
fn a_talker_that_babbles_moves_others_by_one_of_its_frames_at_most() {
    let frame_ns = wire::wire_time_ns(BABBLED as u32, GIGABIT);
    let most = |latencies: &[u64]| latencies.iter().copied().max().unwrap();
    let promised = latencies(false, true);
    let babbled = latencies(true, true);
    assert_eq!((promised.len(), babbled.len()), (200, 200), "none is lost");
    // Each frame by itself, and so the largest too. The core's own turn takes a little longer where frames come in.
    for (number, (promised, babbled)) in promised.iter().zip(&babbled).enumerate() {
        assert!(*babbled <= promised + frame_ns + TURN_NS, "frame {number}: {promised} ns, then {babbled} ns");
    }
    // Without the meter the queue fills, and frames wait for all that is in it or are lost.
    let unpoliced = latencies(true, false);
    assert!(unpoliced.len() < 200 || most(&unpoliced) > 10 * frame_ns, "{} {}", unpoliced.len(), most(&unpoliced));
}

/// Of one frame that the core takes in and drops, and one hand-over.
const TURN_NS: u64 = 1_500;

/// A numbered frame, as another switch sends it.
pub(super) fn numbered(mut frame: Vec<u8>, number: u16) -> Vec<u8> {
    let [a, b] = number.to_be_bytes();
    frame.splice(16..16, [0xf1, 0xc1, 0, 0, a, b]);
    frame
}

#[test]
fn a_replicated_frame_leaves_by_each_port_with_the_next_number() {
    let twice = Stream { replicate: Some(vec![1, 2]), ingress: Some(vec![0]), ..stream() };
    let (mut bench, switch) = with(vec![twice], 4);
    let mut core = core!(bench, &switch, None);
    let plain = |number| frame(1, 2, 0, number, 100);
    // One that has a number already keeps it.
    let came = [plain(0), frame(1, 9, 0, 7, 60), plain(1), numbered(plain(2), 500), plain(3)];
    bench.far[0].0.borrow_mut().coming.extend(came);
    (0..200).for_each(|_| core.turn());
    let expected = [numbered(plain(0), 0), numbered(plain(1), 1), numbered(plain(2), 500), numbered(plain(3), 2)];
    for far in [1, 2] {
        let ours: Vec<_> = gone(&bench.far[far]).into_iter().filter(|frame| frame[5] == 2).collect();
        assert_eq!(ours, expected);
    }
    assert_eq!(gone(&bench.far[3]), [frame(1, 9, 0, 7, 60)], "nothing else but what has no stream");
    let counters = &bench.counters.streams.all()[0];
    assert_eq!((counters.frames.get(), counters.numbered.get()), (4, 3));
}

#[test]
fn untagged_frames_are_numbered_behind_their_addresses_and_the_longest_have_no_room() {
    let twice = Stream { replicate: Some(vec![0, 1]), ..stream() };
    let (mut bench, mut switch) = with(vec![twice], 2);
    switch.ports.iter_mut().for_each(|port| port.max_sdu = vec![Some(9_000); 3]);
    let mut core = core!(bench, &switch, None);
    let mut untagged = frame(1, 2, 0, 0, 100);
    untagged.drain(12..16);
    let longest = frame(1, 2, 0, 1, SLOT - 6);
    bench.far[0].0.borrow_mut().coming.extend([untagged.clone(), longest.clone(), frame(1, 2, 0, 2, SLOT - 5)]);
    (0..400).for_each(|_| core.turn());
    let mut expected = untagged;
    expected.splice(12..12, [0xf1, 0xc1, 0, 0, 0, 0]);
    assert_eq!(gone(&bench.far[1]), [expected, numbered(longest, 1)]);
    assert_eq!((bench.counters.streams.all()[0].no_room.get(), bench.counters.ports[0].oversized.get()), (1, 1));
}

#[test]
fn of_two_paths_each_frame_passes_once_and_without_its_number() {
    let once = Stream { eliminate: Some(Elimination::default()), ingress: Some(vec![0, 1]), ..stream() };
    let (mut bench, switch) = with(vec![once], 3);
    let switch = Switch { forwarding: to_port_2(), ..switch };
    let mut core = core!(bench, &switch, None);
    let plain = |number: u32| frame(1, 2, 0, number, 100);
    for number in 0..200u32 {
        // The first path loses every third frame, the second every fifth; the second is later.
        let at =
            |path: usize, number: u32| (number % [3, 5][path] != 0).then(|| numbered(plain(number), number as u16));
        bench.far[0].0.borrow_mut().coming.extend(at(0, number));
        bench.far[1].0.borrow_mut().coming.extend(number.checked_sub(9).and_then(|number| at(1, number)));
        (0..40).for_each(|_| core.turn());
    }
    bench.far[0].0.borrow_mut().coming.push_back(plain(900));
    bench.far[0].0.borrow_mut().coming.push_back(numbered(plain(901), 30_000));
    (0..400).for_each(|_| core.turn());
    let mut came: Vec<u32> = gone(&bench.far[2]).iter().map(|frame| number(frame)).collect();
    assert!(gone(&bench.far[2]).iter().all(|frame| *frame == plain(number(frame))), "as they were sent");
    came.sort_unstable();
    // Of the last nine the second path brings nothing.
    let expected: Vec<u32> = (0..200).filter(|n| n % 3 != 0 || n % 5 != 0 && *n < 191).collect();
    assert_eq!(came, expected);
    let of = &bench.counters.streams.all()[0];
    let all: u64 = [&bench.counters.ports[0], &bench.counters.ports[1]].map(|port| port.eliminated.get()).iter().sum();
    assert_eq!(of.duplicates.get() + of.rogue.get() + of.tagless.get(), all);
    assert_eq!((of.rogue.get(), of.tagless.get(), of.recovered.get()), (1, 1, expected.len() as u64));
    assert!(of.lost.get() > 5, "each fifteenth: {}", of.lost.get());
}

/// A switch between two others: what comes by two paths leaves by two.
#[test]
fn what_is_eliminated_and_replicated_keeps_its_number() {
    let both = Stream { eliminate: Some(Elimination::default()), replicate: Some(vec![2, 3]), ..stream() };
    let (mut bench, switch) = with(vec![both], 4);
    let mut core = core!(bench, &switch, None);
    let one = numbered(frame(1, 2, 0, 0, 100), 4_711);
    bench.far[0].0.borrow_mut().coming.push_back(one.clone());
    bench.far[1].0.borrow_mut().coming.push_back(one.clone());
    (0..40).for_each(|_| core.turn());
    assert_eq!([gone(&bench.far[2]), gone(&bench.far[3])], [vec![one.clone()], vec![one]]);
}
