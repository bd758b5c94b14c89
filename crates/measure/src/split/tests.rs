use proptest::prelude::*;

use super::*;
use crate::explain::parse::Parser;
use crate::explain::ring_buffer_page::{Header, records};

const TID: i32 = 7;
const TIMER: u64 = 0xffff_0000;

fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
    Event { at_ns, cpu: 1, pid, kind }
}

fn armed_at(at_ns: u64, timer: u64) -> Event {
    event(at_ns, TID, Kind::TimerStart { timer, soft_ns: 0, hard_ns: 0 })
}

/// In an interrupt of the idle task.
fn fires_at(at_ns: u64, timer: u64) -> Event {
    event(at_ns, 0, Kind::TimerFires { timer, function: 0 })
}

fn woken_at(at_ns: u64, tid: i32) -> Event {
    event(at_ns, 0, Kind::Wakeup(tid))
}

fn sample(due_ns: u64, latency_ns: u64) -> Observed {
    Observed { cycle: 0, due_ns, latency_ns }
}

fn wakes(events: &[Event]) -> Wakes {
    let mut wakes = Wakes::default();
    events.iter().for_each(|event| wakes.meet(event, TID));
    wakes
}

#[test]
fn a_latency_is_the_way_to_the_interrupt_to_the_wake_up_and_to_the_thread() {
    let mut wakes = wakes(&[
        armed_at(500, TIMER),
        // Others' timers and wake-ups.
        event(510, 9, Kind::TimerStart { timer: 5, soft_ns: 0, hard_ns: 0 }),
        fires_at(1_003, 5),
        woken_at(1_004, 9),
        fires_at(1_020, TIMER),
        woken_at(1_025, TID),
        armed_at(1_500, TIMER),
        fires_at(2_001, TIMER),
        woken_at(2_002, TID),
    ]);
    assert_eq!(wakes.parts(sample(1_000, 40)), Some([20, 5, 15]));
    assert_eq!(wakes.parts(sample(2_000, 2)), Some([1, 1, 0]));
    assert_eq!(wakes.parts(sample(3_000, 9)), None);
}

/// A thread that was late did not sleep; one that was woken by others was not woken by its timer; what was lost is not known.
#[test]
fn a_latency_without_a_wake_up_by_its_timer_has_no_parts() {
    let usual = [armed_at(500, TIMER), fires_at(1_020, TIMER), woken_at(1_025, TID)];
    assert_eq!(wakes(&usual).parts(sample(1_025, 40)), None, "it slept until before it was due");
    assert_eq!(wakes(&usual).parts(sample(1_000, 24)), None, "it was woken later");
    assert_eq!(wakes(&[armed_at(500, TIMER), woken_at(1_025, TID)]).parts(sample(1_000, 40)), None);
    assert_eq!(wakes(&usual[1..]).parts(sample(1_000, 40)), None, "whose timer fired is not known");
    let lost = event(1_021, 0, Kind::Lost);
    assert_eq!(wakes(&[&usual[..2], &[lost], &usual[2..]].concat()).parts(sample(1_000, 40)), None);
}

/// The tick's interrupt arms it anew while the thread is current.
#[test]
fn only_what_the_thread_itself_arms_is_its_timer() {
    let text = "ID: 9\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:void * hrtimer;\toffset:8;\tsize:8;\tsigned:0;\n";
    let format = Format::parse(text).unwrap();
    let record = |flags: u8| [&[9, 0, flags, 0, 7, 0, 0, 0], &TIMER.to_ne_bytes()[..]].concat();
    let start = Some(Kind::TimerStart { timer: TIMER, soft_ns: 0, hard_ns: 0 });
    // Interrupts off, and a wish to reschedule, are no interrupt.
    assert_eq!(
        [0x00, 0x01, 0x05, 0x08, 0x11].map(|flags| armed(&format, &record(flags))),
        [start.clone(), start.clone(), start, None, None]
    );
    assert_eq!(fires(&format, &record(0x08)), Some(Kind::TimerFires { timer: TIMER, function: 0 }));
}

/// Two pages of a ring as Linux 6.18 wrote them, and the samples that a thread with this id handed over meanwhile. What is wanted
/// is what the kernel's own text of them says, which is in whole microseconds.
#[test]
fn parts_are_those_that_a_kernel_recorded() {
    const RECORDED_TID: i32 = 17_040;
    let (formats, mut parser) = (include_str!("../explain/formats/linux-6.18-amd64.txt"), Parser::default());
    for (path, reader) in OF_WAKE_UPS.events {
        let name = path.rsplit_once('/').unwrap().1;
        let of_event = |text: &&str| text.trim_start().starts_with(&format!("name: {name}\n"));
        assert!(parser.learn(formats.split("\n\n").find(of_event).unwrap(), *reader));
    }
    let header = Header::parse("\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n").unwrap();
    let mut events = Vec::new();
    for page in include_bytes!("recorded/pages").chunks_exact(4096) {
        records(page, header, |at_ns, record| events.extend(parser.event(at_ns, 0, record)));
    }
    let mut wakes = Wakes::default();
    events.iter().for_each(|event| wakes.meet(event, RECORDED_TID));
    let sample = |line: &str| {
        let numbers: Vec<u64> = line.split(',').skip(2).map(|number| number.parse().unwrap()).collect();
        sample(numbers[1], numbers[2])
    };
    let samples: Vec<Observed> = include_str!("recorded/samples.csv").lines().skip(1).map(sample).collect();
    let parts: Vec<[u64; 3]> = samples.iter().map(|observed| wakes.parts(*observed).unwrap()).collect();
    assert!(samples.iter().zip(&parts).all(|(sample, parts)| parts.iter().sum::<u64>() == sample.latency_ns));
    let wanted = [(0, [20_517, 5_000, 12_032]), (1, [21_517, 5_000, 15_585]), (29, [24_517, 5_000, 12_495])];
    for (at, wanted) in wanted {
        let apart = parts[at].iter().zip(wanted).map(|(ns, wanted): (&u64, u64)| ns.abs_diff(wanted)).max();
        assert!(apart <= Some(1_000), "sample {at}: {:?}", parts[at]);
    }
    assert_eq!(parts.len(), 30);
}

#[test]
fn parts_have_a_histogram_each_and_what_has_none_is_counted() {
    let mut parts = Parts::default();
    parts.add(sample(1_000, 40), [20, 5, 15]);
    parts.add(sample(2_000, 9), [7, 0, 2]);
    let split = parts.split(5);
    let of = |histogram: &ontick_record::Histogram| (histogram.count(), histogram.min_ns, histogram.max_ns);
    assert_eq!(
        [&split.interrupt, &split.wakeup, &split.run].map(of),
        [(2, Some(7), Some(20)), (2, Some(0), Some(5)), (2, Some(2), Some(15))]
    );
    assert_eq!(split.unsplit, 3);
}

proptest! {
    /// Whatever the kernel tells, in whatever order of kinds.
    #[test]
    fn parts_sum_up_to_the_latency(
        steps in proptest::collection::vec((1u64..50, 0u8..6), 0..200),
        samples in proptest::collection::vec((0u64..200, 0u64..100), 0..60),
    ) {
        let mut at_ns = 0;
        let events: Vec<Event> = steps.iter().map(|(after_ns, kind)| {
            at_ns += after_ns;
            match kind {
                0 | 1 => armed_at(at_ns, TIMER + u64::from(*kind)),
                2 | 3 => fires_at(at_ns, TIMER + u64::from(*kind) - 2),
                4 => woken_at(at_ns, TID),
                _ => event(at_ns, 0, Kind::Lost),
            }
        }).collect();
        let (mut wakes, mut due_ns) = (wakes(&events), 0);
        for (after_ns, latency_ns) in samples {
            due_ns += after_ns;
            let observed = sample(due_ns, latency_ns);
            if let Some(parts) = wakes.parts(observed) {
                prop_assert_eq!(parts.iter().sum::<u64>(), latency_ns);
            }
            due_ns += latency_ns;
        }
    }
}

/// Each thread has an instance, and where timers are kept off its CPU the rings of all CPUs.
#[test]
fn no_more_cpus_are_split_at_once_than_can_be_traced() {
    let said = |count: u32, kept_off: &str, online| {
        let cpus: Vec<u32> = (0..count).collect();
        check_of(&cpus, &kept_off.parse().unwrap(), online).map_err(|error| error.to_string())
    };
    assert_eq!(said(64, "", 128), Ok(()));
    let many = said(65, "", 128).unwrap_err();
    assert!(many.contains(" 65 CPUs ") && many.ends_with("the first 64 of them"));
    assert_eq!(said(8, "0-31", 32), Ok(()));
    let many = said(9, "0-31", 32).unwrap_err();
    assert!(many.contains(" 288 buffers ") && many.ends_with("the first 8 of them"), "{many}");
    assert_eq!(said(9, "1-8", 31), Ok(()), "timers are kept off some");
    assert_eq!([said(1, "0-511", 512), said(0, "", 1)], [Ok(()), Ok(())], "a single one is traced as it must be");
    let many = said(2, "0-511", 512).unwrap_err();
    assert!(many.ends_with("as the first of them"), "{many}");
}
