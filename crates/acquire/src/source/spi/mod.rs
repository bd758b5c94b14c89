//! Converters at an SPI bus, through `/dev/spidevB.C`.
//!
//! ```text
//! spi:/dev/spidev0.0,mcp3208
//! spi:/dev/spidev0.0,mcp3208,channels=0-3,vref=3.3,speed=1MHz
//! spi:/dev/spidev0.1,ads131m04
//! ```
//!
//! All channels of a sample are one system call with everything prepared before. Values are volts: `vref` is the
//! voltage at the converter's reference pin, which nobody can measure from here; the default is the usual one (see
//! [`adc`]).

pub mod adc;
mod ads1256;
mod ads131m;
mod device;
mod frames;
mod mcp;
mod signed;

use ontick_units::parse_frequency;
use rustix::io::Errno;

pub use adc::Adc;
use device::Device;
use frames::{Bus, Frames};

use super::options::Options;
use super::{Channel, Source, SpecError};
use crate::Error;

/// A converter, with one prepared exchange that reads all wanted channels.
pub struct Spi<B = Device> {
    bus: B,
    adc: &'static Adc,
    frames: Frames,
    wanted: Vec<u8>,
    channels: Vec<Channel>,
}

/// What is wanted of which converter.
#[derive(Debug, PartialEq)]
pub struct SpiSpec<'a> {
    device: &'a str,
    adc: &'static Adc,
    channels: Vec<u8>,
    vref: f64,
    speed_hz: u32,
}

impl Spi {
    /// Opens the device and sets the converter up.
    pub fn open(asked: &SpiSpec) -> Result<Self, Error> {
        let bus = Device::open(asked.device, asked.adc.mode, asked.speed_hz)?;
        let name = format!("{} at {}", asked.adc.name, asked.device);
        Self::with(bus, asked).map_err(|error| Error::System { what: name, error })
    }
}

impl<B: Bus> Spi<B> {
    fn with(mut bus: B, asked: &SpiSpec) -> std::io::Result<Self> {
        asked.adc.set_up(&mut bus)?;
        let channel = |n: &u8| Channel {
            name: format!("{}/{n}", asked.adc.name),
            unit: "V".into(),
            scale: asked.adc.lsb(asked.vref),
            offset: 0.0,
        };
        Ok(Self {
            bus,
            adc: asked.adc,
            frames: asked.adc.request(&asked.channels),
            wanted: asked.channels.clone(),
            channels: asked.channels.iter().map(channel).collect(),
        })
    }
}

impl<B: Bus + Send> Source for Spi<B> {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, _: u64, values: &mut [i64]) -> Result<(), Errno> {
        self.bus.exchange(&mut self.frames)?;
        self.adc.decode(&self.frames, &self.wanted, values)
    }
}

impl<'a> SpiSpec<'a> {
    /// Reads `/dev/spidev0.0,mcp3208,channels=0-3,vref=3.3,speed=1MHz`.
    pub fn read(text: &'a str) -> Result<Self, SpecError> {
        let mut words = text.split(',');
        let device = words.next().filter(|device| !device.is_empty()).ok_or(SpecError::NoDevice("/dev/spidev0.0"))?;
        let name = words.next().ok_or_else(|| SpecError::NoConverter(adc::names()))?;
        let adc =
            Adc::named(name).ok_or_else(|| SpecError::UnknownConverter { name: name.into(), known: adc::names() })?;
        let words: Vec<&str> = words.collect();
        let options = Options::read(&["channels", "vref", "speed"], &words)?;
        let channels = match options.get("channels") {
            Some(range) => channels(range, adc)?,
            None => (0..adc.channels).collect(),
        };
        let vref = match options.get("vref") {
            Some(text) => volts(text).ok_or_else(|| SpecError::Vref(text.into()))?,
            None => adc.vref,
        };
        if adc.vref_is_inside && vref != adc.vref {
            return Err(SpecError::VrefInside { converter: adc.name, volts: adc.vref });
        }
        let speed_hz = match options.get("speed") {
            Some(text) => speed(text, adc)?,
            None => adc.usual_hz,
        };
        Ok(Self { device, adc, channels, vref, speed_hz })
    }
}

/// `2`, `0-3`.
fn channels(range: &str, adc: &Adc) -> Result<Vec<u8>, SpecError> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (first.parse::<u8>(), last.parse::<u8>()) {
        (Ok(first), Ok(last)) if first <= last && last < adc.channels => Ok((first..=last).collect()),
        _ => Err(SpecError::ChannelRange { range: range.into(), converter: adc.name, last: adc.channels - 1 }),
    }
}

fn volts(text: &str) -> Option<f64> {
    let volts: f64 = text.strip_suffix('V').unwrap_or(text).parse().ok()?;
    (0.1..=10.0).contains(&volts).then_some(volts)
}

fn speed(text: &str, adc: &Adc) -> Result<u32, SpecError> {
    let hertz = parse_frequency(text).ok().filter(|hertz| (1e4..=f64::from(adc.most_hz)).contains(hertz));
    let refusal = || SpecError::Speed { text: text.into(), converter: adc.name, most_khz: adc.most_hz / 1000 };
    hertz.map(|hertz| hertz as u32).ok_or_else(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::open;

    #[test]
    fn defaults_are_the_converters() {
        let asked = SpiSpec::read("/dev/spidev0.0,mcp3208").unwrap();
        assert_eq!((asked.device, asked.adc.name), ("/dev/spidev0.0", "mcp3208"));
        assert_eq!((asked.channels.len(), asked.vref, asked.speed_hz), (8, 3.3, 1_000_000));
        let asked = SpiSpec::read("x,mcp3004,speed=0.5MHz,vref=5V,channels=1-2").unwrap();
        assert_eq!((asked.channels, asked.vref, asked.speed_hz), (vec![1, 2], 5.0, 500_000));
    }

    #[test]
    fn what_cannot_be_had_is_explained() {
        for (text, why) in [
            ("", "which device"),
            ("/dev/spidev0.0", "which converter"),
            ("x,mcp9999", "mcp3004, mcp3008"),
            ("x,mcp3202,channels=0-2", "has 0-1"),
            ("x,mcp3202,channels=1-0", "has 0-1"),
            ("x,mcp3202,channels=", "has 0-1"),
            ("x,mcp3208,vref=0", "no voltage"),
            ("x,mcp3208,vref=nan", "no voltage"),
            ("x,mcp3208,speed=40MHz", "10kHz to 2000kHz"),
            ("x,mcp3208,speed=1", "10kHz"),
            ("x,mcp3208,gain=2", "channels, vref, speed"),
            ("x,mcp3208,vref=3,vref=3", "twice"),
            ("x,ads131m02,vref=3.3", "inside"),
        ] {
            let error = SpiSpec::read(text).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn every_request_is_one_message() {
        for adc in &adc::ALL {
            let frames = adc.request(&(0..adc.channels).collect::<Vec<u8>>());
            assert!(frames.cuts.len() <= device::MOST, "{}", adc.name);
            assert_eq!(frames.cuts.iter().map(|cut| cut.bytes).sum::<usize>(), frames.sent.len());
        }
    }

    #[test]
    fn a_device_that_is_none_is_explained() {
        for (device, why) in [("/dev/spidev250.0", "no such device"), ("/dev/null", "no SPI device")] {
            let error = open(&format!("spi:{device},mcp3208")).err().unwrap().to_string();
            assert!(error.contains(device) && error.to_string().contains(why), "{error}");
        }
    }
}
