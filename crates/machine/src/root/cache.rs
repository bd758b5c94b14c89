//! Which parts of a cache the timed CPUs have for themselves by resctrl, with an address as a file has one (`resctrl:L3`): so
//! it is planned, journaled and put back as files are.
//!
//! The value holds the masks of the group of all others; where ontick's group is there, that group's masks and CPUs, too:
//! `0=fff;1=1ff, 0=fff;1=e00 for CPU 3`.

use std::fmt;
use std::io;
use std::str::FromStr;

use ontick_units::CpuList;

use super::Root;

/// What addresses of caches begin with.
pub const RESCTRL: &str = "resctrl:";
/// Where the kernel has it.
pub(crate) const FOLDER: &str = "/sys/fs/resctrl";
/// The name of ontick's group.
pub(crate) const GROUP: &str = "ontick";

/// How the caches of a level are divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// The masks of the group that everything is in by itself.
    pub others: String,
    /// The masks and CPUs of ontick's group.
    pub own: Option<(String, CpuList)>,
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.others)?;
        self.own.as_ref().map_or(Ok(()), |(masks, cpus)| write!(f, ", {masks} for CPU {cpus}"))
    }
}

impl FromStr for Allocation {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let wrong = || io::Error::from(rustix::io::Errno::INVAL);
        let Some((others, own)) = text.split_once(", ") else { return Ok(Self { others: text.into(), own: None }) };
        let (masks, cpus) = own.split_once(" for CPU ").ok_or_else(wrong)?;
        let own = Some((masks.into(), cpus.parse().map_err(|_| wrong())?));
        Ok(Self { others: others.into(), own })
    }
}

/// The caches of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caches<'a> {
    /// `L3` or `L2`, as the kernel names it.
    pub level: &'a str,
}

impl<'a> Caches<'a> {
    /// Those at an address; `None` for the path of a file.
    pub(super) fn at(path: &'a str) -> Option<Self> {
        path.strip_prefix(RESCTRL).map(|level| Self { level })
    }

    /// How they are divided now.
    pub(crate) fn allocation(self, root: &Root) -> io::Result<Allocation> {
        let group = format!("{FOLDER}/{GROUP}");
        let own = match root.exists(&group) {
            true => Some((
                self.masks(root, &group)?,
                root.value(&format!("{group}/cpus_list")).and_then(|list| list.parse().ok()).unwrap_or_default(),
            )),
            false => None,
        };
        Ok(Allocation { others: self.masks(root, FOLDER)?, own })
    }

    fn masks(self, root: &Root, group: &str) -> io::Result<String> {
        let schemata = root.text(&format!("{group}/schemata"))?;
        let mut lines = schemata.lines().filter_map(|line| line.trim().strip_prefix(self.level)?.strip_prefix(':'));
        lines.next().map(without_zeros).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Divides them so. Where a step is refused, those before it are taken back.
    pub(super) fn divide(self, root: &Root, value: &str) -> io::Result<()> {
        let (before, wanted) = (self.allocation(root)?, value.parse()?);
        let made = self.write(root, &wanted);
        if made.is_err() && self.allocation(root).is_ok_and(|now| now != before) {
            self.write(root, &before)?;
        }
        made
    }

    fn write(self, root: &Root, wanted: &Allocation) -> io::Result<()> {
        let group = format!("{FOLDER}/{GROUP}");
        let set = |group: &str, masks: &str| match self.masks(root, group)? == masks {
            true => Ok(()),
            false => root.set(&format!("{group}/schemata"), &format!("{}:{masks}", self.level)),
        };
        match &wanted.own {
            // Its CPUs fall back to the group of all others.
            None => {
                root.remove_folder(&group)?;
                set(FOLDER, &wanted.others)
            }
            Some((masks, cpus)) => {
                root.make_folder(&group)?;
                set(&group, masks)?;
                set(FOLDER, &wanted.others)?;
                root.set(&format!("{group}/cpus_list"), &cpus.to_string())
            }
        }
    }
}

/// A group that somebody made, but for `known` ones; the kernel's own folders are none.
pub(crate) fn group(root: &Root, known: &[&str]) -> Option<String> {
    let kernels = ["info", "mon_data", "mon_groups"];
    let is_folder = |name: &str| root.outside(&format!("{FOLDER}/{name}")).is_ok_and(|place| place.is_dir());
    let mut names = root.list(FOLDER).into_iter();
    names.find(|name| !kernels.contains(&name.as_str()) && !known.contains(&name.as_str()) && is_folder(name))
}

/// Masks without the zeros that kernels fill them up with: `0=001ff` is `0=1ff`.
fn without_zeros(masks: &str) -> String {
    let short = |part: &str| match part.split_once('=') {
        Some((id, mask)) => {
            format!("{id}={}", Some(mask.trim_start_matches('0')).filter(|m| !m.is_empty()).unwrap_or("0"))
        }
        None => part.to_owned(),
    };
    masks.split(';').map(short).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_reads_back() {
        for text in ["0=fff;1=fff", "0=fff;1=1ff, 0=fff;1=e00 for CPU 2-3"] {
            assert_eq!(text.parse::<Allocation>().unwrap().to_string(), text);
        }
        for text in ["0=fff, 1=f", "0=fff, 1=f for CPU x"] {
            assert!(text.parse::<Allocation>().is_err(), "{text}");
        }
        assert_eq!(without_zeros("0=00fff;1=00000;x"), "0=fff;1=0;x");
        assert_eq!(Caches::at("resctrl:L3"), Some(Caches { level: "L3" }));
        assert_eq!(Caches::at("/sys/fs/resctrl/schemata"), None);
    }
}
