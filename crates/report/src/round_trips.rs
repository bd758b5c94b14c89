//! Requests and answers in words.

use ontick_record::Run;
use ontick_record::run::{RoundTrips, Series};
use ontick_units::{exact, show};

use crate::number::{count, counted};

/// What became of the requests of each series that had any: counts, for a line.
pub(crate) fn of(run: &Run) -> Vec<Vec<String>> {
    run.series.iter().filter_map(|series| Some(counts(series.round_trips.as_ref()?))).collect()
}

fn counts(trips: &RoundTrips) -> Vec<String> {
    let RoundTrips { link, responder, deadline_ns, sent, answered, late, skipped, refused, .. } = trips;
    let deadline = exact(*deadline_ns);
    let mut parts = vec![
        format!("{} to {responder} by {link}", counted(*sent, "request")),
        format!("{} answered", count(*answered)),
        format!("{} later than {deadline}", count(*late)),
        format!("{} not answered before the next", count(sent.saturating_sub(*answered))),
    ];
    let rare = [
        (*skipped, "periods without a request, as the requester was held up"),
        (*refused, "requests that the kernel did not take"),
        (trips.overdue, "answers after the next request"),
        (trips.duplicates, "answers once more"),
        (trips.out_of_order, "answers out of order"),
    ];
    parts.extend(rare.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(n))));
    parts
}

/// The verdict of a run of requests.
pub(crate) fn verdict(run: &Run) -> Option<String> {
    let all: Vec<String> = run.series.iter().filter_map(of_series).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

fn of_series(series: &Series) -> Option<String> {
    let trips = series.round_trips.as_ref()?;
    let (in_time, all) = (trips.answered.saturating_sub(trips.late), series.cycles());
    let within = exact(trips.deadline_ns);
    let Some(max) = series.latency.max_ns.map(show) else {
        return Some(format!("None of {} had an answer.", counted(all, "period")));
    };
    let p99 = series.latency.quantile(0.99).map(show).unwrap_or_default();
    let who = match in_time == all {
        true => format!("Each of {} had its answer within {within}", counted(all, "period")),
        false => format!("{} of {} had their answer within {within}", count(in_time), counted(all, "period")),
    };
    Some(format!("{who}: 99 % of the answers within {p99}, the last after {max}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Measurement;

    fn run(late: u64, missed: u64) -> Run {
        let mut series = Series { name: "round trip".into(), missed, ..Series::default() };
        series.latency.add(9_000, 1, 1_000 - late);
        series.latency.add(700_000, 1, late);
        series.round_trips = Some(RoundTrips {
            link: "eth1".into(),
            responder: "02:00:00:00:00:01".into(),
            deadline_ns: 500_000,
            sent: 1_000 + missed,
            answered: 1_000,
            late,
            duplicates: missed,
            ..RoundTrips::default()
        });
        Run { series: vec![series], ..Run::new("ontick", Measurement::RoundTrip) }
    }

    #[test]
    fn requests_are_counted_and_judged_by_their_deadline() {
        let good = "Each of 1000 periods had its answer within 500us: 99 % of the answers within 9.00us, the last after 9.00us.";
        assert_eq!(crate::verdict::verdict(&run(0, 0)).replace(' ', ""), good.replace(' ', ""));
        let bad = "998 of 1003 periods had their answer within 500us: 99 % of the answers within 9.00us, the last after 700us.";
        assert_eq!(crate::verdict::verdict(&run(2, 3)).replace(' ', ""), bad.replace(' ', ""));
        let text = of(&run(2, 3)).remove(0).join(" · ");
        assert!(
            text.contains("to 02:00:00:00:00:01 by eth1 ·") && text.contains("· 2 later than 500us · 3 not"),
            "{text}"
        );
        assert!(text.ends_with("3 answers once more"), "{text}");
        assert!(of(&Run::new("ontick", "timer")).is_empty());
    }

    #[test]
    fn a_run_without_an_answer_says_so() {
        let mut run = run(0, 5);
        run.series[0].latency = ontick_record::Histogram::default();
        assert_eq!(verdict(&run).unwrap(), "None of 5 periods had an answer.");
    }
}
