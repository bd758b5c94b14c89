use ontick_record::{Run, store};

use super::*;
use crate::Length;

/// What the series say of the phase at the end, and what the journal had said of it by then, as of a run that is killed.
fn choices(
    names: &[String],
    measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
) -> [Vec<(String, Option<u64>)>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
    let mut observer = Observer::new(&stop, &mut look);
    let series = names.iter().cloned().map(Series::from).collect();
    let run = Run { series, ..Run::new("ontick", "timer") };
    observer.keep_journal(folder.path().join("run.json"), &run).unwrap();
    let measured = measure(&mut observer).unwrap();
    let killed = store::read(&folder.path().join("run.json.journal")).unwrap();
    let of = |all: &[Series]| all.iter().map(|s| (s.settings.phase_choice.clone(), s.settings.phase_ns)).collect();
    [of(&measured), of(&killed.series)]
}

fn jobs(phase: Phase) -> [Job; 2] {
    [Method::ClockNanosleep, Method::Nanosleep].map(|method| Job { phase, ..Job::new(1_000_000, method) })
}

#[test]
fn a_journal_says_who_chose_the_phase_that_several_jobs_share() {
    let limits = Limits::new(Length::Count(20));
    for (phase, choice) in [(Phase::Auto, "auto"), (Phase::Fixed(300_000), "fixed")] {
        let jobs = jobs(phase);
        let names = jobs.map(|job| job.method.name().to_string());
        let [measured, killed] = choices(&names, |observer| each(&jobs, Placement::stock(), limits, observer));
        assert_eq!(measured, killed);
        assert_eq!(measured.iter().map(|(of, _)| of.as_str()).collect::<Vec<_>>(), [choice; 2]);
        assert_eq!(measured[0].1, measured[1].1, "all have the same");
    }
}

#[test]
fn a_journal_says_of_several_cpus_who_chose_their_phases() {
    let allowed = cpus::allowed();
    let limits = Limits::new(Length::Count(20));
    for (staggered, choice) in [(true, "staggered"), (false, "auto")] {
        let jobs = jobs(Phase::Auto);
        let names: Vec<String> = cases(&jobs, &allowed).map(|case| case.to_string()).collect();
        let places = Places { cpus: &allowed, staggered };
        let measure = |observer: &mut Observer| on_each_cpu(&jobs, places, Placement::stock(), limits, observer);
        let [measured, killed] = choices(&names, measure);
        assert_eq!(measured, killed);
        assert!(measured.len() == names.len() && measured.iter().all(|(of, _)| of == choice), "{measured:?}");
    }
}
