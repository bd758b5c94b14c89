//! What was on links, as records have it to be drawn.

use ontick_network::Passed;
use ontick_record::network::DrawnLink;
use ontick_tsn::network::{LinkId, Network};
use ontick_tsn::validate::Schedule;

/// Networks with more links than this are not drawn, nor are cycles longer than this, in ns.
const MOST_DRAWN: (usize, u64) = (60, 100_000_000);
/// Frames that are drawn at most.
const MOST_FRAMES: usize = 20_000;

/// How much of the beginning is kept to be drawn: a cycle, of networks that are small enough.
pub fn cycle_ns(network: &Network, schedule: &Schedule) -> u64 {
    let cycle_ns = schedule.windows.iter().map(|window| window.cycle_ns).max().unwrap_or(0);
    if network.links.len() <= MOST_DRAWN.0 && cycle_ns <= MOST_DRAWN.1 { cycle_ns } else { 0 }
}

/// The first cycle of each link that streams use.
pub fn links(network: &Network, schedule: &Schedule, passed: &[Vec<Passed>]) -> Vec<DrawnLink> {
    let frames: usize = passed.iter().map(Vec::len).sum();
    if frames == 0 || frames > MOST_FRAMES {
        return Vec::new();
    }
    let drawn = |(link, passed): (LinkId, &Vec<Passed>)| {
        let own = schedule.windows.iter().filter(|window| window.link == link);
        let windows: Vec<(u64, u64)> = own.map(|window| (window.begin_ns, window.end_ns)).collect();
        if windows.is_empty() {
            return None;
        }
        let mut streams: Vec<u32> = passed.iter().filter_map(|passed| passed.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let place = |stream: u32| streams.binary_search(&stream).ok().map(|place| place as u32);
        let frame = |of: &Passed| (of.stream.and_then(place), of.begin_ns, of.end_ns);
        Some(DrawnLink {
            name: network.link_name(link),
            windows,
            frames: passed.iter().map(frame).collect(),
            names: streams.iter().map(|stream| network.streams[*stream as usize].name.clone()).collect(),
        })
    };
    passed.iter().enumerate().filter_map(drawn).collect()
}
