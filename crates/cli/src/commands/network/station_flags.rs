//! Which station of a network this machine is, and by what it is connected.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ontick_network::endpoint;
use ontick_rt::clock::ClockId;
use ontick_tsn::network::{LinkId, Network, NodeId};

use crate::failure::Failure;

/// A base time is at least so far ahead: all must be ready by then, in ns.
const LEAD_NS: u64 = 1_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The station.
#[derive(Args)]
pub struct StationFlags {
    /// The station of the network that this machine is
    #[arg(long, value_name = "NAME")]
    station: String,
    /// The interface of its cable; of a station with several cables one for each, in the order of the file (repeatable)
    #[arg(long, value_name = "IF")]
    interface: Vec<String>,
}

impl StationFlags {
    /// Its node.
    pub fn node(&self, network: &Network) -> Result<NodeId, Failure> {
        endpoint::station(network, &self.station).map_err(Failure::new)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.station
    }

    /// The interface of each of its cables (by the links that leave it).
    pub fn interfaces(&self, network: &Network, node: NodeId) -> Result<Vec<(LinkId, &str)>, Failure> {
        let links: Vec<LinkId> = (0..network.links.len()).filter(|link| network.links[*link].from == node).collect();
        if links.len() != self.interface.len() {
            let cables: Vec<String> = links.iter().map(|link| network.link_name(*link)).collect();
            return Err(Failure::new(format!(
                "station {} has {} {} ({}), and --interface names {}: name one for each, in this order",
                self.station,
                links.len(),
                if links.len() == 1 { "cable" } else { "cables" },
                cables.join(", "),
                self.interface.len()
            )));
        }
        Ok(links.into_iter().zip(self.interface.iter().map(String::as_str)).collect())
    }

    /// Whether no interface is named.
    pub fn has_no_interface(&self) -> bool {
        self.interface.is_empty()
    }
}

/// When cycles begin: what is asked for, or the next whole second, in ns of TAI.
pub fn base_ns(asked: Option<u64>, periods: impl Iterator<Item = u64> + Clone) -> Result<u64, Failure> {
    let now_ns = ClockId::Tai.now_ns();
    match asked {
        Some(ns) if ns > now_ns => Ok(ns),
        Some(ns) => {
            let next = next_ns(ns, now_ns + LEAD_NS, periods);
            let hint = next.map_or(String::new(), |next| format!(" (the same schedule begins anew at {next})"));
            Err(Failure::new(format!(
                "the base time {ns} was {} ago: name one that is to come, in ns of TAI{hint}",
                ontick_units::show(now_ns - ns)
            )))
        }
        None => match periods.clone().find(|period_ns| SECOND_NS % period_ns != 0) {
            None => Ok((now_ns + LEAD_NS).next_multiple_of(SECOND_NS)),
            Some(odd) => Err(Failure::new(format!(
                "a period of {} does not divide a second, so \"the next second\" is another moment on each station; name one \
                 with --base-time, in ns of TAI",
                ontick_units::exact(odd)
            ))),
        },
    }
}

/// The first time from `from_ns` on that is a whole number of all periods after `base_ns`; none where that takes ages.
fn next_ns(base_ns: u64, from_ns: u64, mut periods: impl Iterator<Item = u64>) -> Option<u64> {
    let lcm = |all: u64, period: u64| (all / gcd(all, period)).checked_mul(period).filter(|ns| *ns < 1_000 * SECOND_NS);
    let all = periods.try_fold(1, lcm)?;
    Some(base_ns + from_ns.saturating_sub(base_ns).div_ceil(all) * all)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// `STREAM=ADDRESS:PORT`.
#[derive(Debug, Clone)]
pub struct Datagrams {
    pub stream: String,
    pub to: SocketAddr,
}

impl std::str::FromStr for Datagrams {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no stream and address: write STREAM=ADDRESS:PORT, as in setpoint=192.0.2.7:5000");
        let (stream, to) = text.split_once('=').ok_or_else(wrong)?;
        Ok(Self { stream: stream.into(), to: to.parse().map_err(|_| wrong())? })
    }
}

/// `STREAM=FILE`.
#[derive(Debug, Clone)]
pub struct Payload {
    pub stream: String,
    pub file: PathBuf,
}

impl std::str::FromStr for Payload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no stream and file: write STREAM=FILE");
        let (stream, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or_else(wrong)?;
        Ok(Self { stream: stream.into(), file: file.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_time_that_is_over_is_refused_with_the_next_that_fits() {
        assert_eq!(next_ns(1_000, 5_500, [1_000, 2_000].into_iter()), Some(7_000));
        assert_eq!(next_ns(9_000, 5_500, [1_000].into_iter()), Some(9_000));
        // 999 983 and 1 000 003 ms have nothing in common.
        assert_eq!(next_ns(0, 1, [999_983_000_000, 1_000_003_000_000].into_iter()), None);
        let past = base_ns(Some(1_000_000_000), [4_000_000].into_iter()).unwrap_err().to_string();
        assert!(past.starts_with("the base time 1000000000 was ") && past.contains("begins anew at"), "{past}");
        let ahead_ns = ClockId::Tai.now_ns() + 60 * SECOND_NS;
        assert_eq!(base_ns(Some(ahead_ns), [4_000_000].into_iter()).unwrap(), ahead_ns);
    }

    #[test]
    fn without_a_base_time_cycles_begin_with_a_second() {
        let base = base_ns(None, [4_000_000].into_iter()).unwrap();
        assert!(base % SECOND_NS == 0 && base >= ClockId::Tai.now_ns() + LEAD_NS / 2);
        let odd = base_ns(None, [4_000_000, 3_000_000].into_iter()).unwrap_err().to_string();
        assert!(odd.starts_with("a period of 3ms does not divide a second"), "{odd}");
    }

    #[test]
    fn streams_with_an_address_or_a_file() {
        let datagrams: Datagrams = "a=[::1]:5000".parse().unwrap();
        assert_eq!((datagrams.stream.as_str(), datagrams.to.port()), ("a", 5000));
        assert!("a=1.2.3.4".parse::<Datagrams>().is_err() && "a".parse::<Datagrams>().is_err());
        assert!("a=".parse::<Payload>().is_err() && "a=b".parse::<Payload>().is_ok());
    }
}
