//! Networks to try something with.

use super::{Kind, Link, Network, Node, Stream};

/// A ring of `switches` with a station at each, and `streams` between them that follow from a formula.
pub fn ring(switches: usize, streams: usize) -> Network {
    let node = |n: usize| match n < switches {
        true => Node { name: format!("s{n}"), system_name: None, kind: Kind::Switch },
        false => Node { name: format!("h{}", n - switches), system_name: None, kind: Kind::Station },
    };
    let link = |from, to| Link {
        from,
        to,
        port: None,
        rate: 1_000_000_000,
        propagation_ns: 50,
        processing_ns: 2_000,
        queues: 8,
    };
    let mut links = Vec::new();
    for n in 0..switches {
        links.extend([link(n, (n + 1) % switches), link((n + 1) % switches, n)]);
        links.extend([link(switches + n, n), link(n, switches + n)]);
    }
    let stream = |n: usize| {
        let talker = switches + n % switches;
        let listener = switches + (n + 1 + n / switches % (switches - 1)) % switches;
        let period_ns = [500_000, 1_000_000, 2_000_000, 4_000_000][n % 4];
        Stream {
            name: format!("f{n}"),
            talker,
            listeners: vec![listener],
            size: 100 + 100 * (n as u32 % 5),
            period_ns,
            deadline_ns: period_ns,
            jitter_ns: 0,
            queue: None,
            address: None,
            vlan: None,
        }
    };
    let streams = (0..streams).map(stream).collect();
    Network { streams, ..Network::without_streams((0..2 * switches).map(node).collect(), links) }
}
