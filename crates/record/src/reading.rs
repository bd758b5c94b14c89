//! What is done to every run that comes from outside: it is checked, and completed with what its version did not write.

use crate::Case;
use crate::error::ParseError;
use crate::run::{Run, SCHEMA};

/// Whether this version reads a format.
pub(crate) fn check_schema(schema: &str) -> Result<(), ParseError> {
    if schema == SCHEMA { Ok(()) } else { Err(ParseError::Version { found: schema.into(), read: SCHEMA }) }
}

/// What makes a run from outside unusable, though it has all its fields.
pub(crate) fn check(run: &Run) -> Result<(), String> {
    check_schema(&run.schema).map_err(|e| e.to_string())?;
    run.switch.as_ref().map_or(Ok(()), |switch| switch.check())?;
    run.series.iter().try_for_each(|s| {
        let widths = s.pulse.as_ref().map_or(Ok(()), |pulse| pulse.width.check());
        s.latency.check().and(widths).map_err(|e| format!("series \"{}\": {e}", s.name))
    })
}

/// Gives the series of a record from before cases were kept theirs.
pub(crate) fn complete(run: &mut Run) {
    for series in run.series.iter_mut().filter(|series| series.case.is_empty()) {
        series.case = Case::of_name(&run.measurement, &series.name).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;

    #[test]
    fn a_pulses_widths_are_checked_like_its_latencies() {
        let mut run = Run::new("ontick 0.1.0", "pulse");
        run.series.push(Series { name: "hybrid".into(), ..Series::default() });
        run.series[0].pulse = Some(Default::default());
        assert_eq!(check(&run), Ok(()));
        let unsound: crate::Histogram = serde_json::from_str(r#"{"buckets":[[7,1,1],[3,1,1]]}"#).unwrap();
        run.series[0].pulse.as_mut().unwrap().width = unsound;
        assert!(check(&run).unwrap_err().starts_with("series \"hybrid\": "));
    }
}
