//! Round trips over a network: a histogram and counters of their own, as they are no latency of this machine alone.

use ontick_record::openmetrics::{Exposition, Kind, Labels, seconds};
use ontick_report::distribution;

use crate::history::row::Row;
use crate::series::SeriesId;
use crate::state::State;

/// The families of all round trips, of which the latest rows are these; none where none are measured.
pub fn families(state: &State, recent: &[Row]) -> Exposition {
    let mut out = Exposition::default();
    if state.round_trips().is_empty() {
        return out;
    }
    let all = || {
        let labelled = |(id, labels)| Some((labels, state.total(id)?));
        ways(state).filter_map(labelled)
    };
    let help = "From when a request was to be sent until its answer was there.";
    let family = out.family("ontick_round_trip_seconds", Kind::Histogram, help);
    for (labels, series) in all() {
        family.histogram(&labels, distribution(&series.latency));
    }
    let help = "Periods without an answer before the next request was due, by reason.";
    let family = out.family("ontick_round_trip_missed", Kind::Counter, help);
    for (labels, series) in all() {
        let Some(counts) = &series.round_trips else { continue };
        let reasons = [
            ("lost", counts.lost()),
            ("overdue", counts.overdue),
            ("skipped", counts.skipped),
            ("refused", counts.refused),
        ];
        reasons.iter().for_each(|(reason, count)| family.sample(&labels.and("reason", reason), count));
    }
    let help = "Answers beyond the deadline and before the next request.";
    let family = out.family("ontick_round_trip_late", Kind::Counter, help);
    for (labels, series) in all() {
        family.sample(&labels, series.round_trips.as_ref().map_or(0, |counts| counts.late));
    }
    let help = "Largest round trip of the last 5 minutes, exact.";
    let family = out.family("ontick_watch_round_trip_recent_max_seconds", Kind::Gauge, help);
    for (id, labels) in ways(state) {
        let answered = recent.iter().find(|row| row.series == id && row.samples > 0);
        answered.iter().for_each(|row| family.sample(&labels, seconds(row.max_ns as f64)));
    }
    let family = out.family("ontick_watch_round_trip_up", Kind::Gauge, "1 where the last block was answered.");
    for (id, labels) in ways(state) {
        family.sample(&labels, u8::from(state.is_answered(id)));
    }
    out
}

fn ways(state: &State) -> impl Iterator<Item = (SeriesId, Labels)> {
    let labels = |way: &crate::roundtrip::Way| Labels::new(&[("link", &way.link), ("responder", &way.responder)]);
    state.round_trips().iter().map(move |(id, way)| (*id, labels(way)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Job};
    use crate::roundtrip::Way;
    use ontick_record::Histogram;
    use ontick_record::run::RoundTrips;
    use ontick_rt::thread::Policy;

    #[test]
    fn each_way_has_its_figures() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { interval_ns: 1_000_000, cycles: 20, policy: Policy::Other, outlier_ns: 200_000 };
        let way = |responder: &str| Way {
            link: "eth1".into(),
            responder: responder.into(),
            period_ns: 1_000_000,
            deadline_ns: 500_000,
            waiting: "block".into(),
            octets: None,
        };
        let mut state = State::open(folder.path(), &[0], &job, &[way("a"), way("b")], 7).unwrap();
        let (id, _) = state.round_trips()[0].clone();
        let mut latency = Histogram::default();
        latency.add(600_000, 1, 5);
        latency.mean_ns = Some(600_000.0);
        let block = Block { at: 7, series: id, latency, missed: 5, steal_ns: 0 };
        let counts =
            RoundTrips { sent: 8, answered: 5, late: 5, overdue: 1, skipped: 1, refused: 1, ..RoundTrips::default() };
        state.add_round_trips(&block, &counts);
        let recent = state.history(0, 100, 1, 7).unwrap();
        let text = families(&state, &recent).finish();
        for line in [
            "ontick_round_trip_seconds_bucket{link=\"eth1\",responder=\"a\",le=\"0.0005\"} 0\n",
            "ontick_round_trip_seconds_count{link=\"eth1\",responder=\"a\"} 5\n",
            "ontick_round_trip_seconds_bucket{link=\"eth1\",responder=\"b\",le=\"+Inf\"} 0\n",
            "ontick_round_trip_missed_total{link=\"eth1\",responder=\"a\",reason=\"lost\"} 2\n",
            "ontick_round_trip_missed_total{link=\"eth1\",responder=\"a\",reason=\"overdue\"} 1\n",
            "ontick_round_trip_missed_total{link=\"eth1\",responder=\"a\",reason=\"refused\"} 1\n",
            "ontick_round_trip_late_total{link=\"eth1\",responder=\"a\"} 5\n",
            "ontick_watch_round_trip_recent_max_seconds{link=\"eth1\",responder=\"a\"} 0.0006\n",
            "ontick_watch_round_trip_up{link=\"eth1\",responder=\"a\"} 1\n",
            "ontick_watch_round_trip_up{link=\"eth1\",responder=\"b\"} 0\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        // Nothing of it is among the latencies of CPUs.
        let all = super::super::all(&state, 7, None).finish();
        assert!(!all.contains("series=\"round trip") && !all.contains("cpu=\"327"), "{all}");
        assert!(all.contains("ontick_latency_seconds_bucket{") && all.contains("ontick_round_trip_seconds_bucket{"));
    }
}
