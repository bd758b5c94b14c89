//! Where a sampler offers its samples, as its own sinks are written.

use std::fmt;
use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ontick_acquire::sink::{Sink, Where};

/// Who does not answer within this time is not there.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// No read takes longer, so that it is noticed when nobody wants to know any more.
const READ_WITHIN: Duration = Duration::from_millis(500);

/// A sampler's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `unix:/run/sensor.sock`
    Unix(PathBuf),
    /// `tcp:127.0.0.1:5000`, `tcp::5000`
    Tcp(String),
}

/// Why a text is no address of a sampler.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no socket of a sampler: write it as its sink is, unix:/path or tcp:127.0.0.1:5000")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.parse::<Sink>().map(|sink| sink.to) {
            Ok(Where::Unix { path, .. }) => Ok(Self::Unix(path)),
            // Where no host is named the sampler listens for its own machine.
            Ok(Where::Tcp(place)) if place.starts_with(':') => Ok(Self::Tcp(format!("127.0.0.1{place}"))),
            Ok(Where::Tcp(place)) => Ok(Self::Tcp(place)),
            _ => Err(AddressError(text.into())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(place) => write!(f, "tcp:{place}"),
        }
    }
}

impl Address {
    /// A connection that is read from, and never written to.
    pub fn connect(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(READ_WITHIN))?;
                Ok(Box::new(stream))
            }
            Self::Tcp(place) => {
                let mut failed = io::ErrorKind::NotFound.into();
                for address in place.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
                        Ok(stream) => {
                            stream.set_read_timeout(Some(READ_WITHIN))?;
                            return Ok(Box::new(stream));
                        }
                        Err(error) => failed = error,
                    }
                }
                Err(failed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sinks_address_is_read_as_the_sampler_does() {
        let read = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(read("unix:/run/x,mode=660"), Ok("unix:/run/x".into()));
        assert_eq!(read("tcp::5000"), Ok("tcp:127.0.0.1:5000".into()));
        assert_eq!(read("tcp:[::1]:5000,format=binary"), Ok("tcp:[::1]:5000".into()));
        for text in ["", "-", "file:x", "udp:127.0.0.1:1", "127.0.0.1:5000", "unix:"] {
            assert_eq!(read(text), Err(AddressError(text.into())), "{text}");
        }
    }
}
