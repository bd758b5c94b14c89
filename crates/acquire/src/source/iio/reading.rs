//! Single readings: one read of an attribute for each value.

use std::fs::File;

use rustix::io::{Errno, pread};

use super::attributes;
use super::decimal::{PARTS, millionths, whole};
use super::device::Device;
use crate::{Channel, Error, Source};

/// Attributes that are read for every sample.
pub struct Readings {
    files: Vec<(File, Form)>,
    channels: Vec<Channel>,
}

/// How an attribute is written.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// As the converter has it.
    Raw,
    /// In its unit.
    Processed,
}

/// More than any number is long.
const LONGEST: usize = 64;

impl Readings {
    /// Opens what each channel is read from.
    pub(super) fn open(device: &Device, names: &[&str]) -> Result<Self, Error> {
        let (mut files, mut channels) = (Vec::new(), Vec::new());
        for name in names {
            let raw = attributes::own(device, name, "raw").map(|path| (path, Form::Raw));
            let found = raw.or(attributes::own(device, name, "input").map(|path| (path, Form::Processed)));
            let (path, form) = found.ok_or_else(|| {
                let there = attributes::list(device);
                device.refuse(format!("it has no channel \"{name}\" that can be read without a buffer ({there})"))
            })?;
            let file = File::open(&path).map_err(|error| device.system(&format!("opening in_{name}"), error))?;
            files.push((file, form));
            channels.push(match form {
                Form::Raw => attributes::channel(device, name),
                Form::Processed => attributes::processed(name, PARTS),
            });
        }
        let mut readings = Self { files, channels };
        // A device whose buffer somebody uses refuses single readings: better now than in the first sample.
        readings.read(0, &mut vec![0; names.len()]).map_err(|errno| match errno {
            Errno::BUSY => device.refuse("its buffer is in use, so it gives no single readings (,buffer)".into()),
            errno => device.system("reading a channel", errno.into()),
        })?;
        Ok(readings)
    }
}

impl Source for Readings {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, _: u64, values: &mut [i64]) -> Result<(), Errno> {
        for (value, (file, form)) in values.iter_mut().zip(&self.files) {
            let mut text = [0; LONGEST];
            let length = pread(file, &mut text, 0)?;
            let number = match form {
                Form::Raw => whole(&text[..length]),
                Form::Processed => millionths(&text[..length]),
            };
            *value = number.ok_or(Errno::IO)?;
        }
        Ok(())
    }
}
