//! Whether the disk has room for a build, before an hour goes into it.

use std::path::Path;

use ontick_machine::facts::KernelConfig;

use super::{BuildError, file_error};

/// What one compiled file takes with all that comes of it; seen: 0.3 MB (arm64), with debug information 3 MB.
const PER_STEP: u64 = 400_000;
const PER_STEP_DEBUG: u64 = 3_500_000;
/// An unpacked source.
pub const SOURCE: u64 = 1_700_000_000;
/// The result, twice: as files and packed.
const RESULT: u64 = 300_000_000;

/// Refuses a build that will not fit; what an earlier one left is counted as there.
pub fn enough(work: &Path, build: &Path, steps: usize, config: &KernelConfig) -> Result<(), BuildError> {
    let debug = config.has("DEBUG_INFO") == Some(true);
    let each = if debug { PER_STEP_DEBUG } else { PER_STEP };
    let needed = (steps as u64 * each).saturating_sub(size(build)) + RESULT;
    has(work, needed, "the build")
}

/// Refuses where a folder's disk lacks room.
pub fn has(folder: &Path, needed: u64, what: &'static str) -> Result<(), BuildError> {
    let disk = rustix::fs::statvfs(folder).map_err(|e| file_error(folder)(e.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= needed {
        return Ok(());
    }
    Err(BuildError::NoRoom { what, needed: megabytes(needed), folder: folder.into(), free: megabytes(free) })
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(has(folder.path(), 0, "it").is_ok());
        let refused = has(folder.path(), u64::MAX, "the build").unwrap_err().to_string();
        assert!(refused.starts_with("the build takes about") && refused.contains("are free there"), "{refused}");
    }
}
