//! The headline: the same periodic job run the stock way and ontick's way, idle and loaded, in interleaved
//! blocks (A B, B A, A B), so that a drifting machine cannot favour one side.

use ontick_record::{Case, Series, Side};
use ontick_rt::clock::ClockId;
use ontick_rt::phase::{self, Phase};
use ontick_rt::{cpus, watchdog};

use crate::blocks::{absorb, note_of_ended};
use crate::observe::Part;
use crate::timer::{self, Chosen, Job, Method};
use crate::timetable::{BESIDE_NS, Timetable};
use crate::{Error, Limits, Load, Observer, Placement};

/// Pairs of blocks for each load.
const PAIRS: usize = 3;

/// What to prove, and for how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Period of the job, in ns.
    pub interval_ns: u64,
    /// The whole run, in ns.
    pub duration_ns: u64,
    /// The CPUs of ontick's side, a thread on each; none for the one that is preferred. Of several, the stock side has a thread
    /// on each, too.
    pub cpus: Vec<u32>,
    /// These CPUs kept from idling while ontick's side runs.
    pub awake: bool,
    /// The margin of ontick's hybrid wait, in ns; `None` where it learns one.
    pub margin_ns: Option<u64>,
    /// The load of the loaded blocks; [`Load::None`] leaves those out.
    pub load: Load,
}

/// One way of running the job: where its threads are, and the phase of each.
struct Setup {
    job: Job,
    placements: Vec<Placement>,
    phases: Vec<Phase>,
}

impl Plan {
    /// The series that [`prove`] will measure, in order and empty.
    pub fn series(&self) -> Vec<Series> {
        self.cases().into_iter().map(Series::from).collect()
    }

    fn cases(&self) -> Vec<Case> {
        let sides =
            self.loads().into_iter().flat_map(|(loaded, _)| [Side::Stock, Side::Ontick].map(|side| (side, loaded)));
        let each = |(side, loaded)| {
            let case = Case { side: Some(side), loaded: Some(loaded), ..Case::default() };
            match self.cpus.len() {
                0 | 1 => vec![case],
                _ => self.cpus.iter().map(|cpu| Case { cpu: Some(*cpu), ..case.clone() }).collect(),
            }
        };
        sides.flat_map(each).collect()
    }

    /// Where ontick's side runs; of several CPUs, the first.
    pub fn placement(&self) -> Placement {
        Placement { awake: self.awake, ..Placement::dedicated(self.cpus.first().copied()) }
    }

    fn placements(&self) -> Vec<Placement> {
        match self.cpus.len() {
            0 | 1 => vec![self.placement()],
            _ => self.cpus.iter().map(|cpu| Placement { cpu: Some(*cpu), ..self.placement() }).collect(),
        }
    }

    /// The job of ontick's side.
    fn job(&self) -> Job {
        // On the only CPU a spinning loop would stop everything else; there ontick sleeps all the time.
        let method = match watchdog::may_occupy(cpus::online().len()) {
            Ok(()) => Method::Hybrid,
            Err(_) => Method::ClockNanosleep,
        };
        Job { margin_ns: self.margin_ns, ..Job::new(self.interval_ns, method) }
    }

    /// The loads in turn; whether it is one.
    fn loads(&self) -> Vec<(bool, &Load)> {
        match &self.load {
            Load::None => vec![(false, &Load::None)],
            load => vec![(false, &Load::None), (true, load)],
        }
    }

    fn timetable(&self) -> Timetable {
        Timetable {
            blocks: (self.loads().len() * PAIRS * 2) as u64,
            least_ns: self.interval_ns.saturating_mul(20).max(50_000_000),
            beside_ns: BESIDE_NS,
            once_ns: self.find_phase_ns() + Timetable::of_load(&self.load),
        }
    }

    /// Whether a quietest phase of so long an interval can be told.
    fn has_quietest_phase(&self) -> bool {
        self.interval_ns <= phase::LONGEST_SCANNED_NS
    }

    fn find_phase_ns(&self) -> u64 {
        if self.has_quietest_phase() { timer::FIND_PHASE_NS } else { 0 }
    }

    /// How long it takes on the clock: the duration, or as long as the shortest blocks need.
    pub fn takes_ns(&self) -> u64 {
        self.timetable().takes_ns(self.duration_ns)
    }

    /// Whether it can be measured at all.
    pub fn check(&self) -> Result<(), Error> {
        self.job().check(self.placement())?;
        self.job().check_margin()?;
        self.placements().iter().try_for_each(Placement::check_for_others)?;
        self.load.check()?;
        let Timetable { blocks, least_ns, .. } = self.timetable();
        match self.duration_ns / blocks {
            ns if ns < least_ns => Err(Error::Impossible(
                "the duration is too short: each of the 6 or 12 blocks needs 50ms and 20 periods".into(),
            )),
            _ => Ok(()),
        }
    }
}

/// Measures both sides. The series are those of [`Plan::series`]; fewer blocks if the observer ends the run.
pub fn prove(plan: &Plan, observer: &mut Observer) -> Result<Vec<Series>, Error> {
    plan.check()?;
    let mut pace = plan.timetable().start(plan.duration_ns, ClockId::Monotonic.now_ns());
    let mut sides = sides(plan);
    let ontick = &mut sides[1];
    ontick.placements.iter().try_for_each(Placement::check)?;
    if plan.has_quietest_phase() {
        ontick.phases = timer::find_phases(plan.interval_ns, &ontick.placements)?;
        ontick.job.chosen = Chosen::Found;
        pace.over(plan.find_phase_ns());
    }
    let threads = sides[1].placements.len();

    let mut all = plan.series();
    let loads = plan.loads();
    let share = 1.0 / (loads.len() * PAIRS * 2) as f64;
    let (mut order, mut whole_loaded) = (0, 0);
    for (case, (loaded, load)) in loads.into_iter().enumerate() {
        if observer.stopped() {
            break;
        }
        let Some(beside) = observer.or_end(load.start(), order > 0)? else { break };
        pace.over(Timetable::of_load(load));
        for side in interleaved() {
            if observer.stopped() {
                break;
            }
            let first = (case * 2 + side) * threads;
            observer.begin(Part { series: first, from: f64::from(order) * share, share });
            let began_ns = ClockId::Monotonic.now_ns();
            let limits = pace.block(began_ns);
            let names = all[first..first + threads].iter().map(|series| series.name.clone()).collect::<Vec<_>>();
            let came = sides[side].measure(&names, limits, observer);
            let Some(blocks) = observer.or_end(came, order > 0)? else { break };
            if observer.stopped() && blocks.iter().all(|block| block.cycles() == 0) {
                // Ended before its first sample: it was not measured.
                break;
            }
            for (series, mut block) in all[first..].iter_mut().zip(blocks) {
                load.describe_beside(&beside, &mut block.settings);
                absorb(series, block, order);
            }
            pace.took(limits, ClockId::Monotonic.now_ns() - began_ns);
            order += 1;
            whole_loaded += u32::from(loaded && side == 1 && !observer.stopped());
        }
        observer.note_all(note_of_ended(&beside));
    }
    if plan.load != Load::None && whole_loaded == 0 {
        observer.leave_unproven("no whole block was measured under load");
    }
    all.retain(|series| !series.blocks.is_empty());
    Ok(all)
}

fn sides(plan: &Plan) -> [Setup; 2] {
    let placements = plan.placements();
    // One thread goes where the scheduler puts it. Several are compared CPU by CPU.
    let stock: Vec<Placement> = match placements.len() {
        1 => vec![Placement::stock()],
        _ => placements.iter().map(|placement| Placement { cpu: placement.cpu, ..Placement::stock() }).collect(),
    };
    let stock_way = (Job::new(plan.interval_ns, Method::Nanosleep), stock);
    [stock_way, (plan.job(), placements)].map(|(job, placements)| {
        let phases = vec![job.phase; placements.len()];
        Setup { job, placements, phases }
    })
}

impl Setup {
    /// One block, of a series for each thread.
    fn measure(&self, names: &[String], limits: Limits, observer: &mut Observer) -> Result<Vec<Series>, Error> {
        if let ([name], [placement], [phase]) = (names, &self.placements[..], &self.phases[..]) {
            let job = Job { phase: *phase, ..self.job };
            return Ok(vec![timer::measure(name, job, *placement, limits, observer)?]);
        }
        timer::together(&self.job, &self.placements, &self.phases, names, limits, observer)
    }
}

/// Sides in the order in which their blocks run: A B, B A, A B.
fn interleaved() -> impl Iterator<Item = usize> {
    (0..PAIRS).flat_map(|pair| if pair % 2 == 0 { [0, 1] } else { [1, 0] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Every millisecond, beside nothing.
    fn plan() -> Plan {
        Plan {
            interval_ns: 1_000_000,
            duration_ns: 600_000_000,
            cpus: Vec::new(),
            awake: false,
            margin_ns: None,
            load: Load::None,
        }
    }

    #[test]
    fn neither_side_always_goes_first() {
        assert_eq!(interleaved().collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn both_sides_have_the_same_number_of_blocks() {
        let plan = plan();
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let series = prove(&plan, &mut Observer::new(&stop, &mut look)).unwrap();
        assert_eq!(series.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["stock, idle", "ontick, idle"]);
        assert!(series.iter().all(|s| s.blocks.len() == PAIRS && s.latency.count() > 0));
        assert_eq!(series[1].settings.phase_choice, "auto");
        // Three blocks of 100 ms, not of a second; a stall makes one longer.
        for side in series.iter().filter(|side| side.latency.max_ns < Some(500_000_000)) {
            assert_eq!(side.maxima.max_ns.len(), PAIRS);
            assert_eq!(side.maxima.short.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 1, 2], "{:?}", side.maxima);
        }
    }

    /// It would be seen too seldom to tell.
    #[test]
    fn of_a_long_interval_no_phase_is_called_the_quietest() {
        let plan = Plan { interval_ns: 110_000_000, duration_ns: 13_200_000_000, ..plan() };
        assert_eq!(plan.timetable().once_ns, 0);
        let stop = AtomicBool::new(false);
        // The first cycle of ontick's side is enough.
        let mut look = |live: &crate::Live| {
            if live.name.starts_with("ontick") && live.latency.count() > 0 {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        };
        let series = prove(&plan, &mut Observer::new(&stop, &mut look)).unwrap();
        assert_eq!(series[1].settings.phase_choice, "chance");
    }

    #[test]
    fn of_several_cpus_each_has_its_series_on_both_sides() {
        let allowed = cpus::allowed();
        let [first, second, ..] = allowed[..] else { return ontick_skip::skipped!("one CPU") };
        let cpus = vec![first, second];
        let plan = Plan { cpus, ..plan() };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let series = prove(&plan, &mut Observer::new(&stop, &mut look)).unwrap();
        let names: Vec<String> = series.iter().map(|series| series.name.clone()).collect();
        let expected = ["stock, idle", "ontick, idle"]
            .iter()
            .flat_map(|side| [first, second].map(|cpu| format!("CPU {cpu}, {side}")))
            .collect::<Vec<_>>();
        assert_eq!(names, expected);
        for (series, cpu) in series.iter().zip([first, second, first, second]) {
            assert_eq!((series.settings.cpu, series.blocks.len()), (Some(cpu), PAIRS), "{}", series.name);
            assert!(series.latency.count() > 0);
        }
        assert!(series[2..].iter().all(|series| series.settings.phase_choice == "auto"));
        // Threads of one block began together.
        assert!(series[..2].iter().map(|series| series.blocks[0].order).eq([0, 0]));
    }

    #[test]
    fn a_load_that_ends_too_soon_is_reported() {
        let load = "cmd:sleep 2".parse().unwrap();
        let plan = Plan { duration_ns: 2_400_000_000, load, ..plan() };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let series = prove(&plan, &mut observer).unwrap();
        assert_eq!(series.iter().map(|s| s.settings.load_ended).collect::<Vec<_>>(), [false, false, true, true]);
        let notes = observer.take_notes();
        assert!(notes.iter().any(|note| note.contains("the load ended")), "{notes:?}");
    }

    #[test]
    fn a_proof_that_ends_before_its_load_begins_is_none() {
        let stop = AtomicBool::new(false);
        let mut look = |_: &crate::Live| stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut observer = Observer::new(&stop, &mut look);
        let plan = Plan { duration_ns: 6_000_000_000, load: "cmd:sleep 1h".parse().unwrap(), ..plan() };
        let series = prove(&plan, &mut observer).unwrap();
        assert_eq!(series.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["stock, idle"]);
        assert!(observer.take_unproven().unwrap().contains("under load"));
    }

    /// The end comes while the thread of the block makes itself ready.
    #[test]
    fn a_block_that_is_ended_before_its_first_sample_is_none() {
        let stop = AtomicBool::new(false);
        let mut turn = || stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut look = |_: &crate::Live| {};
        let mut observer = Observer::new(&stop, &mut look);
        observer.each_turn(&mut turn);
        // Nothing is due for seconds, and the run is asked to end long before.
        let plan = Plan { interval_ns: 30_000_000_000, duration_ns: 3_600_000_000_000, ..plan() };
        assert_eq!(prove(&plan, &mut observer).unwrap(), []);
    }

    #[test]
    fn a_duration_that_proves_nothing_is_refused() {
        let plan = Plan { duration_ns: 1_000_000, ..plan() };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        assert!(prove(&plan, &mut Observer::new(&stop, &mut look)).unwrap_err().to_string().contains("too short"));
    }

    #[test]
    fn an_interval_that_no_job_can_have_is_refused() {
        for interval_ns in [500, 3_600_000_000_001] {
            let refused = Plan { interval_ns, duration_ns: u64::MAX / 2, ..plan() }.check().unwrap_err().to_string();
            assert!(refused.starts_with("the interval must be at"), "{refused}");
        }
    }

    #[test]
    fn a_margin_is_that_of_ontick_alone() {
        if watchdog::may_occupy(cpus::online().len()).is_err() {
            return ontick_skip::skipped!("one CPU");
        }
        let plan = Plan { margin_ns: Some(70_000), ..plan() };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let series = prove(&plan, &mut Observer::new(&stop, &mut look)).unwrap();
        let margins: Vec<_> = series.iter().map(|s| (s.settings.margin_ns, s.settings.margin_fixed)).collect();
        assert_eq!(margins, [(None, false), (Some(70_000), true)]);
        let too_long = Plan { margin_ns: Some(950_000), ..plan };
        let error = prove(&too_long, &mut Observer::new(&stop, &mut look)).unwrap_err().to_string();
        assert!(error.contains("at most 900us"), "{error}");
    }
}
