//! What was on links, as records have it to be drawn.

use ontick_network::Passed;
use ontick_record::network::DrawnLink;
use ontick_tsn::network::{LinkId, Network};
use ontick_tsn::validate::{Schedule, Window};
use ontick_units::{count, exact};

/// Links of a network that is drawn, at most.
const MOST_LINKS: usize = 60;
/// The longest cycle that is drawn, in ns.
const LONGEST_NS: u64 = 100_000_000;
/// Frames that are drawn at most.
const MOST_FRAMES: usize = 20_000;
/// Windows that are drawn at most, each as often as it opens.
const MOST_WINDOWS: u64 = 20_000;

/// What is drawn of a run.
#[derive(Debug, Default)]
pub struct Drawn {
    pub links: Vec<DrawnLink>,
    /// Why it is not all.
    pub lacks: Option<Lacks>,
}

/// Why frames that were on links are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// The network has too many links.
    ManyLinks,
    /// A cycle is too long.
    LongCycle,
    /// The longest cycle is no multiple of all others, and where it begins they are not at their beginning.
    UnevenCycles,
    /// None came in the cycle that would be drawn, which has this length in ns.
    NoFrames(u64),
    /// A cycle has too many of streams.
    ManyFrames,
    /// Windows open too often in a cycle.
    ManyWindows,
    /// Those of streams are drawn; with best effort they would be too many.
    BestEffort,
}

impl Lacks {
    /// For one who asked for the picture.
    pub fn in_words(self) -> String {
        let most = count(MOST_FRAMES as u64);
        let why = match self {
            Self::ManyLinks => format!("the network has more than {MOST_LINKS} links"),
            Self::LongCycle => format!("a cycle is longer than {}", exact(LONGEST_NS)),
            Self::UnevenCycles => "the longest cycle is no multiple of all others".into(),
            Self::NoFrames(cycle_ns) => {
                format!("none came in the first whole cycle, which lasts {}", exact(cycle_ns))
            }
            Self::ManyFrames => format!("a cycle has more than {most} frames of streams"),
            Self::ManyWindows => format!("windows open more than {} times in a cycle", count(MOST_WINDOWS)),
            Self::BestEffort => {
                return format!(
                    "best-effort frames are not drawn: with them a cycle has more than {most} frames on links"
                );
            }
        };
        format!("frames on links are not drawn: {why}")
    }
}

/// How much of the beginning is kept to be drawn: the longest cycle, in ns; 0 where nothing is planned.
pub fn cycle_ns(network: &Network, schedule: &Schedule) -> Result<u64, Lacks> {
    let cycle_ns = schedule.windows.iter().map(|window| window.cycle_ns).max().unwrap_or(0);
    match network.links.len() > MOST_LINKS {
        true => Err(Lacks::ManyLinks),
        false if cycle_ns > LONGEST_NS => Err(Lacks::LongCycle),
        false => Ok(cycle_ns),
    }
}

/// The same of a cycle that is none of the first: all others must be parts of it.
pub fn later_cycle_ns(network: &Network, schedule: &Schedule) -> Result<u64, Lacks> {
    let cycle_ns = cycle_ns(network, schedule)?;
    let fits = schedule.windows.iter().all(|window| cycle_ns % window.cycle_ns.max(1) == 0);
    if fits { Ok(cycle_ns) } else { Err(Lacks::UnevenCycles) }
}

/// What is drawn of the cycle that was kept, if one was: each link that streams use. Shorter cycles are in it several times.
/// Best-effort frames are left out where there is no room for all.
pub fn links(network: &Network, schedule: &Schedule, kept: Result<u64, Lacks>, passed: &[Vec<Passed>]) -> Drawn {
    let drawn = kept.and_then(|span_ns| of_cycle(network, schedule, span_ns, passed));
    drawn.unwrap_or_else(|lacks| Drawn { lacks: Some(lacks), ..Drawn::default() })
}

fn of_cycle(network: &Network, schedule: &Schedule, span_ns: u64, passed: &[Vec<Passed>]) -> Result<Drawn, Lacks> {
    // Nothing is planned, and nothing is lacking.
    if schedule.windows.is_empty() {
        return Ok(Drawn::default());
    }
    let frames = |which: fn(&&Passed) -> bool| passed.iter().flatten().filter(which).count();
    let (all, of_streams) = (frames(|_| true), frames(|passed| passed.stream.is_some()));
    let opened: u64 = schedule.windows.iter().map(|window| span_ns.div_ceil(window.cycle_ns.max(1))).sum();
    if all == 0 {
        return Err(Lacks::NoFrames(span_ns));
    }
    if of_streams > MOST_FRAMES {
        return Err(Lacks::ManyFrames);
    }
    if opened > MOST_WINDOWS {
        return Err(Lacks::ManyWindows);
    }
    let has_room = all <= MOST_FRAMES;
    let drawn = |(link, passed): (LinkId, &Vec<Passed>)| {
        let windows = open(schedule.windows.iter().filter(|window| window.link == link), span_ns);
        if windows.is_empty() {
            return None;
        }
        let passed: Vec<&Passed> = passed.iter().filter(|passed| has_room || passed.stream.is_some()).collect();
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
    let lacks = (!has_room).then_some(Lacks::BestEffort);
    Ok(Drawn { links: passed.iter().enumerate().filter_map(drawn).collect(), lacks })
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

    /// A ring and its plan.
    fn planned() -> (Network, Schedule) {
        let network = samples::ring(4, 9);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!("the ring was not planned")
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        (network, schedule)
    }

    /// Frames on the link of the first window.
    fn on_first(network: &Network, schedule: &Schedule, of_streams: usize, best_effort: usize) -> Vec<Vec<Passed>> {
        let frames = |stream, n| vec![Passed { stream, begin_ns: 1, end_ns: 2 }; n];
        let mut passed = vec![Vec::new(); network.links.len()];
        passed[schedule.windows[0].link] = [frames(Some(0), of_streams), frames(None, best_effort)].concat();
        passed
    }

    #[test]
    fn windows_are_drawn_until_the_end_of_the_cycle_or_where_they_are_too_many_not_at_all() {
        let (network, mut schedule) = planned();
        let kept = cycle_ns(&network, &schedule);
        let cycle_ns = kept.unwrap();
        let passed = vec![vec![Passed { stream: None, begin_ns: 1, end_ns: 2 }]; network.links.len()];
        let (first, of) = (schedule.windows[0], schedule.windows[0].link);
        schedule.windows.retain(|window| window.link != of);
        schedule.windows.push(Window { begin_ns: 0, end_ns: 1, cycle_ns: cycle_ns / 8, ..first });
        let name = network.link_name(of);
        let drawn = links(&network, &schedule, kept, &passed);
        assert_eq!(drawn.links.iter().find(|link| link.name == name).unwrap().windows.len(), 8);
        assert_eq!(drawn.lacks, None);
        schedule.windows.push(Window { begin_ns: 0, end_ns: 1, cycle_ns: cycle_ns / MOST_WINDOWS, ..first });
        let drawn = links(&network, &schedule, kept, &passed);
        assert_eq!((drawn.links.len(), drawn.lacks), (0, Some(Lacks::ManyWindows)));
    }

    #[test]
    fn best_effort_is_left_out_where_there_is_no_room_and_only_then_that_is_said() {
        let (network, schedule) = planned();
        let kept = cycle_ns(&network, &schedule);
        let run = |of_streams, best_effort| {
            let passed = on_first(&network, &schedule, of_streams, best_effort);
            let drawn = links(&network, &schedule, kept, &passed);
            (drawn.links.iter().map(|link| link.frames.len()).sum::<usize>(), drawn.lacks)
        };
        assert_eq!(run(3, 5), (8, None));
        // None came in the cycle that is drawn, whatever came later.
        assert_eq!(run(3, 0), (3, None));
        assert_eq!(run(MOST_FRAMES, 0), (MOST_FRAMES, None));
        assert_eq!(run(3, MOST_FRAMES), (3, Some(Lacks::BestEffort)));
        assert_eq!(run(MOST_FRAMES + 1, 0), (0, Some(Lacks::ManyFrames)));
    }

    #[test]
    fn why_nothing_is_drawn_is_said_as_it_is() {
        let (network, schedule) = planned();
        let with_cycle = |cycle_ns| {
            let mut schedule = schedule.clone();
            schedule.windows[0].cycle_ns = cycle_ns;
            schedule
        };
        let (long, uneven) = (with_cycle(LONGEST_NS + 1), with_cycle(333_333));
        let kept = cycle_ns(&network, &schedule);
        let longest_ns = kept.unwrap();
        assert_eq!(cycle_ns(&samples::ring(16, 9), &schedule), Err(Lacks::ManyLinks));
        assert_eq!(cycle_ns(&network, &long), Err(Lacks::LongCycle));
        assert_eq!(cycle_ns(&network, &uneven), Ok(longest_ns));
        assert_eq!(later_cycle_ns(&network, &uneven), Err(Lacks::UnevenCycles));
        assert_eq!(later_cycle_ns(&network, &schedule), Ok(longest_ns));

        let why = |schedule: &Schedule, kept| {
            let nothing = vec![Vec::new(); network.links.len()];
            let drawn = links(&network, schedule, kept, &nothing);
            (drawn.links.len(), drawn.lacks)
        };
        assert_eq!(why(&schedule, Err(Lacks::ManyLinks)), (0, Some(Lacks::ManyLinks)));
        assert_eq!(why(&schedule, kept), (0, Some(Lacks::NoFrames(longest_ns))));
        assert_eq!(why(&Schedule::default(), Ok(0)), (0, None));
    }

    #[test]
    fn every_reason_has_a_sentence_of_its_own() {
        let sentences = [
            Lacks::ManyLinks,
            Lacks::LongCycle,
            Lacks::UnevenCycles,
            Lacks::NoFrames(50_000_000),
            Lacks::ManyFrames,
            Lacks::ManyWindows,
            Lacks::BestEffort,
        ]
        .map(Lacks::in_words);
        let said = sentences.each_ref().map(|sentence| sentence.split_once(" are not drawn: ").unwrap());
        assert_eq!(
            said,
            [
                ("frames on links", "the network has more than 60 links"),
                ("frames on links", "a cycle is longer than 100ms"),
                ("frames on links", "the longest cycle is no multiple of all others"),
                ("frames on links", "none came in the first whole cycle, which lasts 50ms"),
                ("frames on links", "a cycle has more than 20 000 frames of streams"),
                ("frames on links", "windows open more than 20 000 times in a cycle"),
                ("best-effort frames", "with them a cycle has more than 20 000 frames on links"),
            ]
        );
    }
}
