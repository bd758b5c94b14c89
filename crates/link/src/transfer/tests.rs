//! Streams through wires of memory.

use std::collections::VecDeque;
use std::io::{self, Cursor};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::both_ways::{self, Passed, Port};
use super::*;
use crate::code::Code;
use crate::frame::{Frame, Kind};
use crate::memory::{Fate, wire};
use crate::setting::Setting;
use crate::stream::Number;

/// Frames of two blocks without parity, soon over.
fn setting() -> Setting {
    Setting::new(Code::new("2x2", 2_000, 2_000).unwrap(), 0).unwrap().with_payload(40).unwrap()
}

/// As good as for ever, in ns.
const EVER: u64 = u64::MAX / 4;

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 7 + n / 256) as u8).collect()
}

fn frame(stream: u8, index: u32, kind: Kind) -> Frame {
    Frame { kind, number: Number { stream, index }.joined(), payload: vec![index as u8; 40] }
}

/// What these fates have made of frames.
fn fated(fates: &'static [Fate]) -> impl FnMut(usize) -> Fate + Send {
    move |n| fates.get(n).copied().unwrap_or(Fate::Arrives)
}

#[test]
fn all_is_there_when_the_end_came_and_nothing_is_missing() {
    let got = |ended, missing| Reception { ended, missing, ..Reception::default() }.complete();
    assert_eq!([got(true, 0), got(true, 1), got(false, 0), got(false, 1)], [true, false, false, false]);
}

/// The sender asks again only when an answer, and the rest that the receiver may be in before it, are over.
#[test]
fn an_answer_is_waited_for_as_long_as_it_may_take() {
    let slow = Setting { code: Code::new("2x1", 10_000_000, 10_000_000).unwrap(), ..setting() };
    for setting in [setting(), slow] {
        let answer_ns = setting.frame_ns(4) + setting.pause_ns(setting.frame_ns(setting.payload));
        let timeout_ns = repeated::timeout_ns(setting);
        assert!(timeout_ns > answer_ns + setting.frame_ns(4), "{timeout_ns} {answer_ns}");
        // And no longer than threads may need besides.
        assert!(timeout_ns < answer_ns + setting.frame_ns(4) + 100_000_000, "{timeout_ns} {answer_ns}");
    }
}

mod one_way_only {
    use super::*;

    #[test]
    fn what_is_sent_arrives() {
        let (stop, setting, all) = (AtomicBool::new(false), setting(), bytes(1_000));
        let (mut sender, mut receiver, _wire) = wire(setting, 0, |_| Fate::Arrives);
        let mut feed = Feed::new(Cursor::new(all.clone())).unwrap();
        let sent = one_way::send(&mut sender, setting, &mut feed, 3, &stop).unwrap();
        assert_eq!(sent, Sent { bytes: 1_000, frames: 26, complete: true, ..Sent::default() });
        let mut came = Vec::new();
        let out = |bytes: &[u8]| {
            came.extend_from_slice(bytes);
            Ok(())
        };
        let got = one_way::receive(&mut receiver, EVER, &stop, out, |reported| panic!("{reported:?}")).unwrap();
        assert_eq!(got, Reception { bytes: 1_000, frames: 26, began: true, ended: true, ..Reception::default() });
        assert!(got.complete() && came == all);
    }

    #[test]
    fn what_does_not_arrive_is_reported_and_counted() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        const FATES: &[Fate] = &[Fate::Noise, Fate::Arrives, Fate::Lost, Fate::Cut, Fate::Arrives];
        let (mut sender, mut receiver, _wire) = wire(setting, 0, fated(FATES));
        for index in [0, 0, 1, 2, 3] {
            sender.send(&frame(1, index, Kind::Data), &stop).unwrap();
        }
        // Of another stream, one that came before, and the end.
        for other in [frame(2, 4, Kind::Data), frame(1, 0, Kind::Data), frame(1, 4, Kind::Last)] {
            sender.send(&other, &stop).unwrap();
        }
        let (mut came, mut reported) = (Vec::new(), Vec::new());
        let out = |bytes: &[u8]| {
            came.extend_from_slice(bytes);
            Ok(())
        };
        let got = one_way::receive(&mut receiver, EVER, &stop, out, |what| reported.push(what)).unwrap();
        let expected = Reception {
            bytes: 120,
            frames: 5,
            damaged: 1,
            missing: 2,
            mended: 0,
            noise: 1,
            foreign: 2,
            began: true,
            ended: true,
        };
        assert_eq!(got, expected);
        assert!(!got.complete());
        assert_eq!(came, [[0; 40], [3; 40], [4; 40]].concat());
        assert!(
            matches!(reported[..], [Warning::Damaged(Damage::Missing { .. }), Warning::Missing(1, 2)]),
            "{reported:?}"
        );
    }

    /// However little patience there is: it begins with a stream's first whole frame, and a sender may begin late.
    #[test]
    fn patience_begins_with_the_first_frame_and_ends_what_nobody_ends() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        let (mut sender, mut receiver, _wire) = wire(setting, 0, fated(&[Fate::Cut]));
        sender.send(&frame(1, 0, Kind::Data), &stop).unwrap();
        // The first whole frame is sent when the receiver is at work already.
        let more = || sender.send(&frame(1, 1, Kind::Data), &stop).unwrap();
        let mut more = Some(more);
        let warn = |reported| match reported {
            Warning::Damaged(_) => assert!(more.take().unwrap()()),
            Warning::Missing(first, count) => assert_eq!((first, count), (0, 1)),
        };
        let got = one_way::receive(&mut receiver, 0, &stop, |_| Ok(()), warn).unwrap();
        assert!(got.began && !got.ended && !got.complete(), "{got:?}");
        assert_eq!((got.frames, got.missing, got.bytes), (1, 1, 40));
    }
}

mod with_a_return_line {
    use super::*;

    /// Sends so many bytes; what both ends say of it, what arrived, and frames that went there.
    fn through(
        count: usize,
        there: &'static [Fate],
        back: &'static [Fate],
        patience_ns: u64,
    ) -> (Sent, Reception, Vec<u8>, usize) {
        let (stop, setting) = (Arc::new(AtomicBool::new(false)), setting());
        let passed = Arc::new(AtomicUsize::new(0));
        let (mut fate, counted) = (fated(there), passed.clone());
        let (mut sender, mut receiver, _there) = wire(setting, 0, move |n| {
            counted.fetch_add(1, Relaxed);
            fate(n)
        });
        let (mut answers, mut answered, _back) = wire(setting, 0, fated(back));
        let receives = std::thread::spawn({
            let stop = stop.clone();
            move || {
                let mut came = Vec::new();
                let out = |bytes: &[u8]| {
                    came.extend_from_slice(bytes);
                    Ok(())
                };
                let got = repeated::receive(&mut receiver, &mut answers, setting, EVER, &stop, out, |_| ()).unwrap();
                (got, came)
            }
        });
        let mut feed = Feed::new(Cursor::new(bytes(count))).unwrap();
        let sent = repeated::send(&mut sender, &mut answered, setting, &mut feed, (5, patience_ns), &stop).unwrap();
        // A receiver that has everything ends by itself.
        if !sent.complete && !there.is_empty() {
            stop.store(true, Relaxed);
        }
        let (got, came) = receives.join().unwrap();
        (sent, got, came, passed.load(Relaxed))
    }

    #[test]
    fn everything_arrives_where_nothing_is_lost() {
        let (sent, got, came, passed) = through(2_000, &[], &[], EVER);
        assert!(sent.complete && !sent.unanswered && sent.bytes == 2_000, "{sent:?}");
        // The end is a frame of its own; three farewells follow.
        assert!(sent.frames == 51 + sent.repeated && passed as u64 == sent.frames + 3, "{sent:?} {passed}");
        assert!(got.began && got.complete() && got.bytes == 2_000 && got.damaged == 0, "{got:?}");
        assert_eq!((got.frames, got.foreign), (sent.frames, 0));
        assert!(came == bytes(2_000));
    }

    #[test]
    fn what_is_lost_there_or_back_is_repeated() {
        const THERE: &[Fate] = &[Fate::Lost, Fate::Arrives, Fate::Cut, Fate::Noise, Fate::Arrives, Fate::Lost];
        const BACK: &[Fate] = &[Fate::Lost, Fate::Arrives, Fate::Cut];
        let (sent, got, came, passed) = through(1_000, THERE, BACK, EVER);
        assert!(sent.complete && !sent.unanswered && sent.bytes == 1_000, "{sent:?}");
        // What was cut may be made whole by a repeat of it, but came no less.
        assert!(sent.repeated >= 4, "{sent:?}");
        assert!(passed as u64 == sent.frames + 3, "{sent:?} {passed}");
        assert!(got.complete() && got.bytes == 1_000 && got.damaged == 1 && got.noise == 1, "{got:?}");
        assert!(came == bytes(1_000));
    }

    /// It has everything, but the sender does not know yet.
    #[test]
    fn a_receiver_answers_until_the_sender_knows() {
        let (sent, got, came, _) = through(30, &[], &[Fate::Lost; 3], 30_000_000_000);
        assert!(sent.complete && !sent.unanswered && sent.repeated >= 1, "{sent:?}");
        assert!(got.complete() && came == bytes(30), "{got:?}");
    }

    /// On a busy machine the last answer is lost, and many questions after it.
    #[test]
    fn a_receiver_does_not_leave_because_some_questions_are_lost() {
        const THERE: &[Fate] = &{
            let mut fates = [Fate::Lost; 9];
            (fates[0], fates[1]) = (Fate::Arrives, Fate::Arrives);
            fates
        };
        let (sent, got, came, _) = through(30, THERE, &[Fate::Lost; 2], 15_000_000_000);
        assert!(sent.complete && !sent.unanswered && sent.repeated >= 7, "{sent:?}");
        assert!(got.complete() && came == bytes(30), "{got:?}");
    }

    #[test]
    fn a_sender_without_an_answer_gives_up_and_says_so() {
        const NONE: &[Fate] = &[Fate::Lost; 1_000];
        let (sent, got, came, _) = through(100, &[], NONE, 1_000_000);
        assert!(sent.unanswered && !sent.complete && sent.bytes == 100, "{sent:?}");
        assert!(got.ended && came == bytes(100), "it arrived all the same: {got:?}");
        let (sent, got, came, _) = through(100, NONE, &[], 1_000_000);
        assert!(sent.unanswered && !sent.complete, "{sent:?}");
        assert!(!got.began && !got.complete() && came.is_empty(), "{got:?}");
    }

    /// The wire is slow: the question leaves ten seconds from now, and the answer comes later than anybody glances.
    #[test]
    fn a_sender_is_patient_from_when_its_question_has_left() {
        let (stop, setting) = (Arc::new(AtomicBool::new(false)), setting());
        let (mut sender, mut receiver, _there) = wire(setting, 10_000_000_000, |_| Fate::Arrives);
        let (mut answers, mut answered, _back) = wire(setting, 0, |_| {
            std::thread::sleep(Duration::from_nanos(3 * GLANCE_NS));
            Fate::Arrives
        });
        let receives = std::thread::spawn({
            let stop = stop.clone();
            move || repeated::receive(&mut receiver, &mut answers, setting, EVER, &stop, |_| Ok(()), |_| ()).unwrap()
        });
        let mut feed = Feed::new(Cursor::new(bytes(100))).unwrap();
        let sent = repeated::send(&mut sender, &mut answered, setting, &mut feed, (5, 0), &stop).unwrap();
        stop.store(true, Relaxed);
        assert!(sent.complete && !sent.unanswered, "{sent:?}");
        assert!(receives.join().unwrap().complete());
    }

    /// The sender was killed and started anew: the receiver does not mix what it sends now with what it sent before.
    #[test]
    fn frames_of_another_stream_are_counted_as_such() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        let (mut sender, mut receiver, _there) = wire(setting, 0, fated(&[]));
        let (mut back, _answers, _back) = wire(setting, 0, |_| Fate::Arrives);
        for (stream, index) in [(9, 0), (8, 0), (8, 1)] {
            sender.send(&frame(stream, index, Kind::Data), &stop).unwrap();
        }
        sender.flush(&stop).unwrap();
        let (out, warn) = (|_: &[u8]| Ok(()), |_| ());
        let got = repeated::receive(&mut receiver, &mut back, setting, 500_000_000, &stop, out, warn).unwrap();
        assert_eq!((got.frames, got.foreign, got.bytes, got.complete()), (3, 2, 40, false));
    }

    /// The receiver was started anew: nobody sends the beginning again, which the one before had acknowledged. A farewell
    /// to the one before is nothing at all.
    #[test]
    fn the_middle_of_a_stream_is_another_stream_after_which_nothing_is_waited_for_longer() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        let (mut sender, mut receiver, _there) = wire(setting, 0, fated(&[]));
        let (mut back, _answers, _back) = wire(setting, 0, |_| Fate::Arrives);
        for (index, kind) in [(32, Kind::Acknowledgement), (32, Kind::Data), (33, Kind::Asking)] {
            sender.send(&frame(9, index, kind), &stop).unwrap();
        }
        sender.flush(&stop).unwrap();
        let (out, warn) = (|_: &[u8]| Ok(()), |_| ());
        let got = repeated::receive(&mut receiver, &mut back, setting, 500_000_000, &stop, out, warn).unwrap();
        assert_eq!(got, Reception { frames: 2, foreign: 2, ..Reception::default() });
    }

    /// Its farewells are lost: a receiver that has everything does not wait for ever, and one that has not waits as long
    /// as it is asked to.
    #[test]
    fn a_receiver_without_a_farewell_ends() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        for (kind, patience_ns, ended) in [(Kind::Last, EVER, true), (Kind::Asking, 1_000_000, false)] {
            let (mut sender, mut receiver, _there) = wire(setting, 0, fated(&[Fate::Noise, Fate::Cut]));
            let (mut back, mut answers, _back) = wire(setting, 0, |_| Fate::Arrives);
            sender.send(&frame(9, 1, Kind::Data), &stop).unwrap();
            sender.send(&frame(9, 1, Kind::Data), &stop).unwrap();
            sender.send(&frame(9, 0, kind), &stop).unwrap();
            sender.flush(&stop).unwrap();
            let mut damaged = 0;
            let mut came = 0;
            let out = |bytes: &[u8]| {
                came += bytes.len();
                Ok(())
            };
            let warn = |reported| damaged += usize::from(matches!(reported, Warning::Damaged(_)));
            let got = repeated::receive(&mut receiver, &mut back, setting, patience_ns, &stop, out, warn).unwrap();
            let expected =
                Reception { bytes: 40, frames: 1, damaged: 1, noise: 1, began: true, ended, ..Reception::default() };
            assert_eq!((got, damaged, came), (expected, 1, 40));
            let answer = answers.next(EVER, &stop).unwrap();
            assert!(
                matches!(&answer, Some(crate::Decoded::Frame { frame, .. })
                    if frame.kind == Kind::Acknowledgement && Number::of(frame.number).index == 1),
                "{answer:?}"
            );
        }
    }
}

mod in_both_directions {
    use super::*;

    /// Gives bytes out a few at a time, and takes as few; says stop when both ends have what they are to get.
    struct Script {
        gives: VecDeque<u8>,
        takes: Vec<u8>,
        wanted: usize,
        left: Arc<AtomicUsize>,
        stop: Arc<AtomicBool>,
    }

    impl Port for Script {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = into.len().min(self.gives.len()).min(97);
            self.gives.drain(..count).zip(into).for_each(|(byte, place)| *place = byte);
            Ok(count)
        }

        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(31);
            self.takes.extend_from_slice(&bytes[..count]);
            if self.takes.len() == self.wanted && self.left.fetch_sub(1, Relaxed) == 1 {
                self.stop.store(true, Relaxed);
            }
            Ok(count)
        }
    }

    #[test]
    fn both_ends_get_what_the_other_was_given() {
        const FATES: &[Fate] = &[Fate::Arrives, Fate::Arrives, Fate::Lost, Fate::Cut, Fate::Arrives, Fate::Noise];
        let (stop, setting, left) = (Arc::new(AtomicBool::new(false)), setting(), Arc::new(AtomicUsize::new(2)));
        let (sender_a, receiver_b, _there) = wire(setting, 0, fated(FATES));
        let (sender_b, receiver_a, _back) = wire(setting, 0, fated(FATES));
        let end = |session: u32, mut sender: crate::Sender, mut receiver: crate::Receiver, gives, wanted| {
            let (stop, left) = (stop.clone(), left.clone());
            std::thread::spawn(move || {
                let mut port = Script { gives: VecDeque::from(bytes(gives)), takes: Vec::new(), wanted, left, stop };
                let stop = port.stop.clone();
                let ends = (&mut sender, &mut receiver);
                let passed = both_ways::run(ends, setting, session, &mut port, &stop, || panic!("nobody began anew"));
                (passed.unwrap(), port.takes)
            })
        };
        let a = end(11, sender_a, receiver_a, 1_500, 700);
        let b = end(12, sender_b, receiver_b, 700, 1_500);
        let ((of_a, at_a), (of_b, at_b)) = (a.join().unwrap(), b.join().unwrap());
        assert!(at_a == bytes(700) && at_b == bytes(1_500));
        for (passed, sent, received) in [(of_a, 1_500, 700), (of_b, 700, 1_500)] {
            assert_eq!((passed.sent, passed.received, passed.anew), (sent, received, 0), "{passed:?}");
            assert_eq!((passed.damaged, passed.noise), (1, 1), "{passed:?}");
        }
        assert!(of_a.repeated + of_b.repeated >= 1, "{of_a:?} {of_b:?}");
    }

    /// What is heard of another session is reported, once each time.
    #[test]
    fn an_end_that_began_anew_is_reported() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        let (mut other, mut receiver, _there) = wire(setting, 0, |_| Fate::Arrives);
        let (mut sender, _answers, _back) = wire(setting, 0, |_| Fate::Lost);
        let from = |session: u32| {
            let names = [session.to_le_bytes(), 77u32.to_le_bytes()].concat();
            Frame { kind: Kind::Asking, number: 0, payload: [names, vec![session as u8]].concat() }
        };
        for session in [5, 5, 6, 7] {
            other.send(&from(session), &stop).unwrap();
        }
        let mut count = 0;
        let mut port = Script {
            gives: VecDeque::new(),
            takes: Vec::new(),
            wanted: usize::MAX,
            left: Arc::default(),
            stop: Arc::default(),
        };
        let anew = || {
            count += 1;
            stop.store(count == 2, Relaxed);
        };
        let passed = both_ways::run((&mut sender, &mut receiver), setting, 77, &mut port, &stop, anew).unwrap();
        // The last byte had not been handed on yet.
        let expected = Passed { received: 2, anew: 2, ..Passed::default() };
        assert_eq!((passed, &port.takes[..], count), (expected, &[5, 6][..], 2));
    }
}
