//! `ontick latency roundtrip`

mod requesting;
mod respond;
mod way;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, OnceLock};

use clap::Args;
use ontick_measure::timetable::Timetable;
use ontick_measure::{Error, Length, Limits, Observer, Placement, session};
use ontick_network::roundtrip::{
    Cable, DatagramPort, EthernetPort, Job, Monotonic, Port, Requester, ResponderThread, Station, ThreadPlacement,
    Waiting,
};
use ontick_record::run::RoundTrips;
use ontick_record::{Measurement as Kind, Series};
use ontick_rt::thread::ThreadSetup;
use ontick_units::exact;

use self::requesting::{Requesting, Summary};
use self::way::{Responder, WayFlags};
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};

/// Measure the round trip of a cyclic job over a network: a request each period, and the time until its answer is there.
///
/// The time counts from when the request was to be sent until the program has the answer. The other end answers with
/// --respond. Without --interface and --to both ends are on this machine, on two CPUs, joined by virtual Ethernet that is
/// made for the run: no wire is between them. Messages are Ethernet frames, or datagrams with --udp or --to HOST:PORT.
///
/// Exit status: 0 it was measured, 1 not as required, 2 it could not be measured, as where nobody answers.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency roundtrip\n  sudo ontick latency roundtrip --wait block --period 2ms\n  sudo ontick latency roundtrip --interface eth1 --respond\n  sudo ontick latency roundtrip --interface eth1 --to 02:00:00:00:00:01 \\\n      --priority-code 6 --require \"missed = 0\" --require \"max < 500us\"\n  sudo ontick latency roundtrip --respond --udp 0.0.0.0:5000\n  sudo ontick latency roundtrip --to 192.0.2.7:5000 --busy-poll 50us",
    mut_arg("duration", |duration| duration.help("How long to send requests, or to answer [default: 10s; with --respond until Ctrl-C]")),
    mut_arg("count", |count| count.help("How many periods to send requests in, instead of a duration")),
)]
pub struct RoundTrip {
    #[command(flatten)]
    way: WayFlags,
    /// Answer requests, and measure nothing
    #[arg(long, conflicts_with_all = ["to", "period", "deadline", "priority_code", "vlan", "responder_cpu", "json", "record", "html", "require", "explain", "watch", "count", "junit", "load"])]
    respond: bool,
    /// Time between requests, as a time or a rate, from 100us to 1s
    #[arg(long, alias = "interval", value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    period: u64,
    /// An answer is late after this, from when its request was to be sent [default: the period]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    deadline: Option<u64>,
    /// How to wait: hybrid (asleep until shortly before, then looking), spin (looking for nine tenths of the time) or block
    /// (asleep until the kernel wakes it); where both ends are here, at both
    #[arg(long, default_value = "hybrid")]
    wait: Waiting,
    /// CPU of the responder where both ends are here [default: the first other one]
    #[arg(long, value_name = "N", conflicts_with_all = ["interface", "to"])]
    responder_cpu: Option<u32>,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

/// Shortest and longest period, in ns.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=1_000_000_000;
/// Whoever does not answer within this is not there, in ns.
const PATIENCE_NS: u64 = 1_000_000_000;
const VETH: &str = "virtual Ethernet (veth), no wire";

/// The two ends, as far as they are here.
struct Ends<P: Port> {
    port: P,
    to: P::Peer,
    /// By what they are joined, and who answers, in words.
    link: String,
    responder: String,
    /// That of this machine, and where it runs.
    own: Option<(P, Placement)>,
}

impl RoundTrip {
    pub fn run(self) -> Result<Outcome, Failure> {
        self.way.check(self.respond)?;
        if self.respond {
            return self.answer();
        }
        self.check()?;
        match (&self.way.interface, &self.way.to) {
            (Some(interface), Some(Responder::Station(address))) => {
                let port = EthernetPort::open(interface).map_err(Failure::new)?;
                let to = Station { address: *address, tag: self.way.tag() };
                port.check(to).map_err(Failure::new)?;
                let (link, responder) = (interface.clone(), to.to_string());
                self.measure(Ends { port, to, link, responder, own: None })
            }
            (_, Some(Responder::Host(host))) => {
                let to = way::resolve(host)?;
                let port = DatagramPort::connect(to).map_err(Failure::new)?;
                self.way.prepare(&port)?;
                self.measure(Ends { port, to, link: "UDP".into(), responder: to.to_string(), own: None })
            }
            (Some(interface), None) => Err(Failure::new(format!(
                "name who answers: --to MAC, which `ontick latency roundtrip --interface IF --respond` shows on the machine at \
                 the other end of {interface}; without --interface both ends are here"
            ))),
            (None, _) => self.measure_here(),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if !PERIODS_NS.contains(&self.period) {
            let period = exact(self.period);
            return Err(Failure::new(format!("the period must be from 100us to 1s, and {period} is not")));
        }
        match self.deadline {
            Some(0) => Err(Failure::new("a deadline of 0 is over before anything is sent")),
            Some(ns) if ns > self.period => Err(Failure::new(format!(
                "the deadline {} is beyond the period {}: an answer that comes after the next request is missed anyway",
                exact(ns),
                exact(self.period)
            ))),
            _ => Ok(()),
        }
    }

    /// Both ends, in two network namespaces that end with this process.
    fn measure_here(&self) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let peer = placement.peer(self.responder_cpu, "a round trip whose both ends are on this machine")?;
        let cable = Cable::new().map_err(Failure::new)?;
        let responder = peer.cpu.map_or("a thread".into(), |cpu| format!("a thread on CPU {cpu}"));
        if self.way.is_udp() {
            let ([port, far], to) = cable.open_datagrams().map_err(Failure::new)?;
            self.way.prepare(&port)?;
            self.way.prepare(&far)?;
            let link = format!("UDP over {VETH}");
            return self.measure(Ends { port, to, link, responder, own: Some((far, peer)) });
        }
        let [port, far] = cable.open().map_err(Failure::new)?;
        let to = Station { address: far.address(), tag: self.way.tag() };
        self.measure(Ends { port, to, link: VETH.into(), responder, own: Some((far, peer)) })
    }

    /// How many periods, and how long they are together.
    fn length(&self) -> (u64, Limits) {
        let limits = self.measuring.limits.limits();
        let count = match limits.length {
            Length::Duration(ns) => (ns / self.period).max(1),
            Length::Count(count) => count,
        };
        (count, Limits { length: Length::Duration(count.saturating_mul(self.period)), ..limits })
    }

    fn measure<P: Port + Send + 'static>(&self, ends: Ends<P>) -> Result<Outcome, Failure> {
        let (count, limits) = self.length();
        let takes_ns = Timetable::of_series(1, limits, Some(self.period), self.measuring.load());
        let mut asked = Measurement {
            takes_ns,
            ..Measurement::asked(&self.measuring, Kind::RoundTrip, ["round trip".to_string()])
        };
        asked.simulated = ends.own.is_some().then(|| format!("cable: {VETH}"));
        let job = Job {
            period_ns: self.period,
            deadline_ns: self.deadline.unwrap_or(self.period),
            count,
            run: run_number(),
            waiting: self.wait,
        };
        measuring::run(
            asked,
            &self.measuring.output,
            |series| series.round_trips.is_some(),
            |observer| self.measured(ends, job, limits, observer),
        )
    }

    fn measured<P: Port + Send + 'static>(
        &self,
        ends: Ends<P>,
        job: Job,
        limits: Limits,
        observer: &mut Observer,
    ) -> Result<Vec<Series>, Error> {
        let Ends { port, to, link, responder, own } = ends;
        let peer_cpu = own.as_ref().and_then(|(_, peer)| peer.cpu);
        let is_own = own.is_some();
        let thread =
            own.map(|(port, peer)| ResponderThread::start(port, thread_placement(peer, self.wait))).transpose();
        let thread = thread.map_err(|error| Error::Impossible(format!("starting the responder's thread: {error}")))?;
        let ended: Arc<OnceLock<Summary>> = Arc::default();
        let prepare = |_: &ThreadSetup| {
            let time = Monotonic::new(job.waiting, job.period_ns);
            let mut requester = Requester::new(port, to, time, job);
            requester
                .begin(PATIENCE_NS)
                .map_err(|none| Error::Impossible(self.explained(&none.to_string(), is_own)))?;
            Ok(Requesting::new(requester, job.waiting.name(), job.period_ns, ended.clone()))
        };
        let placement = self.measuring.placement.placement();
        let series = session::run("round trip", placement, limits, prepare, observer);
        if let Some(thread) = thread {
            let (answered, refused) = thread
                .stop()
                .map_err(|error| Error::Impossible(format!("watching the responder's thread: {error}")))?;
            refused.into_iter().for_each(|what| observer.note(format!("responder: {what}")));
            if answered.overflowed > 0 {
                observer.note(format!("{} requests found no room at the responder", answered.overflowed));
            }
        }
        let mut whole = series?;
        let Some(ended) = ended.get() else { return Ok(vec![whole]) };
        ended.notes().into_iter().for_each(|note| observer.note(note));
        whole.settings.peer_cpu = peer_cpu;
        whole.round_trips = Some(record_of(ended, link, responder, job.deadline_ns));
        let parts = ended.series(&whole);
        Ok(std::iter::once(whole).chain(parts).collect())
    }

    /// What would mend that nobody answers.
    fn explained(&self, none: &str, is_own: bool) -> String {
        match (&self.way.to, self.way.vlan.unwrap_or(0)) {
            _ if is_own => none.to_owned(),
            (Some(Responder::Host(host)), _) => {
                let port = host.rsplit_once(':').map_or("PORT", |(_, port)| port);
                format!(
                    "{none}: run `ontick latency roundtrip --respond --udp 0.0.0.0:{port}` at the other end first, and see \
                     that what is between lets UDP to this port through"
                )
            }
            (_, vlan) => format!(
                "{none}: run `ontick latency roundtrip --interface IF --respond` at the other end first, and see that \
                 what is between carries frames of EtherType 0x88b6{}",
                if vlan > 0 { " in this VLAN" } else { "" }
            ),
        }
    }
}

/// A number that no other run has, most probably.
fn run_number() -> u32 {
    // The standard library seeds each with chance.
    RandomState::new().build_hasher().finish() as u32
}

/// Where a responder runs.
fn thread_placement(placement: Placement, waiting: Waiting) -> ThreadPlacement {
    ThreadPlacement { setup: placement.setup(), policy: placement.policy, waiting }
}

fn record_of(ended: &Summary, link: String, responder: String, deadline_ns: u64) -> RoundTrips {
    let tally = ended.tally;
    RoundTrips {
        link,
        responder,
        deadline_ns,
        sent: tally.sent,
        answered: tally.answered,
        late: tally.late,
        skipped: tally.skipped,
        refused: tally.refused,
        overdue: tally.overdue,
        duplicates: tally.duplicates,
        out_of_order: tally.out_of_order,
    }
}
