//! Faults put into schedules that hold: none stays unseen.

use std::ops::Range;

use super::*;
use crate::network::{Stream, samples};
use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

/// Cases of each fault.
const CASES: usize = 100;

/// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
struct Chance(u64);

impl Chance {
    fn within(&mut self, range: Range<usize>) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        range.start + ((mixed ^ (mixed >> 31)) % range.len() as u64) as usize
    }
}

/// Streams by chance on a ring, planned to the nanosecond: every window is as long as what it is for.
fn network_by_chance(chance: &mut Chance) -> Network {
    let switches = chance.within(3..7);
    let mut network = samples::ring(switches, chance.within(10..50));
    for stream in &mut network.streams {
        stream.size = chance.within(64..1_400) as u32;
        stream.talker = switches + chance.within(0..switches);
        let away = chance.within(1..switches);
        stream.listeners = vec![switches + (stream.talker - switches + away) % switches];
        stream.period_ns = [250_000, 500_000, 1_000_000, 2_000_000][chance.within(0..4)];
        stream.deadline_ns = stream.period_ns;
        stream.jitter_ns = stream.period_ns;
    }
    network
}

/// Puts a fault in, where it finds a place for one.
type Seed = fn(&mut Chance, &mut Network, &mut Schedule) -> Option<()>;

/// A hundred times, each in a schedule that holds without it; what is found is of one of these kinds.
fn is_found(seed: Seed, kinds: &[&str]) {
    let mut chance = Chance(1);
    let mut cases = 0;
    while cases < CASES {
        let mut network = network_by_chance(&mut chance);
        let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
        let Outcome::Planned(table) = outcome else { continue };
        let mut schedule = gate_control_list::schedule(&network, &table).unwrap();
        assert!(judged(&network, &schedule).holds());
        if seed(&mut chance, &mut network, &mut schedule).is_none() {
            continue;
        }
        cases += 1;
        let verdict = judged(&network, &schedule);
        assert!(kinds.iter().any(|kind| verdict.counts.contains_key(kind)), "case {cases}: {:?}", verdict.counts);
    }
}

fn any<'a, T>(chance: &mut Chance, of: &'a [T]) -> Option<&'a T> {
    (!of.is_empty()).then(|| &of[chance.within(0..of.len())])
}

fn a_link(chance: &mut Chance, schedule: &Schedule) -> LinkId {
    any(chance, &schedule.windows).unwrap().link
}

/// Planned for clocks that agree, to the nanosecond: with clocks that do not, messages miss their windows.
#[test]
fn clocks_that_differ_by_more_than_was_planned_for() {
    is_found(
        |_, network, _| {
            network.sync_error_ns = 2;
            Some(())
        },
        &["missing", "late", "queue crossing", "jitter"],
    );
}

#[test]
fn a_stream_that_is_never_sent() {
    is_found(
        |chance, _, schedule| {
            schedule.sends.remove(chance.within(0..schedule.sends.len()));
            Some(())
        },
        &["not sent"],
    );
}

#[test]
fn a_queue_whose_gate_never_opens() {
    is_found(
        |chance, _, schedule| {
            let shut = *any(chance, &schedule.windows)?;
            let (link, queue) = (shut.link, shut.queue);
            schedule.windows.retain(|window| window.link != link || window.queue != queue);
            // A link without any windows has its gates open.
            let other = Window { queue: queue - 1, begin_ns: 0, end_ns: 1, ..shut };
            schedule.windows.push(other);
            Some(())
        },
        &["missing"],
    );
}

/// What is left of the gate's time is less than what has to pass: some message is late, whichever.
#[test]
fn a_window_that_is_missing() {
    is_found(
        |chance, _, schedule| {
            let link = a_link(chance, schedule);
            let places: Vec<usize> =
                (0..schedule.windows.len()).filter(|n| schedule.windows[*n].link == link).collect();
            schedule.windows.remove(*any(chance, &places)?);
            Some(())
        },
        &["missing", "late", "no gates"],
    );
}

#[test]
fn a_port_that_is_never_kept_free() {
    is_found(
        |chance, _, schedule| {
            let link = a_link(chance, schedule);
            schedule.windows.retain(|window| window.link != link);
            Some(())
        },
        &["no gates"],
    );
    let (network, schedule) = two_links(&[(0, [7, 7])], vec![window(0, 7, 0, 10_000)]);
    let verdict = judged(&network, &schedule);
    assert_eq!(verdict.faults, [Fault::Unguarded(2, 0)]);
    let words = verdict.faults[0].in_words(&network);
    assert_eq!(words, "link s>b: no gate is ever shut, and stream x waits behind any frame");
    // Without any gates at all.
    let (network, schedule) = two_links(&[(0, [7, 7])], Vec::new());
    assert_eq!(judged(&network, &schedule).counts["no gates"], 2);
}

#[test]
fn a_window_that_is_a_nanosecond_too_short() {
    is_found(
        |chance, _, schedule| {
            let place = chance.within(0..schedule.windows.len());
            schedule.windows[place].end_ns -= 1;
            Some(())
        },
        &["missing", "late"],
    );
}

#[test]
fn a_message_that_is_a_nanosecond_late() {
    is_found(
        |chance, network, schedule| {
            let delays = judged(network, schedule).delays;
            let delay = any(chance, &delays)?;
            network.streams[delay.stream].deadline_ns = delay.most_ns - 1;
            Some(())
        },
        &["late"],
    );
}

#[test]
fn windows_that_overlap() {
    is_found(
        |chance, _, schedule| {
            let link = a_link(chance, schedule);
            let mut places: Vec<usize> =
                (0..schedule.windows.len()).filter(|n| schedule.windows[*n].link == link).collect();
            places.sort_by_key(|n| schedule.windows[*n].begin_ns);
            let first = (places.len() > 1).then(|| chance.within(0..places.len() - 1))?;
            schedule.windows[places[first]].end_ns = schedule.windows[places[first + 1]].begin_ns + 1;
            Some(())
        },
        &["overlap"],
    );
}

#[test]
fn a_window_beyond_the_end_of_the_cycle() {
    is_found(
        |chance, _, schedule| {
            let place = chance.within(0..schedule.windows.len());
            let window = &mut schedule.windows[place];
            let length_ns = window.end_ns - window.begin_ns;
            window.end_ns = window.cycle_ns + chance.within(1..length_ns as usize + 1) as u64;
            window.begin_ns = window.end_ns - length_ns;
            Some(())
        },
        &["wrap-around"],
    );
}

/// Two messages of one talker come to one queue while its gate is shut.
#[test]
fn messages_that_meet_in_a_queue() {
    is_found(
        |chance, network, schedule| {
            let first = |send: &Send| {
                send.queues
                    .iter()
                    .find(|(link, _)| network.links[*link].from == network.streams[send.stream].talker)
                    .copied()
            };
            let one = chance.within(0..schedule.sends.len());
            let of_one = first(&schedule.sends[one])?;
            let other = (0..schedule.sends.len()).find(|n| *n != one && first(&schedule.sends[*n]) == Some(of_one))?;
            let shut = |at: u64| {
                let mut on = schedule.windows.iter().filter(|window| (window.link, window.queue) == of_one);
                on.all(|window| at < window.begin_ns || window.end_ns <= at)
            };
            let period = |n: usize| network.streams[schedule.sends[n].stream].period_ns;
            let at = chance.within(0..period(one).min(period(other)) as usize) as u64;
            if !shut(at) {
                return None;
            }
            schedule.sends[one].offset_ns = at;
            schedule.sends[other].offset_ns = at;
            Some(())
        },
        &["queue crossing"],
    );
}

#[test]
fn a_route_with_a_gap() {
    is_found(
        |chance, _, schedule| {
            let stream = chance.within(0..schedule.routes.len());
            let link = chance.within(0..schedule.routes[stream].len());
            schedule.routes[stream].remove(link);
            Some(())
        },
        &["route"],
    );
}

#[test]
fn a_route_with_a_stray_link() {
    is_found(
        |chance, network, schedule| {
            let stream = chance.within(0..schedule.routes.len());
            let route = &mut schedule.routes[stream];
            let stray = chance.within(0..network.links.len());
            // One that leaves a node of the route would carry the message further, which is no fault.
            let on =
                |node| route.iter().any(|link| [network.links[*link].from, network.links[*link].to].contains(&node));
            if on(network.links[stray].from) {
                return None;
            }
            route.push(stray);
            Some(())
        },
        &["route"],
    );
}

/// Both ways around the ring.
#[test]
fn a_message_that_comes_twice() {
    is_found(
        |chance, network, schedule| {
            let switches = network.nodes.len() / 2;
            let stream = chance.within(0..schedule.routes.len());
            let route = &mut schedule.routes[stream];
            let between = |link: &LinkId| network.links[*link].from < switches && network.links[*link].to < switches;
            let one = *route.iter().find(|link| between(link))?;
            let forth = (network.links[one].from + 1) % switches == network.links[one].to;
            let of = &network.streams[stream];
            let (mut at, end) = (of.talker - switches, of.listeners[0] - switches);
            while at != end {
                let next = if forth { (at + switches - 1) % switches } else { (at + 1) % switches };
                route.push(network.links.iter().position(|link| (link.from, link.to) == (at, next))?);
                at = next;
            }
            Some(())
        },
        &["twice", "route"],
    );
}

/// Of two streams that cross one switch and leave it by different links.
#[test]
fn one_address_for_two_ways() {
    is_found(
        |chance, network, schedule| {
            let out = |network: &Network, stream: usize, node: usize| {
                schedule.routes[stream].iter().copied().find(|link| network.links[*link].from == node)
            };
            let one = chance.within(0..network.streams.len());
            let node = network.links[*any(chance, &schedule.routes[one][1..])?].from;
            let parts =
                |other: &usize| out(network, *other, node).is_some_and(|link| Some(link) != out(network, one, node));
            let others: Vec<usize> = (0..network.streams.len()).filter(parts).collect();
            let other = *any(chance, &others)?;
            for stream in [one, other] {
                network.streams[stream].address = Some([2, 0, 0, 0, 0, 1]);
            }
            assert!(judged(network, schedule).counts.contains_key("address"));
            // The same VLAN is no difference, another one is.
            network.streams[one].vlan = Some(7);
            assert!(!judged(network, schedule).counts.contains_key("address"));
            network.streams[other].vlan = Some(7);
            Some(())
        },
        &["address"],
    );
}

#[test]
fn for_the_kernel_a_vlan_is_no_difference() {
    let mut network = samples::ring(4, 8);
    network.streams.truncate(2);
    network.streams.iter_mut().for_each(|stream| stream.address = Some([2, 0, 0, 0, 0, 1]));
    network.streams[1] = Stream { name: "g".into(), listeners: vec![6], vlan: Some(7), ..network.streams[0].clone() };
    let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    let Outcome::Planned(table) = outcome else { panic!() };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    let apart = |name: &str| {
        let target = &Target { plane: named(name).unwrap().plane, ..TARGETS[0] };
        let input = ValidationInput {
            network: &network,
            schedule: &schedule,
            target,
            guard_bands: false,
            most_messages: 1_000,
        };
        !validate(&input).counts.contains_key("address")
    };
    assert_eq!(["user", "kernel", "i225"].map(apart), [true, false, false]);
}

#[test]
fn a_window_of_another_cycle() {
    is_found(
        |chance, _, schedule| {
            let link = a_link(chance, schedule);
            if schedule.windows.iter().filter(|window| window.link == link).count() < 2 {
                return None;
            }
            let window = schedule.windows.iter_mut().find(|window| window.link == link)?;
            window.cycle_ns += window.cycle_ns / [1, 2, 4][chance.within(0..3)];
            Some(())
        },
        &["cycle"],
    );
}

#[test]
fn a_cycle_that_its_streams_do_not_have() {
    is_found(
        |chance, _, schedule| {
            let link = a_link(chance, schedule);
            let cycle_ns = schedule.windows.iter().find(|window| window.link == link)?.cycle_ns;
            // A common period that is not astronomic.
            let cycle_ns = cycle_ns + 125_000;
            schedule.windows.iter_mut().filter(|window| window.link == link).for_each(|one| one.cycle_ns = cycle_ns);
            Some(())
        },
        &["cycle"],
    );
}

#[test]
fn a_queue_that_the_port_lacks() {
    is_found(
        |chance, network, schedule| {
            let send = chance.within(0..schedule.sends.len());
            let hop = chance.within(0..schedule.sends[send].queues.len());
            let (link, queue) = schedule.sends[send].queues[hop];
            network.links[link].queues = queue;
            Some(())
        },
        &["queue"],
    );
}
