//! What a build was made from, kept beside it: the same again is not built twice, and what belongs to another source or
//! compiler is not built upon.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{BuildError, Event, Order, digest, file_error, tree::Tree};
use crate::command;
use crate::make::Make;

/// All that decides what comes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The source: its version, and what tells it from another of that version.
    pub source: String,
    /// The real-time series that was put on it; empty for none.
    pub series: String,
    /// SHA-256 of the configuration.
    pub config: String,
    /// The compiler, as it names itself.
    pub compiler: String,
    /// For which processor.
    pub arch: String,
    /// The moment that stands in the kernel, in seconds since 1970.
    pub epoch: u64,
    /// What comes out.
    pub format: String,
    /// The program that packed it.
    pub ontick: String,
}

impl Inputs {
    pub(super) fn of(order: &Order, tree: &Tree, make: &Make, config: &Path) -> Result<Self, BuildError> {
        Ok(Self {
            source: tree.identity.clone(),
            series: tree.series.clone(),
            config: digest::of_file(config)?,
            compiler: compiler(make)?,
            arch: order.request.arch.name().into(),
            epoch: make.epoch,
            format: order.format.name().into(),
            ontick: env!("CARGO_PKG_VERSION").into(),
        })
    }
}

fn compiler(make: &Make) -> Result<String, BuildError> {
    let said = command::output("the compiler", std::process::Command::new(make.compiler()).arg("--version"))?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

#[derive(Serialize, Deserialize)]
struct Finished {
    inputs: Inputs,
    file: String,
    sha256: String,
    release: String,
}

/// What an unfinished build is made from, as far as it decides whether its objects are of use.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    source: String,
    series: String,
    compiler: String,
    arch: String,
}

/// Removes what was built from another source or with another compiler, and says so.
pub(super) fn forget_if_other(
    order: &Order,
    tree: &Tree,
    make: &Make,
    report: &mut dyn FnMut(Event),
) -> Result<(), BuildError> {
    let begun = Begun {
        source: tree.identity.clone(),
        series: tree.series.clone(),
        compiler: compiler(make)?,
        arch: order.request.arch.name().into(),
    };
    let path = order.work.join("begun.json");
    match read::<Begun>(&path) {
        Some(before) if before == begun => return Ok(()),
        Some(before) if make.output.exists() => {
            let other = match () {
                () if before.source != begun.source || before.series != begun.series => "source",
                () if before.compiler != begun.compiler => "compiler",
                () => "processor",
            };
            report(Event::Note(&format!("what was built here before is of another {other}: it is built anew")));
            fs::remove_dir_all(&make.output).map_err(file_error(&make.output))?;
        }
        _ => {}
    }
    remember_compiled(&order.work, 0);
    write(&path, &begun)
}

/// The result of the same inputs, if it is there and unharmed: file, SHA-256, release.
pub(super) fn finished(work: &Path, inputs: &Inputs) -> Option<(PathBuf, String, String)> {
    let finished: Finished = read(&work.join("finished.json"))?;
    let file = work.join(&finished.file);
    let same = finished.inputs == *inputs && digest::of_file(&file).ok()? == finished.sha256;
    same.then_some((file, finished.sha256, finished.release))
}

/// Remembers a result.
pub(super) fn finish(work: &Path, inputs: &Inputs, file: &Path, sha256: &str, release: &str) -> Result<(), BuildError> {
    let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let finished = Finished { inputs: inputs.clone(), file, sha256: sha256.into(), release: release.into() };
    write(&work.join("finished.json"), &finished)
}

/// How many files an interrupted build had compiled.
pub(super) fn compiled_before(work: &Path) -> usize {
    fs::read_to_string(work.join("compiled")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Only progress depends on it.
pub(super) fn remember_compiled(work: &Path, count: usize) {
    let _ = fs::write(work.join("compiled"), format!("{count}\n"));
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Written beside and renamed: half a stamp would be taken for none, and an hour's work for lost.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), BuildError> {
    let beside = path.with_extension("new");
    let text = serde_json::to_string_pretty(value).map_err(|e| file_error(path)(e.into()))?;
    fs::write(&beside, text + "\n").and_then(|()| fs::rename(&beside, path)).map_err(file_error(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Inputs {
        let word = String::from;
        Inputs {
            source: word("linux 6.12.1"),
            series: word(""),
            config: word("c"),
            compiler: word("gcc 12"),
            arch: word("arm64"),
            epoch: 7,
            format: word("tar"),
            ontick: word("0"),
        }
    }

    #[test]
    fn only_the_same_inputs_and_an_unharmed_result_are_not_built_again() {
        let work = tempfile::tempdir().unwrap();
        let file = work.path().join("k.tar.xz");
        fs::write(&file, "kernel").unwrap();
        let sha256 = digest::of_file(&file).unwrap();
        assert_eq!(finished(work.path(), &inputs()), None);
        finish(work.path(), &inputs(), &file, &sha256, "6.12.1").unwrap();
        assert_eq!(finished(work.path(), &inputs()), Some((file.clone(), sha256, "6.12.1".into())));
        let other = Inputs { compiler: "gcc 14".into(), ..inputs() };
        assert_eq!(finished(work.path(), &other), None);
        fs::write(&file, "harmed").unwrap();
        assert_eq!(finished(work.path(), &inputs()), None);
        fs::write(work.path().join("finished.json"), "{\"inputs\"").unwrap();
        assert_eq!(finished(work.path(), &inputs()), None);
    }
}
