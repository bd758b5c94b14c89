//! Streams, and what was counted of them.

use ontick_switch::user::counters::StreamCounters;
use ontick_tsn::model::Switch;

use super::causes::causes;

/// A line for each stream; nothing where there are none.
pub fn text(switch: &Switch, counters: &[StreamCounters]) -> String {
    let line = |(stream, counters): (&ontick_tsn::model::Stream, &StreamCounters)| {
        let dropped = causes(&counters.drops());
        let dropped = if dropped.is_empty() { String::new() } else { format!(" · dropped: {}", dropped.join(", ")) };
        let remarks: String = causes(&counters.remarks()).iter().map(|remark| format!(" · {remark}")).collect();
        format!("stream    {}  {} frames{dropped}{remarks}\n", stream.name, counters.frames.get())
    };
    switch.streams.iter().zip(counters).map(line).collect()
}
