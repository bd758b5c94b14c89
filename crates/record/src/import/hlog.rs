//! HdrHistogram's log (`.hlog`): the intervals of each tag together.

use std::collections::BTreeMap;

use super::lines::lines;
use super::{ImportError, Importer};
use crate::run::{Run, Series};
use crate::{Histogram, date, hlog};

pub(super) const IMPORTER: Importer = Importer { name: "hlog", tool: "an HdrHistogram log", wrote, read };

/// No log has more kinds of histograms than a record may have series.
const MOST_TAGS: usize = 4_096;

fn wrote(text: &str) -> bool {
    lines(text).any(|line| line.text.starts_with("#[Histogram log format version"))
        || lines(text).any(|line| hlog::is_interval(&line.text))
}

fn read(text: &str) -> Result<Run, ImportError> {
    let mut run = Run::new("HdrHistogram", "latency");
    let (mut tags, mut ends, mut last_line) = (BTreeMap::<String, Histogram>::new(), 0f64, 0);
    for line in lines(text) {
        last_line = line.number;
        let words = line.text.as_ref();
        if let Some(start) = words.strip_prefix("#[StartTime:") {
            run.started = started(start).unwrap_or_default();
        }
        if words.is_empty() || words.starts_with('#') || words.starts_with("\"StartTimestamp\"") {
            continue;
        }
        line.must_be_whole()?;
        let interval = hlog::read_interval(words).map_err(|problem| line.error(problem))?;
        ends = ends.max(interval.ends);
        if tags.len() == MOST_TAGS && !tags.contains_key(&interval.tag) {
            return Err(line.error(format!("the log has more than {MOST_TAGS} tags")));
        }
        tags.entry(interval.tag).or_default().merge(&interval.histogram);
    }
    if tags.is_empty() {
        return Err(ImportError::at(last_line, "the log ends without an interval: it is cut off"));
    }
    // Absolute times are no length.
    run.duration_ns = if ends < 1e9 { (ends * 1e9) as u64 } else { 0 };
    for (tag, latency) in tags {
        let name = if tag.is_empty() { "untagged".into() } else { tag };
        run.series.push(Series { name, latency, ..Series::default() });
    }
    run.notes.push("values are taken to be ns: a log of HdrHistogram does not tell its unit".into());
    Ok(run)
}

/// ` 1441812279.474 (seconds since epoch), …`
fn started(text: &str) -> Option<String> {
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    let milliseconds = seconds * 1e3;
    let fits = milliseconds.is_finite() && milliseconds.abs() < 1e14;
    let time = fits.then(|| jiff::Timestamp::from_millisecond(milliseconds as i64).ok()).flatten()?;
    Some(date::text(time))
}
