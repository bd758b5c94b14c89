//! What servers have and smaller machines have not, on a modelled machine with two packages: found, planned, changed and put
//! back, wherever it is stopped.

mod machine;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine::stop::{Kill, Manner, at_each_step};
use machine::{Machine, back, state};
use ontick_machine::plan::State;
use ontick_machine::root::{Act, Hook, Verdict};
use ontick_machine::{Finding, Journal, Profile, Remedy, Severity, Target, TuningPlan, apply, check};

/// CPU 3 is the one for timed programs; it is in package 1, with CPU 1.
fn lay() -> Machine {
    Machine::lay("x86-server")
}

fn target(machine: &Machine, knob: &str) -> Target {
    let mut target = machine.target(Profile::DedicatedCore);
    target.only = vec![knob.into()];
    target
}

fn plan(machine: &Machine, knob: &str) -> TuningPlan {
    TuningPlan::make(&machine.root, &machine.facts(), &target(machine, knob)).unwrap()
}

/// What the check of this name says, if anything.
fn finding(machine: &Machine, id: &str) -> Option<Finding> {
    let all = check(&machine.facts(), &machine.target(Profile::DedicatedCore), &Remedy::to_string);
    all.into_iter().find(|finding| finding.id == id)
}

/// Stops the change at each of its steps, on a machine that goes its own way as `kernel` says.
fn comes_back(machine: &Machine, knob: &str, kernel: impl Hook + Clone + 'static) -> usize {
    let before = state(machine);
    let plan = plan(machine, knob);
    assert!(plan.changes().count() > 0, "{plan:?}");
    at_each_step(&Manner::ALL, |kill| {
        let root = machine.root.clone().with_hook(Arc::new(Both(kernel.clone(), kill.clone())));
        if let Ok(mut journal) = Journal::open(&root) {
            apply(&root, &plan, &mut journal);
        }
        let reverted = back(&machine.root.clone().with_hook(Arc::new(kernel.clone())));
        assert!(reverted.complete(), "{kill}: {reverted:?}");
        assert_eq!(state(machine), before, "{kill}");
    })
}

struct Both<K>(K, Arc<Kill>);

impl<K: Hook> Hook for Both<K> {
    fn before(&self, act: &Act) -> Verdict {
        match self.1.before(act) {
            Verdict::Go => self.0.before(act),
            other => other,
        }
    }

    fn after(&self, act: &Act, place: &Path) {
        self.0.after(act, place);
    }
}

/// The lowest frequency of an uncore is never above its highest.
#[derive(Clone)]
struct Uncore(PathBuf);

impl Hook for Uncore {
    fn before(&self, act: &Act) -> Verdict {
        let Act::Set { path, value } = act else { return Verdict::Go };
        let Some((folder, name)) = path.rsplit_once('/').filter(|(_, name)| name.ends_with("_freq_khz")) else {
            return Verdict::Go;
        };
        let read =
            |name: &str| fs::read_to_string(self.0.join(&folder[1..]).join(name)).unwrap().trim().parse().unwrap();
        let value: u64 = value.parse().unwrap();
        let turned = match name {
            "min_freq_khz" => value > read("max_freq_khz"),
            _ => value < read("min_freq_khz"),
        };
        if turned { Verdict::Refuse(io::Error::from_raw_os_error(22)) } else { Verdict::Go }
    }
}

#[test]
fn the_uncore_of_the_timed_cpus_keeps_its_highest_frequency() {
    let machine = lay();
    let seen = finding(&machine, "uncore-frequency").unwrap();
    assert_eq!((seen.severity, seen.observed.as_str()), (Severity::Warn, "800–2000 MHz"));
    assert_eq!(seen.knob.as_deref(), Some("uncore-frequency"));
    let plan = plan(&machine, "uncore-frequency");
    let of = |package: u32, file: &str| {
        let path = format!("/sys/devices/system/cpu/intel_uncore_frequency/package_0{package}_die_00/{file}_freq_khz");
        plan.items.iter().find(|item| item.path == path).unwrap()
    };
    assert_eq!((of(1, "min").wanted.as_str(), of(1, "max").wanted.as_str()), ("2400000", "2400000"));
    assert!(matches!(&of(0, "min").state, State::Left(why) if why.contains("its package has CPU 0,2")));
    assert_eq!(plan.items.len(), 4, "neither what is shown only nor the highest of before is set: {:?}", plan.items);
    let uncore = Uncore(machine.folder().to_owned());
    assert!(comes_back(&machine, "uncore-frequency", uncore.clone()) > 5);
    let root = machine.root.clone().with_hook(Arc::new(uncore));
    let mut journal = Journal::open(&root).unwrap();
    assert!(apply(&root, &plan, &mut journal).complete());
    assert_eq!(finding(&machine, "uncore-frequency").unwrap().observed, "2400–2400 MHz: it does not move");
    drop(journal);
    let reverted = back(&root);
    assert!(reverted.complete(), "{reverted:?}");
}

/// Clusters have values of their own, which setting that of their die would overwrite.
#[test]
fn clusters_of_an_uncore_are_set_one_by_one() {
    let machine = lay();
    for (cluster, package, lowest) in [(0, 0, 800_000), (1, 1, 900_000), (2, 1, 1_000_000)] {
        let folder = format!("/sys/devices/system/cpu/intel_uncore_frequency/uncore0{cluster}");
        machine.write(&format!("{folder}/package_id"), &format!("{package}\n"));
        for (name, khz) in [("min", lowest), ("max", 2_000_000), ("initial_min", lowest), ("initial_max", 2_200_000)] {
            machine.write(&format!("{folder}/{name}_freq_khz"), &format!("{khz}\n"));
        }
    }
    let plan = plan(&machine, "uncore-frequency");
    let changes: Vec<_> =
        plan.changes().map(|item| (item.path.rsplit('/').nth(1).unwrap(), item.wanted.as_str())).collect();
    assert_eq!(
        changes,
        [("uncore01", "2200000"), ("uncore01", "2200000"), ("uncore02", "2200000"), ("uncore02", "2200000")]
    );
    assert!(comes_back(&machine, "uncore-frequency", Uncore(machine.folder().to_owned())) > 10);
}

#[test]
fn stalld_is_reported_where_it_watches_the_timed_cpu() {
    let machine = lay();
    assert!(finding(&machine, "stalld").is_none(), "it does not run");
    machine.write("/proc/733/comm", "stalld\n");
    let started =
        |words: &str| machine.write("/proc/733/cmdline", &format!("/usr/bin/stalld {words} ").replace(' ', "\0"));
    started("--systemd -p 100000000 -r 50000 -t 30");
    let watches = finding(&machine, "stalld").unwrap();
    assert_eq!(watches.observed, "it watches CPU 3: a thread that starves for 30 s gets 50 µs of every 100 ms there");
    assert_eq!((watches.severity, watches.effect_ns), (Severity::Warn, Some(50_000)));
    assert!(watches.now.unwrap().contains("-c 0-2"));
    for (words, says) in [("-c 0-2", "it watches CPU 0-2, not CPU 3"), ("-l", "it only logs")] {
        started(words);
        let leaves = finding(&machine, "stalld").unwrap();
        assert!(leaves.severity == Severity::Ok && leaves.observed.starts_with(says), "{leaves:?}");
    }
}

/// The device has its registers at their numbers.
fn count_smis(machine: &Machine, cpu: u32, count: u32) {
    let mut registers = vec![0xff; 0x34];
    registers.extend(u64::from(count).to_le_bytes());
    let place = machine.place(&format!("/dev/cpu/{cpu}/msr"));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, registers).unwrap();
}

#[test]
fn interrupts_of_the_firmware_are_counted_where_the_processor_does() {
    let machine = lay();
    let smis = |machine: &Machine| finding(machine, "firmware-interrupts");
    let unread = smis(&machine).unwrap();
    assert!(unread.severity == Severity::Unknown && unread.now.unwrap().starts_with("modprobe msr"));
    count_smis(&machine, 0, 1207);
    let counted = smis(&machine).unwrap();
    assert_eq!((counted.severity, counted.observed.as_str()), (Severity::Warn, "1207 since power-on"));
    assert!(!counted.now.unwrap().contains("hwlat"), "this kernel has no such tracer");
    count_smis(&machine, 0, 0);
    assert_eq!(smis(&machine).unwrap().severity, Severity::Ok);
    let cpuinfo = machine.read("/proc/cpuinfo");
    machine.write("/proc/cpuinfo", &cpuinfo.replace("GenuineIntel", "AuthenticAMD"));
    assert!(smis(&machine).unwrap().now.unwrap().contains("ls_smi_rx"));
    machine.write("/proc/cpuinfo", &cpuinfo.replace("fpu vme", "hypervisor"));
    assert!(smis(&machine).is_none(), "a guest does not see those of its host");
}

#[test]
fn a_tracer_that_holds_interrupts_off_is_bad() {
    let machine = lay();
    assert!(finding(&machine, "tracer").is_none(), "tracefs is not mounted");
    machine.write("/sys/kernel/tracing/current_tracer", "nop\n");
    machine.write("/sys/kernel/tracing/available_tracers", "hwlat blk function nop\n");
    machine.write("/sys/kernel/tracing/hwlat_detector/width", "250000\n");
    assert_eq!(finding(&machine, "tracer").unwrap().severity, Severity::Ok);
    assert!(finding(&machine, "firmware-interrupts").unwrap().now.unwrap().contains("tracer hwlat"));
    machine.write("/sys/kernel/tracing/current_tracer", "hwlat\n");
    let runs = finding(&machine, "tracer").unwrap();
    assert_eq!((runs.severity, runs.effect_ns), (Severity::Bad, Some(250_000_000)));
    machine.write("/sys/kernel/tracing/current_tracer", "function\n");
    assert_eq!(finding(&machine, "tracer").unwrap().severity, Severity::Warn);
}

const SCHEMATA: &str = "/sys/fs/resctrl/schemata";
const GROUP: &str = "/sys/fs/resctrl/ontick";

/// The kernel fills a new group of resctrl with files, and moves CPUs between it and that of all others.
#[derive(Clone)]
struct Resctrl {
    folder: PathBuf,
    refuses: Option<&'static str>,
}

impl Resctrl {
    fn of(machine: &Machine) -> Self {
        Self { folder: machine.folder().to_owned(), refuses: None }
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.folder.join(&path[1..]), content).unwrap();
    }
}

impl Hook for Resctrl {
    fn before(&self, act: &Act) -> Verdict {
        match self.refuses.filter(|path| act.path() == *path) {
            Some(_) => Verdict::Refuse(io::Error::from_raw_os_error(22)),
            None => Verdict::Go,
        }
    }

    fn after(&self, act: &Act, _: &Path) {
        match act {
            Act::MakeFolder { path: GROUP } => {
                // Filled up with zeros, as some kernels show masks.
                self.write("/sys/fs/resctrl/ontick/schemata", "    MB:0=100;1=100\n    L3:0=00fff;1=00fff\n");
                self.write("/sys/fs/resctrl/ontick/cpus_list", "\n");
            }
            Act::Set { path: "/sys/fs/resctrl/ontick/cpus_list", value: "3" } => {
                self.write("/sys/fs/resctrl/cpus_list", "0-2\n");
            }
            Act::RemoveFolder { path: GROUP } => self.write("/sys/fs/resctrl/cpus_list", "0-3\n"),
            _ => {}
        }
    }
}

#[test]
fn the_timed_cpu_has_a_part_of_its_cache_for_itself() {
    let machine = lay();
    let shared = finding(&machine, "cache-allocation").unwrap();
    assert_eq!((shared.severity, shared.knob.as_deref()), (Severity::Warn, Some("cache-allocation")));
    let plan = plan(&machine, "cache-allocation");
    let item = plan.changes().next().unwrap();
    assert_eq!((item.path.as_str(), item.current.as_str()), ("resctrl:L3", "0=fff;1=fff"));
    assert_eq!(item.wanted, "0=fff;1=1ff, 0=fff;1=e00 for CPU 3");
    assert!(comes_back(&machine, "cache-allocation", Resctrl::of(&machine)) > 5);
    let root = machine.root.clone().with_hook(Arc::new(Resctrl::of(&machine)));
    let mut journal = Journal::open(&root).unwrap();
    assert!(apply(&root, &plan, &mut journal).complete());
    assert_eq!(machine.read(SCHEMATA), "    MB:0=100;1=100\n    L3:0=fff;1=1ff\n");
    assert_eq!(machine.read("/sys/fs/resctrl/ontick/schemata"), "    MB:0=100;1=100\n    L3:0=fff;1=e00\n");
    assert_eq!(machine.read("/sys/fs/resctrl/ontick/cpus_list"), "3\n");
    assert_eq!(self::plan(&machine, "cache-allocation").changes().count(), 0, "what is divided is not divided again");
    assert_eq!(finding(&machine, "cache-allocation").unwrap().observed, "CPU 3 has a part of its own");
    drop(journal);
    let reverted = back(&root);
    assert!(reverted.complete() && !machine.place(GROUP).exists(), "{reverted:?}");
}

/// For other CPUs the group's parts count as undivided.
#[test]
fn a_second_division_begins_from_the_whole_cache() {
    let machine = lay();
    let before = state(&machine);
    let root = machine.root.clone().with_hook(Arc::new(Resctrl::of(&machine)));
    for (cpus, wanted) in [("3", "0=fff;1=1ff, 0=fff;1=e00 for CPU 3"), ("2-3", "0=1ff;1=1ff, 0=e00;1=e00 for CPU 2-3")]
    {
        let mut target = Target::new(&machine.facts(), cpus.parse().ok(), Profile::DedicatedCore).unwrap();
        target.only = vec!["cache-allocation".into()];
        let plan = TuningPlan::make(&root, &machine.facts(), &target).unwrap();
        assert_eq!(plan.changes().next().unwrap().wanted, wanted);
        assert!(apply(&root, &plan, &mut Journal::open(&root).unwrap()).complete());
    }
    assert!(back(&root).complete());
    assert_eq!(state(&machine), before);
}

#[test]
fn a_step_that_resctrl_refuses_takes_the_others_back() {
    for refused in [SCHEMATA, "/sys/fs/resctrl/ontick/schemata", "/sys/fs/resctrl/ontick/cpus_list", GROUP] {
        let machine = lay();
        let before = state(&machine);
        let kernel = Resctrl { refuses: Some(refused), ..Resctrl::of(&machine) };
        let root = machine.root.clone().with_hook(Arc::new(kernel));
        let applied = apply(&root, &plan(&machine, "cache-allocation"), &mut Journal::open(&root).unwrap());
        assert!(format!("{applied:?}").contains("last_cmd_status"), "{applied:?}");
        assert!(back(&machine.root).steps.is_empty(), "nothing is left to undo");
        assert_eq!(state(&machine), before, "{refused}");
    }
}

#[test]
fn a_cache_that_others_divided_is_left_alone() {
    let machine = lay();
    machine.write("/sys/fs/resctrl/database/schemata", "L3:0=f;1=f\n");
    let plan = plan(&machine, "cache-allocation");
    let left = |why: &str| plan.items.iter().all(|item| matches!(&item.state, State::Left(says) if says.contains(why)));
    assert!(left("divided already, by the group database"), "{:?}", plan.items);
    let divided = finding(&machine, "cache-allocation").unwrap();
    assert!(divided.severity == Severity::Ok && divided.observed.contains("group database"));
}

#[test]
fn a_processor_that_could_divide_its_cache_is_reported() {
    let machine = lay();
    fs::remove_dir_all(machine.place("/sys/fs/resctrl")).unwrap();
    let unmounted = finding(&machine, "cache-allocation").unwrap();
    assert!(unmounted.observed.contains("cat_l3, cdp_l3") && unmounted.now.unwrap().starts_with("mount -t resctrl"));
    let absent = |machine: &Machine| match plan(machine, "cache-allocation").items.remove(0).state {
        State::Absent(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(absent(&machine).contains("not mounted"));
    machine.write("/proc/filesystems", "nodev\tsysfs\n");
    assert!(finding(&machine, "cache-allocation").unwrap().boot.unwrap().contains("X86_CPU_RESCTRL"));
    assert!(absent(&machine).contains("divides no cache"));
    machine.write("/proc/cpuinfo", &machine.read("/proc/cpuinfo").replace("cat_l3 cdp_l3 ", ""));
    assert!(finding(&machine, "cache-allocation").is_none());
}

const MACHINE_CHECKS: &str = "/sys/devices/system/machinecheck/machinecheck";

/// Every CPU's folder shows the one value; the kernel shows it in decimal.
#[test]
fn corrected_errors_are_looked_for_until_that_is_set_by_name() {
    let machine = lay();
    assert!(finding(&machine, "machine-check-poll").is_none(), "not every machine has machine checks");
    for cpu in 0..4 {
        machine.write(&format!("{MACHINE_CHECKS}{cpu}/check_interval"), "300\n");
        machine.write(&format!("{MACHINE_CHECKS}{cpu}/ignore_ce"), "0\n");
    }
    let polled = finding(&machine, "machine-check-poll").unwrap();
    assert_eq!((polled.severity, polled.observed.as_str()), (Severity::Warn, "every 300 s"));
    assert_eq!(polled.knob.as_deref(), Some("machine-check-poll"));
    let of_profile = machine.plan(Profile::DedicatedCore);
    assert!(of_profile.items.iter().all(|item| item.knob != "machine-check-poll"), "no profile loses errors");
    let plan = plan(&machine, "machine-check-poll");
    let changes: Vec<_> = plan.changes().map(|i| (i.path.as_str(), i.current.as_str(), i.wanted.as_str())).collect();
    assert_eq!(changes, [(&*format!("{MACHINE_CHECKS}0/check_interval"), "300", "0")]);
    assert!(comes_back(&machine, "machine-check-poll", Still) > 3);
    assert!(apply(&machine.root, &plan, &mut Journal::open(&machine.root).unwrap()).complete());
    assert_eq!(finding(&machine, "machine-check-poll").unwrap().severity, Severity::Ok);
    assert!(back(&machine.root).complete());

    machine.write(&format!("{MACHINE_CHECKS}0/ignore_ce"), "1\n");
    assert_eq!(finding(&machine, "machine-check-poll").unwrap().severity, Severity::Ok);
    let left = self::plan(&machine, "machine-check-poll").items.remove(0).state;
    assert!(matches!(&left, State::Left(why) if why.contains("are ignored")), "{left:?}");
}

/// A kernel that changes nothing of its own.
#[derive(Clone)]
struct Still;

impl Hook for Still {
    fn before(&self, _: &Act) -> Verdict {
        Verdict::Go
    }
}
