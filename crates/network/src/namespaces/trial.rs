//! One run of the network: its switches served, its streams sent, and what came.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_switch::user::packet::{PacketReader, PacketSender, Stamps};
use ontick_switch::verify::testbed;
use ontick_tsn::model::Switch;
use ontick_tsn::network::{Kind, LinkId, Network, NodeId};
use ontick_tsn::planning::Timetable;
use ontick_tsn::validate::Schedule;

use super::carrier::Carried;
use super::silence::Silence;
use super::testbed::Testbed;
use super::{NamespacesError, Options, Planned, soon_ns};
use crate::arrivals::Expected;
use crate::endpoint::{
    Incoming, Job, Listener, Outgoing, Outlet, Reader, Talked, TalkerThread, fingerprint, incoming, outgoing,
};
use crate::passed::Passed;
use crate::switches::{models, out_of};

/// Frames that a station's ring holds: 32 MiB.
const RING: u32 = 16_384;
/// Whoever runs is looked after this often.
const LOOK: Duration = Duration::from_millis(40);

/// Which gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gates {
    /// All open, always.
    Open,
    /// Those of the plan. A message is late that comes so much after its deadline for each switch on its way, in ns.
    Planned { late_ns: u64 },
}

/// What is run.
pub(super) struct Trial<'a> {
    pub network: &'a Network,
    pub table: &'a Timetable,
    pub schedule: &'a Schedule,
    pub bed: &'a Testbed,
    pub options: &'a Options,
    /// Arrivals of a stretch of this length are kept, in ns.
    pub trace_ns: u64,
}

/// What came of it.
pub(super) struct Findings {
    /// By interface that streams come to.
    pub listeners: Vec<Listener>,
    /// By stream of the network: messages that left, that the kernel did not take, and that were left out.
    pub counts: Vec<(u64, u64, u64)>,
    pub talked: Talked,
    /// Frames that were lost and counted, by where or why.
    pub dropped: Vec<(String, u64)>,
    /// How often the core was held up, and the longest time, in ns.
    pub stalls: (u64, u64),
    /// How the core runs: in words, and its policy.
    pub about: String,
    pub policy: Option<String>,
    /// For how long messages were sent, in ns.
    pub sent_ns: u64,
    pub notes: Vec<String>,
    /// By link, what was kept to be drawn.
    pub passed: Vec<Vec<Passed>>,
}

impl<'a> Trial<'a> {
    pub fn new(planned: &'a Planned, bed: &'a Testbed, options: &'a Options) -> Self {
        let Planned { network, table, schedule, trace_ns } = planned;
        Self { network, table, schedule, bed, options, trace_ns: *trace_ns }
    }

    pub fn run(
        &self,
        gates: Gates,
        duration_ns: u64,
        stop: &AtomicBool,
        look: &mut (dyn FnMut(f64) + Send),
    ) -> Result<Findings, NamespacesError> {
        let (network, bed) = (self.network, self.bed);
        // The plan's times repeat, so it does not matter when the first cycle was.
        let base_ns = soon_ns();
        let switches = self.switches(gates, base_ns)?;
        let mut carried = Carried::start(self.options.carrier, &switches, bed)?;
        let cables_before = self.lost_at_cables()?;
        let mut listening = self.listeners(gates)?;
        let (job, streams) = self.job(base_ns, duration_ns)?;
        let mut talkers = TalkerThread::start(job, self.options.talkers)?;
        let (from_ns, until_ns) = talkers.span_ns();
        let traced_ns = self.traced_ns(gates, base_ns, from_ns);
        listening = listening.into_iter().map(|(reader, of)| (reader, of.keeping(traced_ns.0, traced_ns.1))).collect();
        let (ended, came, mut notes) = (AtomicBool::new(false), AtomicBool::new(false), Vec::new());
        let (talked, sent_ns) = std::thread::scope(|scope| {
            let (came, ended) = (&came, &ended);
            let threads: Vec<_> =
                listening.iter_mut().map(|(reader, of)| scope.spawn(move || listen(reader, of, came, ended))).collect();
            let mut service = |notes: &mut Vec<String>| {
                notes.extend(carried.service().filter(|note| !notes.contains(note)));
                std::thread::sleep(LOOK);
                carried.turns()
            };
            while !talkers.is_finished() && !stop.load(Relaxed) {
                service(&mut notes);
                let passed_ns = ontick_rt::clock::ClockId::Tai.now_ns().saturating_sub(from_ns);
                look((passed_ns as f64 / duration_ns.max(1) as f64).min(1.0));
            }
            let talked = talkers.stop();
            let sent_ns = ontick_rt::clock::ClockId::Tai.now_ns().clamp(from_ns, until_ns) - from_ns;
            let mut silence = Silence::begin(Instant::now());
            while !silence.is_end(Instant::now()) {
                let turns = service(&mut notes);
                silence.look(Instant::now(), came.swap(false, Relaxed), turns);
            }
            ended.store(true, Relaxed);
            for thread in threads {
                thread.join().expect("a listener does not panic").map_err(NamespacesError::Receive)?;
            }
            Ok::<_, NamespacesError>((talked.map_err(crate::endpoint::RunError::from)?, sent_ns))
        })?;
        let listeners: Vec<Listener> = listening.into_iter().map(|(_, of)| of).collect();
        let mut lost: Vec<(String, u64)> = Vec::new();
        let overflowed: u64 = listeners.iter().map(|of| of.strays().overflowed).sum();
        let cables = self.lost_at_cables()?.saturating_sub(cables_before);
        let (stalls, about, policy) = (carried.stalls(), carried.about(), carried.policy());
        notes.extend(carried.refused());
        lost.extend(carried.stop()?);
        lost.extend([("at a cable".to_owned(), cables), ("ring of a listener".to_owned(), overflowed)]);
        lost.retain(|(_, frames)| *frames > 0);
        let mut counts = vec![(0, 0, 0); network.streams.len()];
        streams.iter().zip(&talked.counts).for_each(|(stream, of)| counts[*stream] = *of);
        let passed = self.passed(&listeners, traced_ns.0);
        Ok(Findings { passed, listeners, counts, talked, dropped: lost, stalls, about, policy, sent_ns, notes })
    }

    /// The stretch of which arrivals are kept: the first whole one after the talkers began.
    fn traced_ns(&self, gates: Gates, base_ns: u64, from_ns: u64) -> (u64, u64) {
        let trace_ns = self.trace_ns;
        if gates == Gates::Open || trace_ns == 0 {
            return (0, 0);
        }
        let begin_ns = base_ns + from_ns.saturating_sub(base_ns).div_ceil(trace_ns) * trace_ns;
        (begin_ns, begin_ns + trace_ns)
    }

    /// The switches' models, on the interfaces of the testbed.
    fn switches(&self, gates: Gates, base_ns: u64) -> Result<Vec<(NodeId, Switch)>, NamespacesError> {
        let models = models(self.network, self.schedule, self.options.carrier.form(base_ns))?;
        let nodes = self.network.nodes.iter().enumerate().zip(models);
        let switch = |((node, of), model): ((NodeId, &ontick_tsn::network::Node), Option<Switch>)| {
            let mut model = model.filter(|_| of.kind == Kind::Switch)?;
            for (port, link) in model.ports.iter_mut().zip(out_of(self.network, node)) {
                port.name = self.bed.interface(link).to_owned();
                if gates == Gates::Open {
                    port.gates = None;
                }
            }
            Some((node, model))
        };
        Ok(nodes.filter_map(switch).collect())
    }

    /// What all stations send, and which stream each of that is.
    fn job(&self, base_ns: u64, duration_ns: u64) -> Result<(Job, Vec<usize>), NamespacesError> {
        let (mut streams, mut outlets): (Vec<Outgoing>, Vec<Outlet>) = (Vec::new(), Vec::new());
        for node in self.stations() {
            let (out, mut places) = (out_of(self.network, node), Vec::new());
            places.resize(out.len(), None);
            for mut of in outgoing(self.network, self.schedule, node) {
                for port in &mut of.ports {
                    let place = match places[*port] {
                        Some(place) => place,
                        None => {
                            let (name, namespace) = (self.bed.interface(out[*port]), self.bed.namespace(node));
                            outlets.push(Outlet::Packet(namespace.within(|| PacketSender::open(name))??));
                            *places[*port].insert(outlets.len() - 1)
                        }
                    };
                    *port = place;
                }
                streams.push(of);
            }
        }
        let of = streams.iter().map(|of| of.stream).collect();
        let from_ns = soon_ns();
        let plan = fingerprint(self.network, self.schedule);
        let until_ns = from_ns + duration_ns;
        Ok((Job { streams, payloads: Vec::new(), outlets, base_ns, from_ns, until_ns, plan }, of))
    }

    /// For each interface that streams come to, who takes them.
    fn listeners(&self, gates: Gates) -> Result<Vec<(Reader, Listener)>, NamespacesError> {
        let plan = fingerprint(self.network, self.schedule);
        let mut all = Vec::new();
        for node in self.stations() {
            let mut links: Vec<LinkId> = Vec::new();
            let streams = incoming(self.network, self.table, self.schedule, node);
            streams.iter().for_each(|of| {
                if !links.contains(&of.way.link) {
                    links.push(of.way.link)
                }
            });
            for link in links {
                let own = streams.iter().filter(|of| of.way.link == link);
                let own: Vec<Incoming> = own.map(|of| self.held(of, gates)).collect();
                let Some(back) = self.network.reverse(link) else { continue };
                let (name, namespace) = (self.bed.interface(back), self.bed.namespace(node));
                let reader = namespace.within(|| PacketReader::open(name, RING, Stamps::Software))??;
                all.push((Reader::new(reader), Listener::new(own, plan)));
            }
        }
        Ok(all)
    }

    /// What a listener holds a stream against here.
    fn held(&self, of: &Incoming, gates: Gates) -> Incoming {
        let guard_ns = self.options.guard_ns;
        let around = |(from_ns, until_ns): (u64, u64)| (from_ns.saturating_sub(guard_ns), until_ns + guard_ns);
        let expected = match gates {
            Gates::Open => Expected { window_ns: None, ..of.expected },
            Gates::Planned { late_ns } => Expected {
                deadline_ns: of.expected.deadline_ns + late_ns * switches_on(of),
                window_ns: of.expected.window_ns.map(around),
                ..of.expected
            },
        };
        Incoming { expected, ..of.clone() }
    }

    /// What came to listeners, on the links that it came by, for as long as it would be on them.
    fn passed(&self, listeners: &[Listener], from_ns: u64) -> Vec<Vec<Passed>> {
        let mut passed = vec![Vec::new(); self.network.links.len()];
        for listener in listeners {
            for (place, at_ns) in listener.kept() {
                let of = &listener.streams()[*place];
                let time_ns = self.network.message_time(of.expected.stream, of.way.link).first_ns;
                let begin_ns = at_ns - from_ns;
                let stream = Some(of.expected.stream as u32);
                passed[of.way.link].push(Passed { stream, begin_ns, end_ns: begin_ns + time_ns });
            }
        }
        passed
    }

    fn stations(&self) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = self.network.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.kind == Kind::Station).map(|(node, _)| node)
    }

    /// Frames that the far ends of the stations' and the switches' cables had no room for, so far.
    fn lost_at_cables(&self) -> Result<u64, NamespacesError> {
        let mut lost = 0;
        for (link, of) in self.network.links.iter().enumerate() {
            lost += testbed::dropped(self.bed.namespace(of.from), self.bed.interface(link))?;
        }
        Ok(lost)
    }
}

/// Switches on a stream's way.
pub(super) fn switches_on(of: &Incoming) -> u64 {
    u64::from(of.way.links.saturating_sub(1))
}

/// Takes what comes until it is told that nothing will.
fn listen(reader: &mut Reader, listener: &mut Listener, came: &AtomicBool, ended: &AtomicBool) -> std::io::Result<()> {
    loop {
        // Asked before the ring is: what came before it was set is in the ring then.
        let over = ended.load(Relaxed);
        if reader.take(listener, |_| {}) > 0 {
            came.store(true, Relaxed);
        } else if over {
            break;
        }
        reader.wait_for_many(listener, Duration::from_millis(20))?;
    }
    reader.count_overflowed(listener);
    Ok(())
}
