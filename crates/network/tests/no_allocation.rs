//! A talker that sends allocates nothing.

#[path = "../../rt/tests/counting/mod.rs"]
mod counting;

use counting::allocations;
use ontick_network::endpoint::{Outgoing, Talker, Time, Transmit, Turn};
use ontick_switch::user::port::Sent;

/// Waiting takes no longer than it must.
struct Paper(u64);

impl Time for Paper {
    fn now_ns(&mut self) -> u64 {
        self.0
    }

    fn until(&mut self, at_ns: u64) -> u64 {
        self.0 = self.0.max(at_ns);
        self.0
    }

    fn rest(&mut self, ns: u64) {
        self.0 += ns;
    }

    fn was_set(&mut self) -> bool {
        // Now and then.
        self.0 % 1_000_000 == 0
    }
}

struct Nowhere(u64);

impl Transmit for Nowhere {
    fn transmit(&mut self, octets: &[u8], _: u64) -> Sent {
        self.0 += octets.len() as u64;
        Sent::Done
    }

    fn address(&self) -> Option<[u8; 6]> {
        Some([2, 0, 0, 0, 0, 1])
    }
}

#[test]
fn a_talker_of_many_streams_allocates_nothing() {
    let stream = |n: u64| Outgoing {
        stream: n as usize,
        name: format!("f{n}"),
        to: [2, 0, 0, 0, 0, 2],
        pcp: 7,
        vlan: 0,
        offset_ns: n * 3_000,
        period_ns: [1_000_000, 2_000_000, 4_000_000, 8_000_000][n as usize % 4],
        size: 100,
        parts: 1,
        ports: vec![0],
    };
    let streams = (0..300).map(stream).collect();
    let mut talker = Talker::new(streams, vec![Nowhere(0)], Paper(0), 0, 1);
    let before = allocations();
    let mut departed = 0;
    for _ in 0..20_000 {
        departed += u64::from(matches!(talker.turn(), Turn::Departed(_)));
    }
    assert_eq!(allocations() - before, 0);
    assert!(departed > 19_000, "{departed}");
    let before = allocations();
    drop(std::hint::black_box(vec![1u8; 10]));
    assert_eq!(allocations() - before, 2, "the counter counts memory that is taken and given back");
}
