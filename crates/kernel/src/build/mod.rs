//! Builds a kernel: a source, the real-time series where it is needed, a configuration, the kernel's own makefiles, one
//! file at the end. A build that was killed goes on; the same inputs make the same file.

mod digest;
mod fetch;
mod pack;
mod space;
mod stamp;
mod tree;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ontick_record::output_file;
use serde::Serialize;

pub use fetch::FetchError;
pub use pack::Format;
pub use stamp::Inputs;

use super::command::CommandError;
use super::configure::{ConfigRequest, ConfigureError, Configured, configure};
use super::fragment::OptionRequest;
use super::make::Make;
use super::null_device;
use super::rt_patches::RtPatchesError;
use super::source::{SourceError, Version};
use super::steps;
use super::tools::{self, ThisMachine};
use super::unmet_options::UnmetOption;

/// Where the source comes from.
#[derive(Debug, Clone)]
pub enum From {
    /// A folder. It stays as it is.
    Tree(PathBuf),
    /// The distribution's package of this name, or its newest.
    Package(Option<String>),
}

/// What is to be built.
#[derive(Debug, Clone)]
pub struct Order {
    /// From what.
    pub from: From,
    /// The real-time series, where the source lacks it.
    pub patches: Option<PathBuf>,
    /// For what, with which options.
    pub request: ConfigRequest,
    /// Where all of it goes, and stays for the next time.
    pub work: PathBuf,
    /// What the compiler's name begins with.
    pub cross: Option<String>,
    /// How many compilers at once; none for as many as there are cores.
    pub jobs: Option<usize>,
    /// What comes out.
    pub format: Format,
    /// What the kernel's release ends with: `-ontick-rt`.
    pub name: String,
    /// Build although options were asked for in vain.
    pub even_if_missing: bool,
}

/// What is going on.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// Something begins.
    Begins(&'a str),
    /// Something is worth knowing.
    Note(&'a str),
    /// Files compiled, out of about how many, and how long the rest may take.
    Compiled {
        /// So many are there.
        done: usize,
        /// Of about so many.
        total: usize,
        /// Until the end, as far as can be known.
        left: Option<Duration>,
    },
}

/// A kernel that was built.
#[derive(Debug, Clone, Serialize)]
pub struct Built {
    /// The file.
    pub file: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// As `uname -r` will say.
    pub release: String,
    /// Whether it was there already, made from the same inputs.
    pub already: bool,
    /// What was asked for in vain.
    #[serde(rename = "missing")]
    pub unmet: Vec<UnmetOption>,
    /// What it was made from.
    pub inputs: Inputs,
}

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The tree.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The patches.
    #[error(transparent)]
    RtPatches(#[from] RtPatchesError),
    /// The configuration.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
    /// A program.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The compiler, or another program of the build.
    #[error("{why}; the whole output of make is in {log}")]
    Make {
        /// In one sentence.
        why: CommandError,
        /// Where the rest is.
        log: PathBuf,
    },
    /// Options were dropped.
    #[error("{} asked for and not there afterwards", counted(.0.len()))]
    UnmetOptions(Vec<UnmetOption>),
    /// The distribution's source.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The source is not real-time by itself.
    #[error(
        "linux {version} is not real-time on {arch} by itself: name the real-time series for {0}.{1} \
         (kernel.org/pub/linux/kernel/projects/rt/{0}.{1}/, or debian/patches-rt of Debian's source package){later}",
        version.major, version.minor,
        later = if version.series() < (6, 12) { ", or take linux 6.12 or later, which needs none on arm64 and x86" } else { "" }
    )]
    NeedsSeries {
        /// The source's version.
        version: Version,
        /// For which processor.
        arch: &'static str,
    },
    /// Too little room.
    #[error("{what} takes about {needed} in {}, and {free} are free there: make room, or name another folder", folder.display())]
    NoRoom {
        /// What takes it.
        what: &'static str,
        /// How much.
        needed: String,
        /// Where.
        folder: PathBuf,
        /// How much is free.
        free: String,
    },
    /// Somebody else works there.
    #[error(
        "another ontick, or the make that a killed one left, builds in {} right now: wait for it, or name another folder",
        .0.display()
    )]
    Busy(PathBuf),
    /// Programs that are not installed, and how they are.
    #[error("{0}")]
    Lacking(String),
    /// Another program than the one of coreutils.
    #[error("sha256sum does not print a SHA-256")]
    NoDigest,
    /// A file.
    #[error("{path}: {reason}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
}

fn counted(options: usize) -> String {
    if options == 1 { "1 option was".into() } else { format!("{options} options were") }
}

impl BuildError {
    /// Whether somebody asked to end.
    pub fn interrupted(&self) -> bool {
        matches!(
            self,
            Self::Command(CommandError::Interrupted)
                | Self::Configure(ConfigureError::Command(CommandError::Interrupted))
                | Self::RtPatches(RtPatchesError::Interrupted)
                | Self::Make { why: CommandError::Interrupted, .. }
        )
    }
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |reason| BuildError::File { path, reason }
}

/// Builds it.
pub fn build(order: &Order, stop: &AtomicBool, report: &mut dyn FnMut(Event)) -> Result<Built, BuildError> {
    fs::create_dir_all(&order.work).map_err(file_error(&order.work))?;
    let _alone = alone(&order.work)?;
    let tree = tree::prepare(order, stop, report)?;
    let mut make = Make::new(&tree.source, &order.work.join("build"), order.request.arch, order.cross.as_deref());
    make.jobs = order.jobs.unwrap_or(make.jobs);
    make.epoch = tree.epoch;
    if let Some(lacking) = tools::lacking_to_configure(&make.cross, &ThisMachine) {
        return Err(BuildError::Lacking(lacking));
    }
    report(Event::Begins("configuring"));
    stamp::forget_if_other(order, &tree, &make, report)?;
    let configured = configured(order, &tree, &make, stop)?;
    let inputs = Inputs::of(order, &tree, &make, &configured.file)?;
    if let Some((file, sha256, release)) = stamp::finished(&order.work, &inputs) {
        return Ok(Built { file, sha256, release, already: true, unmet: configured.unmet, inputs });
    }
    let lacking = tools::lacking_to_build(
        order.request.arch,
        &make.cross,
        &configured.config,
        order.format.programs(),
        &ThisMachine,
    );
    if let Some(lacking) = lacking {
        return Err(BuildError::Lacking(lacking));
    }
    let steps = steps::estimate(&tree.source.folder, order.request.arch.name(), &configured.config);
    space::enough(&order.work, &make.output, steps, &configured.config)?;
    compile(&make, &order.work, steps, stop, report)?;
    report(Event::Begins("packing"));
    let release = make.says("kernelrelease")?;
    let file = pack::pack(order, &make, &tree.source.version, &release, &configured.config, stop)?;
    let sha256 = digest::of_file(&file)?;
    stamp::finish(&order.work, &inputs, &file, &sha256, &release)?;
    Ok(Built { file, sha256, release, already: false, unmet: configured.unmet, inputs })
}

/// Two builds in one folder would undo each other's work.
fn alone(work: &Path) -> Result<File, BuildError> {
    output_file::check_work_folder(work).map_err(file_error(work))?;
    let path = work.join(".lock");
    let file = File::create(&path).map_err(file_error(&path))?;
    // make inherits it: one that a killed ontick left behind still holds it, and works on in the same folder.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).map_err(|e| file_error(&path)(e.into()))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(BuildError::Busy(work.into())),
        Err(reason) => Err(file_error(&path)(reason.into())),
    }
}

/// What lets a kernel be built on any machine and twice the same: no keys made on the way, no paths in it.
const BUILDING: &[(&str, Option<&str>, &str)] = &[
    ("LOCALVERSION_AUTO", None, "the release is the same whatever else lies in the source's repository"),
    ("MODULE_SIG", None, "a key is made anew in each build: the same inputs would make another kernel"),
    ("SYSTEM_TRUSTED_KEYS", Some(""), "a distribution's configuration names a file that is not in its source"),
    ("SYSTEM_REVOCATION_KEYS", Some(""), "a distribution's configuration names a file that is not in its source"),
    ("DEBUG_INFO_NONE", Some("y"), "ten times the space, and the folder's path in the result"),
    ("DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT", None, "ten times the space"),
    ("DEBUG_INFO_DWARF4", None, "ten times the space"),
    ("DEBUG_INFO_DWARF5", None, "ten times the space"),
];

fn configured(order: &Order, tree: &tree::Tree, make: &Make, stop: &AtomicBool) -> Result<Configured, BuildError> {
    let building = BUILDING.iter().map(|(name, value, why)| OptionRequest {
        name: (*name).into(),
        value: value.map(str::to_owned),
        why: (*why).into(),
        given: None,
    });
    let name = OptionRequest {
        name: "LOCALVERSION".into(),
        value: Some(order.name.clone()),
        why: "its own name, beside every other kernel".into(),
        given: None,
    };
    let mut request = order.request.clone();
    // What a person asks for wins, also over this.
    request.more = building.chain([name]).chain(request.more).collect();
    let configured = configure(&tree.source, make, &request, stop)?;
    // Those that only keep the build the same exist where there is something to keep.
    let helps = |unmet: &UnmetOption| BUILDING.iter().any(|(name, ..)| unmet.name.ends_with(name));
    let unmet: Vec<UnmetOption> = configured.unmet.iter().filter(|one| !helps(one)).cloned().collect();
    match unmet.is_empty() || order.even_if_missing {
        true => Ok(Configured { unmet, ..configured }),
        false => Err(BuildError::UnmetOptions(unmet)),
    }
}

/// Runs the kernel's makefiles, counting what they compile.
fn compile(
    make: &Make,
    work: &Path,
    steps: usize,
    stop: &AtomicBool,
    report: &mut dyn FnMut(Event),
) -> Result<(), BuildError> {
    use io::Write;
    let log = work.join("make.log");
    let mut file = File::create(&log).map_err(file_error(&log))?;
    report(Event::Begins("compiling"));
    let before = stamp::compiled_before(work);
    let (began, mut count) = (Instant::now(), 0);
    let result = make.run("building the kernel", &["all"], stop, &mut |line| {
        // The result counts, not what was said about it.
        let _ = writeln!(file, "{line}");
        if compiles(line) {
            count += 1;
            let (done, total) = (before + count, steps.max(before + count));
            report(Event::Compiled { done, total, left: left(began.elapsed(), count, total - done) });
        }
    });
    stamp::remember_compiled(work, before + count);
    null_device::check().map_err(file_error(Path::new(null_device::PATH)))?;
    match result {
        Ok(()) => Ok(()),
        Err(why @ CommandError::Failed { .. }) => Err(BuildError::Make { why, log }),
        Err(other) => Err(other.into()),
    }
}

/// `  CC      kernel/fork.o`, but not what runs on this machine.
fn compiles(line: &str) -> bool {
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("CC" | "AS")) && words.next_back().is_some_and(|what| !what.ends_with(".mod.o"))
}

/// Nothing can be known from the first few.
fn left(elapsed: Duration, count: usize, still: usize) -> Option<Duration> {
    const ENOUGH: usize = 20;
    (count >= ENOUGH).then(|| elapsed.mul_f64(still as f64 / count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_is_counted() {
        assert!(compiles("  CC      kernel/fork.o") && compiles("  CC [M]  net/a.o") && compiles("  AS      a.o"));
        assert!(!compiles("  HOSTCC  scripts/x") && !compiles("  CC [M]  net/a.mod.o") && !compiles("  LD      x.o"));
        assert_eq!(left(Duration::from_secs(10), 5, 100), None);
        assert_eq!(left(Duration::from_secs(10), 100, 50), Some(Duration::from_secs(5)));
    }
}
