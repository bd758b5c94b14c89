//! What the machine does meanwhile: load, steal, idle time, interrupts, frequency.

use std::collections::BTreeMap;
use std::fs;

use ontick_record::run::Conditions;
use ontick_rt::cpus::{InterruptCounts, InterruptRow};
use ontick_rt::kernel_text;

/// Readings before, to be set against those at the end.
pub struct Watch {
    cpu: Option<u32>,
    interrupts: BTreeMap<String, u64>,
    times: CpuTimes,
    khz: Option<u64>,
}

impl Watch {
    /// Begins to watch. Interrupts and frequency are those of `cpu`, or of all.
    pub fn start(cpu: Option<u32>) -> Self {
        Self { cpu, interrupts: interrupts(cpu), times: CpuTimes::now(), khz: frequency(cpu) }
    }

    /// What happened since.
    pub fn end(self) -> Conditions {
        let times = CpuTimes::now();
        let after = interrupts(self.cpu);
        let came = after.into_iter().filter_map(|(name, count)| {
            let before = self.interrupts.get(&name).copied().unwrap_or(0);
            (count > before).then(|| (name, count - before))
        });
        let khz = self.khz.zip(frequency(self.cpu)).map(|(a, b)| (a.min(b), a.max(b)));
        Conditions {
            load_average: load_average(),
            steal_ns: times.steal_ns.saturating_sub(self.times.steal_ns),
            idle_ns: times.idle_ns.saturating_sub(self.times.idle_ns),
            interrupts: came.collect(),
            cpu_khz: khz,
            // Those are looked for meanwhile, and not at the end alone.
            rivals: Vec::new(),
        }
    }
}

/// Time of all CPUs together, from the first line of `/proc/stat` (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Idle and waiting for I/O, in ns.
    pub idle_ns: u64,
    /// Taken by the hypervisor, in ns.
    pub steal_ns: u64,
}

impl CpuTimes {
    /// As of now.
    pub fn now() -> Self {
        fs::read_to_string("/proc/stat").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(stat: &str) -> Self {
        let fields: Vec<u64> = stat
            .lines()
            .find_map(|line| line.strip_prefix("cpu "))
            .map(|line| line.split_whitespace().filter_map(|field| field.parse().ok()).collect())
            .unwrap_or_default();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let ns = |index: usize| fields.get(index).copied().unwrap_or(0).saturating_mul(tick_ns);
        Self { idle_ns: ns(3).saturating_add(ns(4)), steal_ns: ns(7) }
    }
}

/// Load averages over 1, 5 and 15 minutes.
pub fn load_average() -> Option<[f64; 3]> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut values = text.split_whitespace().map_while(|value| value.parse().ok());
    Some([values.next()?, values.next()?, values.next()?])
}

fn frequency(cpu: Option<u32>) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu.unwrap_or(0));
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Counts of interrupts by name, of one CPU or of all; a device's name ends with its number in parentheses.
pub(crate) fn interrupts(cpu: Option<u32>) -> BTreeMap<String, u64> {
    kernel_text::read("/proc/interrupts").map(|text| parse_interrupts(&text, cpu)).unwrap_or_default()
}

/// Counts by name from the text of `/proc/interrupts`, of one CPU or of all.
fn parse_interrupts(text: &str, cpu: Option<u32>) -> BTreeMap<String, u64> {
    let table = InterruptCounts::parse(text);
    let of_row = |(label, row): (&String, &InterruptRow)| {
        let counted = row.counts.iter().zip(&table.cpus).filter(|(_, of)| cpu.is_none_or(|cpu| cpu == **of));
        // A numbered interrupt is named by its device, the others by their abbreviation.
        let name = match label.parse::<u32>() {
            Ok(number) => format!("{} ({number})", row.device().unwrap_or("unnamed")),
            Err(_) => label.clone(),
        };
        (name, counted.map(|(count, _)| count).sum())
    };
    let mut counts: BTreeMap<String, u64> = table.rows.iter().map(of_row).collect();
    if cpu.is_none() {
        counts.extend(table.machine_wide);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "            CPU0       CPU1
  1:          3          9   IO-APIC   1-edge      i8042
 24:          0         12   PCI-MSI 49152-edge      virtio0-input.0
LOC:      34021      29931   Local timer interrupts
ERR:          0
";

    #[test]
    fn interrupts_are_reported_by_device_and_cpu() {
        let of_cpu_1 = parse_interrupts(INTERRUPTS, Some(1));
        assert_eq!(of_cpu_1["virtio0-input.0 (24)"], 12);
        assert_eq!(of_cpu_1["LOC"], 29_931);
        let of_all = parse_interrupts(INTERRUPTS, None);
        assert_eq!((of_all["i8042 (1)"], of_all["ERR"]), (12, 0));
        assert!(!of_cpu_1.contains_key("ERR"));
    }

    #[test]
    fn an_old_kernels_stat_has_no_steal() {
        let old = CpuTimes::parse("cpu  1 2 3 4 5\ncpu0 1 2 3 4 5\n");
        assert_eq!((old.steal_ns, old.idle_ns), (0, 90_000_000));
        let new = CpuTimes::parse("cpu  1 2 3 4 5 6 7 8 9 10\n");
        assert_eq!(new.steal_ns, 80_000_000);
    }

    #[test]
    fn this_machine_answers() {
        let conditions = Watch::start(Some(0)).end();
        assert!(conditions.load_average.is_some());
        assert!(CpuTimes::now().idle_ns > 0);
    }
}
