//! Frames that the kernel or the card sends at a given time: `SO_TXTIME`, by the queueing discipline `etf` (tc-etf(8)).

use std::io;
use std::process::{Command, Stdio};

use ontick_undo::program;
use rustix::io::Errno;
use serde_json::Value;

use super::port::why;
use super::socket::Socket;
use crate::apply::not_installed;
use crate::user::open::OpenError;
use crate::user::port::Sent;
use crate::user::sys::{self, LaunchClock};

/// A frame that misses its time is reported (linux/net_tstamp.h).
const SOF_TXTIME_REPORT_ERRORS: u32 = 2;
/// Of the error queue, which the kernel bounds too.
const MOST_REPORTS: u32 = 10_000;

/// Why frames cannot be given launch times.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The interface cannot be opened.
    #[error(transparent)]
    Port(#[from] OpenError),
    /// Nothing would hold a frame until its time.
    #[error(
        "{0} has no queueing discipline etf on the clock CLOCK_TAI, so frames would leave at once and not at their launch time (tc-etf(8); its delta must be longer than the machine needs to hand a frame to the card)"
    )]
    NoEtf(String),
    /// It is not known whether it has one.
    #[error("the queueing disciplines of {0} cannot be listed: {1}")]
    Tc(String, String),
    /// The kernel has no such option.
    #[error("{0}: the kernel refuses launch times (SO_TXTIME, since Linux 4.19): {1}")]
    Refused(String, io::Error),
}

/// Sends frames by an interface at given times.
#[derive(Debug)]
pub struct LaunchSender {
    socket: Socket,
    address: [u8; 6],
}

impl LaunchSender {
    /// Opens an interface of the calling thread's network namespace, whose discipline holds frames until their time.
    /// `priority` (0 to 15) chooses the discipline's class.
    pub fn open(interface: &str, priority: u32) -> Result<Self, LaunchError> {
        let socket = Socket::new(interface, 0)?;
        let address = socket.address().map_err(socket.explain("ask for its address", "2.2"))?;
        holds_frames(interface)?;
        let refused = |error| LaunchError::Refused(interface.to_owned(), error);
        sys::set_option(&socket, libc::SOL_SOCKET, sys::SO_PRIORITY, &priority).map_err(refused)?;
        let clock = LaunchClock { clock: libc::CLOCK_TAI, flags: SOF_TXTIME_REPORT_ERRORS };
        sys::set_option(&socket, libc::SOL_SOCKET, sys::SO_TXTIME, &clock).map_err(refused)?;
        socket.start_sending()?;
        Ok(Self { socket, address })
    }

    /// The interface's own address.
    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Hands a frame over that is to leave at `at_ns` of TAI, without waiting.
    #[inline]
    pub fn send_at(&mut self, frame: &[u8], at_ns: u64) -> Sent {
        match sys::send_at(&self.socket, frame, at_ns) {
            Ok(_) => Sent::Done,
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                why(Err(errno), &self.socket)
            }
        }
    }

    /// Frames that were taken and then dropped because their time had passed, since this was last asked.
    pub fn take_missed(&mut self) -> u64 {
        let mut missed = 0;
        for _ in 0..MOST_REPORTS {
            match sys::missed_launch(&self.socket) {
                Ok(was) => missed += u64::from(was),
                Err(_) => break,
            }
        }
        missed
    }
}

/// Whether a discipline of the interface holds frames until their launch time on TAI.
fn holds_frames(interface: &str) -> Result<(), LaunchError> {
    let failed = |why: String| LaunchError::Tc(interface.to_owned(), why);
    let ask = |mut tc: Command| tc.args(["-j", "qdisc", "show", "dev", interface]).stdin(Stdio::null()).output();
    let output = program::command("tc").and_then(ask).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed(not_installed("tc")),
        _ => failed(error.to_string()),
    })?;
    let listed = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    match has_etf(&listed) {
        true => Ok(()),
        false => Err(LaunchError::NoEtf(interface.to_owned())),
    }
}

/// In what `tc -j qdisc show` lists.
fn has_etf(listed: &Value) -> bool {
    let is_etf = |qdisc: &Value| {
        let clock = qdisc["options"]["clockid"].as_str();
        // tc names the clock as CLOCK_TAI or as TAI.
        qdisc["kind"] == "etf" && clock.is_none_or(|clock| clock.ends_with("TAI"))
    };
    listed.as_array().is_some_and(|all| all.iter().any(is_etf))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::testbed::with_cable;

    #[test]
    fn only_an_etf_on_tai_holds_frames() {
        let listed = |text: &str| has_etf(&serde_json::from_str(text).unwrap());
        assert!(listed(r#"[{"kind":"mqprio"},{"kind":"etf","options":{"clockid":"TAI","delta":200000}}]"#));
        assert!(!listed(r#"[{"kind":"etf","options":{"clockid":"MONOTONIC"}}]"#));
        assert!(!listed(r#"[{"kind":"noqueue"}]"#) && !listed("[]") && !listed("{}"));
    }

    /// A frame with a launch time would else leave at once, and nobody would learn of it.
    #[test]
    fn an_interface_without_etf_is_refused() {
        with_cable(|| {
            let refused = LaunchSender::open("left", 0).unwrap_err();
            assert!(matches!(refused, LaunchError::NoEtf(_)), "{refused}");
        });
    }
}
