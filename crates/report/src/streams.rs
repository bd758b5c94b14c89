//! A network that was run: its headline, its verdict, and the order of its streams.

use ontick_record::Histogram;
use ontick_record::network::{Emulation, NetworkProof, ProvenStream};
use ontick_units::{exact, show};

use crate::figures::latency;
use crate::line::Line;
use crate::number::{count, counted};

/// Streams that tables have at most: those that come nearest to their deadline or do not hold go first.
pub(crate) const ROWS: usize = 24;

/// The lines above the table.
pub(crate) fn lines(of: &NetworkProof) -> Vec<Line> {
    let counted = |n: u64, what: &str| match (n, what) {
        (n, "switch") if n != 1 => format!("{n} switches"),
        (n, what) => counted(n, what),
    };
    let mut network = vec![
        counted(of.switches, "switch"),
        counted(of.stations, "station"),
        format!("{} at their listeners", counted(of.streams.len() as u64, "stream")),
    ];
    let is_simulated = of.world == "simulation";
    let duration = if is_simulated { exact(of.duration_ns) } else { show(of.duration_ns) };
    network.push(format!("messages of {duration}"));
    let mut world = vec![of.world.clone(), of.about.clone()];
    if is_simulated {
        world.push(format!("seed {}", of.seed));
    }
    world.retain(|part| !part.is_empty());
    let mut load = vec![counted(of.frames, "frame")];
    if is_simulated {
        load.push(format!("{} on links", count(of.hops)));
    }
    if of.best_effort > 0 {
        load.push(format!("{} best-effort", count(of.best_effort)));
    }
    let mut lines = vec![Line { label: "network", parts: network }, Line { label: "world", parts: world }];
    if is_simulated {
        let apart = format!("at most {} apart", exact(of.clocks_apart_ns));
        let clocks = vec![apart, format!("the plan allows {}", exact(of.sync_error_ns))];
        lines.push(Line { label: "clocks", parts: clocks });
    }
    if let Some(emulation) = &of.emulation {
        lines.extend(emulated(emulation));
    }
    lines.push(Line { label: "load", parts: load });
    if !of.faults.is_empty() {
        lines.push(Line { label: "faults", parts: of.faults.clone() });
    }
    if !of.dropped.is_empty() {
        let dropped = of.dropped.iter().map(|dropped| format!("{} {}", count(dropped.frames), dropped.why));
        lines.push(Line { label: "dropped", parts: dropped.collect() });
    }
    lines
}

/// What the emulation itself needs, which is no doing of the plan's.
fn emulated(of: &Emulation) -> Vec<Line> {
    let of_histogram = |histogram: &Histogram, p: f64| latency(histogram.quantile(p));
    let (switch, talkers) = (&of.per_switch, &of.talkers);
    let mut needs = vec![format!(
        "{} for a switch with all gates open, p99 {}, max {}: added to each promise",
        of_histogram(switch, 0.5),
        of_histogram(switch, 0.99),
        latency(switch.max_ns)
    )];
    if of.stalls > 0 {
        needs.push(format!(
            "the core was held up {}, {} at most",
            counted(of.stalls, "time"),
            show(of.longest_stall_ns)
        ));
    }
    let mut late = vec![format!(
        "p50 {}, p99 {}, max {} late",
        of_histogram(talkers, 0.5),
        of_histogram(talkers, 0.99),
        latency(talkers.max_ns)
    )];
    if of.not_sent > 0 {
        late.push(format!("{} not sent", counted(of.not_sent, "message")));
    }
    vec![Line { label: "emulation", parts: needs }, Line { label: "talkers", parts: late }]
}

/// What it means, in a sentence or two.
pub(crate) fn verdict(of: &NetworkProof) -> String {
    let (sent, outside) = (of.sum(|stream| stream.sent), of.sum(ProvenStream::outside));
    let failed: Vec<&ProvenStream> = of.streams.iter().filter(|stream| !stream.holds()).collect();
    let clocks = match of.clocks_apart_ns > of.sync_error_ns {
        true => format!(
            " Clocks were up to {} apart, which is more than the {} that the plan allows.",
            exact(of.clocks_apart_ns),
            exact(of.sync_error_ns)
        ),
        false => String::new(),
    };
    if sent == 0 {
        return "No message was sent, so nothing is proven.".into();
    }
    if failed.is_empty() {
        let worst = of.streams.iter().max_by(|a, b| a.share_of_deadline().total_cmp(&b.share_of_deadline()));
        let (promise, limit) = match of.emulation {
            Some(_) => ("their promise and what the emulation adds", "both together"),
            None => ("their promise", "its deadline"),
        };
        let worst = worst.map_or(String::new(), |worst| {
            let share = worst.share_of_deadline() * 100.0;
            format!(" The nearest to {limit} is {} to {} with {share:.0} % of it.", worst.name, worst.to)
        });
        return format!("All {} came within {promise}, once and in order.{worst}{clocks}", counted(sent, "message"));
    }
    let sums = [
        (of.sum(ProvenStream::lost), "lost"),
        (of.sum(|stream| stream.late), "late"),
        (of.sum(|stream| stream.early), "early"),
    ];
    let sums: Vec<String> =
        sums.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
    let sums = if sums.is_empty() { String::new() } else { format!(" ({})", sums.join(", ")) };
    let messages = counted(sent, "message");
    let unsent = of.sum(ProvenStream::unsent);
    let what = match outside {
        0 if unsent > 0 => format!("none of {messages} was lost, late or early"),
        0 => format!(
            "none of {messages} was lost, late or early, but latencies differ by more than is allowed, or frames came twice or out of order"
        ),
        1 => format!("of {messages} 1 was outside of it{sums}"),
        n => format!("of {messages} {} were outside of it{sums}", count(n)),
    };
    let what = match unsent {
        0 => what,
        n => format!("{what}, and {} of the plan's were not sent", count(n)),
    };
    let [who, theirs] = match failed.len() {
        1 => ["does", "its"],
        _ => ["do", "their"],
    };
    format!(
        "{} of {} {who} not keep {theirs} promise: {what}.{clocks}",
        count(failed.len() as u64),
        counted(of.streams.len() as u64, "stream"),
    )
}

/// Streams in the order in which one wants to see them: those that do not hold, then by the part of their deadline.
pub(crate) fn ranked(of: &NetworkProof) -> Vec<&ProvenStream> {
    let mut streams: Vec<&ProvenStream> = of.streams.iter().collect();
    streams.sort_by(|a, b| {
        let key = |stream: &ProvenStream| (stream.holds(), std::cmp::Reverse(stream.outside()));
        key(a).cmp(&key(b)).then(b.share_of_deadline().total_cmp(&a.share_of_deadline()))
    });
    streams
}

/// In a word or two, whether a stream keeps its promise, or what is wrong.
pub(crate) fn judged(stream: &ProvenStream) -> &'static str {
    match stream {
        _ if stream.holds() => "holds",
        _ if stream.sent == 0 => "not sent",
        _ if stream.lost() > 0 || stream.lost_frames > 0 => "lost",
        _ if stream.late > 0 => "late",
        _ if stream.early > 0 => "early",
        _ if stream.unsent() > 0 => "not sent",
        _ if stream.jitters() => "jitter",
        _ => "order",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof() -> NetworkProof {
        let stream = |name: &str, max_ns| ProvenStream {
            name: name.into(),
            to: "b".into(),
            deadline_ns: 100,
            jitter_allowed_ns: 100,
            sent: 10,
            received: 10,
            min_ns: Some(1),
            max_ns: Some(max_ns),
            ..ProvenStream::default()
        };
        NetworkProof { streams: vec![stream("near", 90), stream("far", 10)], ..NetworkProof::default() }
    }

    /// One clock, no links and no seed, and what the emulation needs itself.
    #[test]
    fn with_real_frames_what_the_emulation_adds_is_said() {
        let times = |ns| Histogram::from_buckets([(ns, 1, 10).into()]);
        let emulation = Emulation {
            per_switch: times(3_000),
            talkers: times(500),
            not_sent: 2,
            stalls: 1,
            longest_stall_ns: 5_200_000,
        };
        let mut of = NetworkProof { world: "namespaces".into(), emulation: Some(emulation), ..proof() };
        of.streams.iter_mut().for_each(|stream| stream.added_ns = 100);
        let lines = lines(&of);
        let said = |label| lines.iter().find(|line| line.label == label).map(|line| line.parts.join(" · "));
        let needs = "3.00us for a switch with all gates open, p99 3.00us, max 3.00us: added to each promise · the core was held up 1 time, 5.20ms at most";
        assert_eq!(said("emulation").as_deref(), Some(needs));
        assert_eq!(said("talkers").as_deref(), Some("p50 500ns, p99 500ns, max 500ns late · 2 messages not sent"));
        assert_eq!((said("clocks"), said("world").as_deref()), (None, Some("namespaces")));
        let all = "All 20 messages came within their promise and what the emulation adds, once and in order. The nearest to both together is near to b with 45 % of it.";
        assert_eq!(verdict(&of), all);
    }

    #[test]
    fn the_verdict_names_what_is_wrong_or_the_nearest() {
        let mut of = proof();
        let all = "All 20 messages came within their promise, once and in order. The nearest to its deadline is near to b with 90 % of it.";
        assert_eq!(verdict(&of), all);
        of.streams[1].received = 7;
        of.streams[1].late = 1;
        (of.clocks_apart_ns, of.sync_error_ns) = (5_000, 1_000);
        assert_eq!(
            verdict(&of),
            "1 of 2 streams does not keep its promise: of 20 messages 4 were outside of it (3 lost, 1 late). Clocks were up to 5us apart, which is more than the 1us that the plan allows."
        );
        assert_eq!(ranked(&of).iter().map(|of| judged(of)).collect::<Vec<_>>(), ["lost", "holds"]);
        // Nothing but the spread of latencies is wrong.
        (of.streams[1].received, of.streams[1].late, of.streams[1].jitter_allowed_ns) = (10, 0, 5);
        assert!(
            verdict(&of).contains("none of 20 messages was lost, late or early, but latencies differ"),
            "{}",
            verdict(&of)
        );
        // What came was in time, and most of it was never sent.
        (of.streams[1].planned, of.streams[1].jitter_allowed_ns, of.clocks_apart_ns) = (100, 100, 0);
        assert_eq!(
            verdict(&of),
            "1 of 2 streams does not keep its promise: none of 20 messages was lost, late or early, and 90 of the plan's were not sent."
        );
        assert_eq!(ranked(&of).iter().map(|of| judged(of)).collect::<Vec<_>>(), ["not sent", "holds"]);
        assert!(verdict(&NetworkProof::default()).contains("nothing is proven"));
    }
}
