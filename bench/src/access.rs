//! What a register access through the library costs beside a bare one.
//!
//! Both go to the same word of a file in memory that stands for a Raspberry Pi's registers, in turns: what a chip takes
//! to answer is the same for both and left out, what the library adds is not.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;
use std::ptr::NonNull;

use ontick_gpio::{Line, Request};
use ontick_record::compare::paired;
use ontick_rt::thread::Setup;
use rustix::mm::{MapFlags, ProtFlags};

use crate::costs::{BATCHES, Cost, batch_ns};

/// GPSET0, GPCLR0 and GPLEV0, as words of a BCM2837, and the bit of GPIO17 there.
const SET: usize = 7;
const CLEAR: usize = 10;
const LEVEL: usize = 13;
const LINE: u32 = 17;
const BYTES: usize = 0x1000;

/// One kind of access, both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// A volatile store or load in a loop.
    pub raw: Cost,
    /// The same through the library.
    pub line: Cost,
    /// How much more, in ns: the median of what each turn differed.
    pub more_ns: f64,
}

/// A write and a read.
pub fn measure(cpu: u32) -> Result<[Access; 2], String> {
    let measured = std::thread::scope(|scope| scope.spawn(|| on_this_thread(cpu)).join());
    measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn on_this_thread(cpu: u32) -> Result<[Access; 2], String> {
    let _pinned = Setup::new().cpu(cpu).strict().map_err(|refusal| refusal.to_string())?;
    let failed = |error: std::io::Error| format!("registers in memory: {error}");
    let root = tempfile::tempdir_in("/dev/shm").map_err(failed)?;
    let words = make(root.path()).map_err(failed)?;
    let open = |request| Line::open_register_under(root.path(), LINE, &request).map_err(|error| error.to_string());
    let (out, input) = (open(Request::output(false))?, open(Request::input())?);
    Ok([write(&words, out), read(&words, input)])
}

/// A Raspberry Pi 3 as far as register access looks, and its registers.
fn make(root: &Path) -> std::io::Result<Words> {
    fs::create_dir_all(root.join("proc/device-tree"))?;
    fs::write(root.join("proc/device-tree/compatible"), "brcm,bcm2837\0")?;
    fs::create_dir(root.join("dev"))?;
    let path = root.join("dev/gpiomem");
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    file.set_len(BYTES as u64)?;
    Words::map(&file)
}

fn write(words: &Words, mut line: Line) -> Access {
    let (set, clear) = (words.at(SET), words.at(CLEAR));
    let (mut level, mut other_level) = (false, false);
    compare(
        "write",
        || {
            level = !level;
            let word = if black_box(level) { set } else { clear };
            // SAFETY: a word of the mapping that `words` holds.
            unsafe { word.write_volatile(1 << LINE) }
        },
        || {
            other_level = !other_level;
            let _ = line.write(black_box(other_level));
        },
    )
}

fn read(words: &Words, mut line: Line) -> Access {
    let level = words.at(LEVEL);
    compare(
        "read",
        || {
            // SAFETY: a word of the mapping that `words` holds.
            black_box(unsafe { level.read_volatile() } & 1 << LINE != 0);
        },
        || {
            let _ = black_box(line.read());
        },
    )
}

/// In turns, so that whatever slows the machine slows both.
fn compare(what: &str, mut raw: impl FnMut(), mut line: impl FnMut()) -> Access {
    let turns: Vec<(f64, f64)> = (0..BATCHES).map(|_| (batch_ns(&mut raw), batch_ns(&mut line))).skip(1).collect();
    let of = |what: String, each: fn(&(f64, f64)) -> f64| Cost::of(what, turns.iter().map(each));
    Access {
        raw: of(format!("register {what}, bare volatile access"), |turn| turn.0),
        line: of(format!("register {what}, Line::{what}"), |turn| turn.1),
        more_ns: paired(turns.iter().map(|(raw, line)| line - raw)).expect("there are turns").median,
    }
}

/// The words of a mapped file.
struct Words(NonNull<u32>);

impl Words {
    fn map(file: &File) -> std::io::Result<Self> {
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { rustix::mm::mmap(std::ptr::null_mut(), BYTES, read_write, shared, file, 0)? };
        Ok(Self(NonNull::new(memory.cast()).ok_or(std::io::ErrorKind::OutOfMemory)?))
    }

    fn at(&self, index: usize) -> NonNull<u32> {
        assert!(index < BYTES / 4);
        // SAFETY: within the mapping, as was just made sure of.
        unsafe { self.0.add(index) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; those who got a word of it were done when the words' owner let go.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_measured_and_the_bare_one_is_not_optimised_away() {
        for access in measure(ontick_rt::cpus::preferred()).unwrap() {
            assert!(access.raw.least_ns > 0.0 && access.line.least_ns > 0.0, "{access:?}");
            assert!(access.more_ns.is_finite(), "{access:?}");
        }
    }
}
