//! Processors: which are online, which are kept apart, which share a core.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Arguments, Identity};
use crate::root::Root;
use ontick_units::CpuList;

/// The processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cpus {
    /// Model name.
    pub model: String,
    /// Who made them, as x86 kernels name it (`GenuineIntel`); empty elsewhere.
    #[serde(skip)]
    pub vendor: String,
    /// Those that run.
    pub online: CpuList,
    /// Taken out of load balancing at boot (`isolcpus=`).
    pub isolated: CpuList,
    /// Without a tick while one task runs (`nohz_full=`).
    pub nohz_full: CpuList,
    /// Whose RCU callbacks run elsewhere (`rcu_nocbs=` or `nohz_full=`).
    pub rcu_nocbs: CpuList,
    /// For each CPU that shares its core with others (SMT): those others.
    pub siblings: BTreeMap<u32, CpuList>,
    /// Processor features as `/proc/cpuinfo` names them (of the first processor).
    #[serde(skip)]
    pub flags: Vec<String>,
    /// The CPUs of each kind of board that a mounted card may be for, while it is not known which it is.
    #[serde(skip)]
    pub boards: Vec<CpuList>,
    /// Why a file that would say which CPUs there are does not.
    #[serde(skip)]
    pub problem: Option<String>,
}

impl Cpus {
    pub(crate) fn probe(root: &Root, arguments: &Arguments, identity: &Identity) -> Self {
        let list = |path: &str| root.value(path).and_then(|v| v.parse::<CpuList>().ok());
        let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
        let field = |names: &[&str]| {
            cpuinfo.lines().filter_map(|l| l.split_once(':')).find(|(name, _)| names.contains(&name.trim()))
        };
        let online = list("/sys/devices/system/cpu/online").unwrap_or_else(|| counted(&cpuinfo));
        let (online, boards) = match identity.boards.as_slice() {
            [only] if online.is_empty() => (only.clone(), Vec::new()),
            several if online.is_empty() => (online, several.to_vec()),
            _ => (online, Vec::new()),
        };
        let siblings = |cpu| {
            let shared = list(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))?;
            Some((cpu, shared.without(&CpuList::one(cpu)))).filter(|(_, others)| !others.is_empty())
        };
        let last = list("/sys/devices/system/cpu/possible").unwrap_or_else(|| online.clone()).last();
        let given = |key: &str| cpus_of(arguments.get(key), last);
        let nohz_full = list("/sys/devices/system/cpu/nohz_full").or_else(|| given("nohz_full"));
        let nohz_full = nohz_full.unwrap_or_default();
        let rcu_nocbs = match arguments.get("rcu_nocbs") {
            Some("all" | "") => online.clone(),
            _ => given("rcu_nocbs").unwrap_or_default(),
        };
        Self {
            model: super::processor::name(&identity.processor, &cpuinfo),
            vendor: field(&["vendor_id"]).map(|(_, v)| v.trim().to_owned()).unwrap_or_default(),
            isolated: list("/sys/devices/system/cpu/isolated").or_else(|| given("isolcpus")).unwrap_or_default(),
            rcu_nocbs: rcu_nocbs.with(&nohz_full),
            siblings: online.iter().filter_map(siblings).collect(),
            flags: field(&["flags", "Features"])
                .map(|(_, v)| v.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            nohz_full,
            online,
            boards,
            problem: identity.problem.clone(),
        }
    }

    /// Takes these for the CPUs of a board that does not run, as its user says.
    pub fn set_online(&mut self, online: CpuList) {
        (self.online, self.boards) = (online, Vec::new());
    }

    /// Where several boards come into question, takes those that have the CPUs which are `wanted`, if they are alike.
    pub fn narrow(&mut self, wanted: &CpuList) {
        let mut having = self.boards.iter().filter(|cpus| wanted.within(cpus));
        if let (true, Some(only), None) = (self.online.is_empty(), having.next(), having.next()) {
            self.set_online(only.clone());
        }
    }
}

/// The CPUs of `isolcpus=managed_irq,domain,2-N`: flags come first, then the list, in which `N` is the last CPU.
pub(crate) fn cpus_of(value: Option<&str>, last: Option<u32>) -> Option<CpuList> {
    let flagless = value?.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_' || c == ',');
    let last = last.map_or_else(|| "N".into(), |cpu| cpu.to_string());
    flagless.replace('N', &last).parse().ok()
}

fn counted(cpuinfo: &str) -> CpuList {
    let number = |line: &str| line.split_once(':').filter(|(n, _)| n.trim() == "processor")?.1.trim().parse().ok();
    cpuinfo.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_cpus_as_the_kernel_reads_them() {
        for (value, cpus) in [
            ("2-3", Some("2-3")),
            ("managed_irq,domain,3", Some("3")),
            ("1-N", Some("1-7")),
            ("domain,N", Some("7")),
            ("1,3-N:1/2", Some("1,3,5,7")),
            ("nonsense", Some("")),
            ("1-", None),
        ] {
            assert_eq!(cpus_of(Some(value), Some(7)), cpus.map(|cpus| cpus.parse().unwrap()), "{value}");
        }
        assert_eq!((cpus_of(Some("1-N"), None), cpus_of(None, Some(7))), (None, None));
    }
}
