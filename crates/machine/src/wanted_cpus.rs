//! CPUs for timed programs, as a person asks for them: by number, all but the first, or those that are isolated.

use std::fmt;
use std::str::FromStr;

use ontick_units::CpuList;

use crate::Facts;

/// Which CPUs are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedCpus {
    /// These.
    Listed(CpuList),
    /// All but the first, which is left to the rest of the system; a machine's only one.
    All,
    /// Those that the kernel's arguments or a control group isolate.
    Isolated,
}

/// No CPU of the machine is isolated, neither by the kernel's arguments nor by a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no CPU of this machine is isolated")]
pub struct NoneIsolated;

impl WantedCpus {
    /// Those that were named one by one.
    pub fn listed(&self) -> Option<&CpuList> {
        match self {
            Self::Listed(cpus) => Some(cpus),
            Self::All | Self::Isolated => None,
        }
    }

    /// Which they are on a machine.
    pub fn of(&self, facts: &Facts) -> Result<CpuList, NoneIsolated> {
        let online = &facts.cpus.online;
        match self {
            Self::Listed(cpus) => Ok(cpus.clone()),
            Self::All => Ok(match online.iter().next() {
                Some(first) if online.len() > 1 => online.without(&CpuList::one(first)),
                _ => online.clone(),
            }),
            Self::Isolated => match facts.cpus.isolated.with(&facts.cgroups.isolated()) {
                none if none.is_empty() => Err(NoneIsolated),
                isolated => Ok(isolated),
            },
        }
    }

    /// What is to be said of the CPUs that are left out where all were asked for and `taken` are used.
    pub fn left_out(&self, facts: &Facts, taken: &CpuList) -> Option<String> {
        let left = facts.cpus.online.without(taken);
        (*self == Self::All && !left.is_empty()).then(|| format!("CPU {left} was left to the rest of the system"))
    }
}

impl fmt::Display for WantedCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(cpus) => cpus.fmt(f),
            Self::All => f.write_str("all"),
            Self::Isolated => f.write_str("isolated"),
        }
    }
}

impl FromStr for WantedCpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "isolated" => Ok(Self::Isolated),
            _ => match text.parse() {
                Ok(cpus) => Ok(Self::Listed(cpus)),
                Err(error) => Err(format!("{error} (write a list of CPUs such as 3 or 2-3, isolated or all)")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(online: &str, isolated: &str) -> Facts {
        let mut facts = Facts::default();
        facts.cpus.set_online(online.parse().unwrap());
        facts.cpus.isolated = isolated.parse().unwrap();
        facts
    }

    #[test]
    fn all_leaves_the_first_to_the_rest_and_says_so() {
        let (four, one) = (machine("0-3", ""), machine("0", ""));
        let taken = WantedCpus::All.of(&four).unwrap();
        assert_eq!(taken.to_string(), "1-3");
        assert_eq!(
            WantedCpus::All.left_out(&four, &taken).as_deref(),
            Some("CPU 0 was left to the rest of the system")
        );
        let only = WantedCpus::All.of(&one).unwrap();
        assert_eq!((only.to_string().as_str(), WantedCpus::All.left_out(&one, &only)), ("0", None));
        let listed: WantedCpus = "2".parse().unwrap();
        assert_eq!(listed.left_out(&four, &listed.of(&four).unwrap()), None);
    }

    #[test]
    fn isolated_are_those_of_the_machine() {
        assert_eq!(WantedCpus::Isolated.of(&machine("0-3", "2-3")).unwrap().to_string(), "2-3");
        assert_eq!(WantedCpus::Isolated.of(&machine("0-3", "")), Err(NoneIsolated));
    }

    #[test]
    fn what_is_asked_for_reads_back() {
        for text in ["2-3", "all", "isolated"] {
            assert_eq!(text.parse::<WantedCpus>().unwrap().to_string(), text);
        }
        assert!("fast".parse::<WantedCpus>().unwrap_err().contains("write a list of CPUs"));
    }
}
