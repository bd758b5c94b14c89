//! Explores every interleaving of the threads that share memory without locks, and every value that the memory model lets
//! a load return. What is explored are the sources of the product themselves: they are included below as they are, and
//! find loom's atomics where they look for the standard library's.
#![allow(dead_code)]

extern crate self as ontick_record;
extern crate self as rtrb;
extern crate std_on_loom as std;

mod explore;
mod models;
mod ring;
mod sources;
mod wakes;

pub use ring::{Consumer, Producer, RingBuffer};
use sources::{buckets, rt::squares};

/// What a log of intervals holds.
pub mod instrument_check {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Interval {
        pub from_ns: u64,
        pub ns: u64,
        pub rising: bool,
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(explore::all(&wanted, &models::ALL));
}
