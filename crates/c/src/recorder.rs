//! Latencies as the timed thread records them.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ontick_rt::recorder::{self, Reader, Writer};

use crate::cycle::ontick_tick;
use crate::fork;
use crate::handle::{Handle, close, look_at, open};
use crate::status::{Failure, ONTICK_ERROR_ARGUMENT, ONTICK_NONE, ONTICK_OK, guard};

/// Counts of latencies: one thread records, others may read at any time.
pub struct ontick_recorder {
    generation: u32,
    /// Only the recording thread uses it.
    writer: UnsafeCell<Writer>,
    reader: Mutex<Reader>,
    pub(crate) threshold_ns: u64,
}

impl Handle for ontick_recorder {
    fn generation(&self) -> u32 {
        self.generation
    }
}

impl ontick_recorder {
    pub(crate) fn reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A latency above the recorder's threshold.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_outlier {
    /// When it was seen, in ns.
    pub at_ns: u64,
    /// How late the thread was, in ns.
    pub latency_ns: u64,
}

/// Makes a recorder. Latencies above `outlier_threshold_ns` are also kept one by one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_recorder_new(outlier_threshold_ns: u64, recorder: *mut *mut ontick_recorder) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        open(recorder, || {
            let (writer, reader) = recorder::channel(outlier_threshold_ns);
            Ok(ontick_recorder {
                generation: fork::generation(),
                writer: UnsafeCell::new(writer),
                reader: Mutex::new(reader),
                threshold_ns: outlier_threshold_ns,
            })
        })
    }
}

/// Records a tick: its latency, and the periods missed before it. It allocates nothing, takes no lock
/// and makes no system call. Only one thread may record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_recorder_record(recorder: *mut ontick_recorder, tick: *const ontick_tick) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (recorder, tick) = unsafe { (look_at(recorder)?, tick.as_ref()) };
        let Some(tick) = tick else {
            return Err(Failure::fixed(
                ONTICK_ERROR_ARGUMENT,
                c"the tick is NULL: pass what ontick_cycle_next() filled",
            ));
        };
        // SAFETY: only one thread records, and readers do not touch the writer.
        let writer = unsafe { &mut *recorder.writer.get() };
        writer.record(tick.now_ns, tick.latency_ns);
        writer.missed(tick.missed);
        if tick.now_ns < tick.deadline_ns {
            writer.early();
        }
        Ok(ONTICK_OK)
    })
}

/// Takes the next latency that was above the threshold; ONTICK_NONE where there is none. Any thread
/// may ask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_recorder_next_outlier(
    recorder: *const ontick_recorder,
    outlier: *mut ontick_outlier,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (recorder, place) = unsafe { (look_at(recorder)?, outlier.as_mut()) };
        let place = place.ok_or_else(|| Failure::argument("the outlier is NULL"))?;
        let Some(outlier) = recorder.reader().next_outlier() else { return Ok(ONTICK_NONE) };
        *place = ontick_outlier { at_ns: outlier.at_ns, latency_ns: outlier.latency_ns };
        Ok(ONTICK_OK)
    })
}

/// Ends the recorder and sets *recorder to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_recorder_free(recorder: *mut *mut ontick_recorder) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(recorder, drop) }
}
