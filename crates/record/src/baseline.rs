//! A baseline: a folder with the records of one job on one machine, against which later runs of it are held.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::compare::{self, Decision, Difference, RelativeRequirement, Side};
use crate::output_file;
use crate::run::Run;
use crate::store::{self, StoreError};

/// The runs of a folder, by their names.
#[derive(Debug)]
pub struct Baseline {
    runs: Vec<(PathBuf, Run)>,
}

/// Why a baseline was not read, not changed, or is of no use for a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// A record could not be read or written.
    #[error(transparent)]
    Record(#[from] StoreError),
    /// The folder could not be read or written.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is no record in it.
    #[error("{}: no record is in this folder", folder.display())]
    Empty {
        /// Which folder.
        folder: PathBuf,
    },
    /// The run is another job's, or another machine's.
    #[error("{} is not of the same job and machine as {}: {difference}", run.display(), base.display())]
    Other {
        /// The run.
        run: PathBuf,
        /// A record of the baseline.
        base: PathBuf,
        /// What differs.
        difference: Difference,
    },
    /// A run would count twice.
    #[error("{} and {} are the same run", run.display(), other.display())]
    Twice {
        /// The run.
        run: PathBuf,
        /// Where it is, too.
        other: PathBuf,
    },
    /// The run was cut short.
    #[error("{}: the run was cut short, so it is no measure for others", run.display())]
    CutShort {
        /// The run.
        run: PathBuf,
    },
}

/// What became of a record that was to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// It is there now, under this name.
    New(PathBuf),
    /// It was there already.
    Known(PathBuf),
}

impl Saved {
    /// Where the record is.
    pub fn path(&self) -> &PathBuf {
        let (Self::New(path) | Self::Known(path)) = self;
        path
    }
}

impl Baseline {
    /// The records of a folder; all must be of one job and machine.
    pub fn read(folder: &Path) -> Result<Self, BaselineError> {
        let runs = read_all(folder)?;
        let Some((base, rest)) = runs.split_first() else {
            return Err(BaselineError::Empty { folder: folder.into() });
        };
        rest.iter().try_for_each(|run| fits(base, run))?;
        Ok(Self { runs })
    }

    /// The runs, by the names of their files.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().map(|(_, run)| run)
    }

    /// Whether new runs, each beside its file's name, are of the baseline's job and machine, and none is there twice.
    pub fn check(&self, after: &[(PathBuf, Run)]) -> Result<(), BaselineError> {
        for (at, run) in after.iter().enumerate() {
            self.runs.first().map_or(Ok(()), |base| fits(base, run))?;
            let others = self.runs.iter().chain(&after[..at]);
            if let Some((other, _)) = others.into_iter().find(|(_, other)| *other == run.1) {
                return Err(BaselineError::Twice { run: run.0.clone(), other: other.clone() });
            }
        }
        Ok(())
    }

    /// Holds every series of new runs, which must [fit](Self::check), against the baseline's.
    pub fn decide(&self, after: &[(PathBuf, Run)], requirement: &RelativeRequirement) -> Vec<Decision> {
        let [before, after] = [&self.runs, after].map(|runs| runs.iter().map(|(_, run)| run).collect::<Vec<_>>());
        let names = before.first().map_or(&[][..], |run| &run.series);
        let decide = |(at, name): (usize, &str)| {
            let [before, after] = [&before, &after].map(|runs| sides(runs, at));
            requirement.decide_runs(name, &before, &after)
        };
        names.iter().map(|series| series.name.as_str()).enumerate().map(decide).collect()
    }
}

/// The series at this place, which [`fits`] has found to be the same in all runs.
fn sides<'a>(runs: &[&'a Run], at: usize) -> Vec<Side<'a>> {
    runs.iter().filter_map(|run| Some(Side::of(run, run.series.get(at)?))).collect()
}

/// Puts records into a folder, which is made where it is missing: beside those that are there, whose job and machine must
/// be the same, or in their place. Nothing is written or removed unless all can be taken and all that is there are records.
pub fn save(folder: &Path, runs: &[(PathBuf, Run)], replace: bool) -> Result<Vec<Saved>, BaselineError> {
    let io = |error| BaselineError::Folder { folder: folder.into(), error };
    output_file::make_folder(folder).map_err(io)?;
    let old = read_all(folder)?;
    let base = if replace { runs.first() } else { old.first().or(runs.first()) };
    for run in runs {
        if run.1.interrupted {
            return Err(BaselineError::CutShort { run: run.0.clone() });
        }
        base.map_or(Ok(()), |base| fits(base, run))?;
    }
    let mut saved: Vec<Saved> = Vec::new();
    for (_, run) in runs {
        let text = store::text(run);
        // A record may be the same in other words.
        let same = old.iter().find(|(_, there)| there == run).map(|(path, _)| path);
        let mut there = old.iter().map(|(path, _)| path).chain(saved.iter().map(Saved::path));
        let known = same.or_else(|| there.find(|path| fs::read_to_string(path).is_ok_and(|there| there == text)));
        saved.push(match known {
            Some(path) => Saved::Known(path.to_path_buf()),
            None => save_one(folder, run, &text)?,
        });
    }
    if replace {
        let kept = |path: &Path| saved.iter().any(|saved| saved.path() == path);
        let mut gone = old.iter().map(|(path, _)| path).filter(|path| !kept(path));
        gone.try_for_each(fs::remove_file).map_err(io)?;
    }
    Ok(saved)
}

fn save_one(folder: &Path, run: &Run, text: &str) -> Result<Saved, BaselineError> {
    let mut places = (1..).map(|again| folder.join(name(run, again)));
    let free = places.find(|path| fs::symlink_metadata(path).is_err()).expect("names do not end");
    store::write_whole(&free, text.as_bytes())?;
    Ok(Saved::New(free))
}

/// What was measured, and when: `timer-20261101T120000Z.json`.
fn name(run: &Run, again: u32) -> String {
    let plain = |text: &str, other: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(other)
    };
    let mut name = plain(run.measurement.as_str(), "-");
    for part in [plain(&run.started, ""), if again > 1 { again.to_string() } else { String::new() }] {
        if !part.is_empty() {
            name = name + "-" + &part;
        }
    }
    name + ".json"
}

/// The records of a folder, by the names of their files.
fn read_all(folder: &Path) -> Result<Vec<(PathBuf, Run)>, BaselineError> {
    let read = |path: PathBuf| store::read(&path).map(|run| (path, run)).map_err(BaselineError::from);
    records(folder)?.into_iter().map(read).collect()
}

/// The files whose names end in `.json`, sorted.
fn records(folder: &Path) -> Result<Vec<PathBuf>, BaselineError> {
    let io = |error| BaselineError::Folder { folder: folder.into(), error };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension() == Some(OsStr::new("json")) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn fits(base: &(PathBuf, Run), run: &(PathBuf, Run)) -> Result<(), BaselineError> {
    match compare::difference(&base.1, &run.1) {
        Some(difference) => Err(BaselineError::Other { run: run.0.clone(), base: base.0.clone(), difference }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Series;

    fn run(started: &str, latency_ns: u64) -> (PathBuf, Run) {
        let mut run = Run::new("ontick 0.1.0", "kernel evaluate");
        run.started = started.into();
        let mut series = Series { name: "hybrid".into(), ..Series::default() };
        series.latency.add(latency_ns, 1, 1_000);
        run.series.push(series);
        (started.into(), run)
    }

    #[test]
    fn what_is_saved_is_the_baseline_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("base");
        let runs = [run("2026-11-01T12:00:00Z", 100), run("2026-11-01T12:00:00Z", 101)];
        let saved = save(&folder, &runs, false).unwrap();
        let names = ["kernel-evaluate-20261101T120000Z.json", "kernel-evaluate-20261101T120000Z-2.json"];
        assert_eq!(saved, names.map(|name| Saved::New(folder.join(name))));
        assert_eq!(save(&folder, &runs, false).unwrap(), names.map(|name| Saved::Known(folder.join(name))));
        assert_eq!(Baseline::read(&folder).unwrap().runs().count(), 2);

        let saved = save(&folder, &[run("", 5)], true).unwrap();
        assert_eq!(saved, [Saved::New(folder.join("kernel-evaluate.json"))]);
        assert_eq!(records(&folder).unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_saved_unless_all_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = run("b", 100);
        other.1.series[0].settings.interval_ns = 7;
        let error = save(folder.path(), &[run("a", 100), other], false).unwrap_err();
        assert!(matches!(error, BaselineError::Other { .. }), "{error}");
        let mut cut = run("b", 100);
        cut.1.interrupted = true;
        let error = save(folder.path(), &[run("a", 100), cut], false).unwrap_err();
        assert!(matches!(error, BaselineError::CutShort { .. }), "{error}");
        assert!(matches!(Baseline::read(folder.path()), Err(BaselineError::Empty { .. })));
    }

    #[test]
    fn later_runs_are_held_against_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), &[run("a", 100), run("b", 104), run("c", 102)], false).unwrap();
        let baseline = Baseline::read(folder.path()).unwrap();
        let new = [run("d", 300), run("e", 310), run("f", 320)];
        baseline.check(&new).unwrap();
        for same in [[run("a", 100), run("e", 310)], [run("e", 310), run("e", 310)]] {
            let error = baseline.check(&same).unwrap_err();
            assert!(error.to_string().ends_with("are the same run"), "{error}");
        }
        let decisions = baseline.decide(&new, &"p99 <= 1.2x".parse().unwrap());
        assert_eq!(decisions[0].verdict, compare::Verdict::Broken);
        assert_eq!(decisions[0].runs, Some((3, 3)));
        let stalled = [run("d", 100), run("e", 104), run("f", 102)].map(|(path, mut run)| {
            run.series[0].missed = 9 * run.series[0].latency.count();
            (path, run)
        });
        let decisions = baseline.decide(&stalled, &"p99 <= 1.2x".parse().unwrap());
        assert_eq!(decisions[0].verdict, compare::Verdict::Broken, "{decisions:?}");
    }
}
