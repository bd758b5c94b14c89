//! Which station of a network this machine is, and by what it is connected.

use std::path::PathBuf;

use clap::Args;
use ontick_network::endpoint::{self, BaseTimeError};
use ontick_tsn::network::{Network, NodeId};

use crate::failure::Failure;

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

    /// The interface of each of its cables, as they are named.
    pub fn interfaces(&self) -> &[String] {
        &self.interface
    }
}

/// When cycles begin: what is asked for, or the next whole second, in ns of TAI.
pub fn base_ns(asked: Option<u64>, periods: impl Iterator<Item = u64> + Clone) -> Result<u64, Failure> {
    endpoint::base_ns(asked, periods).map_err(|error| match error {
        BaseTimeError::Odd(_) => Failure::new(format!("{error} (--base-time)")),
        other => Failure::new(other),
    })
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
    fn a_stream_with_a_file() {
        assert!("a=".parse::<Payload>().is_err() && "a=b".parse::<Payload>().is_ok());
    }
}
