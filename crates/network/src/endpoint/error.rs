//! Why a program is no station of a planned network.

use std::io;

use ontick_rt::phase::{LONGEST_SCANNED_NS, SCAN_NS};
use ontick_switch::files::FileError;
use ontick_switch::user::open::OpenError;
use ontick_switch::user::packet::LaunchError;

use super::base_time::BaseTimeError;
use super::plan_files::PlanError;
use super::planned::StationError;
use super::run::RunError;
use super::talker::SendError;
use super::ways_in::WayInError;
use super::ways_out::WayOutError;

/// Why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Network and plan are of no use.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The node is no end point.
    #[error(transparent)]
    Station(#[from] StationError),
    /// The plan has nothing for a talker there.
    #[error("station {0} sends no stream")]
    SendsNothing(String),
    /// The plan has nothing for a listener there.
    #[error("no stream comes to station {0}")]
    NothingComes(String),
    /// There is no base time.
    #[error(transparent)]
    BaseTime(#[from] BaseTimeError),
    /// Frames cannot leave.
    #[error(transparent)]
    WayOut(#[from] WayOutError),
    /// Frames cannot come.
    #[error(transparent)]
    WayIn(#[from] WayInError),
    /// A payload is not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// There is no such CPU.
    #[error("CPU {cpu} is not online (this machine has CPU {online})")]
    NotOnline {
        /// The one that was asked for.
        cpu: u32,
        /// Those that there are.
        online: String,
    },
    /// The CPU is watched for half a second, which has to hold several cycles.
    #[error(
        "the periods of the streams begin together only every {}: at most {} can be told apart in the {} that the CPU is watched for",
        .0.map_or("few minutes".into(), ontick_units::exact),
        ontick_units::exact(LONGEST_SCANNED_NS),
        ontick_units::exact(SCAN_NS)
    )]
    LongCycle(Option<u64>),
    /// The talker does not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It runs or ran: a talker begins once.
    #[error("this talker has begun already: open another one")]
    Begun,
    /// There is no such stream.
    #[error("no stream {name} comes to the station; these do: {known}")]
    NoStream {
        /// As it was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The system failed while something was waited for.
    #[error("messages cannot be received any more: {0}")]
    Receive(#[source] io::Error),
}

/// What kind of error it is, for callers whose language has kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked for makes no sense, or does not fit.
    Argument,
    /// There is no such file, interface or CPU.
    NotFound,
    /// The system does not grant it to this user.
    Refused,
    /// Another program has it.
    InUse,
    /// The system failed.
    System,
}

impl EndpointError {
    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Plan(PlanError::File(error)) => of_file(error),
            Self::WayOut(WayOutError::Interface(error) | WayOutError::Launch(LaunchError::Port(error)))
            | Self::WayIn(WayInError::Interface(error)) => of_interface(error),
            Self::WayOut(WayOutError::Launch(_) | WayOutError::Udp(_)) => ErrorKind::System,
            Self::WayIn(WayInError::Udp(_)) | Self::Receive(_) => ErrorKind::System,
            Self::Run(RunError::Held(_)) => ErrorKind::InUse,
            Self::Run(RunError::Thread(_)) => ErrorKind::System,
            Self::Send(SendError::NotSent(..)) => ErrorKind::System,
            Self::NotOnline { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Argument,
        }
    }

    /// The file that cannot be read, and what the system said.
    pub fn unreadable(&self) -> Option<(&std::path::Path, &io::Error)> {
        match self {
            Self::Plan(PlanError::File(FileError::Unreadable { file, cause })) => Some((file, cause)),
            _ => None,
        }
    }
}

fn of_file(error: &FileError) -> ErrorKind {
    match error {
        FileError::Unreadable { cause, .. } => match cause.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied => ErrorKind::Refused,
            _ => ErrorKind::System,
        },
        _ => ErrorKind::Argument,
    }
}

fn of_interface(error: &OpenError) -> ErrorKind {
    match error {
        OpenError::NoInterface(_) => ErrorKind::NotFound,
        OpenError::NotPermitted(_) => ErrorKind::Refused,
        OpenError::NotEthernet(_) => ErrorKind::Argument,
        OpenError::InUse { .. } => ErrorKind::InUse,
        _ => ErrorKind::System,
    }
}
