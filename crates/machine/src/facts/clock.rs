//! Clock source, tick and timers.

use serde::Serialize;

use super::{Arguments, KernelConfig};
use crate::root::Root;

/// What time is read from and how it ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Clock {
    /// Clock source in use.
    pub source: String,
    /// Clock sources to choose from.
    pub available: Vec<String>,
    /// Timer ticks per second.
    pub tick_hz: Option<u32>,
    /// Whether each CPU ticks at its own phase (`skew_tick=1`).
    pub skewed: bool,
    /// Whether timers of idle CPUs move to busy ones.
    pub timer_migration: Option<bool>,
    /// Whether timers have a resolution better than the tick.
    pub high_resolution: Option<bool>,
}

impl Clock {
    pub(crate) fn probe(root: &Root, config: &KernelConfig, arguments: &Arguments) -> Self {
        let folder = "/sys/devices/system/clocksource/clocksource0";
        let words = |v: String| v.split_whitespace().map(str::to_owned).collect();
        Self {
            source: root.value(&format!("{folder}/current_clocksource")).unwrap_or_default(),
            available: root.value(&format!("{folder}/available_clocksource")).map(words).unwrap_or_default(),
            tick_hz: config.get("HZ").and_then(|hz| hz.parse().ok()),
            skewed: arguments.get("skew_tick") == Some("1"),
            timer_migration: root.value("/proc/sys/kernel/timer_migration").map(|v| v != "0"),
            high_resolution: match arguments.get("highres") {
                Some("off") => Some(false),
                _ => config.has("HIGH_RES_TIMERS"),
            },
        }
    }
}
