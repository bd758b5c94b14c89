//! A switch and its hosts in network namespaces, flows of its classes through it with gates on and off, and what was
//! found.

mod carrier;
mod error;
mod flows;
mod in_namespaces;
mod outside;
mod record;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ontick_record::Series;
use ontick_record::switching::Switching;
use ontick_rt::cpus;
use ontick_rt::thread::set_affinity;

use super::analysis::Limit;
use super::flow::Flow;
use super::guard_band;
use super::offered::OfferedLoad;
use super::sender::Offer;
use super::shaping::{self, Shaper};
use super::trial::{TrialProgress, TrialSpec};
use super::under_test::{Outside, UnderTest};
use crate::user::CorePlacement;
use ontick_tsn::model::{Base, Gates, Switch};
use ontick_tsn::schedule::Schedule;

pub use carrier::Carrier;
pub use error::ProofError;

/// Cycles begin so long after everything is set up, at least, in ns.
const SET_UP_NS: u64 = 200_000_000;
/// Frames that the receiver's ring holds: 64 MB, and a third of a second at 100 000 frames a second.
const RING: u32 = 32_768;
/// Rates of virtual Ethernet are whatever one likes; this is what a port without one has.
const RATE: u64 = 1_000_000_000;
/// A way through the switch opens within this, or is taken as it is.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is to be proven.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The switch.
    pub switch: Switch,
    /// The port where flows go in, and the one where they come out: places in the switch's ports.
    pub ports: (usize, usize),
    /// Who carries the frames.
    pub carrier: Carrier,
    /// Flows of these classes (places in the switch's classes); of all that can have one if there are none.
    pub classes: Vec<usize>,
    /// How many frames.
    pub offered: OfferedLoad,
    /// Size of an untagged frame with its check sequence.
    pub size: u32,
    /// For how long frames are sent, in ns.
    pub duration_ns: u64,
    /// And for how long with all gates open, to compare; 0: not at all.
    pub without_gates_ns: u64,
    /// So much before its window a frame may begin, and after it end, in ns.
    pub guard_ns: u64,
    /// Whether to list every frame that arrived.
    pub log_frames: bool,
    /// Into how many parts the cycle is divided in the record.
    pub bins: usize,
    /// For how many cycles arrivals are kept one by one.
    pub kept_cycles: u32,
}

/// What was found.
#[derive(Debug)]
pub struct Proven {
    /// The switch and its trials.
    pub switching: Switching,
    /// For each class, how long after its gate's opening the first frame came.
    pub series: Vec<Series>,
    /// Sentences that a reader must see beside the figures.
    pub notes: Vec<String>,
    /// Sentences that a reader may want, and that need no attention.
    pub facts: Vec<String>,
    /// Every frame that arrived ([`super::frame_log`]), where that was asked for.
    pub frames: String,
}

/// What carried the frames, and what must be said about that.
struct PlaneNotes {
    plane: &'static str,
    about: String,
    note: Option<String>,
}

/// What is shown while it goes on: which trial, and how far it is.
pub type ProgressFn<'a> = dyn FnMut(&str, TrialProgress) + Send + 'a;

impl Proof {
    /// Carries it out, in namespaces that are gone afterwards unless the switch is outside. `stop` ends it with what was
    /// found so far.
    pub fn carry_out(&self, stop: &AtomicBool, look: &mut ProgressFn) -> Result<Proven, ProofError> {
        // The CPU of the switch is left to it, by this thread and all that it starts.
        let work = || {
            self.leave_alone();
            self.all_trials(stop, look)
        };
        let done = std::thread::scope(|scope| scope.spawn(work).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn leave_alone(&self) {
        let Some(CorePlacement { cpu: Some(cpu), .. }) = self.carrier.place() else { return };
        let others: Vec<u32> = cpus::allowed().into_iter().filter(|other| *other != cpu).collect();
        if !others.is_empty() {
            // Not allowed everywhere, and not essential.
            let _ = set_affinity(&others);
        }
    }

    fn all_trials(&self, stop: &AtomicBool, look: &mut ProgressFn) -> Result<Proven, ProofError> {
        let gates = self.gates()?;
        let (from, to) = self.ports;
        if from == to {
            return Err(ProofError::SamePort(self.switch.ports[to].name.clone()));
        }
        let (flows, mut notes) = self.flows()?;
        let mut facts = self.smaller_frames(&flows);
        let offers = self.offers(&flows, &gates);
        let mut switching = self.nothing_found_yet(&gates);
        let mut frames = String::new();
        for (gated, duration_ns) in self.trials() {
            if stop.load(Relaxed) {
                break;
            }
            let base_ns = self.base_ns(&gates)?;
            let spec = self.spec(gated, duration_ns, &offers, Schedule::new(base_ns, &gates.entries));
            let (outcome, carried) = match &self.carrier {
                Carrier::Outside { send, receive, folder } => {
                    let under_test = Outside::new(&self.switch, folder.clone());
                    self.try_outside(spec.clone(), (send, receive), under_test, stop, look)?
                }
                _ => self.try_out(spec.clone(), base_ns, stop, look)?,
            };
            if switching.trials.is_empty() {
                let PlaneNotes { plane, about, note } = carried;
                facts.extend(note);
                (switching.plane, switching.about) = (plane.into(), about);
                switching.stamps = record::stamps(outcome.stamps).into();
                switching.link = record::link(outcome.link);
            }
            frames += &outcome.log.table(&spec.name, &flows, |class| self.switch.classes[class].name.clone());
            notes.extend(outcome.notes.into_iter().map(|note| format!("{}: {note}", spec.name)));
            if spec.gates && switching.plane == "kernel" {
                notes.extend(guard_band::advice(&outcome.trial, switching.closed_ns, self.guard_ns));
            }
            switching.trials.push(outcome.trial);
        }
        let series = switching.judged().map(|trial| self.series(&switching, trial)).unwrap_or_default();
        Ok(Proven { switching, series, notes, facts, frames })
    }

    /// What arrivals are held against: the gates of the port that frames leave by.
    fn gates(&self) -> Result<Gates, ProofError> {
        let port = &self.switch.ports[self.ports.1];
        match &port.gates {
            Some(gates) => Ok(gates.clone()),
            None if port.is_shaped() => Ok(shaping::always_open()),
            None => Err(ProofError::NothingToHold(port.name.clone())),
        }
    }

    fn has_gates(&self) -> bool {
        self.switch.ports[self.ports.1].gates.is_some()
    }

    /// Whether gates are on in each trial, and for how long it sends.
    fn trials(&self) -> impl Iterator<Item = (bool, u64)> + use<> {
        let gated = self.has_gates() && !matches!(self.carrier, Carrier::Bridge);
        // Gates elsewhere are not ours to open.
        let compared = gated && !matches!(self.carrier, Carrier::Outside { .. });
        let trials = [(gated, self.duration_ns), (false, if compared { self.without_gates_ns } else { 0 })];
        trials.into_iter().filter(|(_, duration_ns)| *duration_ns > 0)
    }

    fn spec(&self, gates: bool, duration_ns: u64, offers: &[Offer], schedule: Schedule) -> TrialSpec {
        let name = match (self.has_gates(), gates) {
            (true, true) => "gates on",
            (true, false) => "gates off",
            (false, _) if matches!(self.carrier, Carrier::Bridge) => "not shaped",
            (false, _) => "shaped",
        };
        TrialSpec {
            name: name.into(),
            gates,
            offers: offers.to_vec(),
            schedule,
            limits: Vec::new(),
            clock: crate::clock::id(self.switch.clock),
            duration_ns,
            guard_ns: self.guard_ns,
            modelled_rate: None,
            link_rate: None,
            log_frames: self.log_frames,
            bins: self.bins,
            kept_cycles: self.kept_cycles,
            ports: self.ports,
        }
    }

    /// What the shaped class of each flow is held to.
    fn limits(&self, switch: &Switch, spec: &TrialSpec, under_test: &dyn UnderTest) -> Vec<Option<Limit>> {
        let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
        let terms = (self.rate(spec.ports.1), spec.schedule.base_ns());
        let early_ns = spec.guard_ns + under_test.longest_rest_ns();
        Shaper::of(under_test.plane()).limits(switch, &switch.ports[spec.ports.1], terms, &flows, early_ns)
    }

    /// When cycles begin: as the port's gates say, once all is set up.
    fn base_ns(&self, gates: &Gates) -> Result<u64, ProofError> {
        const SECOND: u64 = 1_000_000_000;
        let now_ns = crate::clock::now_ns(self.switch.clock);
        match (gates.base, &self.carrier) {
            (Base::At(ns), _) => Ok(ns),
            // It began with some whole second, and so with this one.
            (Base::NextSecond, Carrier::Outside { .. }) if SECOND % gates.cycle_ns == 0 => Ok(now_ns / SECOND * SECOND),
            (Base::NextSecond, Carrier::Outside { .. }) => {
                Err(ProofError::NoBase(self.switch.ports[self.ports.1].name.clone()))
            }
            (Base::NextSecond, _) => Ok((now_ns + SET_UP_NS).next_multiple_of(SECOND)),
        }
    }

    fn rate(&self, port: usize) -> u64 {
        self.switch.ports[port].rate.unwrap_or(RATE)
    }
}
