//! What attribution must know of the machine.

use std::fs;

use ontick_machine::{Facts, Root};

use super::attribute::Machine;
use super::calibrate::Usual;

/// What takes up to this many times the usual is still usual. The usual is a median, which half of the samples
/// can be disturbed without moving; the same way taken with cold caches stays below thrice of it.
const SPREAD: u64 = 3;
/// Handlers have more or less to do; one silent for this many times the usual does nothing at all.
const SILENCE: u64 = 10;
/// Where the usual could not be seen: as cautious as slow machines ask for, in ns. Longer stretches are told as
/// outside the kernel; an outlier made by a shorter one is told as the kernel's own way.
const UNSEEN: Usual = Usual { edge_ns: Some(4_000), handler_ns: Some(5_000), idle_exit_ns: Some(16_000) };

/// Looks at this machine, on which ways in and out of the kernel take as long as `usual`.
pub fn look(real_time: bool, missing: &[&str], usual: Usual) -> Machine {
    let facts = Facts::gather(&Root::live());
    let guest = !facts.environment(None).hypervisor.is_empty();
    Machine {
        edge_ns: SPREAD * usual.edge_ns.or(UNSEEN.edge_ns).unwrap_or(0),
        handler_ns: SILENCE * usual.handler_ns.or(UNSEEN.handler_ns).unwrap_or(0),
        // Short sleeps do not reach the deepest state; how long that takes to leave, it says itself.
        idle_exit_ns: SPREAD * usual.idle_exit_ns.or(UNSEEN.idle_exit_ns).unwrap_or(0) + slowest_idle_exit_ns(),
        guest,
        timers: timers(&fs::read_to_string("/proc/kallsyms").unwrap_or_default()),
        fair_server: release() >= (6, 12),
        throttling: throttling(&facts),
        real_time,
        tells_all: tells_all(missing),
        accounts_without_interrupts: facts.config.has("IRQ_TIME_ACCOUNTING") != Some(false),
    }
}

/// On x86 the events of the CPU's own interrupts, elsewhere those from other CPUs.
fn tells_all(missing: &[&str]) -> bool {
    let needed: &[&str] = match cfg!(target_arch = "x86_64") {
        true => &["irq_vectors/local_timer_entry", "irq_vectors/call_function_entry", "irq_vectors/reschedule_entry"],
        false => &["ipi/ipi_entry"],
    };
    let common = ["irq/irq_handler_entry", "irq/softirq_entry"];
    needed.iter().chain(&common).all(|name| !missing.contains(name))
}

/// Real-time throttling is on, and this kernel has it still: since 6.12 only with group scheduling.
fn throttling(facts: &Facts) -> bool {
    let limit = fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    let on = limit.trim().parse::<i64>().is_ok_and(|us| us >= 0);
    on && (release() < (6, 12) || groups(facts))
}

fn groups(facts: &Facts) -> bool {
    ["/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us"]
        .iter()
        .any(|path| fs::exists(path).unwrap_or(false))
        || facts.config.has("RT_GROUP_SCHED") == Some(true)
}

fn release() -> (u32, u32) {
    let uname = rustix::system::uname();
    version(&uname.release().to_string_lossy())
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Of the idle states that CPU 0 has; without a driver for them there is none.
fn slowest_idle_exit_ns() -> u64 {
    let states = fs::read_dir("/sys/devices/system/cpu/cpu0/cpuidle").into_iter().flatten().flatten();
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
}
