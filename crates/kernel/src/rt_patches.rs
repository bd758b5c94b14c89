//! The real-time series: patches for trees that are not real-time by themselves. Which version a series is for is read
//! out of it, and it goes on a tree only if it fits.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_undo::program;

use super::base;
use super::source::Version;

/// Patches, in the order in which they go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtPatches {
    /// The files.
    pub patches: Vec<PathBuf>,
    /// The kernel that they were made for, as in 6.1.176-rt64.
    pub version: Version,
    /// 64 of 6.1.176-rt64.
    pub rt: u32,
}

/// Why a series is not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RtPatchesError {
    /// A file or folder.
    #[error("{path}: {reason}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// Nothing to apply.
    #[error("{0} has no patches: neither a file `series` nor any *.patch, *.patch.gz or *.patch.xz")]
    Empty(PathBuf),
    /// It does not tell what it is for.
    #[error("{0} does not say which kernel it is for: no name and no head of a patch has the form 6.1.176-rt64")]
    NoVersion(PathBuf),
    /// It is for another kernel.
    #[error(
        "the real-time series is {series}, the source is linux {tree}: take the series for {wanted} \
         (kernel.org/pub/linux/kernel/projects/rt/{wanted}/, or debian/patches-rt of Debian's source package)"
    )]
    OtherKernel {
        /// What it is for, and its number.
        series: String,
        /// What the tree is.
        tree: String,
        /// Major and minor of that.
        wanted: String,
    },
    /// A patch does not go on.
    #[error("{patch} of {series} does not go on linux {tree}: {why}. Take the series made for {tree}")]
    DoesNotApply {
        /// Which.
        patch: String,
        /// What the series is for, and its number.
        series: String,
        /// What the tree is.
        tree: String,
        /// What `patch` said.
        why: String,
    },
    /// Somebody asked to end.
    #[error("interrupted")]
    Interrupted,
}

impl RtPatches {
    /// Looks at a folder of patches, or at one file with all of them.
    pub fn open(path: &Path) -> Result<Self, RtPatchesError> {
        let patches = patches(path)?;
        if patches.is_empty() {
            return Err(RtPatchesError::Empty(path.to_owned()));
        }
        let named = path.file_name().into_iter().chain(patches.iter().filter_map(|patch| patch.file_name()));
        let from_names = named.filter_map(|name| real_time_version(&name.to_string_lossy())).next_back();
        let from_heads = || patches.iter().rev().find_map(|patch| real_time_version(&head(patch)?));
        let (version, rt) = from_names.or_else(from_heads).ok_or_else(|| RtPatchesError::NoVersion(path.to_owned()))?;
        Ok(Self { patches, version, rt })
    }

    /// Refuses a tree of another kernel. Within one (6.1) small steps are left to the patches themselves.
    pub fn fits(&self, tree: &Version) -> Result<(), RtPatchesError> {
        match self.version.series() == tree.series() {
            true => Ok(()),
            false => Err(RtPatchesError::OtherKernel {
                series: self.to_string(),
                tree: tree.to_string(),
                wanted: format!("{}.{}", tree.major, tree.minor),
            }),
        }
    }

    /// Puts it on a tree, which is of no use if that fails half-way. Nothing is guessed: a patch goes on exactly, or
    /// a few lines off, or not at all. `done` hears of each.
    pub fn apply(
        &self,
        folder: &Path,
        tree: &Version,
        stop: &AtomicBool,
        done: &mut dyn FnMut(usize, &str),
    ) -> Result<(), RtPatchesError> {
        self.fits(tree)?;
        for (number, patch) in self.patches.iter().enumerate() {
            if stop.load(Relaxed) {
                return Err(RtPatchesError::Interrupted);
            }
            let name = patch.file_name().unwrap_or_default().to_string_lossy().into_owned();
            done(number, &name);
            let refused =
                apply(folder, patch).map_err(|reason| RtPatchesError::File { path: patch.clone(), reason })?;
            if let Some(why) = refused {
                let (series, tree) = (self.to_string(), tree.to_string());
                return Err(RtPatchesError::DoesNotApply { patch: name, series, tree, why });
            }
        }
        Ok(())
    }
}

impl fmt::Display for RtPatches {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}-rt{}", self.version, self.rt)
    }
}

fn patches(path: &Path) -> Result<Vec<PathBuf>, RtPatchesError> {
    let wrong = |reason| RtPatchesError::File { path: path.to_owned(), reason };
    if !fs::metadata(path).map_err(wrong)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if let Ok(series) = fs::read_to_string(path.join("series")) {
        let listed: Vec<PathBuf> = listed(&series).map(|name| path.join(name)).collect();
        return match listed.iter().find(|patch| !patch.is_file()) {
            Some(lost) => Err(RtPatchesError::File {
                path: lost.clone(),
                reason: io::Error::other("the file `series` names it, and it is not there"),
            }),
            None => Ok(listed),
        };
    }
    let entries = fs::read_dir(path).map_err(wrong)?.flatten().map(|entry| entry.path());
    let is_patch = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        [".patch", ".patch.gz", ".patch.xz", ".diff"].iter().any(|end| name.ends_with(end))
    };
    let mut found: Vec<PathBuf> = entries.filter(is_patch).collect();
    found.sort();
    Ok(found)
}

/// Names in quilt's `series`: one to a line, with comments and options after it. None leads out of the folder.
fn listed(series: &str) -> impl Iterator<Item = &str> {
    series.lines().filter_map(|line| {
        let word = line.split('#').next()?.split_whitespace().next()?;
        (!word.starts_with('/') && !word.split('/').any(|part| part == "..")).then_some(word)
    })
}

/// What stands before a patch's first hunk.
fn head(patch: &Path) -> Option<String> {
    let text = base::read(patch).ok()?;
    Some(
        text.lines()
            .take_while(|line| !line.starts_with("diff ") && !line.starts_with("--- a/"))
            .take(60)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// `6.1.176-rt64` anywhere in a text: the version and the number.
pub fn real_time_version(text: &str) -> Option<(Version, u32)> {
    text.match_indices("-rt")
        .filter_map(|(at, _)| {
            let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let after = &text[at + 3..];
            let rt = after[..digits(after)].parse().ok()?;
            let before = &text[..at];
            let start = before
                .rfind(|c: char| !c.is_ascii_digit() && c != '.')
                .map_or(0, |last| last + before[last..].chars().next().map_or(1, char::len_utf8));
            let mut numbers = before[start..].split('.');
            let mut number = || numbers.next()?.parse::<u32>().ok();
            let (major, minor, patch) = (number()?, number()?, number().unwrap_or(0));
            Some((Version { major, minor, patch, extra: String::new() }, rt))
        })
        .last()
}

/// Puts one on; what `patch` says if it does not go on.
fn apply(folder: &Path, patch: &Path) -> io::Result<Option<String>> {
    let text = base::read(patch)?;
    // No fuzz: context that does not match is another kernel's.
    let words = ["-p1", "-F0", "-N", "-s", "--no-backup-if-mismatch", "-r", "-", "-i", "-"];
    let start = |mut patch: Command| {
        patch.args(words).current_dir(folder);
        patch.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    };
    let mut child = program::command("patch").and_then(start).map_err(|e| {
        io::Error::other(format!("patch cannot be started ({e}); on Debian and Ubuntu: apt install patch"))
    })?;
    let mut input = child.stdin.take();
    let feeder = std::thread::spawn(move || input.take().map(|mut input| input.write_all(text.as_bytes())));
    let output = child.wait_with_output()?;
    let _ = feeder.join();
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(match output.status.success() {
        true => None,
        false => Some(said.lines().next().unwrap_or("it was refused").to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(text: &str) -> Version {
        let mut numbers = text.split('.').map(|n| n.parse().unwrap());
        let mut next = || numbers.next().unwrap_or(0);
        Version { major: next(), minor: next(), patch: next(), extra: String::new() }
    }

    #[test]
    fn a_series_tells_what_it_is_for() {
        let cases = [
            ("patch-6.1.120-rt47.patch.xz", "6.1.120", 47),
            ("0072-Linux-6.1.176-rt64-REBASE.patch", "6.1.176", 64),
            ("Origin: https://x/rt/6.6/older/patches-6.6-rt15.tar.xz", "6.6.0", 15),
        ];
        for (text, expected, rt) in cases {
            assert_eq!(real_time_version(text), Some((version(expected), rt)), "{text}");
        }
        assert_eq!(real_time_version("Add-localversion-for-RT-release"), None);
        assert_eq!(real_time_version("x-rt5"), None);
    }

    const PATCH: &str = "Subject: Linux 6.1.9-rt3\n\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";

    fn folders(f: &str) -> (tempfile::TempDir, tempfile::TempDir) {
        let (tree, patches) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(tree.path().join("f"), f).unwrap();
        fs::write(patches.path().join("a.patch"), PATCH).unwrap();
        (tree, patches)
    }

    fn has_patch() -> bool {
        let has = Command::new("patch").arg("--version").output().is_ok();
        if !has {
            ontick_skip::skipped!("there is no patch(1)");
        }
        has
    }

    #[test]
    fn a_series_goes_on_what_it_fits_and_on_nothing_else() {
        let (tree, patches) = folders("one\ntwo\nthree\n");
        let series = RtPatches::open(patches.path()).unwrap();
        assert_eq!((series.version.clone(), series.rt), (version("6.1.9"), 3));
        let stop = AtomicBool::new(false);
        let other = series.apply(tree.path(), &version("6.6.1"), &stop, &mut |_, _| {}).unwrap_err();
        assert!(matches!(other, RtPatchesError::OtherKernel { .. }), "{other}");
        assert!(other.to_string().contains("take the series for 6.6"), "{other}");
        if !has_patch() {
            return;
        }
        series.apply(tree.path(), &version("6.1.10"), &stop, &mut |_, _| {}).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("f")).unwrap(), "one\nTWO\nthree\n");
        let (tree, _patches) = folders("one\n2\nthree\n");
        let refused = series.apply(tree.path(), &version("6.1.10"), &stop, &mut |_, _| {}).unwrap_err();
        assert!(matches!(refused, RtPatchesError::DoesNotApply { .. }), "{refused}");
        assert!(refused.to_string().starts_with("a.patch of 6.1.9-rt3 does not go on linux 6.1.10"), "{refused}");
    }

    #[test]
    fn a_folder_that_is_no_series_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(RtPatches::open(folder.path()), Err(RtPatchesError::Empty(_))));
        fs::write(folder.path().join("series"), "# first\nb.patch -p1\n../../etc/passwd\n").unwrap();
        assert!(
            matches!(RtPatches::open(folder.path()), Err(RtPatchesError::File { path, .. }) if path.ends_with("b.patch"))
        );
        fs::write(folder.path().join("b.patch"), "--- a/f\n").unwrap();
        assert!(matches!(RtPatches::open(folder.path()), Err(RtPatchesError::NoVersion(_))));
        assert_eq!(listed("a\n/b\n../c\n\n#d\ne # f\n").collect::<Vec<_>>(), ["a", "e"]);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "([0-9.äx -]{0,6}(-rt)?[0-9]{0,12}){0,4}") {
            let _ = real_time_version(&text);
        }
    }
}
