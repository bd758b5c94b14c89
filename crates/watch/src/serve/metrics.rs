//! The figures for Prometheus and its kin: the cumulative record, and how the service is.

use ontick_record::Severity;
use ontick_record::openmetrics::{Exposition, Kind, Labels, seconds};
use ontick_report::openmetrics;

use crate::state::State;

/// OpenMetrics text, 1.0.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How far back the largest latencies of `ontick_watch_recent_max_seconds` reach, in seconds: longer than the usual time
/// between two scrapes.
const RECENT_S: u32 = 300;

/// All of them, as of `now`.
pub fn text(state: &State, now: u32) -> String {
    let record = openmetrics(state.run());
    let record = record.strip_suffix("# EOF\n").unwrap_or(&record);
    let mut out = Exposition::with_prefix("ontick_watch_");
    let present = state.now(now);

    let help = "Largest latency of the last 5 minutes, exact.";
    let mut family = out.family("recent_max_seconds", Kind::Gauge, help);
    let recent = state.history(now.saturating_sub(RECENT_S), now.saturating_add(1), 1, now).unwrap_or_default();
    for row in recent {
        family.sample(&Labels::default().and("cpu", &row.cpu.to_string()), seconds(row.max_ns as f64));
    }
    let mut family = out.family("paused", Kind::Gauge, "1 where a CPU is not measured now.");
    for cpu in &present.cpus {
        family.sample(&Labels::default().and("cpu", &cpu.cpu.to_string()), u8::from(cpu.now.paused.is_some()));
    }
    let mut family = out.family("duty_ratio", Kind::Gauge, "Share of one CPU that the service used lately.");
    family.sample(&Labels::default(), present.duty);
    let mut family = out.family("started_seconds", Kind::Gauge, "When the service began, since 1970.");
    family.sample(&Labels::default(), present.started);
    let mut family = out.family("findings", Kind::Gauge, "What keeps the machine from good timing, by severity.");
    for (severity, count) in [(Severity::Bad, present.bad), (Severity::Warn, present.warnings)] {
        family.sample(&Labels::default().and("severity", severity.name()), count);
    }
    format!("{record}{}", out.finish())
}
