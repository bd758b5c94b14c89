//! Memory that never faults: locked, and touched beforehand.

use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall, munlockall};

use super::Refusal;
use crate::sys;

/// How much of the stack is touched at most, in bytes; threads have 2 MiB by default.
const STACK: usize = 512 * 1024;
/// How much of a small stack is left alone, in bytes: for what runs meanwhile, such as a signal's handler.
const SPARE: usize = 64 * 1024;
/// How much of the stack one call touches, in bytes.
const FRAME: usize = 16 * 1024;
/// How much of the heap is touched and kept, in bytes.
const HEAP: usize = 4 << 20;

/// What a program must still be able to allocate once its memory is locked, in bytes: the heap above, and the stacks of a few
/// threads. All of it is locked, too, and where the limit leaves no room for that, allocations fail and programs end.
const ROOM: usize = 16 << 20;

/// Who holds the lock, which is the whole process's.
static HOLDERS: Mutex<Holders> = Mutex::new(Holders { count: 0, others: false });

struct Holders {
    count: usize,
    /// Memory was locked before the first: the program did that itself, and how much would stay locked is not known.
    others: bool,
}

pub(super) fn lock() -> Result<(), Refusal> {
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let kib = |name: &str| status_kib(name).unwrap_or(0);
    let others = if holders.count == 0 { kib("VmLck:") > 0 } else { holders.others };
    // What is locked already stays so, whoever asks once more.
    if holders.count == 0 {
        let unlocked = kib("VmSize:").saturating_sub(kib("VmLck:")) * 1024;
        if let Err(Errno::AGAIN | Errno::PERM) = sys::may_lock(unlocked + ROOM) {
            return Err(refusal("RLIMIT_MEMLOCK is too small for what there is, and what is allocated later".into()));
        }
    }
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
        .map_err(|error| refusal(format!("{error}: RLIMIT_MEMLOCK is too small")))?;
    *holders = Holders { count: holders.count + 1, others };
    Ok(())
}

fn refusal(why: String) -> Refusal {
    let remedy = "run as root, or add \"@realtime - memlock unlimited\" to /etc/security/limits.conf";
    Refusal::new("memory lock", why, remedy)
}

/// Gives the lock back. After the last holder memory is unlocked, unless the program had locked some before.
pub(super) fn unlock() {
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    holders.count -= 1;
    if holders.count == 0 && !holders.others {
        // Fails only where nothing was locked.
        let _ = munlockall();
    }
}

/// A size of proc_pid_status(5).
fn status_kib(name: &str) -> Option<usize> {
    let status = crate::kernel_text::read("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

pub(super) fn prefault_heap() {
    sys::keep_heap();
    let mut block = Vec::<u8>::with_capacity(HEAP);
    block.resize(HEAP, 1);
    std::hint::black_box(&block);
}

/// Touches the calling thread's stack, as far as it has one, so that later calls do not fault it in.
pub fn prefault_stack() {
    let bytes = STACK.min(sys::stack_left().saturating_sub(SPARE));
    if bytes >= FRAME {
        touch_stack(bytes);
    }
}

#[inline(never)]
fn touch_stack(bytes: usize) {
    let mut touched = [0u8; FRAME];
    touched.iter_mut().step_by(1024).for_each(|byte| *byte = 1);
    std::hint::black_box(&touched);
    if bytes >= 2 * FRAME {
        touch_stack(bytes - FRAME);
    }
    // Used once more, so that the deeper call cannot take this one's place.
    std::hint::black_box(&touched);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Usage;

    #[inline(never)]
    fn deep() {
        let used = [1u8; STACK / 2];
        std::hint::black_box(&used);
    }

    #[test]
    fn a_touched_stack_does_not_fault_again() {
        std::thread::spawn(|| {
            prefault_stack();
            let before = Usage::now();
            deep();
            assert_eq!(Usage::now().since(before).minor_faults, 0);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_with_a_small_stack_is_touched_no_further_than_it_reaches() {
        for stack in [64 << 10, 128 << 10, STACK] {
            std::thread::Builder::new().stack_size(stack).spawn(prefault_stack).unwrap().join().unwrap();
        }
    }
}
