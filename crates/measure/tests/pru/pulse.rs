//! Pulses: as wide and as far apart as was asked, to the cycle.

use std::process::Command;

use ontick_measure::pru::layout::{Kind, at, flag, state};

use super::simulator::{BUSY, Costs, MEASURED, Outcome, SIMULATED, STARTED, Script, WORKS, built};

/// What the firmware needs between two pulses (SHORTEST of pulse.s).
const SHORTEST: u32 = 120;
const COUNT: u32 = 5;

fn train(costs: Costs, pru: u32, output: u32, width: u32, gap: u32) -> Option<Outcome> {
    let until = 2 * WORKS + u64::from(COUNT + 1) * u64::from(width + gap + 300);
    let parameters = [
        (at::OUTPUT, output),
        (at::COUNT, COUNT),
        (at::WIDTH, width),
        (at::GAP, gap),
        (at::BASE, width.saturating_sub(128)),
    ];
    Script::new(Kind::Pulse, pru).cost(costs).start(&parameters).run(until)
}

/// Widths and gaps, in cycles, of pulses on this pin.
fn pulses(seen: &Outcome, output: u32) -> (Vec<u64>, Vec<u64>) {
    let levels: Vec<u32> = seen.changes.iter().map(|(_, pins)| *pins).collect();
    let expected = (0..levels.len()).map(|i| if i % 2 == 0 { 1 << output } else { 0 });
    assert_eq!(levels, expected.collect::<Vec<_>>());
    let apart = |from: usize| {
        seen.changes.windows(2).skip(from).step_by(2).map(|pair| pair[1].0 - pair[0].0).collect::<Vec<_>>()
    };
    (apart(0), apart(1))
}

#[test]
fn widths_and_gaps_are_exact_to_the_cycle() {
    let widths = [4, 5, 6, 7, 8, 9, 10, 99, 100, 200, 201, 1_999, 2_000, 20_000, 20_001, 200_000];
    let all = widths.into_iter().enumerate().flat_map(|(i, width)| [(i, width, SIMULATED), (i, width, MEASURED)]);
    for (i, width, costs) in all {
        let (pru, output, gap) = (i as u32 % 2, i as u32, SHORTEST + 13 * i as u32);
        let Some(seen) = train(costs, pru, output, width, gap) else { return };
        seen.is(Kind::Pulse, state::FINISHED);
        assert_eq!(seen.word(at::READ), costs[1]);
        let (made, apart) = pulses(&seen, output);
        assert_eq!(made, vec![u64::from(width); COUNT as usize], "width {width}");
        assert_eq!(apart, vec![u64::from(gap); COUNT as usize - 1], "gap {gap}");
        // Its own counter says the same.
        let reported = [at::DONE, at::LEAST, at::MOST, at::BELOW, at::ABOVE, at::LATE].map(|offset| seen.word(offset));
        assert_eq!(reported, [COUNT, width, width, 0, 0, 0], "width {width}");
        assert_eq!((seen.word(at::SUM_LOW), seen.word(at::SUM_HIGH)), (COUNT * width, 0));
        assert_eq!(seen.cells(), [(width, COUNT)]);
    }
}

#[test]
fn every_gap_is_exact_whatever_its_remainder() {
    for (costs, gap) in
        [SIMULATED, MEASURED].into_iter().flat_map(|costs| (SHORTEST..SHORTEST + 26).map(move |gap| (costs, gap)))
    {
        let Some(seen) = train(costs, 0, 3, 7, gap) else { return };
        assert_eq!(pulses(&seen, 3).1, vec![u64::from(gap); COUNT as usize - 1]);
        assert_eq!(seen.word(at::LATE), 0, "gap {gap}");
    }
}

/// However slow memory is: a pulse is as wide as ever, and a gap that cannot be kept is reported.
#[test]
fn memory_that_is_busy_makes_no_pulse_wider() {
    for (width, gap) in [(4, SHORTEST), (5, SHORTEST + 7), (200, 400), (1_001, 2_000)] {
        let Some(seen) = train(BUSY, 1, 4, width, gap) else { return };
        seen.is(Kind::Pulse, state::FINISHED);
        let (made, apart) = pulses(&seen, 4);
        assert_eq!(made, vec![u64::from(width); COUNT as usize]);
        assert_eq!(seen.cells(), [(width, COUNT)]);
        let late = apart.iter().filter(|apart| **apart != u64::from(gap)).count();
        assert!(apart.iter().all(|apart| *apart >= u64::from(gap)), "{apart:?} for {gap}");
        assert!(late <= seen.word(at::LATE) as usize, "{late} of {apart:?}, reported {}", seen.word(at::LATE));
    }
}

/// What the simulator takes for a read is an estimate; a pulse's width must not hang on it.
#[test]
fn nothing_between_rise_and_fall_touches_memory() {
    for pru in 0..2 {
        let (Some(objdump), Some(firmware)) =
            (built("bin/pru-elf-objdump"), built(&format!("firmware/{}", Kind::Pulse.file(pru))))
        else {
            return;
        };
        let output = Command::new(objdump).arg("-d").arg(firmware).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // From the read before the rise to the read after the fall.
        let of_train = text.split("<now>:").nth(1).unwrap();
        let mnemonics: Vec<&str> =
            of_train.lines().skip(1).filter_map(|line| line.split('\t').nth(2)).map(str::trim).take(9).collect();
        assert_eq!(mnemonics, ["lbbo", "set", "qbbc", "mov", "sub", "qbne", "clr", "lbbo", "sub"]);
    }
}

#[test]
fn it_ends_within_a_pulse_and_a_round_and_leaves_the_line_at_rest() {
    // However the request falls: once around `wait` takes 12 cycles or so, and the last stretch of a gap NEAR.
    const ROUND: u64 = 80;
    for asked in [0u64, 3, 17, 50, 150, 290, 301, 320] {
        for (flags, rest) in [(0, 0), (1 << flag::REST_HIGH, 1 << 2)] {
            let stop = WORKS + 1_000 + asked;
            let parameters = [
                (at::OUTPUT, 2),
                (at::COUNT, 0),
                (at::WIDTH, 300),
                (at::GAP, 400),
                (at::BASE, 200),
                (at::FLAGS, flags),
            ];
            let mut script = Script::new(Kind::Pulse, 0);
            script.start(&parameters).write(stop, at::COMMAND, 0);
            let Some(seen) = script.run(stop + 300 + ROUND + 200) else { return };
            // Idle again, as COMMAND is 0 already.
            seen.is(Kind::Pulse, state::IDLE);
            let last = seen.changes.last().unwrap();
            assert_eq!(last.1, rest, "asked at {asked}");
            assert!(last.0 <= stop + 300 + ROUND, "asked at {stop}, ended at {}", last.0);
            assert_eq!(seen.cells(), [(300, seen.word(at::DONE))]);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name_and_the_line_does_not_move() {
    let good = [(at::OUTPUT, 2), (at::COUNT, 3), (at::WIDTH, 4), (at::GAP, SHORTEST)];
    for (offset, value) in [(at::OUTPUT, 16), (at::INPUT, 17), (at::WIDTH, 3), (at::GAP, SHORTEST - 1)] {
        let mut script = Script::new(Kind::Pulse, 1);
        script.start(&good).write(STARTED - 1, at::INPUT, 0).write(STARTED, offset, value);
        // The last write of a word counts, and all of them come before the word to start is read.
        let Some(seen) = script.run(WORKS) else { return };
        seen.is_refused(offset);
    }
    // Put right and asked once more, it works.
    let mut script = Script::new(Kind::Pulse, 1);
    script.start(&good).write(STARTED, at::WIDTH, 0);
    script.write(WORKS, at::COMMAND, 0).write(WORKS + 100, at::WIDTH, 10).write(WORKS + 100, at::COMMAND, 1);
    let Some(seen) = script.run(2 * WORKS) else { return };
    seen.is(Kind::Pulse, state::FINISHED);
    assert_eq!(pulses(&seen, 2).0, [10, 10, 10]);
}

/// The counter cannot wrap. One gap is longer when it is set back; no pulse is.
#[test]
fn when_the_counter_is_set_back_one_gap_is_longer_and_no_pulse() {
    let counter = 0x2_200c;
    let parameters = [(at::OUTPUT, 0), (at::COUNT, 20), (at::WIDTH, 101), (at::GAP, 300), (at::BASE, 50)];
    let mut script = Script::new(Kind::Pulse, 0);
    // As if it had run for 10.7 s, less a few periods.
    script.start(&parameters).poke(STARTED - 100, counter, 0x8000_0000 - 2_000 - 1_500);
    let Some(seen) = script.run(WORKS + 21 * 401) else { return };
    let (made, apart) = pulses(&seen, 0);
    assert_eq!(made, [101; 20]);
    let longer: Vec<u64> = apart.iter().map(|gap| gap - 300).filter(|more| *more > 0).collect();
    assert!(matches!(longer[..], [1..=20]), "{apart:?}");
    assert_eq!((seen.cells(), seen.word(at::LATE)), (vec![(101, 20)], 0));
}

/// What a late gap does: the pulse is as wide as ever, and it is reported.
#[test]
fn a_gap_that_the_counter_missed_is_reported() {
    let counter = 0x2_200c;
    let parameters = [(at::OUTPUT, 0), (at::COUNT, 6), (at::WIDTH, 50), (at::GAP, 2_000), (at::BASE, 0)];
    let mut script = Script::new(Kind::Pulse, 0);
    // Somebody else's write makes the counter jump within a gap.
    script.start(&parameters).poke(WORKS + 2_050 + 600, counter, 0x10_0000);
    let Some(seen) = script.run(WORKS + 7 * 2_050) else { return };
    assert_eq!(pulses(&seen, 0).0, [50; 6]);
    assert_eq!((seen.word(at::LATE), seen.word(at::DONE)), (1, 6));
}
