//! Programs that a switch may need, and their versions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::parts::{Parts, Presence};
use super::program::{find, said};

/// Programs, and how each is asked for its version.
const PROGRAMS: [(&str, &str); 13] = [
    ("ip", "-V"),
    ("tc", "-V"),
    ("bridge", "-V"),
    ("nft", "-v"),
    ("iptables", "-V"),
    ("ip6tables", "-V"),
    ("ethtool", "--version"),
    ("ovs-vsctl", "--version"),
    ("ovs-ofctl", "--version"),
    ("ovs-appctl", "--version"),
    ("mstpctl", "--version"),
    ("ptp4l", "-v"),
    ("pmc", "-v"),
];

/// Programs that open a netfilter socket whatever they are asked, which loads the kernel's part if it is a module.
const OF_NETFILTER: [&str; 3] = ["nft", "iptables", "ip6tables"];

/// Those that are there, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tools(BTreeMap<&'static str, Tool>);

/// One program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Where it is.
    pub path: PathBuf,
    /// What it says of its version; empty where it says nothing, or where asking would change the machine.
    pub version: String,
}

impl Tools {
    /// Looks for them, in the PATH and where system programs are.
    pub fn probe(parts: &Parts) -> Self {
        let netfilter = matches!(parts.presence("nftables"), Presence::BuiltIn | Presence::Loaded);
        let asks = |name: &str| netfilter || !OF_NETFILTER.contains(&name);
        let tool = |(name, option): (&'static str, &str)| {
            let tool = match asks(name) {
                true => Tool::find(name, option, Duration::from_secs(5))?,
                false => Tool { path: find(name)?, version: String::new() },
            };
            Some((name, tool))
        };
        Self(PROGRAMS.into_iter().filter_map(tool).collect())
    }

    /// As if these were there.
    #[cfg(test)]
    pub(crate) fn of(names: &[&'static str]) -> Self {
        let tool = || Tool { path: PathBuf::new(), version: String::new() };
        Self(names.iter().map(|name| (*name, tool())).collect())
    }

    /// Whether a program is there.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// One program.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.0.get(name)
    }

    /// All that are there.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Tool)> {
        self.0.iter().map(|(name, tool)| (*name, tool))
    }
}

impl Tool {
    /// Looks for a program, in the PATH and where system programs are, and asks it for its version by this option.
    /// One that takes longer to answer says nothing.
    pub fn find(name: &str, option: &str, at_most: Duration) -> Option<Self> {
        let path = find(name)?;
        let said = said(&path, &[option], at_most);
        Some(Self { path, version: said.map(|text| version(&text)).unwrap_or_default() })
    }
}

/// The first word that begins with a digit, or with a v and a digit.
fn version(text: &str) -> String {
    let begins = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let words = text.lines().next().unwrap_or_default().split([' ', ',', '-']);
    words.filter(|word| word.len() < 40).find(begins).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_as_programs_say_them() {
        for (said, is) in [
            ("ip utility, iproute2-6.1.0, libbpf 1.1.0", "6.1.0"),
            ("nftables v1.0.6 (Lester Gooch #5)", "v1.0.6"),
            ("iptables v1.8.9 (nf_tables)", "v1.8.9"),
            ("ethtool version 6.1", "6.1"),
            ("3.1.1\n", "3.1.1"),
            ("no digits", ""),
            ("", ""),
        ] {
            assert_eq!(version(said), is);
        }
    }
}
