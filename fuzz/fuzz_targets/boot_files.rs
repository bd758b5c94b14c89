//! Files in which boot loaders keep the kernel's arguments.
#![no_main]

use ontick_fuzz::{argument, must_be_edited};
use ontick_machine::boot::BootFile;

libfuzzer_sys::fuzz_target!(|input: (u8, &str)| {
    let file = BootFile::ALL[usize::from(input.0) % BootFile::ALL.len()];
    must_be_edited(file, input.1, &[argument("isolcpus", "3"), argument("skew_tick", "1"), argument("threadirqs", "")]);
});
