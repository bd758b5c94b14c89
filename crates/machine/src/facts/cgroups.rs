//! Control groups: which versions are mounted where, and what isolates CPUs already.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::root::Root;
use ontick_units::CpuList;

/// Name of the group that ontick makes for CPUs that it isolates.
pub(crate) const OWN: &str = "ontick";

/// The control groups of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cgroups {
    /// Where version 2 is mounted.
    pub v2: Option<String>,
    /// What version 2 controls.
    pub controllers: Vec<String>,
    /// Version 1 controllers and where they are mounted.
    pub v1: BTreeMap<String, String>,
    /// The group of this process in each version 1 controller (`""` for version 2).
    pub own: BTreeMap<String, String>,
    /// Version 2 groups that are partitions, and ontick's own group of version 1: folder, state, CPUs.
    pub partitions: Vec<Partition>,
}

/// A group whose CPUs are taken from the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Partition {
    /// Its folder.
    pub folder: String,
    /// `root`, `isolated`, or either with `invalid` and the kernel's reason.
    pub state: String,
    /// Its CPUs.
    pub cpus: CpuList,
}

impl Cgroups {
    pub(crate) fn probe(root: &Root) -> Self {
        let mut found = Self::default();
        for line in root.text("/proc/self/mountinfo").unwrap_or_default().lines() {
            found.read_mount(line);
        }
        for line in root.text("/proc/self/cgroup").unwrap_or_default().lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            if let (Some(controllers), Some(group)) = (parts.next(), parts.next()) {
                found.own.extend(controllers.split(',').map(|c| (c.to_owned(), group.to_owned())));
            }
        }
        if let Some(v2) = found.v2.clone() {
            let controllers = root.value(&format!("{v2}/cgroup.controllers")).unwrap_or_default();
            found.controllers = controllers.split_whitespace().map(str::to_owned).collect();
            found.partitions =
                ["*", "*/*"].iter().flat_map(|depth| partitions(root, &format!("{v2}/{depth}"))).collect();
        }
        if let Some(v1) = found.v1.get("cpuset") {
            found.partitions.extend(own(root, v1));
        }
        found
    }

    fn read_mount(&mut self, line: &str) {
        let Some((before, after)) = line.split_once(" - ") else { return };
        let Some(mounted) = before.split_whitespace().nth(4) else { return };
        let mut after = after.split_whitespace();
        match after.next() {
            Some("cgroup2") => self.v2 = self.v2.take().or(Some(mounted.into())),
            Some("cgroup") => {
                let options = after.nth(1).unwrap_or_default();
                let controllers = options.split(',').filter(|o| matches!(*o, "cpu" | "cpuset"));
                self.v1.extend(controllers.map(|c| (c.to_owned(), mounted.to_owned())));
            }
            _ => {}
        }
    }

    /// CPUs of groups that are isolated.
    pub fn isolated(&self) -> CpuList {
        let isolated = self.partitions.iter().filter(|p| p.state == "isolated");
        isolated.fold(CpuList::default(), |all, p| all.with(&p.cpus))
    }
}

fn partitions(root: &Root, groups: &str) -> Vec<Partition> {
    let read = |file: String| {
        let folder = file.strip_suffix("/cpuset.cpus.partition")?.to_owned();
        let state = root.value(&file).filter(|s| s != "member")?;
        let cpus = root.value(&format!("{folder}/cpuset.cpus.effective"))?.parse().ok()?;
        Some(Partition { folder, state, cpus })
    };
    root.matching(&format!("{groups}/cpuset.cpus.partition")).into_iter().filter_map(read).collect()
}

/// Version 1 has no partitions: there ontick moves all tasks away, and has the kernel balance load over no CPU of the root group.
fn own(root: &Root, mount: &str) -> Option<Partition> {
    let folder = format!("{mount}/{OWN}");
    let value = |folder: &str, name: &str| {
        root.value(&format!("{folder}/cpuset.{name}")).or_else(|| root.value(&format!("{folder}/{name}")))
    };
    let cpus = value(&folder, "cpus")?.parse().ok()?;
    let balanced = value(mount, "sched_load_balance")? != "0";
    (!balanced).then(|| Partition { folder, state: "isolated".into(), cpus })
}
