//! Whether a place that was found once still suits the network, which may have changed since.

use super::timetable::{Placed, PlacedHop};
use crate::network::Network;

/// Whether the message arrives at each hop when its place says, leaves in its window, and comes to listeners in time, whatever
/// clocks and data planes do. Windows may be shorter or longer than a new place would have them: where times are multiples
/// of a slot, frames wait for a gate together.
pub fn suits(network: &Network, placed: &Placed) -> bool {
    // When each frame has left at the latest; hop by hop.
    let mut left: Vec<Vec<u64>> = Vec::with_capacity(placed.hops.len());
    placed.hops.iter().all(|hop| {
        let passage = Passage::new(network, placed, hop, &left);
        let suits = passage.suits(network, hop);
        left.push(passage.left);
        suits
    })
}

/// A message on one link, as late as can be.
struct Passage {
    /// When the first frame may be there, if it is as early as can be: where clocks differ, also before the period begins.
    earliest_ns: i64,
    /// When each frame has left, the gap behind it not counted.
    left: Vec<u64>,
    /// How long the window must be.
    lasts_ns: u64,
}

impl Passage {
    /// `left` is of the hops before.
    fn new(network: &Network, placed: &Placed, hop: &PlacedHop, left: &[Vec<u64>]) -> Self {
        let (timing, error_ns) = (&network.timing, network.sync_error_ns);
        let carried = network.message_time(placed.stream, hop.link);
        let before = hop.before.map(|before| {
            let link = placed.hops[before].link;
            (&left[before], network.links[link].propagation_ns, network.processing_ns(link))
        });
        let arrives = |frame: usize| match before {
            None => placed.offset_ns(),
            Some((left, propagation_ns, (_, most_ns))) => left[frame] + propagation_ns + most_ns + error_ns,
        };
        // Two clocks stand between a frame's departure and the next gate.
        let quicker_ns = before.map_or(0, |(.., (least, most))| 2 * error_ns + timing.latest_ns() + most - least);
        let frames = carried.frames as usize;
        let (mut free, mut first_bit) = (hop.begin_ns, hop.begin_ns);
        let mut leaves = Vec::with_capacity(frames);
        for frame in 0..frames {
            let frame_ns = if frame + 1 == frames { carried.last_ns } else { carried.first_ns };
            first_bit = free.max(hop.begin_ns.max(arrives(frame)) + timing.latest_ns());
            free = first_bit + timing.spaced_ns(frame_ns);
            leaves.push(first_bit + frame_ns - carried.gap_ns);
        }
        Self {
            earliest_ns: arrives(0) as i64 - quicker_ns as i64,
            left: leaves,
            lasts_ns: timing.lasts_ns(first_bit - hop.begin_ns, carried.last_ns),
        }
    }

    fn suits(&self, network: &Network, hop: &PlacedHop) -> bool {
        let delivered_ns =
            self.left[self.left.len() - 1] + network.links[hop.link].propagation_ns + network.sync_error_ns;
        hop.arrives_ns <= self.earliest_ns
            && self.lasts_ns <= hop.end_ns - hop.begin_ns
            && hop.delivered_ns.is_none_or(|promised_ns| delivered_ns <= promised_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Document, Outcome, PlanOptions, Timetable, gate_control_list, plan};
    use crate::egress::{DataPlane, EgressTiming};
    use crate::network::{LinkId, Network, samples};
    use crate::validate::{TARGETS, ValidationInput, validate};

    fn planned(network: &Network, slot_ns: u64) -> (Document, Timetable) {
        let options = PlanOptions { slot_ns, ..PlanOptions::default() };
        let Outcome::Planned(table) = plan(network, &options, &Timetable::default(), &|| true) else { panic!() };
        let schedule = gate_control_list::schedule(network, &table).unwrap();
        (Document::new(network, &table, &schedule), table)
    }

    fn is_kept(document: &Document, network: &Network) -> bool {
        document.timetable(network).missing().next().is_none()
    }

    fn holds(document: &Document, network: &Network) -> bool {
        let schedule = document.schedule(network).unwrap();
        let (target, most_messages) = (&TARGETS[0], 1_000_000);
        validate(&ValidationInput { network, schedule: &schedule, target, guard_bands: false, most_messages }).holds()
    }

    /// One of several frames, over links that differ, to several listeners.
    fn stream(timing: EgressTiming) -> Network {
        let mut network = samples::ring(4, 1);
        network.streams[0].size = 4_000;
        network.streams[0].listeners = vec![5, 6, 7];
        network.sync_error_ns = 300;
        network.links.iter_mut().step_by(3).for_each(|link| link.rate = 100_000_000);
        network.timed(timing)
    }

    #[test]
    fn a_place_is_lost_by_whatever_takes_longer_now() {
        let network = stream(EgressTiming { forwarding_ns: 2_000, ..EgressTiming::IDEAL });
        let (document, _) = planned(&network, 1);
        assert!(is_kept(&document, &network) && holds(&document, &network));
        let way: Vec<LinkId> = document.schedule(&network).unwrap().routes[0].clone();
        let changed = |change: &dyn Fn(&mut Network)| {
            let mut network = network.clone();
            change(&mut network);
            network
        };
        for network in [
            changed(&|network| network.links[way[0]].processing_ns += 1),
            changed(&|network| network.links[way[0]].propagation_ns += 1),
            changed(&|network| network.sync_error_ns += 1),
            changed(&|network| network.timing.forwarding_ns += 1),
            changed(&|network| network.links[way[1]].rate -= 1_000_000),
        ] {
            assert!(!is_kept(&document, &network));
        }
        for network in [
            changed(&|network| network.links[way[0]].processing_ns += 50_000),
            changed(&|network| network.timing.forwarding_ns += 50_000),
        ] {
            assert!(!holds(&document, &network));
        }
        // From where nothing goes on, processing is nobody's.
        let last = *way.iter().rfind(|link| network.streams[0].listeners.contains(&network.links[**link].to)).unwrap();
        assert!(is_kept(&document, &changed(&|network| network.links[last].processing_ns += 1)));
        assert!(!is_kept(&document, &changed(&|network| network.links[last].propagation_ns += 1)));
    }

    /// One that forwards at times at once may be in the queue while others are.
    #[test]
    fn a_place_is_lost_by_whatever_may_come_sooner_now() {
        let network = stream(EgressTiming::IDEAL);
        let (document, _) = planned(&network, 1);
        let way = document.schedule(&network).unwrap().routes[0].clone();
        let mut sooner = network.clone();
        sooner.links[way[0]].processing_ns -= 1;
        assert!(!is_kept(&document, &sooner));
        let timed = EgressTiming { forwarding_ns: 1, ..network.timing };
        assert!(is_kept(&document, &network) && !is_kept(&document, &network.timed(timed)));
    }

    #[test]
    fn every_place_that_was_planned_is_kept() {
        let ideal = EgressTiming::IDEAL;
        let odd = EgressTiming { hand_over_ns: 333, spread_ns: 77, spacing_ns: 15_001, forwarding_ns: 1_234, ..ideal };
        let timings = [DataPlane::User, DataPlane::Kernel, DataPlane::Hardware].map(DataPlane::defaults);
        for (n, timing) in timings.into_iter().chain([ideal, odd]).enumerate() {
            let mut network = samples::ring(4, 24);
            network.sync_error_ns = [0, 70, 900][n % 3];
            network.links.iter_mut().step_by(5).for_each(|link| link.rate = 100_000_000);
            for stream in &mut network.streams {
                (stream.period_ns, stream.deadline_ns) = (4_000_000, 4_000_000);
                stream.size *= 9;
            }
            network.streams[0].listeners = vec![5, 6, 7];
            let network = network.timed(timing);
            for slot_ns in [1, 100, 1_000] {
                let (document, table) = planned(&network, slot_ns);
                assert!(document.timetable(&network) == table, "{timing:?} {slot_ns}");
            }
        }
    }
}
