//! Many records as one table.

use std::borrow::Borrow;
use std::path::Path;

use ontick_record::Run;
#[cfg(feature = "arrow")]
use ontick_record::store;
use ontick_record::store::StoreError;
#[cfg(feature = "arrow")]
use ontick_report::arrow::SeriesTable;

use crate::failure::Failure;

/// Writes the series of all runs, each read when its turn comes. A file that cannot be read leaves nothing.
#[cfg(feature = "arrow")]
pub fn write<'a, R: Borrow<Run>>(
    path: &Path,
    mut runs: impl Iterator<Item = Result<(&'a Path, R), StoreError>>,
) -> Result<(), Failure> {
    store::write_whole_by(path, |put| {
        let mut table = SeriesTable::default();
        put(&table.begin())?;
        runs.try_for_each(|run| run.and_then(|(file, run)| put(&table.add(&file.to_string_lossy(), run.borrow()))))?;
        put(&table.end())
    })?;
    Ok(())
}

#[cfg(not(feature = "arrow"))]
pub fn write<'a, R: Borrow<Run>>(
    _: &Path,
    _: impl Iterator<Item = Result<(&'a Path, R), StoreError>>,
) -> Result<(), Failure> {
    Err(Failure::new("--arrow: this program was built without Arrow (its feature `arrow`)"))
}
