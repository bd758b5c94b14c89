//! A kernel that does more than keep the values that are written.

use std::collections::HashMap;
use std::sync::Mutex;

use ontick_machine::root::{Act, Hook, Verdict};

/// A model of what the kernel does beyond keeping values: new control groups have files, a task is in one
/// group, and the limits of real-time time contain one another.
#[derive(Default)]
pub struct Kernel {
    /// It takes no partition.
    pub invalid: bool,
    /// The group that each task was moved to.
    pub base: Mutex<HashMap<String, String>>,
}

impl Hook for Kernel {
    fn before(&self, _act: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        let write = |name: &str, content: &str| std::fs::write(place.join(name), content).unwrap();
        match act {
            Act::MakeFolder { path } if path.starts_with("/sys/fs/cgroup/cpuset/") => {
                ["cpuset.cpus", "cpuset.mems", "tasks"].iter().for_each(|f| write(f, "\n"));
                write("cpuset.sched_load_balance", "1\n");
            }
            Act::MakeFolder { path } if path.starts_with("/sys/fs/cgroup/") => {
                ["cpuset.cpus", "cpuset.cpus.exclusive", "cgroup.procs"].iter().for_each(|f| write(f, "\n"));
                write("cpuset.cpus.partition", "member\n");
            }
            Act::Set { path, value } if path.ends_with("cpuset.cpus.partition") && self.invalid => {
                std::fs::write(place, format!("{value} invalid (Cpu list in cpuset.cpus not exclusive)\n")).unwrap();
            }
            // A write moves one task; the file lists all.
            Act::Set { path, value } if path.ends_with("/tasks") => {
                let mut groups = self.base.lock().unwrap();
                let group = place.to_string_lossy().into_owned();
                groups.insert((*value).to_owned(), group.clone());
                let mount = group.split("/cpuset/").next().unwrap().to_owned() + "/cpuset";
                let rebuild = |file: String, own: &str| {
                    let mut tasks: Vec<u32> = ["1", "19", "52", "871"]
                        .into_iter()
                        .filter(|t| groups.get(*t).map_or(own == "root", |g| *g == file))
                        .map(|t| t.parse().unwrap())
                        .collect();
                    tasks.sort_unstable();
                    let text: String = tasks.iter().map(|t| format!("{t}\n")).collect();
                    if std::path::Path::new(&file).exists() {
                        std::fs::write(file, text).unwrap();
                    }
                };
                rebuild(format!("{mount}/tasks"), "root");
                rebuild(format!("{mount}/ontick-rest/tasks"), "rest");
            }
            _ => {}
        }
    }
}
