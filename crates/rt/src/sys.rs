//! The system calls that no safe library wraps, each as one small function.
#![allow(unsafe_code)]

use std::io;

/// Attributes for `sched_setattr(2)`; the C library has no wrapper.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct SchedAttr {
    pub size: u32,
    pub policy: u32,
    pub flags: u64,
    pub nice: i32,
    pub priority: u32,
    pub runtime_ns: u64,
    pub deadline_ns: u64,
    pub period_ns: u64,
}

/// `sched_setattr(2)` for thread `tid` (0: the calling one).
pub fn sched_setattr(tid: i32, attr: &mut SchedAttr) -> io::Result<()> {
    attr.size = size_of::<SchedAttr>() as u32;
    // SAFETY: attr is a valid structure of the size that it names, read only by the kernel.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, tid, std::ptr::from_ref(attr), 0u32) })
}

/// `sched_getattr(2)` for thread `tid` (0: the calling one).
pub fn sched_getattr(tid: i32) -> io::Result<SchedAttr> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>() as u32;
    // SAFETY: attr is valid for writes of `size` bytes.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, tid, std::ptr::from_mut(&mut attr), size, 0u32) })?;
    Ok(attr)
}

/// `clock_gettime(2)`, in ns; usually answered by the vDSO.
#[inline]
pub fn clock_gettime(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: time is valid for writes; the clocks used here exist on every kernel.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `clock_nanosleep(2)` with `TIMER_ABSTIME`, again after a signal.
pub fn clock_nanosleep_until(clock: libc::clockid_t, deadline_ns: u64) {
    let request =
        libc::timespec { tv_sec: (deadline_ns / 1_000_000_000) as _, tv_nsec: (deadline_ns % 1_000_000_000) as _ };
    // SAFETY: request is valid for reads, and no remainder is asked for.
    while unsafe { libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &request, std::ptr::null_mut()) } == libc::EINTR {}
}

/// CPU time that thread `tid` of this process has used, in ns; `None` once the thread is gone.
pub fn thread_cpu_ns(tid: i32) -> Option<u64> {
    // The kernel's encoding of a thread's CPU clock: ~tid << 3 | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED.
    let clock = (!tid << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: time is valid for writes.
    let done = unsafe { libc::clock_gettime(clock, &mut time) };
    (done == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// `getrusage(RUSAGE_THREAD)`.
pub fn thread_usage() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::zeroed();
    // SAFETY: zero is a valid rusage and the kernel fills it; RUSAGE_THREAD cannot fail on Linux.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    }
}

/// Blocks every signal that can be blocked in the calling thread, so that none interrupts a timed wait.
pub fn block_signals() {
    // SAFETY: the set is initialised by sigfillset before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

/// Keeps the allocator from giving memory back, which would fault it in again later.
pub fn keep_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets parameters of the allocator.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
}

/// Whether so many bytes more may be locked: the limit, and whether it holds for this thread, are known to the kernel alone.
pub fn may_lock(bytes: usize) -> Result<(), rustix::io::Errno> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    // Nobody may touch them, so none of them becomes memory.
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::LOCKED;
    // SAFETY: the kernel chooses the place, nobody uses it, and it is given back.
    unsafe {
        let place = mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), flags)?;
        munmap(place, bytes)
    }
}

/// How many bytes of its stack the calling thread has not used yet; 0 where that cannot be known.
#[inline(never)]
pub fn stack_left() -> usize {
    let here = 0u8;
    let mut low = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the attributes are used only where pthread_getattr_np has initialised them, and destroyed once.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return 0;
        }
        if libc::pthread_attr_getstack(&attributes, &mut low, &mut size) != 0 {
            low = std::ptr::null_mut();
        }
        libc::pthread_attr_destroy(&mut attributes);
    }
    if low.is_null() { 0 } else { std::ptr::from_ref(&here).addr().saturating_sub(low.addr()) }
}

/// The processor's own counter.
#[cfg(target_arch = "x86_64")]
pub fn counter() -> u64 {
    // SAFETY: rdtsc has no preconditions in user space (prctl PR_SET_TSC is not used here).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The processor's own counter.
#[cfg(target_arch = "aarch64")]
pub fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the kernel lets user space read the virtual counter; the read has no side effects.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// No counter that user space may always read.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn counter() -> u64 {
    0
}

/// Whether the counter runs at one rate in all power states.
#[allow(unused_unsafe, reason = "newer compilers know that cpuid is safe on x86-64")]
pub fn counter_is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: cpuid exists on every x86-64 processor; leaf 0x8000_0007 is read only where it exists.
    unsafe {
        use core::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
