//! Many records of many machines: which kind of machine is worst, what changed between two weeks, which machine stands
//! apart from those like it.
//!
//! Records are added one by one, and of each a few bytes are kept beside the sum of its kind's histograms, so that a
//! hundred thousand take no more memory than some hundred.
//!
//! ```
//! use ontick_record::{Run, Series, fleet::Fleet};
//!
//! let mut fleet = Fleet::default();
//! for machine in ["pi-1", "pi-2"] {
//!     let mut run = Run::new("ontick", "timer");
//!     run.series.push(Series::from("hybrid".to_owned()));
//!     run.series[0].latency.add(2_000, 1, 1_000);
//!     fleet.add(machine, &run);
//! }
//! let survey = fleet.survey(None);
//! assert_eq!((survey.machines, survey.records), (2, 2));
//! assert_eq!(survey.jobs[0].groups[0].latency.quantile(0.9999), Some(2_000));
//! ```

mod cycles;
mod kind;
mod outlying;
mod rows;
mod shifts;
mod tally;
mod week;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::{Histogram, Run};
use cycles::Cycles;
pub use kind::{Job, Kind};
pub use outlying::Outlying;
use rows::{Row, by_machine, median};
pub use shifts::{Change, Shift};
use tally::Tally;
pub use week::Week;

/// Name and version of the document that a [`Survey`] is.
pub const SCHEMA: &str = "ontick-fleet/1";

/// Records so far.
#[derive(Debug, Default)]
pub struct Fleet {
    records: u64,
    simulated: u64,
    undated: u64,
    machines: Names,
    started: Option<(String, String)>,
    jobs: Vec<Job>,
    places: HashMap<(Job, Kind), u32>,
    groups: Vec<Sum>,
    rows: Vec<Row>,
    refused: Refused,
}

/// A kind of machines at a job, so far.
#[derive(Debug)]
struct Sum {
    job: usize,
    kind: Kind,
    series: u64,
    cycles: Cycles,
    tally: Tally,
}

/// Names by number.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// Files that are no records.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Refused {
    /// How many.
    pub files: u64,
    /// Why the first of them were not read, the file's name included.
    pub first: Vec<String>,
}

/// More reasons are counted, not kept.
const MOST_REASONS: usize = 10;

/// What the records say together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Survey {
    /// Format of this document, `ontick-fleet/1`.
    pub schema: String,
    /// How many records there are.
    pub records: u64,
    /// Of how many machines.
    pub machines: usize,
    /// How many records hold simulated or emulated figures.
    pub simulated: u64,
    /// How many records do not say when they were made; they are in no week.
    pub undated: u64,
    /// When the first and the last run began, RFC 3339 in UTC.
    pub started: Option<(String, String)>,
    /// Each job by itself, that with the most records first.
    pub jobs: Vec<Surveyed>,
    /// Files that were not read.
    pub refused: Refused,
}

/// A job and who did it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Surveyed {
    /// What was done.
    pub job: Job,
    /// The kinds of machines that did it, that with the largest 99.99th percentile first.
    pub groups: Vec<Group>,
    /// The two weeks that are compared, where there are two.
    pub weeks: Option<(Week, Week)>,
    /// What changed between them, worst first.
    pub shifts: Vec<Shift>,
    /// Machines that are much later than others of their kind, those that stand out most first.
    pub outlying: Vec<Outlying>,
}

/// Machines of a kind that did a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// What they are alike by.
    pub kind: Kind,
    /// How many series were added up.
    pub series: u64,
    /// Cycles that were acted on and, as far as anybody counted them, those that were missed.
    pub cycles: u64,
    /// Those of them that were certainly acted on less than 3 us late and not early; `None` where a summary among the
    /// records does not tell it.
    pub in_time: Option<u64>,
    /// Cycles that were missed; `None` where a tool among those that made the records does not count them.
    pub missed: Option<u64>,
    /// All latencies of all machines.
    pub latency: Histogram,
    /// Each machine's 99.99th percentile (the median of its records'), in ns, ascending.
    pub machines_p99_99_ns: Vec<u64>,
    /// The median of these of each week.
    pub weeks: BTreeMap<Week, u64>,
}

impl Fleet {
    /// Adds the record of a machine.
    pub fn add(&mut self, machine: &str, run: &Run) {
        self.records += 1;
        self.simulated += u64::from(run.simulated.is_some());
        let week = Week::of(&run.started);
        match week {
            Some(_) => self.note_start(&run.started),
            None => self.undated += 1,
        }
        let machine = self.machines.number(machine);
        let kind = Kind::of(run);
        for series in run.series.iter().filter(|series| !series.latency.is_empty()) {
            let group = self.group(Job::of(run, series), &kind);
            let sum = &mut self.groups[group as usize];
            sum.series += 1;
            sum.cycles.add(run, series);
            sum.tally.add(&series.latency);
            if let Some(p99_99_ns) = series.latency.quantile(0.9999) {
                self.rows.push(Row { group, machine, week, p99_99_ns });
            }
        }
    }

    /// Takes note of a file that is no record, and why.
    pub fn refuse(&mut self, why: impl ToString) {
        self.refused.files += 1;
        if self.refused.first.len() < MOST_REASONS {
            self.refused.first.push(why.to_string());
        }
    }

    /// How many records there are so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What they say together. What changed is what changed until `week`, or else the last week that has records, since
    /// the one before that has any.
    pub fn survey(mut self, week: Option<Week>) -> Survey {
        self.rows.sort_unstable_by_key(|row| (row.group, row.machine, row.week, row.p99_99_ns));
        let kinds: Vec<Kind> = self.groups.iter().map(|sum| sum.kind.clone()).collect();
        let job_of: Vec<usize> = self.groups.iter().map(|sum| sum.job).collect();
        let mut jobs: Vec<Surveyed> = self.jobs.into_iter().map(Surveyed::without_any).collect();
        for (number, sum) in (0u32..).zip(self.groups) {
            let rows = &self.rows[self.rows.partition_point(|row| row.group < number)..];
            let rows = &rows[..rows.partition_point(|row| row.group == number)];
            let surveyed = &mut jobs[sum.job];
            let machines = by_machine(rows.iter().map(|row| (row.machine, row.p99_99_ns)));
            surveyed.find_outlying(&machines, &self.machines.names);
            surveyed.groups.push(sum.end(rows, machines));
        }
        for (number, surveyed) in jobs.iter_mut().enumerate() {
            let of_job = self.rows.iter().filter(|row| job_of[row.group as usize] == number);
            surveyed.end(&of_job.copied().collect::<Vec<Row>>(), &kinds, week);
        }
        jobs.sort_by_key(|surveyed| Reverse(surveyed.groups.iter().map(|group| group.series).sum::<u64>()));
        Survey {
            schema: SCHEMA.into(),
            records: self.records,
            machines: self.machines.names.len(),
            simulated: self.simulated,
            undated: self.undated,
            started: self.started,
            jobs,
            refused: self.refused,
        }
    }

    fn group(&mut self, job: Job, kind: &Kind) -> u32 {
        let place = (job, kind.clone());
        if let Some(group) = self.places.get(&place) {
            return *group;
        }
        let group = self.groups.len() as u32;
        let known = self.jobs.iter().position(|job| *job == place.0);
        let job = known.unwrap_or_else(|| {
            self.jobs.push(place.0.clone());
            self.jobs.len() - 1
        });
        self.groups.push(Sum {
            job,
            kind: kind.clone(),
            series: 0,
            cycles: Cycles::default(),
            tally: Tally::default(),
        });
        self.places.insert(place, group);
        group
    }

    /// Points in time are in UTC, so that their texts are in their order.
    fn note_start(&mut self, started: &str) {
        match &mut self.started {
            None => self.started = Some((started.into(), started.into())),
            Some((first, last)) => {
                if started < first.as_str() {
                    *first = started.into();
                } else if started > last.as_str() {
                    *last = started.into();
                }
            }
        }
    }
}

impl Sum {
    fn end(self, rows: &[Row], machines: Vec<(u32, u64)>) -> Group {
        let mut weeks: BTreeMap<Week, Vec<u64>> = BTreeMap::new();
        for row in rows {
            if let Some(week) = row.week {
                weeks.entry(week).or_default().push(row.p99_99_ns);
            }
        }
        let middle = |(week, mut figures): (Week, Vec<u64>)| {
            figures.sort_unstable();
            Some((week, median(&figures)?))
        };
        let mut machines_p99_99_ns: Vec<u64> = machines.into_iter().map(|(_, figure)| figure).collect();
        machines_p99_99_ns.sort_unstable();
        Group {
            kind: self.kind,
            series: self.series,
            cycles: self.cycles.all,
            in_time: self.cycles.in_time,
            missed: self.cycles.missed,
            latency: self.tally.sum(),
            machines_p99_99_ns,
            weeks: weeks.into_iter().filter_map(middle).collect(),
        }
    }
}

impl Surveyed {
    fn without_any(job: Job) -> Self {
        Self { job, groups: Vec::new(), weeks: None, shifts: Vec::new(), outlying: Vec::new() }
    }

    fn find_outlying(&mut self, machines: &[(u32, u64)], names: &[String]) {
        let (median_ns, found) = outlying::outlying(machines);
        self.outlying.extend(found.into_iter().map(|(machine, p99_99_ns, score)| Outlying {
            machine: names[machine as usize].clone(),
            p99_99_ns,
            median_ns,
            alike: machines.len(),
            score,
        }));
    }

    fn end(&mut self, rows: &[Row], kinds: &[Kind], week: Option<Week>) {
        self.groups.sort_by_key(|group| Reverse(group.latency.quantile(0.9999)));
        self.outlying.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.machine.cmp(&b.machine)));
        let weeks: BTreeSet<Week> = rows.iter().filter_map(|row| row.week).collect();
        let after = week.or_else(|| weeks.last().copied());
        self.weeks = after.and_then(|after| Some((*weeks.range(..after).next_back()?, after)));
        if let Some((before, after)) = self.weeks {
            self.shifts = shifts::shifts(rows, kinds, before, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;
    use crate::run::Environment;

    fn record(kernel: &str, started: &str, latencies: &[(u64, u64)]) -> Run {
        let mut run = Run::new("ontick", "timer");
        run.started = started.into();
        run.environment = Some(Environment { machine: "Pi 4".into(), kernel: kernel.into(), ..Environment::default() });
        let mut series = Series::from("hybrid".to_owned());
        latencies.iter().for_each(|(ns, count)| series.latency.add(*ns, 1, *count));
        run.series.push(series);
        run
    }

    #[test]
    fn the_kind_with_the_worst_tail_comes_first() {
        let mut fleet = Fleet::default();
        // Better at its median, and worse in one of a thousand.
        for machine in 0..3 {
            fleet.add(&format!("a{machine}"), &record("6.1", "", &[(1_000, 9_990), (900_000, 10)]));
            fleet.add(&format!("b{machine}"), &record("6.12", "", &[(2_000, 9_990), (30_000, 10)]));
        }
        fleet.refuse("x.json: not a record");
        let survey = fleet.survey(None);
        let groups = &survey.jobs[0].groups;
        let kernels: Vec<&str> = groups.iter().map(|group| group.kind.kernel.as_str()).collect();
        assert_eq!((survey.jobs.len(), kernels), (1, vec!["6.1", "6.12"]));
        assert_eq!((groups[0].latency.count(), groups[0].machines_p99_99_ns.len()), (30_000, 3));
        assert_eq!((survey.undated, survey.started, survey.refused.files), (6, None, 1));
        assert_eq!((&survey.jobs[0].weeks, survey.jobs[0].shifts.len()), (&None, 0));
    }

    #[test]
    fn different_jobs_are_never_added_up() {
        let mut fleet = Fleet::default();
        let mut slow = record("6.12", "", &[(500_000, 100)]);
        slow.series[0].settings.method = "nanosleep".into();
        fleet.add("a", &slow);
        (0..2).for_each(|_| fleet.add("a", &record("6.12", "", &[(1_000, 100)])));
        let survey = fleet.survey(None);
        let most: Vec<_> = survey.jobs.iter().map(|job| job.groups[0].latency.max_ns).collect();
        assert_eq!(most, [Some(1_000), Some(500_000)], "that with the most records first");
        assert_eq!((survey.machines, survey.records), (1, 3));
    }

    #[test]
    fn the_last_two_weeks_are_compared_or_those_that_are_asked_for() {
        let weeks = ["2026-11-02T00:00:00Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"];
        let times = [1, 1, 3];
        let fleet = || {
            let mut fleet = Fleet::default();
            for machine in 0..8 {
                for (started, times) in weeks.iter().zip(times) {
                    let kernel = if times == 1 { "6.12.25" } else { "6.12.57" };
                    fleet.add(&format!("pi-{machine}"), &record(kernel, started, &[(10_000 * times, 100)]));
                }
            }
            fleet
        };
        let survey = fleet().survey(None);
        let surveyed = &survey.jobs[0];
        let named = surveyed.weeks.map(|(before, after)| [before.to_string(), after.to_string()]);
        assert_eq!(named, Some(["2026-W47".into(), "2026-W48".into()]));
        let shift = &surveyed.shifts[0];
        assert_eq!((shift.ratio, shift.machines, shift.verdict), (3.0, 8, Change::Worse));
        assert_eq!(survey.started, Some((weeks[0].into(), weeks[2].into())));
        let earlier = fleet().survey(Week::of(weeks[1]));
        let shift = &earlier.jobs[0].shifts[0];
        assert_eq!((shift.ratio, shift.verdict), (1.0, Change::NoWorse));
        assert_eq!(earlier.jobs[0].weeks.unwrap().0.to_string(), "2026-W45", "the one before has no records");
    }

    #[test]
    fn a_machine_apart_is_named_with_those_like_it() {
        let mut fleet = Fleet::default();
        for machine in 0..9 {
            let ns = if machine == 4 { 700_000 } else { 30_000 + machine * 100 };
            fleet.add(&format!("pi-{machine}"), &record("6.12", "", &[(ns, 100)]));
        }
        let survey = fleet.survey(None);
        let [apart] = &survey.jobs[0].outlying[..] else { panic!("{:?}", survey.jobs[0].outlying) };
        assert_eq!((apart.machine.as_str(), apart.p99_99_ns, apart.alike), ("pi-4", 700_000, 9));
        assert_eq!(apart.median_ns, 30_500);
    }

    #[test]
    fn reasons_are_bounded() {
        let mut fleet = Fleet::default();
        (0..1_000).for_each(|n| fleet.refuse(format!("{n}.json: not a record")));
        let refused = fleet.survey(None).refused;
        assert_eq!((refused.files, refused.first.len()), (1_000, MOST_REASONS));
    }
}
