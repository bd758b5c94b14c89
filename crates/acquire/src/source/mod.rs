//! Where values come from.

mod wave;

pub use wave::{Shape, Wave};

use rustix::io::Errno;

use crate::Error;

/// One value of every sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name, unique in the sample: `voltage0`, `sim:bench/3`, `sine`.
    pub name: String,
    /// The unit of its value: `V`, `mV`, `°C`; empty for a number or a level.
    pub unit: String,
    /// value = raw * scale + offset, in the unit.
    pub scale: f64,
    /// See `scale`.
    pub offset: f64,
}

impl Channel {
    /// The value of what was read.
    pub fn value(&self, raw: i64) -> f64 {
        raw as f64 * self.scale + self.offset
    }
}

/// Reads values, on the timed thread.
pub trait Source: Send {
    /// The values of every reading, in order.
    fn channels(&self) -> &[Channel];

    /// Reads all of them now; `now_ns` is the time on the monotonic clock. Must neither allocate nor wait for
    /// longer than the device takes.
    fn read(&mut self, now_ns: u64, values: &mut [i64]) -> Result<(), Errno>;

    /// What of it is simulated, if anything is.
    fn simulated(&self) -> Option<String> {
        None
    }
}

/// Opens a source by its description: `wave:sine,50Hz`, ….
pub fn open(text: &str) -> Result<Box<dyn Source>, Error> {
    let asked = |why: String| Error::Asked { what: "source", text: text.into(), why };
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "wave" => Ok(Box::new(rest.parse::<Wave>().map_err(asked)?)),
        _ => Err(asked("there is no such kind of source (choose wave)".into())),
    }
}
