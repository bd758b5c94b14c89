//! libontick: what a program in C or C++ needs to act on time. A thin door to `ontick-rt`, `ontick-gpio` and
//! `ontick-network`; the header
//! `include/ontick.h` is made of these sources, and `docs/c.md` shows how it is used.
//!
//! What holds for every function here:
//!
//! - A panic never crosses the boundary: it becomes `ONTICK_ERROR_INTERNAL` (`status.rs`).
//! - A pointer is either NULL, which is refused, or what the header asks for; that it points to what it should is the
//!   caller's word, which nothing here can check.
//! - Handles are made by `open`, looked at by `borrow`, and ended by `close` (`handle.rs`), which sees that a forked child
//!   leaves those of its parent alone (`fork.rs`).
#![allow(non_camel_case_types)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod fork;
mod handle;
mod input;
mod station;

// The header has them in this order.
mod version;

mod status;

mod thread;

mod cycle;

mod recorder;

mod histogram;

mod watchdog;

mod line;

mod simulated;

mod talker;

mod listener;
