//! `latency edge`: from one thread's driving a line to another thread's knowing it, across two CPUs.

mod causes;
mod driver;
mod observer;
mod wiring;

use ontick_record::run::Series;
use ontick_rt::thread::ThreadSetup;

pub use wiring::Wiring;
pub(crate) use wiring::named_once;

use crate::named_method::named_method;
use crate::{Error, Limits, Observer, Placement, session};
use observer::EdgeObserver;

/// How a thread comes to know of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It reads the line again and again.
    Poll,
    /// It sleeps until it is notified.
    Interrupt,
    /// It asks for notifications again and again, without sleeping.
    InterruptBusy,
}

impl Method {
    /// Every mechanism.
    pub const ALL: [Method; 3] = [Method::Poll, Method::Interrupt, Method::InterruptBusy];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Method::Poll => "poll",
            Method::Interrupt => "interrupt",
            Method::InterruptBusy => "interrupt-busy",
        }
    }
}

named_method!(Method, Method::ALL, "edges by");

/// What is measured.
#[derive(Debug, Clone)]
pub struct Job {
    /// The two lines.
    pub wiring: Wiring,
    /// How the edges are seen.
    pub method: Method,
    /// Time between edges, in ns.
    pub interval_ns: u64,
    /// CPU of the driving thread; `None`: the first other one.
    pub driver_cpu: Option<u32>,
}

/// Drives one line at every interval, and measures how long a thread at `placement` takes to know of it: from just
/// before the write to the first reading of the clock after the edge was seen. Edges that were not seen before
/// the next one are missed.
pub fn measure(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    if !(10_000..=1_000_000_000).contains(&job.interval_ns) {
        return Err(Error::Impossible("the interval of edges must be from 10us to 1s".into()));
    }
    let driver_placement =
        placement.peer(job.driver_cpu.map(|cpu| (cpu, "--from-cpu")), "an edge from one CPU to another")?;
    job.wiring.try_out()?;
    let prepare = |_: &ThreadSetup| EdgeObserver::start(job, driver_placement);
    session::run(name, placement, limits, prepare, observer)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ontick_gpio::{Name, OnExit, sim};
    use ontick_rt::cpus;

    use super::*;
    use crate::Length;

    fn bench(test: &str) -> (String, Wiring) {
        let chip = format!("edge-{test}-{}", std::process::id());
        let line = |line| Name::Sim { chip: chip.clone(), line };
        let wiring = Wiring { drive: line(4), see: line(17), on_exit: OnExit::Low };
        (chip, wiring)
    }

    fn measure_it(job: &Job, count: u64) -> Result<Series, Error> {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let placement = Placement { cpu: Some(cpus::preferred()), ..Placement::stock() };
        let mut observer = Observer::new(&stop, &mut look);
        measure("edges", job, placement, Limits::new(Length::Count(count)), &mut observer)
    }

    #[test]
    fn every_mechanism_sees_edges_and_misses_are_counted() {
        if cpus::allowed().len() < 2 {
            return;
        }
        let (chip, wiring) = bench("all");
        sim::wire(&wiring.drive, &wiring.see, sim::Wire::default()).unwrap();
        for method in Method::ALL {
            for interval_ns in [500_000, 50_000] {
                let job = Job { wiring: wiring.clone(), method, interval_ns, driver_cpu: None };
                let series = measure_it(&job, 60).unwrap();
                assert_eq!(series.latency.count(), 60, "{method}");
                assert_eq!(series.settings.backend.as_deref(), Some("simulated"));
                assert!(!sim::line_states(&chip).unwrap()[4].level, "left low");
            }
        }
        sim::remove(&chip).unwrap();
    }

    #[test]
    fn lines_that_are_not_joined_are_reported_before_anything_is_measured() {
        if cpus::allowed().len() < 2 {
            return;
        }
        let (chip, wiring) = bench("apart");
        let job = Job { wiring, method: Method::Poll, interval_ns: 1_000_000, driver_cpu: None };
        let error = measure_it(&job, 1).unwrap_err().to_string();
        assert!(error.contains("does not follow") && error.contains("join"), "{error}");
        let own = Wiring { see: job.wiring.drive.clone(), ..job.wiring.clone() };
        let error = measure_it(&Job { wiring: own, ..job }, 1).unwrap_err().to_string();
        assert!(error.contains("/4 is named twice"), "{error}");
        sim::remove(&chip).unwrap();
    }
}
