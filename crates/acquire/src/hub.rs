//! From the ring to everybody: one thread encodes each sample once per format and adds it to that format's
//! backlog. It neither knows who reads there nor waits for them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;

use crate::Channel;
use crate::backlog::{Backlog, Gaps};
use crate::format::{Encode, Format, Gap, TimedSample, Why};
use crate::ring::{Reader, Sample};

/// How long the hub rests when the ring is empty.
const REST: Duration = Duration::from_millis(1);
/// The offset of the TAI clock is looked at again after this time.
const TAI_EVERY: Duration = Duration::from_millis(100);
/// Samples that are encoded before they are handed on, at most.
const BATCH: u64 = 4096;
/// Samples that the live view keeps.
const TRACE: usize = 512;

/// One format's encoder and backlog.
pub struct Stream {
    /// The format.
    pub format: Format,
    /// What the samples are of.
    pub channels: Vec<Channel>,
    /// What every reader gets first.
    pub begin: Arc<[u8]>,
    /// Its encoder, also for gaps that only one reader has.
    pub encoder: Box<dyn Encode>,
    /// What was encoded.
    pub backlog: Backlog,
}

impl Stream {
    /// A stream of samples of these channels that keeps this much for slow readers, in bytes.
    pub fn new(format: Format, channels: &[Channel], most_bytes: usize) -> Arc<Self> {
        let encoder = format.encoder(channels);
        let mut begin = Vec::new();
        encoder.begin(&mut begin);
        let channels = channels.to_vec();
        Arc::new(Self { format, channels, begin: begin.into(), encoder, backlog: Backlog::new(most_bytes) })
    }
}

/// What has passed so far; read by others while the hub runs.
#[derive(Debug, Default)]
pub struct Passed {
    /// Samples handed on.
    pub samples: AtomicU64,
    /// Slots that were missed.
    pub late: AtomicU64,
    /// Samples that found the ring full.
    pub full: AtomicU64,
    /// How full the ring was at the last look, in thousandths.
    pub ring_level: AtomicU64,
    /// The highest it was.
    pub ring_peak: AtomicU64,
    /// There are no more samples: whoever leaves from now on has all that it takes.
    pub ended: AtomicBool,
    trace: Mutex<Trace>,
}

#[derive(Debug, Default)]
struct Trace {
    values: Vec<f64>,
    next: usize,
    newest: Option<Newest>,
}

/// The newest sample that was handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest {
    /// Samples until then, itself included.
    pub samples: u64,
    /// When its sources were read, in ns on the monotonic clock.
    pub at_ns: u64,
}

impl Passed {
    /// The first channel's last values, oldest first; NaN where one is missing.
    pub fn trace(&self) -> Vec<f64> {
        let trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        let (newer, older) = trace.values.split_at(trace.next.min(trace.values.len()));
        [older, newer].concat()
    }

    /// The newest sample; `None` before the first.
    pub fn newest(&self) -> Option<Newest> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).newest
    }

    fn remember(&self, values: &mut Vec<f64>, newest: Newest) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        trace.newest = Some(newest);
        for value in values.drain(..) {
            let next = trace.next % TRACE;
            match trace.values.get_mut(next) {
                Some(old) => *old = value,
                None => trace.values.push(value),
            }
            trace.next = next + 1;
        }
    }
}

/// Hands samples on until the ring is abandoned and empty; then ends the streams.
pub fn run(mut ring: Reader, channels: &[Channel], streams: &[Arc<Stream>], passed: &Passed) {
    let mut tai = Tai::read();
    let mut order = Order::default();
    let mut buffers: Vec<Vec<u8>> = streams.iter().map(|_| Vec::new()).collect();
    let mut trace = Vec::new();
    loop {
        let ended = ring.ended();
        let level = (ring.level() * 1000.0) as u64;
        passed.ring_level.store(level, Relaxed);
        passed.ring_peak.fetch_max(level, Relaxed);
        tai.keep();
        let (mut samples, mut at_ns, mut gaps) = (0, 0, [0; 2]);
        while samples < BATCH {
            let came = ring.pop(|sample| {
                for gap in order.gaps(&sample) {
                    report(gap, streams, &mut buffers, &mut gaps, passed);
                    leave_out(&mut trace, gap.missed);
                }
                let stamped = tai.stamp(&sample);
                at_ns = sample.at_ns;
                streams.iter().zip(&mut buffers).for_each(|(stream, out)| stream.encoder.sample(&stamped, out));
                trace.extend(channels.first().zip(sample.raw.first()).map(|(channel, raw)| channel.value(*raw)));
            });
            if came.is_none() {
                break;
            }
            samples += 1;
        }
        if samples > 0 {
            hand_on(streams, &mut buffers, samples, gaps);
            let before = passed.samples.fetch_add(samples, Relaxed);
            passed.remember(&mut trace, Newest { samples: before + samples, at_ns });
        } else if let Some(dropped) = ended {
            let last = Gap { missed: dropped - order.dropped, why: Why::Full };
            if last.missed > 0 {
                report(last, streams, &mut buffers, &mut gaps, passed);
                hand_on(streams, &mut buffers, 0, gaps);
            }
            break;
        } else {
            std::thread::sleep(REST);
        }
    }
    passed.ended.store(true, Release);
    streams.iter().for_each(|stream| stream.backlog.end());
}

/// Counts a gap, and encodes it for everybody.
fn report(gap: Gap, streams: &[Arc<Stream>], buffers: &mut [Vec<u8>], gaps: &mut Gaps, passed: &Passed) {
    let [late, full] = gaps;
    let (counter, of_batch) = if gap.why == Why::Late { (&passed.late, late) } else { (&passed.full, full) };
    counter.fetch_add(gap.missed, Relaxed);
    *of_batch += gap.missed;
    streams.iter().zip(buffers).for_each(|(stream, out)| stream.encoder.gap(gap, out));
}

fn hand_on(streams: &[Arc<Stream>], buffers: &mut [Vec<u8>], samples: u64, gaps: Gaps) {
    for (stream, bytes) in streams.iter().zip(buffers) {
        stream.backlog.push(bytes, samples, gaps);
        bytes.clear();
    }
}

/// What is missing is a hole in the trace, as wide as it was long. No more is remembered than will be shown.
fn leave_out(trace: &mut Vec<f64>, missed: u64) {
    trace.extend(std::iter::repeat_n(f64::NAN, missed.min(TRACE as u64) as usize));
    trace.drain(..trace.len().saturating_sub(TRACE));
}

/// Finds what is missing between samples.
#[derive(Debug, Default)]
struct Order {
    next: u64,
    dropped: u64,
}

impl Order {
    /// The gaps before this sample.
    fn gaps(&mut self, sample: &Sample) -> impl Iterator<Item = Gap> + use<> {
        let full = sample.dropped - self.dropped;
        let late = (sample.number - self.next).saturating_sub(full);
        (self.next, self.dropped) = (sample.number + 1, sample.dropped);
        let gaps = [Gap { missed: late, why: Why::Late }, Gap { missed: full, why: Why::Full }];
        gaps.into_iter().filter(|gap| gap.missed > 0)
    }
}

/// TAI minus monotonic time. Both clocks are slewed alike, so that it changes only when something steps the
/// clock or sets the TAI offset.
struct Tai {
    offset_ns: u64,
    looked: Instant,
}

impl Tai {
    fn read() -> Self {
        // The narrowest of three brackets.
        let bracket = || {
            let before = ClockId::Monotonic.now_ns();
            let tai = ClockId::Tai.now_ns();
            let after = ClockId::Monotonic.now_ns();
            (after - before, tai - before.midpoint(after))
        };
        let (_, offset_ns) = [bracket(), bracket(), bracket()].into_iter().min().unwrap_or((0, 0));
        Self { offset_ns, looked: Instant::now() }
    }

    fn keep(&mut self) {
        if self.looked.elapsed() < TAI_EVERY {
            return;
        }
        let now = Self::read();
        // Smaller differences are those of the brackets: times would jitter with them.
        let same = now.offset_ns.abs_diff(self.offset_ns) < 10_000;
        *self = Self { offset_ns: if same { self.offset_ns } else { now.offset_ns }, ..now };
    }

    fn stamp<'a>(&self, sample: &Sample<'a>) -> TimedSample<'a> {
        TimedSample {
            number: sample.number,
            monotonic_ns: sample.at_ns,
            tai_ns: sample.at_ns + self.offset_ns,
            latency_ns: sample.latency_ns,
            raw: sample.raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backlog::Next;
    use crate::format::Entry;
    use crate::recording::read;
    use crate::ring;

    fn channels() -> Vec<Channel> {
        vec![Channel { name: "n".into(), unit: String::new(), scale: 1.0, offset: 0.0 }]
    }

    #[test]
    fn every_sample_arrives_or_is_reported_as_missing() {
        let channels = channels();
        let streams = [Stream::new(Format::Binary, &channels, 1 << 20), Stream::new(Format::Csv, &channels, 1 << 20)];
        let mut places: Vec<_> = streams.iter().map(|stream| stream.backlog.now()).collect();
        let (mut writer, reader) = ring::new(50, 1);
        // Slot 3 and 4 were missed; of the rest the ring has no room for five until it is read.
        for number in (0..3).chain(5..57) {
            writer.push(number, 1_000 + number, 9, &[number as i64]);
        }
        let passed = Passed::default();
        std::thread::scope(|scope| {
            let (channels, streams, passed) = (&channels, &streams, &passed);
            scope.spawn(move || run(reader, channels, streams, passed));
            while passed.samples.load(Relaxed) < 50 {
                std::thread::yield_now();
            }
            writer.push(57, 2_000, 9, &[57]);
            drop(writer);
        });
        let mut bytes = streams[0].begin.to_vec();
        let mut samples_in_all = 0;
        while let Next::Batch { bytes: batch, samples, missed } =
            streams[0].backlog.next(&mut places[0], Duration::ZERO)
        {
            assert_eq!(missed, [0; 3]);
            samples_in_all += samples;
            bytes.extend_from_slice(&batch);
        }
        assert_eq!(samples_in_all, 51);
        let mut recording = read(&bytes[..]).unwrap();
        let (mut numbers, mut gaps) = (Vec::new(), Vec::new());
        while let Some(entry) = recording.next().unwrap() {
            match entry {
                Entry::Sample(sample) => {
                    assert_eq!(sample.raw, [sample.number as i64]);
                    numbers.push(sample.number);
                }
                Entry::Gap(gap) => gaps.push((numbers.len(), gap)),
            }
        }
        assert_eq!(numbers, (0..3).chain(5..52).chain([57]).collect::<Vec<u64>>());
        let (late, full) = (Gap { missed: 2, why: Why::Late }, Gap { missed: 5, why: Why::Full });
        assert_eq!(gaps, [(3, late), (50, full)]);
        assert_eq!((passed.late.load(Relaxed), passed.full.load(Relaxed)), (2, 5));
        let trace = passed.trace();
        assert_eq!(trace.last(), Some(&57.0));
        let holes: Vec<usize> = (0..trace.len()).filter(|slot| trace[*slot].is_nan()).collect();
        assert_eq!(holes, [3, 4, 52, 53, 54, 55, 56], "what is missing is a hole");
    }

    #[test]
    fn the_last_samples_are_counted_though_none_comes_after_them() {
        let channels = channels();
        let streams = [Stream::new(Format::Binary, &channels, 1 << 20)];
        let mut place = streams[0].backlog.now();
        let (mut writer, reader) = ring::new(2, 1);
        (0..5).for_each(|number| writer.push(number, 1_000 + number, 9, &[7]));
        drop(writer);
        let passed = Passed::default();
        run(reader, &channels, &streams, &passed);
        assert_eq!((passed.samples.load(Relaxed), passed.full.load(Relaxed)), (2, 3));
        let mut bytes = streams[0].begin.to_vec();
        while let Next::Batch { bytes: batch, .. } = streams[0].backlog.next(&mut place, Duration::ZERO) {
            bytes.extend_from_slice(&batch);
        }
        let mut recording = read(&bytes[..]).unwrap();
        for number in 0..2 {
            assert!(matches!(recording.next().unwrap(), Some(Entry::Sample(sample)) if sample.number == number));
        }
        assert_eq!(recording.next().unwrap(), Some(Entry::Gap(Gap { missed: 3, why: Why::Full })));
    }

    #[test]
    fn the_trace_keeps_the_last_values_in_order() {
        let passed = Passed::default();
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        let newest = |samples| Newest { samples, at_ns: samples * 1000 };
        passed.remember(&mut values, newest(1000));
        passed.remember(&mut vec![1000.0], newest(1001));
        assert_eq!(passed.newest(), Some(newest(1001)));
        let trace = passed.trace();
        assert_eq!((trace.len(), trace[0], trace[TRACE - 1]), (TRACE, 489.0, 1000.0));
    }
}
