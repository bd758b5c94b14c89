//! Sampling as a measurement: the sampler on the timed thread, its lateness recorded as any other.

use std::sync::{Arc, OnceLock};

use ontick_acquire::acquisition::quietest_phase;
use ontick_acquire::rest::{Demands, Rests};
use ontick_acquire::ring::Writer;
use ontick_acquire::{Sampler, Source, Trigger, Turn};
use ontick_measure::Error;
use ontick_measure::clock_readings::Timing;
use ontick_measure::probe::{Probe, Sample};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::phase;
use rustix::io::Errno;

/// Sources, and what they were asked for as.
pub struct Named {
    pub all: Vec<Box<dyn Source>>,
    pub names: Vec<String>,
    /// Set when one of them, or the trigger's line, is gone: which, and what it answered.
    pub gone: Arc<OnceLock<String>>,
}

/// When the timed thread leaves its CPU to others: how that is found out, and what came of it.
pub struct Resting {
    pub demands: Demands,
    pub rests: Arc<OnceLock<Rests>>,
}

pub struct Acquiring {
    sampler: Sampler,
    trigger: Trigger,
    names: Vec<String>,
    gone: Arc<OnceLock<String>>,
    failed: Option<(Option<usize>, Errno)>,
}

impl Acquiring {
    /// Call it on the timed thread.
    pub fn new(trigger: &Trigger, sources: Named, ring: Writer, resting: Resting) -> Result<Self, Error> {
        let sampler = Sampler::new(trigger, quietest_phase(trigger), sources.all, ring);
        let sampler = sampler.map_err(|error| Error::Impossible(error.to_string()))?;
        let (sampler, rests) = sampler.resting_on(resting.demands);
        let _ = resting.rests.set(rests);
        Ok(Self { sampler, trigger: trigger.clone(), names: sources.names, gone: sources.gone, failed: None })
    }
}

impl Probe for Acquiring {
    fn next(&mut self) -> Sample {
        let nothing = |now_ns| Sample { now_ns, latency_ns: None, missed: 0, early_ns: 0, napped: true };
        match self.sampler.turn() {
            Turn::Taken { at_ns, latency_ns, missed } => {
                Sample { now_ns: at_ns, latency_ns: Some(latency_ns), missed, early_ns: 0, napped: false }
            }
            Turn::Nothing(now_ns) => nothing(now_ns),
            Turn::Failed { source, errno } => {
                self.failed = Some((source, errno));
                nothing(ClockId::Monotonic.now_ns())
            }
        }
    }

    fn may_practise(&self) -> bool {
        matches!(self.trigger, Trigger::Every(_))
    }

    fn recorded(&mut self) {
        self.sampler.keep();
    }

    fn failure(&mut self) -> Option<Error> {
        let (source, errno) = self.failed?;
        let what = match (source.and_then(|index| self.names.get(index)), &self.trigger) {
            (Some(name), _) => format!("source {name}"),
            (None, Trigger::Edge(line, _)) => format!("trigger line {line}"),
            (None, Trigger::Every(_)) => "the clock".into(),
        };
        let why = format!("{what}: {}", std::io::Error::from(errno));
        let _ = self.gone.set(why.clone());
        Some(Error::Impossible(why))
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(self.sampler.clock())
    }

    fn timing(&self) -> Timing {
        match self.trigger {
            Trigger::Every(_) => Timing::Deadline,
            Trigger::Edge(..) => Timing::Between,
        }
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.clock = ClockId::Monotonic.name().into();
        match &self.trigger {
            Trigger::Every(period_ns) => {
                settings.method = "hybrid".into();
                settings.interval_ns = *period_ns;
                settings.phase_ns = self.sampler.phase_ns();
                settings.phase_choice = if *period_ns <= phase::LONGEST_SCANNED_NS { "auto" } else { "chance" }.into();
            }
            Trigger::Edge(name, edges) => {
                settings.method = format!("{edges} edges");
                settings.watched_line = Some(name.to_string());
            }
        }
    }
}
