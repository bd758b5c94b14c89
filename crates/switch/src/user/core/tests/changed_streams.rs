//! Streams that change while the core runs: each frame is held to those of before or to those of now.

use std::sync::Arc;

use super::streams::{numbered, stream, with};
use super::*;
use crate::user::counters::StreamCounters;
use ontick_tsn::model::{Base, Elimination, Meter, Stream, StreamGate, StreamGateEntry};

/// Tells the core of streams in place of others; their counters.
fn change(
    counters: &Counters,
    send: &mut Producer<Command<Near>>,
    before: &[Stream],
    after: &[Stream],
) -> Vec<Arc<StreamCounters>> {
    let all = counters.streams.all();
    let of_before = |name: &str| before.iter().zip(&all).find(|(old, _)| old.name == name);
    let counters: Vec<Arc<StreamCounters>> = after
        .iter()
        .map(|stream| of_before(&stream.name).map_or_else(Arc::default, |(_, counters)| counters.clone()))
        .collect();
    let streams = Streams::after(before, after, after, &counters, 5);
    assert!(send.push(Command::Streams(streams)).is_ok());
    counters
}

fn named(name: &str, to: u8) -> Stream {
    Stream { name: name.into(), to: [2, 0, 0, 0, 0, to], ..stream() }
}

#[test]
fn new_and_changed_streams_are_policed_at_once_and_others_go_on() {
    let meter = Some(Meter { rate: 1_000, burst: 1_000 });
    let metered = Stream { meter, ..named("metered", 2) };
    let sized = Stream { max_sdu: Some(200), ..named("sized", 3) };
    let gone_then = Stream { max_sdu: Some(42), ..named("gone", 4) };
    let before = [metered.clone(), sized.clone(), gone_then];
    let (mut bench, switch) = with(before.to_vec(), 2);
    let mut core = core!(bench, &switch, None);
    // Of ten frames of 100 octets with their check sequence six pass before, and four after it.
    let frames = |metered: usize| {
        let some = (0..metered).map(|_| frame(1, 2, 0, 0, 96));
        some.chain([3, 4, 5].map(|to| frame(1, to, 0, 0, 118))).collect::<Vec<_>>()
    };
    let left = |bench: &Bench| [2, 3, 4, 5].map(|to| gone(&bench.far[1]).iter().filter(|of| of[5] == to).count());
    bench.far[0].0.borrow_mut().coming.extend(frames(6));
    (0..400).for_each(|_| core.turn());
    assert_eq!(left(&bench), [6, 1, 0, 1]);

    let new = Stream { max_sdu: Some(42), ..named("new", 5) };
    let after = [new, Stream { max_sdu: Some(99), ..sized }, metered];
    let counters = change(&bench.counters, &mut bench.send, &before, &after);
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.extend(frames(6));
    (0..400).for_each(|_| core.turn());
    assert_eq!(left(&bench), [10, 1, 1, 1]);
    let counted: Vec<_> = counters.iter().map(|of| [of.frames.get(), of.over_sdu.get(), of.red.get()]).collect();
    assert_eq!(counted, [[1, 1, 0], [2, 1, 0], [12, 0, 2]]);
    assert!(matches!(bench._discarded.pop(), Ok(Discarded::Streams(_))));

    // A meter that is set anew is not filled by that; without streams all frames pass.
    let wider = Stream { meter: Some(Meter { rate: 1_001, burst: 1_001 }), ..after[2].clone() };
    let then = [wider];
    bench.counters.streams.replace(counters);
    let counters = change(&bench.counters, &mut bench.send, &after, &then);
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.extend(frames(1));
    (0..400).for_each(|_| core.turn());
    assert_eq!((left(&bench), counters[0].red.get()), ([10, 2, 2, 2], 3));
    change(&bench.counters, &mut bench.send, &then, &[]);
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.extend(frames(1));
    (0..400).for_each(|_| core.turn());
    assert_eq!(left(&bench), [11, 3, 3, 3]);
}

#[test]
fn a_new_list_of_a_stream_gate_begins_at_its_base_time() {
    let gate = |base_ns, open: bool| {
        let entries = [(open, 500_000), (!open, 500_000)].map(|(open, for_ns)| StreamGateEntry { open, for_ns });
        Some(StreamGate { base: Base::At(base_ns), cycle_ns: 1_000_000, entries: entries.to_vec() })
    };
    let before = [Stream { gate: gate(0, true), ..stream() }];
    let (mut bench, switch) = with(before.to_vec(), 2);
    let mut core = core!(bench, &switch, None);
    let mut passed = Vec::new();
    for number in 0..80u64 {
        if number == 20 {
            // At 1 ms, for 2 ms.
            change(&bench.counters, &mut bench.send, &before, &[Stream { gate: gate(2_000_000, false), ..stream() }]);
            core.housekeeping();
        }
        bench.clock.0.set(number * 50_000 + 10_000);
        let before = gone(&bench.far[1]).len();
        bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 0, 60));
        (0..20).for_each(|_| core.turn());
        passed.push(gone(&bench.far[1]).len() > before);
    }
    let expected: Vec<bool> = (0..80).map(|number| (number % 20 < 10) == (number < 40)).collect();
    assert_eq!(passed, expected);
}

#[test]
fn numbers_of_replicated_and_eliminated_frames_go_on() {
    let numbers = Stream { replicate: Some(vec![1, 2]), ..named("numbers", 2) };
    let once = Stream { eliminate: Some(Elimination::default()), ..named("once", 3) };
    let before = [numbers, once];
    let after = [before[1].clone(), Stream { max_sdu: Some(500), ..before[0].clone() }];
    let (mut bench, switch) = with(before.to_vec(), 3);
    let mut core = core!(bench, &switch, None);
    let come = |bench: &Bench| {
        let both = [frame(1, 2, 0, 0, 100), numbered(frame(1, 3, 0, 0, 100), 77)];
        bench.far[0].0.borrow_mut().coming.extend(both);
    };
    come(&bench);
    (0..100).for_each(|_| core.turn());
    let counters = change(&bench.counters, &mut bench.send, &before, &after);
    core.housekeeping();
    come(&bench);
    (0..100).for_each(|_| core.turn());
    let sent: Vec<_> = gone(&bench.far[1]).into_iter().filter(|of| of[5] == 2).collect();
    assert_eq!(sent, [0, 1].map(|number| numbered(frame(1, 2, 0, 0, 100), number)));
    assert_eq!((counters[0].duplicates.get(), counters[1].numbered.get()), (1, 2));
}
