//! HdrHistogram's log (`.hlog`): the intervals of each tag together.

use std::collections::BTreeMap;

use super::lines::lines;
use super::{ImportError, Importer};
use crate::run::{Run, Series};
use crate::{Histogram, date, hlog};

pub(super) const IMPORTER: Importer = Importer { name: "hlog", tool: "an HdrHistogram log", wrote, read };

/// No log has more kinds of histograms than a record may have series.
const MOST_TAGS: usize = 4_096;
/// Buckets of all tags: a record with more is not read.
const MOST_BUCKETS: usize = 3_000_000;
/// A thousand bytes of a line may unpack to a million. Histograms become a few times as large; a log may take this much for
/// each of its bytes, and so much besides.
const UNPACKED_OF_A_BYTE: usize = 40;
const UNPACKED_BESIDES: usize = 8 << 20;

fn wrote(text: &str) -> bool {
    lines(text).any(|line| line.text.starts_with("#[Histogram log format version"))
        || lines(text).any(|line| hlog::is_interval(&line.text))
}

fn read(text: &str) -> Result<Run, ImportError> {
    let mut run = Run::new("HdrHistogram", "latency");
    let (mut tags, mut ends, mut last_line) = (BTreeMap::<String, Histogram>::new(), 0f64, 0);
    let (mut room, mut buckets) = (text.len().saturating_mul(UNPACKED_OF_A_BYTE).saturating_add(UNPACKED_BESIDES), 0);
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
        room = room
            .checked_sub(interval.unpacked)
            .ok_or_else(|| line.error("the log unpacks to far more than its size"))?;
        let tag = tags.entry(interval.tag).or_default();
        buckets -= tag.buckets().len();
        tag.merge(&interval.histogram);
        buckets += tag.buckets().len();
        if buckets > MOST_BUCKETS {
            return Err(line.error(format!("the log has more than {MOST_BUCKETS} buckets")));
        }
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    /// An interval whose million buckets are empty and take a thousand bytes.
    fn swollen() -> String {
        let empty = vec![0u8; (1 << 20) - 40];
        let mut plain: Vec<u8> =
            [0x1c84_9313, empty.len() as u32, 0, 5].into_iter().flat_map(u32::to_be_bytes).collect();
        [1u64, u64::MAX >> 1, 1.0f64.to_bits()].into_iter().for_each(|long| plain.extend(long.to_be_bytes()));
        plain.extend(empty);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&plain).unwrap();
        let packed = encoder.finish().unwrap();
        let bytes = [&0x1c84_9314u32.to_be_bytes()[..], &(packed.len() as u32).to_be_bytes(), &packed].concat();
        format!("0.0,1.0,1.0,{}\n", STANDARD.encode(bytes))
    }

    #[test]
    fn a_log_does_not_unpack_to_far_more_than_its_size() {
        let line = swollen();
        assert!(line.len() < 2_000 && read(&line).is_ok());
        let why = read(&line.repeat(12)).unwrap_err().to_string();
        assert!(why.contains("line 9: the log unpacks to far more"), "{why}");
    }
}
