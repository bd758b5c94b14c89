//! What is handed on one by one: each whole, none twice.

use std::sync::Arc;

use loom::thread;

use crate::instrument_check::Interval;
use crate::sources::acquire::ring;
use crate::sources::measure::{causes::Causes, first::First, interval_log::IntervalLog};

pub fn samples() {
    const ALL: u64 = 3;
    let (mut writer, mut reader) = ring::new(1, 1);
    let thread = thread::spawn(move || (0..ALL).for_each(|number| writer.push(number, number, 0, &[number as i64])));
    let (mut taken, mut next, mut dropped) = (0, 0, 0);
    loop {
        // As the hub does: what was put in before the end is there once the end is seen.
        let ended = reader.ended();
        let came = reader.pop(|sample| {
            assert_eq!((sample.at_ns, sample.raw), (sample.number, &[sample.number as i64][..]));
            (sample.number, sample.dropped)
        });
        match (came, ended) {
            (Some((number, so_far)), _) => {
                assert_eq!(number - next, so_far - dropped, "gaps are what was dropped");
                (taken, next, dropped) = (taken + 1, number + 1, so_far);
            }
            (None, Some(in_all)) => {
                assert_eq!(taken + in_all, ALL);
                break;
            }
            (None, None) => thread::yield_now(),
        }
    }
    thread.join().unwrap();
}

pub fn intervals() {
    let interval = |n: u64| Interval { from_ns: 100 + n, ns: n, rising: n % 2 == 1 };
    let log = Arc::new(IntervalLog::with_room(2));
    let thread = thread::spawn({
        let log = log.clone();
        move || (1..=3).for_each(|n| log.add(interval(n)))
    });
    let seen = log.intervals();
    assert!(seen.iter().zip(1..).all(|(seen, n)| *seen == interval(n)), "{seen:?}");
    thread.join().unwrap();
    assert_eq!((log.intervals().len(), log.left_out()), (2, 1));
}

pub fn first_pulses() {
    const PULSES: [(u64, u64); 2] = [(1_000, 10), (1_005, 11)];
    let first = Arc::new(First::default());
    let thread = thread::spawn({
        let first = first.clone();
        move || PULSES.iter().for_each(|(rose_ns, width_ns)| first.keep(*rose_ns, *width_ns))
    });
    let seen = first.read();
    assert_eq!(seen, [(0, 10), (5, 11)][..seen.len()]);
    thread.join().unwrap();
    assert_eq!(first.read().len(), 2);
}

/// Room for so many edges, of which the first are made while this thread looks.
fn made(room: usize, edges: u64) -> (Arc<Causes>, thread::JoinHandle<()>) {
    let causes = Arc::new(Causes::remembering(room));
    let thread = thread::spawn({
        let causes = causes.clone();
        move || (1..=edges).for_each(|number| causes.publish(number, number * 1_000))
    });
    (causes, thread)
}

pub fn causes() {
    let (causes, thread) = made(8, 3);
    for level in [true, false] {
        if let Some(cause) = causes.of(level, 9_999, 0) {
            assert_eq!(cause.at_ns, cause.number * 1_000);
        }
    }
    thread.join().unwrap();
    assert_eq!(causes.of(true, 9_999, 0).map(|cause| cause.number), Some(3));
}

pub fn causes_lapped() {
    // The third is where the first was, and was made after what is asked for.
    let (causes, thread) = made(2, 3);
    if let Some(cause) = causes.of(true, 1_500, 0) {
        assert_eq!((cause.number, cause.at_ns), (1, 1_000));
    }
    thread.join().unwrap();
}
