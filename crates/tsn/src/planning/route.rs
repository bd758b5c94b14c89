//! A stream's way through the network, and when it would be where if it never waited.

use std::collections::HashMap;

use crate::message::MessageTime;
use crate::network::{LinkId, Network, NodeId, StreamId};

/// One link of a stream's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// The hop before, by its place in the route; absent at the talker.
    pub before: Option<usize>,
    /// From the talker's first bit until this link can begin at the earliest, without waiting, in ns. Clocks that
    /// differ are reckoned with.
    pub shift_ns: u64,
    /// So long before that a frame may be there already, for clocks differ, and so do data planes from time to time. With
    /// quick links that is before the talker begins by its own clock.
    pub lead_ns: u64,
    /// How long the link is needed: the frames, the gap behind the last, and what the data plane needs besides.
    pub length_ns: u64,
    /// The gap behind each frame, during which its last bit has left already.
    pub gap_ns: u64,
    /// The last bit of all has left so long before the link is needed no more.
    pub tail_ns: u64,
    /// From the last bit on this link until it is at the other end.
    pub propagation_ns: u64,
    /// Whether a listener is there.
    pub delivers: bool,
}

/// A tree from the talker to all listeners, in an order in which each hop comes behind the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its links.
    pub hops: Vec<Hop>,
    /// From the talker's first bit until the last listener has the last bit, without waiting.
    pub delay_ns: u64,
}

impl Route {
    /// Along paths from the talker, one for each listener. Where a later path meets the tree again it follows the tree.
    /// Every time in it is a multiple of `slot_ns`.
    pub fn along(network: &Network, stream: StreamId, paths: &[Vec<LinkId>], slot_ns: u64) -> Self {
        let talker = network.streams[stream].talker;
        let mut hops: Vec<Hop> = Vec::with_capacity(paths.first().map_or(0, Vec::len));
        // When each link is free behind each frame, from the talker's first bit on; hop by hop.
        let mut left: Vec<u64> = Vec::with_capacity(hops.capacity());
        let mut carried = Carried::default();
        let mut next = |link: LinkId, before: Option<usize>| {
            let carried = carried.on(network, stream, link);
            let earlier = before.map(|hop: usize| (&hops[hop], hop * carried.frames as usize));
            let passage = passage(network, &carried, earlier, &mut left, slot_ns);
            let before_link = before.map(|hop| hops[hop].link);
            hops.push(hop(network, stream, (link, &carried), (before, before_link), &passage, slot_ns));
        };
        if let [path] = paths {
            // One path meets no other.
            path.iter().enumerate().for_each(|(n, link)| next(*link, n.checked_sub(1)));
        } else {
            let mut reached: HashMap<NodeId, Option<usize>> = HashMap::from([(talker, None)]);
            let mut known = 0;
            for path in paths {
                let own = path.iter().rposition(|&link| reached.contains_key(&network.links[link].from)).unwrap_or(0);
                for &link in &path[own..] {
                    let way = &network.links[link];
                    if reached.contains_key(&way.to) {
                        continue;
                    }
                    next(link, reached.get(&way.from).copied().flatten());
                    reached.insert(way.to, Some(known));
                    known += 1;
                }
            }
        }
        let arrival = |hop: &Hop| hop.shift_ns + hop.length_ns - hop.tail_ns + hop.propagation_ns;
        let delay_ns = hops.iter().filter(|hop| hop.delivers).map(arrival).max().unwrap_or(0);
        Self { hops, delay_ns: delay_ns + network.sync_error_ns }
    }

    /// Frames that may be there before they are needed are reckoned with so long before, at least.
    pub fn with_leads_from(mut self, least_ns: u64) -> Self {
        let early = self.hops.iter_mut().filter(|hop| hop.lead_ns > 0);
        early.for_each(|hop| hop.lead_ns = hop.lead_ns.max(least_ns));
        self
    }
}

#[cfg(test)]
impl Route {
    /// One hop behind the other: link, shift, lead and length of each. Nobody listens.
    pub fn chain(hops: &[(LinkId, u64, u64, u64)]) -> Self {
        let hop = |(n, &(link, shift_ns, lead_ns, length_ns)): (usize, &(LinkId, u64, u64, u64))| Hop {
            link,
            before: n.checked_sub(1),
            shift_ns,
            lead_ns,
            length_ns,
            gap_ns: 0,
            tail_ns: 0,
            propagation_ns: 0,
            delivers: false,
        };
        Self { hops: hops.iter().enumerate().map(hop).collect(), delay_ns: 0 }
    }
}

/// A message on one link.
struct Passage {
    /// When the first frame is there at the latest, and when it begins.
    arrives_ns: u64,
    begins_ns: u64,
    /// When the link is free behind the last frame.
    left_ns: u64,
    /// From its beginning until a window of another message may follow.
    lasts_ns: u64,
}

/// How long a stream's message takes on a link: as long as on the one before, mostly.
#[derive(Default)]
struct Carried {
    last: Option<(u64, MessageTime)>,
}

impl Carried {
    fn on(&mut self, network: &Network, stream: StreamId, link: LinkId) -> MessageTime {
        let rate = network.links[link].rate;
        match self.last {
            Some((known, time)) if known == rate => time,
            _ => self.last.insert((rate, network.message_time(stream, link))).1,
        }
    }
}

/// `left` gets when the link is free behind each frame; the hop before comes with the place where its own begin there.
fn passage(
    network: &Network,
    carried: &MessageTime,
    before: Option<(&Hop, usize)>,
    left: &mut Vec<u64>,
    slot_ns: u64,
) -> Passage {
    let frames = carried.frames as usize;
    let lasts = |frame: usize| if frame + 1 == frames { carried.last_ns } else { carried.first_ns };
    let delay = before.map_or(0, |(hop, _)| {
        let way = &network.links[hop.link];
        way.propagation_ns + network.processing_ns(hop.link).1 + network.sync_error_ns
    });
    let arrival =
        |left: &[u64], frame: usize| before.map_or(0, |(hop, place)| left[place + frame] - hop.gap_ns + delay);
    let arrives_ns = arrival(left, 0);
    let begins_ns = arrives_ns.next_multiple_of(slot_ns);
    let timing = &network.timing;
    let mut free = begins_ns;
    let mut first_bit = begins_ns;
    for frame in 0..frames {
        first_bit = free.max(begins_ns.max(arrival(left, frame)) + timing.latest_ns());
        free = first_bit + timing.spaced_ns(lasts(frame));
        left.push(first_bit + lasts(frame));
    }
    let lasts_ns = timing.lasts_ns(first_bit - begins_ns, carried.last_ns);
    Passage { arrives_ns, begins_ns, left_ns: first_bit + carried.last_ns, lasts_ns }
}

fn hop(
    network: &Network,
    stream: StreamId,
    (link, carried): (LinkId, &MessageTime),
    (before, before_link): (Option<usize>, Option<LinkId>),
    passage: &Passage,
    slot_ns: u64,
) -> Hop {
    let way = &network.links[link];
    // Two clocks stand between a frame's departure and the next gate, and each hop before was reckoned as late.
    let quicker_ns = |link: LinkId| {
        let (least, most) = network.processing_ns(link);
        2 * network.sync_error_ns + network.timing.latest_ns() + most - least
    };
    let early_ns = before_link.map_or(0, quicker_ns) + passage.begins_ns - passage.arrives_ns;
    let length_ns = passage.lasts_ns.next_multiple_of(slot_ns);
    let gap_ns = carried.gap_ns;
    let left_ns = passage.left_ns - passage.begins_ns - gap_ns;
    Hop {
        link,
        before,
        shift_ns: passage.begins_ns,
        lead_ns: early_ns.next_multiple_of(slot_ns),
        length_ns,
        gap_ns,
        tail_ns: length_ns - left_ns,
        propagation_ns: way.propagation_ns,
        delivers: network.streams[stream].listeners.contains(&way.to),
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::Routes;
    use crate::network::samples;

    #[test]
    fn frames_are_stored_and_forwarded() {
        let network = samples::ring(4, 4);
        let route = Routes::new(&network, 3, 1).nth(0, 0).unwrap();
        // 100 octets with header, tag and overhead, without the gap behind: 130 octets of 8 ns; then 50 ns of cable and 2 us in the switch.
        let shifts: Vec<u64> = route.hops.iter().map(|hop| hop.shift_ns).collect();
        assert_eq!(shifts, [0, 1_040 + 2_050, 2 * (1_040 + 2_050)]);
        assert_eq!(route.delay_ns, 2 * (1_040 + 2_050) + 1_040 + 50);
    }

    #[test]
    fn a_slow_link_first_spreads_the_frames_of_a_message_on_a_fast_one() {
        let mut network = samples::ring(4, 4);
        network.streams[0].size = 3_000;
        let first = Routes::new(&network, 1, 1).nth(0, 0).unwrap().hops[0].link;
        network.links[first].rate = 100_000_000;
        let route = Routes::new(&network, 1, 1).nth(0, 0).unwrap();
        let [slow, fast] = [route.hops[0], route.hops[1]];
        assert_eq!(slow.length_ns, 2 * 123_360);
        // The second frame is there 123 360 ns behind the first, and takes 12 336 ns.
        assert_eq!(fast.length_ns, 123_360 + 12_336);
    }

    #[test]
    fn several_listeners_share_what_they_can() {
        let mut network = samples::ring(5, 1);
        network.streams[0].talker = 5;
        network.streams[0].listeners = vec![6, 7];
        let route = Routes::new(&network, 1, 1).nth(0, 0).unwrap();
        // Talker to switch 0, on to 1, there to its station and on to 2, there to its station.
        assert_eq!(route.hops.len(), 5);
        assert_eq!(route.hops.iter().filter(|hop| hop.delivers).count(), 2);
        for (place, hop) in route.hops.iter().enumerate() {
            assert!(hop.before.is_none_or(|before| before < place));
        }
    }
}
