//! A switch and its hosts in network namespaces, flows of its classes through it with gates on and off, and what was
//! found.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ontick_record::Series;
use ontick_record::run::Settings;
use ontick_record::switching::{Lost, Switching, Trial};
use ontick_rt::cpus::claim::{ClaimError, Occupancy, dedicate};
use ontick_rt::thread::{Policy, set_affinity};
use ontick_rt::{cpus, watchdog};

use super::analysis::{Limit, Link};
use super::flow::{self, Flow, Nonce};
use super::guard_band;
use super::namespace::NamespaceError;
use super::offered::OfferedLoad;
use super::sender::Offer;
use super::shaping::{self, Shaper};
use super::testbed::{self, HOST, Testbed};
use super::trial::{self, TrialError, TrialProgress, TrialSpec};
use super::under_test::{Bridge, KernelPlane, KernelPlaneError, Outside, UnderTest, UserPlane, UserPlaneError};
use crate::apply::SwitchDir;
use crate::ethtool;
use crate::user::CorePlacement;
use crate::user::open::OpenError;
use crate::user::packet::{PacketPort, PacketReader, Stamps};
use ontick_tsn::model::{Base, Gates, Switch};
use ontick_tsn::schedule::{self, Schedule};
use ontick_tsn::wire::{self, LARGEST_SDU};

/// Cycles begin so long after everything is set up, at least, in ns.
const SET_UP_NS: u64 = 200_000_000;
/// Frames that the receiver's ring holds: 64 MB, and a third of a second at 100 000 frames a second.
const RING: u32 = 32_768;
/// Rates of virtual Ethernet are whatever one likes; this is what a port without one has.
const RATE: u64 = 1_000_000_000;
/// Drivers of links that take no time.
const VIRTUAL: [&str; 2] = ["veth", "tun"];
/// A way through the switch opens within this, or is taken as it is.
const PATIENCE: Duration = Duration::from_secs(3);

/// What carries the frames.
#[derive(Debug, Clone)]
pub enum Carrier {
    /// The kernel where it can, else a dedicated core.
    Auto(CorePlacement),
    /// The kernel's bridge, classifier and taprio.
    Kernel,
    /// A dedicated core.
    User(CorePlacement),
    /// The kernel's bridge without gates, whatever the configuration says.
    Bridge,
    /// A switch that is at work already, on this machine or another: frames go to it by one interface of this machine
    /// and come back by another.
    Outside {
        /// Frames go out by this interface.
        send: String,
        /// And come back by this one.
        receive: String,
        /// Where what is known of the switch lies, if it is one of this machine.
        folder: Option<SwitchDir>,
    },
}

impl Carrier {
    /// Where a dedicated core would run.
    pub fn place(&self) -> Option<CorePlacement> {
        match self {
            Carrier::Auto(place) | Carrier::User(place) => Some(*place),
            Carrier::Kernel | Carrier::Bridge | Carrier::Outside { .. } => None,
        }
    }
}

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

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// A namespace or something in it could not be made.
    #[error("{0}")]
    Namespace(#[from] NamespaceError),
    /// A port could not be opened.
    #[error("{0}")]
    Port(#[from] OpenError),
    /// The user data plane could not be started.
    #[error("{0}")]
    User(#[from] UserPlaneError),
    /// The kernel's data plane could not be set up.
    #[error("{0}")]
    Kernel(#[from] KernelPlaneError),
    /// A trial failed.
    #[error("{0}")]
    Trial(#[from] TrialError),
    /// The port that frames leave by has neither gates nor shaped classes.
    #[error(
        "port {0} has neither gates nor an idle-slope, so there is nothing to hold arrivals against: name one that has"
    )]
    NothingToHold(String),
    /// No class can have a flow.
    #[error("no class can be tested from outside: {0}")]
    NoFlows(String),
    /// When the cycles of a switch that runs already began is not known.
    #[error(
        "port {0}: `next second` does not tell when cycles began that do not divide a second: give its gates a base time"
    )]
    NoBase(String),
    /// Frames cannot go in where they come out.
    #[error("frames cannot go in and come out by the same port ({0})")]
    SamePort(String),
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
        let (from, to) = self.ports;
        let switch = &self.switch;
        let port = &switch.ports[to];
        let has_gates = port.gates.is_some();
        let gates_list = match &port.gates {
            Some(gates) => gates,
            None if port.is_shaped() => &shaping::always_open(),
            None => return Err(ProofError::NothingToHold(port.name.clone())),
        };
        if from == to {
            return Err(ProofError::SamePort(port.name.clone()));
        }
        let rate = self.rate(to);
        let entries = gates_list.entries.clone();
        let (flows, mut notes) = self.flows()?;
        let mut facts = self.smaller_frames(&flows);
        let slopes: Vec<Option<u64>> =
            flows.iter().map(|flow| port.idle_slopes.get(flow.class).copied().flatten()).collect();
        let rates = self.offered.rates(&flows, &slopes, &Schedule::new(0, &entries), rate);
        let offers: Vec<Offer> = flows.into_iter().zip(rates).map(|(flow, rate)| Offer { flow, rate }).collect();

        let mut switching = Switching {
            name: switch.name.clone(),
            from: switch.ports[from].name.clone(),
            to: switch.ports[to].name.clone(),
            rate,
            clock: switch.clock.name().into(),
            cycle_ns: gates_list.cycle_ns,
            guard_ns: self.guard_ns,
            closed_ns: schedule::guard_ns(gates_list.guard, LARGEST_SDU, rate),
            ..Switching::default()
        };
        let gated = has_gates && !matches!(self.carrier, Carrier::Bridge);
        // Gates elsewhere are not ours to open.
        let compared = gated && !matches!(self.carrier, Carrier::Outside { .. });
        let mut frames = String::new();
        let trials = [(gated, self.duration_ns), (false, if compared { self.without_gates_ns } else { 0 })];
        for (gates, duration_ns) in trials.into_iter().filter(|(_, duration_ns)| *duration_ns > 0) {
            if stop.load(Relaxed) {
                break;
            }
            let base_ns = self.base_ns(gates_list)?;
            let spec = TrialSpec {
                name: match (has_gates, gates) {
                    (true, true) => "gates on",
                    (true, false) => "gates off",
                    (false, _) if matches!(self.carrier, Carrier::Bridge) => "not shaped",
                    (false, _) => "shaped",
                }
                .into(),
                gates,
                offers: offers.clone(),
                schedule: Schedule::new(base_ns, &entries),
                limits: Vec::new(),
                clock: crate::clock::id(switch.clock),
                duration_ns,
                guard_ns: self.guard_ns,
                modelled_rate: None,
                link_rate: None,
                log_frames: self.log_frames,
                bins: self.bins,
                kept_cycles: self.kept_cycles,
                ports: self.ports,
            };
            let (outcome, carried) = match &self.carrier {
                Carrier::Outside { send, receive, folder } => {
                    let under_test = Outside::new(switch, folder.clone());
                    self.try_outside(spec.clone(), (send, receive), under_test, stop, look)?
                }
                _ => self.try_out(spec.clone(), base_ns, stop, look)?,
            };
            if switching.trials.is_empty() {
                let PlaneNotes { plane, about, note } = carried;
                facts.extend(note);
                (switching.plane, switching.about) = (plane.into(), about);
                switching.stamps = stamps(outcome.stamps).into();
                switching.link = link(outcome.link);
            }
            let flows: Vec<Flow> = offers.iter().map(|offer| offer.flow.clone()).collect();
            frames += &outcome.log.table(&spec.name, &flows, |class| switch.classes[class].name.clone());
            notes.extend(outcome.notes.into_iter().map(|note| format!("{}: {note}", spec.name)));
            if spec.gates && switching.plane == "kernel" {
                let closed_ns = schedule::guard_ns(gates_list.guard, LARGEST_SDU, rate);
                notes.extend(guard_band::advice(&outcome.trial, closed_ns, self.guard_ns));
            }
            switching.trials.push(outcome.trial);
        }
        let series = switching.judged().map(|trial| self.series(&switching, trial)).unwrap_or_default();
        Ok(Proven { switching, series, notes, facts, frames })
    }

    /// One trial in a scene of its own, so that nothing of the one before is in it.
    fn try_out(
        &self,
        mut spec: TrialSpec,
        base_ns: u64,
        stop: &AtomicBool,
        look: &mut ProgressFn,
    ) -> Result<(trial::Outcome, PlaneNotes), ProofError> {
        let mut switch = self.switch.clone();
        for (place, port) in switch.ports.iter_mut().enumerate() {
            port.rate = Some(self.rate(place));
            match &mut port.gates {
                Some(gates) if spec.gates => gates.base = Base::At(base_ns),
                gates => *gates = None,
            }
        }
        let names: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
        let scene = Testbed::new(&names)?;
        let (mut under_test, note) = self.set_up(&switch, &scene)?;
        let open = |port: usize| scene.hosts[port].within(|| PacketPort::open(HOST, 256));
        let (mut sender, mut receiver) = (open(spec.ports.0)??, open(spec.ports.1)??);
        let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
        // Gates on the way back may let none through: then the switch floods, which shows in its counters.
        trial::announce(&flows, &mut receiver, &mut sender, PATIENCE);
        drop(receiver);
        let reader = scene.hosts[spec.ports.1].within(|| PacketReader::open(HOST, RING, Stamps::Software))??;
        spec.limits = self.limits(&switch, &spec, under_test.as_ref());
        let mut look = |moment: TrialProgress| look(&spec.name, moment);
        let cable = || testbed::dropped(&scene.hosts[spec.ports.0], HOST);
        // The kernel's planes count what the far end did not take.
        let counts_itself = under_test.plane() != "user";
        let far = || testbed::not_received(&scene.hosts[spec.ports.1], HOST);
        let (before, before_far) = (cable()?, far()?);
        spec.modelled_rate = Some(match counts_itself {
            false => self.rate(spec.ports.1),
            // taprio takes a frame to be as long as the interface's rate makes it.
            true => scene.switch.within(|| ethtool::rate(names[spec.ports.1]))?.unwrap_or(self.rate(spec.ports.1)),
        });
        let mut outcome = trial::run(&switch, &spec, &mut sender, reader, under_test.as_mut(), stop, &mut look)?;
        // What the sender knows to be lost is not among the frames sent.
        let lost = (cable()? - before).saturating_sub(outcome.trial.sum(|class| class.refused));
        if lost > 0 {
            let place = format!("cable to port {}", names[spec.ports.0]);
            outcome.trial.elsewhere.push(Lost { place, frames: lost });
        }
        let lost = far()? - before_far;
        if lost > 0 && !counts_itself {
            let place = format!("cable from port {}", names[spec.ports.1]);
            outcome.trial.elsewhere.push(Lost { place, frames: lost });
        }
        Ok((outcome, PlaneNotes { plane: under_test.plane(), about: under_test.about(), note }))
    }

    /// One trial through a switch that is at work already.
    fn try_outside(
        &self,
        mut spec: TrialSpec,
        (send, receive): (&str, &str),
        mut under_test: Outside,
        stop: &AtomicBool,
        look: &mut ProgressFn,
    ) -> Result<(trial::Outcome, PlaneNotes), ProofError> {
        let (mut sender, mut receiver) = (PacketPort::open(send, 256)?, PacketPort::open(receive, 256)?);
        let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
        trial::announce(&flows, &mut receiver, &mut sender, PATIENCE);
        drop(receiver);
        let reader = PacketReader::open(receive, RING, Stamps::Hardware)?;
        let mut look = |moment: TrialProgress| look(&spec.name, moment);
        let rate = self.rate(spec.ports.1);
        if ethtool::driver(receive).is_some_and(|driver| VIRTUAL.contains(&driver.as_str())) {
            spec.modelled_rate = Some(rate);
        }
        spec.limits = self.limits(&self.switch, &spec, &under_test);
        spec.link_rate = Some(ethtool::rate(receive).unwrap_or(rate));
        let outcome = trial::run(&self.switch, &spec, &mut sender, reader, &mut under_test, stop, &mut look)?;
        let note = (outcome.stamps == Stamps::Hardware).then(|| {
            format!("arrivals are stamped by the clock of {receive}, which is taken for TAI (linuxptp keeps it so)")
        });
        let about = format!("{}, by {send} and back by {receive}", under_test.about());
        Ok((outcome, PlaneNotes { plane: under_test.plane(), about, note }))
    }

    /// What the shaped class of each flow is held to.
    fn limits(&self, switch: &Switch, spec: &TrialSpec, under_test: &dyn UnderTest) -> Vec<Option<Limit>> {
        let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
        let terms = (self.rate(spec.ports.1), spec.schedule.base_ns());
        let early_ns = spec.guard_ns + under_test.longest_rest_ns();
        Shaper::of(under_test.plane()).limits(switch, &switch.ports[spec.ports.1], terms, &flows, early_ns)
    }

    /// What carries the frames, and what must be said about that.
    fn set_up<'a>(
        &self,
        switch: &Switch,
        scene: &'a Testbed,
    ) -> Result<(Box<dyn UnderTest + 'a>, Option<String>), ProofError> {
        let here = &scene.switch;
        let user = |place| -> Result<Box<dyn UnderTest + 'a>, ProofError> {
            Ok(Box::new(UserPlane::start(switch, here, place)?))
        };
        Ok(match &self.carrier {
            Carrier::Outside { .. } => unreachable!("it is not set up here"),
            Carrier::Bridge => {
                let names: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
                (Box::new(Bridge::new(here, &names, switch.classes.len())?), None)
            }
            Carrier::Kernel => (Box::new(KernelPlane::start(switch, here)?), None),
            Carrier::User(place) => (user(*place)?, None),
            Carrier::Auto(place) => match KernelPlane::start(switch, here) {
                Ok(kernel) => (Box::new(kernel), None),
                // Nothing was changed yet.
                Err(KernelPlaneError::Cannot(_)) => {
                    let note = "a dedicated core carries the frames, as the kernel cannot here (ask for the kernel data plane to learn why)";
                    (user(*place)?, Some(note.into()))
                }
                Err(failed) => return Err(failed.into()),
            },
        })
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

    /// The flows, and why some classes have none.
    fn flows(&self) -> Result<(Vec<Flow>, Vec<String>), ProofError> {
        let size = |class: usize| self.largest(class).map_or(self.size, |largest| self.size.min(largest));
        let (flows, not) = flow::of_all_classes(&self.switch, size, Nonce::new());
        let wanted = |flow: &Flow| self.classes.is_empty() || self.classes.contains(&flow.class);
        let flows: Vec<Flow> = flows.into_iter().filter(wanted).collect();
        let notes: Vec<String> = not.iter().map(|why| format!("not tested: {why}")).collect();
        if flows.is_empty() { Err(ProofError::NoFlows(notes.join("; "))) } else { Ok((flows, notes)) }
    }

    /// Octets of the largest untagged frame of a class that the port sends, check sequence included.
    fn largest(&self, class: usize) -> Option<u32> {
        let sdu = self.switch.ports[self.ports.1].max_sdu.get(class).copied().flatten()?;
        Some(wire::frame_octets(sdu + wire::HEADER))
    }

    /// Which classes have smaller frames than were asked for.
    fn smaller_frames(&self, flows: &[Flow]) -> Vec<String> {
        let smaller = |flow: &Flow| {
            let largest = self.largest(flow.class).filter(|largest| *largest < self.size)?;
            let name = &self.switch.classes[flow.class].name;
            Some(format!("{name}: frames of {largest} octets, as its max-sdu allows no larger ones"))
        };
        flows.iter().filter_map(smaller).collect()
    }

    fn series(&self, switching: &Switching, trial: &Trial) -> Vec<Series> {
        let place = self.carrier.place().filter(|_| switching.plane == "user");
        let settings = Settings {
            interval_ns: switching.cycle_ns,
            cpu: place.and_then(|place| place.cpu),
            policy: place.map_or(String::new(), |place| place.policy.to_string()),
            clock: switching.clock.clone(),
            ..Settings::default()
        };
        let of = |class: &ontick_record::switching::Class| Series {
            name: class.name.clone(),
            settings: settings.clone(),
            latency: class.first.clone(),
            ..Series::default()
        };
        trial.classes.iter().map(of).collect()
    }
}

/// Where the user data plane runs: on `cpu`, the CPU that the configuration names, or as [`spinning`] chooses.
pub fn place(switch: &Switch, cpu: Option<u32>) -> CorePlacement {
    spinning(cpu.or(switch.cpus.first().copied()))
}

/// Where the cores of a switch run: on the CPUs that the configuration names, or one as [`spinning`] chooses.
pub fn places(switch: &Switch) -> Vec<CorePlacement> {
    match switch.cpus.as_slice() {
        [] | [_] => vec![place(switch, None)],
        several => several.iter().map(|cpu| spinning(Some(*cpu))).collect(),
    }
}

/// Where a core runs that keeps its CPU: on this one, or the one that suits best of those that no other process holds, which
/// is this process's from here on. Where it cannot have one for itself, it is an ordinary thread on one that is left.
pub fn spinning(cpu: Option<u32>) -> CorePlacement {
    let spinning = |cpu| CorePlacement { cpu: Some(cpu), policy: Policy::Fifo(99), never_rest: false };
    let ordinary = |cpu| CorePlacement { cpu, policy: Policy::Other, never_rest: false };
    if watchdog::may_occupy(cpus::online().len()).is_err() {
        return ordinary(None);
    }
    match cpu.map_or_else(dedicated, Ok) {
        Ok(cpu) => spinning(cpu),
        Err(_) => ordinary(Some(cpus::preferred())),
    }
}

/// Kept until the process ends: the core is started later.
fn dedicated() -> Result<u32, ClaimError> {
    dedicate(Occupancy::Spins).map(|(choice, claim)| {
        claim.keep();
        choice.cpu
    })
}

/// How frames were taken to be on the link, in words.
fn link(link: Link) -> String {
    let bits = |rate: u64| match rate {
        rate if rate >= 1_000_000_000 => format!("{} Gb/s", rate as f64 / 1e9),
        rate => format!("{} Mb/s", rate as f64 / 1e6),
    };
    match link {
        Link::Modelled(rate) => format!("modelled at {}", bits(rate)),
        Link::Stamped(rate) => format!("real, at {}", bits(rate)),
        Link::Unknown => String::new(),
    }
}

fn stamps(stamps: Stamps) -> &'static str {
    match stamps {
        Stamps::Software => "kernel",
        Stamps::Hardware => "hardware",
    }
}
