//! Several waits in each cycle of one loop: whether their worst cases add, as source 000 says they do not.

use ontick_record::Case;
use ontick_record::run::{Series, Settings, Waits};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::recorder::{self, Reader, Writer};
use ontick_rt::wait::Wait;
use ontick_rt::{Cycle, Phase};

use super::{Job, NAP_NS, find_phase};
use crate::probe::{Probe, Sample};
use crate::recorded::histogram;
use crate::{Error, Limits, Observer, Placement, series, session};

/// The most waits of a cycle.
pub const MOST: u32 = 16;

/// The latencies of the waits of a cycle and of two that are computed of them, beside their sum.
const KEPT: usize = MOST as usize + 2;

/// How long each wait but the first takes: half of the period is left to the first, which keeps the period.
fn gap_ns(interval_ns: u64, count: u32) -> u64 {
    interval_ns / (2 * u64::from(count.max(1)))
}

/// The series of a job: the sum first, then each wait.
pub fn cases(job: &Job, count: u32) -> Vec<Case> {
    let of =
        |wait, sum_of_waits| Case { method: Some(job.method.name().into()), wait, sum_of_waits, ..Case::default() };
    std::iter::once(of(None, Some(count))).chain((1..=count).map(|wait| of(Some(wait), None))).collect()
}

/// Measures a job of `count` waits per cycle: the first until the cycle's deadline, each further one for a part of the
/// period after the one before it ended.
pub fn measure(
    job: Job,
    count: u32,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    if !(2..=MOST).contains(&count) {
        return Err(Error::Impossible(format!("a cycle has 2 to {MOST} waits here, not {count}")));
    }
    let gap_ns = gap_ns(job.interval_ns, count);
    if gap_ns < 1_000 {
        let least_us = 2 * u64::from(count);
        return Err(Error::Impossible(format!(
            "the interval must be at least {least_us}us for {count} waits of a cycle"
        )));
    }
    job.check(placement)?;
    // Its waits are shorter than the period.
    Job { interval_ns: gap_ns, ..job }.check_margin()?;
    let job = job.with_phase_that_can_be_found();
    let _reserved = job.reserve()?;
    let (kept, mut readers): (Vec<Writer>, Vec<Reader>) = (0..count + 2).map(|_| recorder::channel(u64::MAX)).unzip();
    let stop = observer.stop;
    let prepare = |_: &_| {
        let cycle = job.cycle(gap_ns, stop)?;
        let began_ns = ClockId::Monotonic.now_ns();
        Ok(SeveralWaits { cycle, job, count: count as usize, gap_ns, late_ns: [0; KEPT], at_ns: 0, kept, began_ns })
    };
    let mut cases = cases(&job, count).into_iter();
    let case = cases.next().unwrap_or_default();
    let mut sum = session::run(&case.to_string(), placement, limits, prepare, observer)?;
    sum.case = case;
    let (second, largest) = (readers.pop(), readers.pop());
    let of = |reader: Option<Reader>| reader.map(|reader| histogram(&reader.snapshot())).unwrap_or_default();
    sum.waits = Some(Waits { count, gap_ns, largest: of(largest), second: of(second) });
    let each = cases.zip(readers).map(|(case, reader)| Series {
        settings: sum.settings.clone(),
        latency: histogram(&reader.snapshot()),
        conditions: sum.conditions.clone(),
        ..Series::from(case)
    });
    let each: Vec<Series> = each.collect();
    Ok(std::iter::once(sum).chain(each).collect())
}

/// Measures several jobs in turn, all with one phase.
pub fn each(
    jobs: &[Job],
    count: u32,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    let auto = match jobs {
        [first, _, ..] if first.with_phase_that_can_be_found().phase == Phase::Auto => {
            Some(find_phase(first.interval_ns, placement)?)
        }
        _ => None,
    };
    series::each_together(jobs, 1 + count as usize, observer, |job, observer| {
        let job = auto.map_or(*job, |phase_ns| job.at_found(phase_ns));
        measure(job, count, placement, limits, observer)
    })
}

struct SeveralWaits<W> {
    cycle: Cycle<W>,
    job: Job,
    count: usize,
    gap_ns: u64,
    /// Of the last cycle: each wait, then the largest and the second largest.
    late_ns: [u64; KEPT],
    at_ns: u64,
    kept: Vec<Writer>,
    began_ns: u64,
}

impl<W: Wait> Probe for SeveralWaits<W> {
    #[inline]
    fn next(&mut self) -> Sample {
        if let Some(now_ns) = self.cycle.approach(NAP_NS) {
            return Sample::nap(now_ns);
        }
        let mut tick = self.cycle.next();
        let (missed, mut early_ns) = (tick.missed, tick.early_ns());
        let (mut sum, mut largest, mut second) = (0u64, 0, 0);
        for wait in 0..self.count {
            if wait > 0 {
                tick = self.cycle.wait_after(&tick, self.gap_ns);
                early_ns = early_ns.saturating_add(tick.early_ns());
            }
            let late_ns = tick.latency_ns();
            self.late_ns[wait] = late_ns;
            sum = sum.saturating_add(late_ns);
            (largest, second) = if late_ns > largest { (late_ns, largest) } else { (largest, second.max(late_ns)) };
        }
        (self.late_ns[self.count], self.late_ns[self.count + 1]) = (largest, second);
        self.at_ns = tick.now_ns;
        Sample { now_ns: tick.now_ns, latency_ns: Some(sum), missed, early_ns, napped: false }
    }

    fn recorded(&mut self) {
        for (writer, late_ns) in self.kept.iter_mut().zip(self.late_ns) {
            writer.record(self.at_ns, late_ns);
        }
    }

    /// Each further wait begins at the reading that ended the one before, so that their sum is of one reading.
    fn clock(&mut self) -> Option<&mut Clock> {
        Some(self.cycle.clock())
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.job.describe(&mut self.cycle, self.began_ns, settings);
    }

    fn is_described_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::Method;
    use ontick_rt::Overrun;
    use ontick_rt::clock::Source;

    /// Reaches each deadline at the lateness given for it, without waiting.
    struct Scripted(std::vec::IntoIter<u64>);

    impl Wait for Scripted {
        fn until(&mut self, _: &mut Clock, deadline_ns: u64) -> u64 {
            deadline_ns + self.0.next().expect("the script is long enough")
        }
    }

    fn scripted(count: usize, late_ns: Vec<u64>) -> (SeveralWaits<Scripted>, Vec<Reader>) {
        let clock = Clock::with_source(ClockId::Monotonic, Source::ClockGettime);
        let job = Job::new(1_000_000, Method::ClockNanosleep);
        let wait = Scripted(late_ns.into_iter());
        let cycle = Cycle::with_phase(clock, wait, job.interval_ns, Phase::Fixed(0), Overrun::CatchUp);
        let (kept, readers) = (0..count + 2).map(|_| recorder::channel(u64::MAX)).unzip();
        let probe = SeveralWaits { cycle, job, count, gap_ns: 1_000, late_ns: [0; KEPT], at_ns: 0, kept, began_ns: 0 };
        (probe, readers)
    }

    #[test]
    fn each_wait_their_sum_and_the_two_largest_are_kept_of_each_cycle() {
        // One late wait in the first cycle, two in the second.
        let (mut probe, readers) = scripted(3, vec![5, 90, 7, 40, 6, 50]);
        let mut sums = Vec::new();
        for _ in 0..2 {
            sums.push(probe.next().latency_ns.unwrap());
            probe.recorded();
        }
        assert_eq!(sums, [102, 96]);
        let kept =
            |reader: &Reader| histogram(&reader.snapshot()).buckets().iter().map(|b| b.low_ns).collect::<Vec<_>>();
        let kept: Vec<Vec<u64>> = readers.iter().map(kept).collect();
        // Wait 1, 2, 3; the largest, the second largest.
        assert_eq!(kept, [vec![5, 40], vec![6, 90], vec![7, 50], vec![50, 90], vec![7, 40]]);
    }

    #[test]
    fn equal_waits_are_both_the_largest_and_the_second_largest() {
        let (mut probe, _) = scripted(3, vec![9, 9, 1]);
        probe.next();
        assert_eq!(probe.late_ns[3..5], [9, 9]);
    }

    /// What comes later than it should at the end of a cycle is the sum, neither more nor less.
    #[test]
    fn a_cycle_ends_as_late_as_its_waits_sum_up_to() {
        let (mut probe, _) = scripted(4, vec![3, 20, 1_500, 2]);
        let sample = probe.next();
        let due_ns = sample.now_ns - sample.latency_ns.unwrap();
        assert_eq!(due_ns % 1_000_000, 3 * 1_000);
    }

    #[test]
    fn what_is_no_loop_of_several_waits_is_refused() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let mut look = |_: &crate::Live| {};
        let limits = Limits::new(crate::Length::Count(1));
        let mut refused = |interval_ns, count| {
            let job = Job::new(interval_ns, Method::ClockNanosleep);
            let mut observer = Observer::new(&stop, &mut look);
            measure(job, count, Placement::stock(), limits, &mut observer).unwrap_err().to_string()
        };
        assert!(refused(1_000_000, 1).contains("2 to 16 waits"));
        assert!(refused(1_000_000, 17).contains("2 to 16 waits"));
        assert!(refused(7_999, 4).contains("at least 8us for 4 waits"));
    }

    #[test]
    fn what_the_first_method_measured_is_kept_where_the_second_fails() {
        let (stop, mut look) = (std::sync::atomic::AtomicBool::new(false), |_: &crate::Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let too_fast = Job::new(1_000, Method::ClockNanosleep);
        let jobs = [Job::new(400_000, Method::ClockNanosleep), too_fast];
        let limits = Limits::new(crate::Length::Count(20));
        let all = each(&jobs, 2, Placement::stock(), limits, &mut observer).unwrap();
        assert_eq!(all.iter().map(|series| series.latency.count()).collect::<Vec<_>>(), [20; 3]);
        assert!(observer.take_failure().unwrap().to_string().contains("at least 4us for 2 waits"));
    }

    #[test]
    fn a_loop_measured_has_a_series_for_the_sum_and_for_each_wait() {
        let (stop, mut look) = (std::sync::atomic::AtomicBool::new(false), |_: &crate::Live| {});
        let job = Job::new(400_000, Method::ClockNanosleep);
        let limits = Limits::new(crate::Length::Count(50));
        let all = measure(job, 3, Placement::stock(), limits, &mut Observer::new(&stop, &mut look)).unwrap();
        let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
        let wait = |n: u32| format!("clock_nanosleep, wait {n}");
        assert_eq!(names, ["clock_nanosleep, sum of 3 waits", &wait(1), &wait(2), &wait(3)]);
        assert!(all.iter().all(|s| s.latency.count() == 50));
        let mean = |s: &Series| s.latency.mean_ns.unwrap();
        let apart = (mean(&all[0]) - all[1..].iter().map(mean).sum::<f64>()).abs();
        assert!(apart < 0.001, "the sum's mean is the sum of the means: {apart}");
        let waits = all[0].waits.as_ref().unwrap();
        assert_eq!((waits.count, waits.largest.count(), waits.second.count()), (3, 50, 50));
        let worst = all[1..].iter().filter_map(|s| s.latency.max_ns).max();
        assert_eq!(waits.largest.max_ns, worst);
    }
}
