//! Without tracing: counters that grew while outliers came.

use std::collections::BTreeMap;

use ontick_record::run::Outlier;

use super::Findings;
use super::cause::Cause;
use crate::conditions::{CpuTimes, interrupts};

/// Readings at the last look.
pub struct Counters {
    cpu: Option<u32>,
    interrupts: BTreeMap<String, u64>,
    steal_ns: u64,
}

impl Counters {
    /// Begins to watch the interrupts of a CPU, or of all.
    pub fn start(cpu: Option<u32>) -> Self {
        Self { cpu, interrupts: interrupts(cpu), steal_ns: CpuTimes::now().steal_ns }
    }

    /// Names what grew since the last look. That is a fifth of a second: where several devices
    /// interrupted, or one less often than there were outliers, none is named.
    pub fn explain(&mut self, outliers: Vec<Outlier>, findings: &mut Findings) -> Vec<Outlier> {
        let now = interrupts(self.cpu);
        let steal_ns = CpuTimes::now().steal_ns;
        let stolen_ns = steal_ns.saturating_sub(std::mem::replace(&mut self.steal_ns, steal_ns));
        let before = std::mem::replace(&mut self.interrupts, now);
        let device = only_device(&before, &self.interrupts, outliers.len() as u64);
        let explain = |outlier| findings.add(named(outlier, stolen_ns, device.as_deref()), outlier, &[]);
        outliers.into_iter().map(explain).collect()
    }
}

/// The device whose interrupts came, if it was only one and it came for each outlier.
fn only_device(before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>, outliers: u64) -> Option<String> {
    let mut grew = now.iter().filter_map(|(name, count)| {
        let more = count.saturating_sub(before.get(name).copied().unwrap_or(0));
        (name.ends_with(')') && more > 0).then_some((name, more))
    });
    let (device, more) = grew.next()?;
    (grew.next().is_none() && more >= outliers).then(|| device.clone())
}

fn named(outlier: Outlier, stolen_ns: u64, device: Option<&str>) -> Cause {
    match device {
        _ if stolen_ns > 0 && stolen_ns >= outlier.latency_ns / 2 && outlier.latency_ns >= 1_000_000 => Cause::Steal,
        Some(device) if outlier.latency_ns < 1_000_000 => Cause::DeviceInterrupt(device.into()),
        _ => Cause::Unknown("not traced"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_only_if_it_may_have_made_all() {
        let counts = |disk: u64, net: u64| {
            BTreeMap::from([("mmc0 (5)".into(), disk), ("eth0 (7)".into(), net), ("LOC".into(), disk * 9)])
        };
        assert_eq!(only_device(&counts(10, 3), &counts(14, 3), 4), Some("mmc0 (5)".into()));
        assert_eq!(only_device(&counts(10, 3), &counts(14, 3), 5), None);
        assert_eq!(only_device(&counts(10, 3), &counts(14, 4), 1), None);
    }

    #[test]
    fn long_outliers_match_steal_and_short_ones_a_lone_device() {
        let outlier = |latency_ns| Outlier { at_ns: 10_000_000_000, latency_ns, cause: None };
        assert_eq!(named(outlier(12_000_000), 10_000_000, None), Cause::Steal);
        assert_eq!(named(outlier(12_000), 10_000_000, Some("mmc0 (5)")), Cause::DeviceInterrupt("mmc0 (5)".into()));
        let unknown = Cause::Unknown("not traced");
        assert_eq!(named(outlier(12_000), 0, None), unknown);
        // Half of it was stolen, or less.
        assert_eq!(named(outlier(12_000_000), 6_000_000, None), Cause::Steal);
        assert_eq!(named(outlier(12_000_000), 5_999_999, None), unknown);
        // So long no device interrupts, and so short no steal is counted.
        let device = Cause::DeviceInterrupt("eth0 (7)".into());
        assert_eq!([999_999, 1_000_000].map(|ns| named(outlier(ns), 0, Some("eth0 (7)"))), [device, unknown.clone()]);
        assert_eq!([999_999, 1_000_000].map(|ns| named(outlier(ns), 500_000, None)), [unknown, Cause::Steal]);
    }

    #[test]
    fn every_outlier_is_counted_with_a_cause() {
        let (mut findings, outlier) = (Findings::default(), Outlier { at_ns: 1 << 40, latency_ns: 5_000, cause: None });
        let looked = Counters::start(None).explain(vec![outlier; 2], &mut findings);
        assert_eq!(looked, [Outlier { cause: Some(0), ..outlier }; 2]);
    }
}
