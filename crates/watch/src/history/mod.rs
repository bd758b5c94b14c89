//! What was measured when: each block for a day, 5 minutes for more than a year, hours for good.

pub mod row;
pub mod rows;
mod track;

use std::path::Path;

use crate::block::Block;
use crate::series::SeriesId;
use row::Row;
use rows::{Rows, RowsError};
use track::Track;

/// How long blocks are kept one by one, in seconds.
pub const BLOCKS_KEPT_S: u32 = 26 * 3_600;
/// How long rows of 5 minutes are kept, in seconds.
pub const FIVE_MINUTES_KEPT_S: u32 = 400 * 86_400;
/// Rows that are past their time stay until there are so many of them: a file is not written anew for a few.
const THINNED_AT: u64 = 20_000;

/// Files of rows, and the stretches that are going on.
pub struct History {
    blocks: Rows,
    five_minutes: Kept,
    hours: Kept,
    /// Rows of blocks when the file was last thinned.
    thinned: u64,
}

struct Kept {
    rows: Rows,
    track: Track,
}

/// How fine a stretch of the past is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fineness {
    /// Each block.
    Blocks,
    /// Rows of 5 minutes.
    FiveMinutes,
    /// Rows of an hour.
    Hours,
}

impl Fineness {
    /// The finest of which a stretch has not too many rows, and that is still kept.
    pub fn of(from: u32, to: u32, now: u32) -> Self {
        match (to.saturating_sub(from), now.saturating_sub(from)) {
            (length, age) if length <= 2 * 3_600 && age < BLOCKS_KEPT_S => Self::Blocks,
            (length, age) if length <= 40 * 86_400 && age < FIVE_MINUTES_KEPT_S => Self::FiveMinutes,
            _ => Self::Hours,
        }
    }
}

impl History {
    /// Opens the files in a folder, or begins them, and takes up the stretches that were going on. How many rows were
    /// damaged comes with it.
    pub fn open(folder: &Path) -> Result<(Self, u64), RowsError> {
        let kept = |name: &str, span_s| Ok(Kept { rows: Rows::open(&folder.join(name))?, track: Track::new(span_s) });
        let mut history = Self {
            blocks: Rows::open(&folder.join("blocks.rows"))?,
            five_minutes: kept("five-minutes.rows", 300)?,
            hours: kept("hours.rows", 3_600)?,
            thinned: 0,
        };
        let (of_five_minutes, of_blocks) = history.five_minutes.take_up(&history.blocks, 300)?;
        let (of_hours, _) = history.hours.take_up(&history.blocks, 3_600)?;
        Ok((history, of_five_minutes + of_hours + of_blocks))
    }

    /// The first number that no round trips in any row have.
    pub fn free_number(&self) -> Result<u16, RowsError> {
        let mut free = 0;
        for rows in [&self.blocks, &self.five_minutes.rows, &self.hours.rows] {
            rows.each(0, u32::MAX, |row| {
                if let SeriesId::RoundTrip(number) = row.series {
                    free = free.max(number.saturating_add(1));
                }
            })?;
        }
        Ok(free)
    }

    /// Takes a block in.
    pub fn add(&mut self, block: &Block) -> Result<(), RowsError> {
        let row = Row::of(block.at, block.series, &block.latency, block.missed, block.steal_ns);
        self.blocks.append(&[row])?;
        if let Some(ended) = self.five_minutes.track.add(block) {
            self.five_minutes.rows.append(&[ended])?;
            self.five_minutes.rows.sync()?;
            self.blocks.sync()?;
        }
        if let Some(ended) = self.hours.track.add(block) {
            self.hours.rows.append(&[ended])?;
            self.hours.rows.sync()?;
            self.thin(block.at)?;
        }
        Ok(())
    }

    /// Takes out what is past its time, if it is much.
    fn thin(&mut self, now: u32) -> Result<(), RowsError> {
        if self.blocks.count() >= self.thinned + THINNED_AT {
            // A row of the future is of a clock that was wrong.
            self.blocks.retain(|row| now.saturating_sub(row.at) < BLOCKS_KEPT_S)?;
            self.five_minutes.rows.retain(|row| now.saturating_sub(row.at) < FIVE_MINUTES_KEPT_S)?;
            self.thinned = self.blocks.count();
        }
        Ok(())
    }

    /// The rows of a stretch, those that are not complete last.
    pub fn read(&self, from: u32, to: u32, fineness: Fineness) -> Result<Vec<Row>, RowsError> {
        let mut found = Vec::new();
        let kept = match fineness {
            Fineness::Blocks => {
                self.blocks.each(from, to, |row| found.push(row))?;
                return Ok(found);
            }
            Fineness::FiveMinutes => &self.five_minutes,
            Fineness::Hours => &self.hours,
        };
        kept.rows.each(from, to, |row| found.push(row))?;
        found.extend(kept.track.so_far().filter(|row| (from..to).contains(&row.at)));
        Ok(found)
    }
}

impl Kept {
    /// Goes over the blocks that came after the last row that was written. How many of its own rows were damaged, and how
    /// many of the blocks.
    fn take_up(&mut self, blocks: &Rows, span_s: u32) -> Result<(u64, u64), RowsError> {
        let mut last = std::collections::BTreeMap::new();
        let damaged = self.rows.each(0, u32::MAX, |row| _ = last.insert(row.series, row.at))?;
        let mut ended = Vec::new();
        let track = &mut self.track;
        let damaged_blocks = blocks.each(0, u32::MAX, |row| {
            let written = last.get(&row.series).is_some_and(|last| row.at < last + span_s);
            if !written {
                ended.extend(track.add_row(row));
            }
        })?;
        self.rows.append(&ended)?;
        Ok((damaged, damaged_blocks))
    }
}

/// At most so many rows for each series: neighbours are joined.
pub fn thinned_to(mut rows: Vec<Row>, from: u32, to: u32, points: u32) -> Vec<Row> {
    let span = (to.saturating_sub(from) / points.max(1)).max(1);
    rows.sort_by_key(|row| (row.series, row.at));
    let mut found: Vec<Row> = Vec::new();
    for row in rows {
        let place = |row: &Row| (row.series, row.at.saturating_sub(from) / span);
        match found.last_mut() {
            Some(last) if place(last) == place(&row) => *last = last.joined(row),
            _ => found.push(row),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Histogram;

    fn block(at: u32, ns: u64) -> Block {
        let mut latency = Histogram::default();
        latency.add(ns, 1, 200);
        Block { at, series: SeriesId::Cpu(0), latency, missed: 0, steal_ns: 0 }
    }

    #[test]
    fn a_day_of_blocks_becomes_five_minutes_and_hours_whenever_it_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let quiet = tempfile::tempdir().unwrap();
        let (mut whole, _) = History::open(quiet.path()).unwrap();
        for at in (0..86_400).step_by(230) {
            // As after a kill: nothing is closed, all is opened again.
            let (mut history, damaged) = History::open(folder.path()).unwrap();
            assert_eq!(damaged, 0);
            history.add(&block(at, u64::from(at))).unwrap();
            whole.add(&block(at, u64::from(at))).unwrap();
        }
        let (history, _) = History::open(folder.path()).unwrap();
        for fineness in [Fineness::Blocks, Fineness::FiveMinutes, Fineness::Hours] {
            let figures = |history: &History| {
                let rows = history.read(0, u32::MAX, fineness).unwrap();
                rows.iter().map(|row| (row.at, row.samples, row.max_ns)).collect::<Vec<_>>()
            };
            assert_eq!(figures(&history), figures(&whole), "{fineness:?}");
        }
    }

    #[test]
    fn a_number_of_round_trips_that_any_row_has_is_not_free() {
        let folder = tempfile::tempdir().unwrap();
        let (mut history, _) = History::open(folder.path()).unwrap();
        history.add(&block(10, 5)).unwrap();
        assert_eq!(history.free_number().unwrap(), 0);
        history.add(&Block { series: SeriesId::RoundTrip(4), ..block(20, 5) }).unwrap();
        assert_eq!(history.free_number().unwrap(), 5);
        let row = Row { at: 7, series: SeriesId::RoundTrip(9), ..Row::default() };
        history.hours.rows.append(&[row]).unwrap();
        assert_eq!(history.free_number().unwrap(), 10);
    }

    #[test]
    fn the_finest_that_is_kept_is_shown() {
        let now = 2_000_000_000;
        let of = |length, age| Fineness::of(now - age, now - age + length, now);
        assert_eq!(of(3_600, 3_600), Fineness::Blocks);
        assert_eq!(of(3_600, 40 * 3_600), Fineness::FiveMinutes);
        assert_eq!(of(30 * 86_400, 30 * 86_400), Fineness::FiveMinutes);
        assert_eq!(of(365 * 86_400, 365 * 86_400), Fineness::Hours);
        assert_eq!(of(3_600, 500 * 86_400), Fineness::Hours);
    }

    #[test]
    fn what_is_past_its_time_goes_and_the_coarser_rows_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (mut history, _) = History::open(folder.path()).unwrap();
        // 25 s apart for ten days.
        for at in (0..864_000).step_by(25) {
            history.add(&block(at, 5)).unwrap();
        }
        let blocks = history.read(0, u32::MAX, Fineness::Blocks).unwrap();
        assert!((blocks.len() as u64) < 2 * THINNED_AT && blocks[0].at > 0, "{}", blocks.len());
        assert_eq!(history.read(0, u32::MAX, Fineness::FiveMinutes).unwrap().len(), 2_880);
        assert_eq!(history.read(0, u32::MAX, Fineness::Hours).unwrap().len(), 240);
    }

    #[test]
    fn of_many_rows_the_worst_of_neighbours_is_left() {
        let rows: Vec<Row> =
            (0..1_000).map(|at| Row { at, samples: 1, max_ns: (at % 7).into(), ..Row::default() }).collect();
        let thin = thinned_to(rows, 0, 1_000, 100);
        assert_eq!(thin.len(), 100);
        assert!(thin.iter().all(|row| row.samples == 10 && row.max_ns == 6));
        assert_eq!(thinned_to(Vec::new(), 0, 0, 0), []);
    }
}
