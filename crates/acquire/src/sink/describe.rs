//! What a sink is, from its description on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use crate::Error;
use crate::format::Format;

/// Where samples go, and how they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sink {
    /// Where.
    pub to: Where,
    /// As what.
    pub format: Format,
}

/// Where samples go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// `stdout` or `-`
    Stdout,
    /// `file:PATH`, `file:PATH,rotate=100MB`
    File {
        /// The file.
        path: PathBuf,
        /// A new file is begun when this one has so many bytes.
        rotate: Option<u64>,
    },
    /// `tcp:HOST:PORT`, `tcp::PORT`: a listener, of this machine alone where no host is named.
    Tcp(String),
    /// `unix:PATH`, `unix:PATH,mode=660`: a listener.
    Unix {
        /// The socket's file.
        path: PathBuf,
        /// Its permissions, whatever the umask.
        mode: u32,
    },
    /// `udp:HOST:PORT`: datagrams to one host or a multicast group.
    Udp(String),
}

impl FromStr for Sink {
    type Err = Error;

    /// `WHERE[,format=NAME][,rotate=SIZE][,mode=MODE]`
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::Invalid { what: "sink", text: text.into(), why };
        let mut parts = text.split(',');
        let place = parts.next().unwrap_or_default();
        let (mut format, mut rotate, mut mode) = (None, None, None);
        for part in parts {
            match part.split_once('=') {
                Some(("format", name)) => {
                    format = Some(name.parse::<Format>().map_err(|error| wrong(error.to_string()))?)
                }
                Some(("rotate", size)) => rotate = Some(bytes(size).map_err(wrong)?),
                Some(("mode", digits)) => mode = Some(permissions(digits).map_err(wrong)?),
                _ => return Err(wrong(format!("\"{part}\" is no option (give format=…, rotate=… or mode=…)"))),
            }
        }
        let address = |rest: &str| match rest.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => Ok(rest.to_string()),
            _ => Err(wrong("an address is HOST:PORT".into())),
        };
        let (kind, rest) = place.split_once(':').unwrap_or((place, ""));
        let path = || match rest {
            "" => Err(wrong("the path is missing".into())),
            path => Ok(PathBuf::from(path)),
        };
        let to = match kind {
            "-" | "stdout" if rest.is_empty() => Where::Stdout,
            "file" => Where::File { path: path()?, rotate },
            "tcp" => Where::Tcp(address(rest)?),
            "udp" => Where::Udp(address(rest)?),
            "unix" => Where::Unix { path: path()?, mode: mode.unwrap_or(0o600) },
            _ => return Err(wrong("there is no such sink (choose stdout, file:, tcp:, unix: or udp:)".into())),
        };
        if rotate.is_some() && !matches!(to, Where::File { .. }) {
            return Err(wrong("only files rotate".into()));
        }
        if mode.is_some() && !matches!(to, Where::Unix { .. }) {
            return Err(wrong("only unix: sockets have a mode".into()));
        }
        let by_name = match &to {
            Where::File { path, .. } => path.extension().and_then(|e| Format::of_extension(e.to_str()?)),
            _ => None,
        };
        let format = format.or(by_name).unwrap_or(Format::Ndjson);
        if format == Format::Arrow {
            arrow_goes_to(&to).map_err(wrong)?;
        }
        Ok(Self { to, format })
    }
}

fn arrow_goes_to(to: &Where) -> Result<(), String> {
    if cfg!(not(feature = "arrow")) {
        return Err("this program was built without Arrow (its feature `arrow`)".into());
    }
    match to {
        Where::Udp(_) => Err("Arrow's batches are longer than datagrams (choose binary, or tcp: or unix:)".into()),
        _ => Ok(()),
    }
}

/// `660`: octal.
fn permissions(digits: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("\"{digits}\" is no mode such as 660"))
}

/// `4096`, `64kB`, `100MB`, `1GB`: powers of ten.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let factor = match &text[digits..] {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(format!("\"{text}\" is no size such as 100MB")),
    };
    let number: Option<u64> = text[..digits].parse().ok();
    let size = number.and_then(|number| number.checked_mul(factor)).filter(|size| *size >= 4096);
    size.ok_or_else(|| format!("\"{text}\" is no size from 4kB up, such as 100MB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_are_read() {
        let sink = |text: &str| text.parse::<Sink>().unwrap();
        assert_eq!(sink("-"), Sink { to: Where::Stdout, format: Format::Ndjson });
        assert_eq!(
            sink("tcp:[::1]:5000,format=csv"),
            Sink { to: Where::Tcp("[::1]:5000".into()), format: Format::Csv }
        );
        let file = Where::File { path: "/tmp/a.csv".into(), rotate: Some(100_000_000) };
        assert_eq!(sink("file:/tmp/a.csv,rotate=100MB"), Sink { to: file, format: Format::Csv });
        assert_eq!(sink("unix:/run/x").to, Where::Unix { path: "/run/x".into(), mode: 0o600 });
        assert_eq!(sink("unix:/run/x,mode=660").to, Where::Unix { path: "/run/x".into(), mode: 0o660 });
        assert_eq!(sink("udp:239.0.0.1:5000,format=binary").format, Format::Binary);
    }

    #[test]
    fn what_is_no_sink_is_explained() {
        for text in [
            "",
            "tcp:",
            "tcp:host",
            "tcp:host:99999",
            "file:",
            "tcp::1,rotate=1MB",
            "file:x,rotate=1",
            "unix:x,mode=999",
            "unix:x,mode=4777",
            "tcp::1,mode=660",
            "ftp:x",
            "-,format=xml",
            "-,now",
            "file:x,rotate=99999999999GB",
            "udp:239.0.0.1:5000,format=arrow",
        ] {
            let error = text.parse::<Sink>().unwrap_err().to_string();
            assert!(error.starts_with("sink \""), "{error}");
        }
    }
}
