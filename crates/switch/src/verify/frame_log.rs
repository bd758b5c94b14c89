//! Every frame that arrived, with its times and how it was judged, as a table for other programs.

use std::fmt::Write;

use super::analysis::{Arrival, Judgement};
use super::flow::{CHECK, Flow};

/// Frames of a trial that are kept, at most: 64 MB.
const MOST: usize = 1_000_000;

/// The names of the columns. Times are of the gates' clock, in ns.
pub const HEAD: &str = "trial,class,queue,number,octets,sent_ns,stamp_ns,begins_ns,ends_ns,judgement,by_ns\n";

/// Frames in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub struct FrameLog {
    wanted: bool,
    frames: Vec<(Arrival, (u64, u64), Judgement)>,
    /// Frames beyond those that are kept.
    pub left_out: u64,
}

impl FrameLog {
    /// Keeps frames, if that is wanted.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Takes in a frame that was on the link between these times.
    #[inline]
    pub fn add(&mut self, arrival: Arrival, on_link_ns: (u64, u64), judgement: Judgement) {
        if !self.wanted {
            return;
        }
        match self.frames.len() < MOST {
            true => self.frames.push((arrival, on_link_ns, judgement)),
            false => self.left_out += 1,
        }
    }

    /// A line of comma-separated values for each. `class` gives the name of a class by its place.
    pub fn table(&self, trial: &str, flows: &[Flow], class: impl Fn(usize) -> String) -> String {
        let names: Vec<String> = flows.iter().map(|flow| quoted(&class(flow.class))).collect();
        let (trial, mut text) = (quoted(trial), String::new());
        for (arrival, (begins_ns, ends_ns), judgement) in &self.frames {
            let (name, flow) = (&names[arrival.flow], &flows[arrival.flow]);
            let (queue, octets) = (flow.queue, flow.octets() + CHECK);
            let Arrival { number, sent_ns, at_ns, .. } = arrival;
            let (word, by_ns) = words(*judgement);
            let _ = writeln!(
                text,
                "{trial},{name},{queue},{number},{octets},{sent_ns},{at_ns},{begins_ns},{ends_ns},{word},{by_ns}"
            );
        }
        text
    }
}

fn words(judgement: Judgement) -> (&'static str, u64) {
    match judgement {
        Judgement::Unjudged => ("unjudged", 0),
        Judgement::Inside => ("inside", 0),
        Judgement::Outside { ends: true, by_ns, .. } => ("ends-late", by_ns),
        Judgement::Outside { late: true, by_ns, .. } => ("begins-late", by_ns),
        Judgement::Outside { by_ns, .. } => ("begins-early", by_ns),
    }
}

/// A field (RFC 4180 section 2): a name may have commas and quotes in it.
pub fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::flow::Nonce;
    use crate::verify::source_004_test;
    use ontick_tsn::model::Guard;

    #[test]
    fn a_line_for_each_frame() {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        let flows = [Flow::new(&switch, 1, 64, Nonce([1, 2, 3])).unwrap()];
        let arrival = Arrival { flow: 0, number: 7, sent_ns: 5, at_ns: 10 };
        let ends = Judgement::Outside { ends: true, by_ns: 3, late: true, edge_ns: 20 };
        let mut log = FrameLog::new(true);
        log.add(arrival, (11, 23), ends);
        log.add(arrival, (11, 23), Judgement::Inside);
        let table = log.table("gates on", &flows, |_| "a \"b\", c".into());
        let name = "\"a \"\"b\"\", c\"";
        let lines = ["ends-late,3", "inside,0"].map(|last| format!("gates on,{name},1,7,64,5,10,11,23,{last}\n"));
        assert_eq!(table, lines.concat());
        assert_eq!(HEAD.matches(',').count(), 10);
        let mut none = FrameLog::new(false);
        none.add(arrival, (11, 23), Judgement::Inside);
        assert_eq!((none.table("", &flows, |_| String::new()), none.left_out), (String::new(), 0));
    }
}
