//! A device, found by its name or number.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// A device's folder and node.
#[derive(Debug)]
pub struct Device {
    /// `iio:device0`.
    pub id: String,
    /// Where its attributes are.
    pub folder: PathBuf,
    /// Where its buffer is read.
    pub node: PathBuf,
}

impl Device {
    /// The one of this name (`ads1115`) or number (`iio:device0`).
    pub fn find(root: &Path, name: &str) -> Result<Self, Error> {
        let bus = bus(root);
        let devices = entries(&bus, "iio:device");
        let is_it = |(id, own): &&(String, String)| id == name || own == name;
        let found: Vec<&(String, String)> = devices.iter().filter(is_it).collect();
        let refuse = |why| Error::Invalid { what: "IIO device", text: name.into(), why };
        match found[..] {
            [(id, _)] => Ok(Self { id: id.clone(), folder: bus.join(id), node: root.join("dev").join(id) }),
            [] => Err(refuse(missing(&devices))),
            _ => {
                let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
                Err(refuse(format!("{} have this name; say which", ids.join(", "))))
            }
        }
    }

    /// The failure of something done with it.
    pub fn system(&self, doing: &str, error: io::Error) -> Error {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => " (use sudo, or give a group the right with a udev rule)",
            _ => "",
        };
        Error::System { what: format!("{}: {doing}{hint}", self.id), error }
    }

    /// The refusal of something asked of it.
    pub fn refuse(&self, why: String) -> Error {
        Error::Invalid { what: "IIO device", text: self.id.clone(), why }
    }
}

/// The names of this machine's triggers.
pub fn triggers(device: &Device) -> Vec<String> {
    let bus = device.folder.parent().map(Path::to_path_buf).unwrap_or_default();
    entries(&bus, "trigger").into_iter().map(|(_, name)| name).collect()
}

fn bus(root: &Path) -> PathBuf {
    root.join("sys/bus/iio/devices")
}

/// Folders that begin like this, with the names in them.
fn entries(bus: &Path, prefix: &str) -> Vec<(String, String)> {
    let ids = fs::read_dir(bus).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut all: Vec<(String, String)> = ids
        .filter(|id| id.starts_with(prefix))
        .map(|id| {
            let name = fs::read_to_string(bus.join(&id).join("name")).unwrap_or_default();
            (id, name.trim().to_string())
        })
        .collect();
    all.sort();
    all
}

fn missing(devices: &[(String, String)]) -> String {
    if devices.is_empty() {
        return "this machine has no IIO device (is the driver loaded? ls /sys/bus/iio/devices)".into();
    }
    let there: Vec<String> = devices.iter().map(|(id, name)| format!("{name} ({id})")).collect();
    format!("there is no such device, only {}", there.join(", "))
}
