//! Settings of an interface that are one number each: interrupt coalescing, energy-efficient Ethernet, rings.

use std::io;

use crate::request::{Request, ask};

/// One setting, as a word of a structure that the kernel reads and writes as a whole (linux/ethtool.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// What it belongs to: `coalesce`, `eee` or `ring`.
    pub group: &'static str,
    /// Its name within that, as ethtool(8) has it.
    pub name: &'static str,
    read: u32,
    /// None where it cannot be changed.
    write: Option<u32>,
    words: usize,
    word: usize,
}

const fn coalesce(name: &'static str, word: usize) -> Setting {
    // ETHTOOL_GCOALESCE, ETHTOOL_SCOALESCE, struct ethtool_coalesce.
    Setting { group: "coalesce", name, read: 0x0e, write: Some(0x0f), words: 23, word }
}

const fn ring(name: &'static str, word: usize, is_limit: bool) -> Setting {
    // ETHTOOL_GRINGPARAM, ETHTOOL_SRINGPARAM, struct ethtool_ringparam.
    Setting { group: "ring", name, read: 0x10, write: if is_limit { None } else { Some(0x11) }, words: 9, word }
}

/// All that are known here.
pub const ALL: [Setting; 11] = [
    coalesce("adaptive-rx", 10),
    coalesce("adaptive-tx", 11),
    coalesce("rx-frames", 2),
    coalesce("rx-usecs", 1),
    coalesce("tx-frames", 6),
    coalesce("tx-usecs", 5),
    // ETHTOOL_GEEE, ETHTOOL_SEEE, struct ethtool_eee.
    Setting { group: "eee", name: "enabled", read: 0x44, write: Some(0x45), words: 10, word: 5 },
    ring("rx", 5, false),
    ring("rx-max", 1, true),
    ring("tx", 8, false),
    ring("tx-max", 4, true),
];

impl Setting {
    /// The one of this name.
    pub fn named(group: &str, name: &str) -> Option<Self> {
        ALL.into_iter().find(|setting| (setting.group, setting.name) == (group, name))
    }

    /// Its value; an error with EOPNOTSUPP where the driver has none.
    pub fn get(&self, port: &str) -> io::Result<u32> {
        self.read(port).map(|request| request.word(self.word))
    }

    /// Changes it, and leaves the others of its structure as they are.
    pub fn set(&self, port: &str, value: u32) -> io::Result<()> {
        let Some(write) = self.write else { return Err(io::Error::from_raw_os_error(libc::EPERM)) };
        let mut request = self.read(port)?;
        request.set(0, write);
        request.set(self.word, value);
        ask(port, &mut request).map(|_| ())
    }

    fn read(&self, port: &str) -> io::Result<Request> {
        let mut request = Request::new(self.read, self.words * 4);
        ask(port, &mut request)?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_lies_within_its_structure() {
        for setting in ALL {
            assert_eq!(Setting::named(setting.group, setting.name), Some(setting));
            assert!((1..setting.words).contains(&setting.word), "{setting:?}");
        }
        assert_eq!(Setting::named("ring", "rx-usecs"), None);
    }

    #[test]
    fn an_interface_that_is_not_there_has_no_values() {
        let setting = Setting::named("coalesce", "rx-usecs").unwrap();
        assert_eq!(setting.get("nowhere").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(setting.set("nowhere", 0).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(setting.get(&"n".repeat(16)).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        let limit = Setting::named("ring", "rx-max").unwrap();
        assert_eq!(limit.set("nowhere", 1).unwrap_err().raw_os_error(), Some(libc::EPERM));
    }
}
