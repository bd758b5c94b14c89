//! Makes a configuration: a base of the vendor's, the distribution's or the kernel's own, the fragment laid over it,
//! what the kernel's tools make of both, and what they dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ontick_machine::facts::KernelConfig;
use ontick_record::output_file;

use super::board::Board;
use super::command::CommandError;
use super::fragment::{self, OptionRequest};
use super::kconfig::Options;
use super::make::Make;
use super::options::Arch;
use super::other_makers;
use super::source::{Source, SourceError};
use super::tools::{self, ThisMachine};
use super::unmet_options::{UnmetOption, unmet};

/// What a configuration is to be made of.
#[derive(Debug, Clone)]
pub struct ConfigRequest {
    /// For which board.
    pub board: &'static Board,
    /// For which processor.
    pub arch: Arch,
    /// The configuration to start from; else the best that the tree brings for the board.
    pub base: Option<PathBuf>,
    /// What is asked for beside the board's fragment.
    pub more: Vec<OptionRequest>,
}

/// A configuration that was made.
#[derive(Debug, Clone)]
pub struct Configured {
    /// Where it lies.
    pub file: PathBuf,
    /// What it started from.
    pub base: String,
    /// How many options were asked for.
    pub asked: usize,
    /// What came of it.
    pub config: KernelConfig,
    /// What was asked for in vain.
    pub unmet: Vec<UnmetOption>,
}

/// Why no configuration could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigureError {
    /// The tree.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Programs.
    #[error("{0}")]
    Lacking(String),
    /// None of the configurations to start from is there.
    #[error("{folder} brings none of {names} for {arch}: name a configuration to start from")]
    NoBase {
        /// The tree.
        folder: PathBuf,
        /// What was looked for.
        names: String,
        /// For which processor.
        arch: &'static str,
    },
    /// A file.
    #[error("{file}: {reason}")]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The base is something else.
    #[error("{0} is no configuration of a kernel")]
    NotAConfiguration(PathBuf),
    /// The kernel's own tools failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// What is asked for: the board's fragment, then what a person wants, which wins.
pub fn asked(request: &ConfigRequest, version: Option<(u32, u32)>) -> Vec<OptionRequest> {
    let mut asked = fragment::fragment(request.board, request.arch, version);
    asked.extend(request.more.iter().cloned());
    fragment::last_wins(asked)
}

/// Makes `.config` in make's output folder.
pub fn configure(
    source: &Source,
    make: &Make,
    request: &ConfigRequest,
    stop: &AtomicBool,
) -> Result<Configured, ConfigureError> {
    source.clean()?;
    if let Some(lacking) = tools::lacking_to_configure(&make.cross, &ThisMachine) {
        return Err(ConfigureError::Lacking(lacking));
    }
    let usable = fs::create_dir_all(&make.output).and_then(|()| output_file::check_work_folder(&make.output));
    usable.map_err(|reason| ConfigureError::File { file: make.output.clone(), reason })?;
    let file = make.output.join(".config");
    let (base, text) = base(source, make, request, &file, stop)?;
    let mut asked = asked(request, Some(source.version.series()));
    if request.base.is_none() && base == other_makers::FOR_ALL {
        // What is asked for by a person wins, also over this.
        asked = fragment::last_wins([other_makers::left_out(source, request.board), asked].concat());
    }
    write(&file, &fragment::merged(&text, &asked))?;
    make.run("make olddefconfig", &["olddefconfig"], stop, &mut |_| {})?;
    let config = KernelConfig::parse(&file.display().to_string(), &read(&file)?);
    let options = || Options::of_tree(&source.folder, request.arch.name());
    let unmet = unmet(&asked, &config, &source.version, options);
    Ok(Configured { file, base, asked: asked.len(), config, unmet })
}

/// What it starts from: its name, its text.
fn base(
    source: &Source,
    make: &Make,
    request: &ConfigRequest,
    file: &Path,
    stop: &AtomicBool,
) -> Result<(String, String), ConfigureError> {
    if let Some(base) = &request.base {
        let text = super::base::read(base).map_err(|reason| ConfigureError::File { file: base.clone(), reason })?;
        if !text.lines().any(|line| line.starts_with("CONFIG_")) {
            return Err(ConfigureError::NotAConfiguration(base.clone()));
        }
        return Ok((base.display().to_string(), text));
    }
    let names = request.board.bases(request.arch);
    let none =
        || ConfigureError::NoBase { folder: source.folder.clone(), names: names.join(", "), arch: request.arch.name() };
    let name = source.brings(request.arch, names).ok_or_else(none)?;
    make.run(&format!("make {name}"), &[name], stop, &mut |_| {})?;
    Ok((name.to_owned(), read(file)?))
}

fn read(file: &Path) -> Result<String, ConfigureError> {
    let bytes = fs::read(file).map_err(|reason| ConfigureError::File { file: file.to_owned(), reason })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Written whole or not at all: a configuration that was cut off would be taken for a whole one.
fn write(file: &Path, text: &str) -> Result<(), ConfigureError> {
    output_file::replace(file, text.as_bytes()).map_err(|reason| ConfigureError::File { file: file.to_owned(), reason })
}
