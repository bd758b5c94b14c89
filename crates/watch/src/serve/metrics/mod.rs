//! The figures for Prometheus and its kin: the cumulative record, and how the service is.

pub(crate) mod exponential;
mod protobuf;
mod round_trips;
mod switches;

use ontick_record::Severity;
use ontick_record::openmetrics::{Exposition, Kind, Labels, seconds};
use ontick_report::exposition_of;

use crate::series::SeriesId;
use crate::state::State;
use crate::switches::Switches;

/// OpenMetrics text, 1.0.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Prometheus' text of before.
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How far back the largest latencies of `ontick_watch_recent_max_seconds` reach, in seconds: longer than the usual time
/// between two scrapes.
const RECENT_S: u32 = 300;

/// All of them as of `now`, in the best of the formats that are accepted, and its name.
pub fn answer(state: &State, now: u32, switches: Option<&Switches>, accepted: &str) -> (&'static str, Vec<u8>) {
    let all = all(state, now, switches);
    match () {
        () if protobuf::is_accepted(accepted) => (protobuf::CONTENT_TYPE, protobuf::encode(&all)),
        () if wants_plain(accepted) => (PLAIN, all.finish_plain().into_bytes()),
        () => (TEXT, all.finish().into_bytes()),
    }
}

/// Whether who asks takes the text of before and names no OpenMetrics; who takes anything gets that.
fn wants_plain(accepted: &str) -> bool {
    let names = |kind: &str| accepted.split(',').any(|one| one.trim_start().starts_with(kind));
    names("text/plain") && !names("application/openmetrics-text")
}

/// All of them as of `now`.
pub fn all(state: &State, now: u32, switches: Option<&Switches>) -> Exposition {
    let mut all = exposition_of(state.run(), |series| series.round_trips.is_none());
    let mut out = Exposition::with_prefix("ontick_watch_");
    let present = state.now(now);

    let help = "Largest latency of the last 5 minutes, exact.";
    let family = out.family("recent_max_seconds", Kind::Gauge, help);
    let recent = state.history(now.saturating_sub(RECENT_S), now.saturating_add(1), 1, now).unwrap_or_default();
    for row in &recent {
        if let SeriesId::Cpu(cpu) = row.series {
            family.sample(&Labels::default().and("cpu", &cpu.to_string()), seconds(row.max_ns as f64));
        }
    }
    let family = out.family("paused", Kind::Gauge, "1 where a CPU is not measured now.");
    for cpu in &present.cpus {
        family.sample(&Labels::default().and("cpu", &cpu.cpu.to_string()), u8::from(cpu.now.paused.is_some()));
    }
    let family = out.family("duty_ratio", Kind::Gauge, "Share of one CPU that the service used lately.");
    family.sample(&Labels::default(), present.duty);
    let family = out.family("started_seconds", Kind::Gauge, "When the service began, since 1970.");
    family.sample(&Labels::default(), present.started);
    let family = out.family("findings", Kind::Gauge, "What keeps the machine from good timing, by severity.");
    for (severity, count) in [(Severity::Bad, present.bad), (Severity::Warn, present.warnings)] {
        family.sample(&Labels::default().and("severity", severity.name()), count);
    }
    let mut outliers = std::collections::BTreeMap::new();
    present.causes.iter().for_each(|counted| *outliers.entry(counted.cause.as_str()).or_insert(0) += counted.count);
    let family =
        out.family("outliers", Kind::Counter, "Latencies above the outlier threshold, by what made them late.");
    for (cause, count) in outliers {
        family.sample(&Labels::default().and("cause", cause), count);
    }
    all.append(out);
    all.append(round_trips::families(state, &recent));
    if let Some(switches) = switches {
        all.append(switches::families(switches));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_plain_text_alone_gets_the_format_of_before() {
        assert!(wants_plain("text/plain") && wants_plain("text/html, text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
        let current = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
        assert!(!wants_plain(current) && !wants_plain("") && !wants_plain("*/*"));
    }
}
