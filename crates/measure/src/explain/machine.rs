//! What attribution must know of the machine.

use std::fs;
use std::path::Path;

use ontick_machine::{Facts, Root};

use super::attribute::Machine;
use super::calibrate::Overheads;

/// What takes up to this many times the usual is still usual. The usual is a median, which half of the samples
/// can be disturbed without moving; the same way taken with cold caches stays below thrice of it.
const SPREAD: u64 = 3;
/// Handlers have more or less to do; one silent for this many times the usual does nothing at all.
const SILENCE: u64 = 10;
/// Where the usual could not be seen: as cautious as slow machines ask for, in ns. Longer stretches are reported as
/// outside the kernel; an outlier made by a shorter one is reported as the kernel's own way.
const UNSEEN: Overheads = Overheads { edge_ns: Some(4_000), handler_ns: Some(5_000), idle_exit_ns: Some(16_000) };

/// What the machine says of itself.
#[derive(Debug, Clone, Default)]
struct Said {
    guest: bool,
    /// As in `/proc/kallsyms`.
    symbols: String,
    release: (u32, u32),
    /// As in `/proc/sys/kernel/sched_rt_runtime_us`.
    rt_runtime_us: String,
    /// Real-time tasks have groups, with a limit each.
    rt_groups: bool,
    slowest_idle_exit_ns: u64,
    irq_time_accounting: Option<bool>,
}

/// Looks at this machine, on which ways in and out of the kernel take as long as `usual`.
pub fn describe(real_time: bool, missing: &[&str], usual: Overheads) -> Machine {
    let facts = Facts::gather(&Root::live());
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let said = Said {
        guest: !facts.environment(None).hypervisor.is_empty(),
        symbols: read("/proc/kallsyms"),
        release: version(&rustix::system::uname().release().to_string_lossy()),
        rt_runtime_us: read("/proc/sys/kernel/sched_rt_runtime_us"),
        rt_groups: groups(&facts),
        slowest_idle_exit_ns: slowest_idle_exit_ns("/sys/devices/system/cpu/cpu0/cpuidle".as_ref()),
        irq_time_accounting: facts.config.has("IRQ_TIME_ACCOUNTING"),
    };
    known(&said, real_time, missing, usual)
}

fn known(said: &Said, real_time: bool, missing: &[&str], usual: Overheads) -> Machine {
    Machine {
        edge_ns: SPREAD * usual.edge_ns.or(UNSEEN.edge_ns).unwrap_or(0),
        handler_ns: SILENCE * usual.handler_ns.or(UNSEEN.handler_ns).unwrap_or(0),
        // Short sleeps do not reach the deepest state; how long that takes to leave, it says itself.
        idle_exit_ns: SPREAD * usual.idle_exit_ns.or(UNSEEN.idle_exit_ns).unwrap_or(0) + said.slowest_idle_exit_ns,
        guest: said.guest,
        timers: timers(&said.symbols),
        fair_server: said.release >= (6, 12),
        throttling: throttling(said),
        real_time,
        records_all: records_all(missing),
        accounts_without_interrupts: said.irq_time_accounting != Some(false),
        waits_for_others: false,
    }
}

/// On x86 the events of the CPU's own interrupts, elsewhere those from other CPUs.
fn records_all(missing: &[&str]) -> bool {
    let needed: &[&str] = match cfg!(target_arch = "x86_64") {
        true => &["irq_vectors/local_timer_entry", "irq_vectors/call_function_entry", "irq_vectors/reschedule_entry"],
        false => &["ipi/ipi_entry"],
    };
    let common = ["irq/irq_handler_entry", "irq/softirq_entry"];
    needed.iter().chain(&common).all(|name| !missing.contains(name))
}

/// Real-time throttling is on, and this kernel has it still: since 6.12 only with group scheduling.
fn throttling(said: &Said) -> bool {
    let on = said.rt_runtime_us.trim().parse::<i64>().is_ok_and(|us| us >= 0);
    on && (said.release < (6, 12) || said.rt_groups)
}

fn groups(facts: &Facts) -> bool {
    ["/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us"]
        .iter()
        .any(|path| fs::exists(path).unwrap_or(false))
        || facts.config.has("RT_GROUP_SCHED") == Some(true)
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Of the idle states in this folder of a CPU; without a driver for them there is none.
fn slowest_idle_exit_ns(folder: &Path) -> u64 {
    let states = fs::read_dir(folder).into_iter().flatten().flatten();
    let latency = |state: fs::DirEntry| fs::read_to_string(state.path().join("latency")).ok()?.trim().parse().ok();
    states.filter_map(latency).max().unwrap_or(0u64) * 1_000
}

/// Functions that timers call, by address. Addresses are all 0 for those who may not know them.
fn timers(symbols: &str) -> Vec<(u64, String)> {
    let symbol = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        let wanted = kind.eq_ignore_ascii_case("t")
            && (name.starts_with("tick_") || name.contains("timer") || name.contains("hrtick"));
        let address = u64::from_str_radix(address, 16).ok().filter(|address| wanted && *address > 0)?;
        Some((address, name.to_string()))
    };
    symbols.lines().filter_map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = describe(true, &["irq/softirq_entry"], Overheads { edge_ns: Some(700), ..Overheads::default() });
        assert_eq!((machine.edge_ns, machine.real_time, machine.records_all), (2_100, true, false));
    }

    #[test]
    fn releases_compare() {
        assert_eq!(version("6.18.44-fc-v669"), (6, 18));
        assert_eq!(version("5.10"), (5, 10));
        assert!(version("6.6.31+rpt-rpi-v8") < (6, 12));
    }

    #[test]
    fn only_functions_with_an_address_are_known() {
        let symbols =
            "ffffffff814352e0 t tick_nohz_handler\n0000000000000000 T hrtimer_wakeup\nffffffff81435300 d timer_list\n";
        assert_eq!(timers(symbols), [(0xffff_ffff_8143_52e0, "tick_nohz_handler".to_string())]);
    }

    /// What was seen counts with a margin; what could not be seen is taken for long.
    #[test]
    fn usual_ways_are_known_with_a_margin() {
        let said = Said { slowest_idle_exit_ns: 700_000, ..Said::default() };
        let times = |usual| {
            let machine = known(&said, true, &[], usual);
            [machine.edge_ns, machine.handler_ns, machine.idle_exit_ns]
        };
        let usual = Overheads { edge_ns: Some(500), handler_ns: Some(2_000), idle_exit_ns: Some(8_000) };
        assert_eq!(times(usual), [1_500, 20_000, 724_000]);
        assert_eq!(times(Overheads::default()), [12_000, 50_000, 748_000]);
    }

    #[test]
    fn throttling_is_what_the_kernel_has_and_what_is_on() {
        let throttles = |release, rt_runtime_us: &str, rt_groups| {
            let said = Said { release, rt_runtime_us: rt_runtime_us.into(), rt_groups, ..Said::default() };
            known(&said, true, &[], Overheads::default()).throttling
        };
        assert!(throttles((6, 11), "950000\n", false) && throttles((6, 11), "0", false));
        assert!(!throttles((6, 12), "950000\n", false) && throttles((6, 12), "950000\n", true));
        assert!(!throttles((6, 11), "-1\n", true) && !throttles((6, 11), "", true));
    }

    #[test]
    fn what_the_machine_says_is_known_of_it() {
        let said = Said {
            guest: true,
            symbols: "ffffffff814352e0 t tick_nohz_handler\n".into(),
            release: (6, 12),
            ..Said::default()
        };
        let machine = known(&said, true, &[], Overheads::default());
        assert!(machine.guest && machine.fair_server && machine.real_time && machine.records_all);
        assert_eq!(machine.timers.len(), 1);
        let machine = known(&Said { release: (6, 11), ..Said::default() }, false, &[], Overheads::default());
        assert!(!machine.guest && !machine.fair_server && !machine.real_time && machine.timers.is_empty());
        // A kernel that does not say is taken for one that leaves interrupts out.
        let accounts = |irq_time_accounting| {
            known(&Said { irq_time_accounting, ..Said::default() }, true, &[], Overheads::default())
                .accounts_without_interrupts
        };
        assert_eq!([None, Some(true), Some(false)].map(accounts), [true, true, false]);
    }

    #[test]
    fn a_gap_is_known_to_be_an_interrupt_only_where_all_are_reported() {
        assert!(records_all(&["sched/sched_wakeup", "power/cpu_idle"]));
        assert!(!records_all(&["irq/irq_handler_entry"]) && !records_all(&["irq/softirq_entry"]));
        let own = if cfg!(target_arch = "x86_64") { "irq_vectors/call_function_entry" } else { "ipi/ipi_entry" };
        assert!(!records_all(&["power/cpu_idle", own]));
    }

    #[test]
    fn the_slowest_idle_state_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(slowest_idle_exit_ns(&folder.path().join("none")), 0);
        for (state, latency) in [("state0", "0\n"), ("state1", "133\n"), ("state2", "2\n")] {
            fs::create_dir(folder.path().join(state)).unwrap();
            fs::write(folder.path().join(state).join("latency"), latency).unwrap();
        }
        fs::create_dir(folder.path().join("driver")).unwrap();
        assert_eq!(slowest_idle_exit_ns(folder.path()), 133_000);
    }

    #[test]
    fn functions_of_timers_are_named_so() {
        let names = ["tick_sched_timer", "posix_timer_fn", "hrtick", "schedule", "my_tick_"];
        let symbols: String = names.iter().enumerate().map(|(n, name)| format!("{:x} T {name}\n", n + 16)).collect();
        let known: Vec<u64> = timers(&symbols).into_iter().map(|(address, _)| address).collect();
        assert_eq!(known, [16, 17, 18]);
        assert_eq!(timers("zz t tick_x\n12 t\n"), []);
    }
}
