//! Samples as an Arrow IPC file.

use ontick_arrow::{Block, Column, Field, Kind, Table};
use ontick_record::store::StoreError;

use super::{COLUMNS, Put, Source};
use crate::tap::Observed;

/// Rows of a batch: some 3 MB.
const BATCH: usize = 1 << 16;
/// The schema's metadata that names the form of the table.
const FORM: (&str, &str) = ("ontick", "ontick-samples/1");

/// The rows of the next batch, and those that are written.
#[derive(Debug)]
pub struct Batches {
    table: Table,
    columns: Vec<Column>,
    blocks: Vec<Block>,
    written: u64,
}

impl Default for Batches {
    fn default() -> Self {
        let [series, cpu, numbers @ ..] = COLUMNS;
        let words = numbers.map(|name| Field::new(name, Kind::U64));
        let first = [Field::new(series, Kind::Text), Field::new(cpu, Kind::U64).nullable()];
        let table = Table::new(first.into_iter().chain(words).collect(), [(FORM.0.into(), FORM.1.into())]);
        Self { columns: table.columns(), table, blocks: Vec::new(), written: 0 }
    }
}

impl Batches {
    pub fn begin(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        let begin = self.table.begin_file();
        self.written = begin.len() as u64;
        put(&begin)
    }

    pub fn add(&mut self, source: &Source, observed: Observed, put: Put<'_>) -> Result<(), StoreError> {
        let [series, cpu, numbers @ ..] = &mut self.columns[..] else { return Ok(()) };
        series.text(&source.series);
        match source.cpu {
            Some(number) => cpu.word(number.into()),
            None => cpu.null(),
        }
        let words = [observed.cycle, observed.due_ns, observed.latency_ns];
        numbers.iter_mut().zip(words).for_each(|(column, word)| column.word(word));
        if self.columns[0].len() < BATCH { Ok(()) } else { self.batch(put) }
    }

    pub fn end(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        self.batch(put)?;
        let mut out = Vec::new();
        self.table.end_file(&self.blocks, &mut out);
        put(&out)
    }

    fn batch(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        if self.columns[0].len() == 0 {
            return Ok(());
        }
        let mut out = Vec::new();
        self.blocks.push(self.table.batch(&self.columns, self.written, &mut out));
        self.written += out.len() as u64;
        self.columns.iter_mut().for_each(Column::clear);
        put(&out)
    }
}
