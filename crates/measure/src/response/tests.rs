use std::sync::atomic::AtomicBool;

use ontick_gpio::{Line, Name, Request, sim};
use ontick_rt::cpus;

use super::*;

/// A chip of a test's own, gone with it.
struct Chip(String);

impl Chip {
    fn new(test: &str) -> Self {
        Self(format!("response-{test}-{}", std::process::id()))
    }

    fn line(&self, line: u32) -> Name {
        Name::Sim { chip: self.0.clone(), line }
    }

    fn wired(self) -> Self {
        for (from, to) in [(5, 6), (7, 8)] {
            sim::wire(&self.line(from), &self.line(to), sim::Wire::default()).unwrap();
        }
        self
    }

    fn job(&self, method: Method) -> Job {
        let pair = Pair { input: self.line(6), output: self.line(7), inverse: false, on_exit: OnExit::Low };
        let ends = Ends { stimulus: self.line(5), scope: self.line(8) };
        Job { pair, ends, method, irq_policy: None, interval_ns: 500_000, observer_cpu: None }
    }

    fn level(&self, line: usize) -> bool {
        sim::line_states(&self.0).unwrap()[line].level
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        let _ = sim::remove(&self.0);
    }
}

fn two_cpus() -> bool {
    let two = cpus::allowed().len() > 1;
    if !two {
        ontick_skip::skipped!("it needs two CPUs");
    }
    two
}

fn placement() -> Placement {
    Placement { cpu: Some(cpus::preferred()), ..Placement::stock() }
}

fn measure_it(job: &Job, count: u64) -> Result<Series, Error> {
    let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    measure("response", job, placement(), Limits::new(Length::Count(count)), &mut observer)
}

#[test]
fn every_mechanism_answers_straight_and_inverse() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("all").wired();
    for method in Method::PROGRAM {
        for inverse in [false, true] {
            let mut job = chip.job(method);
            job.pair.inverse = inverse;
            let series = measure_it(&job, 40).unwrap();
            assert_eq!(series.latency.count(), 40, "{method}");
            let settings = &series.settings;
            assert_eq!(settings.backend.as_deref(), Some("simulated"));
            assert_eq!(settings.input_line.as_deref(), Some(&*chip.line(6).to_string()));
            assert_eq!(settings.watched_line.as_deref(), Some(&*chip.line(8).to_string()));
            assert!(!chip.level(5) && !chip.level(7), "left low");
        }
    }
}

#[test]
fn a_cable_that_is_missing_is_named_before_anything_is_measured() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("apart");
    sim::wire(&chip.line(5), &chip.line(6), sim::Wire::default()).unwrap();
    let error = measure_it(&chip.job(Method::Poll), 1).unwrap_err().to_string();
    assert!(error.contains("/8 does not follow") && error.contains("/7"), "{error}");
    let mut job = chip.job(Method::Poll);
    job.ends.stimulus = job.pair.output.clone();
    let error = measure_it(&job, 1).unwrap_err().to_string();
    assert!(error.contains("/7 is named twice"), "{error}");
}

#[test]
fn a_cable_that_comes_off_ends_the_run_and_what_was_measured_stays() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("off").wired();
    let scope = chip.line(8);
    let stop = AtomicBool::new(false);
    let mut pulled = false;
    let mut look = |live: &crate::Live| {
        if !pulled && live.latency.count() > 0 {
            sim::unwire(&scope).unwrap();
            pulled = true;
        }
    };
    let mut observer = Observer::new(&stop, &mut look);
    let length = Limits::new(Length::Count(u64::MAX));
    let series = measure("response", &chip.job(Method::Poll), placement(), length, &mut observer).unwrap();
    let notes = observer.take_notes().join(" ");
    assert!(notes.contains("did not answer") && notes.contains(&chip.line(8).to_string()), "{notes}");
    assert!(series.latency.count() > 0 && series.missed > 0);
}

#[test]
fn nonsense_is_refused() {
    let chip = Chip::new("nonsense");
    let mut job = chip.job(Method::Poll);
    job.interval_ns = 1_000;
    assert!(measure_it(&job, 1).unwrap_err().to_string().contains("200us to 1s"));
    job.interval_ns = 1_000_000;
    job.observer_cpu = placement().cpu;
    assert!(measure_it(&job, 1).unwrap_err().to_string().contains("two CPUs"));
}

#[test]
fn somebody_elses_oscilloscope_is_answered_and_nothing_is_measured() {
    if !two_cpus() {
        return;
    }
    let chip = Chip::new("alone").wired();
    for method in Method::PROGRAM {
        let pair = chip.job(method).pair;
        let (stop, changed) = (AtomicBool::new(false), AtomicBool::new(false));
        let (series, answers) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut stimulus = Line::open(&chip.line(5), &Request::output(false)).unwrap();
                let mut answer = Line::open(&chip.line(8), &Request::input()).unwrap();
                for level in [true, false, true] {
                    // Until it is answered, however long the thread takes to be there.
                    stimulus.write(level).unwrap();
                    while answer.read().unwrap() != level {
                        std::thread::yield_now();
                    }
                }
                changed.store(true, Relaxed);
                stop.store(true, Relaxed);
            });
            let mut look = |_: &crate::Live| {};
            respond(method, &pair, 1_000_000, placement(), None, &mut Observer::new(&stop, &mut look)).unwrap()
        });
        // A change before the thread was there is answered by the level it begins with; the line that is taken and left
        // may change, too.
        assert!(changed.into_inner() && (1..=5).contains(&answers), "{method}: {answers}");
        assert_eq!(series.latency.count(), 0);
        assert!(!chip.level(7), "left low");
    }
}
