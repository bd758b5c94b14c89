//! Who is answered: hosts by name, so that no other page's script gets in under a name of its own, and holders of the token.

use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap};

use super::listen::Listen;

/// The cookie in which a browser keeps the token.
pub const COOKIE_NAME: &str = "ontick_token";

/// What a request must bring.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Names under which this machine may be asked, without a port.
    hosts: Vec<String>,
    /// Whether any name will do: nobody else's script reaches a socket in a folder.
    any_host: bool,
    token: Option<String>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// It is addressed to a name that is not this machine's.
    Host,
    /// It lacks the token.
    Token,
}

impl Admission {
    /// For a service that listens there. `names` are more names of this machine.
    pub fn new(listen: &Listen, names: &[String], token: Option<String>) -> Self {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(String::from).into();
        if let Listen::Tcp(address) = listen {
            hosts.push(match address.ip() {
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
                ip => ip.to_string(),
            });
        }
        hosts.extend(names.iter().map(|name| name.to_ascii_lowercase()));
        Self { hosts, any_host: matches!(listen, Listen::Unix(_)), token }
    }

    /// Whether a request with these headers is answered.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Turned> {
        let host =
            headers.get(HOST).and_then(|host| host.to_str().ok()).map(|host| without_port(host).to_ascii_lowercase());
        if !self.any_host && !host.is_some_and(|host| self.hosts.contains(&host)) {
            return Err(Turned::Host);
        }
        let Some(token) = &self.token else { return Ok(()) };
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let cookies = headers.get(COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let cookie = cookies.split("; ").find_map(|cookie| cookie.strip_prefix(COOKIE_NAME)?.strip_prefix('='));
        let brought = bearer.into_iter().chain(cookie).any(|brought| same(brought, token));
        if brought { Ok(()) } else { Err(Turned::Token) }
    }

    /// Whether this is the token.
    pub fn is_token(&self, brought: &str) -> bool {
        self.token.as_deref().is_some_and(|token| same(brought, token))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => host,
    }
}

/// Compares without telling by the time taken how much was right.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (hyper::header::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_name_that_is_not_this_machines_is_turned_away() {
        let local = Admission::new(&"127.0.0.1:9119".parse().unwrap(), &["Box".into()], None);
        for host in ["localhost:9119", "127.0.0.1", "[::1]:9119", "BOX:9119", "box"] {
            assert_eq!(local.check(&headers(&[("host", host)])), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:9119", "localhost.evil.example", ""] {
            assert_eq!(local.check(&headers(&[("host", host)])), Err(Turned::Host), "{host}");
        }
        assert_eq!(local.check(&HeaderMap::new()), Err(Turned::Host));
        let socket = Admission::new(&"unix:/run/x".parse().unwrap(), &[], None);
        assert_eq!(socket.check(&headers(&[("host", "anything")])), Ok(()));
    }

    #[test]
    fn without_the_token_nothing_is_answered() {
        let guarded = Admission::new(&"127.0.0.1:1".parse().unwrap(), &[], Some("secret".into()));
        let with = |name, value: &str| guarded.check(&headers(&[("host", "localhost"), (name, value)]));
        assert_eq!(with("accept", "*/*"), Err(Turned::Token));
        assert_eq!(with("authorization", "Bearer secret"), Ok(()));
        assert_eq!(with("authorization", "Bearer secret2"), Err(Turned::Token));
        assert_eq!(with("authorization", "secret"), Err(Turned::Token));
        assert_eq!(with("cookie", "a=b; ontick_token=secret"), Ok(()));
        assert_eq!(with("cookie", "ontick_tokens=secret"), Err(Turned::Token));
    }
}
