//! A switch's counters as OpenMetrics text, for a node exporter's textfile collector or whoever reads files.

use ontick_record::openmetrics::{Exposition, Kind, Labels};

use super::policing::StreamCount;
use super::status::{ClassCount, LinkState, Status};
use super::tally::Tally;

type Count = fn(&ClassCount) -> u64;
type OfStream = fn(&StreamCount) -> u64;

const OF_CLASS: [(&str, Kind, &str, Count); 4] = [
    ("packets", Kind::Counter, "Frames that left.", |class| class.packets),
    ("bytes", Kind::Counter, "Octets that left.", |class| class.bytes),
    ("drops", Kind::Counter, "Frames that were dropped.", |class| class.drops),
    ("waiting", Kind::Gauge, "Frames that wait.", |class| class.waiting),
];

/// The same names as those of the user data plane.
const OF_STREAM: [(&str, &str, OfStream); 4] = [
    ("stream_packets", "Frames of a stream that came in.", |stream| stream.frames),
    ("stream_drops_over_sdu", "Dropped: larger than the stream may be.", |stream| stream.over_sdu),
    ("stream_drops_gate", "Dropped: the gate of the stream was closed.", |stream| stream.gate_closed),
    ("stream_drops_red", "Dropped: above the rate and burst of the stream.", |stream| stream.red),
];

/// The text, complete with its end.
pub fn text(status: &Status, tally: &Tally) -> String {
    let mut text = Exposition::with_prefix("ontick_switch_");
    let all = Labels::new(&[("switch", &status.name)]);
    for (name, kind, help, count) in OF_CLASS {
        let family = text.family(name, kind, help);
        for port in &status.ports {
            let labels = all.and("port", &port.name);
            for class in &port.classes {
                family.sample(&labels.and("class", &class.class), count(class));
            }
        }
    }
    for (name, help, count) in OF_STREAM {
        let family = text.family(name, Kind::Counter, help);
        for stream in &status.streams {
            family.sample(&all.and("stream", &stream.stream), count(stream));
        }
    }
    let up = text.family("link_up", Kind::Gauge, "Whether a port can send.");
    for port in &status.ports {
        up.sample(&all.and("port", &port.name), u8::from(port.link == LinkState::Up));
    }
    let reissued = text.family("gates_reissued", Kind::Counter, "Times that a port's gates were set anew.");
    for (port, times) in &tally.reissued {
        reissued.sample(&all.and("port", port), times);
    }
    let whole = [
        ("put_back", tally.put_back, "Things that another tool had changed and that were put back."),
        ("clock_steps", tally.clock_steps, "Times that the clock of the gates was set."),
    ];
    for (name, value, help) in whole {
        text.family(name, Kind::Counter, help).sample(&all, value);
    }
    let differences = status.differences.len();
    text.family("differences", Kind::Gauge, "Things that are not as they were set up.").sample(&all, differences);
    text.finish()
}
