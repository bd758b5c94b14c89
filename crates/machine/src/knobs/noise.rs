//! Small things that disturb every CPU now and then.

use super::interrupts::without;
use super::{DEDICATED, EVERY, Knob, QUICK, Want, steered};
use crate::value_format::ValueFormat;

/// Where the kernel says whether it looks for corrected errors at all.
const IGNORE_CORRECTED: &str = "/sys/devices/system/machinecheck/machinecheck0/ignore_ce";

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "timer-migration",
        paths: &["/proc/sys/kernel/timer_migration"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |target, file| match target.cpus.within(&file.facts.cpus.nohz_full) {
            true => Want::set(1),
            false => Want::set(0),
        },
        why: "timers of idle CPUs move to one that is busy, which the timed one is; only nohz_full CPUs are spared, \
              and those want theirs moved away",
        source: "kernel: timers/no_hz; kernel/time/timer_migration.c",
    },
    Knob {
        name: "stat-interval",
        paths: &["/proc/sys/vm/stat_interval"],
        form: ValueFormat::Plain,
        profiles: EVERY,
        isolates: false,
        want: |_, file| match file.shown.trim().parse::<u32>() {
            Ok(now) if now >= 10 => Want::leave("rare enough"),
            _ => Want::set(10),
        },
        why: "every CPU folds its memory statistics this often, once a second, by a kernel thread",
        source: "kernel: admin-guide/sysctl/vm (stat_interval), admin-guide/kernel-per-CPU-kthreads",
    },
    Knob {
        name: "nmi-watchdog",
        paths: &["/proc/sys/kernel/nmi_watchdog"],
        form: ValueFormat::Plain,
        profiles: QUICK,
        isolates: false,
        want: |_, _| Want::set(0),
        why: "the hard-lockup detector interrupts every CPU from a performance counter",
        source: "kernel: admin-guide/lockup-watchdogs",
    },
    Knob {
        name: "watchdog-cpus",
        paths: &["/proc/sys/kernel/watchdog_cpumask"],
        form: ValueFormat::List,
        profiles: EVERY,
        isolates: false,
        want: |target, file| match file.shown.parse() {
            Ok(now) => steered(target, || without(now, target)),
            Err(e) => Want::leave(e.to_string()),
        },
        why: "the soft-lockup detector wakes a thread of the highest priority on each of its CPUs every 4 seconds",
        source: "kernel: admin-guide/sysctl/kernel (watchdog_cpumask), admin-guide/lockup-watchdogs",
    },
    Knob {
        name: "machine-check-poll",
        // The folder of each CPU shows the one value of all.
        paths: &["/sys/devices/system/machinecheck/machinecheck0/check_interval"],
        form: ValueFormat::Plain,
        // Whoever runs a server wants to know of its memory's errors.
        profiles: &[],
        isolates: false,
        want: |_, file| match file.root.value(IGNORE_CORRECTED).as_deref() {
            Some("1") => Want::leave("corrected errors are ignored, so none are looked for"),
            _ => Want::set(0),
        },
        why: "a timer on every CPU, isolated or not, looks for corrected errors, every 5 minutes and more often after one; \
              without it those of which no interrupt tells are logged late, when it is back",
        source: "kernel: ABI/testing/sysfs-mce (check_interval, ignore_ce), arch/x86/kernel/cpu/mce/core.c; tuned's realtime \
                 profile (ignore_ce)",
    },
    Knob {
        name: "console-messages",
        paths: &["/proc/sys/kernel/printk"],
        form: ValueFormat::Words,
        profiles: QUICK,
        isolates: false,
        want: |_, file| {
            let mut words: Vec<&str> = file.shown.split_whitespace().collect();
            let loud = words.first().and_then(|level| level.parse::<u32>().ok()).is_some_and(|level| level > 3);
            match (file.facts.noise.slow_consoles.is_empty(), loud) {
                (true, _) => Want::leave("no serial console prints kernel messages"),
                (_, false) => Want::leave("only critical messages are printed"),
                _ => {
                    words[0] = "3";
                    Want::set(words.join("\t"))
                }
            }
        },
        why: "a kernel message on a serial line takes 87 µs for each character at 115 200 baud, in places with interrupts off",
        source: "kernel: core-api/printk-basics, admin-guide/serial-console",
    },
    Knob {
        name: "pcie-power",
        paths: &["/sys/module/pcie_aspm/parameters/policy"],
        form: ValueFormat::Choice,
        profiles: QUICK,
        isolates: false,
        want: |_, file| match file.facts.board.raspberry_pi.as_ref().is_some_and(|pi| pi.generation < 4) {
            true => Want::leave("this board has no PCI Express"),
            false => Want::set("performance"),
        },
        why: "a PCI Express link that sleeps takes some µs to wake; on a Raspberry Pi 5 the GPIO sits behind one",
        source: "measured on another machine: a GPIO read on a Pi 5 takes 0.4 µs and more, worse when the link sleeps; kernel: power/pci",
    },
];
