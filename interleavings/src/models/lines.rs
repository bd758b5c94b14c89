//! Lines of a simulated chip: memory that several processes change at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use loom::thread;

use crate::sources::gpio::owner::Owner;
use crate::sources::gpio::track::{Mark, Track};
use crate::sources::gpio::{instant, owner_of, setup::Setup};

fn sets<const LENGTH: usize>(track: &Arc<Track<LENGTH>>, levels: &'static [bool]) -> thread::JoinHandle<usize> {
    let track = track.clone();
    thread::spawn(move || levels.iter().filter(|level| track.set(**level, || 1_000)).count())
}

/// It is the one that was asked for: odd ones rise.
fn check(mark: Option<Mark>, count: u32) {
    if let Some(mark) = mark {
        assert_eq!((mark.count(), mark.level()), (count, count % 2 == 1));
    }
}

pub fn edges() {
    let track = Arc::<Track<4>>::default();
    let writers = [sets(&track, &[true, false]), sets(&track, &[true])];
    let newest = track.newest();
    check(Some(newest), newest.count());
    let seen: Vec<_> = (0..newest.count()).map(|count| track.edge(count)).collect();
    for (mark, count) in seen.iter().zip(0..) {
        assert!(mark.is_some(), "edge {count} before edge {} is missing", newest.count());
        check(*mark, count);
    }
    let made: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    assert_eq!(track.newest().count() as usize, made);
    (0..=made as u32).for_each(|count| assert!(track.edge(count).is_some(), "edge {count} of {made} is missing"));
}

pub fn lapped() {
    // Two places: the third edge is where the first was. A writer that changes nothing files the newest, too.
    let track = Arc::<Track<2>>::default();
    let writers = [sets(&track, &[true, false, true]), sets(&track, &[true])];
    (0..3).for_each(|count| check(track.edge(count), count));
    let made: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    let newest = track.newest().count();
    assert_eq!(newest as usize, made);
    (newest.saturating_sub(1)..=newest).for_each(|count| assert!(track.edge(count).is_some(), "{count} of {newest}"));
}

pub fn counted() {
    // Each edge begins a stretch.
    let track = Arc::<Track<4, 0>>::default();
    let sets = |levels: &'static [bool]| {
        let track = track.clone();
        thread::spawn(move || levels.iter().filter(|level| track.set(**level, || 1_000)).count())
    };
    let writers = [sets(&[true, false]), sets(&[true])];
    let mut last = 0;
    for _ in 0..2 {
        let (newest, counted) = track.counted();
        assert!(newest.count() as u64 == counted && counted >= last, "{counted} edges at {newest:?}, after {last}");
        last = counted;
    }
    let made: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    assert_eq!(track.counted().1 as usize, made);
}

pub fn sleeper() {
    let track = Arc::<Track<2>>::default();
    let writer = thread::spawn({
        let track = track.clone();
        move || {
            assert!(track.set(true, || 1_000));
            track.notify();
        }
    });
    let seen = Track::<2>::default().newest();
    while track.newest() == seen {
        track.sleep(seen, u64::MAX);
    }
    writer.join().unwrap();
}

/// Two processes that live.
fn two() -> [Owner; 2] {
    [owner_of(std::process::id()), owner_of(std::os::unix::process::parent_id())]
}

pub fn owners() {
    // A process that is gone: none has this number.
    let word = Arc::new(AtomicU64::new(u64::MAX));
    let [one, other] = two();
    let claimed = thread::spawn({
        let word = word.clone();
        move || one.claim(&word)
    });
    let mine = other.claim(&word);
    match (claimed.join().unwrap(), mine) {
        (Ok(()), Err(by)) => assert_eq!(by, one),
        (Err(by), Ok(())) => assert_eq!(by, other),
        both => panic!("{both:?}"),
    }
}

pub fn left() {
    let setup = Arc::new(Setup::default());
    let [before, now] = two();
    before.claim(&setup.owner).unwrap();
    setup.drive();
    setup.owner.store(0, Ordering::Release);
    let listeners: Vec<_> = (0..2)
        .map(|_| {
            let setup = setup.clone();
            thread::spawn(move || setup.let_go_if_left())
        })
        .collect();
    now.claim(&setup.owner).unwrap();
    setup.drive();
    listeners.into_iter().for_each(|listener| listener.join().unwrap());
    assert!(setup.is_driven());
}

pub fn at_once() {
    // As words of lines do, these count, and are changed one after the other.
    let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let writer = thread::spawn({
        let words = words.clone();
        move || {
            for _ in 0..2 {
                words.iter().for_each(|word| {
                    word.fetch_add(1, Ordering::AcqRel);
                });
            }
        }
    });
    let mut seen = [0; 2];
    assert!(instant::catch(&mut seen, |n| words[n].load(Ordering::Acquire), |_| {}));
    assert!(seen[0] == seen[1] || seen[0] == seen[1] + 1, "{seen:?} never was");
    writer.join().unwrap();
}
