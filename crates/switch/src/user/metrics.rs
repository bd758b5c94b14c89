//! Counters of the user data plane as OpenMetrics text.

use ontick_record::openmetrics::{Exposition, Kind, Labels};

use ontick_tsn::model::Switch;

use super::counters::{Counters, PortCounters, QueueCounters, StreamCounters};
use super::serve::Report;

type Whole = fn(&Counters) -> u64;
type OfPort = fn(&PortCounters) -> u64;
type OfQueue = fn(&QueueCounters) -> u64;
type OfStream = fn(&StreamCounters) -> u64;

const WHOLE: [(&str, &str, Whole); 7] = [
    ("stalls", "Stalls of the core.", |all| all.stalls.get()),
    ("stalled_nanoseconds", "For how long in all.", |all| all.stalled_ns.get()),
    ("clock_steps", "Times that the clock of the gates was set.", |all| all.clock_steps.get()),
    ("rests", "Rests of the core, which leave the CPU to other threads.", |all| all.rests.get()),
    ("rested_nanoseconds", "For how long in all.", |all| all.rested_ns.get()),
    ("addresses_without_place", "Addresses that did not fit into the table.", |all| all.addresses_without_place.get()),
    ("addresses_moved", "Addresses that moved from port to port.", |all| all.addresses_moved.get()),
];
const OF_PORT: [(&str, &str, OfPort); 13] = [
    ("received", "Frames that came in.", |port| port.received.get()),
    ("received_bytes", "Their octets.", |port| port.octets.get()),
    ("overflowed", "Frames that found the ring full.", |port| port.overflowed.get()),
    ("oversized", "Frames longer than the link allows.", |port| port.oversized.get()),
    ("malformed", "Frames without a header.", |port| port.malformed.get()),
    ("reserved", "Frames to addresses that no bridge forwards.", |port| port.reserved.get()),
    ("closed", "Frames that came in while the port was closed, as it makes a loop.", |port| port.closed.get()),
    ("filtered", "Frames with nowhere else to go.", |port| port.filtered.get()),
    ("flooded", "Frames to addresses not known.", |port| port.flooded.get()),
    ("no_entry", "Frames without the static entry that their port asks for.", |port| port.no_entry.get()),
    ("policed", "Frames that were more, larger or at another time than their stream may.", |port| port.policed.get()),
    ("eliminated", "Frames that came in by another path before, or without a number.", |port| port.eliminated.get()),
    ("not_crossed", "Copies that found no room on their way to the core of another port.", |port| {
        port.not_crossed.get()
    }),
];
const OF_STREAM: [(&str, &str, OfStream); 14] = [
    ("stream_packets", "Frames of a stream that came in.", |stream| stream.frames.get()),
    ("stream_drops_over_sdu", "Dropped: larger than the stream may be.", |stream| stream.over_sdu.get()),
    ("stream_drops_gate", "Dropped: the gate of the stream was closed.", |stream| stream.gate_closed.get()),
    ("stream_drops_red", "Dropped: above the rate and burst of the stream.", |stream| stream.red.get()),
    ("stream_drops_no_room", "Dropped: no room for the redundancy tag.", |stream| stream.no_room.get()),
    ("stream_recovered", "Frames that were the first with their number.", |stream| stream.recovered.get()),
    ("stream_drops_duplicate", "Dropped: a frame with their number had come before.", |stream| stream.duplicates.get()),
    ("stream_drops_rogue", "Dropped: their number was out of range.", |stream| stream.rogue.get()),
    ("stream_drops_tagless", "Dropped: they had no number.", |stream| stream.tagless.get()),
    ("stream_numbered", "Frames that were sent over several ports with a number.", |stream| stream.numbered.get()),
    ("stream_out_of_order", "Frames whose number did not follow the one before.", |stream| stream.out_of_order.get()),
    ("stream_lost", "Numbers that no frame came with.", |stream| stream.lost.get()),
    ("stream_resets", "Times that any number was accepted again, after a silence.", |stream| stream.resets.get()),
    ("stream_latent_errors", "Times that a path was missing or there were too many.", |stream| {
        stream.latent_errors.get()
    }),
];
const OF_QUEUE: [(&str, &str, OfQueue); 10] = [
    ("packets", "Frames that left.", |queue| queue.sent.get()),
    ("bytes", "Octets that left.", |queue| queue.octets.get()),
    ("drops", "Frames that were dropped, for whatever reason.", |queue| queue.dropped()),
    ("drops_full", "Dropped: too many waited.", |queue| queue.full.get()),
    ("drops_over_sdu", "Dropped: larger than the class may be.", |queue| queue.over_sdu.get()),
    ("drops_no_window", "Dropped: no window is long enough.", |queue| queue.no_window.get()),
    ("drops_down", "Dropped: the link is down.", |queue| queue.down.get()),
    ("drops_refused", "Dropped: the interface did not take it, at once or for too long.", |queue| queue.refused.get()),
    ("late", "Sent, but ended after the gate had closed, as handing over was held up.", |queue| queue.late.get()),
    ("overdue", "Sent, but after a cycle of the gates or more: their window passed without them.", |queue| {
        queue.overdue.get()
    }),
];

/// The text, complete with its end.
pub fn text(switch: &Switch, report: &Report) -> String {
    let mut text = Exposition::with_prefix("ontick_switch_");
    let all = Labels::new(&[("switch", &switch.name)]);
    for (metric, help, count) in WHOLE {
        text.family(metric, Kind::Counter, help).sample(&all, count(&report.counters));
    }
    let ports: Vec<_> =
        report.ports.iter().map(|port| all.and("port", &port.name)).zip(&report.counters.ports).collect();
    for (metric, help, count) in OF_PORT {
        let family = text.family(metric, Kind::Counter, help);
        ports.iter().for_each(|(labels, counters)| family.sample(labels, count(counters)));
    }
    let of_queue = OF_QUEUE.map(|(metric, help, count)| (metric, Kind::Counter, help, count));
    let waiting: OfQueue = |queue| queue.waiting.get();
    for (metric, kind, help, count) in
        of_queue.into_iter().chain([("waiting", Kind::Gauge, "Frames that wait.", waiting)])
    {
        let family = text.family(metric, kind, help);
        for (labels, counters) in &ports {
            for class in &switch.classes {
                family.sample(&labels.and("class", &class.name), count(&counters.queues[usize::from(class.queue)]));
            }
        }
    }
    for (metric, help, count) in OF_STREAM.into_iter().filter(|_| !switch.streams.is_empty()) {
        let family = text.family(metric, Kind::Counter, help);
        for (stream, counters) in switch.streams.iter().zip(&report.counters.streams.all()) {
            family.sample(&all.and("stream", &stream.name), count(counters));
        }
    }
    let up = text.family("link_up", Kind::Gauge, "Whether a port can send.");
    for (port, (labels, _)) in report.ports.iter().zip(&ports) {
        up.sample(labels, u8::from(port.link && port.open && !port.closed));
    }
    text.finish()
}
