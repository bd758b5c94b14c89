//! What a measurement returns.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_gpio::{Line, Name, OnExit, Request, sim};
use ontick_measure::pru::layout::{at, state};
use ontick_measure::pru::{Follower, Output, Train};
use ontick_measure::pulse::{self, Job, Method};
use ontick_measure::{Error, Length, Limits, Live, Observer, Placement};
use ontick_record::{Run, Series, journal};

use super::machine::{FORMER, Machine, pin};
use super::player::{Block, PLAYED_OUTPUT, play};

pub fn train(machine: &Machine) -> Train {
    let output = Output { pin: pin("P9_31"), host: machine.host() };
    Train { output, width_ns: 100_000, gap_ns: 1_000_000, on_exit: OnExit::Low }
}

pub fn follower(machine: &Machine) -> Follower {
    let (input, output, host) = (pin("P9_29"), pin("P9_31"), machine.host());
    Follower { input, output, inverse: false, on_exit: OnExit::High, host }
}

pub fn measured(
    length: Length,
    measure: impl FnOnce(Limits, &mut Observer) -> Result<Series, Error>,
) -> (Result<Series, Error>, Vec<String>) {
    let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    let series = measure(Limits::new(length), &mut observer);
    let mut said = observer.take_notes();
    said.extend(observer.take_facts());
    (series, said)
}

fn is_given_back(machine: &Machine) {
    machine.comes_to(0, "offline");
    assert_eq!((machine.firmware(0).as_str(), machine.installed()), (FORMER, vec![FORMER.to_string()]));
}

#[test]
fn a_train_is_what_the_pru_measured() {
    let machine = Machine::new(play);
    let (series, notes) = measured(Length::Count(1_000), |limits, o| train(&machine).measure("pru", limits, o));
    let series = series.unwrap();
    let pulse = series.pulse.unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!((pulse.wanted_ns, pulse.gap_ns), (100_000, 1_000_000));
    assert_eq!((pulse.width.min_ns, pulse.width.max_ns), (Some(100_000), Some(101_500)));
    assert_eq!((pulse.width.count(), pulse.width.below(100_001), pulse.width.below(100_006)), (1_000, 900, 990));
    assert!(pulse.measured_by.contains("PRU's own cycle counter"));
    // 90 of 1000 are a cycle too wide, 10 are 300.
    assert!((pulse.width.mean_ns.unwrap() - 100_000.0 - (90.0 * 5.0 + 10.0 * 1_500.0) / 1_000.0).abs() < 0.01);
    let errors = &series.latency;
    assert_eq!((errors.count(), errors.below(1), errors.below(6), errors.max_ns), (1_000, 900, 990, Some(1_500)));
    let settings = series.settings;
    assert_eq!((settings.method.as_str(), settings.interval_ns), ("pru", 1_100_000));
    assert_eq!((settings.line.as_deref(), settings.backend.as_deref()), (Some("P9_31"), Some("PRU 0")));
    is_given_back(&machine);
    assert_eq!(Block::open(machine.host().root.as_path(), 0).get(PLAYED_OUTPUT), 0);
}

fn job(machine: &Machine, watched_line: Option<Name>) -> Job {
    let method = Method::Pru(train(machine).output);
    let line = Name::Own("P9_31".into());
    Job { line, watched_line, width_ns: 100_000, gap_ns: 900_000, method, subtract_ns: None, on_exit: OnExit::Low }
}

#[test]
fn it_is_a_mechanism_as_others_are() {
    let machine = Machine::new(play);
    let job = job(&machine, None);
    let (series, _) =
        measured(Length::Count(30), |limits, o| pulse::measure("by pru", &job, Placement::stock(), limits, o));
    let series = series.unwrap();
    assert_eq!((series.name.as_str(), series.latency.count()), ("by pru", 30));
    assert!(series.pulse.unwrap().measured_by.contains("cycle counter") && series.published.is_some());
    is_given_back(&machine);
}

/// A thread stands in for the pin: it drives a simulated line while the PRU is asked to make pulses.
#[test]
fn another_line_can_look_on() {
    let machine = Machine::new(play);
    let chip = format!("pru-seen-{}", std::process::id());
    let [drive, see] = [4, 17].map(|line| Name::Sim { chip: chip.clone(), line });
    sim::wire(&drive, &see, sim::Wire::default()).unwrap();
    let (job, over) = (job(&machine, Some(see.clone())), AtomicBool::new(false));
    let (series, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let block = Block::open(machine.host().root.as_path(), 0);
            let mut line = Line::open(&drive, &Request::output(false)).unwrap();
            while !over.load(Relaxed) {
                if block.get(at::STATE) == state::RUNNING {
                    line.write(true).unwrap();
                    ontick_rt::clock::sleep_for(u64::from(block.get(at::WIDTH)) * 5);
                    line.write(false).unwrap();
                }
                ontick_rt::clock::sleep_for(900_000);
            }
        });
        let measured =
            measured(Length::Count(20), |limits, o| pulse::measure("pru", &job, Placement::stock(), limits, o));
        over.store(true, Relaxed);
        measured
    });
    let series = series.unwrap();
    assert_eq!((series.latency.count(), series.settings.method.as_str()), (20, "pru"));
    assert_eq!(series.settings.watched_line, Some(see.to_string()));
    assert!(series.pulse.unwrap().width.min_ns.unwrap() > 95_000);
    is_given_back(&machine);
    sim::remove(&chip).unwrap();
}

#[test]
fn answers_are_bounds_and_say_so() {
    let machine = Machine::new(play);
    let (series, notes) = measured(Length::Count(500), |limits, o| follower(&machine).measure("pru", limits, o));
    let series = series.unwrap();
    let latency = &series.latency;
    assert_eq!((latency.count(), latency.min_ns, latency.max_ns), (500, Some(30), Some(35)));
    assert!(notes.iter().any(|note| note.contains("bound")), "{notes:?}");
    assert_eq!(series.settings.input_line.as_deref(), Some("P9_29"));
    is_given_back(&machine);
    assert_eq!(Block::open(machine.host().root.as_path(), 0).get(PLAYED_OUTPUT), 1, "left high");
}

#[test]
fn a_run_without_an_end_is_ended_and_keeps_what_was_measured() {
    let machine = Machine::new(play);
    let (stop, looks) = (AtomicBool::new(false), std::cell::Cell::new(0u32));
    let mut look = |live: &Live| {
        assert_eq!((live.name, live.done), ("pru", None));
        looks.set(looks.get() + 1);
        stop.store(live.latency.count() > 0, Relaxed);
    };
    let mut observer = Observer::new(&stop, &mut look);
    let limits = Limits::new(Length::Duration(u64::MAX));
    let series = train(&machine).measure("pru", limits, &mut observer).unwrap();
    assert!(looks.get() > 0 && series.latency.count() > 0);
    // What was seen last is in the seconds, too.
    assert_eq!(series.maxima.max_ns.iter().max().copied(), series.latency.max_ns);
    is_given_back(&machine);

    // A duration ends it, too; how much comes in that time is the machine's affair.
    let (series, _) = measured(Length::Duration(50_000_000), |limits, o| train(&machine).measure("pru", limits, o));
    let series = series.unwrap();
    assert_eq!(series.latency.count(), series.pulse.unwrap().width.count());
    is_given_back(&machine);
}

#[test]
fn what_was_measured_is_in_the_journal() {
    let machine = Machine::new(play);
    let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    let mut run = Run::new("ontick", "pulse");
    run.series.push(Series { name: "pru".into(), ..Series::default() });
    let record = machine.path("run.json");
    observer.keep_journal(record.clone(), &run).unwrap();
    let limits = Limits::new(Length::Count(1_000));
    let series = train(&machine).measure("pru", limits, &mut observer).unwrap();
    let text = std::fs::read_to_string(journal::path_for(&record)).unwrap();
    let kept = &journal::recover(&text).unwrap().series[0];
    assert_eq!(kept.latency.buckets(), series.latency.buckets());
    assert_eq!((kept.latency.max_ns, kept.missed), (series.latency.max_ns, 0));
}
