//! Where the board is.

use std::fmt;
use std::str::FromStr;

/// The port that the board program listens on unless it was built with another.
pub const PORT: u16 = 2306;

/// A board in the network: `latmon://HOST:PORT`, where scheme and port may be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

/// Text that names no board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no board's address (such as latmon://192.168.1.58, or 192.168.1.58:2306)")]
pub struct AddressError(String);

impl Address {
    /// For the system to look up.
    pub(super) fn target(&self) -> (&str, u16) {
        (self.host.trim_start_matches('[').trim_end_matches(']'), self.port)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.into());
        let place = text.strip_prefix("latmon://").unwrap_or(text).trim_end_matches('/');
        // An IPv6 address has colons of its own, and stands in brackets.
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (place, PORT),
        };
        let bracketed = host.starts_with('[') && host.ends_with(']');
        let plain = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        match (host.len() > 2 * usize::from(bracketed)) && (plain || bracketed) && port > 0 {
            true => Ok(Self { host: host.into(), port }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "latmon://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_explained() {
        for (text, shown) in [
            ("board", "latmon://board:2306"),
            ("192.168.1.58:99", "latmon://192.168.1.58:99"),
            ("latmon://board.lan", "latmon://board.lan:2306"),
            ("latmon://[fe80::1]:2306", "latmon://[fe80::1]:2306"),
            ("[::1]", "latmon://[::1]:2306"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        for text in ["", "latmon://", ":2306", "board:0", "board:x", "http://board", "a b", "[]", "::1"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
