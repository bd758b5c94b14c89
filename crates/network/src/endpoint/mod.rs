//! End points: a station that sends its streams at their planned times, and one that holds what comes against the plan.
//!
//! [`Talker`] sends, each message at its time, by packet sockets, at launch times or by UDP; [`Listener`] judges what a
//! [`Reader`] takes from an interface. [`StationTalker`] and [`StationListener`] are whole stations, of files, for a program that
//! gives each stream what it carries, and gets messages. One that decides on the time itself sends by [`Talker::send_at`]:
//!
//! ```no_run
//! use ontick_network::endpoint::{self, Outlet, StationTime, Talker};
//! use ontick_switch::user::packet::PacketSender;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = ontick_tsn::network::read(&std::fs::read_to_string("network.toml")?)?;
//! let plan = ontick_tsn::planning::Document::read(&std::fs::read_to_string("plan.json")?)?;
//! let schedule = plan.schedule(&network)?;
//! let station = endpoint::station(&network, "camera")?;
//! let streams = endpoint::outgoing(&network, &schedule, station);
//! let (time, _follows) = StationTime::tai()?;
//! let outlet = Outlet::Packet(PacketSender::open("eth0")?);
//! let mut talker = Talker::new(streams, vec![outlet], time, 1_800_000_000_000_000_000, endpoint::fingerprint(&network, &schedule));
//! loop {
//!     // Waits until 100 us after the beginning of the stream's next period.
//!     talker.send_at(0, 100_000, b"what was measured")?;
//! }
//! # }
//! ```

mod base_time;
mod error;
mod following;
mod frame_log;
mod header;
mod listener;
mod messages;
mod outlet;
mod payload;
mod plan_files;
mod planned;
mod quiet;
mod reader;
mod run;
mod station;
mod station_listener;
mod station_talker;
mod steps;
mod talker;
mod time;
mod ways_in;
mod ways_out;

pub use base_time::{BaseTimeError, base_ns};
pub use error::{EndpointError, ErrorKind};
pub use following::Following;
pub use frame_log::{FrameLog, WithoutLine};
pub use header::{HEADER, Header};
pub use listener::{Listener, Message, Strays};
pub use messages::{Messages, WholeMessage};
pub use outlet::{Outlet, Transmit};
pub use payload::{PayloadReader, PayloadWriter, payloads};
pub use plan_files::{PlanError, Planned, timing};
pub use planned::{Incoming, Outgoing, StationError, Way, fingerprint, incoming, interfaces, outgoing, station};
pub use quiet::{QuietBase, quiet_base};
pub use reader::{Reader, UdpReader, tai_ahead_of_stamps_ns};
pub use run::{Job, RunError, Talked, TalkerThread};
pub use station::StationFiles;
pub use station_listener::{StationListener, StreamFigures};
pub use station_talker::{StationTalker, TalkerOptions, TalkerStream};
pub use talker::{Departure, SendError, Talker, Turn};
pub use time::{StationTime, Time};
pub use ways_in::{WayInError, WaysIn};
pub use ways_out::{Datagrams, DatagramsError, Outlets, WayOutError, WaysOut, place};
