//! Responses: within the cycles that response.s derives, whenever the change comes.

use ontick_measure::pru::layout::{Kind, at, flag, state};

use super::simulator::{MEASURED, Outcome, SIMULATED, STARTED, Script, WORKS};

const OUTPUT: u32 = 5;
const INPUT: u32 = 14;
/// From a change to the pin's answer, at most; and from the first look that can see it, at least.
const WORST: u64 = 7;
const BEST: u64 = 2;
/// After an answer its bookkeeping takes less than this.
const BOOKKEEPING: u64 = 80;

/// Changes the input so often, this far apart and a little more each time, and gives for each how long the answer took.
fn answered(script: &mut Script, times: usize, apart: u64) -> Option<(Outcome, Vec<u64>)> {
    // A round of looks is 9 cycles here: every phase of it comes.
    let changes: Vec<u64> = (0..times as u64).map(|i| WORKS + i * apart + i * i % 31).collect();
    for (i, cycle) in changes.iter().enumerate() {
        script.input(*cycle, if i % 2 == 0 { 1 << INPUT } else { 0 });
    }
    let seen = script.run(WORKS + times as u64 * apart + 531)?;
    let answers: Vec<u64> = seen.changes.iter().map(|(cycle, _)| *cycle).filter(|cycle| *cycle > WORKS).collect();
    assert_eq!(answers.len(), times, "one answer for each change");
    let took = changes.iter().zip(&answers).map(|(change, answer)| answer - change).collect();
    Some((seen, took))
}

fn parameters(count: u32, flags: u32) -> [(usize, u32); 5] {
    [(at::OUTPUT, OUTPUT), (at::INPUT, INPUT), (at::COUNT, count), (at::FLAGS, flags), (at::BASE, 0)]
}

#[test]
fn every_change_is_answered_within_the_promised_cycles() {
    for (pru, apart, costs) in [(0, 201, SIMULATED), (1, 202, MEASURED), (0, 211, MEASURED), (1, 1_001, SIMULATED)] {
        let mut script = Script::new(Kind::Response, pru);
        script.cost(costs).start(&parameters(0, 0));
        let Some((seen, took)) = answered(&mut script, 200, apart) else { return };
        seen.is(Kind::Response, state::RUNNING);
        // A change is at a cycle's beginning here: the one that comes right after a look comes a whole cycle after it.
        assert_eq!((took.iter().min(), took.iter().max()), (Some(&BEST), Some(&(WORST - 1))));
        // What it says of itself is a bound: never less than it took, never more than the worst.
        assert_eq!((seen.word(at::DONE), seen.word(at::LATE)), (200, 0));
        assert!(seen.word(at::MOST) as u64 == WORST && seen.word(at::LEAST) as u64 >= WORST - 1);
        let bounded: u64 = seen.cells().iter().map(|(bound, n)| u64::from(bound * n)).sum();
        assert!(bounded >= took.iter().sum() && seen.cells().iter().map(|(_, n)| n).sum::<u32>() == 200);
        assert_eq!(u64::from(seen.word(at::SUM_LOW)), bounded);
    }
}

#[test]
fn the_output_follows_or_opposes_from_the_start() {
    for (flags, inverse) in [(0, false), (1 << flag::INVERSE, true)] {
        for first in [false, true] {
            let mut script = Script::new(Kind::Response, 0);
            script.start(&parameters(0, flags)).input(STARTED, u32::from(first) << INPUT);
            script.input(WORKS, u32::from(!first) << INPUT).input(WORKS + 300, u32::from(first) << INPUT);
            let Some(seen) = script.run(WORKS + 600) else { return };
            let levels: Vec<bool> = seen.changes.iter().map(|(_, pins)| *pins == 1 << OUTPUT).collect();
            let wanted = [first != inverse, first == inverse, first != inverse];
            // From low to low is no change.
            assert_eq!(levels, wanted[usize::from(!wanted[0])..], "inverse {inverse}, first {first}");
            assert!(seen.changes[seen.changes.len() - 2].0 - WORKS <= WORST);
        }
    }
}

#[test]
fn it_ends_after_so_many_and_when_it_is_reported_to() {
    let mut script = Script::new(Kind::Response, 0);
    script.start(&parameters(4, 0)).input(WORKS + 5_000, 1 << INPUT);
    let Some((seen, _)) = answered(&mut script, 4, 400) else { return };
    seen.is(Kind::Response, state::FINISHED);

    for asked in 0..20 {
        let mut script = Script::new(Kind::Response, 0);
        script.start(&parameters(0, 1 << flag::REST_HIGH)).write(WORKS + asked, at::COMMAND, 0);
        let Some(seen) = script.run(WORKS + 100) else { return };
        seen.is(Kind::Response, state::IDLE);
        let (cycle, pins) = seen.changes[0];
        assert!(pins == 1 << OUTPUT && cycle - WORKS - asked < 30, "asked at {asked}, over at {}", cycle - WORKS);
    }
}

/// A change during the bookkeeping of the one before waits for it, and the bound says so.
#[test]
fn changes_too_close_wait_for_the_bookkeeping_and_are_reported_as_late_as_they_were() {
    for apart in 10..60 {
        let mut script = Script::new(Kind::Response, 0);
        script.start(&parameters(0, 0)).input(WORKS, 1 << INPUT).input(WORKS + apart, 0);
        let Some(seen) = script.run(WORKS + 600) else { return };
        assert_eq!(seen.changes.len(), 2);
        let took = seen.changes[1].0 - WORKS - apart;
        assert!((BEST..=BOOKKEEPING + WORST).contains(&took), "{took} after {apart}");
        assert!(u64::from(seen.word(at::MOST)) >= took, "{} for {took}", seen.word(at::MOST));
    }
}

/// After 21 s without a change the counter has stopped: that answer is as quick, and is marked as without a measure.
#[test]
fn a_counter_that_stopped_is_reported_and_set_back() {
    let mut script = Script::new(Kind::Response, 0);
    script.start(&parameters(0, 0)).poke(WORKS - 100, 0x2_200c, 0xffff_fff0);
    let Some((seen, took)) = answered(&mut script, 5, 301) else { return };
    assert!(took.iter().all(|took| (BEST..=WORST).contains(took)), "{took:?}");
    assert_eq!((seen.word(at::LATE), seen.word(at::DONE)), (1, 4));
    assert!(u64::from(seen.word(at::MOST)) <= WORST);

    // Set back in time, between answers, once it is past its half.
    let mut script = Script::new(Kind::Response, 0);
    script.start(&parameters(0, 0)).poke(WORKS - 100, 0x2_200c, 0x7fff_ff00);
    let Some((seen, took)) = answered(&mut script, 9, 301) else { return };
    assert!(took.iter().all(|took| (BEST..=WORST).contains(took)), "{took:?}");
    assert_eq!((seen.word(at::LATE), seen.word(at::DONE), seen.word(at::MOST) as u64), (0, 9, WORST));
}
