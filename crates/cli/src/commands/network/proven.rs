//! What became of streams, as records have it, and what it is held against.

use ontick_network::Delivered;
use ontick_record::network::{NetworkProof, ProvenStream};
use ontick_record::run::Judged;
use ontick_record::{Histogram, Series};
use ontick_tsn::network::{LinkId, Network};
use ontick_tsn::validate::Schedule;
use ontick_units::count;

/// A stream at a listener. What carries its frames may add so many ns to what is promised.
pub fn stream(network: &Network, schedule: &Schedule, of: &Delivered, added_ns: u64) -> ProvenStream {
    let promised = &network.streams[of.stream];
    // What clocks and data planes differ by is no doing of the plan's, and is there on each link of the way.
    let of_link = |link: &LinkId| {
        let (least, most) = network.processing_ns(*link);
        network.timing.latest_ns() + most - least
    };
    let of_links: u64 = schedule.routes[of.stream].iter().map(of_link).sum();
    ProvenStream {
        name: promised.name.clone(),
        from: network.nodes[promised.talker].name.clone(),
        to: network.nodes[of.listener].name.clone(),
        period_ns: promised.period_ns,
        deadline_ns: promised.deadline_ns,
        added_ns,
        jitter_allowed_ns: promised.jitter_ns + 2 * network.sync_error_ns + of_links + added_ns,
        planned_ns: of.planned_ns,
        planned: of.planned,
        sent: of.sent,
        received: of.received,
        lost_frames: of.frames.0.saturating_sub(of.frames.1),
        late: of.late,
        early: of.early,
        after_plan: of.after_plan,
        outside_window: of.outside_window,
        out_of_order: of.out_of_order,
        duplicates: of.duplicates,
        min_ns: of.latency.min_ns,
        p99_ns: of.latency.quantile(0.99),
        max_ns: of.latency.max_ns,
    }
}

/// Latencies of all streams together.
pub fn all_messages(latencies: impl Iterator<Item = Histogram>) -> Series {
    let all: Vec<Histogram> = latencies.collect();
    let mut latency = Histogram::from_buckets(all.iter().flat_map(|of| of.buckets().iter().copied()));
    latency.min_ns = all.iter().filter_map(|of| of.min_ns).min();
    latency.max_ns = all.iter().filter_map(|of| of.max_ns).max();
    Series { name: "all messages".into(), latency, ..Series::default() }
}

/// Whether something was met, and what was observed.
pub fn requirement(requirement: &str, observed: String, met: bool) -> Judged {
    Judged { requirement: requirement.into(), observed, met, ..Judged::default() }
}

/// What every network is held against; `sent` says that there is something to judge of every stream.
pub fn judged(proof: &NetworkProof, sent: &str) -> Vec<Judged> {
    let sum = |of: fn(&ProvenStream) -> u64| proof.sum(of);
    let [lost, late, early] = [sum(ProvenStream::lost), sum(|of| of.late), sum(|of| of.early)];
    let silent = proof.streams.iter().filter(|of| of.sent == 0).count();
    let left_out = match sum(ProvenStream::unsent) {
        0 => String::new(),
        1 => ", and 1 message was left out".into(),
        n => format!(", and {} messages were left out", count(n)),
    };
    let unsteady = proof.streams.iter().filter(|of| of.jitters()).count();
    let [missing, behind, twice] = [sum(|of| of.lost_frames), sum(|of| of.out_of_order), sum(|of| of.duplicates)];
    let promise = match proof.emulation {
        Some(_) => "every message within its promise and what the emulation adds",
        None => "every message within its promise",
    };
    vec![
        requirement(
            promise,
            format!(
                "of {} sent {} were lost, {} late, {} early",
                count(sum(|of| of.sent)),
                count(lost),
                count(late),
                count(early)
            ),
            [lost, late, early].iter().all(|messages| *messages == 0),
        ),
        requirement(
            "every frame once and in order",
            format!("{} missing, {} out of order, {} doubled", count(missing), count(behind), count(twice)),
            [missing, behind, twice].iter().all(|frames| *frames == 0),
        ),
        requirement(
            "jitter within what is allowed",
            format!("{unsteady} of {} streams differ by more", proof.streams.len()),
            unsteady == 0,
        ),
        // Of no stream nothing is proven, and of a message that never left nothing was found.
        requirement(
            sent,
            format!("{silent} of {} are not{left_out}", proof.streams.len()),
            silent == 0 && left_out.is_empty() && !proof.streams.is_empty(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(of: ProvenStream) -> Vec<bool> {
        let proof = NetworkProof { streams: vec![of], ..NetworkProof::default() };
        judged(&proof, "every stream is sent").iter().map(|judged| judged.met).collect()
    }

    /// They come off the wire: a sum of them has no end.
    #[test]
    fn counts_of_any_size_are_judged() {
        let of = ProvenStream { lost_frames: u64::MAX - 5, duplicates: 6, ..ProvenStream::default() };
        assert!(!met(of)[1]);
        let of = ProvenStream { sent: u64::MAX, late: 1, early: u64::MAX, ..ProvenStream::default() };
        assert!(!met(of)[0]);
    }

    #[test]
    fn a_message_that_was_never_sent_is_not_as_if_it_had_come() {
        let of = ProvenStream { planned: 10, sent: 5, received: 5, ..ProvenStream::default() };
        assert_eq!(met(of.clone()), [true, true, true, false]);
        assert_eq!(met(ProvenStream { sent: 10, received: 10, ..of.clone() }), [true; 4]);
        let proof = NetworkProof { streams: vec![of], ..NetworkProof::default() };
        assert_eq!(judged(&proof, "every stream is sent")[3].observed, "0 of 1 are not, and 5 messages were left out");
    }
}
