//! Writes a line for each frame that comes, as it comes: on a thread of its own, so that no disk keeps the listener from the
//! next frame.

mod lines;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ontick_record::output_file::write_whole_by;
use ontick_record::store::StoreError;
use rtrb::{Consumer, Producer, RingBuffer};

use self::lines::{Item, Lines, Row};
use super::listener::Message;
use super::planned::Incoming;

/// Frames that may wait for the disk: more than a second of 200 000 frames a second, in 20 MB.
const ROOM: usize = 1 << 18;
/// So often the thread looks for some.
const LOOK: Duration = Duration::from_millis(10);

/// What has no line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WithoutLine {
    /// Frames that came while as many waited as there is room for.
    pub came: u64,
    /// Lost frames of which the file does not tell: there were too many, or frames around them have no line.
    pub lost: u64,
}

/// A file that frames are written to. Dropped before its end, there is none.
#[derive(Debug)]
pub struct FrameLog {
    items: Producer<Item>,
    came: u64,
    /// Frames were left out since the last that has a line.
    is_broken: bool,
    is_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<u64, StoreError>>>,
}

impl FrameLog {
    /// Begins a file for these streams of a listener.
    pub fn begin(path: &Path, streams: &[Incoming]) -> io::Result<Self> {
        let (items, waiting) = RingBuffer::new(ROOM);
        let is_wanted = Arc::new(AtomicBool::new(false));
        let (path, lines, wanted) = (path.to_path_buf(), Lines::new(streams), is_wanted.clone());
        let run = move || write(path, lines, waiting, &wanted);
        let thread = thread::Builder::new().name("ontick-frames".into()).spawn(run)?;
        Ok(Self { items, came: 0, is_broken: false, is_wanted, thread: Some(thread) })
    }

    /// A frame came. Where the disk is too slow it has no line, and is counted.
    #[inline]
    pub fn add(&mut self, frame: &Message<'_>) {
        if self.is_broken && self.items.slots() > 1 {
            self.is_broken = self.items.push(Item::LeftOut).is_err();
        }
        if self.is_broken || self.items.push(Item::Frame(Row::of(frame))).is_err() {
            self.is_broken = true;
            self.came += 1;
        }
    }

    /// Waits until all is written; so many frames were lost in all.
    pub fn end(mut self, lost: u64) -> Result<WithoutLine, StoreError> {
        while self.is_broken && !self.items.is_abandoned() {
            match self.items.push(Item::LeftOut) {
                Ok(()) => self.is_broken = false,
                Err(_) => thread::sleep(LOOK),
            }
        }
        self.is_wanted.store(true, Relaxed);
        let came = self.came;
        Ok(WithoutLine { came, lost: lost.saturating_sub(self.join()?) })
    }

    fn join(&mut self) -> Result<u64, StoreError> {
        // The thread ends once nobody can put anything in any more.
        drop(std::mem::replace(&mut self.items, RingBuffer::new(1).0));
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(panicked)) => std::panic::resume_unwind(panicked),
            None => Ok(0),
        }
    }
}

impl Drop for FrameLog {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Whoever did not wait for its end wants none of it.
            let _ = self.join();
        }
    }
}

/// Lost frames that have a line.
fn write(
    path: PathBuf,
    mut lines: Lines,
    mut items: Consumer<Item>,
    is_wanted: &AtomicBool,
) -> Result<u64, StoreError> {
    write_whole_by(&path, |put| {
        lines.begin();
        loop {
            // Looked at first: what was put in before is there.
            let is_over = items.is_abandoned();
            while let Ok(item) = items.pop() {
                lines.add(item, put)?;
            }
            lines.flush(put)?;
            if is_over {
                break;
            }
            thread::sleep(LOOK);
        }
        match is_wanted.load(Relaxed) {
            true => lines.end(put),
            false => Err(StoreError::Io { path: path.clone(), error: io::Error::other("it is not wanted") }),
        }
    })?;
    Ok(lines.listed())
}

#[cfg(test)]
mod tests;
