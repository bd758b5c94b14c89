//! The instrument whose capture a run was taken from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An instrument beside the machine, whose capture holds what the run is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Instrument {
    /// What kind of file it wrote: `sigrok session`, `value change dump`, `table of levels`.
    pub capture: String,
    /// Samples per second; absent where neither the file nor anybody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_hz: Option<u64>,
    /// Within what a time between two edges is known, in ps: one sample, or one step of the file's times.
    pub resolution_ps: u64,
    /// Edges of the channels that were looked at.
    pub edges: u64,
}

impl Instrument {
    /// The resolution as people read it: `41.7 ns`.
    pub fn resolution(&self) -> String {
        let (unit, ps) = [("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)]
            .into_iter()
            .find(|(_, ps)| self.resolution_ps as f64 >= *ps)
            .unwrap_or(("ps", 1.0));
        let value = self.resolution_ps as f64 / ps;
        let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        let shown = format!("{value:.decimals$}");
        let shown = if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
        format!("{shown} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolution_has_three_figures() {
        let shown = |resolution_ps| Instrument { resolution_ps, ..Instrument::default() }.resolution();
        let all = [41_667, 1_000, 10_000, 500, 1_000_000, 2_500_000, 100_000, 1_234_567].map(shown);
        assert_eq!(all, ["41.7 ns", "1 ns", "10 ns", "500 ps", "1 us", "2.5 us", "100 ns", "1.23 us"]);
    }
}
