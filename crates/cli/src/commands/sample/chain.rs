//! Everything behind the ring: the hub and the sinks, on threads that stay off the timed CPU.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

use ontick_acquire::hub::{self, Passed, Stream};
use ontick_acquire::place::Own;
use ontick_acquire::ring::{self, Writer};
use ontick_acquire::sink::{self, Client, Clients, OpenSinks, Sink, Where};
use ontick_acquire::{Channel, Error, Source, Trigger, acquisition};
use ontick_measure::avoid_cpu::AvoidCpu;
use ontick_units::{count, counted};

use super::watching::{Watching, period_ns};

/// Threads that take samples from the ring and hand them on.
pub struct Chain {
    hub: JoinHandle<()>,
    passed: Arc<Passed>,
    clients: Arc<Clients>,
    open: Vec<OpenSinks>,
    channels: Vec<Channel>,
    period_ns: Option<u64>,
    closed: bool,
}

/// What became of all samples.
pub struct End {
    /// What became of samples as it should.
    pub facts: Vec<String>,
    /// What was lost, and by whom.
    pub notes: Vec<String>,
    /// Files, and standard output, that do not have all samples, and why.
    pub incomplete: Vec<String>,
    /// How many samples there were.
    pub handed_on: u64,
}

/// Least and most that a slow reader may be behind, in bytes.
const BACKLOG: (u64, u64) = (4 << 20, 256 << 20);

impl Chain {
    /// Starts hub and sinks; the ring's end for the timed thread comes first.
    pub fn start(
        trigger: &Trigger,
        sources: &[Box<dyn Source>],
        sinks: &[Sink],
        timed_cpu: Option<u32>,
    ) -> Result<(Writer, Self), Error> {
        // Threads begin with the affinity of who starts them.
        let _avoided = timed_cpu.and_then(AvoidCpu::from);
        let channels = acquisition::channels(sources);
        let samples = acquisition::ring_samples(trigger);
        let (ring, reader) = ring::new(samples as usize, channels.len());
        let backlog = (samples * (160 + 32 * channels.len() as u64)).clamp(BACKLOG.0, BACKLOG.1) as usize;
        let (passed, clients) = (Arc::new(Passed::default()), Arc::new(Clients::default()));
        let (mut streams, mut open): (Vec<Arc<Stream>>, Vec<OpenSinks>) = (Vec::new(), Vec::new());
        for sink in sinks {
            let stream = match streams.iter().find(|stream| stream.format == sink.format.carrier()) {
                Some(stream) => stream.clone(),
                None => {
                    let stream = Stream::new(sink.format.carrier(), &channels, backlog);
                    streams.push(stream.clone());
                    stream
                }
            };
            match sink::open(sink, stream, clients.clone()) {
                Ok(one) => open.push(one),
                Err(error) => {
                    open.iter().filter_map(|one| one.file.as_ref()).for_each(|file| file.remove());
                    return Err(error);
                }
            }
        }
        let run = {
            let (passed, channels) = (passed.clone(), channels.clone());
            move || hub::run(reader, &channels, &streams, &passed)
        };
        let hub = std::thread::Builder::new().name("ontick-hub".into()).spawn(run);
        let hub = hub.map_err(|error| Error::System { what: "starting the hub's thread".into(), error })?;
        // Files and standard output come to an end; to a listener or a datagram's address somebody may come.
        let ends = |sink: &Sink| matches!(sink.to, Where::File { .. } | Where::Stdout);
        let closed = !sinks.is_empty() && sinks.iter().all(ends);
        Ok((ring, Self { hub, passed, clients, open, channels, period_ns: period_ns(trigger), closed }))
    }

    /// Where listeners listen.
    pub fn addresses(&self) -> impl Iterator<Item = &String> {
        self.open.iter().flat_map(|open| &open.addresses)
    }

    /// What whoever started them should know.
    pub fn notices(&self) -> impl Iterator<Item = &String> {
        self.open.iter().flat_map(|open| &open.notices)
    }

    /// Files, which stand in the way of the next run where they got no sample.
    pub fn files(&self) -> Vec<Arc<Own>> {
        self.open.iter().filter_map(|one| one.file.clone()).collect()
    }

    /// For the live view.
    pub fn watching(&self) -> Watching {
        Watching {
            passed: self.passed.clone(),
            clients: self.clients.clone(),
            listening: self.addresses().cloned().collect(),
            channel: self.channels.first().cloned(),
            channels: self.channels.len(),
            period_ns: self.period_ns,
            closed: self.closed,
            recent: VecDeque::new(),
        }
    }

    /// Lets everybody take what is left. The ring's writer must be gone.
    pub fn end(self) -> End {
        let _ = self.hub.join();
        OpenSinks::close_all(self.open);
        let passed = &self.passed;
        let counts = format!(
            "{} handed on; {} missed; {} found the ring full, which was never fuller than {:.1} %",
            counted(passed.samples.load(Relaxed), "sample"),
            counted(passed.late.load(Relaxed), "slot"),
            counted(passed.full.load(Relaxed), "sample"),
            passed.ring_peak.load(Relaxed) as f64 / 10.0
        );
        let (clients, handed_on) = (self.clients.all(), passed.samples.load(Relaxed));
        let lost = passed.late.load(Relaxed) > 0 || passed.full.load(Relaxed) > 0;
        let (mut facts, mut notes) = if lost { (Vec::new(), vec![counts]) } else { (vec![counts], Vec::new()) };
        for client in &clients {
            let complete = client.missed.load(Relaxed) == 0 && client.problem().is_none();
            if complete { &mut facts } else { &mut notes }.push(reported(client, handed_on));
        }
        let failed = clients.iter().filter(|client| client.essential && client.problem().is_some());
        End { facts, notes, incomplete: failed.map(|client| reported(client, handed_on)).collect(), handed_on }
    }
}

fn reported(client: &Client, handed_on: u64) -> String {
    let (samples, missed) = (client.samples.load(Relaxed), client.missed.load(Relaxed));
    let missed = if missed > 0 { format!(", was too slow for {}", count(missed)) } else { String::new() };
    let lacks = count(client.behind(handed_on));
    let problem = client.problem().map(|problem| format!(", lacks the last {lacks}: {problem}")).unwrap_or_default();
    format!("{}: {}{missed}{problem}", client.name, counted(samples, "sample"))
}
