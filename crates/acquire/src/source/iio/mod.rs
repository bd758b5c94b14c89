//! Devices of the kernel's Industrial I/O subsystem: converters and sensors with a driver.
//!
//! ```text
//! iio:ads1115/voltage0,voltage1              one reading each, when the sample is taken
//! iio:iio:device0/temp,voltage0-voltage1     by number; a differential channel
//! iio:adc/voltage0,voltage1,timestamp,buffer              what the device's own buffer holds
//! iio:adc/voltage0,voltage1,trigger=timer0,length=128     the same, at this trigger's pace
//! ```
//!
//! Without a buffer every value is one read of `in_CHANNEL_raw` (or `_input`), which has the driver convert and wait for
//! the result. With one, the driver stores whole scans at its trigger's pace; a sample holds the newest scan, waits for
//! one if there is none yet, and says in a last channel, `skipped`, how many scans came since the sample before and are
//! in no sample. `timestamp` is when the scan was stored, in ns on the device's clock (`current_timestamp_clock`).
//! Whatever is set for a buffer is set back when the source is closed.
//!
//! Values are in V, A, °C, W and what else the kernel's documentation says (*sysfs-bus-iio*), thousandths made whole.

mod attributes;
mod buffer;
mod decimal;
mod device;
mod reading;
mod restore;
mod scan;
mod unit;

pub use buffer::Buffer;
pub use reading::Readings;

use std::path::Path;

use device::Device;

use super::options::Options;
use super::{Source, SpecError};
use crate::Error;

/// Opens `DEVICE/CHANNEL,…` of this machine.
pub(super) fn open(asked: &IioSpec) -> Result<Box<dyn Source>, Error> {
    asked.open(Path::new("/"))
}

/// Of a machine whose `/sys` and `/dev` are under `root`: for tests.
pub fn open_under(root: &Path, text: &str) -> Result<Box<dyn Source>, Error> {
    IioSpec::read(text)
        .map_err(|e| Error::Invalid { what: "IIO source", text: text.into(), why: e.to_string() })?
        .open(root)
}

/// What is wanted of which device.
#[derive(Debug, PartialEq)]
pub(super) struct IioSpec<'a> {
    device: &'a str,
    channels: Vec<&'a str>,
    buffer: Option<Buffered<'a>>,
}

/// How its buffer is to be used.
#[derive(Debug, PartialEq)]
struct Buffered<'a> {
    trigger: Option<&'a str>,
    /// Scans that the kernel keeps.
    length: u32,
}

const LENGTH: u32 = 256;

impl<'a> IioSpec<'a> {
    fn open(&self, root: &Path) -> Result<Box<dyn Source>, Error> {
        let device = Device::find(root, self.device)?;
        Ok(match &self.buffer {
            None => Box::new(Readings::open(&device, &self.channels)?),
            Some(buffered) => Box::new(Buffer::open(&device, &self.channels, buffered)?),
        })
    }

    pub(super) fn read(text: &'a str) -> Result<Self, SpecError> {
        let (device, words) = text.split_once('/').ok_or(SpecError::NoChannels)?;
        if device.is_empty() {
            return Err(SpecError::NoDevice("its name, or iio:device0"));
        }
        let is_option = |word: &&str| *word == "buffer" || word.contains('=');
        let (options, channels): (Vec<&str>, Vec<&str>) = words.split(',').partition(is_option);
        if let Some(wrong) = channels.iter().find(|name| !is_name(name)) {
            return Err(SpecError::BadChannel((*wrong).into()));
        }
        if let Some((_, twice)) = channels.iter().enumerate().find(|(n, name)| channels[..*n].contains(name)) {
            return Err(SpecError::Twice(format!("channel {twice}")));
        }
        let options = Options::read(&["buffer", "trigger", "length"], &options)?;
        let trigger = options.get("trigger");
        let length = match options.get("length").map(|text| (text, text.parse())) {
            None => LENGTH,
            Some((_, Ok(length @ 2..=1_000_000))) => length,
            Some((text, _)) => return Err(SpecError::Length(text.into())),
        };
        let is_buffered = ["buffer", "trigger", "length"].iter().any(|key| options.get(key).is_some());
        Ok(Self { device, channels, buffer: is_buffered.then_some(Buffered { trigger, length }) })
    }
}

/// Whether it can be a part of the name of a file in the device's folder.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_and_options_are_told_apart() {
        let plain = IioSpec::read("iio:device0/temp,voltage0-voltage1").unwrap();
        assert_eq!((plain.device, plain.buffer), ("iio:device0", None));
        assert_eq!(plain.channels, ["temp", "voltage0-voltage1"]);
        let buffered = IioSpec::read("adc/voltage0,trigger=timer0,length=16").unwrap();
        assert_eq!(buffered.buffer, Some(Buffered { trigger: Some("timer0"), length: 16 }));
        assert_eq!(
            IioSpec::read("adc/voltage0,buffer").unwrap().buffer,
            Some(Buffered { trigger: None, length: LENGTH })
        );
    }

    #[test]
    fn what_is_no_iio_source_is_explained() {
        for (text, why) in [
            ("adc", "which channels"),
            ("/voltage0", "which device"),
            ("adc/", "no channel"),
            ("adc/../x", "no channel"),
            ("adc/voltage0,voltage0", "twice"),
            ("adc/buffer,voltage0,gain=3", "buffer, trigger, length"),
            ("adc/voltage0,length=1", "no number of scans"),
        ] {
            let error = IioSpec::read(text).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }
}
