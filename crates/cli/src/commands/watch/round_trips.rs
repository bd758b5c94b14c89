//! `--roundtrip`: blocks of round trips over a network beside those of the CPUs.

use std::time::Duration;

use clap::Parser;
use ontick_network::roundtrip::{Monotonic, Port, Requester, Waiting, measure_stretch};
use ontick_tsn::config::show_mac;
use ontick_units::exact;
use ontick_watch::block::RequestError;
use ontick_watch::roundtrip::{Requests, RoundTrip, Trips, Way};

use crate::commands::latency::roundtrip::{RequestFlags, Responder};
use crate::failure::Failure;

/// Whoever does not answer within this is not there; the CPUs wait for it in each round, in ns.
const PATIENCE_NS: u64 = 250_000_000;
/// A block that takes so much longer than its requests is taken up in a later round, as where a name is looked up.
const SLACK: Duration = Duration::from_secs(1);

/// Who is asked, and how.
#[derive(Debug, Clone)]
pub struct RoundTripFlags {
    to: Responder,
    words: Words,
}

/// The options of `latency roundtrip` that a service has, too. To wait asleep costs least.
#[derive(Parser, Debug, Clone)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    requests: RequestFlags,
    #[arg(long, default_value = "block")]
    wait: Waiting,
}

/// Who answers, then options without their dashes, with commas between.
pub fn parse(text: &str) -> Result<RoundTripFlags, String> {
    let why = |failure: Failure| failure.to_string().trim_end_matches(" (see --help)").to_owned();
    RoundTripFlags::parse(text).map_err(why)
}

impl RoundTripFlags {
    fn parse(text: &str) -> Result<Self, Failure> {
        if text.split(',').any(str::is_empty) {
            return Err(Failure::new("a part of it is empty: write it as 192.0.2.7:5000,period=2ms"));
        }
        let mut words = text.split(',');
        let to = words.next().map(|to| format!("--to={to}"));
        let options = words.map(|option| format!("--{option}"));
        let words = Words::try_parse_from(to.into_iter().chain(options)).map_err(|error| Failure::usage(&error))?;
        words.requests.way.check(false)?;
        words.requests.check()?;
        let to = words.requests.way.to.clone().ok_or_else(|| Failure::new("name who answers first"))?;
        Ok(Self { to, words })
    }

    /// The way, as the series is named after it.
    pub fn way(&self) -> Way {
        let requests = &self.words.requests;
        let (link, responder) = match &self.to {
            Responder::Station(address) => (self.interface(), show_mac(*address)),
            Responder::Host(host) => ("UDP".into(), host.clone()),
        };
        Way {
            link,
            responder,
            period_ns: requests.period,
            deadline_ns: requests.deadline_ns(),
            waiting: self.words.wait.to_string(),
            octets: requests.way.size.map(u32::from),
        }
    }

    /// In words.
    pub fn describe(&self, count: u32) -> String {
        format!("{}: {count} round trips {} apart", self.way().name(), exact(self.words.requests.period))
    }

    /// How long so many requests take, in ns.
    pub fn block_ns(&self, count: u32) -> u64 {
        self.words.requests.period.saturating_mul(count.into())
    }

    /// Blocks of so many requests.
    pub fn round_trip(&self, count: u32) -> RoundTrip {
        let limit = Duration::from_nanos(PATIENCE_NS.saturating_add(2 * self.block_ns(count))) + SLACK;
        let (words, way, interface) = (self.words.clone(), self.words.requests.way.clone(), self.interface());
        let requests: Box<dyn Requests> = match self.to.clone() {
            Responder::Host(host) => Box::new(Asker::new(words, count, move || way.open_host(&host))),
            Responder::Station(address) => {
                Box::new(Asker::new(words, count, move || way.open_station(&interface, address)))
            }
        };
        RoundTrip::new(self.way(), requests, limit)
    }

    /// That of frames; empty where they are datagrams.
    fn interface(&self) -> String {
        self.words.requests.way.interface.clone().unwrap_or_default()
    }
}

/// Opens a port when it is needed, and keeps it as long as answers come by it: an interface that went and came back has
/// to be opened anew, and to open one each time would switch the stamps of the whole machine on and off.
struct Asker<P: Port, O> {
    words: Words,
    count: u32,
    open: O,
    port: Option<(P, P::Peer)>,
    is_answered: bool,
}

impl<P: Port, O> Asker<P, O> {
    fn new(words: Words, count: u32, open: O) -> Self {
        Self { words, count, open, port: None, is_answered: false }
    }
}

impl<P: Port + Send, O> Requests for Asker<P, O>
where
    O: FnMut() -> Result<(P, P::Peer), Failure> + Send,
{
    fn prepare(&mut self) -> Result<(), RequestError> {
        if !self.is_answered {
            self.port = None;
            self.port = Some((self.open)().map_err(|failure| failure.to_string())?);
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<Trips, RequestError> {
        let (port, to) = self.port.take().ok_or("no port is open")?;
        let requests = &self.words.requests;
        let job = requests.job(self.words.wait, self.count.into());
        let mut requester = Requester::new(port, to, Monotonic::new(job.waiting, job.period_ns), job);
        let stretch = measure_stretch(&mut requester, PATIENCE_NS);
        self.is_answered = stretch.as_ref().is_ok_and(|stretch| stretch.tally.answered > 0);
        self.port = Some((requester.into_port(), to));
        let stretch = stretch.map_err(|none| requests.explained(&none.to_string()))?;
        let counts = stretch.tally.record(String::new(), String::new(), job.deadline_ns);
        Ok(Trips { round_trips: stretch.round_trips, missed: stretch.missed, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_comes_first_and_options_are_those_of_the_measurement() {
        let flags =
            parse("02:00:00:00:00:01,interface=eth1,priority-code=6,period=2ms,deadline=1ms,wait=hybrid").unwrap();
        let way = flags.way();
        assert_eq!((way.name().as_str(), way.waiting.as_str()), ("eth1 to 02:00:00:00:00:01", "hybrid"));
        assert_eq!((way.period_ns, way.deadline_ns, flags.block_ns(200)), (2_000_000, 1_000_000, 400_000_000));
        let flags = parse("[2001:db8::1]:5000").unwrap();
        assert_eq!(flags.describe(20), "UDP to [2001:db8::1]:5000: 20 round trips 1ms apart");
        assert_eq!((flags.way().waiting.as_str(), flags.way().octets), ("block", None));
        assert_eq!(parse("192.0.2.7:5000,size=1000").unwrap().way().octets, Some(1_000));
    }

    #[test]
    fn what_does_not_fit_is_refused_in_a_sentence() {
        for (text, words) in [
            ("eth1", "\"eth1\" is no address of a station"),
            ("02:00:00:00:00:01", "name the interface that frames to a station leave by"),
            ("192.0.2.7:5000,interface=eth1", "leave out --interface eth1"),
            ("192.0.2.7:5000,udp", "cannot be used with"),
            ("192.0.2.7:5000,respond", "unexpected argument '--respond'"),
            ("192.0.2.7:5000,to=192.0.2.8:5000", "cannot be used multiple times"),
            ("192.0.2.7:5000,period=99us", "the period must be from 100us to 1s"),
            ("192.0.2.7:5000,size=1473", "--size: datagrams carry 36 to 1472 octets, not 1473"),
            ("02:00:00:00:00:01,interface=eth1,size=59", "--size: frames have 60 to 1514 octets, not 59"),
            ("192.0.2.7:5000,", "a part of it is empty"),
            ("", "a part of it is empty"),
        ] {
            let error = parse(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
