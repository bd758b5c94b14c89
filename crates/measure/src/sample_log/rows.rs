//! Samples as rows: comma-separated values, or Arrow in batches.

#[cfg(feature = "arrow")]
mod arrow;

use std::fmt::Write;

use ontick_record::store::StoreError;

use super::file::Form;
use crate::tap::Observed;

/// The names of the columns.
const COLUMNS: [&str; 5] = ["series", "cpu", "cycle", "due_ns", "latency_ns"];
/// Octets that are written at a time.
const PIECE: usize = 64 << 10;

/// Takes what is to be written.
pub type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), StoreError>;

/// Whose samples they are.
#[derive(Debug)]
pub struct Source {
    #[cfg(feature = "arrow")]
    series: String,
    cpu: Option<u32>,
    /// What its lines begin with.
    begin: String,
}

impl Source {
    /// A series, and the CPU that its thread is pinned to.
    pub fn new(series: &str, cpu: Option<u32>) -> Self {
        let number = cpu.map(|cpu| cpu.to_string()).unwrap_or_default();
        Self {
            #[cfg(feature = "arrow")]
            series: series.into(),
            cpu,
            begin: format!("{},{number}", quoted(series)),
        }
    }

    /// The CPU that its thread is pinned to.
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }
}

/// What is not written yet.
#[derive(Debug)]
pub struct Rows {
    table: Table,
    count: u64,
}

#[derive(Debug)]
enum Table {
    Csv(String),
    #[cfg(feature = "arrow")]
    Arrow(Box<arrow::Batches>),
}

impl Rows {
    /// None yet.
    pub fn new(form: Form) -> Self {
        let table = match form {
            Form::Csv => Table::Csv(String::new()),
            #[cfg(feature = "arrow")]
            Form::Arrow => Table::Arrow(Box::default()),
        };
        Self { table, count: 0 }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Writes what comes before all rows.
    pub fn begin(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        match &mut self.table {
            Table::Csv(_) => put(format!("{}\n", COLUMNS.join(",")).as_bytes()),
            #[cfg(feature = "arrow")]
            Table::Arrow(batches) => batches.begin(put),
        }
    }

    /// Adds one.
    pub fn add(&mut self, source: &Source, observed: Observed, put: Put<'_>) -> Result<(), StoreError> {
        self.count += 1;
        match &mut self.table {
            Table::Csv(text) => {
                let Observed { cycle, due_ns, latency_ns } = observed;
                let _ = writeln!(text, "{},{cycle},{due_ns},{latency_ns}", source.begin);
                if text.len() >= PIECE { put_all(text, put) } else { Ok(()) }
            }
            #[cfg(feature = "arrow")]
            Table::Arrow(batches) => batches.add(source, observed, put),
        }
    }

    /// Writes what can be written by now.
    pub fn flush(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        match &mut self.table {
            Table::Csv(text) => put_all(text, put),
            // A batch is worth its frame when it is full.
            #[cfg(feature = "arrow")]
            Table::Arrow(_) => Ok(()),
        }
    }

    /// Writes the rest: no more come.
    pub fn end(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        match &mut self.table {
            Table::Csv(text) => put_all(text, put),
            #[cfg(feature = "arrow")]
            Table::Arrow(batches) => batches.end(put),
        }
    }
}

fn put_all(text: &mut String, put: Put<'_>) -> Result<(), StoreError> {
    if !text.is_empty() {
        put(text.as_bytes())?;
        text.clear();
    }
    Ok(())
}

/// As a field: the name of a series may have commas.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}
