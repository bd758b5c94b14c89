//! bpf(2): programs that run in the kernel. They belong to descriptors: with these they end.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod btf;
pub mod instruction;
pub mod map;
mod pages;
mod program;
mod records;
pub mod ring;
mod sys;
pub mod tracepoint;

pub use instruction::{Instruction, instruction};
pub use program::Program;
pub use sys::{bpf, bpf_fd};
