//! Tables as Arrow IPC files and streams, which pandas, polars, pyarrow and DuckDB open.
//!
//! A [`Table`] knows its [`Field`]s and writes what a file or a stream is made of; rows are collected in a [`Column`] for each
//! field and written as a batch. Everything goes into byte vectors; no file is touched.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod bits;
mod column;
mod field;
mod table;

pub use column::Column;
pub use field::{Field, Kind};
pub use polars_arrow_format::ipc::Block;
pub use table::{END, MAGIC, Table};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
