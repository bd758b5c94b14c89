//! The timed loop's work in the cache: how late the work is done that begins at the deadline, with its code and data as
//! the rest of the machine leaves them, read just before, in huge pages, or in a part of the cache of their own.
//!
//! Source 003 names cache misses as what is left to remove, and code that is locked in the cache as the means.

mod memory;
mod reservation;
mod work;

use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use ontick_record::Case;
use ontick_record::run::{Series, Settings};
use ontick_rt::Cycle;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{Margin, Wait};

use super::{Job, NAP_NS};
use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, series, session};
use memory::{Memory, Pages};
use reservation::Reservation;
use work::Work;

/// What is done for the loop's code and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cache {
    /// Read in the last microseconds before each deadline.
    pub prefetch: bool,
    /// Data in huge pages.
    pub huge: bool,
    /// A part of the last-level cache for the CPU alone.
    pub reserved: bool,
}

const UNTOUCHED: &str = "untouched";

impl Cache {
    fn parts(self) -> [(&'static str, bool); 3] {
        [("prefetch", self.prefetch), ("huge", self.huge), ("reserved", self.reserved)]
    }
}

/// A word that is no part of a [`Cache`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is none of untouched, prefetch, huge, reserved (joined by +)")]
pub struct UnknownPart(String);

impl FromStr for Cache {
    type Err = UnknownPart;

    /// `untouched`, or one or more of `prefetch`, `huge`, `reserved` joined by `+`.
    fn from_str(text: &str) -> Result<Self, UnknownPart> {
        let mut cache = Self::default();
        if text == UNTOUCHED {
            return Ok(cache);
        }
        for part in text.split('+') {
            *match part {
                "prefetch" => &mut cache.prefetch,
                "huge" => &mut cache.huge,
                "reserved" => &mut cache.reserved,
                _ => return Err(UnknownPart(part.into())),
            } = true;
        }
        Ok(cache)
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parts: Vec<&str> = self.parts().into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect();
        f.write_str(if parts.is_empty() { UNTOUCHED.into() } else { parts.join("+") }.as_str())
    }
}

/// A job whose work is measured with its wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Working {
    /// When it is done, and how that is waited for.
    pub job: Job,
    /// How much memory the work reads, in bytes.
    pub bytes: usize,
    /// What is done for it.
    pub cache: Cache,
}

impl Working {
    /// What tells its series from the others of a run.
    pub fn case(&self) -> Case {
        Case { method: Some(self.job.method.name().into()), cache: Some(self.cache.to_string()), ..Case::default() }
    }
}

/// The longest prefetch before a deadline is this part of the period.
const LONGEST_LEAD: u64 = 4;
/// The prefetch has so much time that it is through with this share of them.
const QUANTILE: f64 = 0.999;
const SHORTEST_LEAD_NS: u64 = 2_000;

/// Measures each in turn: a sample's latency is from the deadline to the end of the work.
pub fn each(
    all: &[Working],
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    let phases = all.iter().map(|working| working.job.phase);
    let auto = match all {
        [first, _, ..] if phases.clone().all(|phase| phase == ontick_rt::Phase::Auto) => {
            let job = first.job.with_phase_that_can_be_found();
            match job.phase {
                ontick_rt::Phase::Auto => Some(super::find_phase(job.interval_ns, placement)?),
                _ => None,
            }
        }
        _ => None,
    };
    series::each(all, observer, |working, observer| {
        let job = auto.map_or(working.job, |phase_ns| working.job.at_found(phase_ns));
        measure(Working { job, ..*working }, placement, limits, observer)
    })
}

fn measure(working: Working, placement: Placement, limits: Limits, observer: &mut Observer) -> Result<Series, Error> {
    let Working { job, bytes, cache } = working;
    job.check(placement)?;
    let reservation = match (cache.reserved, placement.cpu) {
        (false, _) => None,
        (true, Some(cpu)) => Some(Reservation::of(cpu)?),
        (true, None) => {
            return Err(Error::Impossible(
                "a part of the cache is reserved for a CPU: name one, or let one be taken".into(),
            ));
        }
    };
    let job = job.with_phase_that_can_be_found();
    let _reserved = job.reserve()?;
    let stop = observer.stop;
    let prepare = |_: &_| {
        let memory = if cache.huge { Memory::huge(bytes) } else { Memory::small(bytes) };
        let memory = memory.map_err(Error::system("memory for the work"))?;
        let pages = memory.pages;
        let work = Rc::new(Work::new(memory));
        let touch = Rc::clone(&work);
        let longest_ns = (job.interval_ns / LONGEST_LEAD).max(SHORTEST_LEAD_NS);
        let lead = cache.prefetch.then(|| Margin::new(QUANTILE, SHORTEST_LEAD_NS, longest_ns));
        let cycle = job.cycle(job.interval_ns, stop)?;
        let cycle = cycle.waiting_by(|wait| Prefetched { wait, lead, touch: move || touch.run(), spun_ns: 0 });
        Ok(Timed { cycle, job, work, pages, cache, began_ns: ClockId::Monotonic.now_ns() })
    };
    let case = working.case();
    let mut series = session::run(&case.to_string(), placement, limits, prepare, observer)?;
    series.case = case;
    series.settings.work_bytes = Some(bytes as u64);
    series.settings.cache_reserved = reservation.map(|reservation| reservation.about.clone());
    Ok(series)
}

/// A wait whose last stretch before the deadline reads what the work will use.
struct Prefetched<W, F> {
    wait: W,
    /// How long before the deadline that begins; none where nothing is prefetched.
    lead: Option<Margin>,
    touch: F,
    spun_ns: u64,
}

impl<W: Wait, F: FnMut() -> u64> Wait for Prefetched<W, F> {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let Some(lead) = &mut self.lead else { return self.wait.until(clock, deadline_ns) };
        let began_ns = self.wait.until(clock, deadline_ns.saturating_sub(lead.ns()));
        (self.touch)();
        let touched_ns = clock.now_ns();
        lead.saw(touched_ns.saturating_sub(began_ns));
        let mut now_ns = touched_ns;
        while now_ns < deadline_ns {
            now_ns = clock.now_ns();
        }
        self.spun_ns += now_ns.saturating_sub(began_ns);
        now_ns
    }

    fn margin_ns(&self) -> Option<u64> {
        self.wait.margin_ns()
    }

    fn spun_ns(&self) -> Option<u64> {
        match (self.wait.spun_ns(), &self.lead) {
            (None, None) => None,
            (spun_ns, _) => Some(spun_ns.unwrap_or(0) + self.spun_ns),
        }
    }
}

struct Timed<W> {
    cycle: Cycle<W>,
    job: Job,
    work: Rc<Work>,
    pages: Pages,
    cache: Cache,
    began_ns: u64,
}

impl<W: Wait> Probe for Timed<W> {
    #[inline]
    fn next(&mut self) -> Sample {
        if let Some(now_ns) = self.cycle.approach(NAP_NS) {
            return Sample::nap(now_ns);
        }
        let tick = self.cycle.next();
        self.work.run();
        let now_ns = self.cycle.clock().now_ns();
        let latency_ns = Some(now_ns.saturating_sub(tick.deadline_ns));
        Sample {
            now_ns,
            latency_ns,
            missed: tick.missed,
            early_ns: tick.deadline_ns.saturating_sub(now_ns),
            napped: false,
        }
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(self.cycle.clock())
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.job.describe(&mut self.cycle, self.began_ns, settings);
        settings.pages = Some(
            match self.pages {
                Pages::Usual => "usual",
                Pages::Reserved => "huge, reserved",
                Pages::Transparent => "huge, transparent",
            }
            .into(),
        );
        if self.cache.huge && self.pages == Pages::Usual {
            settings.refused.push(
                "huge pages: the kernel gave none, and the memory has pages of the usual size (reserve some: \
                 sudo sysctl vm.nr_hugepages=1)"
                    .into(),
            );
        }
    }

    fn is_described_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::Method;
    use crate::{Length, Live};
    use std::cell::Cell;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn names_read_back() {
        for text in ["untouched", "prefetch", "huge", "reserved", "prefetch+huge", "prefetch+huge+reserved"] {
            assert_eq!(text.parse::<Cache>().unwrap().to_string(), text);
        }
        assert_eq!("huge+prefetch".parse::<Cache>().unwrap().to_string(), "prefetch+huge");
        for text in ["", "warm", "untouched+huge"] {
            assert!(text.parse::<Cache>().unwrap_err().to_string().contains("none of untouched, prefetch"), "{text}");
        }
    }

    /// Ends each wait at once, and keeps until when it should have been.
    struct Asked(Rc<Cell<u64>>);

    impl Wait for Asked {
        fn until(&mut self, _: &mut Clock, deadline_ns: u64) -> u64 {
            self.0.set(deadline_ns);
            deadline_ns
        }
    }

    #[test]
    fn the_work_is_read_before_the_deadline_and_the_deadline_kept() {
        let (asked, touched) = (Rc::new(Cell::new(0)), Cell::new(0));
        let touch = || touched.replace(touched.get() + 1);
        let lead = Some(Margin::new(QUANTILE, 7_000, 7_000));
        let mut wait = Prefetched { wait: Asked(asked.clone()), lead, touch, spun_ns: 0 };
        let mut clock = Clock::new(ClockId::Monotonic);
        let deadline_ns = clock.now_ns() + 1_000_000;
        let ended_ns = wait.until(&mut clock, deadline_ns);
        assert_eq!((asked.get(), touched.get()), (deadline_ns - 7_000, 1));
        assert!(ended_ns >= deadline_ns, "{} ns early", deadline_ns - ended_ns);
        assert_eq!(wait.spun_ns(), Some(ended_ns - asked.get()));
    }

    #[test]
    fn nothing_is_read_before_the_deadline_unless_asked_for() {
        let asked = Rc::new(Cell::new(0));
        let touch = || panic!("the work is untouched");
        let mut wait = Prefetched { wait: Asked(asked.clone()), lead: None, touch, spun_ns: 0 };
        assert_eq!(wait.until(&mut Clock::new(ClockId::Monotonic), 5), 5);
        assert_eq!((asked.get(), wait.spun_ns()), (5, None));
    }

    #[test]
    fn each_way_is_a_series_that_says_what_its_memory_has() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let of = |text: &str| Working {
            job: Job::new(500_000, Method::ClockNanosleep),
            bytes: 16 << 10,
            cache: text.parse().unwrap(),
        };
        let limits = Limits::new(Length::Count(30));
        let ways = ["untouched", "prefetch", "huge"].map(of);
        let all = each(&ways, Placement::stock(), limits, &mut Observer::new(&stop, &mut look)).unwrap();
        let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["clock_nanosleep, untouched", "clock_nanosleep, prefetch", "clock_nanosleep, huge"]);
        assert!(all.iter().all(|s| s.latency.count() == 30 && s.settings.work_bytes == Some(16 << 10)));
        let pages: Vec<&str> = all.iter().filter_map(|s| s.settings.pages.as_deref()).collect();
        assert_eq!(pages[..2], ["usual", "usual"]);
        let is_refused = all[2].settings.refused.iter().any(|what| what.starts_with("huge pages:"));
        assert_eq!(pages[2] == "usual", is_refused, "{:?}", all[2].settings);
        let reserved = each(&[of("reserved")], Placement::stock(), limits, &mut Observer::new(&stop, &mut look));
        assert!(reserved.unwrap_err().to_string().contains("name one"));
    }
}
