//! Scans from the device's own buffer.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::{Errno, read};

use super::device::{Device, triggers};
use super::restore::Restore;
use super::scan::{ScanType, layout};
use super::{Buffered, attributes};
use crate::{Channel, Error, Source};

/// Scans that are read at once.
const AT_ONCE: usize = 64;
/// A trigger that comes no more often than this is taken for one that does not come.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A buffer that was set up and enabled.
pub struct Buffer {
    node: File,
    channels: Vec<Channel>,
    /// Where in a scan each channel is.
    places: Vec<(usize, ScanType)>,
    scan_bytes: usize,
    /// What was read: whole scans, and perhaps a begun one.
    store: Vec<u8>,
    filled: usize,
    newest: Vec<u8>,
    /// Disables the buffer and puts everything back.
    _restore: Restore,
}

impl Buffer {
    /// Sets up these channels, and enables the buffer.
    pub(super) fn open(device: &Device, names: &[&str], asked: &Buffered) -> Result<Self, Error> {
        check(device, names)?;
        let mut restore = Restore::default();
        choose(device, names, &mut restore)?;
        pull(device, asked.trigger, &mut restore)?;
        let set = |restore: &mut Restore, what: &str, value: &str| {
            let done = restore.set(device.folder.join(what), value);
            done.map_err(|error| device.system(&format!("writing {value} to {what}"), error))
        };
        set(&mut restore, "buffer/length", &asked.length.to_string())?;
        let elements = enabled(device)?;
        let types: Vec<ScanType> = elements.iter().map(|element| element.kind).collect();
        let (starts, scan_bytes) = layout(&types);
        let place = |name: &&str| {
            let n = elements.iter().position(|element| element.name == *name);
            n.map(|n| (starts[n], types[n])).ok_or_else(|| device.refuse(format!("its driver did not enable {name}")))
        };
        let places = names.iter().map(place).collect::<Result<_, _>>()?;
        let node = open_node(device)?;
        set(&mut restore, "buffer/enable", "1")?;
        let mut channels: Vec<Channel> = names.iter().map(|name| attributes::channel(device, name)).collect();
        channels.push(Channel { name: "skipped".into(), unit: String::new(), scale: 1.0, offset: 0.0 });
        Ok(Self {
            node,
            channels,
            places,
            scan_bytes,
            store: vec![0; scan_bytes * AT_ONCE],
            filled: 0,
            newest: vec![0; scan_bytes],
            _restore: restore,
        })
    }

    /// Reads all scans that are there, or waits for one; how many they were.
    fn take(&mut self) -> Result<u64, Errno> {
        let mut scans = 0;
        loop {
            match read(&self.node, &mut self.store[self.filled..]) {
                Ok(0) if scans == 0 => return Err(Errno::NODEV),
                Ok(bytes) => {
                    self.filled += bytes;
                    let was_full = self.filled == self.store.len();
                    scans += self.keep_newest();
                    if scans > 0 && !was_full {
                        return Ok(scans);
                    }
                }
                Err(Errno::AGAIN) if scans > 0 => return Ok(scans),
                Err(Errno::AGAIN) => self.wait()?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Keeps the last whole scan and what is behind it; how many whole ones there were.
    fn keep_newest(&mut self) -> u64 {
        let scans = self.filled / self.scan_bytes;
        let end = scans * self.scan_bytes;
        if scans > 0 {
            self.newest.copy_from_slice(&self.store[end - self.scan_bytes..end]);
            self.store.copy_within(end..self.filled, 0);
            self.filled -= end;
        }
        scans as u64
    }

    fn wait(&self) -> Result<(), Errno> {
        match poll(&mut [PollFd::new(&self.node, PollFlags::IN)], Some(&PATIENCE)) {
            Ok(0) => Err(Errno::TIMEDOUT),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

impl Source for Buffer {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, _: u64, values: &mut [i64]) -> Result<(), Errno> {
        let scans = self.take()?;
        for (value, (start, kind)) in values.iter_mut().zip(&self.places) {
            *value = kind.value(&self.newest[*start..]);
        }
        values[self.places.len()] = (scans - 1) as i64;
        Ok(())
    }
}

/// One value of every scan.
struct Element {
    name: String,
    index: u32,
    kind: ScanType,
}

fn folder(device: &Device) -> PathBuf {
    device.folder.join("scan_elements")
}

/// The channels that a scan can have.
fn elements(device: &Device) -> Vec<String> {
    let entries = fs::read_dir(folder(device)).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let element = |name: String| Some(name.strip_prefix("in_")?.strip_suffix("_en")?.to_string());
    let mut elements: Vec<String> = names.filter_map(element).collect();
    elements.sort();
    elements
}

/// Refuses what the device has not, or somebody else uses.
fn check(device: &Device, names: &[&str]) -> Result<(), Error> {
    let there = elements(device);
    let enable = fs::read_to_string(device.folder.join("buffer/enable"));
    if there.is_empty() || enable.is_err() {
        return Err(device.refuse("it has no buffer (leave out buffer, trigger and length)".into()));
    }
    if enable.is_ok_and(|enable| enable.trim() == "1") {
        return Err(device.refuse("its buffer is in use by another program".into()));
    }
    match names.iter().find(|name| !there.iter().any(|element| element == *name)) {
        Some(name) => Err(device.refuse(format!("its buffer has no channel \"{name}\", only {}", there.join(", ")))),
        None => Ok(()),
    }
}

/// Enables these elements and no others.
fn choose(device: &Device, names: &[&str], restore: &mut Restore) -> Result<(), Error> {
    // First on, then off: some drivers refuse to have none.
    let (on, off): (Vec<String>, Vec<String>) =
        elements(device).into_iter().partition(|element| names.contains(&element.as_str()));
    for (element, value) in on.iter().map(|on| (on, "1")).chain(off.iter().map(|off| (off, "0"))) {
        let path = folder(device).join(format!("in_{element}_en"));
        restore.set(path, value).map_err(|error| device.system(&format!("choosing in_{element}"), error))?;
    }
    Ok(())
}

/// Sets the trigger, or makes sure that there is one where one is needed.
fn pull(device: &Device, trigger: Option<&str>, restore: &mut Restore) -> Result<(), Error> {
    let path = device.folder.join("trigger/current_trigger");
    let there = || match triggers(device) {
        names if names.is_empty() => "there is none: see configfs iio/triggers/hrtimer".into(),
        names => format!("there is {}", names.join(", ")),
    };
    match (trigger, fs::read_to_string(&path)) {
        (None, Err(_)) => Ok(()),
        (None, Ok(now)) if !now.trim().is_empty() => Ok(()),
        (None, Ok(_)) => Err(device.refuse(format!("its buffer has no trigger: say trigger=NAME ({})", there()))),
        (Some(_), Err(_)) => Err(device.refuse("it takes no trigger (leave trigger out)".into())),
        (Some(name), Ok(_)) if !triggers(device).iter().any(|there| there == name) => {
            Err(device.refuse(format!("there is no trigger \"{name}\" ({})", there())))
        }
        (Some(name), Ok(_)) => {
            restore.set(path, name).map_err(|error| device.system(&format!("setting the trigger {name}"), error))
        }
    }
}

/// The elements that the driver has enabled, in the order of a scan. It may have added some.
fn enabled(device: &Device) -> Result<Vec<Element>, Error> {
    let mut all = Vec::new();
    for name in elements(device) {
        let read = |what: &str| {
            let text = fs::read_to_string(folder(device).join(format!("in_{name}_{what}")));
            text.map_err(|error| device.system(&format!("reading in_{name}_{what}"), error))
        };
        if read("en")?.trim() != "1" {
            continue;
        }
        let index = read("index")?;
        let index = index.trim().parse().map_err(|_| device.refuse(format!("in_{name}_index is \"{index}\"")))?;
        let kind = read("type")?.parse().map_err(|why| device.refuse(format!("in_{name}_type: {why}")))?;
        all.push(Element { name, index, kind });
    }
    all.sort_by_key(|element| element.index);
    Ok(all)
}

fn open_node(device: &Device) -> Result<File, Error> {
    let path: &Path = &device.node;
    let flags = OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
        Some(number) if number == Errno::BUSY.raw_os_error() => {
            device.refuse(format!("{} is open in another program", path.display()))
        }
        _ => device.system(&format!("opening {}", path.display()), error),
    })
}
