//! What was on links, as records have it to be drawn.

use ontick_network::Passed;
use ontick_record::network::{DrawnLink, NetworkProof};
use ontick_tsn::network::{LinkId, Network};
use ontick_tsn::validate::{Schedule, Window};
use ontick_units::{count, exact};

/// Networks with more links than this are not drawn, nor are cycles longer than this, in ns.
const MOST_DRAWN: (usize, u64) = (60, 100_000_000);
/// Frames that are drawn at most.
const MOST_FRAMES: usize = 20_000;
/// Windows that are drawn at most, each as often as it opens.
const MOST_WINDOWS: u64 = 20_000;

/// How much of the beginning is kept to be drawn: a cycle, of networks that are small enough.
pub fn cycle_ns(network: &Network, schedule: &Schedule) -> u64 {
    let cycle_ns = schedule.windows.iter().map(|window| window.cycle_ns).max().unwrap_or(0);
    if network.links.len() <= MOST_DRAWN.0 && cycle_ns <= MOST_DRAWN.1 { cycle_ns } else { 0 }
}

/// The first cycle of each link that streams use, as long as the longest of them: the shorter ones are in it several times.
/// Best-effort frames are left out where there is no room for all.
pub fn links(network: &Network, schedule: &Schedule, passed: &[Vec<Passed>]) -> Vec<DrawnLink> {
    let span_ns = cycle_ns(network, schedule);
    let frames = |which: fn(&&Passed) -> bool| passed.iter().flatten().filter(which).count();
    let (all, of_streams) = (frames(|_| true), frames(|passed| passed.stream.is_some()));
    let opened: u64 = schedule.windows.iter().map(|window| span_ns.div_ceil(window.cycle_ns.max(1))).sum();
    if all == 0 || of_streams > MOST_FRAMES || opened > MOST_WINDOWS {
        return Vec::new();
    }
    let drawn = |(link, passed): (LinkId, &Vec<Passed>)| {
        let windows = open(schedule.windows.iter().filter(|window| window.link == link), span_ns);
        if windows.is_empty() {
            return None;
        }
        let passed: Vec<&Passed> =
            passed.iter().filter(|passed| all <= MOST_FRAMES || passed.stream.is_some()).collect();
        let mut streams: Vec<u32> = passed.iter().filter_map(|passed| passed.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let place = |stream: u32| streams.binary_search(&stream).ok().map(|place| place as u32);
        let frame = |of: &Passed| (of.stream.and_then(place), of.begin_ns, of.end_ns);
        Some(DrawnLink {
            name: network.link_name(link),
            windows,
            frames: passed.into_iter().map(frame).collect(),
            names: streams.iter().map(|stream| network.streams[*stream as usize].name.clone()).collect(),
        })
    };
    passed.iter().enumerate().filter_map(drawn).collect()
}

/// What the picture of a run lacks, for one who asked for it.
pub fn lacking(of: &NetworkProof) -> Option<String> {
    let most = count(MOST_FRAMES as u64);
    let frames = || of.links.iter().flat_map(|link| &link.frames);
    if of.links.is_empty() {
        return (of.frames > 0).then(|| {
            let (links, cycle) = (MOST_DRAWN.0, exact(MOST_DRAWN.1));
            format!(
                "frames on links are not drawn: there are more than {links} links, a cycle is longer than {cycle}, or it has \
                 more than {most} frames or windows"
            )
        });
    }
    let left_out = of.best_effort > 0 && frames().all(|(stream, ..)| stream.is_some());
    left_out
        .then(|| format!("best-effort frames are not drawn: with them a cycle has more than {most} frames on links"))
}

/// When one of a link's windows is open, from 0 until `span_ns`. They are in order; what touches is one.
fn open<'w>(windows: impl Iterator<Item = &'w Window>, span_ns: u64) -> Vec<(u64, u64)> {
    let each = |window: &'w Window| {
        let cycle_ns = window.cycle_ns.max(1);
        // One that goes on over the end of its cycle is open at the beginning, too.
        let over = (0, window.end_ns.saturating_sub(cycle_ns));
        let shift = move |n: u64| (window.begin_ns + n * cycle_ns, window.end_ns + n * cycle_ns);
        std::iter::once(over).chain((0..span_ns.div_ceil(cycle_ns)).map(shift))
    };
    let within = windows.flat_map(each).map(|(begin_ns, end_ns)| (begin_ns, end_ns.min(span_ns)));
    let mut all: Vec<(u64, u64)> = within.filter(|(begin_ns, end_ns)| begin_ns < end_ns).collect();
    all.sort_unstable();
    all.dedup_by(|next, before| {
        let touches = next.0 <= before.1;
        if touches {
            before.1 = before.1.max(next.1);
        }
        touches
    });
    all
}

#[cfg(test)]
mod tests {
    use ontick_tsn::network::samples;
    use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

    use super::*;

    fn window(begin_ns: u64, end_ns: u64, cycle_ns: u64) -> Window {
        Window { link: 0, queue: 7, begin_ns, end_ns, cycle_ns }
    }

    #[test]
    fn windows_are_there_in_each_of_their_cycles() {
        let open = |windows: &[Window]| open(windows.iter(), 1_000);
        assert_eq!(open(&[window(10, 20, 1_000)]), [(10, 20)]);
        assert_eq!(open(&[window(10, 20, 250)]), [(10, 20), (260, 270), (510, 520), (760, 770)]);
        // The last is cut where the picture ends.
        assert_eq!(open(&[window(10, 300, 400)]), [(10, 300), (410, 700), (810, 1_000)]);
        assert_eq!(open(&[window(450, 550, 500)]), [(0, 50), (450, 550), (950, 1_000)]);
        // Two queues, and gates that are never closed.
        assert_eq!(open(&[window(50, 80, 500), window(20, 60, 500)]), [(20, 80), (520, 580)]);
        assert_eq!(open(&[window(0, 250, 250)]), [(0, 1_000)]);
    }

    #[test]
    fn windows_are_drawn_until_the_end_of_the_cycle_or_where_they_are_too_many_not_at_all() {
        let network = samples::ring(4, 9);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!("the ring was not planned")
        };
        let mut schedule = gate_control_list::schedule(&network, &table).unwrap();
        let cycle_ns = cycle_ns(&network, &schedule);
        let passed = vec![vec![Passed { stream: None, begin_ns: 1, end_ns: 2 }]; network.links.len()];
        let (first, of) = (schedule.windows[0], schedule.windows[0].link);
        schedule.windows.retain(|window| window.link != of);
        schedule.windows.push(Window { begin_ns: 0, end_ns: 1, cycle_ns: cycle_ns / 8, ..first });
        let name = network.link_name(of);
        let drawn = links(&network, &schedule, &passed);
        assert_eq!(drawn.iter().find(|link| link.name == name).unwrap().windows.len(), 8);
        schedule.windows.push(Window { begin_ns: 0, end_ns: 1, cycle_ns: cycle_ns / MOST_WINDOWS, ..first });
        assert_eq!(links(&network, &schedule, &passed), []);
    }

    #[test]
    fn best_effort_is_left_out_where_there_is_no_room_and_that_is_said() {
        let network = samples::ring(4, 9);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!("the ring was not planned")
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let of = schedule.windows[0].link;
        let frames = |stream, n| vec![Passed { stream, begin_ns: 1, end_ns: 2 }; n];
        let run = |of_streams, best_effort: usize| {
            let mut passed = vec![Vec::new(); network.links.len()];
            passed[of] = [frames(Some(0), of_streams), frames(None, best_effort)].concat();
            let links = links(&network, &schedule, &passed);
            let drawn = links.iter().map(|link| link.frames.len()).sum::<usize>();
            let proof = NetworkProof { links, best_effort: best_effort as u64, frames: 9, ..NetworkProof::default() };
            (drawn, lacking(&proof))
        };
        assert_eq!(run(3, 5), (8, None));
        assert_eq!(run(MOST_FRAMES, 0), (MOST_FRAMES, None));
        let (drawn, note) = run(3, MOST_FRAMES);
        assert_eq!((drawn, note.unwrap().split(':').next().unwrap()), (3, "best-effort frames are not drawn"));
        let (drawn, note) = run(MOST_FRAMES + 1, 0);
        assert_eq!((drawn, note.unwrap().split(':').next().unwrap()), (0, "frames on links are not drawn"));
    }
}
