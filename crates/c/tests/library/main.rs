//! libontick as programs in C and C++ get it: installed, compiled against, run.

mod compile;
mod exported;
mod header;
mod page;
mod programs;
mod staged;
mod station;
