//! Descriptors and memory of a process, over its life.

use std::fs;
use std::time::Instant;

use crate::oracle::growth::{DESCRIPTORS, Series, memory};

/// Of one life of a process.
#[derive(Debug)]
pub struct Usage {
    began: Instant,
    pub descriptors: Series,
    /// VmRSS of proc(5), in KiB.
    pub resident: Series,
    /// Pss of proc(5): what it shares with others counts as its part of it, in KiB.
    pub proportional: Series,
}

impl Default for Usage {
    fn default() -> Self {
        Self { began: Instant::now(), descriptors: Vec::new(), resident: Vec::new(), proportional: Vec::new() }
    }
}

impl Usage {
    /// A process that ends meanwhile has no figures any more.
    pub fn observe(&mut self, pid: u32) {
        let at = self.began.elapsed().as_secs_f64();
        let figure = |file: &str, name: &str| -> Option<f64> {
            let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
            text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
        };
        if let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) {
            self.descriptors.push((at, open.count() as f64));
        }
        self.resident.extend(figure("status", "VmRSS:").map(|kib| (at, kib)));
        self.proportional.extend(figure("smaps_rollup", "Pss:").map(|kib| (at, kib)));
    }

    /// What grows.
    pub fn findings(&self, name: &str, pid: u32) -> Vec<String> {
        let all = [
            ("descriptors", &self.descriptors, DESCRIPTORS),
            ("KiB of VmRSS", &self.resident, memory(name)),
            ("KiB of PSS", &self.proportional, memory(name)),
        ];
        let grew = all.into_iter().filter(|(_, series, rule)| !rule.is_flat(series));
        grew.map(|(what, series, rule)| {
            let (growth, from, to) = (rule.growth(series).unwrap_or(0.0), series[0], series[series.len() - 1]);
            format!(
                "{name} ({pid}): {what} grew by {growth:.1} in {:.0} s: {} at {:.0} s, {} at {:.0} s",
                to.0 - from.0,
                from.1,
                from.0,
                to.1,
                to.0
            )
        })
        .collect()
    }
}
