//! The core on a cable of the kernel: whether what it counts as late is what stamps at the other end show.

use std::time::Instant;

use super::*;
use crate::user::packet::{PacketPort, PacketReader, Stamps};
use crate::user::testbed::with_cable;
use crate::user::time::{Distance, SwitchClock};

const FRAMES: usize = 20_000;
const OCTETS: usize = 200;
const OPEN_NS: u64 = 30_000;
const CYCLE_NS: u64 = 50_000;
/// Longer than a window.
const HELD_UP: Duration = Duration::from_micros(40);

/// The core's own clock, and what it read: the moments of the last look, and of the first one after each frame.
#[derive(Clone)]
struct Watched(Rc<RefCell<(SwitchClock, Looks)>>);

#[derive(Default)]
struct Looks {
    last_ns: u64,
    handing_over_ns: Option<u64>,
    /// When the core looked before it handed each frame over, and when it looked again.
    frames: Vec<(u64, u64)>,
}

impl Time for Watched {
    fn now_ns(&mut self) -> u64 {
        let (clock, looks) = &mut *self.0.borrow_mut();
        let now_ns = clock.now_ns();
        let begun_ns = looks.handing_over_ns.take();
        looks.frames.extend(begun_ns.map(|begun_ns| (begun_ns, now_ns)));
        looks.last_ns = now_ns;
        now_ns
    }
}

enum End {
    /// Frames come from nowhere, a few more than have left.
    Source(u32, Watched),
    /// Some are held up before they are handed over, some after it.
    Cable(PacketPort, Watched),
}

impl Port for End {
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        let Self::Source(next, watched) = self else { return Received::Nothing };
        if *next as usize == FRAMES || *next as usize > watched.0.borrow().1.frames.len() + 30 {
            return Received::Nothing;
        }
        slot[..OCTETS].copy_from_slice(&frame(1, 2, 0, *next, OCTETS));
        *next += 1;
        Received::Frame(OCTETS)
    }

    fn send(&mut self, frame: &[u8]) -> Sent {
        let Self::Cable(port, watched) = self else { return Sent::Done };
        let hold_up = |one: bool| {
            let begun = Instant::now();
            while one && begun.elapsed() < HELD_UP {}
        };
        hold_up(number(frame) % 100 == 50);
        let sent = port.send(frame);
        hold_up(number(frame) % 100 == 99);
        let looks = &mut watched.0.borrow_mut().1;
        looks.handing_over_ns = (sent == Sent::Done).then_some(looks.last_ns);
        sent
    }

    fn overflowed(&mut self) -> u64 {
        0
    }
}

/// When each frame begins and ends on a link of exact rate, if it left at its time: one after the other.
fn on_link(left_ns: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut free_ns = 0;
    let carry = |left_ns: u64| {
        let begins_ns = left_ns.max(free_ns);
        free_ns = begins_ns + wire::wire_time_ns(OCTETS as u32, GIGABIT);
        (begins_ns, free_ns - wire::gap_ns(GIGABIT))
    };
    left_ns.map(carry).collect()
}

/// The core counts exactly those that it may have handed over too late for the window in which it looked last. The
/// stamps lie between its looks, so that no frame is late by them that it has not counted; fewer are, as some were held
/// up behind their stamp, and some so long that they came into a later window.
#[test]
fn late_is_every_frame_that_may_have_missed_its_own_window() {
    with_cable(|| {
        let mut reader = PacketReader::open("right", 4_096, Stamps::Software).unwrap();
        let list = [Entry { open: 1, for_ns: OPEN_NS }, Entry { open: 0, for_ns: CYCLE_NS - OPEN_NS }];
        let schedule = Schedule::new(0, &list);
        let clock = SwitchClock::new(Distance::of(ClockId::Realtime));
        let watched = Watched(Rc::new(RefCell::new((clock, Looks::default()))));
        let cable = End::Cable(PacketPort::open("left", 16).unwrap(), watched.clone());
        let counters = Counters::new(2);
        let (_tell, commands) = RingBuffer::new(8);
        let (discarded, _discarded) = RingBuffer::new(8);
        let (stalls, _stalls) = RingBuffer::new(8);
        let channels = Channels { commands, discarded, stalls };
        let at = |port| PortConfig { port: Some(port), rate: GIGABIT, schedule: Some(schedule.clone()) };
        let attachments = vec![at(End::Source(0, watched.clone())), at(cable)];
        let mut core = Core::new(&switch(2, 60), attachments, watched.clone(), &counters, channels, 3);
        let queue = &counters.ports[1].queues[0];
        let mut stamps: Vec<u64> = Vec::new();
        while stamps.len() < FRAMES {
            core.turn();
            while let Some((bytes, stamp_ns)) = reader.next(|frame| (frame.bytes.to_vec(), frame.stamp_ns)) {
                // Without its tag.
                if bytes.len() == OCTETS - 4 {
                    assert_eq!(bytes[14..18], (stamps.len() as u32).to_be_bytes());
                    stamps.push(stamp_ns);
                }
            }
            assert_eq!((queue.dropped(), reader.overflowed()), (0, 0));
        }
        let looks = &watched.0.borrow().1.frames;
        // The kernel's clock may have moved a little against the core's meanwhile.
        for ((looked, done), stamp) in looks.iter().zip(&mut stamps) {
            let between = (*stamp).clamp(*looked, *done);
            assert!(stamp.abs_diff(between) < 10_000, "{stamp} is not between {looked} and {done}");
            *stamp = between;
        }
        let closes_ns = |looked_ns: u64| looked_ns - looked_ns % CYCLE_NS + OPEN_NS;
        let late = |on_link: &[(u64, u64)]| -> Vec<bool> {
            looks.iter().zip(on_link).map(|((looked_ns, _), (_, ends_ns))| *ends_ns > closes_ns(*looked_ns)).collect()
        };
        let (by_stamp, by_done) = (on_link(stamps.iter().copied()), on_link(looks.iter().map(|(_, done)| *done)));
        let (own, may) = (late(&by_stamp), late(&by_done));
        // As a capture is judged that knows of no looks: within any window, or not.
        let outside = by_stamp.iter().map(|(begins_ns, ends_ns)| *ends_ns > closes_ns(*begins_ns));
        let outside: Vec<bool> = outside.collect();
        let count = |of: &[bool]| of.iter().filter(|late| **late).count();
        println!(
            "{} counted as late; by stamps {} missed their own window, {} any",
            queue.late.get(),
            count(&own),
            count(&outside)
        );
        assert_eq!(queue.late.get() as usize, count(&may));
        assert!((0..FRAMES).all(|n| may[n] || !own[n] && !outside[n]), "late by its stamp, and not counted");
        // Those that were held up before they were handed over, and not those behind it.
        assert!(count(&own) >= FRAMES / 100 && count(&may) >= FRAMES / 50, "{} {}", count(&own), count(&may));
    });
}
