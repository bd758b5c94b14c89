//! All that was ever measured, series by series: a record that grows, kept in a journal so that a kill loses no block.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use ontick_measure::document;
use ontick_record::Measurement;
use ontick_record::journal::{self, Added, Journal};
use ontick_record::run::{RoundTrips, Run, Series, Settings};
use ontick_record::store::ParseError;

use crate::block::{Block, Job};
use crate::roundtrip::Way;
use crate::series::SeriesId;

/// The cumulative record.
pub struct Totals {
    run: Run,
    /// Where the series are in the run that are measured now.
    places: BTreeMap<SeriesId, usize>,
    journal: Journal,
}

/// What was counted before was moved aside.
#[derive(Debug, PartialEq, Eq)]
pub struct Anew {
    /// Why, and to where.
    pub why: String,
    /// Nobody asked for that.
    pub damaged: bool,
}

/// Why the record cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TotalsError {
    /// The system refused.
    #[error("{}: {error}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

impl Totals {
    /// Takes up the record in a folder, or begins one for these CPUs and round trips. A journal that cannot be read, or whose
    /// samples were taken otherwise, is moved aside; why comes with the new one.
    pub fn open(
        folder: &Path,
        cpus: &[u32],
        job: &Job,
        round_trips: &[(SeriesId, Way)],
    ) -> Result<(Self, Option<Anew>), TotalsError> {
        let path = folder.join("totals.json");
        let there = journal::path_for(&path);
        let of_cpus = cpus.iter().map(|cpu| (SeriesId::Cpu(*cpu as u16), empty(*cpu, job)));
        let of_ways = round_trips.iter().map(|(id, way)| (*id, empty_round_trips(way, job)));
        let wanted: Vec<(SeriesId, Series)> = of_cpus.chain(of_ways).collect();
        let (run, anew) = match recovered(&there) {
            Ok(run) => match run.as_ref().and_then(|run| otherwise(run, &wanted)) {
                Some(why) => (None, Some(moved_aside(&there, &folder.join("totals.before"), &why, false)?)),
                None => (run, None),
            },
            Err(why) => (None, Some(moved_aside(&there, &folder.join("totals.damaged"), &why.to_string(), true)?)),
        };
        let mut run = run.unwrap_or_else(|| document::begin(Measurement::Timer, Vec::new(), cpus.last().copied()));
        run.environment = Some(document::environment(cpus.last().copied()));
        let places = wanted.into_iter().map(|(id, series)| (id, place(&mut run, series))).collect();
        let journal = Journal::resume(&path, &run).map_err(|error| TotalsError::System { path: there, error })?;
        Ok((Self { run, places, journal }, anew))
    }

    /// Adds a block, with so many outliers, and what became of its requests where it had any.
    pub fn add(&mut self, block: &Block, outliers: usize, counts: Option<&RoundTrips>) -> Result<(), TotalsError> {
        let Some(index) = self.places.get(&block.series).copied() else { return Ok(()) };
        let series = &mut self.run.series[index];
        series.latency.merge(&block.latency);
        series.missed += block.missed;
        series.outlier_count += outliers as u64;
        if let Some((all, counts)) = series.round_trips.as_mut().zip(counts) {
            all.add(counts);
        }
        let covered_ns = series.settings.interval_ns.saturating_mul(block.latency.count() + block.missed);
        self.run.duration_ns = self.run.duration_ns.saturating_add(covered_ns);
        let added = Added {
            series: index,
            duration_ns: self.run.duration_ns,
            buckets: block.latency.buckets().to_vec(),
            min_ns: series.latency.min_ns,
            max_ns: series.latency.max_ns,
            mean_ns: block.latency.mean_ns,
            std_dev_ns: block.latency.std_dev_ns,
            missed: block.missed,
            second_max_ns: block.latency.max_ns.unwrap_or(0),
            outlier_count: outliers as u64,
            round_trips: counts.cloned(),
            ..Added::default()
        };
        self.journal.append(&added).map_err(|error| TotalsError::System { path: self.journal.path().into(), error })
    }

    /// What was measured so far of a series that is measured now.
    pub fn series(&self, id: SeriesId) -> Option<&Series> {
        self.places.get(&id).map(|place| &self.run.series[*place])
    }

    /// What was measured so far, as a record.
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// The run of a journal; none where there is no journal.
fn recovered(path: &Path) -> Result<Option<Run>, ParseError> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut run = journal::recover_from(BufReader::new(file))?;
    // It was not interrupted: it goes on. A second's maximum for each block of years would be no small file.
    run.interrupted = false;
    run.notes.clear();
    run.series.iter_mut().for_each(|series| series.maxima = Default::default());
    Ok(Some(run))
}

fn moved_aside(journal: &Path, aside: &Path, why: &str, damaged: bool) -> Result<Anew, TotalsError> {
    std::fs::rename(journal, aside).map_err(|error| TotalsError::System { path: journal.into(), error })?;
    Ok(Anew { why: format!("{why}; it is now {}, and counting began anew", aside.display()), damaged })
}

/// What is measured otherwise than in a run of before: figures of both together would be of neither.
fn otherwise(run: &Run, wanted: &[(SeriesId, Series)]) -> Option<String> {
    let differs = |(_, wanted): &(SeriesId, Series)| {
        let before = run.series.iter().find(|series| is_of(series, wanted))?;
        (!is_measured_alike(before, wanted)).then(|| format!("{} was measured with other settings before", wanted.name))
    };
    wanted.iter().find_map(differs)
}

fn is_measured_alike(a: &Series, b: &Series) -> bool {
    let how = |series: &Series| {
        let Settings { method, interval_ns, policy, octets, .. } = &series.settings;
        (method.clone(), *interval_ns, policy.clone(), *octets, series.round_trips.as_ref().map(|of| of.deadline_ns))
    };
    how(a) == how(b)
}

/// Where a series is in a run; one that is missing is added.
fn place(run: &mut Run, empty: Series) -> usize {
    run.series.iter().position(|series| is_of(series, &empty)).unwrap_or_else(|| {
        run.series.push(empty);
        run.series.len() - 1
    })
}

fn empty(cpu: u32, job: &Job) -> Series {
    let settings = Settings {
        method: "clock_nanosleep".into(),
        interval_ns: job.interval_ns,
        cpu: Some(cpu),
        policy: job.policy.to_string(),
        ..Settings::default()
    };
    Series { settings, ..Series::from(format!("CPU {cpu}")) }
}

/// Whether both are of one CPU's timer, or of one way.
fn is_of(series: &Series, other: &Series) -> bool {
    let way = |of: &RoundTrips| (of.link.clone(), of.responder.clone());
    series.settings.cpu == other.settings.cpu
        && series.round_trips.as_ref().map(way) == other.round_trips.as_ref().map(way)
}

/// The CPU is that of the timer's series alone.
fn empty_round_trips(way: &Way, job: &Job) -> Series {
    let settings = Settings {
        method: way.waiting.clone(),
        interval_ns: way.period_ns,
        octets: way.octets,
        policy: job.policy.to_string(),
        ..Settings::default()
    };
    let round_trips = RoundTrips {
        link: way.link.clone(),
        responder: way.responder.clone(),
        deadline_ns: way.deadline_ns,
        ..RoundTrips::default()
    };
    Series { settings, round_trips: Some(round_trips), ..Series::from(format!("round trip {}", way.name())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Histogram;
    use ontick_rt::thread::Policy;

    const JOB: Job = Job { interval_ns: 1_000_000, cycles: 200, policy: Policy::Other, outlier_ns: 50 };

    fn block(cpu: u16, latencies: &[u64]) -> Block {
        let mut latency = Histogram::default();
        latencies.iter().for_each(|ns| latency.add(*ns, 1, 1));
        Block { at: 7, series: SeriesId::Cpu(cpu), latency, missed: 2, steal_ns: 0 }
    }

    /// Of a CPU: samples, least, largest, missed.
    type Figures = (u64, Option<u64>, Option<u64>, u64);

    fn figures(totals: &Totals) -> Vec<Figures> {
        let of = |s: &Series| (s.latency.count(), s.latency.min_ns, s.latency.max_ns, s.missed);
        totals.run().series.iter().map(of).collect()
    }

    #[test]
    fn every_block_is_there_after_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let (mut totals, damage) = Totals::open(folder.path(), &[0, 1], &JOB, &[]).unwrap();
        assert_eq!(damage, None);
        totals.add(&block(1, &[5, 90]), 1, None).unwrap();
        totals.add(&block(1, &[3]), 0, None).unwrap();
        let before = figures(&totals);
        assert_eq!((before[1], &*totals.run().series[1].name), ((3, Some(3), Some(90), 4), "CPU 1"));
        // Nothing is closed. A CPU that comes later has a series of its own.
        let (mut totals, _) = Totals::open(folder.path(), &[1, 2], &JOB, &[]).unwrap();
        assert_eq!((&figures(&totals)[..2], totals.run().series[1].outlier_count), (before.as_slice(), 1));
        totals.add(&block(2, &[8]), 0, None).unwrap();
        let journal = folder.path().join("totals.json.journal");
        let whole = std::fs::read(&journal).unwrap();
        std::fs::write(&journal, &whole[..whole.len() - 3]).unwrap();
        let (totals, damage) = Totals::open(folder.path(), &[1, 2], &JOB, &[]).unwrap();
        assert_eq!((damage, figures(&totals)[2].0, figures(&totals)[1].0), (None, 0, 3));
    }

    #[test]
    fn a_journal_that_is_none_is_moved_aside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("totals.json.journal"), "nonsense\n").unwrap();
        let (totals, damage) = Totals::open(folder.path(), &[0], &JOB, &[]).unwrap();
        assert!(
            damage.is_some_and(|of| of.damaged && of.why.contains("totals.damaged")) && totals.run().series.len() == 1
        );
        assert_eq!(std::fs::read_to_string(folder.path().join("totals.damaged")).unwrap(), "nonsense\n");
    }
    #[test]
    fn samples_of_other_settings_are_not_counted_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let way = |deadline_ns| Way {
            link: "eth1".into(),
            responder: "a".into(),
            period_ns: 1_000,
            deadline_ns,
            waiting: "block".into(),
            octets: None,
        };
        let open = |job: &Job, deadline_ns| {
            let ways = [(SeriesId::RoundTrip(0), way(deadline_ns))];
            Totals::open(folder.path(), &[0, 1], job, &ways).unwrap()
        };
        let (mut totals, _) = open(&JOB, 500);
        totals.add(&block(1, &[5, 90]), 1, None).unwrap();
        assert_eq!(open(&JOB, 500).1, None);
        let hasty = Job { interval_ns: 500_000, ..JOB };
        let (mut totals, anew) = open(&hasty, 500);
        let why = anew.filter(|anew| !anew.damaged).unwrap().why;
        assert!(why.starts_with("CPU 0 was measured with other settings before; it is now "), "{why}");
        assert_eq!((figures(&totals)[1].0, totals.run().series[1].settings.interval_ns), (0, 500_000));
        let before = recovered(&folder.path().join("totals.before")).unwrap().unwrap();
        assert_eq!(before.series[1].latency.count(), 2);
        totals.add(&block(1, &[5]), 1, None).unwrap();
        assert!(open(&Job { policy: Policy::Fifo(80), ..hasty }, 500).1.is_some());
        assert!(open(&Job { policy: Policy::Fifo(80), ..hasty }, 600).1.unwrap().why.starts_with("round trip "));
        let larger = [(SeriesId::RoundTrip(0), Way { octets: Some(1_000), ..way(600) })];
        let job = Job { policy: Policy::Fifo(80), ..hasty };
        let (_, anew) = Totals::open(folder.path(), &[0, 1], &job, &larger).unwrap();
        assert!(anew.unwrap().why.starts_with("round trip "));
    }
}
