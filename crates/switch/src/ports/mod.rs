//! What the machine and its ports can do, looked at without changing anything: no module is loaded, no setting touched.

mod driver;
mod interface;
mod parts;
mod program;
mod ptp;
mod routes;
pub mod sync;
mod tools;

use std::time::Duration;

use ontick_rt::clock::ClockId;
use serde::Serialize;

pub use driver::{Driver, Stamps, stamps};
pub use interface::{Interface, all};
pub use parts::{Options, Parts, Presence};
pub use ptp::{Ptp, Synchronised, processes};
pub use tools::{Tool, Tools};

/// The machine that the ports belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Release of the kernel.
    pub kernel: String,
    /// Parts of the kernel that a switch may need.
    pub parts: Parts,
    /// Programs that set the kernel's data plane up, and linuxptp's.
    pub tools: Tools,
    /// International Atomic Time before UTC, in seconds, as the kernel knows it; 0 where nobody has set it.
    pub tai_offset_s: i64,
    /// Who keeps the clock in time.
    pub ptp: Ptp,
    /// Whether `br_netfilter` takes bridged frames through iptables; nothing where it is not there.
    pub bridge_calls_iptables: Option<bool>,
    /// Whether `ovs-vswitchd` answers; nothing where Open vSwitch's programs are not here.
    pub open_vswitch: Option<bool>,
    /// Whether this process may change the network (CAP_NET_ADMIN; mostly root).
    pub may_change_network: bool,
    /// CPUs that are online, by number.
    pub cpus: Vec<u32>,
}

impl Machine {
    /// Looks at the running machine.
    pub fn probe(option: Options) -> Self {
        let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let parts = Parts::probe("/".as_ref(), &kernel, option);
        let tools = Tools::probe(&parts);
        Self {
            parts,
            ptp: Ptp::probe(&tools),
            open_vswitch: open_vswitch(&tools),
            tools,
            kernel,
            tai_offset_s: tai_offset_s(),
            bridge_calls_iptables: read("/proc/sys/net/bridge/bridge-nf-call-iptables").map(|value| value == "1"),
            may_change_network: may_change_network(),
            cpus: cpus(),
        }
    }
}

fn open_vswitch(tools: &Tools) -> Option<bool> {
    let words = ["--timeout=2", "-t", "ovs-vswitchd", "version"];
    let answer = program::said(&tools.get("ovs-appctl")?.path, &words, Duration::from_secs(5));
    // A refusal begins with the name of the program that asked, or with a date.
    Some(answer.is_some_and(|text| text.starts_with("ovs-vswitchd")))
}

/// A file of /proc or /sys without the space around it.
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn tai_offset_s() -> i64 {
    let (realtime_ns, tai_ns) = (ClockId::Realtime.now_ns(), ClockId::Tai.now_ns());
    // Whole seconds; the two were read a moment apart.
    (tai_ns as i64 - realtime_ns as i64 + 500_000_000).div_euclid(1_000_000_000)
}

/// The effective capability CAP_NET_ADMIN (12, capabilities(7)).
fn may_change_network() -> bool {
    let status = ontick_rt::kernel_text::read("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & (1 << 12) != 0)
}

fn cpus() -> Vec<u32> {
    let list = read("/sys/devices/system/cpu/online").unwrap_or_else(|| "0".into());
    list.split(',').flat_map(range).collect()
}

/// `3` or `0-7`.
fn range(text: &str) -> std::ops::RangeInclusive<u32> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse::<u32>()) {
        // More CPUs than the kernel can be built for are none.
        (Ok(first), Ok(last)) if last < 65_536 => first..=last,
        #[expect(clippy::reversed_empty_ranges, reason = "an empty one")]
        _ => 1..=0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_machine_is_looked_at() {
        let machine = Machine::probe(None);
        assert!(!machine.kernel.is_empty() && !machine.cpus.is_empty());
        assert!((-60..=60).contains(&machine.tai_offset_s), "{}", machine.tai_offset_s);
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!("0-2,5".split(',').flat_map(range).collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!(range("x").count() + range("").count() + range("5-99999999").count(), 0);
    }
}
