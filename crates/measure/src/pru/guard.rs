//! A process that puts a PRU back when this process ends, however it ends.
//!
//! It learns of every step before that is made, and undoes those that were: it has the firmware set its line to rest,
//! stops it, gives the PRU the name of its former firmware, starts that again if it ran, and takes away the file that was
//! put among the kernel's firmware. It does so when it is asked to as well, so there is one way back.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ontick_undo::guardian::{Fork, Messages};

use super::block::Block;

/// The kernel has a PRU stopped when the write returns; this is for slower ones.
const SETTLES_WITHIN_MS: u32 = 3_000;

/// A step that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The file of the firmware is put in its place.
    Place = 1,
    /// What the PRU ran is stopped.
    StopFormer = 2,
    /// The PRU is given another firmware's name.
    Name = 4,
    /// Our firmware is started.
    Start = 8,
}

/// What the guard needs to know beforehand: it must not allocate.
pub(super) struct RestorePaths {
    state: CString,
    firmware: CString,
    former: CString,
    placed: CString,
    /// How long the firmware may take to end, in ms.
    patience_ms: u64,
}

impl RestorePaths {
    /// Back to the firmware of the name `former`.
    pub fn back(state: &Path, firmware: &Path, former: &str, placed: &Path, patience_ms: u64) -> io::Result<Self> {
        let path = |path: &Path| CString::new(path.as_os_str().as_bytes());
        Ok(Self {
            state: path(state)?,
            firmware: path(firmware)?,
            former: CString::new(former)?,
            placed: path(placed)?,
            patience_ms,
        })
    }
}

/// Stands while a PRU is not as it was.
#[derive(Debug)]
pub(super) struct Guard(Fork);

impl Guard {
    /// Starts it. It has the block for itself too: a mapping is shared with a forked child.
    pub fn start(way: &RestorePaths, block: &mut Block) -> io::Result<Self> {
        let duty = |mut messages: Messages| {
            let (mut made, mut step) = (0, [0]);
            while messages.read(&mut step) {
                made |= step[0];
            }
            undo(way, block, made)
        };
        // SAFETY: the guard makes async-signal-safe system calls only, on values made before.
        unsafe { Fork::start(duty) }.map(Self)
    }

    /// Tells it of a step that is about to be made.
    pub fn send(&self, step: Step) -> io::Result<()> {
        self.0.send(&[step as u8])
    }

    /// Has it put everything back; what it could not.
    pub fn put_back(self) -> Vec<&'static str> {
        let failed = self.0.end().unwrap_or(u8::MAX);
        let sentences = [
            (Step::Start, "the PRU's firmware did not end: its line may not be at rest"),
            (Step::Name, "the PRU could not be given back the name of its firmware (/sys/class/remoteproc)"),
            (Step::StopFormer, "what the PRU ran before could not be started again (/sys/class/remoteproc)"),
            (Step::Place, "the firmware's file could not be taken away again (/lib/firmware/ontick-*)"),
        ];
        sentences.into_iter().filter(|(step, _)| failed & *step as u8 != 0).map(|(_, sentence)| sentence).collect()
    }
}

/// Undoes what was made, the last first; the steps whose undoing failed.
fn undo(way: &RestorePaths, block: &mut Block, made: u8) -> u8 {
    let was = |step: Step| made & step as u8 != 0;
    let mut failed = 0;
    let mut note = |done: bool, step: Step| failed |= if done { 0 } else { step as u8 };
    if was(Step::Start) {
        note(block.end(way.patience_ms), Step::Start);
        // One that never came to run, or crashed, cannot be stopped: what follows tells.
        put(&way.state, c"stop");
        settle(&way.state);
    }
    if was(Step::Name) {
        note(put(&way.firmware, &way.former), Step::Name);
    }
    if was(Step::StopFormer) {
        note(put(&way.state, c"start"), Step::StopFormer);
    }
    if was(Step::Place) {
        // SAFETY: a path that ends with a zero byte.
        note(unsafe { libc::unlink(way.placed.as_ptr()) } == 0, Step::Place);
    }
    failed
}

/// Waits until a PRU that was asked to stop has, a few seconds at most.
fn settle(state: &CStr) {
    for _ in 0..SETTLES_WITHIN_MS {
        let mut shown = [0u8; 16];
        // SAFETY: a path that ends with a zero byte, and bytes that are valid for writes.
        let read = unsafe {
            let fd = libc::open(state.as_ptr(), libc::O_RDONLY);
            let read = libc::read(fd, shown.as_mut_ptr().cast(), shown.len());
            libc::close(fd);
            read
        };
        let on_the_way = read == 0 || shown.starts_with(b"running") || shown.starts_with(b"stop");
        // A file that cannot be read gets no more of it.
        if read < 0 || !on_the_way && shown.contains(&b'\n') {
            return;
        }
        ontick_rt::clock::sleep_for(1_000_000);
    }
}

/// Writes a value into a file of the kernel.
fn put(file: &CStr, value: &CStr) -> bool {
    let bytes = value.to_bytes();
    // SAFETY: a path that ends with a zero byte, and bytes that are valid for reads.
    unsafe {
        let fd = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_TRUNC);
        let written = fd >= 0 && libc::write(fd, bytes.as_ptr().cast(), bytes.len()) == bytes.len() as isize;
        libc::close(fd);
        written
    }
}
