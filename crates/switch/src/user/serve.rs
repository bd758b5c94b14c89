//! The user data plane on real ports: opened, watched, closed again when they vanish and opened when they return.

mod change;
mod event;
mod interfaces;
mod ports;
mod report;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

use super::core::{Command, Stall};
use super::either::EitherPort;
use super::latent_errors::LatentErrors;
use super::loop_guard::{Action, LoopGuard};
use super::open::OpenError;
use super::placement::CorePlacement;
use super::running::{Running, StartError, Stopped};
use super::settings::Settings;
use crate::apply::{Live, SwitchDir};
use crate::link::{self, Watch};
use crate::loops;
use ontick_record::date;
use ontick_tsn::model::{GateOverride, Switch};
use ports::{OpenPorts, Watched};

pub use change::ChangeError;
pub use event::ServiceEvent;
pub use ports::USUAL_RATE;
pub use report::{PortReport, Report};

/// Frames that an interface does not take are reported so often at most.
const AGAIN: Duration = Duration::from_secs(60);

/// Why it cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A port cannot be used.
    #[error(transparent)]
    Port(#[from] OpenError),
    /// The core was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Ports cannot be watched.
    #[error("the interfaces cannot be watched: {0}")]
    Watch(#[from] io::Error),
    /// It would make a loop.
    #[error("{0}")]
    Loop(loops::Loop),
}

/// A data plane at work on the machine's ports.
pub struct Service {
    switch: Switch,
    places: Vec<CorePlacement>,
    running: Running<EitherPort>,
    watch: Watch,
    ports: Vec<Watched>,
    guard: LoopGuard,
    latent_errors: LatentErrors,
    began: Instant,
    /// In UTC.
    counting_since: String,
    base_ns: u64,
    forced: Option<GateOverride>,
    settings: Option<Settings<Live>>,
    /// When interfaces were last tried that are there and not open.
    tried: Instant,
}

impl Service {
    /// Opens the ports in the calling thread's network namespace and begins. Steps of [`super::plan`] come before.
    pub fn start(switch: &Switch, place: CorePlacement) -> Result<Self, ServeError> {
        let mut one = Self::start_together(std::slice::from_ref(switch), &[place])?;
        Ok(one.swap_remove(0))
    }

    /// Several switches whose work the core does by turns; several cores share out the ports of each. Where one of the
    /// switches is stopped, all are.
    pub fn start_together(switches: &[Switch], places: &[CorePlacement]) -> Result<Vec<Self>, ServeError> {
        let mut opened = switches.iter().map(OpenPorts::new).collect::<Result<Vec<_>, _>>()?;
        let begun = switches.iter().zip(&opened).map(|(switch, opened)| switch.with_stream_gates_at(opened.base_ns));
        let begun: Vec<Switch> = begun.collect();
        let attachments = opened.iter_mut().map(|opened| std::mem::take(&mut opened.attachments));
        let planes = begun.iter().zip(attachments).collect();
        let running = Running::start_together(planes, places)?;
        let services = switches.iter().zip(opened).zip(running);
        Ok(services.map(|((switch, opened), running)| Self::new(switch, places, opened, running)).collect())
    }

    fn new(switch: &Switch, places: &[CorePlacement], opened: OpenPorts, mut running: Running<EitherPort>) -> Self {
        let OpenPorts { watch, ports, base_ns, .. } = opened;
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| !port.link) {
            let _ = running.send(Command::Link(index, false));
        }
        let guard = LoopGuard::new(ports.len(), Duration::ZERO, RandomState::new().hash_one(0));
        let mut service = Self {
            switch: switch.clone(),
            places: places[..running.spread().cores()].to_vec(),
            running,
            watch,
            ports,
            guard,
            latent_errors: LatentErrors::new(switch),
            began: Instant::now(),
            counting_since: date::now(),
            base_ns,
            forced: None,
            settings: None,
            tried: Instant::now(),
        };
        (0..service.ports.len()).for_each(|at| service.look_ahead(at));
        service
    }

    /// From now on the settings of the ports are kept, too; the folder has the journal of what was set.
    pub fn keep_settings(&mut self, folder: &SwitchDir) {
        self.settings = Some(Settings::new(Live, folder.clone()));
    }

    /// Looks after everything for about so long, and reports what happened.
    pub fn service(&mut self, at_most: Duration) -> io::Result<Vec<ServiceEvent>> {
        let mut happened = Vec::new();
        let until = Instant::now() + at_most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.watch.next(left)? {
                Some(link::Event::Link { index, name, change }) => happened.extend(self.changed(index, &name, &change)),
                // What was lost is followed by what it amounts to.
                Some(_) => {}
                None => break,
            }
        }
        happened.extend(self.running.service().into_iter().map(ServiceEvent::Core));
        happened.extend(self.look_for_loops());
        happened.extend(self.look_for_refused());
        happened.extend(self.look_for_latent_errors());
        happened.extend(self.look_at_settings());
        happened.extend(self.try_again());
        Ok(happened)
    }

    /// Stalls of the core since this was last asked.
    pub fn stalls(&mut self) -> impl Iterator<Item = Stall> {
        self.running.stalls()
    }

    /// The first core's thread, as the kernel numbers it.
    pub fn tid(&self) -> i32 {
        self.running.tid()
    }

    /// How far the switch's clock is from the monotonic one, in ns.
    pub fn distance_ns(&self) -> i64 {
        self.running.distance_ns()
    }

    /// What the gates are in place of their lists.
    pub fn forced(&self) -> Option<GateOverride> {
        self.forced
    }

    /// Opens or closes the gates of all ports at once; nothing has them follow their lists again. Gates that are changed
    /// meanwhile are those that they come back to.
    pub fn force(&mut self, forced: Option<GateOverride>) -> Result<(), ChangeError> {
        let commands = self.running.to_each(|| Command::Force(forced));
        if !self.running.send_all(commands) {
            return Err(ChangeError::Busy);
        }
        self.forced = forced;
        Ok(())
    }

    /// Ends it, and closes the ports.
    pub fn stop(self) -> Stopped {
        self.running.stop()
    }

    /// What another program changed at the ports is put back.
    fn look_at_settings(&mut self) -> Vec<ServiceEvent> {
        let Some(settings) = &mut self.settings else { return Vec::new() };
        let named = self.switch.ports.iter().zip(&self.ports);
        let open: Vec<(&str, u32)> =
            named.filter_map(|(port, watched)| Some((port.name.as_str(), watched.index?))).collect();
        let mut happened = Vec::new();
        for done in settings.service(&open) {
            let Some(at) = self.switch.ports.iter().position(|port| port.name == done.port) else { continue };
            self.ports[at].put_back += 1;
            // One who insists gets no line every second.
            if self.ports[at].said.replace(done.what.clone()).as_ref() != Some(&done.what) {
                happened.push(ServiceEvent::Changed(done.port, done.what));
            }
        }
        happened
    }

    /// Frames that interfaces do not take are reported at once, and then now and then.
    fn look_for_refused(&mut self) -> Vec<ServiceEvent> {
        let counters = self.running.counters().clone();
        let mut happened = Vec::new();
        for (at, counters) in counters.ports.iter().enumerate() {
            let (before, reported) = self.ports[at].refused;
            let refused = counters.queues.iter().map(|queue| queue.refused.get()).sum();
            if refused == before || reported.is_some_and(|reported| reported.elapsed() < AGAIN) {
                continue;
            }
            self.ports[at].refused = (refused, Some(Instant::now()));
            let name = self.switch.ports[at].name.clone();
            happened.push(ServiceEvent::Refused(name, refused - before, counters.refused_octets.get()));
        }
        happened
    }

    /// Streams of which a path is missing.
    fn look_for_latent_errors(&mut self) -> Vec<ServiceEvent> {
        let found = self.latent_errors.look(self.began.elapsed(), &self.running.counters().streams.all());
        let event = |(stream, missing): (usize, i64)| {
            ServiceEvent::LatentError(self.switch.streams[stream].name.clone(), missing)
        };
        found.into_iter().map(event).collect()
    }

    fn look_for_loops(&mut self) -> Vec<ServiceEvent> {
        let counters = self.running.counters();
        let looped: Vec<u64> = counters.ports.iter().map(|port| port.looped.get()).collect();
        let moved = counters.addresses_moved.get();
        let actions = self.guard.poll(self.began.elapsed(), &looped, moved);
        actions.into_iter().filter_map(|action| self.take_action(action)).collect()
    }

    fn take_action(&mut self, action: Action) -> Option<ServiceEvent> {
        let name = |at: usize| self.switch.ports[at].name.clone();
        match action {
            Action::Probe => {
                let commands = self.running.to_each(|| Command::Probe);
                let _ = self.running.send_all(commands);
                None
            }
            Action::Close(at) => {
                let _ = self.running.send(Command::Close(at, true));
                Some(ServiceEvent::Loop(name(at)))
            }
            Action::Reopen(at) => {
                let _ = self.running.send(Command::Close(at, false));
                let _ = self.running.send(Command::Link(at, self.ports[at].link));
                Some(ServiceEvent::Reopened(name(at)))
            }
        }
    }
}
