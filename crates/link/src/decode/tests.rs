//! What a decoder makes of frames, of damage to them, and of noise.

use proptest::prelude::*;

use super::*;
use crate::frame::tests::{frames, shapes};
use crate::frame::{Kind, Shape};
use crate::wave::Wave;

fn codes() -> impl Strategy<Value = Code> {
    (0u8..=4, 0u8..=4, 5_000u64..200_000, 2_000u64..100_000).prop_filter_map(
        "a symbol carries a bit",
        |(pulse_bits, gap_bits, shortest_ns, step_ns)| {
            (pulse_bits + gap_bits > 0).then_some(Code { pulse_bits, gap_bits, shortest_ns, step_ns })
        },
    )
}

/// The edges of stretches; what follows them on a quiet line, and the time at its end.
fn edges(stretches: &[u64], from_ns: u64) -> Vec<LineEvent> {
    let mut time_ns = from_ns;
    let mut edges = vec![LineEvent::Edge { rising: true, time_ns, lost: 0, blind_ns: 0 }];
    for (n, stretch) in stretches.iter().enumerate() {
        time_ns += stretch;
        edges.push(LineEvent::Edge { rising: n % 2 == 1, time_ns, lost: 0, blind_ns: 0 });
    }
    edges
}

fn stretches(wave: &Wave) -> Vec<u64> {
    wave.stretches.iter().map(|ns| u64::from(*ns)).collect()
}

/// What is heard of these edges and a long rest after them.
fn hear(code: Code, seen: impl IntoIterator<Item = LineEvent>) -> Vec<Decoded> {
    let mut decoder = Decoder::new(code);
    seen.into_iter().for_each(|seen| decoder.take(seen));
    decoder.take(LineEvent::Quiet(u64::MAX));
    std::iter::from_fn(|| decoder.pop()).collect()
}

fn frame() -> Frame {
    Frame { kind: Kind::Data, number: 3, payload: (0..200).collect() }
}

const SHAPE: Shape = Shape { block: 8, parity: 20 };

proptest! {
    /// A receiver with a clock that is off, behind overheads that lengthen pulses and shorten gaps, and with
    /// jitter below half a step reads what was sent.
    #[test]
    fn frames_come_through_overheads_drift_and_jitter(
        code in codes(),
        frame in frames(150),
        shape in shapes(),
        drift in -0.01f64..0.01,
        overhead in 0.0f64..0.2,
        seed in any::<u64>(),
    ) {
        let mut random = seed | 1;
        let overhead_ns = overhead * code.shortest_ns as f64;
        let mut heard = stretches(&Wave::new(&frame, shape, code));
        for (n, ns) in heard.iter_mut().enumerate() {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let room_ns = 0.3 * code.step_ns.min(code.shortest_ns) as f64;
            let jitter = ((random >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * room_ns;
            let overhead_ns = if n % 2 == 0 { overhead_ns } else { -overhead_ns };
            *ns = (*ns as f64 * (1.0 + drift) + overhead_ns + jitter).max(1.0) as u64;
        }
        match &hear(code, edges(&heard, 5_000))[..] {
            [Decoded::Frame { frame: read, mended: 0, .. }] => prop_assert_eq!(read, &frame),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn a_glitch_in_a_stretch_is_taken_out(code in codes(), frame in frames(60), at in any::<prop::sample::Index>()) {
        let mut heard = stretches(&Wave::new(&frame, Shape { block: 8, parity: 0 }, code));
        let at = at.index(heard.len());
        let (whole, glitch) = (heard[at], (code.shortest_ns / 10).max(1));
        let first = (whole - glitch) / 2;
        prop_assume!(first >= code.shortest_ns / 4 && whole - glitch - first >= code.shortest_ns / 4);
        heard.splice(at..=at, [first, glitch, whole - glitch - first]);
        match &hear(code, edges(&heard, 0))[..] {
            [Decoded::Frame { frame: read, .. }] => prop_assert_eq!(read, &frame),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Pulses that were missed or merged, invented edges, stops: nothing wrong is handed on, ever.
    #[test]
    fn no_damage_makes_a_wrong_frame(
        code in codes(),
        frame in frames(300),
        shape in shapes(),
        missed in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..4, 1u64..1_000_000), 1..20),
    ) {
        let mut heard = stretches(&Wave::new(&frame, shape, code));
        for (index, how, ns) in missed {
            let at = index.index(heard.len() - 2);
            match how {
                0 => { let merged = heard[at] + heard[at + 1] + heard[at + 2]; heard.splice(at..at + 3, [merged]); }
                1 => heard[at] += ns,
                2 => { heard.splice(at..at, [ns, ns / 2]); }
                _ => { heard.remove(at); }
            }
            if heard.len() < 4 {
                break;
            }
        }
        for heard in hear(code, edges(&heard, 0)) {
            if let Decoded::Frame { frame: read, .. } = heard {
                prop_assert_eq!(&read, &frame);
            }
        }
    }

    #[test]
    fn anything_is_answered(code in codes(), seen in proptest::collection::vec(
        (any::<bool>(), any::<bool>(), any::<u64>(), any::<u16>(), any::<u32>()), 0..300)
    ) {
        let mut decoder = Decoder::new(code);
        for (edge, rising, time_ns, lost, blind_ns) in seen {
            let (time_ns, lost) = (if blind_ns % 2 == 0 { time_ns >> 40 } else { time_ns }, lost % 3);
            decoder.take(if edge { LineEvent::Edge { rising, time_ns, lost, blind_ns } } else { LineEvent::Quiet(time_ns) });
            while let Some(heard) = decoder.pop() {
                let is_frame = matches!(heard, Decoded::Frame { .. });
                prop_assert!(!is_frame);
            }
        }
    }
}

#[test]
fn frames_follow_one_another() {
    let code = Code::new("4x4", 20_000, 10_000).unwrap();
    let mut decoder = Decoder::new(code);
    let (mut from_ns, mut heard) = (5_000, Vec::new());
    for number in 0..5 {
        let frame = Frame { number, ..frame() };
        let whole = stretches(&Wave::new(&frame, SHAPE, code));
        edges(&whole, from_ns).into_iter().for_each(|seen| decoder.take(seen));
        from_ns += whole.iter().sum::<u64>() + code.idle_ns();
        decoder.take(LineEvent::Quiet(from_ns));
        heard.extend(std::iter::from_fn(|| decoder.pop()));
    }
    let numbers: Vec<u32> = heard
        .iter()
        .filter_map(|heard| if let Decoded::Frame { frame, .. } = heard { Some(frame.number) } else { None })
        .collect();
    assert_eq!((numbers, heard.len()), (vec![0, 1, 2, 3, 4], 5));
}

/// A receiver that was stopped again and again, for longer than a symbol: only the blocks that it was stopped in are
/// lost.
#[test]
fn stops_of_the_receiver_spoil_blocks_and_not_frames() {
    let code = Code::new("4x4", 1_000, 500).unwrap();
    let frame = Frame { payload: (0..=255).cycle().take(800).collect(), ..frame() };
    let wave = Wave::new(&frame, Shape { block: 10, parity: 20 }, code);
    let all = edges(&stretches(&wave), 0);
    let (mut seen, mut blind_until_ns, mut stops) = (Vec::new(), 0, 0);
    let mut level = false;
    for edge in all {
        let LineEvent::Edge { rising, time_ns, .. } = edge else { unreachable!() };
        if time_ns > 1_000_000 * (stops + 1) {
            (blind_until_ns, stops) = (time_ns + 15_000, stops + 1);
        }
        // Who polls sees the level as it is when it looks again, if it is another.
        if time_ns >= blind_until_ns && rising != level {
            let blind_ns = if blind_until_ns > 0 { 15_000 } else { 0 };
            seen.push(LineEvent::Edge { rising, time_ns, lost: 0, blind_ns });
            (level, blind_until_ns) = (rising, 0);
        }
    }
    assert!(stops > 3, "{stops}");
    match &hear(code, seen)[..] {
        [Decoded::Frame { frame: read, came, .. }] => {
            let lost = came.iter().filter(|block| block.is_none()).count();
            assert_eq!(read, &frame);
            assert!((1..=2 * stops as usize).contains(&lost), "{lost} blocks for {stops} stops");
        }
        other => panic!("{other:?}"),
    }
}

/// A sender that was stopped says the block again.
#[test]
fn a_block_that_is_sent_again_replaces_the_spoiled_one() {
    let code = Code::SOURCE_002;
    let wave = Wave::new(&frame(), Shape { block: 8, parity: 0 }, code);
    let mut heard = stretches(&wave);
    // The last pulse before the fourth mark came out as another, and long enough for a rest.
    for late_ns in [100_000, 900_000, 30_000_000] {
        let (from, to) = (wave.marks[3], wave.marks[4]);
        let again = heard[from..].to_vec();
        heard.truncate(to);
        heard[to - 2] = if heard[to - 2] == 100_000 { 200_000 } else { 100_000 };
        heard[to - 1] = late_ns;
        heard.extend(again);
        match &hear(code, edges(&heard, 0))[..] {
            [Decoded::Frame { frame: read, mended: 0, .. }] => assert_eq!(read, &frame()),
            other => assert!(late_ns >= GIVEN_UP_NS, "{late_ns}: {other:?}"),
        }
        heard = stretches(&wave);
    }
}

#[test]
fn a_frame_whose_beginning_was_not_seen_is_read_by_its_second_header() {
    let code = Code::SOURCE_002;
    let wave = Wave::new(&frame(), SHAPE, code);
    let from = wave.marks[2];
    let heard = hear(code, edges(&stretches(&wave)[from..], 0));
    assert!(matches!(&heard[..], [Decoded::Frame { frame: read, mended: 1, .. }] if *read == frame()), "{heard:?}");
}

#[test]
fn what_came_of_a_frame_is_put_together_when_it_is_sent_again() {
    let code = Code::SOURCE_002;
    let mut decoder = Decoder::new(code);
    let (mut from_ns, mut heard) = (5_000, Vec::new());
    // More than the parity can replace is lost each time, and not the same; the second time it asks.
    for (kind, lost) in [(Kind::Data, [4, 8, 12, 15, 16, 18, 20, 21]), (Kind::Asking, [3, 5, 7, 9, 11, 13, 17, 19])] {
        let wave = Wave::new(&Frame { kind, ..frame() }, SHAPE, code);
        let mut whole = stretches(&wave);
        lost.into_iter().for_each(|block| whole[wave.marks[block] + 4] = 7_000_000);
        edges(&whole, from_ns).into_iter().for_each(|seen| decoder.take(seen));
        from_ns += whole.iter().sum::<u64>() + code.idle_ns();
        decoder.take(LineEvent::Quiet(from_ns));
        heard.extend(std::iter::from_fn(|| decoder.pop()));
    }
    let asked = Frame { kind: Kind::Asking, ..frame() };
    assert!(
        matches!(&heard[..], [Decoded::Damaged { damage: Damage::Missing { .. }, .. }, Decoded::Frame { frame, .. }] if *frame == asked),
        "{heard:?}"
    );
}

#[test]
fn a_frame_that_breaks_off_is_reported_by_number() {
    let code = Code::SOURCE_002;
    let wave = Wave::new(&frame(), SHAPE, code);
    let heard = hear(code, edges(&stretches(&wave)[..=wave.marks[6]], 0));
    let missing = |heard: &Decoded| matches!(heard, Decoded::Damaged { damage: Damage::Missing { number: 3, .. }, .. });
    assert!(matches!(&heard[..], [one] if missing(one)), "{heard:?}");
}

#[test]
fn noise_is_reported_and_fills_no_memory() {
    let code = Code::SOURCE_002;
    let mut decoder = Decoder::new(code);
    let (mut stretches, mut state) = (0, 1u64);
    let mut time_ns = 0;
    for n in 0..1_000_000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        time_ns += 30_000 + (state >> 46);
        decoder.take(LineEvent::Edge { rising: n % 2 == 0, time_ns, lost: 0, blind_ns: 0 });
        while let Some(heard) = decoder.pop() {
            match heard {
                Decoded::Noise { stretches: n } => stretches += n,
                Decoded::Damaged { .. } => {}
                Decoded::Frame { .. } => panic!("nothing was sent"),
            }
        }
    }
    assert!(stretches > 100_000, "{stretches}");
}

/// A sender may have been stopped in the middle: as long as a rest of a slow code may be no rest, more is waited for.
#[test]
fn a_frame_of_a_slow_code_is_not_given_up_too_soon() {
    let code = Code::new("2x1", 10_000_000, 10_000_000).unwrap();
    let wave = Wave::new(&frame(), Shape { block: 32, parity: 0 }, code);
    let edges = edges(&stretches(&wave)[..=wave.marks[2]], 0);
    let Some(LineEvent::Edge { time_ns: ended_ns, .. }) = edges.last().copied() else { panic!() };
    let mut decoder = Decoder::new(code);
    edges.into_iter().for_each(|seen| decoder.take(seen));
    for rested_ns in [code.idle_ns(), 2 * code.idle_ns() - 1] {
        decoder.take(LineEvent::Quiet(ended_ns + rested_ns));
        assert_eq!(decoder.pop(), None, "{rested_ns}");
    }
    decoder.take(LineEvent::Quiet(ended_ns + 2 * code.idle_ns()));
    assert!(matches!(decoder.pop(), Some(Decoded::Damaged { .. })));
}

/// A stretch of parts is no surer than each of them: an edge that was missed in one may have been a bit.
#[test]
fn a_glitch_makes_nothing_sure_that_was_not() {
    let code = Code::new("2x1", 100_000, 100_000).unwrap();
    let wave = Wave::new(&frame(), Shape { block: 32, parity: 0 }, code);
    let mut heard = stretches(&wave);
    // In the first block with data.
    let at = wave.marks[1] + 10;
    let whole = heard[at];
    heard.splice(at..=at, [whole / 2, 1_000, whole - whole / 2 - 1_000]);
    let came = |missed: u16| {
        let mut edges = edges(&heard, 0);
        // The edge that ends the last part: the first edge begins the first stretch.
        if let LineEvent::Edge { lost, .. } = &mut edges[at + 3] {
            *lost = missed;
        }
        hear(code, edges)
    };
    assert!(matches!(&came(0)[..], [Decoded::Frame { .. }]));
    assert!(matches!(&came(1)[..], [Decoded::Damaged { .. }]));
}

/// Where gaps carry nothing, a sender may be stopped in one for as long as it is no rest.
#[test]
fn a_gap_that_carries_nothing_may_have_any_length() {
    let code = Code::SOURCE_002;
    let wave = Wave::new(&frame(), Shape { block: 32, parity: 0 }, code);
    for gap_ns in [100_000, 250_000, code.mark_ns(), code.cancel_ns(), code.idle_ns() - 1] {
        let mut heard = stretches(&wave);
        // In the first block with data, behind a pulse with bits.
        heard[wave.marks[1] + 11] = gap_ns;
        let heard = hear(code, edges(&heard, 0));
        assert!(
            matches!(&heard[..], [Decoded::Frame { frame: read, mended: 0, .. }] if *read == frame()),
            "{gap_ns}: {heard:?}"
        );
    }
}

/// A sender that finds a pulse to have been too long, and not like a mark, says so in the gap behind it.
#[test]
fn a_pulse_that_was_too_long_is_taken_back_by_its_gap() {
    let code = Code::new("4x4", 1_000, 400).unwrap();
    let wave = Wave::new(&frame(), Shape { block: 8, parity: 0 }, code);
    for pulse in (wave.marks[0]..=wave.marks[2]).step_by(2) {
        let is_mistaken = |late_ns: &u64| code.resembles_mark(wave.stretches[pulse] as u64 + late_ns);
        for late_ns in (0..5_000).step_by(50).filter(|late_ns| !is_mistaken(late_ns)) {
            let mut heard = stretches(&wave);
            heard.splice(pulse..pulse, [heard[pulse] + late_ns, code.cancel_ns()]);
            let heard = hear(code, edges(&heard, 0));
            assert!(
                matches!(&heard[..], [Decoded::Frame { frame: read, mended: 0, .. }] if *read == frame()),
                "{late_ns} ns in {pulse}: {heard:?}"
            );
        }
    }
}

/// Who looked away for longer than half a step may take one width for another.
#[test]
fn an_edge_is_sure_to_half_a_step() {
    let code = Code::new("2x2", 100_000, 60_000).unwrap();
    let wave = Wave::new(&frame(), Shape { block: 32, parity: 0 }, code);
    let came = |ns: u32| {
        let mut edges = edges(&stretches(&wave), 0);
        if let LineEvent::Edge { blind_ns, .. } = &mut edges[wave.marks[1] + 11] {
            *blind_ns = ns;
        }
        hear(code, edges)
    };
    assert!(matches!(&came(30_000)[..], [Decoded::Frame { .. }]));
    assert!(matches!(&came(30_001)[..], [Decoded::Damaged { .. }]));
}

#[test]
fn glitches_are_counted() {
    let code = Code::new("2x1", 100_000, 100_000).unwrap();
    let wave = Wave::new(&frame(), Shape { block: 32, parity: 0 }, code);
    let mut heard = stretches(&wave);
    for count in 0..4 {
        let mut decoder = Decoder::new(code);
        edges(&heard, 0).into_iter().for_each(|seen| decoder.take(seen));
        assert_eq!(decoder.glitches(), count);
        // One more, in a stretch behind the others.
        let at = wave.marks[1] + 10 + 6 * count as usize;
        let whole = heard[at];
        heard.splice(at..=at, [whole / 2, 1_000, whole - whole / 2 - 1_000]);
    }
}

/// Whoever waits sees by them that the other end is at work, though no frame is whole yet; noise has none.
#[test]
fn blocks_are_counted_as_they_come() {
    let code = Code::new("2x1", 5_000, 5_000).unwrap();
    let wave = Wave::new(&frame(), SHAPE, code);
    let mut decoder = Decoder::new(code);
    let seen = edges(&stretches(&wave), 1_000);
    let counts: Vec<u64> = seen
        .into_iter()
        .map(|seen| {
            decoder.take(seen);
            decoder.blocks()
        })
        .collect();
    assert!(counts.windows(2).all(|pair| pair[1] - pair[0] <= 1));
    let wanted = wave.marks.len() as u64 - 1;
    assert!((wanted - 1..=wanted).contains(counts.last().unwrap()), "{:?} of {wanted}", counts.last());
    let mut decoder = Decoder::new(code);
    edges(&[7_000; 3_000], 1_000).into_iter().for_each(|seen| decoder.take(seen));
    assert_eq!(decoder.blocks(), 0);
}

/// Whose first header was spoiled: what came is kept for the second, however much it is.
#[test]
fn many_blocks_without_a_header_are_not_taken_for_noise() {
    let code = Code::SOURCE_002;
    let frame = Frame { payload: (0..=255).cycle().take(4_000).collect(), ..frame() };
    let wave = Wave::new(&frame, Shape { block: 32, parity: 60 }, code);
    let heard = &stretches(&wave)[wave.marks[2]..];
    assert!(heard.len() as u64 > NOISE, "{}", heard.len());
    let heard = hear(code, edges(heard, 0));
    assert!(
        matches!(&heard[..], [Decoded::Frame { frame: read, mended: 1, .. }] if *read == frame),
        "{} heard",
        heard.len()
    );
}
