//! `ontick latency roundtrip`

mod request_flags;
mod requesting;
mod respond;
mod way;

use std::sync::{Arc, OnceLock};

use clap::Args;
use ontick_measure::timetable::Timetable;
use ontick_measure::{Error, Length, Limits, Observer, Placement, session};
use ontick_network::roundtrip::{
    Cable, Job, Monotonic, Port, Requester, ResponderThread, Station, ThreadPlacement, Waiting,
};
use ontick_record::{Measurement as Kind, Series};
use ontick_rt::thread::ThreadSetup;
use ontick_units::count;

pub use self::request_flags::RequestFlags;
use self::requesting::{Requesting, Summary};
pub use self::way::Responder;
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};
use crate::privileges;

/// Measure the round trip of a cyclic job over a network: a request each period, and the time until its answer is there.
///
/// The time counts from when the request was to be sent until the program has the answer. The other end answers with
/// --respond. Without --interface and --to both ends are on this machine, on two CPUs, joined by virtual Ethernet that is
/// made for the run: no wire is between them. Messages are Ethernet frames, or datagrams with --udp or --to HOST:PORT.
///
/// Exit status: 0 it was measured, 1 not as required, 2 it could not be measured, as where nobody answers.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency roundtrip\n  sudo ontick latency roundtrip --wait block --period 2ms\n  sudo ontick latency roundtrip --interface eth1 --respond\n  sudo ontick latency roundtrip --interface eth1 --to 02:00:00:00:00:01 \\\n      --priority-code 6 --size 1000 --require \"missed = 0\" \\\n      --require \"max < 500us\"\n  sudo ontick latency roundtrip --respond --udp 0.0.0.0:5000\n  sudo ontick latency roundtrip --to 192.0.2.7:5000 --busy-poll 50us",
    mut_arg("duration", |duration| duration.help("How long to send requests, or to answer [default: 10s; with --respond until Ctrl-C]")),
    mut_arg("count", |count| count.help("How many periods to send requests in, instead of a duration")),
)]
pub struct RoundTrip {
    #[command(flatten)]
    requests: RequestFlags,
    /// Answer requests, and measure nothing
    #[arg(long, conflicts_with_all = ["to", "period", "deadline", "priority_code", "vlan", "size", "responder_cpu", "json", "record", "html", "require", "explain", "watch", "count", "junit", "load", "break_trace"])]
    respond: bool,
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
        self.requests.way.check(self.respond)?;
        if self.respond {
            return self.answer();
        }
        self.requests.check()?;
        self.measuring.limits.check_trace()?;
        // Before a cable is laid.
        self.length()?;
        match (&self.requests.way.interface, &self.requests.way.to) {
            (Some(interface), Some(Responder::Station(address))) => {
                let (port, to) = self.requests.way.open_station(interface, *address)?;
                let (link, responder) = (interface.clone(), to.to_string());
                self.measure(Ends { port, to, link, responder, own: None })
            }
            (_, Some(Responder::Host(host))) => {
                let (port, to) = self.requests.way.open_host(host)?;
                self.measure(Ends { port, to, link: "UDP".into(), responder: to.to_string(), own: None })
            }
            (Some(interface), None) => Err(Failure::new(format!(
                "name who answers: --to MAC, which `ontick latency roundtrip --interface IF --respond` shows on the machine at \
                 the other end of {interface}; without --interface both ends are here"
            ))),
            (None, _) => self.measure_here(),
        }
    }

    /// Both ends, in two network namespaces that end with this process.
    fn measure_here(&self) -> Result<Outcome, Failure> {
        let needs = if self.requests.way.is_udp() { privileges::ROUND_TRIP_UDP } else { privileges::ROUND_TRIP };
        needs.require("latency roundtrip")?;
        let placement = self.measuring.placement.placement();
        let asked = self.responder_cpu.map(|cpu| (cpu, "--responder-cpu"));
        let peer = placement.peer(asked, "a round trip whose both ends are on this machine")?;
        let cable = Cable::new().map_err(Failure::new)?;
        let responder = peer.cpu.map_or("a thread".into(), |cpu| format!("a thread on CPU {cpu}"));
        if self.requests.way.is_udp() {
            let ([port, far], to) = cable.open_datagrams().map_err(Failure::new)?;
            self.requests.way.prepare(&port)?;
            self.requests.way.prepare(&far)?;
            self.requests.way.check_datagrams(&port)?;
            let link = format!("UDP over {VETH}");
            return self.measure(Ends { port, to, link, responder, own: Some((far, peer)) });
        }
        let [port, far] = cable.open().map_err(Failure::new)?;
        let to = Station { address: far.address(), tag: self.requests.way.tag() };
        port.check_size(to, self.requests.way.size()).map_err(Failure::new)?;
        self.measure(Ends { port, to, link: VETH.into(), responder, own: Some((far, peer)) })
    }

    /// How many periods, and how long they are together.
    fn length(&self) -> Result<(u64, Limits), Failure> {
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.requests.period)?;
        let count = match limits.length {
            Length::Duration(ns) => ns / self.requests.period,
            Length::Count(count) => count,
        };
        Ok((count, Limits { length: Length::Duration(count.saturating_mul(self.requests.period)), ..limits }))
    }

    fn measure<P: Port + Send + 'static>(&self, ends: Ends<P>) -> Result<Outcome, Failure> {
        let (count, limits) = self.length()?;
        let takes_ns = Timetable::of_series(1, limits, Some(self.requests.period), self.measuring.load());
        let mut asked = Measurement {
            takes_ns,
            ..Measurement::asked(&self.measuring, limits, Kind::RoundTrip, ["round trip".to_string()])
        };
        asked.simulated = ends.own.is_some().then(|| format!("cable: {VETH}"));
        let job = self.requests.job(self.wait, count);
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
                .map_err(|none| none.to_string())
                .map_err(|none| Error::Impossible(if is_own { none } else { self.requests.explained(&none) }))?;
            Ok(Requesting::new(requester, job.waiting.name(), job.period_ns, ended.clone()))
        };
        let placement = self.measuring.placement.placement();
        observer.waits_for_others();
        let series = session::run("round trip", placement, limits, prepare, observer);
        if let Some(thread) = thread {
            let (answered, refused) = thread
                .stop()
                .map_err(|error| Error::Impossible(format!("watching the responder's thread: {error}")))?;
            refused.into_iter().for_each(|what| observer.note(format!("responder: {what}")));
            if answered.overflowed > 0 {
                observer.note(format!("{} requests found no room at the responder", count(answered.overflowed)));
            }
        }
        let mut whole = series?;
        let Some(ended) = ended.get() else { return Ok(vec![whole]) };
        ended.notes().into_iter().for_each(|note| observer.note(note));
        whole.settings.peer_cpu = peer_cpu;
        whole.settings.octets = Some(job.size as u32);
        whole.round_trips = Some(ended.tally.record(link, responder, job.deadline_ns));
        let parts = ended.series(&whole);
        Ok(std::iter::once(whole).chain(parts).collect())
    }
}

/// Where a responder runs.
fn thread_placement(placement: Placement, waiting: Waiting) -> ThreadPlacement {
    ThreadPlacement { setup: placement.setup(), policy: placement.policy, waiting }
}
