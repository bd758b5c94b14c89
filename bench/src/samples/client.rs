//! A client of `ontick sample` that keeps up and looks at every sample: numbers, gaps, time stamps.

use std::io::{self, BufRead, BufReader, Read};

use ontick_acquire::format::{Entry, Gap, TimedSample, Why};
use ontick_acquire::recording;

/// Bytes that a client reads at once.
const BUFFER: usize = 1 << 18;

/// What a client got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Got {
    /// Samples.
    pub samples: u64,
    /// The first one's number, and the last one's.
    pub first: Option<u64>,
    /// See `first`.
    pub last: u64,
    /// Samples that it was told are missing, by reason.
    pub reported: [u64; 3],
    /// Numbers left out or repeated without a word.
    pub untold: u64,
    /// Samples whose time on either clock is not after the one before, or whose deadline is not that of its number.
    pub wrong_times: u64,
    /// Gaps that were told: the number after each, and how many are missing.
    pub gaps: Vec<(u64, u64)>,
    pending: u64,
    times: (u64, u64),
    grid: Option<(u64, u64)>,
}

impl Got {
    /// Reads a binary stream or file to its end.
    pub fn binary(from: impl Read, period_ns: u64) -> Result<Self, String> {
        let mut got = Self::default();
        let mut recording = recording::read(BufReader::with_capacity(BUFFER, from)).map_err(|e| e.to_string())?;
        while let Some(entry) = recording.next().map_err(|e| e.to_string())? {
            match entry {
                Entry::Sample(sample) => got.sample(&sample, period_ns),
                Entry::Gap(gap) => got.gap(gap),
            }
        }
        Ok(got)
    }

    /// Reads CSV to its end.
    pub fn csv(from: impl Read, period_ns: u64) -> Result<Self, String> {
        let (mut got, mut from, mut line) = (Self::default(), BufReader::with_capacity(BUFFER, from), String::new());
        while from.read_line(&mut line).map_err(|e: io::Error| e.to_string())? > 0 {
            let wrong = || format!("a line that is no sample: {line:?}");
            match line.strip_prefix("# missed ") {
                Some(gap) => got.gap(reported(gap).ok_or_else(wrong)?),
                None if line.starts_with("number,") => {}
                None => {
                    let mut fields = line.split(',').map(|field| field.parse().ok());
                    let mut next = || fields.next().flatten().ok_or_else(wrong);
                    let (number, monotonic_ns, tai_ns, latency_ns) = (next()?, next()?, next()?, next()?);
                    got.sample(&TimedSample { number, monotonic_ns, tai_ns, latency_ns, raw: &[] }, period_ns);
                }
            }
            line.clear();
        }
        Ok(got)
    }

    fn gap(&mut self, gap: Gap) {
        self.reported[gap.why as usize] += gap.missed;
        self.pending += gap.missed;
    }

    fn sample(&mut self, sample: &TimedSample, period_ns: u64) {
        let pending = std::mem::take(&mut self.pending);
        if pending > 0 {
            self.gaps.push((sample.number, pending));
        }
        // Who joins late is not told what was before.
        if self.first.is_some() {
            self.untold += sample.number.abs_diff(self.last + 1 + pending);
            let (monotonic_ns, tai_ns) = self.times;
            self.wrong_times += u64::from(sample.monotonic_ns <= monotonic_ns || sample.tai_ns <= tai_ns);
        }
        let due_ns = sample.monotonic_ns - sample.latency_ns;
        let (number, then_ns) = *self.grid.get_or_insert((sample.number, due_ns));
        self.wrong_times += u64::from(due_ns - then_ns != (sample.number - number) * period_ns);
        self.first.get_or_insert(sample.number);
        (self.samples, self.last) = (self.samples + 1, sample.number);
        self.times = (sample.monotonic_ns, sample.tai_ns);
    }

    /// Samples that were taken and came before this number, as this client, which was there from the beginning, saw.
    pub fn before(&self, number: u64) -> u64 {
        let missing: u64 = self.gaps.iter().filter(|(after, _)| *after <= number).map(|(_, missed)| missed).sum();
        number.saturating_sub(missing)
    }
}

/// `4: late`
fn reported(text: &str) -> Option<Gap> {
    let (missed, why) = text.trim_end().split_once(": ")?;
    let why = Why::ALL.into_iter().find(|reason| reason.name() == why)?;
    Some(Gap { missed: missed.parse().ok()?, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(lines: &str) -> Got {
        Got::csv(lines.as_bytes(), 1000).unwrap()
    }

    #[test]
    fn every_number_is_accounted_for() {
        let got = got(
            "number,monotonic_ns,tai_ns,latency_ns,a\n3,3001,10,1,0\n# missed 2: late\n6,6005,20,5,0\n8,8000,30,0,0\n",
        );
        assert_eq!((got.samples, got.first, got.last), (3, Some(3), 8));
        assert_eq!((got.reported, got.untold, got.wrong_times), ([2, 0, 0], 1, 0));
        assert_eq!([got.before(5), got.before(6)], [5, 4]);
    }

    #[test]
    fn times_must_rise_and_fit_the_numbers() {
        assert_eq!(got("0,1000,10,0,0\n1,2000,10,0,0\n").wrong_times, 1, "TAI stands still");
        assert_eq!(got("0,1000,10,0,0\n1,2001,20,0,0\n").wrong_times, 1, "off the grid");
        assert_eq!(got("0,1000,10,0,0\n1,2001,20,1,0\n").wrong_times, 0);
    }

    #[test]
    fn what_is_no_sample_is_an_error() {
        for text in ["0,1,2\n", "# missed 4\n", "# missed 4: lost\n", "a,b,c,d\n"] {
            assert!(Got::csv(text.as_bytes(), 1).is_err(), "{text}");
        }
        assert!(Got::binary(&b"number"[..], 1).is_err());
    }
}
