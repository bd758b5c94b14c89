//! A talker that is part of a program: it sends on a thread of its own what the program last gave it.

use ontick_rt::cpus;
use ontick_rt::cpus::claim::{Claim, Occupancy, claim, dedicate};
use ontick_rt::thread::Policy;
use ontick_rt::timed_section::SectionCpu;
use ontick_switch::user::CorePlacement;

use super::base_time::base_ns;
use super::error::EndpointError;
use super::payload::{PayloadWriter, payloads};
use super::planned::{Outgoing, fingerprint, outgoing};
use super::run::{Job, RunError, Talked, TalkerThread};
use super::station::StationFiles;
use super::talker::SendError;
use super::ways_out::{WayOutError, WaysOut};

/// How it is to talk.
#[derive(Debug, Clone)]
pub struct TalkerOptions {
    /// By what frames leave.
    pub ways: WaysOut,
    /// When the first periods begin, in ns of TAI; by default with a whole second, about a second from now.
    pub base_ns: Option<u64>,
    /// Where its thread runs.
    pub cpu: SectionCpu,
    /// Its scheduling.
    pub policy: Policy,
}

/// A stream that it sends.
#[derive(Debug)]
pub struct TalkerStream {
    /// What the plan has of it.
    pub planned: Outgoing,
    payload: PayloadWriter,
}

/// A talker: it is opened, begins, and ends. Between the two it sends each message of its streams at its time.
#[derive(Debug)]
pub struct StationTalker {
    station: String,
    streams: Vec<TalkerStream>,
    base_ns: u64,
    cpu: SectionCpu,
    policy: Policy,
    without_link: Vec<String>,
    /// Of the ways out.
    refused: Vec<String>,
    state: State,
}

#[derive(Debug)]
enum State {
    Opened(Job),
    Begun(TalkerThread),
    Ended(Talked),
}

/// The thread's CPU, whether it is this process's own, and why not.
struct Chosen {
    cpu: Option<u32>,
    held: Option<Claim>,
    refused: Vec<String>,
}

impl StationTalker {
    /// Reads the files and opens what frames leave by, in the calling thread's network namespace. Nothing is sent yet.
    pub fn open(files: &StationFiles, options: &TalkerOptions) -> Result<Self, EndpointError> {
        let (planned, node) = files.read()?;
        let network = &planned.network;
        let mut streams = outgoing(network, &planned.schedule, node);
        if streams.is_empty() {
            return Err(EndpointError::SendsNothing(files.station.clone()));
        }
        if let SectionCpu::One(cpu) = options.cpu {
            is_online(cpu)?;
        }
        let base_ns = base_ns(options.base_ns, streams.iter().map(|of| of.period_ns))?;
        let outlets = options.ways.open(network, node, &mut streams)?;
        let (writers, readers): (Vec<_>, Vec<_>) = streams.iter().map(|of| payloads(of.room())).unzip();
        let own = streams.iter().cloned().zip(writers);
        let own = own.map(|(planned, payload)| TalkerStream { planned, payload }).collect();
        let job = Job {
            streams,
            payloads: readers,
            outlets: outlets.all,
            base_ns,
            // What is over when it begins is none that is left out.
            from_ns: 0,
            until_ns: u64::MAX,
            plan: fingerprint(network, &planned.schedule),
        };
        Ok(Self {
            station: files.station.clone(),
            streams: own,
            base_ns,
            cpu: options.cpu,
            policy: options.policy,
            without_link: outlets.without_link,
            refused: outlets.refused,
            state: State::Opened(job),
        })
    }

    /// The streams that it sends.
    pub fn streams(&self) -> &[TalkerStream] {
        &self.streams
    }

    /// When the first periods begin, in ns of TAI.
    pub fn base_ns(&self) -> u64 {
        self.base_ns
    }

    /// Interfaces that had no link when it was opened.
    pub fn without_link(&self) -> &[String] {
        &self.without_link
    }

    /// A stream's place among those that it sends.
    pub fn place(&self, stream: &str) -> Result<usize, EndpointError> {
        let place = self.streams.iter().position(|of| of.planned.name == stream);
        place.ok_or_else(|| {
            let streams = self.streams.iter().map(|of| of.planned.name.clone()).collect();
            let (station, name) = (self.station.clone(), stream.into());
            WayOutError::NoStream { station, name, streams }.into()
        })
    }

    /// What the next message of a stream carries, and those after it until there is something newer. It is taken shortly
    /// before the message leaves.
    pub fn set_payload(&mut self, stream: usize, payload: &[u8]) -> Result<(), EndpointError> {
        let streams = self.streams.len();
        let of = self.streams.get_mut(stream).ok_or(SendError::NoStream { stream, streams })?;
        let room = of.payload.room();
        if payload.len() > room {
            let (name, payload) = (of.planned.name.clone(), payload.len());
            return Err(SendError::TooLong { name, payload, room }.into());
        }
        of.payload.put(payload);
        Ok(())
    }

    /// Starts the thread that sends. Returned is what the system refused of its set-up and of the ways out: it sends all the
    /// same, but may be later than it should.
    pub fn begin(&mut self) -> Result<Vec<String>, EndpointError> {
        if !matches!(self.state, State::Opened(_)) {
            return Err(EndpointError::Begun);
        }
        let Chosen { cpu, held, mut refused } = self.chosen_cpu()?;
        let nothing = self.nothing();
        let State::Opened(job) = std::mem::replace(&mut self.state, nothing) else {
            return Err(EndpointError::Begun);
        };
        let place = CorePlacement { cpu, policy: self.policy, never_rest: false };
        let mut thread = TalkerThread::start_on(job, place, held)?;
        refused.extend_from_slice(thread.refused());
        refused.append(&mut self.refused);
        self.state = State::Begun(thread);
        Ok(refused)
    }

    fn chosen_cpu(&self) -> Result<Chosen, RunError> {
        let cpu = if let SectionCpu::One(cpu) = self.cpu { Some(cpu) } else { None };
        let chosen = Chosen { cpu, held: None, refused: Vec::new() };
        if !self.policy.is_real_time() {
            return Ok(chosen);
        }
        match self.cpu {
            SectionCpu::Keep => Ok(chosen),
            SectionCpu::One(cpu) => Ok(Chosen { held: Some(claim(cpu, Occupancy::Rests)?), ..chosen }),
            SectionCpu::Auto => Ok(match dedicate(Occupancy::Rests) {
                Ok((choice, claim)) => Chosen { cpu: Some(choice.cpu), held: Some(claim), ..chosen },
                Err(held) => Chosen { refused: vec![held.to_string()], ..chosen },
            }),
        }
    }

    /// What it did so far. After the end: what it did.
    pub fn talked(&self) -> Talked {
        match &self.state {
            State::Opened(job) => nothing(job.streams.len()),
            State::Begun(thread) => thread.talked(),
            State::Ended(talked) => talked.clone(),
        }
    }

    fn nothing(&self) -> State {
        State::Ended(nothing(self.streams.len()))
    }

    /// Ends the thread, which takes up to 20 ms: nothing is sent afterwards. Once more does nothing.
    pub fn end(&mut self) -> Result<(), EndpointError> {
        let nothing = self.nothing();
        match std::mem::replace(&mut self.state, nothing) {
            State::Begun(thread) => self.state = State::Ended(thread.stop().map_err(RunError::from)?),
            State::Ended(talked) => self.state = State::Ended(talked),
            State::Opened(_) => {}
        }
        Ok(())
    }
}

impl Drop for StationTalker {
    fn drop(&mut self) {
        // Nobody is there to hear of it.
        let _ = self.end();
    }
}

/// Of so many streams.
fn nothing(streams: usize) -> Talked {
    Talked { counts: vec![(0, 0, 0); streams], ..Talked::default() }
}

pub(super) fn is_online(cpu: u32) -> Result<(), EndpointError> {
    let online = cpus::online();
    match online.contains(&cpu) {
        true => Ok(()),
        false => {
            let online = online.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            Err(EndpointError::NotOnline { cpu, online })
        }
    }
}
