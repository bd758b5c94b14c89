//! Schedules that hold, and such as do not.

mod faults;
mod jitter;
mod messages;

use super::*;
use crate::network::LinkId;

fn judged(network: &Network, schedule: &Schedule) -> Verdict {
    validate(&ValidationInput {
        network,
        schedule,
        target: &TARGETS[0],
        guard_bands: false,
        most_messages: MOST_MESSAGES,
    })
}

/// From a over s to b: a stream each millisecond, whose messages take turns.
fn two_links(sends: &[(u64, [u8; 2])], windows: Vec<Window>) -> (Network, Schedule) {
    let network = crate::network::read(
        r#"
        switch = [{ name = "s" }]
        station = [{ name = "a" }, { name = "b" }]
        link = [{ between = ["a", "s"] }, { between = ["s", "b"] }]
        stream = [{ name = "x", from = "a", to = "b", size = 100, period = "1ms" }]"#,
    );
    let send = |&(offset_ns, [first, second]): &(u64, [u8; 2])| Send {
        stream: 0,
        offset_ns,
        queues: vec![(0, first), (2, second)],
    };
    let sends = sends.iter().map(send).collect();
    (network.unwrap(), Schedule { sends, windows, routes: vec![vec![0, 2]] })
}

fn window(link: LinkId, queue: u8, begin_ns: u64, end_ns: u64) -> Window {
    Window { link, queue, begin_ns, end_ns, cycle_ns: 1_000_000 }
}
