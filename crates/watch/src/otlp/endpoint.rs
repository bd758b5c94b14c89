//! Where figures are sent: `http://host:4318`, as OpenTelemetry's own settings write it.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// What the protocol adds for metrics.
const PATH: &str = "/v1/metrics";

/// An endpoint of OTLP over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host, for a connection: an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Host and port as they were written.
    pub authority: String,
    /// Where metrics go there.
    pub path: String,
}

/// Why it is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is encrypted.
    #[error("'{0}': only http is spoken; send to a collector or a proxy on this machine, which passes it on by https")]
    Encrypted(String),
    /// It is no address.
    #[error("'{0}' is no endpoint of OTLP: write it as http://127.0.0.1:4318")]
    Malformed(String),
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let malformed = || EndpointError::Malformed(text.into());
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(EndpointError::Encrypted(text.into())),
            _ => return Err(malformed()),
        }
        let authority = uri.authority().ok_or_else(malformed)?;
        if authority.as_str().contains('@') || uri.query().is_some() || text.contains('#') {
            return Err(malformed());
        }
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        // A colon with nothing behind it, or no number, is no port.
        let port = match authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((_, port)) => port.parse().map_err(|_| malformed())?,
            None => 80,
        };
        if host.is_empty() || port == 0 {
            return Err(malformed());
        }
        Ok(Self {
            host: host.into(),
            port,
            authority: authority.as_str().into(),
            path: format!("{}{PATH}", uri.path().trim_end_matches('/')),
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_as_opentelemetry_writes_them() {
        let read = |text: &str| text.parse::<Endpoint>().map(|one| (one.host, one.port, one.path));
        let of = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(read("http://127.0.0.1:4318"), of("127.0.0.1", 4318, "/v1/metrics"));
        assert_eq!(read("http://collector.lan:4318/"), of("collector.lan", 4318, "/v1/metrics"));
        assert_eq!(read("http://[::1]:9090/api/v1/otlp"), of("::1", 9090, "/api/v1/otlp/v1/metrics"));
        assert_eq!(read("http://[::1]"), of("::1", 80, "/v1/metrics"));
        for text in ["", "127.0.0.1:4318", "http://", "http://a:x", "http://a:0", "http://a:99999", "http://u:p@a:1"] {
            assert_eq!(read(text), Err(EndpointError::Malformed(text.into())), "{text}");
        }
        assert_eq!(read("http://a:1/x?y=1"), Err(EndpointError::Malformed("http://a:1/x?y=1".into())));
        assert_eq!(read("https://a:4318"), Err(EndpointError::Encrypted("https://a:4318".into())));
        let shown = "http://[::1]:4318".parse::<Endpoint>().unwrap().to_string();
        assert_eq!(shown, "http://[::1]:4318/v1/metrics");
    }
}
