//! What can be wrong with a schedule.

use ontick_units::exact;

use crate::network::{LinkId, Network, NodeId, StreamId};

/// Something wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The schedule has no sending for a stream.
    NotSent(StreamId),
    /// A route does not lead from the talker to a listener.
    Route(StreamId, NodeId),
    /// A route has a link that the stream never comes to, or comes to twice.
    StrayLink(StreamId, LinkId),
    /// Two streams with one address leave this switch by different links.
    OneAddress(NodeId, StreamId, StreamId),
    /// A message did not arrive.
    Missing(StreamId, NodeId, u64),
    /// A message arrived more than once.
    Twice(StreamId, NodeId, u64),
    /// A message arrived after its deadline; from the period's beginning, in ns.
    Late(StreamId, NodeId, u64),
    /// Delays differ by more than is allowed; in ns.
    Jitter(StreamId, NodeId, u64),
    /// Two windows of a link are open at the same time, from this time of the cycle on.
    Overlap(LinkId, u64),
    /// A window ends after its cycle.
    BeyondCycle(LinkId, u64),
    /// A window of this length carries no frame: the data plane needs so much; in ns.
    TooShort(LinkId, u64, u64, u64),
    /// A window is empty or ends before it begins.
    Backwards(LinkId, u64),
    /// Windows of one link have different cycles.
    Cycles(LinkId, u64, u64),
    /// The cycle is no multiple of the period of a stream on the link.
    Period(LinkId, StreamId),
    /// The link has fewer queues.
    Queue(LinkId, u8),
    /// A scheduled stream passes a link whose gates are never shut for others.
    Unguarded(LinkId, StreamId),
    /// More frames are under way at once than can be followed; the last came to this queue.
    UnderWay(LinkId, u8, usize),
    /// Two messages were in one queue at once: which leaves when the gate opens is not certain.
    Crossing(LinkId, u8, StreamId, StreamId),
    /// More entries than the target's list has.
    Entries(LinkId, usize),
    /// An entry is shorter than the target can do.
    Short(LinkId, u64),
    /// The cycle is longer than the target can do.
    LongCycle(LinkId, u64),
    /// A gate opens more than once in a cycle, which the target cannot do.
    Reopened(LinkId, u8),
    /// No guard band before a window, on a target that does not look at a frame's length.
    Guard(LinkId, u64),
}

impl Fault {
    /// The kind, in a word or two.
    pub fn kind(&self) -> &'static str {
        match self {
            Fault::NotSent(_) => "not sent",
            Fault::Route(..) | Fault::StrayLink(..) => "route",
            Fault::OneAddress(..) => "address",
            Fault::Missing(..) => "missing",
            Fault::Twice(..) => "twice",
            Fault::Late(..) => "late",
            Fault::Jitter(..) => "jitter",
            Fault::Overlap(..) => "overlap",
            Fault::BeyondCycle(..) => "wrap-around",
            Fault::Backwards(..) => "window",
            Fault::TooShort(..) => "window too short",
            Fault::Cycles(..) | Fault::Period(..) => "cycle",
            Fault::Queue(..) => "queue",
            Fault::Unguarded(..) => "no gates",
            Fault::UnderWay(..) => "frames under way",
            Fault::Crossing(..) => "queue crossing",
            Fault::Entries(..) => "entries",
            Fault::Short(..) => "interval",
            Fault::LongCycle(..) => "cycle length",
            Fault::Reopened(..) => "reopened",
            Fault::Guard(..) => "guard band",
        }
    }

    /// One sentence.
    pub fn in_words(&self, network: &Network) -> String {
        let stream = |id: &StreamId| &network.streams[*id].name;
        let node = |id: &NodeId| &network.nodes[*id].name;
        let link = |id: &LinkId| network.link_name(*id);
        match self {
            Fault::NotSent(s) => format!("stream {} is never sent", stream(s)),
            Fault::Route(s, n) => format!("the route of stream {} does not lead to {}", stream(s), node(n)),
            Fault::StrayLink(s, l) => {
                format!("stream {} comes to link {} of its route never, or twice", stream(s), link(l))
            }
            Fault::OneAddress(n, a, b) => format!(
                "streams {} and {} have one address and part at {}, which cannot tell them apart",
                stream(a),
                stream(b),
                node(n)
            ),
            Fault::Missing(s, n, at) => {
                format!("the message of stream {} sent at {} does not arrive at {}", stream(s), exact(*at), node(n))
            }
            Fault::Twice(s, n, at) => {
                format!("the message of stream {} sent at {} arrives at {} twice", stream(s), exact(*at), node(n))
            }
            Fault::Late(s, n, ns) => format!(
                "stream {} arrives at {} {} after its period began; its deadline is {}",
                stream(s),
                node(n),
                exact(*ns),
                exact(network.streams[*s].deadline_ns)
            ),
            Fault::Jitter(s, n, ns) => format!(
                "delays of stream {} to {} differ by {}; {} are allowed",
                stream(s),
                node(n),
                exact(*ns),
                exact(network.streams[*s].jitter_ns)
            ),
            Fault::Overlap(l, at) => format!("link {}: two windows overlap at {} of the cycle", link(l), exact(*at)),
            Fault::BeyondCycle(l, at) => {
                format!(
                    "link {}: the window at {} ends beyond the cycle, where the gates begin anew",
                    link(l),
                    exact(*at)
                )
            }
            Fault::Backwards(l, at) => format!("link {}: the window at {} has no length", link(l), exact(*at)),
            Fault::TooShort(l, at, is, needed) => format!(
                "link {}: the window at {} is open for {}, and its shortest frame needs {}, the data plane's margin of {} included",
                link(l),
                exact(*at),
                exact(*is),
                exact(*needed),
                exact(network.timing.margin_ns())
            ),
            Fault::Cycles(l, a, b) => {
                format!("link {}: windows with cycles of {} and {}", link(l), exact(*a), exact(*b))
            }
            Fault::Period(l, s) => format!(
                "link {}: the cycle is no multiple of stream {}'s period of {}",
                link(l),
                stream(s),
                exact(network.streams[*s].period_ns)
            ),
            Fault::Queue(l, q) => {
                format!("link {}: there is no queue {q}, only 0 to {}", link(l), network.links[*l].queues - 1)
            }
            Fault::Unguarded(l, s) => {
                format!("link {}: no gate is ever shut, and stream {} waits behind any frame", link(l), stream(s))
            }
            Fault::UnderWay(l, q, most) => format!(
                "link {}: a frame comes to queue {q} while {most} frames wait or are on their way, and no more are \
                 followed; shorten messages, open gates that stay shut, or lower propagation and processing times",
                link(l)
            ),
            Fault::Crossing(l, q, a, b) => {
                format!("link {}: streams {} and {} are in queue {q} at the same time", link(l), stream(a), stream(b))
            }
            Fault::Entries(l, n) => format!("link {}: the gate control list has {n} entries", link(l)),
            Fault::Short(l, ns) => format!("link {}: an entry lasts {} only", link(l), exact(*ns)),
            Fault::LongCycle(l, ns) => format!("link {}: the cycle is {}", link(l), exact(*ns)),
            Fault::Reopened(l, q) => format!("link {}: the gate of queue {q} opens more than once in a cycle", link(l)),
            Fault::Guard(l, at) => format!(
                "link {}: other gates are open right before the window at {}; a frame begun there would run into it",
                link(l),
                exact(*at)
            ),
        }
    }
}
