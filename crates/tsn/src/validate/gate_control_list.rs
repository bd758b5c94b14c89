//! The gates themselves: what is known of a list without sending anything.

use std::borrow::Cow;
use std::collections::HashMap;

use super::ValidationInput;
use super::fault::Fault;
use super::gate::{Gates, QUEUES};
use super::schedule::Window;
use super::verdict::Verdict;
use crate::network::{LinkId, StreamId};
use crate::wire;

pub(super) fn check(input: &ValidationInput, verdict: &mut Verdict) {
    let windows = in_order(&input.schedule.windows);
    let on = OnLinks::new(input);
    for (link, streams) in on.streams.iter().enumerate().filter(|(_, streams)| !streams.is_empty()) {
        if windows.binary_search_by_key(&link, |window| window.link).is_err() {
            verdict.add(Fault::Unguarded(link, streams[0]));
        }
    }
    for windows in windows.chunk_by(|a, b| a.link == b.link) {
        let link = windows[0].link;
        shape(input, link, windows, verdict);
        periods(input, &on, (link, windows[0].cycle_ns), verdict);
        lengths(input, &on, (link, windows), verdict);
        limits(input, link, windows, verdict);
    }
}

/// Link by link, as they come in its cycle. The planner's are in this order already.
fn in_order(windows: &[Window]) -> Cow<'_, [Window]> {
    let place = |window: &Window| (window.link, window.begin_ns, window.end_ns);
    let mut windows = Cow::Borrowed(windows);
    if !windows.is_sorted_by_key(place) {
        windows.to_mut().sort_by_key(place);
    }
    windows
}

/// What passes each link.
struct OnLinks {
    /// Streams that are routed over it.
    streams: Vec<Vec<StreamId>>,
    /// The shortest frame in each of its queues, in ns.
    shortest_ns: Vec<[Option<u64>; QUEUES]>,
}

impl OnLinks {
    fn new(input: &ValidationInput) -> Self {
        let links = input.network.links.len();
        let (mut streams, mut shortest_ns) = (vec![Vec::new(); links], vec![[None::<u64>; QUEUES]; links]);
        for (stream, route) in input.schedule.routes.iter().enumerate() {
            for link in route {
                let on: &mut Vec<_> = &mut streams[*link];
                // A route that comes back is on its link once.
                if on.last() != Some(&stream) {
                    on.push(stream);
                }
            }
        }
        for send in &input.schedule.sends {
            for &(link, queue) in &send.queues {
                // A queue that no port has is a fault of its own.
                let Some(least) = shortest_ns[link].get_mut(usize::from(queue)) else { continue };
                let last_ns = input.network.message_time(send.stream, link).last_ns;
                *least = Some(least.map_or(last_ns, |least| least.min(last_ns)));
            }
        }
        Self { streams, shortest_ns }
    }
}

fn shape(input: &ValidationInput, link: LinkId, windows: &[Window], verdict: &mut Verdict) {
    let cycle_ns = windows[0].cycle_ns;
    if let Some(other) = windows.iter().find(|window| window.cycle_ns != cycle_ns) {
        verdict.add(Fault::Cycles(link, cycle_ns, other.cycle_ns));
    }
    let mut end_ns = 0;
    for window in windows {
        if window.queue >= input.network.links[link].queues {
            verdict.add(Fault::Queue(link, window.queue));
        }
        if window.begin_ns >= window.end_ns {
            verdict.add(Fault::Backwards(link, window.begin_ns));
            continue;
        }
        if window.end_ns > cycle_ns {
            verdict.add(Fault::BeyondCycle(link, window.begin_ns));
        }
        if window.begin_ns < end_ns {
            verdict.add(Fault::Overlap(link, window.begin_ns));
        }
        end_ns = end_ns.max(window.end_ns);
    }
    // The part beyond the cycle lies on its beginning.
    if end_ns > cycle_ns && windows[0].begin_ns < end_ns - cycle_ns {
        verdict.add(Fault::Overlap(link, windows[0].begin_ns));
    }
}

fn periods(input: &ValidationInput, on: &OnLinks, (link, cycle_ns): (LinkId, u64), verdict: &mut Verdict) {
    for &stream in &on.streams[link] {
        let period_ns = input.network.streams.get(stream).map_or(1, |stream| stream.period_ns);
        if cycle_ns == 0 || cycle_ns % period_ns != 0 {
            verdict.add(Fault::Period(link, stream));
        }
    }
}

/// A window in which not even the shortest frame of its queue's streams can leave carries nothing at all.
fn lengths(input: &ValidationInput, on: &OnLinks, (link, windows): (LinkId, &[Window]), verdict: &mut Verdict) {
    let network = input.network;
    let Some(gates) = Gates::new(windows.iter()) else { return };
    for (queue, begin_ns, end_ns) in gates.windows() {
        let shortest_ns = on.shortest_ns[link][usize::from(queue)];
        let needed_ns = shortest_ns.map_or(0, |frame_ns| network.timing.window_ns(frame_ns));
        if end_ns - begin_ns < needed_ns {
            verdict.add(Fault::TooShort(link, begin_ns, end_ns - begin_ns, needed_ns));
        }
    }
}

/// What is open during an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Open {
    Queue(u8),
    Others,
    Nothing,
}

/// An entry of the list that a port gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    open: Open,
    begin_ns: u64,
    for_ns: u64,
}

fn limits(input: &ValidationInput, link: LinkId, windows: &[Window], verdict: &mut Verdict) {
    let target = input.target;
    let guard_ns = if input.guard_bands { largest_frame_ns(input, link) } else { 0 };
    let entries = entries(windows, guard_ns, target.shortest_ns);
    if entries.len() > target.most_entries {
        verdict.add(Fault::Entries(link, entries.len()));
    }
    for entry in entries.iter().filter(|entry| entry.for_ns < target.shortest_ns) {
        verdict.add(Fault::Short(link, entry.for_ns));
    }
    let cycle_ns = windows[0].cycle_ns;
    if cycle_ns > target.longest_cycle_ns {
        verdict.add(Fault::LongCycle(link, cycle_ns));
    }
    if !target.reopens {
        reopened(link, &entries, verdict);
    }
    if !target.length_aware && !input.guard_bands {
        guards(input, link, &entries, verdict);
    }
}

/// Windows and what lies between them, of which nothing is open for the last `guard_ns`, or an entry where that is longer,
/// nor where less than an entry would be left before that.
fn entries(windows: &[Window], guard_ns: u64, shortest_ns: u64) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = 0;
    let mut push = |open, begin_ns: u64, end_ns: u64| {
        let for_ns = end_ns.saturating_sub(begin_ns);
        match entries.last_mut() {
            _ if for_ns == 0 => {}
            Some(last) if last.open == open => last.for_ns += for_ns,
            _ => entries.push(Entry { open, begin_ns, for_ns }),
        }
    };
    let closes_at = |from_ns: u64, to_ns: u64, guard_ns: u64| match to_ns.saturating_sub(guard_ns.max(shortest_ns)) {
        _ if guard_ns == 0 => to_ns,
        ns if ns < from_ns + shortest_ns => from_ns,
        ns => ns,
    };
    for window in windows {
        let closed_ns = closes_at(at, window.begin_ns, guard_ns);
        push(Open::Others, at, closed_ns);
        push(Open::Nothing, closed_ns.max(at), window.begin_ns);
        push(Open::Queue(window.queue), window.begin_ns.max(at), window.end_ns.min(window.cycle_ns));
        at = at.max(window.end_ns);
    }
    let Window { begin_ns, cycle_ns, .. } = windows[0];
    let closed_ns = closes_at(at, cycle_ns, guard_ns.saturating_sub(begin_ns));
    push(Open::Others, at, closed_ns);
    push(Open::Nothing, closed_ns.max(at), cycle_ns);
    entries
}

fn reopened(link: LinkId, entries: &[Entry], verdict: &mut Verdict) {
    let mut opened: HashMap<Open, u32> = HashMap::new();
    for entry in entries {
        *opened.entry(entry.open).or_default() += 1;
    }
    // A gate that is open over the end of the cycle opens once.
    if let [first, .., last] = entries {
        if first.open == last.open {
            *opened.entry(first.open).or_default() -= 1;
        }
    }
    let queue = |open: &Open| match open {
        Open::Queue(queue) => Some(*queue),
        Open::Others => Some(0),
        Open::Nothing => None,
    };
    let mut more: Vec<u8> =
        opened.iter().filter(|(_, times)| **times > 1).filter_map(|(open, _)| queue(open)).collect();
    more.sort_unstable();
    more.into_iter().for_each(|queue| verdict.add(Fault::Reopened(link, queue)));
}

fn largest_frame_ns(input: &ValidationInput, link: LinkId) -> u64 {
    wire::largest_frame_ns(wire::LARGEST_SDU, input.network.links[link].rate)
}

/// Before a window of a stream the largest frame of others must have had its time to end.
fn guards(input: &ValidationInput, link: LinkId, entries: &[Entry], verdict: &mut Verdict) {
    let needed_ns = largest_frame_ns(input, link);
    for (n, entry) in entries.iter().enumerate().filter(|(_, entry)| matches!(entry.open, Open::Queue(_))) {
        let before = &entries[(n + entries.len() - 1) % entries.len()];
        if before.open == Open::Others && before.for_ns > 0 && needed_ns > 0 {
            verdict.add(Fault::Guard(link, entry.begin_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::samples;
    use crate::target;
    use crate::validate::{Schedule, Target};

    fn kinds(windows: Vec<Window>, target: &Target) -> Vec<&'static str> {
        let network = samples::ring(3, 0);
        let schedule = Schedule { windows, ..Schedule::default() };
        let mut verdict = Verdict::default();
        check(
            &ValidationInput {
                network: &network,
                schedule: &schedule,
                target,
                guard_bands: false,
                most_messages: 1_000,
            },
            &mut verdict,
        );
        verdict.faults.iter().map(Fault::kind).collect()
    }

    #[test]
    fn each_fault_of_a_list_is_found() {
        let any = target::named("any").unwrap();
        let window = |queue, begin_ns, end_ns| Window { link: 0, queue, begin_ns, end_ns, cycle_ns: 10_000 };
        let none: [&str; 0] = [];
        assert_eq!(kinds(vec![window(7, 0, 1_000), window(6, 1_000, 2_000)], any), none);
        assert_eq!(kinds(vec![window(7, 0, 1_000), window(6, 999, 2_000)], any), ["overlap"]);
        assert_eq!(kinds(vec![window(7, 9_500, 10_001), window(6, 10, 2_000)], any), ["wrap-around"]);
        assert_eq!(kinds(vec![window(7, 9_500, 10_011), window(6, 10, 2_000)], any), ["wrap-around", "overlap"]);
        assert_eq!(kinds(vec![window(7, 500, 500)], any), ["window"]);
        assert_eq!(kinds(vec![window(9, 500, 600)], any), ["queue"]);
        assert_eq!(kinds(vec![window(7, 0, 10), Window { cycle_ns: 20_000, ..window(7, 20, 30) }], any), ["cycle"]);
    }

    #[test]
    fn limits_of_the_target_are_held() {
        let any = *target::named("any").unwrap();
        let window = |queue, begin_ns, end_ns| Window { link: 0, queue, begin_ns, end_ns, cycle_ns: 10_000 };
        let windows = || vec![window(7, 0, 1_000), window(7, 2_000, 2_500)];
        let found = |limited: Target| kinds(windows(), &limited);
        assert_eq!(found(Target { most_entries: 3, ..any }), ["entries"]);
        assert_eq!(found(Target { shortest_ns: 501, ..any }), ["interval"]);
        assert_eq!(found(Target { longest_cycle_ns: 9_999, ..any }), ["cycle length"]);
        assert_eq!(found(Target { reopens: false, ..any }), ["reopened", "reopened"]);
        assert_eq!(found(Target { length_aware: false, ..any }), ["guard band", "guard band"]);
        // The largest frame takes 12 336 ns, of which 36 come before the cycle's beginning: less than an entry.
        let windows = [Window { link: 0, queue: 7, begin_ns: 12_300, end_ns: 15_000, cycle_ns: 30_000 }];
        let lasting = entries(&windows, 12_336, 672).into_iter().map(|entry| entry.for_ns).collect::<Vec<_>>();
        assert_eq!(lasting, [12_300, 2_700, 14_328, 672]);
    }

    /// Its shortest frame decides, what the data plane needs is in it, and a window around the cycle's end is one.
    #[test]
    fn a_window_in_which_no_frame_fits_is_found() {
        let mut network = samples::ring(3, 2);
        network.streams[1].size = 900;
        let timing = crate::egress::EgressTiming { hand_over_ns: 300, guard_ns: 20, ..network.timing };
        let network = network.timed(timing);
        let frame_ns = |stream| network.message_time(stream, 0).last_ns;
        let needed_ns = frame_ns(0) + 320;
        assert!(frame_ns(1) > needed_ns);
        let send = |stream, queue| crate::validate::Send { stream, offset_ns: 0, queues: vec![(0, queue)] };
        let found = |windows: &[(u8, u64, u64)]| {
            let window = |&(queue, begin_ns, end_ns)| Window { link: 0, queue, begin_ns, end_ns, cycle_ns: 10_000 };
            let schedule = Schedule {
                windows: windows.iter().map(window).collect(),
                sends: vec![send(0, 7), send(1, 7), send(1, 6)],
                ..Schedule::default()
            };
            let mut verdict = Verdict::default();
            let target = target::named("any").unwrap();
            check(
                &ValidationInput {
                    network: &network,
                    schedule: &schedule,
                    target,
                    guard_bands: false,
                    most_messages: 1_000,
                },
                &mut verdict,
            );
            verdict.faults
        };
        assert_eq!(found(&[(7, 100, 100 + needed_ns)]), []);
        assert_eq!(found(&[(7, 100, 99 + needed_ns)]), [Fault::TooShort(0, 100, needed_ns - 1, needed_ns)]);
        let long_ns = frame_ns(1) + 320;
        assert_eq!(found(&[(6, 0, needed_ns)]), [Fault::TooShort(0, 0, needed_ns, long_ns)]);
        // Nothing is sent in this queue.
        assert_eq!(found(&[(5, 0, 1)]), []);
        assert_eq!(found(&[(7, 9_000, 10_000), (7, 0, needed_ns - 1_000)]), []);
        let short = Fault::TooShort(0, 9_000, needed_ns - 1, needed_ns);
        assert_eq!(found(&[(7, 9_000, 10_000), (7, 0, needed_ns - 1_001)]), [short]);
    }

    /// An entry, and what lies around it, counts as the target counts it.
    #[test]
    fn limits_are_reached_before_they_are_passed() {
        let any = *target::named("any").unwrap();
        let window = |queue, begin_ns, end_ns| Window { link: 0, queue, begin_ns, end_ns, cycle_ns: 10_000 };
        let none: [&str; 0] = [];
        // Two windows and two gaps between them; one more where the cycle begins with none.
        let windows = || vec![window(7, 0, 1_000), window(7, 2_000, 2_500)];
        assert_eq!(
            kinds(windows(), &Target { most_entries: 4, shortest_ns: 500, longest_cycle_ns: 10_000, ..any }),
            none
        );
        let later = || vec![window(7, 100, 1_000), window(7, 2_000, 2_500)];
        assert_eq!(kinds(later(), &Target { most_entries: 5, ..any }), none);
        assert_eq!(kinds(later(), &Target { most_entries: 4, ..any }), ["entries"]);
        // Windows that touch are one entry of their queue, and two of different queues.
        let touching = |queue| vec![window(7, 0, 5_000), window(queue, 5_000, 10_000)];
        assert_eq!(kinds(touching(7), &Target { most_entries: 1, ..any }), none);
        assert_eq!(kinds(touching(6), &Target { most_entries: 1, ..any }), ["entries"]);
        // A gate that is open over the end of the cycle opens once.
        let over = || vec![window(7, 0, 1_000), window(6, 1_000, 9_000), window(7, 9_000, 10_000)];
        assert_eq!(kinds(over(), &Target { reopens: false, ..any }), none);
        // Without a gap no other frame is before a window.
        assert_eq!(kinds(touching(6), &Target { length_aware: false, ..any }), none);
    }
}
