//! A sampler on a timed thread of its own, for programs that take the samples themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::JoinHandle;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::timed_section::{SectionCpu, SectionError, TimedSection};
use ontick_rt::{Phase, phase};

use crate::rest::Demands;
use crate::ring::{self, Reader};
use crate::{Channel, Error, Sampler, Source, Trigger, Turn};

/// Where edges come at no known rate, the ring holds so many samples.
const EDGES: u64 = 1 << 17;
/// Of a rate it holds so many seconds.
const SECONDS: u64 = 2;
/// Turns before the first sample is kept: they fault code in and teach the wait its margin.
const PRACTICE: u32 = 200;
/// No practice longer than this, in ns.
const PRACTICE_NS: u64 = 250_000_000;

/// How many samples a ring should hold for this trigger.
pub fn ring_samples(trigger: &Trigger) -> u64 {
    match trigger {
        Trigger::Every(period_ns) => (SECONDS * 1_000_000_000 / (*period_ns).max(1)).max(4096),
        Trigger::Edge(..) => EDGES,
    }
}

/// The channels of all sources; names that come twice get a number.
pub fn channels(sources: &[Box<dyn Source>]) -> Vec<Channel> {
    distinct(sources.iter().flat_map(|source| source.channels().iter().cloned()).collect())
}

fn distinct(mut channels: Vec<Channel>) -> Vec<Channel> {
    for index in 1..channels.len() {
        let name = channels[index].name.clone();
        let mut n = 1;
        while channels[..index].iter().any(|before| before.name == channels[index].name) {
            n += 1;
            channels[index].name = format!("{name}.{n}");
        }
    }
    channels
}

/// The quietest phase for a trigger, found on the calling thread where the trigger's period allows it.
pub fn quietest_phase(trigger: &Trigger) -> Phase {
    match trigger {
        Trigger::Every(period_ns) if *period_ns <= phase::LONGEST_SCANNED_NS => {
            Phase::Fixed(phase::scan(&mut Clock::new(ClockId::Monotonic), phase::SCAN_NS).quietest(*period_ns))
        }
        _ => Phase::Chance,
    }
}

/// Samples that are being taken. Ends when it is dropped.
///
/// ```
/// use ontick_acquire::{Acquisition, Trigger, source};
/// use ontick_rt::thread::Setup;
/// use ontick_rt::timed_section::SectionCpu;
/// let sources = vec![source::open("wave:sine,50Hz")?];
/// let (acquisition, mut reader) =
///     Acquisition::start(Trigger::Every(1_000_000), sources, SectionCpu::Keep, Setup::new())?;
/// while reader.pop(|sample| sample.number).is_none_or(|number| number < 10) {
///     std::thread::yield_now();
/// }
/// acquisition.end()?;
/// # Ok::<(), ontick_acquire::Error>(())
/// ```
#[derive(Debug)]
pub struct Acquisition {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    refused: Vec<String>,
}

impl Acquisition {
    /// Starts the timed thread, which is set up as far as the system allows. The reader is abandoned when it has ended.
    pub fn start(
        trigger: Trigger,
        sources: Vec<Box<dyn Source>>,
        cpu: SectionCpu,
        setup: Setup,
    ) -> Result<(Self, Reader), Error> {
        let (writer, reader) = ring::new(ring_samples(&trigger) as usize, channels(&sources).len());
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, begun) = mpsc::channel();
        let demands = Demands::find(&trigger);
        let timed = {
            let stop = stop.clone();
            move || {
                block_signals();
                let section = match TimedSection::begin(cpu, setup) {
                    Ok(section) => section,
                    Err(error) => return Err(not_begun(error)),
                };
                let sampler = Sampler::new(&trigger, quietest_phase(&trigger), sources, writer)?;
                let (sampler, _) = sampler.resting_on(demands);
                let _ = ready.send(section.refused().collect());
                sample(sampler, &trigger, &stop)
            }
        };
        let spawned = std::thread::Builder::new().name("ontick-timed".into()).spawn(timed);
        let thread = spawned.map_err(|error| Error::System { what: "starting the timed thread".into(), error })?;
        let mut acquisition = Self { stop, thread: Some(thread), refused: Vec::new() };
        match begun.recv() {
            Ok(refused) => acquisition.refused = refused,
            // It ended instead: why, its result says.
            Err(_) => acquisition.join()?,
        }
        Ok((acquisition, reader))
    }

    /// What of the thread's set-up the system refused, and what to do.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Ends the timed thread after the sample that it is at, once it is set: for whoever does not hold the acquisition.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Asks the timed thread to end after the sample that it is at.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Ends it; the error is that of a source or trigger that failed before.
    pub fn end(mut self) -> Result<(), Error> {
        self.stop();
        self.join()
    }

    fn join(&mut self) -> Result<(), Error> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn not_begun(error: SectionError) -> Error {
    Error::Invalid { what: "CPU", text: "of the timed thread".into(), why: error.to_string() }
}

/// Samples until it is told to stop, or a source fails.
fn sample(mut sampler: Sampler, trigger: &Trigger, stop: &AtomicBool) -> Result<(), Error> {
    if matches!(trigger, Trigger::Every(_)) {
        let end_ns = ClockId::Monotonic.now_ns() + PRACTICE_NS;
        for _ in 0..PRACTICE {
            turn(&mut sampler)?;
            if ClockId::Monotonic.now_ns() >= end_ns || stop.load(Relaxed) {
                break;
            }
        }
    }
    while !stop.load(Relaxed) {
        if turn(&mut sampler)? {
            sampler.keep();
        }
    }
    Ok(())
}

/// Whether there is a sample now.
fn turn(sampler: &mut Sampler) -> Result<bool, Error> {
    match sampler.turn() {
        Turn::Taken { .. } => Ok(true),
        Turn::Nothing(_) => Ok(false),
        Turn::Failed { source, errno } => {
            let what = source.map_or("the trigger's line".into(), |source| format!("source {}", source + 1));
            Err(Error::System { what, error: errno.into() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    #[test]
    fn every_channel_has_a_name_of_its_own() {
        let channel = |name: &str| Channel { name: name.into(), unit: String::new(), scale: 1.0, offset: 0.0 };
        let names: Vec<String> =
            distinct(["a", "b", "a", "a", "a.2"].map(channel).to_vec()).into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["a", "b", "a.2", "a.3", "a.2.2"]);
    }

    #[test]
    fn samples_come_until_the_end_and_none_is_lost() {
        let sources = vec![source::open("wave:ramp,10Hz").unwrap(), source::open("wave:sine").unwrap()];
        let (acquisition, mut reader) =
            Acquisition::start(Trigger::Every(1_000_000), sources, SectionCpu::Keep, Setup::new()).unwrap();
        let mut numbers = Vec::new();
        while numbers.len() < 50 {
            match reader.pop(|sample| (sample.number, sample.raw.len(), sample.dropped)) {
                Some((number, channels, dropped)) => {
                    assert_eq!((channels, dropped), (2, 0));
                    numbers.push(number);
                }
                None => std::thread::yield_now(),
            }
        }
        acquisition.end().unwrap();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]) && numbers[0] == 0, "{numbers:?}");
        while let Some(number) = reader.pop(|sample| sample.number) {
            numbers.push(number);
        }
        assert_eq!(reader.ended(), Some(0));
    }

    #[test]
    fn a_thread_that_cannot_begin_says_why() {
        let sources = vec![source::open("wave:sine").unwrap()];
        let nowhere =
            Acquisition::start(Trigger::Every(1_000_000), sources, SectionCpu::One(1023), Setup::new()).unwrap_err();
        assert!(nowhere.to_string().contains("CPU 1023 is not online"), "{nowhere}");
    }
}
