//! What is replaced by the next.

use std::sync::Arc;

use loom::thread;

use crate::sources::link::sent::Sent;
use crate::sources::network::payload::payloads;
use crate::sources::network::steps::Steps;

pub fn payload() {
    const LAST: u8 = 3;
    let (mut writer, mut reader) = payloads(2);
    let thread = thread::spawn(move || (1..=LAST).for_each(|turn| writer.put(&[turn, turn])));
    let mut last = 0;
    let mut look = |last: &mut u8| {
        reader.take(|octets| {
            assert!(octets[0] > *last && octets == [octets[0]; 2], "{octets:?} after {last}");
            *last = octets[0];
        })
    };
    for _ in 0..2 {
        look(&mut last);
    }
    thread.join().unwrap();
    look(&mut last);
    assert_eq!(last, LAST);
}

pub fn clock_steps() {
    let steps = Arc::new(Steps::default());
    let thread = thread::spawn({
        let steps = steps.clone();
        move || [5, -7].iter().for_each(|step_ns| steps.add(*step_ns))
    });
    match steps.so_far() {
        (0, _) | (1, 5 | -7) | (2, -7) => {}
        other => panic!("{other:?}"),
    }
    thread.join().unwrap();
    assert_eq!(steps.so_far(), (2, -7));
}

pub fn frames_sent() {
    let sent = Arc::new(Sent::default());
    let thread = thread::spawn({
        let sent = sent.clone();
        move || [100, 200].iter().for_each(|ended_ns| sent.add(*ended_ns))
    });
    let frames = sent.frames();
    let ended_ns = sent.ended_ns();
    assert!(ended_ns >= frames * 100, "{frames} frames, the last ended at {ended_ns}");
    thread.join().unwrap();
    assert_eq!((sent.frames(), sent.ended_ns()), (2, 200));
}
