//! A network that was run: its headline, its verdict, and the order of its streams.

use ontick_record::network::{NetworkProof, ProvenStream};
use ontick_units::exact;

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
    network.push(format!("messages of {}", exact(of.duration_ns)));
    let mut world = vec![of.world.clone(), of.about.clone(), format!("seed {}", of.seed)];
    world.retain(|part| !part.is_empty());
    let apart = format!("at most {} apart", exact(of.clocks_apart_ns));
    let clocks = vec![apart, format!("the plan allows {}", exact(of.sync_error_ns))];
    let mut load = vec![counted(of.frames, "frame"), format!("{} on links", count(of.hops))];
    if of.best_effort > 0 {
        load.push(format!("{} best-effort", count(of.best_effort)));
    }
    let mut lines = vec![
        Line { label: "network", parts: network },
        Line { label: "world", parts: world },
        Line { label: "clocks", parts: clocks },
        Line { label: "load", parts: load },
    ];
    if !of.faults.is_empty() {
        lines.push(Line { label: "faults", parts: of.faults.clone() });
    }
    if !of.dropped.is_empty() {
        let dropped = of.dropped.iter().map(|dropped| format!("{} {}", count(dropped.frames), dropped.why));
        lines.push(Line { label: "dropped", parts: dropped.collect() });
    }
    lines
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
        let worst = worst.map_or(String::new(), |worst| {
            let share = worst.share_of_deadline() * 100.0;
            format!(" The nearest to its deadline is {} to {} with {share:.0} % of it.", worst.name, worst.to)
        });
        return format!(
            "All {} came within their promise, once and in order.{worst}{clocks}",
            counted(sent, "message")
        );
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
    let what = match outside {
        0 => format!(
            "none of {messages} was lost, late or early, but latencies differ by more than is allowed, or frames came twice or out of order"
        ),
        1 => format!("of {messages} 1 was outside of it{sums}"),
        n => format!("of {messages} {} were outside of it{sums}", count(n)),
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
        _ if stream.late > 0 => "late",
        _ if stream.lost() > 0 || stream.lost_frames > 0 => "lost",
        _ if stream.early > 0 => "early",
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
        assert_eq!(ranked(&of).iter().map(|of| judged(of)).collect::<Vec<_>>(), ["late", "holds"]);
        // Nothing but the spread of latencies is wrong.
        (of.streams[1].received, of.streams[1].late, of.streams[1].jitter_allowed_ns) = (10, 0, 5);
        assert!(
            verdict(&of).contains("none of 20 messages was lost, late or early, but latencies differ"),
            "{}",
            verdict(&of)
        );
        assert!(verdict(&NetworkProof::default()).contains("nothing is proven"));
    }
}
