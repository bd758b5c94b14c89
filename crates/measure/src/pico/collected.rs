//! What a Pico has sent of the edges of some lines.

use ontick_pico::{BANKS, LINES_OF_BANK, Lost, Message, TICK_NS, TICKS_PER_SECOND, VERSION};
use ontick_record::capture::{Edge, Recorded};
use ontick_record::run::Instrument;

/// Edges that are held of each line.
const MOST: usize = 1 << 21;
const NS: u64 = TICK_NS as u64;

/// The edges of some of a Pico's lines, in order, and how many are not there.
#[derive(Debug, Default)]
pub struct Collected {
    lines: Vec<u8>,
    edges: Vec<Vec<Edge>>,
    until: u64,
    left_out: u64,
    disordered: u64,
    lost: u64,
    gaps: u64,
    unseen_ns: u64,
    said: [Counts; BANKS as usize],
    counted: Counts,
}

/// Edges that were lost, and gaps: what was said of a bank one by one, or counted by the Pico.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    lost: u64,
    gaps: u64,
}

impl Collected {
    /// Nothing yet of these lines, 0 to 7.
    pub fn new(lines: &[u8]) -> Self {
        Self { lines: lines.to_vec(), edges: vec![Vec::new(); lines.len()], ..Self::default() }
    }

    /// Takes what a message says of the lines.
    pub fn take(&mut self, message: &Message) {
        match *message {
            Message::Edges(edges) => edges.for_each(|edge| self.add(edge)),
            Message::Lost(lost) => self.lose(lost),
            Message::Status { until, lost, gaps, .. } => {
                self.until = self.until.max(until);
                self.counted.lost = self.counted.lost.max(lost.into());
                self.counted.gaps = self.counted.gaps.max(gaps.into());
            }
            _ => {}
        }
    }

    fn add(&mut self, edge: ontick_pico::Edge) {
        let Some(place) = self.lines.iter().position(|line| *line == edge.line) else { return };
        let at_ns = edge.tick.saturating_mul(NS);
        if self.edges[place].last().is_some_and(|last| last.at_ns > at_ns) {
            self.disordered += 1;
        } else if self.edges[place].len() == MOST {
            self.left_out += 1;
        } else {
            self.edges[place].push(Edge { at_ns, rising: edge.rising });
        }
        self.until = self.until.max(edge.tick);
    }

    fn is_of_bank(&self, bank: u8) -> bool {
        self.lines.iter().any(|line| line / LINES_OF_BANK == bank)
    }

    fn lose(&mut self, lost: Lost) {
        let Some(said) = self.said.get_mut(usize::from(lost.bank)) else { return };
        match lost.edges {
            Some(edges) => said.lost += u64::from(edges),
            None => said.gaps += 1,
        }
        if !self.is_of_bank(lost.bank) {
            return;
        }
        match lost.edges {
            Some(edges) => self.lost += u64::from(edges),
            None => {
                self.gaps += 1;
                let ns = lost.to.saturating_sub(lost.from).saturating_mul(NS);
                self.unseen_ns = self.unseen_ns.saturating_add(ns);
            }
        }
    }

    /// What the Pico counted beyond what it said one by one: the lost edges of all banks, and the gaps, each of which is said
    /// of each bank.
    fn unsaid(&self) -> Counts {
        let lost: u64 = self.said.iter().map(|said| said.lost).sum();
        let gaps = (0_u8..).zip(&self.said).filter(|(bank, _)| self.is_of_bank(*bank)).map(|(_, said)| said.gaps).min();
        Counts {
            lost: self.counted.lost.saturating_sub(lost),
            gaps: self.counted.gaps.saturating_sub(gaps.unwrap_or_default()),
        }
    }

    /// What was recorded of the lines, which are called so.
    pub fn finish(self, channels: Vec<String>) -> Recorded {
        let instrument = Instrument {
            capture: "edges".into(),
            rate_hz: Some(u64::from(TICKS_PER_SECOND)),
            resolution_ps: NS * 1_000,
            edges: self.edges.iter().map(|edges| edges.len() as u64).sum(),
        };
        let tool = format!("ontick's firmware for the Pico, protocol {VERSION}");
        let ends_ns = self.until.saturating_mul(NS);
        Recorded { tool, channels, edges: self.edges, ends_ns, instrument }
    }

    /// What a reader must know of edges that are not there, each a sentence without its subject, which is the Pico.
    pub fn notes(&self) -> Vec<String> {
        let lost = (self.lost > 0)
            .then(|| format!("lost {} edges on its way here, where they came faster than they were taken", self.lost));
        let gaps = (self.gaps > 0).then(|| {
            let ms = self.unseen_ns as f64 / 1e6;
            format!(
                "did not see its lines {} times, {ms:.3} ms in all, as edges came faster than it can take them",
                self.gaps
            )
        });
        let disordered = (self.disordered > 0).then(|| {
            format!("sent {} edges with an earlier time than the edge before: they are not compared", self.disordered)
        });
        let left_out = (self.left_out > 0)
            .then(|| format!("sent {} edges more than can be kept: they are not compared", self.left_out));
        let unsaid = self.unsaid();
        let unsaid = (unsaid.lost > 0 || unsaid.gaps > 0).then(|| {
            format!(
                "counted {} lost edges and {} gaps beyond those, and not when each was, as what it sent was taken too late",
                unsaid.lost, unsaid.gaps
            )
        });
        [lost, gaps, unsaid, disordered, left_out].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use ontick_pico::{EdgeWriter, LONGEST, Message, Reader, frame};

    use super::*;

    /// The edges of line 2 at these ticks, as a Pico sends them.
    fn frame_of(ticks: &[u64]) -> frame::Frame {
        let (mut writer, mut bytes, mut reader) = (EdgeWriter::new(0, 0), [0; LONGEST], Reader::default());
        assert!(ticks.iter().all(|tick| writer.add(*tick, 2, frame::payload_of(&mut bytes))));
        let length = frame::seal(Message::EDGES, 0, writer.finish(), &mut bytes);
        bytes[..length].iter().find_map(|byte| reader.take(*byte)).unwrap()
    }

    #[test]
    fn edges_stay_in_order_whatever_a_pico_sends() {
        let mut collected = Collected::new(&[2]);
        for ticks in [[100, 200], [150, 250], [300, 400]] {
            let frame = frame_of(&ticks);
            collected.take(&Message::read(&frame).unwrap());
        }
        assert!(collected.notes()[0].starts_with("sent 1 edges with an earlier time"), "{:?}", collected.notes());
        let recorded = collected.finish(vec!["GP2".into()]);
        let at_ns: Vec<u64> = recorded.edges[0].iter().map(|edge| edge.at_ns).collect();
        assert_eq!((at_ns, recorded.ends_ns), (vec![800, 1_600, 2_000, 2_400, 3_200], 3_200));
    }

    #[test]
    fn it_ends_with_the_latest_that_was_heard_of() {
        let mut collected = Collected::new(&[2]);
        let status = |until| Message::Status { until, sent: 0, lost: 0, gaps: 0 };
        collected.take(&Message::read(&frame_of(&[100, 200])).unwrap());
        collected.take(&status(50));
        assert_eq!(collected.until, 200);
        collected.take(&status(300));
        assert_eq!(collected.finish(vec!["GP2".into()]).ends_ns, 2_400);
    }

    #[test]
    fn what_is_lost_counts_where_it_is_of_a_bank_that_is_recorded() {
        let mut collected = Collected::new(&[2]);
        for (bank, edges) in [(0, Some(7)), (1, Some(100)), (0, None)] {
            collected.take(&Message::Lost(Lost { bank, from: 1_000, to: 126_000, edges }));
        }
        let notes = collected.notes().join("; ");
        assert!(notes.starts_with("lost 7 edges") && notes.contains("1 times, 1.000 ms"), "{notes}");
    }

    #[test]
    fn what_is_counted_and_not_said_one_by_one_is_told() {
        let status = |lost, gaps| Message::Status { until: 200_000, sent: 9, lost, gaps };
        let mut collected = Collected::new(&[2]);
        for bank in 0..2 {
            collected.take(&Message::Lost(Lost { bank, from: 1_000, to: 126_000, edges: None }));
            collected.take(&Message::Lost(Lost { bank, from: 126_000, to: 127_000, edges: Some(5) }));
        }
        collected.take(&status(10, 1));
        let before = collected.notes();
        assert!(before.len() == 2 && !before.join("; ").contains("beyond"), "{before:?}");
        // An earlier status takes nothing away.
        collected.take(&status(17, 4));
        collected.take(&status(11, 2));
        let notes = collected.notes().join("; ");
        assert!(notes.contains("counted 7 lost edges and 3 gaps beyond those"), "{notes}");
    }
}
