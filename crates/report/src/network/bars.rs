//! Who has which link when, as bars.

use ontick_tsn::network::Network;
use ontick_tsn::planning::{Placed, Timetable};
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

use crate::plot::{Bar, Gantt, Row};

/// More rows than anybody looks at.
const MOST_ROWS: usize = 200;
/// More deadlines than this in a row hide its bars.
const MOST_DEADLINES: usize = 60;

/// A row for each link with its messages, or for each stream with its way.
pub fn picture(by_link: bool, network: &Network, table: &Timetable, schedule: &Schedule) -> Gantt {
    let span_ns = match by_link {
        true => schedule.windows.iter().map(|window| window.cycle_ns).max(),
        false => table.placed.iter().flatten().map(|placed| end_of_way(network, placed)).max(),
    };
    let span_ns = span_ns.unwrap_or(0);
    let mut drawn = match by_link {
        true => of_links(network, table, span_ns),
        false => table.placed.iter().flatten().flat_map(|placed| of_stream(network, placed)).collect(),
    };
    let all = drawn.len();
    drawn.truncate(MOST_ROWS);
    let crowded = |row: &&mut Row| row.deadlines.len() > MOST_DEADLINES;
    let cleared = drawn.iter_mut().filter(crowded).map(|row| row.deadlines.clear()).count();
    let what = if by_link { "links" } else { "ways to a listener" };
    let legend = match by_link {
        true => {
            let placed = table.placed.iter().flatten();
            placed.map(|placed| (placed.stream, network.streams[placed.stream].name.clone())).collect()
        }
        false => {
            let most = table.placed.iter().flatten().map(longest_way).max().unwrap_or(0);
            (0..most).map(|place| (place, format!("link {} of the way", place + 1))).collect()
        }
    };
    let shown =
        if all > MOST_ROWS { format!("the first {MOST_ROWS} of {all} {what}") } else { format!("{all} {what}") };
    let streams = table.placed.iter().flatten().count();
    let about = format!("{streams} streams, {shown}");
    let without = if cleared > 0 { "; rows with too many deadlines are without" } else { "" };
    let (title, about, along) = match by_link {
        true => ("When each link is taken", format!("{about}, repeated every {}{without}", exact(span_ns)), ""),
        false => ("Each stream on its way", about, "time from the beginning of the stream's period"),
    };
    Gantt { title: title.into(), about, span_ns, along: along.into(), legend, rows: drawn, ..Gantt::default() }
}

/// Each message as a bar, in all its periods.
fn of_links(network: &Network, table: &Timetable, span_ns: u64) -> Vec<Row> {
    let mut rows: Vec<Row> =
        (0..network.links.len()).map(|link| Row { name: network.link_name(link), ..Row::default() }).collect();
    for placed in table.placed.iter().flatten() {
        let of = &network.streams[placed.stream];
        for hop in &placed.hops {
            for n in 0..span_ns / of.period_ns {
                let begin_ns = (hop.begin_ns + n * of.period_ns) % span_ns;
                let end_ns = begin_ns + hop.end_ns - hop.begin_ns;
                let name = format!("{}: {} to {}", of.name, exact(begin_ns), exact(end_ns % span_ns));
                let bar = Bar { begin_ns, end_ns: end_ns.min(span_ns), colour: placed.stream, name, waits: false };
                rows[hop.link].bars.push(bar.clone());
                if hop.delivered_ns.is_some() {
                    let due_ns = (n * of.period_ns + of.deadline_ns - 1) % span_ns + 1;
                    rows[hop.link].deadlines.push((due_ns, format!("{}: deadline {}", of.name, exact(of.deadline_ns))));
                }
                if end_ns > span_ns {
                    rows[hop.link].bars.push(Bar { begin_ns: 0, end_ns: end_ns - span_ns, ..bar });
                }
            }
        }
    }
    rows.retain(|row| !row.bars.is_empty());
    rows
}

/// The picture ends here: with the deadline, unless that is so far away that nothing else could be told apart.
fn end_of_way(network: &Network, placed: &Placed) -> u64 {
    let (latency_ns, deadline_ns) = (placed.latency_ns(), network.streams[placed.stream].deadline_ns);
    if deadline_ns <= 3 * latency_ns { deadline_ns.max(latency_ns) } else { latency_ns + latency_ns / 4 }
}

/// The hops of the way to each listener, the first first.
fn ways(placed: &Placed) -> Vec<Vec<usize>> {
    let last = (0..placed.hops.len()).filter(|place| placed.hops[*place].delivered_ns.is_some());
    let way = |last| {
        let mut way: Vec<usize> =
            std::iter::successors(Some(last), |place: &usize| placed.hops[*place].before).collect();
        way.reverse();
        way
    };
    last.map(way).collect()
}

fn longest_way(placed: &Placed) -> usize {
    ways(placed).iter().map(Vec::len).max().unwrap_or(0)
}

/// A row for each listener: each hop as a bar; a thin one where it waits in a queue.
fn of_stream(network: &Network, placed: &Placed) -> Vec<Row> {
    let of = &network.streams[placed.stream];
    let ways = ways(placed);
    let several = ways.len() > 1;
    let row = |way: Vec<usize>| {
        let mut bars = Vec::new();
        for (place, hop) in way.iter().map(|hop| &placed.hops[*hop]).enumerate() {
            let link = network.link_name(hop.link);
            let bar = |begin_ns, end_ns, waits, what: &str| {
                let name = format!("{link}: {what}{} to {}", exact(begin_ns), exact(end_ns));
                Bar { begin_ns, end_ns, colour: place, name, waits }
            };
            match u64::try_from(hop.arrives_ns) {
                Ok(arrives_ns) if arrives_ns == hop.begin_ns => {}
                Ok(arrives_ns) => bars.push(bar(arrives_ns, hop.begin_ns, true, "waits from ")),
                // The picture begins with the period.
                Err(_) => bars.push(bar(0, hop.begin_ns, true, "waits from before ")),
            }
            bars.push(bar(hop.begin_ns, hop.end_ns, false, ""));
        }
        let listener = way.last().map(|hop| &network.nodes[network.links[placed.hops[*hop].link].to].name);
        let name = match listener {
            Some(listener) if several => format!("{} to {listener}", of.name),
            _ => of.name.clone(),
        };
        let deadlines = vec![(of.deadline_ns, format!("deadline {}", exact(of.deadline_ns)))];
        Row { name, bars, deadlines, ..Row::default() }
    };
    ways.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use ontick_tsn::network::samples;
    use ontick_tsn::planning::{Outcome, PlanOptions, gate_control_list, plan};

    use super::*;

    #[test]
    fn deadlines_that_would_hide_the_messages_of_a_row_are_left_out_and_that_is_said() {
        let mut network = samples::ring(4, 9);
        let drawn = |network: &Network| {
            let Outcome::Planned(table) = plan(network, &PlanOptions::default(), &Timetable::default(), &|| true)
            else {
                panic!("the ring was not planned")
            };
            let schedule = gate_control_list::schedule(network, &table).unwrap();
            picture(true, network, &table, &schedule)
        };
        let few = drawn(&network);
        assert!(
            few.rows.iter().any(|row| !row.deadlines.is_empty()) && !few.about.contains("without"),
            "{}",
            few.about
        );
        let longest = network.streams.iter().map(|stream| stream.period_ns).max().unwrap();
        network.streams[0].period_ns = longest * (MOST_DEADLINES as u64 + 1);
        let many = drawn(&network);
        let most = many.rows.iter().map(|row| row.deadlines.len()).max().unwrap();
        assert!(
            most <= MOST_DEADLINES && many.about.ends_with("rows with too many deadlines are without"),
            "{}",
            many.about
        );
        assert_eq!(
            many.rows.iter().map(|row| &row.name).collect::<Vec<_>>(),
            few.rows.iter().map(|row| &row.name).collect::<Vec<_>>()
        );
    }
}
