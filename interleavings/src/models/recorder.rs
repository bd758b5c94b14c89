//! The recorder of latencies: one thread writes, another reads.

use std::sync::Arc;

use loom::thread;

use crate::sources::rt::{recorder, squares::Squares};

pub fn squares() {
    let squares = Arc::new(Squares::default());
    const LATENCIES: [u64; 2] = [1 << 32, u64::MAX];
    let writer = thread::spawn({
        let squares = squares.clone();
        move || LATENCIES.iter().for_each(|latency| squares.add_square_of(*latency))
    });
    let mut sums = vec![0u128];
    for latency in LATENCIES {
        sums.push(sums[sums.len() - 1] + u128::from(latency).pow(2));
    }
    let mut last = 0;
    for _ in 0..2 {
        let now = squares.read();
        assert!(sums.contains(&now), "{now:#x} never was");
        assert!(now >= last, "{now:#x} after {last:#x}");
        last = now;
    }
    writer.join().unwrap();
    assert_eq!(squares.read(), sums[2]);
}

pub fn extremes() {
    let (mut writer, reader) = recorder::channel(u64::MAX);
    let thread = thread::spawn(move || writer.record(0, 7));
    let seen = reader.snapshot();
    if seen.count() == 1 {
        assert_eq!((seen.min_ns, seen.max_ns), (Some(7), Some(7)));
        assert_eq!((seen.sum_ns, seen.sum_of_squares), (7, 49));
    } else {
        assert_eq!((seen.min_ns, seen.max_ns), (None, None));
    }
    thread.join().unwrap();
    let seen = reader.snapshot();
    assert_eq!((seen.count(), seen.min_ns, seen.max_ns, seen.sum_of_squares), (1, Some(7), Some(7), 49));
}

pub fn seconds() {
    const SECOND: u64 = 1_000_000_000;
    let (mut writer, mut reader) = recorder::channel(u64::MAX);
    let thread = thread::spawn(move || {
        [(0, 5), (SECOND, 3), (2 * SECOND, 4)]
            .iter()
            .for_each(|(at_ns, latency_ns)| writer.record(*at_ns, *latency_ns));
    });
    let mut taken = reader.take_seconds(false);
    taken.extend(reader.take_seconds(false));
    assert_eq!(taken, [5, 3, 4][..taken.len()]);
    thread.join().unwrap();
    taken.extend(reader.take_seconds(true));
    assert_eq!(taken, [5, 3, 4]);
}
