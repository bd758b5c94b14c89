//! A setting of a network interface that only ethtool(8)'s ioctl shows, with an address as a file has one
//! (`ethtool:eth1/coalesce/rx-usecs`): so it is planned, journaled and put back as files are.
//!
//! A folder that stands for a machine keeps it as the file `/ethtool/eth1/coalesce/rx-usecs`, which no kernel has.

use std::io;

use ontick_ethtool::features::{self, Feature};
use ontick_ethtool::values::{self, Setting};

use super::Root;

/// What addresses of such settings begin with.
pub const ETHTOOL: &str = "ethtool:";
/// The group of the offloads.
const FEATURE: &str = "feature";
/// Behind the value of an offload that the driver does not let anybody change.
const FIXED: &str = " [fixed]";

/// A setting of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameter<'a> {
    interface: &'a str,
    group: &'a str,
    name: &'a str,
}

impl<'a> Parameter<'a> {
    /// The setting at an address; `None` for the path of a file.
    pub fn at(path: &'a str) -> Option<Self> {
        let mut parts = path.strip_prefix(ETHTOOL)?.splitn(3, '/');
        Some(Self { interface: parts.next()?, group: parts.next()?, name: parts.next()? })
    }

    /// Where a folder that stands for a machine keeps it.
    pub fn file(self) -> String {
        format!("/ethtool/{}/{}/{}", self.interface, self.group, self.name)
    }

    /// Its value on the running machine.
    pub fn value(self) -> io::Result<String> {
        if self.group == FEATURE {
            let feature = self.feature()?;
            // One that waits for another is as it was asked for.
            let (is_on, fixed) = if feature.can_change { (feature.wanted, "") } else { (feature.active, FIXED) };
            return Ok(format!("{}{fixed}", if is_on { "on" } else { "off" }));
        }
        self.setting()?.get(self.interface).map(|value| value.to_string()).map_err(gone)
    }

    /// Changes it on the running machine.
    pub fn set(self, value: &str) -> io::Result<()> {
        let wrong = || io::Error::from(rustix::io::Errno::INVAL);
        if self.group == FEATURE {
            let on = match value {
                "on" => true,
                "off" => false,
                _ => return Err(wrong()),
            };
            self.feature()?;
            return features::set(self.interface, &[(self.name.into(), on)]).map_err(gone);
        }
        self.setting()?.set(self.interface, value.parse().map_err(|_| wrong())?).map_err(gone)
    }

    fn feature(self) -> io::Result<Feature> {
        let all = features::get(self.interface).map_err(gone)?;
        Ok(*all.get(self.name).ok_or(io::ErrorKind::NotFound)?)
    }

    fn setting(self) -> io::Result<Setting> {
        Setting::named(self.group, self.name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// An interface that is gone, or a driver without such a setting, is as a file that is not there.
fn gone(error: io::Error) -> io::Error {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NODEV | Errno::OPNOTSUPP) => io::Error::new(io::ErrorKind::NotFound, error),
        _ => error,
    }
}

/// The settings that a pattern names (`ethtool:eth1/coalesce/*`), as addresses.
pub(super) fn matching(root: &Root, pattern: &str) -> Vec<String> {
    let Some(Parameter { interface, group, name }) = Parameter::at(pattern) else { return Vec::new() };
    let address = |name: &str| format!("{ETHTOOL}{interface}/{group}/{name}");
    let names: Vec<String> = match (root.is_live(), group) {
        (false, _) => root.list(&format!("/ethtool/{interface}/{group}")),
        // Of the others nothing is wanted.
        (true, FEATURE) => {
            let all = features::get(interface).unwrap_or_default();
            all.into_keys().filter(|name| features::merges_frames(name)).collect()
        }
        (true, _) => values::ALL.iter().filter(|of| of.group == group).map(|of| of.name.to_owned()).collect(),
    };
    let fits = |have: &String| match name.split_once('*') {
        Some((before, after)) => {
            have.len() >= before.len() + after.len() && have.starts_with(before) && have.ends_with(after)
        }
        None => have == name,
    };
    names.iter().filter(|name| fits(name)).map(|name| address(name)).filter(|path| root.exists(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_three_parts() {
        let parameter = Parameter::at("ethtool:eth1.7/coalesce/rx-usecs").unwrap();
        assert_eq!((parameter.interface, parameter.group, parameter.name), ("eth1.7", "coalesce", "rx-usecs"));
        assert_eq!(parameter.file(), "/ethtool/eth1.7/coalesce/rx-usecs");
        for path in ["/sys/class/net/eth1/threaded", "ethtool:eth1/coalesce", "thread:1@2/x"] {
            assert_eq!(Parameter::at(path), None);
        }
    }

    #[test]
    fn what_is_not_there_is_said_as_of_a_file() {
        for path in ["ethtool:nowhere/coalesce/rx-usecs", "ethtool:lo/feature/nonsense", "ethtool:lo/nonsense/x"] {
            let error = Parameter::at(path).unwrap().value().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{path}: {error}");
            assert!(Parameter::at(path).unwrap().set("on").is_err());
        }
        assert!(Parameter::at("ethtool:lo/feature/rx-gro").unwrap().set("maybe").is_err());
    }

    /// The loopback interface has offloads everywhere, some fixed.
    #[test]
    fn offloads_of_the_loopback_interface() {
        let root = Root::live();
        let all = root.matching("ethtool:lo/feature/*");
        assert!(all.len() > 5 && all.contains(&"ethtool:lo/feature/tx-tcp-segmentation".to_owned()), "{all:?}");
        assert_eq!(root.value("ethtool:lo/feature/loopback").as_deref(), Some("on [fixed]"));
        assert_eq!(root.matching("ethtool:lo/feature/*-gro").len(), 1);
        assert!(root.matching("ethtool:lo/coalesce/*").is_empty());
    }
}
