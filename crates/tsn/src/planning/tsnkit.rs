//! A plan as tsnkit's tables: `PREFIX-GCL.csv`, `-OFFSET.csv`, `-QUEUE.csv`, `-ROUTE.csv` and `-DELAY.csv`. Times are
//! nanoseconds.

use super::timetable::{Placed, Timetable};
use crate::network::{LinkId, Network};
use crate::validate::{Schedule, Window};

/// The ends of the tables' names, and their texts, each made when it is asked for.
pub fn tables<'a>(
    network: &'a Network,
    table: &'a Timetable,
    schedule: &'a Schedule,
) -> impl Iterator<Item = (&'static str, String)> + use<'a> {
    // A link is written for each window and each stream on it.
    let links = network.links.iter();
    let links: Vec<String> =
        links.map(|link| format!("\"({}, {})\"", network.nodes[link.from].name, network.nodes[link.to].name)).collect();
    let texts: [(&'static str, Text); 5] = [
        ("GCL", gates),
        ("OFFSET", |plan| plan.each("stream,frame,offset\n", offset)),
        ("QUEUE", |plan| plan.each("stream,frame,link,queue\n", queues)),
        ("ROUTE", |plan| plan.each("stream,link\n", route)),
        ("DELAY", |plan| plan.each("stream,frame,delay\n", delay)),
    ];
    let plan = Plan { network, table, schedule, links };
    texts.into_iter().map(move |(name, text)| (name, text(&plan)))
}

/// Writes a table.
type Text = fn(&Plan) -> String;

/// What the tables are of.
struct Plan<'a> {
    network: &'a Network,
    table: &'a Timetable,
    schedule: &'a Schedule,
    /// As the tables name them.
    links: Vec<String>,
}

impl Plan<'_> {
    /// A table with rows of each placed stream.
    fn each(&self, head: &str, rows: fn(&Self, &str, &Placed, &mut String)) -> String {
        let mut text = String::from(head);
        for placed in self.table.placed.iter().flatten() {
            rows(self, &self.network.streams[placed.stream].name, placed, &mut text);
        }
        text
    }
}

fn gates(plan: &Plan) -> String {
    let mut text = String::from("link,queue,start,end,cycle\n");
    for window in &plan.schedule.windows {
        let &Window { link, queue, begin_ns, end_ns, cycle_ns } = window;
        text.push_str(&plan.links[link]);
        row(&mut text, &[u64::from(queue), begin_ns, end_ns, cycle_ns]);
    }
    text
}

fn offset(_: &Plan, name: &str, placed: &Placed, text: &mut String) {
    text.push_str(name);
    row(text, &[0, placed.offset_ns()]);
}

fn queues(plan: &Plan, name: &str, placed: &Placed, text: &mut String) {
    for hop in &placed.hops {
        let words = [name, ",0,", &plan.links[hop.link]];
        words.into_iter().for_each(|word| text.push_str(word));
        row(text, &[u64::from(placed.queue)]);
    }
}

fn route(plan: &Plan, name: &str, placed: &Placed, text: &mut String) {
    for hop in &placed.hops {
        let words = [name, ",", &plan.links[hop.link]];
        words.into_iter().for_each(|word| text.push_str(word));
        row(text, &[]);
    }
}

fn delay(plan: &Plan, name: &str, placed: &Placed, text: &mut String) {
    text.push_str(name);
    row(text, &[0, behind_the_first_hop(plan.network, placed)]);
}

/// The rest of a row. There are thousands, and to format a number is most of what a row takes.
fn row(text: &mut String, numbers: &[u64]) {
    for number in numbers {
        // A comma, and the digits from the last to the first.
        let (mut written, mut first, mut left) = ([b'0'; 21], 20, *number);
        while left > 9 {
            written[first] += (left % 10) as u8;
            (first, left) = (first - 1, left / 10);
        }
        written[first] += left as u8;
        written[first - 1] = b',';
        text.push_str(std::str::from_utf8(&written[first - 1..]).unwrap_or_default());
    }
    text.push('\n');
}

/// As that tool counts it: from the moment at which the first switch could send until the listener is done.
fn behind_the_first_hop(network: &Network, placed: &Placed) -> u64 {
    let processing = |link: LinkId| network.links[link].processing_ns;
    let first = &placed.hops[0];
    let left_ns = first.end_ns - network.message_time(placed.stream, first.link).gap_ns;
    let last = placed.hops.iter().filter(|hop| hop.delivered_ns.is_some()).max_by_key(|hop| hop.delivered_ns);
    let done = last.map_or(0, |hop| hop.delivered_ns.unwrap_or(0) + processing(hop.link));
    done.saturating_sub(left_ns + processing(first.link))
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, PlanOptions, gate_control_list, plan};
    use super::*;
    use crate::network::samples;

    /// Three links of 1 040 ns each, 50 ns of cable and 2 us behind them: 9 270 ns, of which the first switch could send
    /// behind 3 040.
    #[test]
    fn delays_begin_where_the_first_switch_could_send() {
        let network = samples::ring(4, 1);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let tables: Vec<_> = tables(&network, &table, &schedule).collect();
        let of = |end: &str| tables.iter().find(|(name, _)| *name == end).unwrap().1.as_str();
        assert_eq!(of("DELAY"), "stream,frame,delay\nf0,0,6230\n");
        assert_eq!(of("OFFSET"), "stream,frame,offset\nf0,0,0\n");
        assert_eq!(of("ROUTE"), "stream,link\nf0,\"(h0, s0)\"\nf0,\"(s0, s1)\"\nf0,\"(s1, h1)\"\n");
        let [queue, gates] = ["QUEUE", "GCL"].map(of);
        assert!(queue.starts_with("stream,frame,link,queue\nf0,0,\"(h0, s0)\",7\nf0,0,"), "{queue}");
        assert!(gates.contains("\n\"(h0, s0)\",7,0,1136,500000\n"), "{gates}");
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for number in [0, 7, 10, 99, 100, 1_234_567_890, u64::MAX] {
            let mut text = String::new();
            row(&mut text, &[number, 0]);
            assert_eq!(text, format!(",{number},0\n"));
        }
    }
}
