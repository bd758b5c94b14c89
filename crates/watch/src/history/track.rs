//! Blocks gathered into stretches of equal length, one row for each stretch and series.

use std::collections::BTreeMap;

use ontick_record::Histogram;

use super::row::Row;
use crate::block::Block;
use crate::series::SeriesId;

/// The stretches that are going on.
#[derive(Debug)]
pub struct Track {
    span_s: u32,
    open: BTreeMap<SeriesId, Open>,
}

/// A stretch of one series.
#[derive(Debug, Default)]
struct Open {
    from: u32,
    /// What rows of blocks brought, of which the histograms are gone.
    rows: Option<Row>,
    latency: Histogram,
    missed: u64,
    steal_ns: u64,
}

impl Track {
    /// Of stretches that are so long, in seconds, and begin at multiples of that.
    pub fn new(span_s: u32) -> Self {
        Self { span_s, open: BTreeMap::new() }
    }

    /// Takes a block in; the row of the stretch that it ended.
    pub fn add(&mut self, block: &Block) -> Option<Row> {
        let (ended, open) = self.stretch(block.series, block.at);
        open.latency.merge(&block.latency);
        open.missed += block.missed;
        open.steal_ns += block.steal_ns;
        ended
    }

    /// Takes in what is left of a block after a restart.
    pub fn add_row(&mut self, row: Row) -> Option<Row> {
        let (ended, open) = self.stretch(row.series, row.at);
        open.rows = Some(open.rows.map_or(row, |rows| rows.joined(row)));
        ended
    }

    /// The stretch at a time; one that was going on ends with another's beginning, also if the clock was set back.
    fn stretch(&mut self, series: SeriesId, at: u32) -> (Option<Row>, &mut Open) {
        let from = at - at % self.span_s;
        let open = self.open.entry(series).or_insert_with(|| Open { from, ..Open::default() });
        let ended = (open.from != from).then(|| std::mem::replace(open, Open { from, ..Open::default() }).row(series));
        (ended, open)
    }

    /// What the stretches that are going on have brought.
    pub fn so_far(&self) -> impl Iterator<Item = Row> + '_ {
        self.open.iter().map(|(series, open)| open.row(*series))
    }
}

impl Open {
    fn row(&self, series: SeriesId) -> Row {
        let counted = Row::of(self.from, series, &self.latency, self.missed, self.steal_ns);
        let joined = self.rows.map_or(counted, |rows| counted.joined(rows));
        Row { at: self.from, ..joined }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: SeriesId = SeriesId::Cpu(0);

    fn block(at: u32, series: SeriesId, latencies: &[u64]) -> Block {
        let mut latency = Histogram::default();
        latencies.iter().for_each(|ns| latency.add(*ns, 1, 1));
        Block { at, series, latency, missed: 1, steal_ns: 2_000_000 }
    }

    #[test]
    fn a_stretch_ends_with_the_first_block_of_another() {
        let mut track = Track::new(300);
        assert_eq!(track.add(&block(310, CPU, &[1, 2, 9])), None);
        assert_eq!(track.add(&block(599, CPU, &[3])), None);
        let other = SeriesId::RoundTrip(0);
        assert_eq!(track.add(&block(600, other, &[5])), None, "another's");
        let ended = track.add(&block(601, CPU, &[7])).unwrap();
        let expected =
            Row { at: 300, series: CPU, samples: 4, missed: 2, p50_ns: 2, p99_ns: 9, max_ns: 9, steal_ms: 4 };
        assert_eq!(ended, expected);
        // The clock is set back.
        assert_eq!(track.add(&block(20, CPU, &[7])).unwrap().at, 600);
        assert_eq!(track.so_far().map(|row| (row.series, row.at)).collect::<Vec<_>>(), [(CPU, 0), (other, 600)]);
    }

    #[test]
    fn a_stretch_goes_on_after_a_restart() {
        let mut track = Track::new(300);
        let before =
            Row { at: 320, series: CPU, samples: 200, missed: 3, p50_ns: 8, p99_ns: 90, max_ns: 95, steal_ms: 5 };
        assert_eq!(track.add_row(before), None);
        track.add(&block(400, CPU, &[1, 2, 99]));
        let row = track.so_far().next().unwrap();
        assert_eq!(
            row,
            Row { at: 300, series: CPU, samples: 203, missed: 4, p50_ns: 8, p99_ns: 99, max_ns: 99, steal_ms: 7 }
        );
    }
}
