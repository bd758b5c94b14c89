//! The same job on several CPUs at once, a thread on each.

use ontick_record::{Case, Series};
use ontick_rt::clock::ClockId;
use ontick_rt::phase::{self, Phase};
use ontick_rt::{cpus, watchdog};

use super::{Chosen, Job, Method, Timer, find_phase};
use crate::session::{Member, run_together};
use crate::{Error, Limits, Observer, Placement, series, split};

/// On which CPUs, and where in the period the threads of each act.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// A thread on each of these.
    pub cpus: &'a [u32],
    /// Deadlines are spread evenly over the period, from where the first CPU is quietest, so that threads do not meet; else
    /// each has the phase of its job.
    pub staggered: bool,
}

/// What tells the series apart: each job on each CPU.
pub fn cases<'a>(jobs: &'a [Job], cpus: &'a [u32]) -> impl Iterator<Item = Case> + 'a {
    jobs.iter().flat_map(|job| cpus.iter().map(|cpu| case(job, *cpu)))
}

fn case(job: &Job, cpu: u32) -> Case {
    Case { method: Some(job.method.name().into()), cpu: Some(cpu), ..Case::default() }
}

/// Measures each job in turn, on all CPUs together, and gives one series for each CPU. With `Phase::Auto` each CPU has
/// its own quietest phase, which is the same for all jobs.
pub fn on_each_cpu(
    jobs: &[Job],
    places: Places,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    let placements: Vec<Placement> = places.cpus.iter().map(|cpu| Placement { cpu: Some(*cpu), ..placement }).collect();
    for job in jobs {
        placements.iter().try_for_each(|placement| job.check(*placement))?;
        check_together(job, places.cpus, placement)?;
    }
    if observer.splits() {
        split::check(places.cpus)?;
    }
    let phases = phases(jobs, places, &placements)?;
    series::each_together(jobs, places.cpus.len(), observer, |job, observer| {
        let names: Vec<Case> = places.cpus.iter().map(|cpu| case(job, *cpu)).collect();
        let titles: Vec<String> = names.iter().map(Case::to_string).collect();
        let chosen = match (places.staggered, job.with_phase_that_can_be_found().phase) {
            (true, _) => Chosen::Staggered,
            (false, Phase::Auto) => Chosen::Found,
            _ => job.chosen,
        };
        let mut all = together(&Job { chosen, ..*job }, &placements, &phases, &titles, limits, observer)?;
        all.iter_mut().zip(names).for_each(|(series, case)| series.case = case);
        Ok(all)
    })
}

/// Measures a job by a thread at each of several places at once, each with a phase and a name of its own.
pub fn together(
    job: &Job,
    placements: &[Placement],
    phases: &[Phase],
    names: &[String],
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    placements.iter().try_for_each(|placement| job.check(*placement))?;
    let _reserved = job.reserve()?;
    let stop = observer.stop;
    let member = |((placement, phase), name): ((&Placement, &Phase), _)| {
        let job = Job { phase: *phase, ..*job };
        let prepare = move |_: &_| {
            let cycle = job.cycle(job.interval_ns, stop)?;
            Ok(Timer { cycle, job, began_ns: ClockId::Monotonic.now_ns() })
        };
        Member { name, placement: *placement, prepare }
    };
    let names = names.iter().map(String::as_str);
    run_together(placements.iter().zip(phases).zip(names).map(member).collect(), limits, observer)
}

/// What one thread alone may do, and several at once may not.
fn check_together(job: &Job, cpus: &[u32], placement: Placement) -> Result<(), Error> {
    if job.method == Method::SetItimer && cpus.len() > 1 {
        return Err(Error::Impossible(
            "setitimer(2) has one timer for a whole process, and so no thread on each of several CPUs: name other methods"
                .into(),
        ));
    }
    if job.method == Method::Spin && placement.policy.is_real_time() {
        watchdog::may_occupy_together(cpus, &cpus::online())?;
    }
    Ok(())
}

/// Where the deadlines lie on each CPU, found on all at once where that is asked for.
fn phases(jobs: &[Job], places: Places, placements: &[Placement]) -> Result<Vec<Phase>, Error> {
    let Some(first) = jobs.first().map(|job| job.with_phase_that_can_be_found()) else { return Ok(Vec::new()) };
    if places.staggered {
        return staggered(first.interval_ns, placements);
    }
    if first.phase != Phase::Auto {
        return Ok(vec![first.phase; places.cpus.len()]);
    }
    find_phases(first.interval_ns, placements)
}

/// Where each of several places is quietest, looked for on all at once.
pub fn find_phases(interval_ns: u64, placements: &[Placement]) -> Result<Vec<Phase>, Error> {
    std::thread::scope(|scope| {
        let find = |placement: &Placement| {
            let placement = *placement;
            scope.spawn(move || find_phase(interval_ns, placement))
        };
        let scans: Vec<_> = placements.iter().map(find).collect();
        let found = scans.into_iter().map(|scan| scan.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        found.map(|phase| phase.map(Phase::Fixed)).collect()
    })
}

/// Evenly spread over the period, from where the first CPU is quietest: at 0 the kernel's own tick may be due.
fn staggered(interval_ns: u64, placements: &[Placement]) -> Result<Vec<Phase>, Error> {
    let from_ns = match placements.first() {
        Some(first) if interval_ns <= phase::LONGEST_SCANNED_NS => find_phase(interval_ns, *first)?,
        _ => 0,
    };
    let count = placements.len() as u64;
    let step_ns = |n| (u128::from(interval_ns) * u128::from(n) / u128::from(count)) as u64;
    Ok((0..count).map(|n| Phase::Fixed((from_ns + step_ns(n)) % interval_ns)).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ontick_rt::Overrun;

    use super::*;
    use crate::Length;

    fn measured(jobs: &[Job], places: Places, placement: Placement) -> Result<Vec<Series>, Error> {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let limits = Limits::new(Length::Count(20));
        on_each_cpu(jobs, places, placement, limits, &mut Observer::new(&stop, &mut look))
    }

    #[test]
    fn each_cpu_has_its_series_and_its_place_in_the_period() {
        let allowed = cpus::allowed();
        let job = |method| Job { overrun: Overrun::CatchUp, ..Job::new(4_000_000, method) };
        let jobs = [job(Method::ClockNanosleep), job(Method::Futex)];
        let all = measured(&jobs, Places { cpus: &allowed, staggered: true }, Placement::stock()).unwrap();
        let cases: Vec<Case> = cases(&jobs, &allowed).collect();
        assert_eq!(all.iter().map(|series| &series.case).collect::<Vec<_>>(), cases.iter().collect::<Vec<_>>());
        assert_eq!(all[0].name, format!("clock_nanosleep, CPU {}", allowed[0]));
        for (n, series) in all.iter().enumerate() {
            let place = n % allowed.len();
            assert_eq!((series.latency.count(), series.settings.cpu), (20, Some(allowed[place])));
            let beyond_ns = series.settings.phase_ns.unwrap() + 4_000_000 - all[0].settings.phase_ns.unwrap();
            assert_eq!(beyond_ns % 4_000_000, 4_000_000 * place as u64 / allowed.len() as u64);
            assert_eq!(series.settings.phase_choice, "staggered");
        }
    }

    #[test]
    fn what_would_leave_no_cpu_or_needs_the_whole_process_is_refused() {
        let online = cpus::online();
        let places = Places { cpus: &online, staggered: false };
        let refused = |method, placement| measured(&[Job::new(1_000_000, method)], places, placement).unwrap_err();
        if online.len() > 1 {
            assert!(refused(Method::Spin, Placement::dedicated(None)).to_string().starts_with("no CPU is left"));
            assert!(refused(Method::SetItimer, Placement::stock()).to_string().contains("a whole process"));
        }
    }

    /// What none of them waits for is there at once, and what one of them lacks ends all.
    #[test]
    fn a_thread_that_cannot_begin_ends_all() {
        let allowed = cpus::allowed();
        let [first, second, ..] = allowed[..] else { return ontick_skip::skipped!("one CPU") };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let member = |cpu, fails| Member {
            name: "one",
            placement: Placement { cpu: Some(cpu), ..Placement::stock() },
            prepare: move |_: &_| {
                let job = Job::new(1_000_000, Method::ClockNanosleep);
                if fails {
                    return Err(Error::NeedsTwoCpus("this"));
                }
                Ok(Timer { cycle: job.cycle(1_000_000, &AtomicBool::new(false))?, job, began_ns: 0 })
            },
        };
        let members = vec![member(first, false), member(second, true)];
        let limits = Limits::new(Length::Duration(u64::MAX));
        let refused = run_together(members, limits, &mut Observer::new(&stop, &mut look)).unwrap_err();
        assert!(matches!(refused, Error::NeedsTwoCpus("this")), "{refused}");
    }
}
