//! The timed side: at every trigger one sample of all sources.

use std::sync::Arc;

use ontick_gpio::{Edges, Line, Name, Request};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::Hybrid;
use ontick_rt::wait::demand::Counted;
use ontick_rt::{Cycle, Overrun, Phase};
use rustix::io::Errno;

use crate::rest::{Demands, Rests};
use crate::ring::Writer;
use crate::{Error, Source, Trigger};

/// A trigger that is far away is given up on for this long at a time, in ns, so that a run can be ended.
const PATIENCE_NS: u64 = 50_000_000;

/// So long before a sample its sources are warmed up, in ns: several times what a reading from memory takes. Spinning for it
/// takes a hundredth of the shortest period for which that is done.
const LEAD_NS: u64 = 10_000;
/// Between samples that are nearer to each other, the processor's caches forget nothing.
const COLD_NS: u64 = 100 * LEAD_NS;

/// A reading that asks no device and takes longer than this was interrupted, in ns: its values would be of another time than
/// the one beside them.
const INTERRUPTED_NS: u64 = 10_000;
/// An interrupted reading is repeated so often at most, as whoever interrupts may do so for long.
const REPEATS: u32 = 3;

/// What one turn of the sampler came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A sample was taken.
    Taken {
        /// When its sources were read, in ns.
        at_ns: u64,
        /// From the trigger until then, in ns.
        latency_ns: u64,
        /// Slots that were missed since the one before.
        missed: u64,
    },
    /// There was no trigger yet; the time now, in ns.
    Nothing(u64),
    /// A source failed, or, where none is named, the trigger's line.
    Failed {
        /// Which of the sources, from 0.
        source: Option<usize>,
        /// What it answered.
        errno: Errno,
    },
}

/// Takes samples. Lives on the timed thread; [`turn`](Self::turn) and [`keep`](Self::keep) neither allocate nor
/// lock.
pub struct Sampler {
    clockwork: Pace,
    sources: Vec<Box<dyn Source>>,
    /// Whether samples are so far apart that its sources are warmed up for each.
    grows_cold: bool,
    /// How often an interrupted reading is repeated: not at all where that would ask a device once more.
    repeats: u32,
    ring: Writer,
    begun: bool,
    number: u64,
    at_ns: u64,
    latency_ns: u64,
    raw: Vec<i64>,
}

enum Pace {
    Cycle(Box<Cycle<Hybrid>>),
    Edge { line: Box<Line>, clock: Box<Clock> },
}

impl Sampler {
    /// Samples these sources at this trigger into the ring, which must have as many channels as they do.
    pub fn new(trigger: &Trigger, phase: Phase, sources: Vec<Box<dyn Source>>, ring: Writer) -> Result<Self, Error> {
        let clock = Clock::new(ClockId::Monotonic);
        let clockwork = match trigger {
            Trigger::Every(period_ns) => Pace::Cycle(Box::new(Cycle::with_phase(
                clock,
                Hybrid::new(*period_ns),
                *period_ns,
                phase,
                Overrun::Skip,
            ))),
            Trigger::Edge(name, edges) => Pace::Edge { line: Box::new(listen(name, *edges)?), clock: Box::new(clock) },
        };
        let channels = sources.iter().map(|source| source.channels().len()).sum();
        let grows_cold = matches!(trigger, Trigger::Every(period_ns) if *period_ns >= COLD_NS);
        let repeats = if sources.iter().all(|source| source.asks_no_device()) { REPEATS } else { 0 };
        Ok(Self {
            clockwork,
            sources,
            grows_cold,
            repeats,
            ring,
            begun: false,
            number: 0,
            at_ns: 0,
            latency_ns: 0,
            raw: vec![0; channels],
        })
    }

    /// Where its periods are too short to sleep in, it rests when another thread wants its CPU, as far as that can be known.
    /// Call it on the timed thread, which has its CPU.
    pub fn resting_on(mut self, demands: Demands) -> (Self, Rests) {
        let Pace::Cycle(cycle) = self.clockwork else { return (self, Rests::EachPeriod) };
        let counted = match demands.0 {
            None => Err(Rests::EachPeriod),
            Some(Ok(kernel)) => Counted::here(&kernel).map_err(Rests::ByTheClock),
            Some(Err(why)) => Err(Rests::ByTheClock(why)),
        };
        let (cycle, rests) = match counted {
            Ok(counted) => (cycle.waiting_by(|wait| wait.resting_on(Arc::new(counted))), Rests::OnDemand),
            Err(rests) => (*cycle, rests),
        };
        self.clockwork = Pace::Cycle(Box::new(cycle));
        (self, rests)
    }

    /// Waits for the trigger and takes a sample.
    pub fn turn(&mut self) -> Turn {
        let (trigger_ns, missed) = match &mut self.clockwork {
            Pace::Cycle(cycle) => {
                if let Some(now_ns) = cycle.approach(PATIENCE_NS) {
                    return Turn::Nothing(now_ns);
                }
                if self.grows_cold && cycle.wait_before(LEAD_NS) > LEAD_NS / 2 {
                    let now_ns = cycle.clock().now_ns();
                    self.sources.iter_mut().for_each(|source| source.warm_up(now_ns));
                }
                let tick = cycle.next();
                (tick.deadline_ns, tick.missed)
            }
            Pace::Edge { line, clock } => match line.edge(clock.now_ns() + PATIENCE_NS) {
                Ok(Some(edge)) => (edge.time_ns, u64::from(edge.lost)),
                Ok(None) => return Turn::Nothing(clock.now_ns()),
                Err(gone) => return Turn::Failed { source: None, errno: gone.0 },
            },
        };
        if let Err((index, errno)) = self.read() {
            return Turn::Failed { source: Some(index), errno };
        }
        self.latency_ns = self.at_ns.saturating_sub(trigger_ns);
        if self.begun {
            self.number += missed + 1;
        }
        Turn::Taken { at_ns: self.at_ns, latency_ns: self.latency_ns, missed }
    }

    /// Reads all sources, and then the clock.
    fn read(&mut self) -> Result<(), (usize, Errno)> {
        for repeat in 0..=self.repeats {
            let begun_ns = self.clock().now_ns();
            let mut from = 0;
            for (index, source) in self.sources.iter_mut().enumerate() {
                let to = from + source.channels().len();
                source.read(begun_ns, &mut self.raw[from..to]).map_err(|errno| (index, errno))?;
                from = to;
            }
            self.at_ns = self.clock().now_ns();
            if repeat == self.repeats || self.at_ns.saturating_sub(begun_ns) <= INTERRUPTED_NS {
                break;
            }
        }
        Ok(())
    }

    /// Hands the last sample on; numbers count from the first that was. Samples that are not kept are practice.
    #[inline]
    pub fn keep(&mut self) {
        self.begun = true;
        self.ring.push(self.number, self.at_ns, self.latency_ns, &self.raw);
    }

    /// The clock that the times of samples are read from.
    pub fn clock(&mut self) -> &mut Clock {
        match &mut self.clockwork {
            Pace::Cycle(cycle) => cycle.clock(),
            Pace::Edge { clock, .. } => clock,
        }
    }

    /// Samples that found the ring full.
    pub fn dropped(&self) -> u64 {
        self.ring.dropped()
    }

    /// The phase of a periodic trigger, in ns.
    pub fn phase_ns(&self) -> Option<u64> {
        match &self.clockwork {
            Pace::Cycle(cycle) => Some(cycle.phase_ns()),
            Pace::Edge { .. } => None,
        }
    }
}

fn listen(name: &Name, edges: Edges) -> Result<Line, Error> {
    Ok(Line::open(name, &Request::input().edges(edges))?)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Channel, ring, source};

    #[test]
    fn a_rate_gives_numbered_samples() {
        let sources = vec![source::open("wave:sine,50Hz").unwrap(), source::open("wave:ramp,50Hz").unwrap()];
        let (writer, mut reader) = ring::new(1000, 2);
        let mut sampler = Sampler::new(&Trigger::Every(1_000_000), Phase::Chance, sources, writer).unwrap();
        (0..3).for_each(|_| assert!(matches!(sampler.turn(), Turn::Taken { .. })));
        assert_eq!(reader.pop(|_| ()), None, "practice");
        let mut slots = 0;
        for turn in 0..50 {
            let Turn::Taken { at_ns, latency_ns, missed } = sampler.turn() else { panic!("no sample") };
            sampler.keep();
            slots += if turn == 0 { 0 } else { missed };
            let wanted = (turn + slots, at_ns, latency_ns, 2);
            assert_eq!(reader.pop(|s| (s.number, s.at_ns, s.latency_ns, s.raw.len())), Some(wanted));
        }
    }

    /// Notes when it was read, and when it was warmed up.
    struct Noted(Notes, [Channel; 1]);

    type Notes = Arc<Mutex<Vec<(bool, u64)>>>;

    impl Source for Noted {
        fn channels(&self) -> &[Channel] {
            &self.1
        }

        fn read(&mut self, now_ns: u64, _: &mut [i64]) -> Result<(), Errno> {
            self.0.lock().unwrap().push((true, now_ns));
            Ok(())
        }

        fn warm_up(&mut self, now_ns: u64) {
            self.0.lock().unwrap().push((false, now_ns));
        }
    }

    /// Whose first readings take long, as if something else had the CPU meanwhile.
    struct Slow {
        long: u32,
        reads: Arc<Mutex<u32>>,
        asks_no_device: bool,
        channels: [Channel; 1],
    }

    impl Source for Slow {
        fn channels(&self) -> &[Channel] {
            &self.channels
        }

        fn read(&mut self, now_ns: u64, values: &mut [i64]) -> Result<(), Errno> {
            let mut reads = self.reads.lock().unwrap();
            *reads += 1;
            values[0] = now_ns as i64;
            if *reads <= self.long {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }

        fn asks_no_device(&self) -> bool {
            self.asks_no_device
        }
    }

    /// How often the source was read for a sample, and how long before its time the value was read.
    fn read_for_a_sample(long: u32, asks_no_device: bool) -> (u32, u64) {
        let reads = Arc::<Mutex<u32>>::default();
        let channels = [Channel { name: "slow".into(), unit: String::new(), scale: 1.0, offset: 0.0 }];
        let (writer, _) = ring::new(8, 1);
        let source = Slow { long, reads: reads.clone(), asks_no_device, channels };
        let mut sampler =
            Sampler::new(&Trigger::Every(1_000_000), Phase::Chance, vec![Box::new(source)], writer).unwrap();
        assert!(matches!(sampler.turn(), Turn::Taken { .. }));
        let reads = *reads.lock().unwrap();
        (reads, sampler.at_ns - sampler.raw[0] as u64)
    }

    #[test]
    fn values_that_are_not_of_their_time_are_read_again() {
        let (reads, before_ns) = read_for_a_sample(2, true);
        // Whatever else runs here may interrupt once more.
        assert!(reads == 3 && before_ns <= INTERRUPTED_NS || reads == 4, "{reads}, {before_ns}");
        // Somebody who interrupts again and again does not hold a sample up for ever, and no device is asked twice.
        assert_eq!((read_for_a_sample(9, true).0, read_for_a_sample(9, false).0), (1 + REPEATS, 1));
    }

    fn noted(period_ns: u64) -> (Sampler, Notes) {
        let all = Notes::default();
        let channel = Channel { name: "noted".into(), unit: String::new(), scale: 1.0, offset: 0.0 };
        let (writer, _) = ring::new(8, 1);
        let sources: Vec<Box<dyn Source>> = vec![Box::new(Noted(all.clone(), [channel]))];
        (Sampler::new(&Trigger::Every(period_ns), Phase::Chance, sources, writer).unwrap(), all)
    }

    #[test]
    fn sources_are_warmed_up_before_a_sample_that_is_far_from_the_last() {
        let (mut sampler, all) = noted(2 * COLD_NS);
        // A sample for which this thread comes late has no time for it.
        let was_before = |deadline_ns: u64| {
            let [.., (false, warm_ns), (true, read_ns)] = all.lock().unwrap()[..] else { return false };
            (warm_ns..=read_ns).contains(&deadline_ns)
        };
        let began = Instant::now();
        loop {
            let Turn::Taken { at_ns, latency_ns, .. } = sampler.turn() else { panic!("no sample") };
            if was_before(at_ns - latency_ns) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{:?}", all.lock().unwrap());
        }
        let reads_alone = |pair: &[(bool, u64)]| pair[0].0 || pair[1].0;
        assert!(all.lock().unwrap().windows(2).all(reads_alone), "one for each sample");
    }

    #[test]
    fn sources_that_are_read_soon_again_are_not_warmed_up() {
        let (mut sampler, all) = noted(COLD_NS / 10);
        (0..50).for_each(|_| assert!(matches!(sampler.turn(), Turn::Taken { .. })));
        let all = all.lock().unwrap();
        assert!(all.len() == 50 && all.iter().all(|(read, _)| *read), "{all:?}");
    }

    #[test]
    fn an_edge_gives_a_sample_and_lost_edges_leave_their_numbers_out() {
        let chip = format!("acquire-edge-{}", std::process::id());
        let line = |line| Name::Sim { chip: chip.clone(), line };
        ontick_gpio::sim::wire(&line(1), &line(2), Default::default()).unwrap();
        let (writer, mut reader) = ring::new(10_000, 1);
        let trigger = Trigger::Edge(line(2), Edges::Rising);
        let mut out = Line::open(&line(1), &Request::output(false)).unwrap();
        let mut sampler =
            Sampler::new(&trigger, Phase::Chance, vec![source::open("wave:sine").unwrap()], writer).unwrap();
        assert!(matches!(sampler.turn(), Turn::Nothing(_)));
        // The first, and then more than a simulated line remembers.
        out.write(true).unwrap();
        assert!(matches!(sampler.turn(), Turn::Taken { missed: 0, .. }));
        sampler.keep();
        out.write(false).unwrap();
        for n in 0..20_000 {
            out.write(n % 2 == 0).unwrap();
        }
        let mut missed_in_all = 0;
        while let Turn::Taken { missed, .. } = sampler.turn() {
            missed_in_all += missed;
            sampler.keep();
        }
        assert!(missed_in_all > 0);
        let mut last = None;
        while let Some(number) = reader.pop(|sample| sample.number) {
            last = Some(number);
        }
        assert_eq!(last, Some(10_000), "the last of ten thousand and one rising edges has its number");
        ontick_gpio::sim::remove(&chip).unwrap();
    }
}
