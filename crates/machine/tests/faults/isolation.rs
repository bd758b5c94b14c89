//! CPUs kept for one program by control groups, and taken back.

use std::sync::{Arc, Mutex};

use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Journal, Profile, isolate, revert};

use super::kernel::Kernel;
use super::machine::{Machine, difference, state};

#[test]
fn a_partition_isolates_where_the_kernel_has_one() {
    let machine = Machine::lay("pi5");
    let before = state(&machine);
    let kernel = Arc::new(Kernel::default());
    let root = machine.root.clone().with_hook(kernel);
    let (facts, mut target) = (machine.facts(), machine.target(Profile::DedicatedCore));
    let mut journal = Journal::open(&root).unwrap();
    assert!(isolate::isolate(&root, &facts, &target, &mut journal).unwrap_err() == isolate::IsolateError::NotAsked);
    target.isolate = true;
    let done = isolate::isolate(&root, &facts, &target, &mut journal).unwrap();
    assert_eq!((done.group.as_deref(), done.refused), (Some("/sys/fs/cgroup/ontick"), None));
    assert_eq!(machine.read("/sys/fs/cgroup/ontick/cpuset.cpus.exclusive"), "3\n");
    assert_eq!(machine.read("/sys/fs/cgroup/ontick/cpuset.cpus.partition"), "isolated\n");
    assert_eq!(machine.read("/sys/fs/cgroup/cgroup.subtree_control"), "cpu memory pids cpuset\n");
    // A program of the group made one of its own, and is still in it.
    root.make_folder("/sys/fs/cgroup/ontick/inner").unwrap();
    machine.write("/sys/fs/cgroup/ontick/inner/cgroup.procs", "871\n");
    let moved = Arc::new(std::sync::Mutex::new(Vec::new()));
    let watched = machine.root.clone().with_hook(Arc::new(Moves(moved.clone())));
    assert!(revert(&watched, &mut journal, false).complete());
    journal.close();
    let of = |group: &str| ("/sys/fs/cgroup".to_owned() + group, String::from("871"));
    assert_eq!(*moved.lock().unwrap(), [of("/ontick/cgroup.procs"), of("/cgroup.procs")], "the innermost first");
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

/// Which task was written into which group.
struct Moves(Arc<Mutex<Vec<(String, String)>>>);

impl Hook for Moves {
    fn before(&self, act: &Act) -> Verdict {
        if let Act::Set { path, value } = act {
            if path.ends_with("/cgroup.procs") {
                self.0.lock().unwrap().push((path.to_string(), value.to_string()));
            }
        }
        Verdict::Go
    }

    fn after(&self, _act: &Act, _place: &std::path::Path) {}
}

#[test]
fn a_partition_that_the_kernel_finds_invalid_is_taken_back() {
    let machine = Machine::lay("pi5");
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(Kernel { invalid: true, ..Kernel::default() }));
    let (facts, mut target) = (machine.facts(), machine.target(Profile::DedicatedCore));
    target.isolate = true;
    let mut journal = Journal::open(&root).unwrap();
    let done = isolate::isolate(&root, &facts, &target, &mut journal).unwrap();
    assert!(done.refused.is_some_and(|why| why.contains("not exclusive")));
    assert_eq!(journal.entries().count(), 0);
    revert(&root, &mut journal, false);
    journal.close();
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn tasks_are_moved_away_and_come_back() {
    let machine = Machine::lay("pi3b-stretch");
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(Kernel::default()));
    let (facts, mut target) = (machine.facts(), machine.target(Profile::DedicatedCore));
    target.isolate = true;
    let mut journal = Journal::open(&root).unwrap();
    let done = isolate::isolate(&root, &facts, &target, &mut journal).unwrap();
    assert_eq!((done.method.as_str(), done.moved), ("cgroup v1 cpuset", 2));
    let stayed: Vec<_> = done.stayed.iter().map(|s| (s.name.as_str(), s.why.contains("cannot be moved"))).collect();
    assert_eq!(stayed, [("migration/3", true), ("kworker/u8:1", false)]);
    assert_eq!(machine.read("/sys/fs/cgroup/cpuset/tasks"), "19\n52\n");
    assert_eq!(machine.read("/sys/fs/cgroup/cpuset/ontick-rest/tasks"), "1\n871\n");
    assert_eq!(machine.read("/sys/fs/cgroup/cpuset/ontick-rest/cpuset.cpus"), "0-2\n");
    assert_eq!(machine.facts().cgroups.isolated().to_string(), "3");
    let remedy = ontick_machine::Remedy::to_string;
    let found = ontick_machine::check(&machine.facts(), &machine.target(Profile::DedicatedCore), &remedy);
    let isolation = found.iter().find(|finding| finding.id == "isolation").unwrap();
    assert_eq!(isolation.observed, "CPU 3 is isolated by a control group");
    let balanced = "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance";
    assert_eq!(machine.read(balanced), "0\n");
    // What another program sets meanwhile is set again, and what was there before ontick is still known.
    machine.write(balanced, "1\n");
    isolate::isolate(&root, &facts, &target, &mut journal).unwrap();
    assert_eq!(machine.read(balanced), "0\n");
    let reverted = revert(&root, &mut journal, false);
    assert!(reverted.complete(), "{reverted:?}");
    journal.close();
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn one_cpu_is_not_isolated() {
    let machine = Machine::lay("beaglebone");
    let mut target = machine.target(Profile::DedicatedCore);
    target.isolate = true;
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(
        isolate::isolate(&machine.root, &machine.facts(), &target, &mut journal).unwrap_err()
            == isolate::IsolateError::OneCpu
    );
}
