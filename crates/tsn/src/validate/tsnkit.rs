//! A schedule out of tsnkit's tables, whichever of its algorithms wrote them.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::schedule::{Schedule, Send, Window};
use crate::config::Errors;
use crate::network::tsnkit::{Rows, numbers};
use crate::network::{LinkId, Network, StreamId};

/// More than two years, in ns.
const LATEST: u64 = 1 << 56;

/// Reads the four tables that say what happens, each text as it is given by its name (`GCL`); `wrong` makes an error of
/// what is wrong in one of them.
pub fn read_each<E>(
    network: &Network,
    text: impl Fn(&'static str) -> Result<String, E>,
    wrong: impl Fn(&'static str, Errors) -> E,
) -> Result<Schedule, E> {
    let names = Names::new(network);
    let mut schedule = empty(network);
    for (table, read) in TABLES {
        read(&text(table)?, &names, &mut schedule).map_err(|errors| wrong(table, errors))?;
    }
    Ok(schedule)
}

/// Of the four texts.
pub fn read(gcl: &str, route: &str, queue: &str, offset: &str, network: &Network) -> Result<Schedule, Errors> {
    let text = |table| match table {
        "GCL" => gcl,
        "ROUTE" => route,
        "QUEUE" => queue,
        _ => offset,
    };
    read_each(network, |table| Ok(text(table).to_owned()), |_, errors| errors)
}

fn empty(network: &Network) -> Schedule {
    Schedule { routes: vec![Vec::new(); network.streams.len()], ..Schedule::default() }
}

type Reader = fn(&str, &Names, &mut Schedule) -> Result<(), Errors>;

/// Offsets come before the queues of the frames that they are of.
const TABLES: [(&str, Reader); 4] = [("GCL", windows), ("ROUTE", routes), ("OFFSET", offsets), ("QUEUE", queues)];

fn windows(text: &str, names: &Names, schedule: &mut Schedule) -> Result<(), Errors> {
    each(text, &["link", "queue", "start", "end", "cycle"], |rows, record| {
        let link = names.link(rows, record, 0);
        let numbers = [(1, 255), (2, LATEST), (3, LATEST), (4, LATEST)]
            .map(|(column, most)| rows.number(record, column, u64::from(column == 4)..=most));
        if let (Some(link), [Some(queue), Some(begin_ns), Some(end_ns), Some(cycle_ns)]) = (link, numbers) {
            schedule.windows.push(Window { link, queue: queue as u8, begin_ns, end_ns, cycle_ns });
        }
    })
}

fn routes(text: &str, names: &Names, schedule: &mut Schedule) -> Result<(), Errors> {
    each(text, &["stream", "link"], |rows, record| {
        if let (Some(stream), Some(link)) = (names.stream(rows, record), names.link(rows, record, 1)) {
            schedule.routes[stream].push(link);
        }
    })
}

/// Frames of a stream take turns, in the order of their numbers.
fn offsets(text: &str, names: &Names, schedule: &mut Schedule) -> Result<(), Errors> {
    let mut offsets: BTreeMap<(StreamId, u64), u64> = BTreeMap::new();
    each(text, &["stream", "frame", "offset"], |rows, record| {
        let (stream, frame) = (names.stream(rows, record), rows.number(record, 1, 0..=LATEST));
        if let (Some(stream), Some(frame), Some(offset)) = (stream, frame, rows.number(record, 2, 0..=LATEST)) {
            offsets.insert((stream, frame), offset);
        }
    })?;
    let send = |((stream, _), offset_ns)| Send { stream, offset_ns, queues: Vec::new() };
    schedule.sends.extend(offsets.into_iter().map(send));
    Ok(())
}

fn queues(text: &str, names: &Names, schedule: &mut Schedule) -> Result<(), Errors> {
    let mut queues: BTreeMap<(StreamId, u64), Vec<(LinkId, u8)>> = BTreeMap::new();
    each(text, &["stream", "frame", "link", "queue"], |rows, record| {
        let (stream, frame) = (names.stream(rows, record), rows.number(record, 1, 0..=LATEST));
        let (link, queue) = (names.link(rows, record, 2), rows.number(record, 3, 0..=255));
        if let (Some(stream), Some(frame), Some(link), Some(queue)) = (stream, frame, link, queue) {
            queues.entry((stream, frame)).or_default().push((link, queue as u8));
        }
    })?;
    // Of each stream its sendings in order, as its frames are.
    let mut sends: HashMap<StreamId, VecDeque<usize>> = HashMap::new();
    for (place, send) in schedule.sends.iter().enumerate() {
        sends.entry(send.stream).or_default().push_back(place);
    }
    for ((stream, _), queues) in queues {
        if let Some(place) = sends.get_mut(&stream).and_then(VecDeque::pop_front) {
            schedule.sends[place].queues = queues;
        }
    }
    Ok(())
}

fn each(
    text: &str,
    columns: &'static [&'static str],
    mut each: impl FnMut(&mut Rows, &csv::StringRecord),
) -> Result<(), Errors> {
    let mut rows = Rows::new(text, columns)?;
    let mut record = csv::StringRecord::new();
    while rows.next(&mut record) {
        each(&mut rows, &record);
    }
    rows.finish()
}

struct Names {
    links: HashMap<(u64, u64), LinkId>,
    streams: HashMap<u64, StreamId>,
}

impl Names {
    fn new(network: &Network) -> Self {
        let number = |node: usize| network.nodes[node].name.parse().unwrap_or(u64::MAX);
        let links = network.links.iter().enumerate().map(|(id, link)| ((number(link.from), number(link.to)), id));
        let streams =
            network.streams.iter().enumerate().map(|(id, stream)| (stream.name.parse().unwrap_or(u64::MAX), id));
        Self { links: links.collect(), streams: streams.collect() }
    }

    fn link(&self, rows: &mut Rows, record: &csv::StringRecord, column: usize) -> Option<LinkId> {
        let ends = rows.field(record, column).and_then(|text| numbers(text, '(', ')'));
        let found = ends.as_deref().and_then(|ends| match ends {
            [from, to] => self.links.get(&(*from, *to)).copied(),
            _ => None,
        });
        if found.is_none() {
            let said = rows.field(record, column).unwrap_or_default().to_owned();
            rows.wrong(record, column, format!("the network has no link {said}"));
        }
        found
    }

    fn stream(&self, rows: &mut Rows, record: &csv::StringRecord) -> Option<StreamId> {
        let number = rows.number(record, 0, 0..=u64::MAX)?;
        let found = self.streams.get(&number).copied();
        if found.is_none() {
            rows.wrong(record, 0, format!("there is no stream {number}"));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::samples;
    use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan, tsnkit};

    #[test]
    fn what_is_written_is_read() {
        let mut network = samples::ring(5, 40);
        network.nodes.iter_mut().enumerate().for_each(|(n, node)| node.name = n.to_string());
        network.streams.iter_mut().enumerate().for_each(|(n, stream)| stream.name = n.to_string());
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let tables: HashMap<_, _> = tsnkit::tables(&network, &table, &schedule).collect();
        let text = |name: &'static str| Ok(tables[name].clone());
        let named = |table, errors: Errors| (table, errors.to_string());
        assert_eq!(read_each(&network, text, named), Ok(schedule));

        let wrong = |name: &'static str| Ok(tables[name].replacen("\"(", "\"(9", usize::from(name == "GCL")));
        let (table, message) = read_each(&network, wrong, named).unwrap_err();
        assert_eq!(table, "GCL");
        assert!(message.contains("`link`: the network has no link (9"), "{message}");
    }

    /// Two stations and a switch: what is read is what the texts say, and frames of one stream take turns.
    #[test]
    fn texts_say_what_happens() {
        let mut network = samples::ring(3, 2);
        network.nodes.iter_mut().enumerate().for_each(|(n, node)| node.name = n.to_string());
        network.streams.iter_mut().enumerate().for_each(|(n, stream)| stream.name = n.to_string());
        let (from, to) = (network.links[2].from, network.links[2].to);
        let link = format!("\"({from}, {to})\"");
        let gcl = format!("link,queue,start,end,cycle\n{link},7,100,2100,1000000\n{link},6,0,50,1000000\n");
        let route = format!("stream,link\n1,{link}\n");
        let offset = "stream,frame,offset\n1,1,9000\n1,0,4000\n0,0,5\n";
        let queue = format!("stream,frame,link,queue\n1,1,{link},6\n1,0,{link},7\n");
        let window = |queue, begin_ns, end_ns| Window { link: 2, queue, begin_ns, end_ns, cycle_ns: 1_000_000 };
        let send = |stream, offset_ns, queues| Send { stream, offset_ns, queues };
        let expected = Schedule {
            windows: vec![window(7, 100, 2_100), window(6, 0, 50)],
            sends: vec![send(0, 5, vec![]), send(1, 4_000, vec![(2, 7)]), send(1, 9_000, vec![(2, 6)])],
            routes: vec![vec![], vec![2]],
        };
        assert_eq!(read(&gcl, &route, &queue, offset, &network).unwrap(), expected);
        // A cycle of nothing would be followed for ever.
        let wrong = gcl.replace("1000000", "0");
        assert!(read(&wrong, &route, &queue, offset, &network).unwrap_err().to_string().contains("cycle"));
        let wrong = route.replace("1,", "2,");
        let said = read(&gcl, &wrong, &queue, offset, &network).unwrap_err().to_string();
        assert!(said.contains("there is no stream 2"), "{said}");
    }
}
