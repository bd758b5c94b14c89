//! What happens to interfaces, as the kernel reports it (rtnetlink(7)): links that come and go, and queueing disciplines that
//! somebody sets.
//!
//! ```no_run
//! # use std::time::Duration;
//! use ontick_switch::link::{Change, Event, Watch};
//! let mut watch = Watch::begin()?;
//! while let Some(event) = watch.next(Duration::from_secs(1))? {
//!     match event {
//!         Event::Link { name, change: Change::CarrierUp, .. } => println!("{name} has a link"),
//!         Event::Lost => println!("some events were lost: look at everything anew"),
//!         other => println!("{other:?}"),
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

mod list;
mod state;
mod traffic;
mod watch;

pub use list::list;
pub use state::{Change, Link};
pub use traffic::{AttachPoint, TrafficChange};
pub use watch::{Event, Watch};

#[cfg(test)]
mod tests;
