//! Descriptors and memory of a process stay as they are.
//!
//! The rule: of the figures after the warm-up, the median of the slopes between all pairs of them (Theil and Sen), times the
//! time that they span, is less than the allowance. What rises once and stays, or comes and goes, is no growth.

use std::time::Duration;

/// A figure over time: seconds since the process began, and the figure.
pub type Series = Vec<(f64, f64)>;

/// What is judged, and how.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub warm_up: Duration,
    /// Shorter series are not judged.
    pub span: Duration,
    /// Growth over the whole series that is no finding.
    pub allowance: f64,
}

/// One descriptor that is opened and not closed in each span is too many.
pub const DESCRIPTORS: Rule =
    Rule { warm_up: Duration::from_millis(1500), span: Duration::from_secs(3), allowance: 1.0 };
/// In KiB: the allocator's own pages come and go.
const MEMORY: Rule = Rule { warm_up: Duration::from_secs(20), span: Duration::from_secs(60), allowance: 1024.0 };

/// That of a process's memory. `sample` fills 4 MiB of each format for slow clients, which takes minutes at 500 samples a second.
pub fn memory(process: &str) -> Rule {
    match process {
        "sample" => Rule { warm_up: Duration::from_secs(300), ..MEMORY },
        _ => MEMORY,
    }
}

impl Rule {
    /// By how much it grew, if it is long enough to be judged.
    pub fn growth(&self, series: &[(f64, f64)]) -> Option<f64> {
        let settled: Vec<(f64, f64)> =
            series.iter().copied().filter(|(at, _)| *at >= self.warm_up.as_secs_f64()).collect();
        let span = settled.last()?.0 - settled.first()?.0;
        if span < self.span.as_secs_f64() || settled.len() < 5 {
            return None;
        }
        let pairs = settled.iter().enumerate().flat_map(|(n, from)| settled[n + 1..].iter().map(move |to| (from, to)));
        let mut slopes: Vec<f64> =
            pairs.filter(|(from, to)| to.0 > from.0).map(|(from, to)| (to.1 - from.1) / (to.0 - from.0)).collect();
        slopes.sort_by(f64::total_cmp);
        Some(slopes.get(slopes.len() / 2)? * span)
    }

    pub fn is_flat(&self, series: &[(f64, f64)]) -> bool {
        self.growth(series).is_none_or(|growth| growth < self.allowance)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::usage::Usage;

    fn series(of: impl Fn(f64) -> f64) -> Series {
        (0..200).map(|n| (f64::from(n), of(f64::from(n)))).collect()
    }

    #[test]
    fn a_slow_leak_is_found_and_noise_is_not() {
        let noise = |at: f64| ((at * 7.3).sin() * 300.0).round();
        assert!(MEMORY.is_flat(&series(|at| 50_000.0 + noise(at))));
        assert!(MEMORY.is_flat(&series(|at| if at < 90.0 { 40_000.0 } else { 44_000.0 })), "a step");
        assert!(!MEMORY.is_flat(&series(|at| 50_000.0 + noise(at) + 8.0 * at)), "8 KiB a second");
        assert!(MEMORY.is_flat(&series(|at| if at < 19.0 { at * 900.0 } else { 18_000.0 })), "the warm-up");
        assert!(DESCRIPTORS.is_flat(&series(|at| 20.0 + (at % 3.0))), "a client comes and goes");
        assert!(!DESCRIPTORS.is_flat(&series(|at| 20.0 + (at / 40.0).floor())), "one in 40 s");
        assert!(DESCRIPTORS.growth(&series(|_| 20.0)[..3]).is_none());
    }

    /// A process that is doctored: it opens and closes nothing.
    #[test]
    fn a_descriptor_that_a_process_leaks_is_found() {
        if !crate::has("bash") {
            return;
        }
        let judged = |leaks: &str| {
            let script = format!("while :; do {leaks} sleep 0.2; done");
            let command = Command::new("bash").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap();
            let process = crate::site::Killed(command);
            let mut figures = Usage::default();
            let rule = Rule { warm_up: Duration::ZERO, span: Duration::from_secs(1), allowance: 1.0 };
            while rule.growth(&figures.descriptors).is_none() {
                figures.observe(process.0.id());
                std::thread::sleep(Duration::from_millis(50));
            }
            rule.is_flat(&figures.descriptors)
        };
        assert!(judged(""));
        assert!(!judged("exec {a}</dev/null;"));
    }
}
