//! Streams drawn by chance.

use super::{GenerateError, Wanted};
use crate::network::{Graph, LinkId, Network, NodeId, Stream, Tree};
use crate::planning::random::Random;

/// So often a stream is drawn before there is no room for it.
const TRIES: usize = 1_000;
/// A link's whole time.
const WHOLE: u64 = 1_000_000_000;

/// What is drawn from, and what was.
pub struct Draws<'a> {
    wanted: &'a Wanted,
    graph: Graph,
    random: Random,
    /// Of each node, once it talks: the shortest paths.
    trees: Vec<Option<Tree>>,
    /// What streams take of each link, in parts of [`WHOLE`].
    taken: Vec<u64>,
    streams: usize,
}

impl<'a> Draws<'a> {
    pub fn new(wanted: &'a Wanted, network: &Network, random: Random) -> Self {
        let (graph, trees) = (Graph::new(network), vec![None; network.nodes.len()]);
        Self { wanted, graph, random, trees, taken: vec![0; network.links.len()], streams: 0 }
    }

    /// A stream that could keep its deadline if it were alone, and for which every link has time.
    pub fn next(&mut self, network: &Network) -> Result<Stream, GenerateError> {
        for _ in 0..TRIES {
            let stream = self.draw();
            if self.take(network, &stream) {
                self.streams += 1;
                return Ok(stream);
            }
        }
        Err(GenerateError::NoRoom { found: self.streams, wanted: self.wanted.streams, tries: TRIES })
    }

    fn draw(&mut self) -> Stream {
        let Wanted { switches, listeners, periods_ns, sizes, deadlines, .. } = self.wanted;
        let random = &mut self.random;
        let mut among = |least: u64, most: u64| least + random.below(most - least + 1);
        let stations = self.wanted.stations();
        let talker = switches + among(0, stations as u64 - 1) as usize;
        let mut others: Vec<NodeId> = (*switches..switches + stations).filter(|node| *node != talker).collect();
        let count = among(*listeners.start() as u64, *listeners.end() as u64) as usize;
        for n in 0..count {
            let place = among(n as u64, others.len() as u64 - 1) as usize;
            others.swap(n, place);
        }
        others.truncate(count);
        let size = among((*sizes.start()).into(), (*sizes.end()).into()) as u32;
        let period_ns = periods_ns[among(0, periods_ns.len() as u64 - 1) as usize];
        let percent = among((*deadlines.start()).into(), (*deadlines.end()).into());
        Stream {
            name: format!("f{}", self.streams + 1),
            talker,
            listeners: others,
            size,
            period_ns,
            deadline_ns: (period_ns * percent / 100).max(1),
            jitter_ns: 0,
            queue: None,
            address: None,
            vlan: None,
        }
    }

    /// Takes the time that it needs, if there is.
    fn take(&mut self, network: &Network, stream: &Stream) -> bool {
        let Self { graph, trees, taken, .. } = self;
        let tree = trees[stream.talker].get_or_insert_with(|| graph.tree(stream.talker, |_| 1));
        let paths: Vec<Vec<LinkId>> = stream.listeners.iter().filter_map(|to| tree.path(graph, *to)).collect();
        let time_ns = |link: LinkId| network.overhead.message_time(stream.size, network.links[link].rate).all_ns;
        // Frame by frame: behind the first link each takes as long again as the longest. The listener does not send on.
        let lasts_ns = |path: &Vec<LinkId>| -> u64 {
            let frame_ns = |link: LinkId| network.overhead.message_time(stream.size, network.links[link].rate).first_ns;
            let hop = |(n, link): (usize, &LinkId)| {
                let of = &network.links[*link];
                let sent_ns = if n == 0 { time_ns(*link) } else { frame_ns(*link) };
                sent_ns + of.propagation_ns + if n + 1 < path.len() { of.processing_ns } else { 0 }
            };
            path.iter().enumerate().map(hop).sum()
        };
        let mut links = paths.concat();
        links.sort_unstable();
        links.dedup();
        let share = |link: LinkId| {
            (u128::from(time_ns(link)) * u128::from(WHOLE)).div_ceil(u128::from(stream.period_ns)) as u64
        };
        let most = WHOLE / 100 * u64::from(self.wanted.load);
        let is_in_time = paths.iter().all(|path| lasts_ns(path) <= stream.deadline_ns);
        if !is_in_time || links.iter().any(|link| taken[*link] + share(*link) > most) {
            return false;
        }
        links.iter().for_each(|link| taken[*link] += share(*link));
        true
    }
}
