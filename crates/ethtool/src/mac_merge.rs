//! The MAC Merge sublayer of a port (IEEE 802.3-2022 clause 99), which frame preemption takes: `ethtool --show-mm` and
//! `--set-mm` (Linux 6.3).

use std::fmt;
use std::io;
use std::ops::RangeInclusive;

use ontick_netlink::{Attributes, attributes, errno, number};
use serde::{Deserialize, Serialize};

use crate::netlink::ask;

/// `ETHTOOL_MSG_MM_GET`, `ETHTOOL_MSG_MM_SET`.
const GET: u8 = 42;
const SET: u8 = 43;

/// `ETHTOOL_A_MM_…`
mod attribute {
    pub const HEADER: u16 = 1;
    pub const PMAC_ENABLED: u16 = 2;
    pub const TX_ENABLED: u16 = 3;
    pub const TX_ACTIVE: u16 = 4;
    pub const TX_MIN_FRAG_SIZE: u16 = 5;
    pub const RX_MIN_FRAG_SIZE: u16 = 6;
    pub const VERIFY_ENABLED: u16 = 7;
    pub const VERIFY_STATUS: u16 = 8;
    pub const VERIFY_TIME: u16 = 9;
    pub const MAX_VERIFY_TIME: u16 = 10;
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether preempted frames are received: the preemptible MAC is there.
    pub pmac_enabled: bool,
    /// Whether frames may be preempted on their way out.
    pub tx_enabled: bool,
    /// Whether the other end is asked first.
    pub verify_enabled: bool,
    /// How long each answer is waited for, in ms.
    pub verify_time_ms: u32,
    /// Octets of a transmitted fragment at least, without its check sequence.
    pub tx_min_frag_size: u32,
}

impl fmt::Display for Settings {
    /// As ethtool(8) takes them.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let word = |on: bool| if on { "on" } else { "off" };
        let Self { pmac_enabled, tx_enabled, verify_enabled, verify_time_ms, tx_min_frag_size } = self;
        let (pmac, tx, verify) = (word(*pmac_enabled), word(*tx_enabled), word(*verify_enabled));
        write!(f, "pmac-enabled {pmac} tx-enabled {tx} tx-min-frag-size {tx_min_frag_size} ")?;
        write!(f, "verify-enabled {verify} verify-time {verify_time_ms}")
    }
}

/// All that the port says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct State {
    /// What was set.
    #[serde(flatten)]
    pub settings: Settings,
    /// Whether frames are preempted on their way out by now.
    pub tx_active: bool,
    /// What became of asking the other end.
    pub verify_status: VerifyStatus,
    /// The longest time that it can wait for an answer, in ms.
    pub max_verify_time_ms: u32,
    /// Octets of a received fragment at least, without its check sequence.
    pub rx_min_frag_size: u32,
}

/// What became of asking the other end whether it can take preempted frames (`ETHTOOL_MM_VERIFY_STATUS_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifyStatus {
    /// The port does not say.
    Unknown,
    /// It has not begun.
    Initial,
    /// It is asked.
    Verifying,
    /// It can.
    Succeeded,
    /// It did not answer.
    Failed,
    /// It is not asked.
    Disabled,
}

/// What the port has. An error of kind `Unsupported` where it has no such sublayer, or the kernel does not know of it.
pub fn get(port: &str) -> io::Result<State> {
    let answer = ask(GET, &header(port)).map_err(|error| in_words(error, "the port has none"))?;
    state(&answer).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer lacks a part"))
}

/// What an answer says.
fn state(answer: &[u8]) -> Option<State> {
    let of = |kind: u16| {
        let (_, value) = attributes(answer).find(|(known, _)| *known == kind)?;
        number(value)
    };
    Some(State {
        settings: Settings {
            pmac_enabled: of(attribute::PMAC_ENABLED)? != 0,
            tx_enabled: of(attribute::TX_ENABLED)? != 0,
            verify_enabled: of(attribute::VERIFY_ENABLED)? != 0,
            verify_time_ms: of(attribute::VERIFY_TIME)?,
            tx_min_frag_size: of(attribute::TX_MIN_FRAG_SIZE)?,
        },
        tx_active: of(attribute::TX_ACTIVE)? != 0,
        verify_status: verify_status(of(attribute::VERIFY_STATUS)?),
        max_verify_time_ms: of(attribute::MAX_VERIFY_TIME)?,
        rx_min_frag_size: of(attribute::RX_MIN_FRAG_SIZE)?,
    })
}

/// Changes all of it at once.
pub fn set(port: &str, settings: &Settings) -> io::Result<()> {
    ask(SET, &request(port, settings)).map(|_| ()).map_err(|error| in_words(error, "the port has none that can be set"))
}

fn request(port: &str, settings: &Settings) -> Attributes {
    /// What Linux takes; a port may show others, as long as nobody has set them.
    const VERIFY_TIMES: RangeInclusive<u32> = 1..=128;
    const FRAGMENTS: RangeInclusive<u32> = 60..=252;
    let mut request = header(port)
        .flag(attribute::PMAC_ENABLED, settings.pmac_enabled)
        .flag(attribute::TX_ENABLED, settings.tx_enabled)
        .flag(attribute::VERIFY_ENABLED, settings.verify_enabled);
    if FRAGMENTS.contains(&settings.tx_min_frag_size) {
        request = request.number(attribute::TX_MIN_FRAG_SIZE, settings.tx_min_frag_size);
    }
    if VERIFY_TIMES.contains(&settings.verify_time_ms) {
        request = request.number(attribute::VERIFY_TIME, settings.verify_time_ms);
    }
    request
}

fn header(port: &str) -> Attributes {
    const DEV_NAME: u16 = 2;
    Attributes::default().nested(attribute::HEADER, &Attributes::default().text(DEV_NAME, port))
}

fn in_words(error: io::Error, unsupported: &str) -> io::Error {
    match errno(&error) {
        Some(libc::EOPNOTSUPP) => io::Error::new(io::ErrorKind::Unsupported, unsupported.to_owned()),
        _ => error,
    }
}

fn verify_status(number: u32) -> VerifyStatus {
    match number {
        1 => VerifyStatus::Initial,
        2 => VerifyStatus::Verifying,
        3 => VerifyStatus::Succeeded,
        4 => VerifyStatus::Failed,
        5 => VerifyStatus::Disabled,
        _ => VerifyStatus::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Settings = Settings {
        pmac_enabled: true,
        tx_enabled: true,
        verify_enabled: true,
        verify_time_ms: 10,
        tx_min_frag_size: 60,
    };

    /// The kernel looks for the interface before anything else.
    #[test]
    fn an_interface_that_is_not_there_has_none() {
        for outcome in [get("nowhere").map(|_| ()), set("nowhere", &USUAL)] {
            let error = outcome.unwrap_err();
            // Without the right to change anything, before Linux 6.3, or as it is.
            let known = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported];
            assert!(errno(&error) == Some(libc::ENODEV) || known.contains(&error.kind()), "{error}");
        }
    }

    /// Linux looks at each value before it asks whether the port has such a sublayer: each attribute has the number, the
    /// width and the range that it has there, and no other has them.
    #[test]
    fn the_kernel_takes_the_request_apart() {
        let outcome = |attributes: &Attributes| ask(SET, attributes).unwrap_err();
        let whole = outcome(&request("lo", &USUAL));
        match whole.kind() {
            io::ErrorKind::PermissionDenied => {
                return ontick_skip::skipped!("changing the network is not allowed here");
            }
            _ if errno(&whole).is_none() => return ontick_skip::skipped!("{whole} (Linux 6.3)"),
            _ => assert_eq!(errno(&whole), Some(libc::EOPNOTSUPP), "{whole}"),
        }
        let with = |attribute: Attributes| errno(&outcome(&attribute));
        let flag = |kind| with(header("lo").with(kind, &[2]));
        let number = |kind, value| with(header("lo").number(kind, value));
        let out_of_range = Some(libc::ERANGE);
        for kind in [attribute::PMAC_ENABLED, attribute::TX_ENABLED, attribute::VERIFY_ENABLED] {
            assert_eq!((flag(kind), with(header("lo").flag(kind, true))), (out_of_range, Some(libc::EOPNOTSUPP)));
        }
        for (kind, least, most) in [(attribute::TX_MIN_FRAG_SIZE, 60, 252), (attribute::VERIFY_TIME, 1, 128)] {
            assert_eq!([least, most].map(|value| number(kind, value)), [Some(libc::EOPNOTSUPP); 2], "{kind}");
            assert_eq!([least - 1, most + 1].map(|value| number(kind, value)), [out_of_range; 2], "{kind}");
        }
        // What is only shown cannot be set.
        for kind in [attribute::TX_ACTIVE, attribute::VERIFY_STATUS] {
            assert_eq!(flag(kind), Some(libc::EINVAL), "{kind}");
        }
    }

    #[test]
    fn an_answer_is_read_whole_or_not_at_all() {
        let all = request("eth0", &USUAL)
            .flag(attribute::TX_ACTIVE, true)
            .with(attribute::VERIFY_STATUS, &[3])
            .number(attribute::MAX_VERIFY_TIME, 128)
            .number(attribute::RX_MIN_FRAG_SIZE, 124);
        let read = state(all.octets()).unwrap();
        assert_eq!((read.settings, read.tx_active, read.verify_status), (USUAL, true, VerifyStatus::Succeeded));
        assert_eq!((read.max_verify_time_ms, read.rx_min_frag_size), (128, 124));
        assert!((0..all.octets().len()).all(|end| state(&all.octets()[..end]).is_none()));
    }

    #[test]
    fn the_loopback_preempts_nothing() {
        let error = get("lo").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
    }
}
