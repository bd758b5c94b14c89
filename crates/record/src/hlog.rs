//! The log of HdrHistogram (`.hlog`, format 1.3): a histogram a line, with a tag, in the library's compressed encoding.

mod encoding;

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{Histogram, Run};

pub use encoding::EncodingError;

/// Latencies are written in ns; the column of the largest has it in ms, as the library's own writers do.
const NS_PER_MS: f64 = 1_000_000.0;

/// Every series of a run as an interval, tagged with its name. Samples that have no bucket of their own are not in it.
pub fn write(run: &Run) -> String {
    let mut text = format!("#[Written by {}; values are ns]\n#[Histogram log format version 1.3]\n", tag(&run.tool));
    if let Some(started) = run.started.parse::<jiff::Timestamp>().ok().filter(|_| !run.started.is_empty()) {
        let seconds = started.as_millisecond() as f64 / 1e3;
        let _ = writeln!(text, "#[StartTime: {seconds:.3} (seconds since epoch), {}]", run.started);
    }
    if let Some(what) = &run.simulated {
        let _ = writeln!(text, "#[simulated: {}]", what.split(' ').map(tag).collect::<Vec<_>>().join(" "));
    }
    text.push_str("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
    for series in &run.series {
        let length = run.duration_ns as f64 / 1e9;
        let max = series.latency.buckets().iter().map(|bucket| bucket.high_ns()).max().unwrap_or(0) as f64 / NS_PER_MS;
        let encoded = STANDARD.encode(encoding::encode(series.latency.buckets()));
        let _ = writeln!(text, "Tag={},0.000,{length:.3},{max:.3},{encoded}", tag(&series.name));
    }
    text
}

/// A tag has no comma, no blank and nothing that steers a terminal.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.:;/+()<>=%#".contains(c) { c } else { '_' }).collect()
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Interval {
    pub tag: String,
    /// From the log's start, in seconds.
    pub ends: f64,
    pub histogram: Histogram,
    /// How many bytes the histogram was before it was compressed.
    pub unpacked: usize,
}

/// Whether a line can be one of an interval: its last field is a compressed histogram.
pub(crate) fn is_interval(line: &str) -> bool {
    // The first bytes of the compressed encoding, in base64.
    line.rsplit(',').next().is_some_and(|last| last.trim().trim_matches('"').starts_with("HISTFAAA"))
}

/// Reads such a line: `Tag=A,0.127,1.007,2.769,HISTFAAA…`.
pub(crate) fn read_interval(line: &str) -> Result<Interval, String> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(rest) => rest.split_once(',').ok_or("the line has a tag and nothing else")?,
        None => ("", line),
    };
    let fields: Vec<&str> = rest.split(',').map(str::trim).collect();
    let [starts, length, _max, encoded] = fields[..] else {
        return Err(format!("the line has {} fields behind its tag, and should have 4", fields.len()));
    };
    let seconds = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("\"{}\" is no time in seconds", text.chars().take(24).collect::<String>()))
    };
    let bytes = STANDARD.decode(encoded.trim_matches('"')).map_err(|_| "the histogram is damaged: it is not base64")?;
    let (buckets, unpacked) = encoding::decode(&bytes).map_err(|error| error.to_string())?;
    Ok(Interval {
        tag: tag.to_owned(),
        ends: seconds(starts)? + seconds(length)?,
        histogram: Histogram::from_buckets(buckets),
        unpacked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn run() -> Run {
        let mut run = Run::new("ontick 0.1.0", "timer");
        (run.started, run.duration_ns) = ("2026-11-23T17:44:21Z".into(), 2_500_000_000);
        for (name, scale) in [("cpu 0, irq", 1u64), ("thread", 700)] {
            let mut series = Series::from(name.to_owned());
            (1..=1_000u64).for_each(|n| series.latency.add(n * n * scale, 1, n % 3 + 1));
            run.series.push(series);
        }
        run
    }

    /// The reader of another implementation finds each series with all its samples, at most 0.1 % larger.
    #[test]
    fn others_read_what_is_written() {
        let (run, text) = (run(), write(&run()));
        let entries: Vec<LogEntry> = IntervalLogIterator::new(text.as_bytes()).map(|entry| entry.unwrap()).collect();
        let intervals = entries.iter().filter_map(|entry| match entry {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        });
        let mut read = 0;
        for (interval, series) in intervals.zip(&run.series) {
            assert_eq!(interval.tag().unwrap().as_str(), tag(&series.name));
            let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
            let theirs: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            assert_eq!(theirs.len(), series.latency.count());
            for q in [0.01, 0.5, 0.99, 1.0] {
                let (ours, theirs) = (series.latency.quantile(q).unwrap(), theirs.value_at_quantile(q));
                assert!(theirs >= ours && theirs - ours <= ours / 1_000 + 1, "{q}: {ours} {theirs}");
            }
            read += 1;
        }
        assert_eq!(read, 2);
    }

    #[test]
    fn what_others_write_is_read() {
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1_000, 10_000_000_000, 2).unwrap();
        [900, 1_000, 5_000_000, 5_000_000, 9_999_000_000].into_iter().for_each(|value| theirs.record(value).unwrap());
        let mut bytes = Vec::new();
        let mut serializer = hdrhistogram::serialization::V2DeflateSerializer::new();
        hdrhistogram::serialization::Serializer::serialize(&mut serializer, &theirs, &mut bytes).unwrap();
        let line = format!("Tag=read,1.500,2.000,3.0,{}", STANDARD.encode(&bytes));
        assert!(is_interval(&line));
        let interval = read_interval(&line).unwrap();
        assert_eq!((interval.tag.as_str(), interval.ends, interval.histogram.count()), ("read", 3.5, 5));
        for (q, value) in [(0.2, 900), (0.7, 5_000_000), (1.0, 9_999_000_000)] {
            let seen = interval.histogram.quantile(q).unwrap();
            assert!(seen >= value && seen <= value + value / 100 + 1_024, "{q}: {seen}");
        }
    }

    #[test]
    fn damaged_lines_are_refused() {
        let good = write(&run()).lines().last().unwrap().to_owned();
        assert!(read_interval(&good).is_ok());
        for end in (0..good.len() - 1).step_by(7) {
            assert!(read_interval(&good[..end]).is_err(), "cut at {end}");
        }
        assert!(read_interval(&good.replace("0.000", "-1")).unwrap_err().contains("no time"));
        assert!(read_interval(&good.replace("HISTFAAA", "HISTFBBB")).is_err());
    }
}
