//! What made samples late: as a sentence and in order.

use ontick_record::Series;
use ontick_record::run::{Cause, Explained};

use crate::number::count;
use crate::number::plain;

/// Causes that a sentence names; it says how many more there were.
const NAMED: usize = 5;

/// The causes of a series, most frequent first; among equals the worst.
pub(crate) fn in_order(series: &Series) -> Vec<&Cause> {
    let mut causes: Vec<&Cause> = series.causes.iter().collect();
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.count), std::cmp::Reverse(cause.max_ns)));
    causes
}

/// A cause with what it was: `device interrupt mmc0`.
pub(crate) fn label(cause: &str, detail: &str) -> String {
    if detail.is_empty() { cause.into() } else { format!("{cause} {detail}") }
}

/// `The 27 outliers above 10us: timer tick 19, device interrupt mmc0 5, outside the kernel 3.`
pub(crate) fn sentence(series: &Series) -> Option<String> {
    // Where latencies were split, no cause was looked for.
    let tracing = series.tracing.filter(|_| series.split.is_none());
    let causes = in_order(series);
    if causes.is_empty() {
        // Tracing that met no outlier has something to say, too.
        let none = format!("No outlier above {}.", plain(series.settings.outlier_threshold_ns));
        return tracing.map(|_| none);
    }
    let seen: u64 = causes.iter().map(|cause| cause.count).sum();
    let above = plain(series.settings.outlier_threshold_ns);
    let mut parts: Vec<String> =
        causes.iter().take(NAMED).map(|c| format!("{} {}", label(&c.cause, &c.detail), count(c.count))).collect();
    let others: u64 = causes.iter().skip(NAMED).map(|cause| cause.count).sum();
    parts.extend((others > 0).then(|| format!("{} others {}", causes.len() - NAMED, count(others))));
    let who = match seen {
        1 => format!("The outlier above {above}"),
        _ => format!("The {} outliers above {above}", count(seen)),
    };
    Some(format!("{who}: {}.", parts.join(", ")))
}

/// The functions of a stack that a line names, innermost first.
const FUNCTIONS: usize = 8;

/// Where in the kernel a task was: `kworker/u8:3 (other) was in the kernel: ext4_writepages < do_writepages < …`.
pub(crate) fn stack(outlier: &Explained) -> Option<String> {
    let mut functions: Vec<&str> = outlier.stack.iter().take(FUNCTIONS).map(String::as_str).collect();
    if outlier.stack.len() > FUNCTIONS {
        functions.push("…");
    }
    let task = if outlier.stack_of.is_empty() { "another task" } else { &outlier.stack_of };
    (!functions.is_empty()).then(|| format!("{task} was in the kernel: {}", functions.join(" < ")))
}

/// The largest outlier of which a stack is known.
pub(crate) fn largest_with_stack(series: &Series) -> Option<String> {
    let outlier = series.explained.iter().find(|outlier| !outlier.stack.is_empty())?;
    let cause = label(&outlier.cause, &outlier.detail);
    Some(format!("At {} late ({cause}): {}", plain(outlier.latency_ns), stack(outlier)?))
}

/// What the tracing did, and what it cost.
pub(crate) fn price(series: &Series) -> Option<String> {
    let tracing = series.tracing?;
    let seconds = series.latency.count() as f64 * series.settings.interval_ns as f64 / 1e9;
    // The tracing begins before the recording: a short one would have far too many.
    let rate = if seconds >= 1.0 {
        format!(" ({} a second)", count((tracing.events as f64 / seconds) as u64))
    } else {
        String::new()
    };
    let lost = if tracing.lost > 0 { format!(", {} lost", count(tracing.lost)) } else { String::new() };
    let cost = match tracing.event_cost_ns {
        0 => String::new(),
        ns => format!(", each about {}", plain(ns)),
    };
    let stacks = if tracing.stacks { ", and a stack some microseconds on top" } else { "" };
    Some(format!(
        "Tracing recorded {} events{rate}{lost}{cost}{stacks}; the latencies have its cost in them.",
        count(tracing.events)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::run::{Split, Tracing};

    fn cause(name: &str, detail: &str, count: u64) -> Cause {
        Cause { cause: name.into(), detail: detail.into(), count, ..Default::default() }
    }

    fn series(causes: Vec<Cause>) -> Series {
        let mut series = Series { causes, tracing: Some(Tracing::default()), ..Default::default() };
        series.settings.outlier_threshold_ns = 10_000;
        series
    }

    #[test]
    fn the_sentence_counts_by_cause() {
        let three =
            vec![cause("device interrupt", "mmc0", 5), cause("outside the kernel", "", 3), cause("timer tick", "", 19)];
        assert_eq!(
            sentence(&series(three)).unwrap(),
            "The 27 outliers above 10us: timer tick 19, device interrupt mmc0 5, outside the kernel 3."
        );
        assert_eq!(sentence(&series(vec![cause("steal", "", 1)])).unwrap(), "The outlier above 10us: steal 1.");
    }

    #[test]
    fn the_price_of_tracing_is_what_it_recorded_and_lost() {
        let priced = |samples, tracing| {
            let mut series = Series { tracing: Some(tracing), ..Default::default() };
            series.settings.interval_ns = 1_000_000;
            series.latency.add(400, 1, samples);
            price(&series)
        };
        let tracing = Tracing { events: 6_000, ..Default::default() };
        assert_eq!(
            priced(2_000, tracing).unwrap(),
            "Tracing recorded 6 000 events (3 000 a second); the latencies have its cost in them."
        );
        assert_eq!(
            priced(0, Tracing { lost: 7, event_cost_ns: 900, ..tracing }).unwrap(),
            "Tracing recorded 6 000 events, 7 lost, each about 900ns; the latencies have its cost in them."
        );
        let short = "Tracing recorded 6 000 events; the latencies have its cost in them.";
        assert_eq!(priced(999, tracing).unwrap(), short, "most were before the first sample");
        let with_stacks = priced(999, Tracing { event_cost_ns: 900, stacks: true, ..tracing }).unwrap();
        assert!(with_stacks.contains(" each about 900ns, and a stack some microseconds on top;"), "{with_stacks}");
        assert_eq!(price(&Series::default()), None);
    }

    #[test]
    fn a_stack_is_named_from_the_inside_out() {
        let outlier = |latency_ns, functions: &[&str]| Explained {
            latency_ns,
            cause: "another task".into(),
            detail: "kworker (other)".into(),
            stack: functions.iter().map(ToString::to_string).collect(),
            stack_of: "kworker (other)".into(),
            ..Explained::default()
        };
        let explained = vec![outlier(90_000, &[]), outlier(41_000, &["a", "b"]), outlier(30_000, &["c"])];
        let wanted = "At 41us late (another task kworker (other)): kworker (other) was in the kernel: a < b";
        assert_eq!(largest_with_stack(&Series { explained, ..Series::default() }).unwrap(), wanted);
        let before = Explained { stack_of: String::new(), ..outlier(1, &["a"]) };
        assert_eq!(stack(&before).unwrap(), "another task was in the kernel: a", "in records that do not tell which");
        assert_eq!(stack(&outlier(1, &["f"; 9])).unwrap().matches('f').count(), 8);
        assert!(stack(&outlier(1, &["f"; 9])).unwrap().ends_with("f < …"));
        assert_eq!(largest_with_stack(&Series { explained: vec![outlier(1, &[])], ..Series::default() }), None);
    }

    #[test]
    fn no_outlier_is_said_and_many_causes_are_summed() {
        assert_eq!(sentence(&series(Vec::new())).unwrap(), "No outlier above 10us.");
        assert_eq!(sentence(&Series { split: Some(Split::default()), ..series(Vec::new()) }), None);
        assert_eq!(sentence(&Series::default()), None);
        let many = (0..8).map(|n| cause("softirq", &n.to_string(), 20 - n)).collect();
        let text = sentence(&series(many)).unwrap();
        assert!(text.ends_with("softirq 4 16, 3 others 42."), "{text}");
    }
}
