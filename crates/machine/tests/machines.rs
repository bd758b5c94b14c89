//! What is found, planned, applied and reverted on each kind of machine.

mod machine;

use machine::{MACHINES, Machine};
use ontick_machine::boot::{self, BootFiles};
use ontick_machine::plan::State;
use ontick_machine::{
    Finding, Journal, Profile, Remedy, Root, Severity, Target, TuningPlan, apply, check, revert, status,
    undo_for_holder,
};
use ontick_units::CpuList;

fn findings(name: &str) -> Vec<Finding> {
    let machine = Machine::lay(name);
    check(&machine.facts(), &machine.target(Profile::DedicatedCore), &Remedy::to_string)
}

fn found<'a>(all: &'a [Finding], id: &str) -> &'a Finding {
    all.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no finding {id}"))
}

#[test]
fn worst_comes_first_everywhere() {
    for name in MACHINES {
        let all = findings(name);
        let order: Vec<_> = all.iter().map(|f| (f.severity, std::cmp::Reverse(f.effect_ns))).collect();
        assert!(order.is_sorted(), "{name}");
        assert_eq!(all[0].severity, Severity::Bad, "{name}");
        for f in &all {
            assert_eq!(f.should.is_empty(), f.severity == Severity::Ok, "{name}: {}", f.id);
            serde_json::to_string(f).unwrap();
        }
    }
}

#[test]
fn a_raspberry_pi_of_2018() {
    let all = findings("pi3b-stretch");
    assert_eq!(found(&all, "preemption").observed, "voluntary");
    assert_eq!(found(&all, "fair-server").severity, Severity::Ok);
    assert_eq!(found(&all, "governor").severity, Severity::Bad);
    assert!(found(&all, "pi-throttling").observed.contains("since boot: under-voltage, throttled"));
    assert!(found(&all, "pi-turbo").boot.as_ref().unwrap().contains("config.txt"));
    assert!(found(&all, "rivals").observed.contains("raspi-config will run at boot"));
    assert_eq!(
        found(&all, "interrupts").observed,
        "7 may be delivered to CPU 3: 23 3f00b880.mailbox, 24 VCHIQ doorbell, 46 bcm2708_fb dma, 48 DMA IRQ and 3 more"
    );
    assert!(!all.iter().any(|f| f.id == "pi-sd-card"), "this kernel has no such driver, and it is not asked for");
    assert!(found(&all, "swap").observed.contains("/var/swap"));
}

#[test]
fn a_raspberry_pi_5() {
    let all = findings("pi5");
    assert_eq!(found(&all, "fair-server").observed, "50 ms of every 1000 ms for starving normal tasks");
    assert_eq!(found(&all, "fair-server").knob.as_deref(), Some("fair-server"));
    assert_eq!(found(&all, "pcie-power").severity, Severity::Warn);
    assert_eq!(found(&all, "pi-throttling").severity, Severity::Unknown);
    assert!(!all.iter().any(|f| f.id == "pi-usb"), "a Pi 5 has no dwc_otg");
    assert!(found(&findings("pi4"), "pi-throttling").observed.contains("now: under-voltage, throttled"));
}

#[test]
fn a_beaglebone_has_one_cpu() {
    let all = findings("beaglebone");
    assert!(found(&all, "isolation").observed.contains("one CPU"));
    assert!(!all.iter().any(|f| f.id == "interrupts" || f.id == "workqueues"));
    let machine = Machine::lay("beaglebone");
    let plan = machine.plan(Profile::DedicatedCore);
    let steering = plan.items.iter().filter(|i| i.knob == "irq-affinity");
    assert!(
        steering.clone().count() > 0
            && steering.clone().all(|i| matches!(&i.state, State::Left(why) if why.contains("one CPU")))
    );
    assert!(plan.changes().any(|i| i.knob == "governor" && i.wanted == "performance"));
}

#[test]
fn a_desktop_with_grub() {
    let all = findings("x86-grub");
    assert_eq!(found(&all, "preemption").knob.as_deref(), Some("preemption"));
    assert!(found(&all, "idle-states").observed.contains("C6, which takes 85 µs"));
    assert!(found(&all, "smt").observed.contains("CPU 3 shares its core with 1"));
    assert!(
        found(&all, "rivals").severity == Severity::Bad
            && found(&all, "rivals").now.as_deref() == Some("systemctl disable --now irqbalance")
    );
    assert!(found(&all, "governor").observed.contains("powersave (intel_pstate, 800–4600 MHz)"));
    assert_eq!(found(&all, "energy-preference").observed, "balance_performance");
    assert_eq!(found(&all, "energy-preference").knob.as_deref(), Some("energy-preference"));
    assert_eq!(found(&all, "frequency-range").knob.as_deref(), Some("lowest-frequency"));
    assert_eq!(found(&all, "compaction").knob.as_deref(), Some("compaction"));
    assert!(
        found(&all, "boost").knob.as_deref() == Some("boost") && found(&all, "page-merging").severity == Severity::Warn
    );
    assert_eq!(found(&all, "clock-source").severity, Severity::Ok);
    assert!(found(&findings("x86-systemd-boot"), "clock-source").should.contains("unstable"));
}

#[test]
fn this_kind_of_virtual_machine() {
    let all = findings("vm");
    assert_eq!(found(&all, "preemption").observed, "none");
    assert!(found(&all, "preemption").knob.is_none(), "there is no switch while it runs");
    assert_eq!(found(&all, "hypervisor").severity, Severity::Bad);
    assert!(found(&all, "hypervisor").observed.starts_with("KVM, 0.36 %"));
    assert_eq!(found(&all, "fair-server").effect_ns, Some(54_000_000));
    assert_eq!(found(&all, "rt-group").severity, Severity::Ok);
    let machine = Machine::lay("vm");
    machine.write("/proc/self/cgroup", "1:cpu:/box\n0::/\n");
    machine.write("/sys/fs/cgroup/cpu/box/cpu.rt_runtime_us", "0\n");
    let all = check(&machine.facts(), &machine.target(Profile::LowLatency), &Remedy::to_string);
    assert!(found(&all, "rt-group").severity == Severity::Bad && found(&all, "rt-group").observed.contains("/box"));
}

#[test]
fn plans_say_what_is_left_and_why() {
    let machine = Machine::lay("x86-grub");
    let plan = machine.plan(Profile::DedicatedCore);
    let item = |path: &str| plan.items.iter().find(|i| i.path == path).unwrap_or_else(|| panic!("{path}"));
    let irq = |n: u32| item(Box::leak(format!("/proc/irq/{n}/smp_affinity_list").into_boxed_str()));
    assert_eq!((irq(131).current.as_str(), irq(131).wanted.as_str()), ("0-3", "0-2"));
    assert_eq!(irq(130).wanted, "0-2", "an interrupt that went only there goes to all others");
    assert!(matches!(&irq(127).state, State::Left(why) if why.contains("elsewhere")));
    assert!(matches!(&irq(0).state, State::Left(why) if why.contains("no device")));
    assert_eq!(item("/sys/devices/system/cpu/intel_pstate/no_turbo").wanted, "1");
    assert_eq!(item("/sys/devices/system/cpu/cpu3/cpuidle/state2/disable").state, State::Change);
    assert!(matches!(item("/sys/devices/system/cpu/cpu3/cpuidle/state0/disable").state, State::Left(_)));
    assert!(matches!(item("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable").state, State::Left(_)));
    assert_eq!(item("/sys/devices/system/cpu/cpu1/online").state, State::NeedsIsolate);
    assert_eq!(item("/sys/class/net/eno1/queues/rx-0/rps_cpus").wanted, "7");
    assert_eq!(item("/sys/class/net/eno1/queues/tx-0/xps_cpus").wanted, "0");
    assert_eq!(item("/sys/kernel/debug/sched/preempt").wanted, "full");
    let fair = plan.items.iter().find(|i| i.knob == "fair-server").unwrap();
    assert!(matches!(&fair.state, State::Absent(why) if why.contains("does not have it")));
    let low = machine.plan(Profile::LowLatency);
    assert!(low.items.iter().all(|i| i.knob != "rt-throttling"));
    let safe = machine.plan(Profile::ThroughputSafe);
    assert!(safe.changes().all(|i| !matches!(i.knob, "boost" | "idle-states" | "swappiness" | "rt-throttling")));
}

#[test]
fn the_watchdog_gets_no_cpu_that_it_had_not() {
    let machine = Machine::lay("pi4");
    let path = "/proc/sys/kernel/watchdog_cpumask";
    let planned = |mask: &str| {
        machine.write(path, mask);
        let plan = machine.plan(Profile::DedicatedCore);
        let item = plan.items.iter().find(|item| item.path == path).unwrap();
        (item.state == State::Change).then(|| item.wanted.clone())
    };
    let wanted = ["0-3\n", "0,3\n", "3\n", "0\n", "\n"].map(planned);
    assert_eq!(wanted.each_ref().map(Option::as_deref), [Some("0-2"), Some("0"), Some("0-2"), None, None]);
}

#[test]
fn aims_are_checked() {
    let facts = Machine::lay("pi4").facts();
    let target = |text: &str| Target::new(&facts, Some(text.parse::<CpuList>().unwrap()), Profile::DedicatedCore);
    assert_eq!(target("2-3").unwrap().others.to_string(), "0-1");
    assert!(target("7").unwrap_err().to_string().contains("CPU 7 is not online (this machine runs CPU 0-3)"));
    assert!(target("0-3").unwrap_err().to_string().contains("leave at least one"));
    let mut named = target("3").unwrap();
    named.only = vec!["governor".into()];
    let machine = Machine::lay("pi4");
    let plan = TuningPlan::make(&machine.root, &facts, &named).unwrap();
    assert!(plan.items.iter().all(|i| i.knob == "governor") && plan.items.len() == 1);
    named.only = vec!["nonsense".into()];
    assert!(TuningPlan::make(&machine.root, &facts, &named).unwrap_err().to_string().contains("nonsense"));
}

#[test]
fn without_a_cpu_named_those_that_are_isolated_are_meant() {
    let machine = Machine::lay("pi4");
    let cpus = || machine.target(Profile::DedicatedCore).cpus.to_string();
    for (isolated, meant) in [("2-3", "2-3"), ("2,5", "2"), ("0-3", "3"), ("5", "3"), ("", "3")] {
        machine.write("/sys/devices/system/cpu/isolated", &format!("{isolated}\n"));
        assert_eq!(cpus(), meant, "{isolated}");
    }
    machine.write("/sys/devices/system/cpu/isolated", "2-3\n");
    let plan = boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::DedicatedCore), false).unwrap();
    let isolcpus = plan.arguments.iter().find(|argument| argument.key == "isolcpus").unwrap();
    assert!(isolcpus.value.ends_with("2-3"), "{}", isolcpus.text());
    machine.write("/sys/devices/system/cpu/isolated", "\n");
    machine.write("/sys/fs/cgroup/mine/cpuset.cpus.partition", "isolated\n");
    machine.write("/sys/fs/cgroup/mine/cpuset.cpus.effective", "1-2\n");
    assert_eq!(cpus(), "1-2");
}

/// Only looks: whatever this machine is, something can be said of it.
#[test]
fn this_machine_can_be_looked_at() {
    let root = Root::live();
    let facts = ontick_machine::Facts::gather(&root);
    let target = Target::new(&facts, None, Profile::DedicatedCore).unwrap();
    assert!(!check(&facts, &target, &Remedy::to_string).is_empty() && !facts.kernel.release.is_empty());
    assert!(TuningPlan::make(&root, &facts, &target).unwrap().items.len() > 10);
    assert_eq!(facts.environment(None).cpus_online as usize, facts.cpus.online.len());
}

/// As the guardian of a process does that holds the journal and gets no turn.
#[test]
fn what_is_undone_for_the_holder_is_as_before_and_leaves_the_journal_to_it() {
    for name in MACHINES {
        let machine = Machine::lay(name);
        let before = machine.snapshot();
        let mut journal = Journal::open(&machine.root).unwrap();
        let plan = machine.plan(Profile::DedicatedCore);
        assert!(apply(&machine.root, &plan, &mut journal).complete(), "{name}");
        undo_for_holder(&machine.root, &Journal::read(&machine.root).unwrap());
        let values = |plan: &TuningPlan| plan.items.iter().map(|item| item.current.clone()).collect::<Vec<_>>();
        assert_eq!(values(&machine.plan(Profile::DedicatedCore)), values(&plan), "{name}");
        assert_eq!(Journal::read(&machine.root).unwrap().entries().count(), journal.entries().count(), "{name}");
        assert!(revert(&machine.root, &mut journal, false).complete(), "{name}");
        journal.close();
        pretty(name, before, machine.snapshot());
    }
}

/// The whole round on every machine: what was there comes back byte for byte.
#[test]
fn after_revert_nothing_is_different() {
    for name in MACHINES {
        for profile in Profile::ALL {
            let machine = Machine::lay(name);
            let before = machine.snapshot();
            let mut journal = Journal::open(&machine.root).unwrap();
            let plan = machine.plan(profile);
            let applied = apply(&machine.root, &plan, &mut journal);
            assert!(applied.complete(), "{name}: {applied:?}");
            assert_eq!(applied.changes.len(), plan.changes().count());
            let facts = machine.facts();
            let boot = boot::plan(&machine.root, &facts, &plan.target, false);
            if name != "vm" {
                let done = boot::apply(&machine.root, &boot.unwrap(), &mut journal);
                assert!(done.stopped.is_none(), "{name}: {done:?}");
            } else {
                assert!(boot.unwrap_err().to_string().contains("by hand"));
            }
            // What is wanted is so now.
            assert_eq!(machine.plan(profile).changes().count(), 0, "{name}");
            let standing = status(&machine.root, &journal);
            assert!(standing.changes.iter().all(|c| c.state == status::SettingState::AsSet), "{name}: {standing:?}");
            drop(journal);
            let mut journal = Journal::open(&machine.root).unwrap();
            let reverted = revert(&machine.root, &mut journal, false);
            assert!(reverted.complete(), "{name}: {reverted:?}");
            journal.close();
            pretty(name, before, machine.snapshot());
        }
    }
}

/// Two profiles one after the other go back to what was there before the first.
#[test]
fn a_second_profile_keeps_the_first_original() {
    let machine = Machine::lay("x86-grub");
    let before = machine.snapshot();
    for profile in [Profile::ThroughputSafe, Profile::DedicatedCore, Profile::LowLatency] {
        let mut journal = Journal::open(&machine.root).unwrap();
        assert!(apply(&machine.root, &machine.plan(profile), &mut journal).complete());
        let facts = machine.facts();
        let plan = boot::plan(&machine.root, &facts, &machine.target(profile), false).unwrap();
        assert!(boot::apply(&machine.root, &plan, &mut journal).stopped.is_none());
    }
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(revert(&machine.root, &mut journal, false).complete());
    journal.close();
    pretty("x86-grub", before, machine.snapshot());
}

#[test]
fn where_the_arguments_are_kept() {
    let place = |name: &str| boot::find(&Machine::lay(name).root);
    assert_eq!(
        place("pi3b-stretch"),
        Ok(BootFiles::RaspberryPi { cmdline: "/boot/cmdline.txt".into(), config: "/boot/config.txt".into() })
    );
    assert!(
        matches!(place("pi3b-bookworm"), Ok(BootFiles::RaspberryPi { cmdline, .. }) if cmdline == "/boot/firmware/cmdline.txt")
    );
    assert_eq!(place("beaglebone"), Ok(BootFiles::UEnv { file: "/boot/uEnv.txt".into() }));
    assert!(matches!(place("x86-grub"), Ok(BootFiles::Grub { drop_in: Some(_), .. })));
    // The memory test has no kernel arguments to edit.
    assert!(
        matches!(place("x86-systemd-boot"), Ok(BootFiles::SystemdBoot { entries, .. }) if entries == ["/boot/loader/entries/arch.conf"])
    );
}

#[test]
fn what_config_txt_includes_counts() {
    let machine = Machine::lay("pi5");
    let config = "/boot/firmware/config.txt";
    machine.write(config, &format!("{}[all]\ninclude usercfg.txt\n", machine.read(config)));
    machine.write("/boot/firmware/usercfg.txt", "force_turbo=1\n[pi4]\ncmdline=other.txt\n[pi5]\ncmdline=mine.txt\n");
    machine.write("/boot/firmware/mine.txt", "root=/dev/mmcblk0p2\n");
    let all = check(&machine.facts(), &machine.target(Profile::DedicatedCore), &Remedy::to_string);
    assert!(found(&all, "pi-turbo").observed.contains("force_turbo=1"));
    assert!(
        matches!(boot::find(&machine.root), Ok(BootFiles::RaspberryPi { cmdline, .. }) if cmdline == "/boot/firmware/mine.txt")
    );
    let plan = boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::DedicatedCore), false).unwrap();
    assert!(plan.settings.is_empty() && plan.edits.iter().all(|edit| edit.path != config), "{:?}", plan.settings);
}

#[test]
fn boot_files_get_what_the_kernel_can_use() {
    let plan = |name: &str| {
        let machine = Machine::lay(name);
        boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::DedicatedCore), false).unwrap()
    };
    let args = |p: &boot::BootPlan| p.arguments.iter().map(|a| a.text()).collect::<Vec<_>>().join(" ");
    let stretch = plan("pi3b-stretch");
    assert_eq!(args(&stretch), "isolcpus=3 irqaffinity=0-2 skew_tick=1");
    assert!(stretch.notes.iter().any(|n| n.contains("nohz_full is left out")));
    assert!(
        stretch.edits[0].diff.contains("+dwc_otg.lpm_enable=0")
            && stretch.edits[0].diff.contains("rootwait isolcpus=3 irqaffinity=0-2 skew_tick=1")
    );
    assert!(stretch.edits[1].diff.contains("+force_turbo=1"));
    let grub = plan("x86-grub");
    assert_eq!(
        args(&grub),
        "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2 preempt=full skew_tick=1"
    );
    assert_eq!((grub.edits.len(), grub.edits[0].path.as_str()), (1, "/etc/default/grub.d/zz-ontick.cfg"));
    // Switched to while it runs, as by `tune apply`: the next boot does not begin with it.
    let switched = Machine::lay("x86-grub");
    switched.write("/sys/kernel/debug/sched/preempt", "none voluntary (full) \n");
    let again = boot::plan(&switched.root, &switched.facts(), &switched.target(Profile::DedicatedCore), false).unwrap();
    assert_eq!(args(&again), args(&grub));
    assert_eq!(grub.commands, ["update-grub"]);
    let bone = plan("beaglebone");
    assert_eq!(args(&bone), "");
    assert!(bone.edits.is_empty() && bone.notes.iter().any(|n| n.contains("one CPU")));
    let arch = plan("x86-systemd-boot");
    assert!(arch.edits[0].diff.contains("+options root=UUID=8a1c2a50-1b7f-4a59-a5cb-6a0b1a9d8d01 rw quiet isolcpus="));
    assert!(arch.edits.len() == 1 && arch.notes.iter().any(|n| n.contains("installed later")));
    // Its disk's queue interrupts CPU 3, and nothing CPU 2: the choice is that of a running machine.
    // A unified kernel image has no entry; its arguments are a file that starts from the running ones.
    let machine = Machine::lay("x86-systemd-boot");
    std::fs::remove_file(machine.place("/boot/loader/entries/arch.conf")).unwrap();
    let unified = boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::DedicatedCore), false).unwrap();
    assert_eq!(
        unified.edits[0].after,
        "root=UUID=8a1c2a50-1b7f-4a59-a5cb-6a0b1a9d8d01 rw quiet isolcpus=managed_irq,domain,2 nohz_full=2 rcu_nocbs=2 irqaffinity=0-1,3 skew_tick=1\n"
    );
    assert!(unified.commands[0].starts_with("kernel-install add"));
}

/// Fedora's GRUB reads entries that grub2-mkconfig does not make.
#[test]
fn grub_with_entries_of_its_own_is_left_to_grubby() {
    let machine = Machine::lay("x86-grub");
    let plan = || boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::DedicatedCore), false);
    let defaults = machine.read("/etc/default/grub");
    machine.write("/etc/default/grub", &format!("{defaults}GRUB_ENABLE_BLSCFG=true\n"));
    assert!(plan().is_ok(), "no entries are there yet");
    machine.write("/boot/loader/entries/1234-6.1.0.conf", "title Fedora\nlinux /vmlinuz\noptions root=/dev/sda1 ro\n");
    assert_eq!(
        plan().unwrap_err().to_string(),
        "GRUB takes the kernel's arguments from /boot/loader/entries here, which grub2-mkconfig does not change: sudo grubby \
         --update-kernel=ALL --args=\"isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2 preempt=full skew_tick=1\""
    );
    machine.write("/etc/default/grub", &format!("{defaults}GRUB_ENABLE_BLSCFG=true\nGRUB_ENABLE_BLSCFG=\"false\"\n"));
    assert!(plan().is_ok());
}

#[test]
fn a_boot_can_be_tried_first() {
    let machine = Machine::lay("pi5");
    let before = machine.snapshot();
    let (facts, target) = (machine.facts(), machine.target(Profile::DedicatedCore));
    let trial = boot::plan(&machine.root, &facts, &target, true).unwrap();
    assert_eq!(trial.restart, "reboot '0 tryboot'");
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(boot::apply(&machine.root, &trial, &mut journal).stopped.is_none());
    assert_eq!(
        machine.read("/boot/firmware/cmdline.txt").as_bytes(),
        before["boot/firmware/cmdline.txt".as_ref() as &std::path::Path]
    );
    let tried = machine.read("/boot/firmware/tryboot.txt");
    assert!(
        tried.contains("cmdline=ontick-cmdline.txt")
            && tried.contains("force_turbo=1")
            && tried.contains("arm_boost=1")
    );
    assert!(machine.read("/boot/firmware/ontick-cmdline.txt").contains("isolcpus=managed_irq,domain,3"));
    // For good: the files of the trial go.
    let good = boot::plan(&machine.root, &facts, &target, false).unwrap();
    assert!(boot::apply(&machine.root, &good, &mut journal).stopped.is_none());
    assert!(
        !machine.root.exists("/boot/firmware/tryboot.txt") && !machine.root.exists("/boot/firmware/ontick-cmdline.txt")
    );
    assert!(machine.read("/boot/firmware/cmdline.txt").contains("isolcpus="));
    assert!(revert(&machine.root, &mut journal, false).complete());
    journal.close();
    pretty("pi5", before, machine.snapshot());
    for name in ["pi3b-bookworm", "x86-grub"] {
        let machine = Machine::lay(name);
        assert!(
            boot::plan(&machine.root, &machine.facts(), &machine.target(Profile::DedicatedCore), true)
                .unwrap_err()
                .to_string()
                .contains("tryboot")
        );
    }
}

#[test]
fn odd_boot_files_are_said() {
    let machine = Machine::lay("pi4");
    let line = machine.read("/boot/firmware/cmdline.txt");
    let (facts, target) = (machine.facts(), machine.target(Profile::DedicatedCore));
    machine.write("/boot/firmware/cmdline.txt", &format!("{line}quiet\n"));
    let error = boot::plan(&machine.root, &facts, &target, false).unwrap_err();
    assert!(error.to_string().contains("/boot/firmware/cmdline.txt has more than one line"), "{error}");
    machine.write("/boot/firmware/cmdline.txt", &line.replace('\n', "\r\n"));
    let plan = boot::plan(&machine.root, &facts, &target, false).unwrap();
    assert!(plan.edits[0].after.ends_with("skew_tick=1\r\n") && plan.notes.iter().any(|n| n.contains("Windows")));
    std::fs::write(machine.place("/boot/firmware/cmdline.txt"), b"root=\xff\n").unwrap();
    assert!(boot::plan(&machine.root, &facts, &target, false).unwrap_err().to_string().contains("is not text"));
    std::fs::remove_file(machine.place("/boot/firmware/cmdline.txt")).unwrap();
    assert!(boot::plan(&machine.root, &facts, &target, false).unwrap_err().to_string().contains("mounted?"));
}

#[test]
fn the_unit_comes_and_goes() {
    let machine = Machine::lay("x86-grub");
    let before = machine.snapshot();
    let (facts, target) = (machine.facts(), machine.target(Profile::LowLatency));
    let mut plan = boot::plan(&machine.root, &facts, &target, false).unwrap();
    boot::unit::add_to(&mut plan, &machine.root, "/usr/bin/ontick", &["tune", "apply", "--profile", "low-latency"])
        .unwrap();
    assert_eq!(plan.commands, ["update-grub", "systemctl daemon-reload"]);
    let mut journal = Journal::open(&machine.root).unwrap();
    assert!(boot::apply(&machine.root, &plan, &mut journal).stopped.is_none());
    boot::unit::enable(&machine.root, boot::unit::PATH, &mut journal).unwrap();
    let link = "/etc/systemd/system/multi-user.target.wants/ontick-tune.service";
    assert_eq!(machine.root.link_target(link).as_deref(), Some(boot::unit::PATH));
    let reverted = revert(&machine.root, &mut journal, false);
    assert!(reverted.complete(), "{reverted:?}");
    assert!(
        reverted.commands.contains(&"update-grub".to_owned())
            && reverted.commands.contains(&"systemctl daemon-reload".to_owned())
    );
    journal.close();
    pretty("x86-grub", before, machine.snapshot());
}

/// Names the files that differ, in place of two whole machines.
fn pretty(
    name: &str,
    before: std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>,
    after: std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>,
) {
    for (path, content) in &before {
        let now = after.get(path).map(|c| String::from_utf8_lossy(c).into_owned());
        assert_eq!(now.as_deref(), Some(&*String::from_utf8_lossy(content)), "{name}: {}", path.display());
    }
    // The folder of the journal's parents may stay.
    let new: Vec<_> = after
        .keys()
        .filter(|p| {
            !before.contains_key(*p) && !["var", "var/lib"].iter().any(|k| p.as_path() == std::path::Path::new(k))
        })
        .collect();
    assert!(new.is_empty(), "{name}: left behind {new:?}");
}
