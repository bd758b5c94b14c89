//! Everything that the service keeps, in one folder that one service at a time uses.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ontick_record::run::RoundTrips;
use ontick_record::{Histogram, Run, Severity, output_file};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::block::{Block, Job};
use crate::causes::{Causes, Counted, Late};
use crate::changes::Seen;
use crate::events::{Event, Events, Kind};
use crate::history::{Fineness, History, rows::RowsError, thinned_to};
use crate::names::Names;
use crate::roundtrip::Way;
use crate::series::SeriesId;
use crate::totals::{Totals, TotalsError};

/// Why a cause is unknown where nothing is traced, as records say it.
pub const UNTRACED: &str = "not traced";

/// Why the state cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Another service uses it.
    #[error("{} is used by another service that watches: end it, or name another folder", .0.display())]
    InUse(PathBuf),
    /// Others could put something into it.
    #[error("{}: others own it or may write it, and this program would follow what they put there", .0.display())]
    Unsafe(PathBuf),
    /// The system refused.
    #[error("{}: {error}", path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// A file of rows cannot be used.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The cumulative record cannot be used.
    #[error(transparent)]
    Totals(#[from] TotalsError),
}

/// What was measured and what happened.
pub struct State {
    folder: PathBuf,
    _lock: File,
    history: History,
    totals: Totals,
    events: Events,
    causes: Causes,
    names: Names,
    round_trips: Vec<(SeriesId, Way)>,
    present: BTreeMap<SeriesId, Present>,
    seen: Option<Seen>,
    /// What could not be written, so that it is said once.
    failing: bool,
    /// The share of one CPU that the service used lately.
    duty: f64,
    started: u32,
}

/// A series as the page shows it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Present {
    /// The figures of the last block.
    pub last: Option<Figures>,
    /// Why it is not measured now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
}

/// Figures of a stretch of time, in ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    /// When it began, in seconds since 1970.
    pub at: u32,
    /// Samples.
    pub samples: u64,
    /// Periods that were missed.
    pub missed: u64,
    /// Percentiles and the largest latency.
    pub p50_ns: Option<u64>,
    /// 99 % of the samples do not exceed it.
    pub p99_ns: Option<u64>,
    /// 99.9 % of the samples do not exceed it.
    pub p999_ns: Option<u64>,
    /// The largest latency.
    pub max_ns: Option<u64>,
}

impl Figures {
    fn of(at: u32, latency: &Histogram, missed: u64) -> Self {
        Self {
            at,
            samples: latency.count(),
            missed,
            p50_ns: latency.quantile(0.5),
            p99_ns: latency.quantile(0.99),
            p999_ns: latency.quantile(0.999),
            max_ns: latency.max_ns,
        }
    }
}

/// The present, as the page and other programs ask for it.
#[derive(Debug, Clone, Serialize)]
pub struct Now {
    /// Name and version of this format.
    pub schema: &'static str,
    /// In seconds since 1970.
    pub at: u32,
    /// When the service began, in seconds since 1970.
    pub started: u32,
    /// The machine.
    pub environment: Option<ontick_record::Environment>,
    /// The share of one CPU that the service used lately, 0 to 1.
    pub duty: f64,
    /// Each CPU that is watched.
    pub cpus: Vec<CpuNow>,
    /// Round trips that are measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<RoundTripNow>,
    /// How many findings are bad.
    pub bad: usize,
    /// How many findings are warnings.
    pub warnings: usize,
    /// Outliers by their cause since counting began, the most frequent first.
    pub causes: Vec<Counted>,
}

/// A CPU now.
#[derive(Debug, Clone, Serialize)]
pub struct CpuNow {
    /// Its number.
    pub cpu: u32,
    /// The last block, and why there is no newer one.
    #[serde(flatten)]
    pub now: Present,
    /// All that was ever measured there.
    pub total: Figures,
}

/// Round trips now.
#[derive(Debug, Clone, Serialize)]
pub struct RoundTripNow {
    /// The series, as rows and the record name it.
    pub name: String,
    /// The last block, and why there is no newer one.
    #[serde(flatten)]
    pub now: Present,
    /// All that was ever measured of it.
    pub total: Figures,
    /// What became of its requests.
    pub counts: RoundTrips,
}

impl State {
    /// Opens the state in a folder, which is made if it is missing; what was found damaged is an event.
    pub fn open(folder: &Path, cpus: &[u32], job: &Job, ways: &[Way], now: u32) -> Result<Self, StateError> {
        let system = |path: &Path| {
            let path = path.to_owned();
            move |error| StateError::System { path, error }
        };
        output_file::check_folder(folder).map_err(system(folder))?;
        DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(system(folder))?;
        let owned = std::fs::metadata(folder).map_err(system(folder))?;
        if owned.uid() != rustix::process::geteuid().as_raw() || owned.mode() & 0o022 != 0 {
            return Err(StateError::Unsafe(folder.into()));
        }
        let path = folder.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o644).open(&path);
        let lock = lock.map_err(system(&path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| StateError::InUse(folder.into()))?;
        let (history, damaged) = History::open(folder)?;
        let (mut names, unnamed) = Names::open(folder).map_err(system(folder))?;
        let free = if ways.is_empty() { 0 } else { history.free_number()? };
        let id = |way: &Way| Ok((names.id(&way.name(), free).map_err(system(folder))?, way.clone()));
        let round_trips = ways.iter().map(id).collect::<Result<Vec<_>, StateError>>()?;
        let (totals, anew) = Totals::open(folder, cpus, job, &round_trips)?;
        let events = Events::open(folder).map_err(system(folder))?;
        let (causes, uncounted) = Causes::open(folder);
        let all = cpus.iter().map(|cpu| SeriesId::Cpu(*cpu as u16)).chain(round_trips.iter().map(|(id, _)| *id));
        let present = all.map(|id| (id, Present::default())).collect();
        let seen = Seen::read(&crate::changes::file_in(folder));
        let mut state = Self {
            folder: folder.into(),
            _lock: lock,
            history,
            totals,
            events,
            causes,
            names,
            round_trips,
            present,
            seen,
            failing: false,
            duty: 0.0,
            started: now,
        };
        if damaged > 0 {
            state.note(
                now,
                Kind::State,
                true,
                None,
                format!("{damaged} rows of what was kept are damaged, and left out"),
            );
        }
        if let Some(anew) = anew {
            state.note(now, Kind::State, anew.damaged, None, anew.why);
        }
        for damage in uncounted.into_iter().chain(unnamed) {
            state.note(now, Kind::State, true, None, damage);
        }
        Ok(state)
    }

    /// Takes a block in, and notes the largest of its outliers.
    pub fn add(&mut self, block: &Block, outliers: &[Late]) {
        let written = self.keep(block, outliers.len(), None);
        let counted = self.causes.add(block.at, outliers);
        let counted = counted.map_err(|error| StateError::System { path: self.folder.clone(), error });
        self.judge(block.at, written.and(counted));
        if let Some(worst) = outliers.iter().max_by_key(|late| late.latency_ns) {
            let more = match outliers.len() {
                1 => String::new(),
                all => format!(", the largest of {all} outliers"),
            };
            let why = match (worst.cause.as_str(), worst.detail.as_str()) {
                ("unknown", UNTRACED) => String::new(),
                _ => format!(": {}", worst.name()),
            };
            let text = format!("{} was {} late{more}{why}", block.series, ontick_units::show(worst.latency_ns));
            self.note(block.at, Kind::Outlier, true, cpu_of(block.series), text);
        }
    }

    /// Takes a block of round trips in, with what became of its requests.
    pub fn add_round_trips(&mut self, block: &Block, counts: &RoundTrips) {
        let written = self.keep(block, 0, Some(counts));
        self.judge(block.at, written);
    }

    fn keep(&mut self, block: &Block, outliers: usize, counts: Option<&RoundTrips>) -> Result<(), StateError> {
        let figures = Figures::of(block.at, &block.latency, block.missed);
        if let Some(of) = self.present.get_mut(&block.series) {
            (of.last, of.paused) = (Some(figures), None);
        }
        let written = self.history.add(block).map_err(StateError::from);
        written.and(self.totals.add(block, outliers, counts).map_err(StateError::from))
    }

    /// A full disk is said once, and once more when there is room again; measuring goes on.
    fn judge(&mut self, at: u32, written: Result<(), StateError>) {
        match written {
            Ok(()) if std::mem::take(&mut self.failing) => {
                self.note(at, Kind::State, false, None, "what is measured can be kept again".into());
            }
            Ok(()) => {}
            Err(_) if self.failing => {}
            Err(error) => {
                self.failing = true;
                self.note(at, Kind::State, true, None, format!("what is measured cannot be kept: {error}"));
            }
        }
    }

    /// Why a series is not measured; none if it is again.
    pub fn pause(&mut self, at: u32, series: SeriesId, why: Option<String>) {
        let name = self.names.name(series);
        // A CPU is left to its user; a responder should answer.
        let bad = why.is_some() && cpu_of(series).is_none();
        let text = match &why {
            Some(why) => format!("{name} is not measured: {why}"),
            None => format!("{name} is measured again"),
        };
        if let Some(of) = self.present.get_mut(&series) {
            of.paused = why;
        }
        self.note(at, Kind::Pause, bad, cpu_of(series), text);
    }

    /// The machine as it was found; what changed since it was last looked at becomes events.
    pub fn look(&mut self, at: u32, now: Seen) {
        let events = self.seen.as_ref().map(|before| now.since(before, at)).unwrap_or_default();
        events.iter().for_each(|event| drop(self.events.append(event)));
        if self.seen.as_ref() != Some(&now) {
            // What cannot be kept is found again at the next start.
            let _ = now.write(&crate::changes::file_in(&self.folder));
            self.seen = Some(now);
        }
    }

    /// Something happened.
    pub fn note(&mut self, at: u32, kind: Kind, bad: bool, cpu: Option<u32>, text: String) {
        // Where even that cannot be written there is nowhere left to say it.
        let _ = self.events.append(&Event { at, kind, bad, cpu, text });
    }

    /// Outliers by their cause.
    pub fn causes(&self) -> Vec<Counted> {
        self.causes.all()
    }

    /// The share of one CPU that the service uses.
    pub fn set_duty(&mut self, duty: f64) {
        self.duty = duty;
    }

    /// The present.
    pub fn now(&self, at: u32) -> Now {
        let total = |id| {
            let series = self.totals.series(id);
            series.map(|series| Figures::of(self.started, &series.latency, series.missed)).unwrap_or_default()
        };
        let cpu =
            |(id, now): (&SeriesId, &Present)| Some(CpuNow { cpu: cpu_of(*id)?, now: now.clone(), total: total(*id) });
        let cpus = self.present.iter().filter_map(cpu);
        let round_trip = |(id, _): &(SeriesId, Way)| RoundTripNow {
            name: self.names.name(*id),
            now: self.present.get(id).cloned().unwrap_or_default(),
            total: total(*id),
            counts: self.totals.series(*id).and_then(|series| series.round_trips.clone()).unwrap_or_default(),
        };
        let count = |severity| self.seen.as_ref().map_or(0, |seen| seen.count(severity));
        Now {
            schema: "ontick-now/1",
            at,
            started: self.started,
            environment: self.totals.run().environment.clone(),
            duty: self.duty,
            cpus: cpus.collect(),
            round_trips: self.round_trips.iter().map(round_trip).collect(),
            bad: count(Severity::Bad),
            warnings: count(Severity::Warn),
            causes: self.causes.all(),
        }
    }

    /// Round trips that are measured, with their series.
    pub fn round_trips(&self) -> &[(SeriesId, Way)] {
        &self.round_trips
    }

    /// Whether its last block was answered.
    pub fn is_answered(&self, series: SeriesId) -> bool {
        let present = self.present.get(&series);
        present.is_some_and(|of| of.paused.is_none() && of.last.as_ref().is_some_and(|last| last.samples > 0))
    }

    /// The name of a series.
    pub fn name(&self, series: SeriesId) -> String {
        self.names.name(series)
    }

    /// What was measured so far of a series that is measured now.
    pub fn total(&self, series: SeriesId) -> Option<&ontick_record::Series> {
        self.totals.series(series)
    }

    /// All that was measured, as a record.
    pub fn run(&self) -> &Run {
        self.totals.run()
    }

    /// Rows of a stretch of the past, at most so many for each series.
    pub fn history(&self, from: u32, to: u32, points: u32, now: u32) -> Result<Vec<crate::Row>, RowsError> {
        let rows = self.history.read(from, to, Fineness::of(from, to.min(now), now))?;
        Ok(thinned_to(rows, from, to, points))
    }

    /// The newest events of a stretch of the past, at most so many.
    pub fn events(&self, from: u32, to: u32, most: usize) -> Vec<Event> {
        self.events.newest(from, to, most)
    }

    /// What the machine was found to be.
    pub fn seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }
}

/// The CPU whose timer it is.
fn cpu_of(series: SeriesId) -> Option<u32> {
    match series {
        SeriesId::Cpu(cpu) => Some(cpu.into()),
        SeriesId::RoundTrip(_) => None,
    }
}
