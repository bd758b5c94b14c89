//! Settings of one's own, which no knob is about, on a modelled machine: planned, changed and put back, wherever it is stopped.

mod machine;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use machine::stop::{Manner, at_each_step};
use machine::{Machine, back, difference, state};
use ontick_machine::own_setting::{OwnSetting, same_file};
use ontick_machine::plan::{OWN, State};
use ontick_machine::profile_file::ProfileFile;
use ontick_machine::status::SettingState;
use ontick_machine::{Journal, Profile, Target, TuningPlan, apply, boot, status};

const PAGES: &str = "/proc/sys/vm/nr_hugepages";
const SCHEDULER: &str = "/sys/block/sda/queue/scheduler";
const BUFFERS: &str = "/proc/sys/net/ipv4/tcp_rmem";

fn lay() -> Machine {
    let machine = Machine::lay("x86-grub");
    machine.write(PAGES, "0\n");
    machine.write(SCHEDULER, "none [mq-deadline] kyber\n");
    machine.write(BUFFERS, "4096\t131072\t6291456\n");
    machine
}

/// As a profile's file without knobs gives it.
fn target(machine: &Machine, own: &[(&str, &str)]) -> Target {
    let mut target = machine.target(Profile::LowLatency);
    target.only_arguments = Some(Vec::new());
    target.own = own.iter().map(|(name, value)| OwnSetting::new(name, value).unwrap()).collect();
    target
}

fn plan(machine: &Machine, own: &[(&str, &str)]) -> TuningPlan {
    TuningPlan::make(&machine.root, &machine.facts(), &target(machine, own)).unwrap()
}

const ALL: [(&str, &str); 3] = [("vm.nr_hugepages", "64"), (SCHEDULER, "none"), (BUFFERS, "4096 87380 16777216")];

#[test]
fn they_are_changed_and_put_back_as_any_knob() {
    let machine = lay();
    let before = state(&machine);
    let plan = plan(&machine, &ALL);
    let changes: Vec<_> =
        plan.changes().map(|i| (i.knob, i.path.as_str(), i.current.as_str(), i.wanted.as_str())).collect();
    assert_eq!(
        changes,
        [
            (OWN, PAGES, "0", "64"),
            (OWN, SCHEDULER, "mq-deadline", "none"),
            (OWN, BUFFERS, "4096\t131072\t6291456", "4096 87380 16777216")
        ]
    );
    assert!(apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap()).complete());
    assert_eq!(
        (machine.read(PAGES).as_str(), machine.read(SCHEDULER).as_str()),
        ("64\n", "[none] mq-deadline kyber\n")
    );
    let standing = status(&machine.root, &Journal::read(&machine.root).unwrap()).changes;
    assert!(standing.len() == 3 && standing.iter().all(|change| change.state == SettingState::AsSet), "{standing:?}");
    let again = self::plan(&machine, &ALL);
    assert!(again.items.iter().all(|item| item.state == State::AsWanted), "{:?}", again.items);
    assert!(back(&machine.root).complete());
    assert!(state(&machine) == before, "{}", difference(&before, &state(&machine)));

    let steps = at_each_step(&Manner::ALL, |kill| {
        let root = machine.root.clone().with_hook(kill.clone());
        if let Ok(mut journal) = Journal::open(&root) {
            apply(&root, &plan, &mut journal);
        }
        assert!(back(&machine.root).complete(), "{kill}");
        assert!(state(&machine) == before, "{kill}: {}", difference(&before, &state(&machine)));
    });
    assert!(steps > 8, "{steps}");
}

/// What becomes of one setting.
fn became(machine: &Machine, name: &str, value: &str) -> State {
    let mut items = plan(machine, &[(name, value)]).items;
    assert_eq!(items.len(), 1, "no knob is wanted");
    items.remove(0).state
}

#[test]
fn a_file_that_could_not_be_put_back_is_refused() {
    let machine = lay();
    let refused = |name: &str, part: &str| {
        let state = became(&machine, name, "1");
        assert!(matches!(&state, State::Refused(why) if why.contains(part)), "{name}: {state:?}");
    };
    machine.write("/sys/kernel/shown", "0\n");
    machine.write("/sys/kernel/taken", "0\n");
    machine.write("/sys/kernel/table", "a 1\nb 2\n");
    let mode =
        |path: &str, mode: u32| fs::set_permissions(machine.place(path), fs::Permissions::from_mode(mode)).unwrap();
    mode("/sys/kernel/shown", 0o444);
    mode("/sys/kernel/taken", 0o200);
    refused("/sys/kernel/shown", "cannot be written");
    refused("/sys/kernel/taken", "cannot be read");
    refused("/sys/kernel/table", "several lines");
    let missing = became(&machine, "vm.no_such_thing", "1");
    assert!(matches!(&missing, State::Absent(_)), "{missing:?}");
    let folder = became(&machine, "/sys/kernel/mm", "1");
    assert!(matches!(&folder, State::Unreadable(why) if why.contains("not a file")), "{folder:?}");
}

#[test]
fn of_an_amount_and_a_ratio_only_a_ratio_in_force_is_set() {
    let machine = lay();
    for (name, value) in
        [("dirty_bytes", "0\n"), ("dirty_ratio", "20\n"), ("overcommit_kbytes", "4096\n"), ("overcommit_ratio", "0\n")]
    {
        machine.write(&format!("/proc/sys/vm/{name}"), value);
    }
    symlink("../../proc/sys/vm", machine.place("/sys/kernel/vm")).unwrap();
    assert_eq!(became(&machine, "vm.dirty_ratio", "10"), State::Change);
    for (name, part) in [
        ("/sys/kernel/vm/dirty_bytes", "set the ratio instead (vm.dirty_ratio)"),
        ("vm.overcommit_ratio", "vm.overcommit_kbytes is set in its place"),
    ] {
        let state = became(&machine, name, "10");
        assert!(matches!(&state, State::Refused(why) if why.contains(part)), "{name}: {state:?}");
    }
}

#[test]
fn a_link_is_followed_inside_and_not_out() {
    let machine = lay();
    machine.write("/etc/secret", "0\n");
    machine.write("/proc/1/oom_score_adj", "0\n");
    let link = |path: &str, target: &str| symlink(target, machine.place(path)).unwrap();
    link("/sys/kernel/out", "../../etc/secret");
    link("/sys/kernel/process", "/proc/1");
    link("/sys/kernel/inside", "../block/sda/queue");
    for path in ["/sys/kernel/out", "/sys/kernel/process/oom_score_adj"] {
        let state = became(&machine, path, "1");
        assert!(matches!(&state, State::Refused(why) if why.contains("not below /sys")), "{path}: {state:?}");
    }
    assert_eq!(became(&machine, "/sys/kernel/inside/scheduler", "none"), State::Change);
}

const SCHEDULER_BY_CLASS: &str = "/sys/class/block/sda/queue/scheduler";

/// A machine whose disk has a second name.
fn lay_with_links() -> Machine {
    let machine = lay();
    fs::create_dir_all(machine.place("/sys/class/block")).unwrap();
    symlink("../../block/sda", machine.place("/sys/class/block/sda")).unwrap();
    machine
}

fn make(machine: &Machine, plan: &TuningPlan) {
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(apply(&machine.root, plan, &mut journal).complete());
    journal.close();
}

#[test]
fn a_file_under_two_names_is_set_once() {
    let machine = lay_with_links();
    let before = state(&machine);
    let both = [(SCHEDULER, "none"), (SCHEDULER_BY_CLASS, "kyber")];
    let named = target(&machine, &both).own;
    assert_eq!(same_file(&machine.root, &named), Some([&named[0], &named[1]]));
    assert_eq!(same_file(&machine.root, &target(&machine, &ALL).own), None);
    let plan = plan(&machine, &both);
    assert!(plan.items.iter().all(|item| item.path == SCHEDULER), "{:?}", plan.items);
    assert!(matches!(&plan.items[1].state, State::Refused(why) if why.contains("twice")), "{:?}", plan.items);
    make(&machine, &plan);
    assert_eq!(machine.read(SCHEDULER), "[none] mq-deadline kyber\n");
    assert!(back(&machine.root).complete());
    assert!(state(&machine) == before, "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_file_set_under_one_name_then_under_another_goes_back_to_its_first_value() {
    let machine = lay_with_links();
    let before = state(&machine);
    for value in ["none", "kyber", "none"] {
        make(&machine, &plan(&machine, &[(SCHEDULER_BY_CLASS, value)]));
    }
    // A knob's path may have links, too.
    let mut linked = plan(&machine, &[(SCHEDULER, "kyber")]);
    linked.items[0].path = SCHEDULER_BY_CLASS.into();
    make(&machine, &linked);
    assert_eq!(Journal::read(&machine.root).unwrap().entries().count(), 1);
    assert!(back(&machine.root).complete());
    make(&machine, &linked);
    make(&machine, &plan(&machine, &[(SCHEDULER, "none")]));
    assert_eq!(Journal::read(&machine.root).unwrap().entries().count(), 1);
    assert!(back(&machine.root).complete());
    assert!(state(&machine) == before, "{}", difference(&before, &state(&machine)));
}

#[test]
fn a_file_that_a_knob_of_the_plan_sets_is_that_knobs() {
    let machine = lay();
    symlink("../../proc/sys/vm", machine.place("/sys/kernel/vm")).unwrap();
    for path in ["vm.stat_interval", "/sys/kernel/vm/stat_interval"] {
        let mut target = target(&machine, &[(path, "7")]);
        target.only = vec!["stat-interval".into()];
        let plan = TuningPlan::make(&machine.root, &machine.facts(), &target).unwrap();
        let own = plan.items.iter().find(|item| item.knob == OWN).unwrap();
        assert!(matches!(&own.state, State::Refused(why) if why.starts_with("stat-interval ")), "{own:?}");
        assert_eq!(plan.changes().map(|item| item.wanted.as_str()).collect::<Vec<_>>(), ["10"]);
    }
    assert_eq!(became(&machine, "vm.stat_interval", "7"), State::Change, "no knob of this plan sets it");
}

#[test]
fn a_file_that_a_knob_of_the_plan_leaves_alone_may_be_set() {
    let machine = lay();
    machine.write("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    let mut target = target(&machine, &[("vm.swappiness", "7")]);
    target.only = vec!["swappiness".into()];
    let plan = TuningPlan::make(&machine.root, &machine.facts(), &target).unwrap();
    let states: Vec<_> = plan.items.iter().map(|item| (item.knob, &item.state)).collect();
    assert!(matches!(states[..], [("swappiness", State::Left(_)), (OWN, State::Change)]), "{states:?}");
}

#[test]
fn at_boot_they_are_read_from_a_file_of_roots_own() {
    let machine = lay();
    let before = state(&machine);
    let write = |own: &[(&str, &str)]| {
        let (facts, target) = (machine.facts(), target(&machine, own));
        let mut plan = boot::plan(&machine.root, &facts, &target, false).unwrap();
        boot::unit::keep_profile(&mut plan, &machine.root, &target).unwrap();
        let applied = boot::apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap());
        assert!(applied.stopped.is_none(), "{applied:?}");
    };
    write(&[]);
    assert!(!machine.place(boot::unit::PROFILE).exists());
    write(&ALL);
    let kept = ProfileFile::parse(&machine.read(boot::unit::PROFILE)).unwrap();
    assert!(
        kept.set.len() == ALL.len() && target(&machine, &ALL).own.iter().all(|own| kept.set.contains(own)),
        "{kept:?}"
    );
    assert_eq!(kept.knobs, [""; 0]);
    write(&[]);
    assert!(machine.read(boot::unit::PROFILE).lines().all(|line| line.starts_with('#')), "nothing of the first stays");
    assert!(back(&machine.root).complete());
    assert!(state(&machine) == before, "{}", difference(&before, &state(&machine)));
}
