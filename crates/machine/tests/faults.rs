//! Whatever happens at whatever step, `revert` restores every value.

mod machine;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use machine::stop::{Kill, Manner, at_each_step};
use machine::{MACHINES, Machine, difference, state};
use ontick_machine::apply::Outcome;
use ontick_machine::boot;
use ontick_machine::journal::PATH;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Applied, Facts, Journal, Profile, Root, TuningPlan, apply, isolate, revert, status};
use ontick_undo::Undone;

/// Everything that `tune apply --isolate --boot` does.
fn tune(root: &Root, plan: &TuningPlan, facts: &Facts) {
    let Ok(mut journal) = Journal::open(root) else { return };
    if apply(root, plan, &mut journal).stopped.is_some() {
        return;
    }
    if let Ok(mut boot_plan) = boot::plan(root, facts, &plan.target, false) {
        boot::unit::add_to(&mut boot_plan, root, "/usr/bin/ontick", &["tune", "apply"]).unwrap();
        if boot::apply(root, &boot_plan, &mut journal).stopped.is_none() {
            let _ = boot::unit::enable(root, boot::unit::PATH, &mut journal);
        }
    }
    let mut target = plan.target.clone();
    target.isolate = true;
    let _ = isolate::isolate(root, facts, &target, &mut journal);
}

fn back(root: &Root, force: bool) -> ontick_machine::Reverted {
    let mut journal = Journal::open(root).unwrap();
    let reverted = revert(root, &mut journal, force);
    journal.close();
    reverted
}

#[test]
fn stopped_at_any_step_everything_comes_back() {
    for name in MACHINES {
        let machine = Machine::lay(name);
        let before = state(&machine);
        let (plan, facts) = (machine.plan(Profile::DedicatedCore), machine.facts());
        let steps = at_each_step(&Manner::ALL, |kill| {
            let kernel = Arc::new(Kernel::default());
            tune(&machine.root.clone().with_hook(Arc::new(Both(kernel.clone(), kill.clone()))), &plan, &facts);
            let reverted = back(&machine.root.clone().with_hook(kernel), false);
            assert!(reverted.complete(), "{name}, {kill}: {reverted:?}");
            assert!(before == state(&machine), "{name}, {kill}: {}", difference(&before, &state(&machine)));
        });
        assert!(steps > 10, "{name}: only {steps} steps were tried");
    }
}

/// A journal of version 0.1.0, with all that it had changed: what later versions must go on reading.
#[test]
fn a_journal_that_an_earlier_version_left_is_reverted() {
    let (tuned, before) = (Machine::lay("x86-grub-tuned"), state(&Machine::lay("x86-grub")));
    assert!(tuned.read(PATH).lines().count() > 50 && state(&tuned) != before);
    let reverted = back(&tuned.root, false);
    assert!(reverted.complete() && reverted.damage.is_empty() && reverted.steps.len() > 25, "{reverted:?}");
    let now = state(&tuned);
    assert!(before == now, "{}", difference(&before, &now));
}

#[test]
fn a_revert_that_is_stopped_can_be_repeated() {
    for name in ["pi5", "x86-grub", "pi3b-stretch", "vm"] {
        let machine = Machine::lay(name);
        let before = state(&machine);
        let (plan, facts) = (machine.plan(Profile::DedicatedCore), machine.facts());
        at_each_step(&Manner::ALL, |kill| {
            let kernel = Arc::new(Kernel::default());
            let root = machine.root.clone().with_hook(kernel.clone());
            tune(&root, &plan, &facts);
            back(&machine.root.clone().with_hook(Arc::new(Both(kernel, kill.clone()))), false);
            let reverted = back(&root, false);
            assert!(reverted.complete(), "{name}, {kill}: {reverted:?}");
            assert!(before == state(&machine), "{name}, {kill}: {}", difference(&before, &state(&machine)));
        });
    }
}

struct Both(Arc<Kernel>, Arc<Kill>);

impl Hook for Both {
    fn before(&self, act: &Act) -> Verdict {
        match self.1.before(act) {
            Verdict::Go => self.0.before(act),
            other => other,
        }
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        self.0.after(act, place);
    }
}

/// A model of what the kernel does beyond keeping values: new control groups have files, a task is in one
/// group, and the limits of real-time time contain one another.
#[derive(Default)]
struct Kernel {
    invalid: bool,
    base: Mutex<HashMap<String, String>>,
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

/// Refuses chosen writes.
struct Refuse(i32, fn(&Act) -> bool);

impl Hook for Refuse {
    fn before(&self, act: &Act) -> Verdict {
        if (self.1)(act) { Verdict::Refuse(io::Error::from_raw_os_error(self.0)) } else { Verdict::Go }
    }
}

/// Applies a plan to a machine that goes its own way.
fn applied(machine: &Machine, plan: &TuningPlan, hook: impl Hook + 'static) -> Applied {
    let root = machine.root.clone().with_hook(Arc::new(hook));
    let mut journal = Journal::open(&root).unwrap();
    apply(&root, plan, &mut journal)
}

/// Frequencies that the hardware has not are rounded to those that it has.
struct Rounding;

impl Hook for Rounding {
    fn before(&self, _act: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        if act.path().ends_with("/scaling_min_freq") && matches!(act, Act::Set { value, .. } if *value != "800000") {
            std::fs::write(place, "4500000\n").unwrap();
        }
    }
}

#[test]
fn what_the_kernel_rounds_is_reported_and_comes_back() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let applied = applied(&machine, &machine.plan(Profile::DedicatedCore), Rounding);
    let rounded = applied.changes.iter().find(|c| c.knob == "lowest-frequency").unwrap();
    assert_eq!((rounded.to.as_str(), &rounded.outcome), ("4600000", &Outcome::Different("4500000".into())));
    // Not taken for somebody else's.
    assert!(back(&machine.root, false).complete());
    assert!(before == state(&machine));
}

/// Starting and stopping khugepaged chooses a reserve of memory anew.
struct Khugepaged;

impl Hook for Khugepaged {
    fn before(&self, _act: &Act) -> Verdict {
        Verdict::Go
    }

    fn after(&self, act: &Act, place: &std::path::Path) {
        let Act::Set { path: "/sys/kernel/mm/transparent_hugepage/enabled", value } = act else { return };
        let base = place.ancestors().nth(5).unwrap();
        let reserve = if *value == "never" { "19857\n" } else { "67584\n" };
        std::fs::write(base.join("proc/sys/vm/min_free_kbytes"), reserve).unwrap();
    }
}

#[test]
fn what_the_kernel_changes_along_comes_back_too() {
    let machine = Machine::lay("vm");
    machine.write("/proc/sys/vm/min_free_kbytes", "9000\n");
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(Khugepaged));
    assert!(applied(&machine, &machine.plan(Profile::DedicatedCore), Khugepaged).complete());
    let along = |machine: &Machine| {
        let now = status(&root, &Journal::read(&root).unwrap());
        let found = now.changes.into_iter().find(|c| c.path.ends_with("min_free_kbytes"));
        (found.map(|c| (c.original, c.now, c.state)), machine.read("/proc/sys/vm/min_free_kbytes"))
    };
    let changed = Some(("9000".to_owned(), "19857".to_owned(), status::SettingState::AsSet));
    assert_eq!(along(&machine), (changed, "19857\n".into()));
    // A second look at the same setting keeps the first value.
    machine.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    assert!(applied(&machine, &machine.plan(Profile::DedicatedCore), Khugepaged).complete());
    assert!(back(&root, false).complete());
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
    // What somebody else chose meanwhile is theirs.
    assert!(applied(&machine, &machine.plan(Profile::DedicatedCore), Khugepaged).complete());
    machine.write("/proc/sys/vm/min_free_kbytes", "30000\n");
    let left = back(&root, false);
    assert!(
        left.steps.iter().any(|s| matches!(&s.outcome, Undone::ChangedByOthers(now) if now == "30000")),
        "{left:?}"
    );
    assert_eq!(machine.read("/proc/sys/vm/min_free_kbytes"), "30000\n");
    assert!(back(&root, true).complete());
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_setting_that_is_refused_has_changed_nothing_along() {
    let machine = Machine::lay("vm");
    machine.write("/proc/sys/vm/min_free_kbytes", "9000\n");
    let before = state(&machine);
    let plan = machine.plan(Profile::DedicatedCore);
    applied(&machine, &plan, Refuse(1, |act| matches!(act, Act::Set { path, .. } if path.contains("hugepage"))));
    assert!(Journal::read(&machine.root).unwrap().entry("/proc/sys/vm/min_free_kbytes").is_none());
    assert!(back(&machine.root, false).complete());
    assert!(before == state(&machine));
}

#[test]
fn an_interrupt_that_has_not_moved_yet_is_reported() {
    let machine = Machine::lay("vm");
    machine.write("/proc/irq/36/effective_affinity_list", "1\n");
    machine.write("/proc/irq/41/effective_affinity_list", "0\n");
    let applied = applied(&machine, &machine.plan(Profile::DedicatedCore), Refuse(0, |_| false));
    assert!(applied.complete());
    let note = |path: &str| applied.changes.iter().find(|c| c.path.contains(path)).unwrap().note.clone();
    assert_eq!((note("/36/").as_deref(), note("/41/")), (Some("on CPU 1 until it occurs next"), None));
    let standing = status(&machine.root, &Journal::read(&machine.root).unwrap());
    assert_eq!(standing.changes.iter().filter(|c| c.note.is_some()).count(), 1);
    let seen = |machine: &Machine| {
        let all = ontick_machine::check(
            &machine.facts(),
            &machine.target(Profile::DedicatedCore),
            &ontick_machine::Remedy::to_string,
        );
        all.into_iter().find(|f| f.id == "interrupts").unwrap()
    };
    assert!(seen(&machine).observed.contains("may be delivered once more: 36 virtio1-req.0"), "{:?}", seen(&machine));
    machine.write("/proc/irq/36/effective_affinity_list", "0\n");
    assert_eq!(seen(&machine).observed, "no device interrupt goes to CPU 1");
}

#[test]
fn a_refused_write_is_reported_and_the_others_are_done() {
    for (code, word) in [(1, "EPERM"), (22, "EINVAL"), (5, "EIO")] {
        let machine = Machine::lay("vm");
        let before = state(&machine);
        let plan = machine.plan(Profile::DedicatedCore);
        let refuse = Refuse(code, |act| matches!(act, Act::Set { path, .. } if path.contains("/irq/36/")));
        let applied = applied(&machine, &plan, refuse);
        assert!(applied.stopped.is_none() && !applied.complete());
        for change in &applied.changes {
            match change.path.contains("/irq/36/") {
                true => assert!(
                    matches!(&change.outcome, Outcome::Refused(why) if why.contains(word) && why.contains("driver") == (code != 22)),
                    "{change:?}"
                ),
                false => assert_eq!(change.outcome, Outcome::Done, "{}", change.path),
            }
        }
        assert_eq!(machine.read("/proc/irq/41/smp_affinity_list"), "0\n");
        assert_eq!(machine.read("/proc/irq/36/smp_affinity_list"), "0-1\n");
        assert!(back(&machine.root, false).complete());
        assert!(before == state(&machine));
    }
}

#[test]
fn a_read_only_machine_stays_as_it_is() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let plan = machine.plan(Profile::DedicatedCore);
    let applied = applied(&machine, &plan, Refuse(30, |act| matches!(act, Act::Set { .. })));
    assert!(applied.changes.iter().all(|c| matches!(&c.outcome, Outcome::Refused(why) if why.contains("read-only"))));
    assert_eq!(applied.changes.len(), plan.changes().count());
    assert!(back(&machine.root, false).complete());
    assert!(before == state(&machine));
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let plan = machine.plan(Profile::DedicatedCore);
    let root = machine.root.clone().with_hook(Arc::new(Refuse(28, |act| matches!(act, Act::Append { .. }))));
    let mut journal = Journal::open(&root).unwrap();
    let applied = apply(&root, &plan, &mut journal);
    assert!(applied.stopped.as_ref().is_some_and(|why| why.contains("ENOSPC") && why.contains(PATH)), "{applied:?}");
    assert!(applied.changes.is_empty());
    journal.close();
    assert!(before == state(&machine));
    let root = machine.root.clone().with_hook(Arc::new(Refuse(13, |act| matches!(act, Act::MakeFolder { .. }))));
    assert!(Journal::open(&root).err().unwrap().to_string().contains("sudo"));
}

#[test]
fn a_full_boot_partition_leaves_the_old_files() {
    // At the backup, at the new file, at its renaming, and at the second file of two.
    let refusals: [fn(&Act) -> bool; 4] = [
        |act| matches!(act, Act::Create { path, .. } if path.contains(".ontick-2")),
        |act| matches!(act, Act::Create { path, .. } if path.ends_with("/.cmdline.txt.ontick-new")),
        |act| matches!(act, Act::Rename { path, .. } if path.ends_with("/cmdline.txt")),
        |act| matches!(act, Act::Create { path, .. } if path.ends_with("/.config.txt.ontick-new")),
    ];
    for refused in refusals {
        let machine = Machine::lay("pi5");
        let before = state(&machine);
        let (facts, target) = (machine.facts(), machine.target(Profile::DedicatedCore));
        let plan = boot::plan(&machine.root, &facts, &target, false).unwrap();
        let root = machine.root.clone().with_hook(Arc::new(Refuse(28, refused)));
        let mut journal = Journal::open(&root).unwrap();
        let done = boot::apply(&root, &plan, &mut journal);
        assert!(done.stopped.is_some_and(|why| why.contains("ENOSPC")) && done.written.is_empty());
        assert_eq!(journal.entries().count(), 0);
        drop(journal);
        assert!(back(&machine.root, false).complete());
        assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
    }
}

#[test]
fn what_others_changed_is_reported_and_left() {
    let machine = Machine::lay("x86-grub");
    let before = state(&machine);
    let mut journal = Journal::open(&machine.root).unwrap();
    let plan = machine.plan(Profile::DedicatedCore);
    assert!(apply(&machine.root, &plan, &mut journal).complete());
    let boot_plan = boot::plan(&machine.root, &machine.facts(), &plan.target, false).unwrap();
    assert!(boot::apply(&machine.root, &boot_plan, &mut journal).stopped.is_none());
    drop(journal);
    machine.write("/proc/sys/vm/swappiness", "42\n");
    machine.write("/etc/default/grub.d/zz-ontick.cfg", "# mine now\n");
    let journal = Journal::read(&machine.root).unwrap();
    let now = status(&machine.root, &journal);
    let changed: Vec<_> = now
        .changes
        .iter()
        .filter(|c| c.state == status::SettingState::ChangedByOthers)
        .map(|c| c.path.as_str())
        .collect();
    assert_eq!(changed, ["/proc/sys/vm/swappiness", "/etc/default/grub.d/zz-ontick.cfg"]);
    let reverted = back(&machine.root, false);
    let left: Vec<_> = reverted.steps.iter().filter(|s| !s.outcome.settled()).collect();
    assert!(left.iter().any(|s| s.outcome == Undone::ChangedByOthers("42".into())), "{left:?}");
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "42\n");
    assert_eq!(machine.read("/etc/default/grub.d/zz-ontick.cfg"), "# mine now\n");
    // Once more nothing happens; forced, all of it comes back.
    assert!(!back(&machine.root, false).complete());
    assert!(back(&machine.root, true).complete());
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_second_apply_takes_anothers_value_as_the_original() {
    let machine = Machine::lay("x86-grub");
    let go = || {
        let mut journal = Journal::open(&machine.root).unwrap();
        let applied = apply(&machine.root, &machine.plan(Profile::DedicatedCore), &mut journal);
        assert!(applied.complete());
        applied.changes.into_iter().find(|c| c.knob == "swappiness").unwrap()
    };
    assert_eq!(go().note, None);
    machine.write("/proc/sys/vm/swappiness", "42\n");
    let again = go();
    assert!(again.note.is_some_and(|note| note.contains("another program had set 42")));
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "1\n");
    assert!(back(&machine.root, false).complete());
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "42\n");
}

#[test]
fn a_restart_undoes_values_and_leaves_files_to_revert() {
    let machine = Machine::lay("pi5");
    let before = state(&machine);
    let mut journal = Journal::open(&machine.root).unwrap();
    let plan = machine.plan(Profile::DedicatedCore);
    let boot_plan = boot::plan(&machine.root, &machine.facts(), &plan.target, false).unwrap();
    assert!(boot::apply(&machine.root, &boot_plan, &mut journal).stopped.is_none());
    let tuned_files = state(&machine);
    assert!(apply(&machine.root, &plan, &mut journal).complete());
    drop(journal);
    // The kernel starts with its own values again, and somebody has set one of them already.
    for (path, content) in tuned_files.iter().filter(|(p, _)| p.starts_with("proc") || p.starts_with("sys")) {
        let place = machine.place("/").join(path);
        if place.is_file() {
            std::fs::write(place, content).unwrap();
        }
    }
    machine.write("/proc/sys/kernel/random/boot_id", "another\n");
    machine.write("/proc/sys/vm/swappiness", "10\n");
    let journal = Journal::read(&machine.root).unwrap();
    assert_eq!(status(&machine.root, &journal).undone_by_restart, plan.changes().count());
    let reverted = back(&machine.root, false);
    assert!(reverted.complete() && reverted.steps.iter().all(|s| s.knob == "boot"), "{reverted:?}");
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "10\n");
    machine.write("/proc/sys/vm/swappiness", "60\n");
    std::fs::copy(
        Machine::lay("pi5").place("/proc/sys/kernel/random/boot_id"),
        machine.place("/proc/sys/kernel/random/boot_id"),
    )
    .unwrap();
    assert!(before == state(&machine), "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_device_that_is_gone_is_no_fault() {
    let machine = Machine::lay("x86-grub");
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(apply(&machine.root, &machine.plan(Profile::DedicatedCore), &mut journal).complete());
    drop(journal);
    std::fs::remove_dir_all(machine.place("/sys/class/net/eno1")).unwrap();
    let reverted = back(&machine.root, false);
    assert!(reverted.complete() && reverted.steps.iter().any(|s| s.outcome == Undone::Gone && s.path.contains("eno1")));
}

/// The kernel's rule: no group more than the whole, the whole no less than a group.
struct RealTimeLimits(std::path::PathBuf);

impl Hook for RealTimeLimits {
    fn before(&self, act: &Act) -> Verdict {
        let Act::Set { path, value } = act else { return Verdict::Go };
        let read = |file: &str| std::fs::read_to_string(self.0.join(file)).unwrap().trim().parse::<i64>().unwrap();
        let unlimited = |n: i64| if n < 0 { i64::MAX } else { n };
        let refused = if path.ends_with("sched_rt_runtime_us") {
            unlimited(value.parse().unwrap()) < unlimited(read("sys/fs/cgroup/cpu/cpu.rt_runtime_us"))
        } else if path.ends_with("cpu.rt_runtime_us") {
            unlimited(value.parse().unwrap()) > unlimited(read("proc/sys/kernel/sched_rt_runtime_us"))
        } else {
            false
        };
        if refused { Verdict::Refuse(io::Error::from_raw_os_error(22)) } else { Verdict::Go }
    }
}

#[test]
fn real_time_limits_are_raised_and_lowered_in_the_order_that_the_kernel_takes() {
    let machine = Machine::lay("vm");
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(RealTimeLimits(machine.place("/"))));
    let mut journal = Journal::open(&root).unwrap();
    assert!(apply(&root, &machine.plan(Profile::DedicatedCore), &mut journal).complete());
    assert_eq!(machine.read("/sys/fs/cgroup/cpu/cpu.rt_runtime_us"), "-1\n");
    let reverted = revert(&root, &mut journal, false);
    assert!(reverted.complete(), "{reverted:?}");
    journal.close();
    assert!(before == state(&machine));
}

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
