//! How records are taken out of a ring that the kernel writes (Documentation/bpf/ringbuf.rst).

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What a record begins with: its length, with two bits that say what became of it, and a word for the kernel.
const HEADER: usize = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// Hands on what was written since, record by record, up to one that is being written: where in the `size` octets of the
/// ring it is, and how long. `read` is how far this process has read, `written` how far the kernel has written.
pub fn take<'a>(
    read: &AtomicUsize,
    written: &AtomicUsize,
    size: usize,
    header: impl Fn(usize) -> &'a AtomicU32,
    mut record: impl FnMut(usize, usize),
) {
    let mut at = read.load(Ordering::Relaxed);
    // Acquire: the headers of what was written are seen after it.
    let head = written.load(Ordering::Acquire);
    while at != head {
        let begin = at & (size - 1);
        // Acquire: the record is seen after its header says that it is whole.
        let header = header(begin).load(Ordering::Acquire);
        if header & BUSY != 0 {
            return;
        }
        let length = ((header & !DISCARDED) as usize).min(size - HEADER);
        if header & DISCARDED == 0 {
            record(begin + HEADER, length);
        }
        at = at.wrapping_add((HEADER + length).next_multiple_of(8));
        // Release: the record has been read before the kernel may write there again.
        read.store(at, Ordering::Release);
    }
}
