//! Measurements of timing. Each takes plain values, runs on the calling thread's machine, and returns a
//! [`Run`](ontick_record::Run); nothing here prints.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod analyser;
pub mod avoid_cpu;
mod beside;
mod blocks;
pub mod clock_readings;
pub mod conditions;
pub mod confined;
pub mod delay;
pub mod dip;
pub mod document;
pub mod edge;
mod error;
pub mod explain;
pub mod hwlat;
pub mod inspect;
mod interval_log;
pub mod kmod;
mod limits;
pub mod load;
mod named_method;
pub mod noise;
pub mod observe;
pub mod pico;
pub mod placement;
pub mod play;
pub mod probe;
pub mod prove;
pub mod pru;
pub mod pulse;
mod recorded;
pub mod response;
pub mod restrict_affinity;
pub mod sample_log;
pub mod search;
pub mod series;
pub mod session;
mod split;
mod tap;
pub mod timer;
pub mod timetable;
mod trace_break;
mod track;
pub mod wakeup;
pub mod wallclock;

pub use error::Error;
pub use limits::{Length, Limits};
pub use load::Load;
pub use named_method::MethodError;
pub use observe::{Live, Observer};
pub use placement::Placement;
pub use split::check as check_split;
pub use timer::Method;
pub use trace_break::TraceBreak;
