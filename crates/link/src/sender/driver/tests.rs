use ontick_gpio::{Name, OnExit, Request, sim};

use super::*;
use crate::Frame;
use crate::code::Code;
use crate::frame::Kind;

/// A driver of a line of its own, whose last edge was so long ago.
fn driven<T>(line: u32, code: Code, ago_ns: u64, test: impl FnOnce(&mut Driver, &Shared) -> T) -> T {
    let chip = format!("sender-{line}-{}", std::process::id());
    let name = Name::Sim { chip: chip.clone(), line };
    let open = Line::open(&name, &Request::output(false).on_exit(OnExit::Low)).unwrap();
    let shared = Shared::default();
    let mut driver = Driver::new(open, Setting { code, parity: 0, payload: 16 }, &shared);
    driver.edge_ns = driver.clock.resync() - ago_ns;
    let of_test = test(&mut driver, &shared);
    drop(driver);
    sim::remove(&chip).unwrap();
    of_test
}

const S: u64 = 1_000_000_000;

fn code(alphabet: &str, shortest_ns: u64, step_ns: u64) -> Code {
    Code::new(alphabet, shortest_ns, step_ns).unwrap()
}

/// A preamble has repeats of its own, a gap that carries nothing may have any length, and so may that behind a mark.
#[test]
fn the_length_matters_of_what_carries_bits_and_of_marks() {
    let frame = Frame { kind: Kind::Data, number: 1, payload: vec![7; 16] };
    let counted = |line, alphabet| {
        let code = code(alphabet, 1_000_000, 100_000);
        driven(line, code, 0, |driver, _| {
            let wave = Wave::new(&frame, driver.setting.shape(), code);
            let block = |at| wave.marks.partition_point(|mark| *mark < at).saturating_sub(1);
            let counts: Vec<bool> = (0..wave.stretches.len()).map(|at| driver.counts(&wave, block(at), at)).collect();
            (wave, counts)
        })
    };
    let (wave, counts) = counted(1, "2x1");
    let begins = wave.marks[0];
    assert!(counts[..begins].iter().all(|counts| !counts), "a preamble");
    assert!(counts[begins..].iter().enumerate().all(|(n, counts)| *counts == (n % 2 == 0)), "pulses, and no gaps");
    let (wave, counts) = counted(2, "2x2");
    assert!(counts[..wave.marks[0]].iter().all(|counts| !counts), "a preamble");
    let behind_marks: Vec<usize> = wave.marks.iter().map(|mark| mark + 1).collect();
    for (at, counts) in counts.iter().enumerate().skip(wave.marks[0]) {
        assert_eq!(*counts, !behind_marks.contains(&at), "stretch {at}");
    }
}

/// Widths are a second apart, so that nothing this machine does is as much as a third of that.
#[test]
fn an_edge_in_time_is_right_and_its_stretch_as_long_as_asked() {
    driven(3, code("2x1", 1_000_000, 100 * S), 0, |driver, shared| {
        let before_ns = driver.edge_ns;
        assert!(matches!(driver.after(3_000_000, true), Ok(Stretch::Right)));
        assert!(driver.level && driver.edge_ns >= before_ns + 3_000_000);
        assert_eq!(shared.held_up_ns.load(Ordering::Relaxed), driver.edge_ns - before_ns - 3_000_000);
        assert!(matches!(driver.after(1_000_000, true), Ok(Stretch::Right)));
        assert!(!driver.level, "every edge is the other way");
        assert_eq!(shared.cancelled.load(Ordering::Relaxed), 0);
    });
}

/// A stretch that is too long already is made one that takes its symbol back; where that cannot be said of it, it is
/// late.
#[test]
fn a_stretch_that_is_too_long_is_taken_back() {
    let code = code("2x1", S, 30 * S);
    // A pulse of up to 31 s, and four steps more.
    assert_eq!(code.cancel_ns(), 151 * S);
    driven(4, code, 150 * S + 900_000_000, |driver, shared| {
        let before_ns = driver.edge_ns;
        assert!(matches!(driver.after(S, true), Ok(Stretch::Cancelled)));
        assert!(driver.edge_ns >= before_ns + code.cancel_ns(), "it lasts until nobody takes it for another");
        assert!(driver.level);
        assert_eq!(shared.cancelled.load(Ordering::Relaxed), 1);
        assert_eq!(shared.held_up_ns.load(Ordering::Relaxed), driver.edge_ns - before_ns - S);
    });
    driven(5, code, 17 * S, |driver, shared| {
        let before_ns = driver.edge_ns;
        assert!(matches!(driver.after(S, false), Ok(Stretch::Late(_))));
        assert!(driver.edge_ns < before_ns + code.cancel_ns(), "nothing is waited for");
        assert_eq!(shared.cancelled.load(Ordering::Relaxed), 0);
    });
    // Less than half a step may be read as what it was to be, and less than a third will.
    driven(10, code, 12 * S, |driver, _| assert!(matches!(driver.after(S, false), Ok(Stretch::Right))));
    driven(6, code, 6 * S, |driver, shared| {
        assert!(matches!(driver.after(S, true), Ok(Stretch::Right)));
        assert_eq!(shared.cancelled.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_pulse_that_was_too_long_is_taken_back_in_the_gap_behind_it() {
    let code = code("4x4", 1_000, 100_000);
    driven(11, code, 0, |driver, shared| {
        driver.toggle(true, driver.edge_ns).unwrap();
        driver.after(1_000, false).unwrap();
        let before_ns = driver.edge_ns;
        driver.cancel().unwrap();
        assert!(driver.level, "the symbol begins anew");
        assert!(driver.edge_ns >= before_ns + code.cancel_ns());
        assert_eq!(shared.cancelled.load(Ordering::Relaxed), 1);
    });
}

/// Steps are 100 s, so that no edge is late by a third of one.
#[test]
fn a_frame_that_nothing_holds_up_is_driven_once() {
    let code = code("2x1", 1_000_000, 100 * S);
    let wave = Wave { stretches: vec![400_000, 300_000, 500_000, 200_000, 600_000], marks: vec![2, 4] };
    driven(8, code, 0, |driver, shared| {
        let before_ns = driver.edge_ns;
        driver.drive(&wave).unwrap();
        assert!(!driver.level, "low behind a frame");
        assert!(driver.edge_ns >= before_ns + 2_000_000, "{} {before_ns}", driver.edge_ns);
        let counts = [&shared.cancelled, &shared.again].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [0, 0]);
    });
}

/// Where the thread spins for all of a frame, the pause is longer the longer the frame was.
#[test]
fn a_pause_is_by_how_long_the_frame_took() {
    let next = |shortest_ns, began_ns, ended_ns| {
        let setting = Setting::new(code("2x2", shortest_ns, 10_000), 0).unwrap();
        let pause_ns = next_ns(setting, began_ns, ended_ns) - ended_ns;
        assert_eq!(pause_ns, setting.pause_ns(ended_ns - began_ns));
        pause_ns
    };
    assert!(next(20_000, 5 * S, 8 * S) > next(20_000, 5 * S, 6 * S));
    assert_eq!(next(100_000, 5 * S, 8 * S), next(100_000, 5 * S, 6 * S));
}

/// Steps of a nanosecond: hardly an edge is in time, and no block is sent again for ever.
#[test]
fn a_thread_that_is_always_late_ends_its_frame() {
    let code = code("2x2", 20_000, 1);
    let marks = vec![10, 30, 50];
    let wave = Wave { stretches: vec![20_000; 51], marks: marks.clone() };
    driven(9, code, 0, |driver, shared| {
        driver.drive(&wave).unwrap();
        assert!(!driver.level, "low behind a frame");
        let again = shared.again.load(Ordering::Relaxed);
        assert!(again <= u64::from(MOST_AGAIN) * marks.len() as u64, "{again}");
    });
}

/// A block is sent again from a rising edge on, wherever the line was.
#[test]
fn a_sender_rises_from_wherever_it_is() {
    driven(7, code("2x1", 1_000_000, 100 * S), 0, |driver, _| {
        let before_ns = driver.edge_ns;
        driver.rise().unwrap();
        assert!(driver.level && driver.edge_ns >= before_ns + 1_000_000);
        let before_ns = driver.edge_ns;
        driver.rise().unwrap();
        assert!(driver.level && driver.edge_ns >= before_ns + 2_000_000, "down, and up again");
    });
}
