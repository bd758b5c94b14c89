//! Who acts when this process ends, however it ends: another process, which waits for a pipe from this one to end, as the
//! kernel ends it for one that is killed.
//!
//! [`Guardian`] is a program of its own (a second copy of this one, say), which may do anything; one that [`watch`]es acts
//! also while this process is there and gets no turn. [`Fork`] is a fork of this process, which is there at once and needs
//! no program, but may make only system calls that are safe after a fork. [`Writes`] is one that writes values to files.
//! A program that has nothing to put back itself [ends with the thread](end_with_this_thread) that started it.

mod child;
mod fork;
mod program;
mod signs;
mod writes;

pub use child::end_with_this_thread;
pub use fork::{Fork, Messages};
pub use program::{Guardian, Word, wait};
pub use signs::{Silence, watch};
pub use writes::Writes;
