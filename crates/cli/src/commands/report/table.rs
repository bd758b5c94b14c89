//! Many records as one table.

use std::path::Path;

use ontick_record::Run;
#[cfg(feature = "arrow")]
use ontick_record::store;
use ontick_record::store::StoreError;
#[cfg(feature = "arrow")]
use ontick_report::arrow::SeriesTable;

use crate::failure::Failure;

/// Adds the series of a run that was read from a file.
pub type Add<'a> = dyn FnMut(&Path, &Run) -> Result<(), StoreError> + 'a;

/// Writes the series of all runs that `fill` adds. Where it fails nothing is left.
#[cfg(feature = "arrow")]
pub fn write<T>(path: &Path, fill: impl FnOnce(&mut Add) -> Result<T, StoreError>) -> Result<T, Failure> {
    let mut filled = None;
    store::write_whole_by(path, |put| {
        let mut table = SeriesTable::default();
        put(&table.begin())?;
        filled = Some(fill(&mut |file, run| put(&table.add(&file.to_string_lossy(), run)))?);
        put(&table.end())
    })?;
    filled.ok_or_else(|| Failure::new(format!("{}: it was not written", path.display())))
}

#[cfg(not(feature = "arrow"))]
pub fn write<T>(_: &Path, _: impl FnOnce(&mut Add) -> Result<T, StoreError>) -> Result<T, Failure> {
    Err(Failure::new("--arrow: this program was built without Arrow (its feature `arrow`)"))
}
