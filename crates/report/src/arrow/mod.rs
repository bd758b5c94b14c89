//! Many records as one Arrow table, a row for each series, for DuckDB, polars, pandas and others.
//!
//! A row has the figures of a series, how and on what it was measured, and its histogram as a list of buckets, so that one
//! file answers for percentiles of any group. Records are added one by one, and memory holds one batch.

mod columns;

use ontick_arrow::{Block, Column, Field, Table};
use ontick_record::{Run, Series};

use columns::COLUMNS;

/// A batch is written when its rows take so many bytes.
const BATCH: u64 = 4 << 20;

/// The schema's metadata that names the form of the table.
const FORM: (&str, &str) = ("ontick", "ontick-series/1");

/// A series of a file: a row.
struct Row<'a> {
    file: &'a str,
    run: &'a Run,
    series: &'a Series,
}

/// Writes an Arrow IPC file, batch by batch.
pub struct SeriesTable {
    table: Table,
    columns: Vec<Column>,
    blocks: Vec<Block>,
    written: u64,
}

impl Default for SeriesTable {
    fn default() -> Self {
        let fields = COLUMNS.iter().map(columns::Figure::field);
        let table = Table::new(fields.collect::<Vec<Field>>(), [(FORM.0.into(), FORM.1.into())]);
        Self { columns: table.columns(), table, blocks: Vec::new(), written: 0 }
    }
}

impl SeriesTable {
    /// What the file begins with.
    pub fn begin(&mut self) -> Vec<u8> {
        let begin = self.table.begin_file();
        self.written = begin.len() as u64;
        begin
    }

    /// Adds the series of a run that was read from a file; what is to be written now, often nothing.
    pub fn add(&mut self, file: &str, run: &Run) -> Vec<u8> {
        let mut out = Vec::new();
        for series in &run.series {
            let row = Row { file, run, series };
            COLUMNS.iter().zip(&mut self.columns).for_each(|(figure, column)| figure.add(&row, column));
            if self.columns.iter().map(Column::bytes).sum::<u64>() >= BATCH {
                self.batch(&mut out);
            }
        }
        out
    }

    /// What the file ends with.
    pub fn end(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.batch(&mut out);
        self.table.end_file(&self.blocks, &mut out);
        out
    }

    fn batch(&mut self, out: &mut Vec<u8>) {
        if self.columns[0].len() == 0 {
            return;
        }
        let begin = out.len();
        self.blocks.push(self.table.batch(&self.columns, self.written, out));
        self.written += (out.len() - begin) as u64;
        self.columns.iter_mut().for_each(Column::clear);
    }
}
