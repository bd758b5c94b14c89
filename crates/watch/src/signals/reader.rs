//! Samples out of the bytes that a sampler sends: its binary format and its lines of JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use ontick_acquire::format::{Entry, ReadError};
use ontick_acquire::recording;
use serde::Deserialize;

/// No line is longer, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// Who takes what is read.
pub trait Take {
    /// The channels by name and unit; first of all, and once.
    fn channels(&mut self, channels: Vec<(String, String)>);
    /// A sample: its time on the sampler's monotonic clock and how late it was, in ns, and a value for each channel.
    fn sample(&mut self, at_ns: u64, late_ns: u64, values: &[f64]);
    /// So many samples are missing here.
    fn gap(&mut self, missed: u64);
}

/// Why reading ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplesError {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("no samples come from there: it is neither the binary format nor lines of JSON")]
    Foreign,
    /// It is damaged.
    #[error("{0}")]
    Damaged(#[from] ReadError),
    /// A line is none of a sampler's.
    #[error("line {number} is none of a sampler's: {why}")]
    Line {
        /// Counted from 1.
        number: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads to the end.
pub fn read(mut from: impl BufRead, take: &mut impl Take) -> Result<(), SamplesError> {
    match from.fill_buf()?.first() {
        None => Ok(()),
        Some(b'{') => lines(from, take),
        Some(_) => records(from, take),
    }
}

fn records(from: impl BufRead, take: &mut impl Take) -> Result<(), SamplesError> {
    let mut recording = match recording::read(from) {
        Err(ReadError::Foreign) => return Err(SamplesError::Foreign),
        read => read?,
    };
    let channels = recording.channels().to_vec();
    take.channels(channels.iter().map(|channel| (channel.name.clone(), channel.unit.clone())).collect());
    let mut values = vec![0.0; channels.len()];
    while let Some(entry) = recording.next()? {
        match entry {
            Entry::Sample(sample) => {
                for ((value, channel), raw) in values.iter_mut().zip(&channels).zip(sample.raw) {
                    *value = channel.value(*raw);
                }
                take.sample(sample.monotonic_ns, sample.latency_ns, &values);
            }
            Entry::Gap(gap) => take.gap(gap.missed),
        }
    }
    Ok(())
}

/// Any of the three kinds of lines.
#[derive(Deserialize)]
struct Line<'a> {
    channels: Option<Vec<Named>>,
    monotonic_ns: Option<u64>,
    latency_ns: Option<u64>,
    #[serde(borrow)]
    values: Option<BTreeMap<Cow<'a, str>, Option<f64>>>,
    missed: Option<u64>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    unit: String,
}

fn lines(mut from: impl BufRead, take: &mut impl Take) -> Result<(), SamplesError> {
    let (mut names, mut values) = (Vec::<String>::new(), Vec::new());
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        // A last line without its end is one that its writer did not live to write.
        if bytes.last() != Some(&b'\n') {
            return match bytes.len() as u64 == LONGEST_LINE {
                true => Err(SamplesError::Line { number, why: "it is longer than 1 MiB".into() }),
                false => Ok(()),
            };
        }
        let line = serde_json::from_slice::<Line>(&bytes);
        let line = line.map_err(|error| SamplesError::Line { number, why: error.to_string() })?;
        match line {
            Line { channels: Some(channels), .. } if number == 1 => {
                names = channels.iter().map(|channel| channel.name.clone()).collect();
                values = vec![f64::NAN; names.len()];
                take.channels(channels.into_iter().map(|channel| (channel.name, channel.unit)).collect());
            }
            _ if number == 1 => return Err(SamplesError::Foreign),
            Line { monotonic_ns: Some(at_ns), values: Some(found), latency_ns, .. } => {
                for (value, name) in values.iter_mut().zip(&names) {
                    *value = found.get(name.as_str()).copied().flatten().unwrap_or(f64::NAN);
                }
                take.sample(at_ns, latency_ns.unwrap_or(0), &values);
            }
            Line { missed: Some(missed), .. } => take.gap(missed),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ontick_acquire::Channel;
    use ontick_acquire::format::{Format, Gap, TimedSample, Why};

    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Taken {
        channels: Vec<(String, String)>,
        samples: Vec<(u64, u64, Vec<f64>)>,
        missed: u64,
    }

    impl Take for Taken {
        fn channels(&mut self, channels: Vec<(String, String)>) {
            self.channels = channels;
        }
        fn sample(&mut self, at_ns: u64, late_ns: u64, values: &[f64]) {
            self.samples.push((at_ns, late_ns, values.to_vec()));
        }
        fn gap(&mut self, missed: u64) {
            self.missed += missed;
        }
    }

    /// As a sampler sends them.
    fn sent(format: Format) -> Vec<u8> {
        let channel = |name: &str, scale| Channel { name: name.into(), unit: "V".into(), scale, offset: 1.0 };
        let encoder = format.encoder(&[channel("odd \"name\"", 0.5), channel("b", 0.1)]);
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for at in 1..=3u64 {
            let raw = [at as i64, 7];
            let sample = TimedSample { number: at, monotonic_ns: at * 10, tai_ns: 0, latency_ns: at, raw: &raw };
            encoder.sample(&sample, &mut out);
        }
        encoder.gap(Gap { missed: 4, why: Why::Slow }, &mut out);
        out
    }

    #[test]
    fn both_formats_say_the_same() {
        let mut all = Vec::new();
        for format in [Format::Binary, Format::Ndjson] {
            let bytes = sent(format);
            let mut taken = Taken::default();
            read(&bytes[..], &mut taken).unwrap();
            all.push(taken);
        }
        let [binary, lines] = &all[..] else { panic!("two") };
        assert_eq!(binary, lines);
        assert_eq!(binary.channels, [("odd \"name\"".into(), "V".into()), ("b".into(), "V".into())]);
        assert_eq!((binary.samples.len(), &binary.samples[2], binary.missed), (3, &(30, 3, vec![2.5, 1.7]), 4));
    }

    #[test]
    fn what_was_cut_off_is_left_out_and_what_is_foreign_is_reported() {
        for format in [Format::Binary, Format::Ndjson] {
            let bytes = sent(format);
            for cut in 0..bytes.len() {
                let mut taken = Taken::default();
                let _ = read(&bytes[..cut], &mut taken);
                assert!(taken.samples.len() <= 3);
            }
        }
        let fails = |bytes: &[u8]| read(bytes, &mut Taken::default()).unwrap_err().to_string();
        assert!(fails(b"number,monotonic_ns\n").contains("no samples come from there"));
        assert!(fails(b"{\"a\":1}\n").contains("no samples come from there"));
        assert!(fails(b"{\"channels\":[]}\n{nonsense\n").contains("line 2 is none of a sampler's"));
    }
}
