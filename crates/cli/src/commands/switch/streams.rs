//! Streams, and what was counted of them.

use std::sync::Arc;

use ontick_switch::kernel::StreamCount;
use ontick_switch::user::counters::StreamCounters;
use ontick_tsn::model::{Stream, Switch};
use ontick_units::count;

use super::causes::causes;

/// A line for each stream of the user data plane; nothing where there are none.
pub fn text(switch: &Switch, counters: &[Arc<StreamCounters>]) -> String {
    let one = |(stream, counters): (&Stream, &Arc<StreamCounters>)| {
        line(&stream.name, counters.frames.get(), &counters.drops(), &counters.remarks())
    };
    switch.streams.iter().zip(counters).map(one).collect()
}

/// And of the kernel's.
pub fn text_of_kernel(counts: &[StreamCount]) -> String {
    counts.iter().map(|count| line(&count.stream, count.frames, &count.drops(), &[])).collect()
}

fn line(stream: &str, frames: u64, drops: &[(&str, u64)], remarks: &[(&str, u64)]) -> String {
    let dropped = causes(drops);
    let dropped = if dropped.is_empty() { String::new() } else { format!(" · dropped: {}", dropped.join(", ")) };
    let remarks: String = causes(remarks).iter().map(|remark| format!(" · {remark}")).collect();
    format!("stream    {stream}  {} frames{dropped}{remarks}\n", count(frames))
}
