//! Where values come from.

mod error;
pub mod iio;
mod lines;
mod options;
pub mod spi;
mod wave;

pub use error::SpecError;
pub use lines::Lines;
pub use spi::Spi;
pub use wave::{Shape, Wave};

use ontick_gpio::Name;
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
        let inverse = self.scale.recip().round();
        // A billionth is no double, a billion is: what was 0.7 comes out as 0.7.
        let scaled = match (inverse * self.scale - 1.0).abs() < 1e-15 {
            true => raw as f64 / inverse,
            false => raw as f64 * self.scale,
        };
        scaled + self.offset
    }
}

/// Reads values, on the timed thread.
pub trait Source: Send {
    /// The values of every reading, in order.
    fn channels(&self) -> &[Channel];

    /// Reads all of them now; `now_ns` is the time on the monotonic clock. Must neither allocate nor wait for
    /// longer than the device takes.
    fn read(&mut self, now_ns: u64, values: &mut [i64]) -> Result<(), Errno>;

    /// Goes the way of a reading, shortly before one, so that the processor's caches have it. Only where that changes nothing
    /// and asks no device.
    fn warm_up(&mut self, _now_ns: u64) {}

    /// Whether a reading asks no device: it takes next to no time then, and may be done once more.
    fn asks_no_device(&self) -> bool {
        false
    }

    /// What of it is simulated, if anything is.
    fn simulated(&self) -> Option<String> {
        None
    }
}

/// A source that was described and is not open yet.
enum SourceSpec<'a> {
    Wave(Wave),
    Lines(Vec<Name>),
    Iio(iio::IioSpec<'a>),
    Spi(spi::SpiSpec<'a>),
}

impl<'a> SourceSpec<'a> {
    fn read(text: &'a str) -> Result<Self, Error> {
        let asked = |why: String| Error::Invalid { what: "source", text: text.into(), why };
        let spec = |error: SpecError| asked(error.to_string());
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "wave" => rest.parse().map(SourceSpec::Wave).map_err(|error: wave::WaveError| asked(error.to_string())),
            "lines" => lines::names(rest).map(SourceSpec::Lines).map_err(spec),
            "iio" => iio::IioSpec::read(rest).map(SourceSpec::Iio).map_err(spec),
            "spi" => spi::SpiSpec::read(rest).map(SourceSpec::Spi).map_err(spec),
            _ => Err(asked("there is no such kind of source (choose wave, lines, spi or iio)".into())),
        }
    }
}

/// Opens a source by its description: `wave:sine,50Hz`, `lines:sim:bench/0-7`, `spi:/dev/spidev0.0,mcp3208`, ….
pub fn open(text: &str) -> Result<Box<dyn Source>, Error> {
    match SourceSpec::read(text)? {
        SourceSpec::Wave(wave) => Ok(Box::new(wave)),
        SourceSpec::Lines(names) => Ok(Box::new(Lines::open(&names)?)),
        SourceSpec::Iio(asked) => iio::open(&asked),
        SourceSpec::Spi(asked) => Ok(Box::new(Spi::open(&asked)?)),
    }
}

/// Whether a text describes a source, of which nothing is opened.
pub fn check(text: &str) -> Result<(), Error> {
    SourceSpec::read(text).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_fractions_come_out_as_they_are_written() {
        let value = |scale, offset, raw| Channel { name: String::new(), unit: String::new(), scale, offset }.value(raw);
        assert_eq!(value(1e-9, 0.0, 442_808_371).to_string(), "0.442808371");
        assert_eq!(value(0.1, 0.0, 7).to_string(), "0.7");
        assert_eq!(value(3.0, 1.0, 5), 16.0);
        assert_eq!(value(0.75, 0.0, 4), 3.0);
        assert_eq!(value(0.0, 2.0, 4), 2.0);
    }
}
