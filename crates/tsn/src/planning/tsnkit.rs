//! A plan as tsnkit's tables: `PREFIX-GCL.csv`, `-OFFSET.csv`, `-QUEUE.csv`, `-ROUTE.csv` and `-DELAY.csv`. Times are
//! nanoseconds.

use std::fmt;

use super::timetable::{Placed, Timetable};
use crate::network::{LinkId, Network};
use crate::validate::{Schedule, Window};

/// The ends of the tables' names, and their texts.
pub fn tables(network: &Network, table: &Timetable, schedule: &Schedule) -> [(&'static str, String); 5] {
    // A link is written for each window and each stream on it.
    let links = network.links.iter();
    let links: Vec<String> =
        links.map(|link| format!("\"({}, {})\"", network.nodes[link.from].name, network.nodes[link.to].name)).collect();
    let mut gcl = String::from("link,queue,start,end,cycle\n");
    for window in &schedule.windows {
        let Window { link, queue, begin_ns, end_ns, cycle_ns } = window;
        write(&mut gcl, format_args!("{},{queue},{begin_ns},{end_ns},{cycle_ns}\n", links[*link]));
    }
    let mut offset = String::from("stream,frame,offset\n");
    let mut queue = String::from("stream,frame,link,queue\n");
    let mut route = String::from("stream,link\n");
    let mut delay = String::from("stream,frame,delay\n");
    for placed in table.placed.iter().flatten() {
        let name = &network.streams[placed.stream].name;
        write(&mut offset, format_args!("{name},0,{}\n", placed.offset_ns()));
        write(&mut delay, format_args!("{name},0,{}\n", behind_the_first_hop(network, placed)));
        for hop in &placed.hops {
            write(&mut queue, format_args!("{name},0,{},{}\n", links[hop.link], placed.queue));
            write(&mut route, format_args!("{name},{}\n", links[hop.link]));
        }
    }
    [("GCL", gcl), ("OFFSET", offset), ("QUEUE", queue), ("ROUTE", route), ("DELAY", delay)]
}

fn write(text: &mut String, line: fmt::Arguments) {
    // A text takes whatever is written to it.
    let _ = fmt::Write::write_fmt(text, line);
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
        let tables = tables(&network, &table, &gate_control_list::schedule(&network, &table).unwrap());
        let of = |end: &str| tables.iter().find(|(name, _)| *name == end).unwrap().1.as_str();
        assert_eq!(of("DELAY"), "stream,frame,delay\nf0,0,6230\n");
        assert_eq!(of("OFFSET"), "stream,frame,offset\nf0,0,0\n");
        assert_eq!(of("ROUTE"), "stream,link\nf0,\"(h0, s0)\"\nf0,\"(s0, s1)\"\nf0,\"(s1, h1)\"\n");
    }
}
