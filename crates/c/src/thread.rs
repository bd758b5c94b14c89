//! The thread that runs on time.

use std::ffi::{CString, c_char, c_int};
use std::ptr::null;

use ontick_rt::cpus;
use ontick_rt::thread::{Policy, Setup};
use ontick_rt::timed_section::{SectionCpu, SectionError, TimedSection};

use crate::handle::{Handle, borrow, close, look_at, open};
use crate::input::{self, Options, initialise, text, unused};
use crate::status::{
    Failure, ONTICK_ERROR_IN_USE, ONTICK_ERROR_NOT_FOUND, ONTICK_ERROR_REFUSED, ONTICK_ERROR_SYSTEM,
    ONTICK_ERROR_WRONG_THREAD, ONTICK_NONE, ONTICK_OK, guard,
};
use crate::{fork, status};

/// For ontick_thread_options.cpu: the quietest CPU that no other program of ontick has.
pub const ONTICK_CPU_AUTO: i32 = -1;
/// For ontick_thread_options.cpu: wherever the thread may run now.
pub const ONTICK_CPU_KEEP: i32 = -2;

/// How a thread is to run. ontick_thread_options_init() fills it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_thread_options {
    /// sizeof(ontick_thread_options)
    pub size: u32,
    /// The CPU that it is pinned to: a number, ONTICK_CPU_AUTO (set by init) or ONTICK_CPU_KEEP.
    pub cpu: i32,
    /// "fifo:90" (set by init), "rr:50", "other" or "deadline:100us/1ms/1ms"; NULL leaves it as it is.
    pub policy: *const c_char,
    /// Not 0 (set by init): lock the process's memory, and touch stack and heap.
    pub lock_memory: i32,
    /// Not 0: fail with the first thing that is refused. 0 (set by init): go on without, and tell by
    /// ontick_thread_refusal().
    pub strict: i32,
    /// Keep CPUs out of power states that take longer than this to leave, in us; -1 (set by init): do not ask.
    pub cpu_latency_us: i32,
    /// 0.
    pub reserved: i32,
}

// SAFETY: it begins with its size, and its fields are integers and a pointer that is read as C text.
unsafe impl Options for ontick_thread_options {
    fn defaults() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            cpu: ONTICK_CPU_AUTO,
            policy: c"fifo:90".as_ptr(),
            lock_memory: 1,
            strict: 0,
            cpu_latency_us: -1,
            reserved: 0,
        }
    }
}

/// A thread that was set up.
pub struct ontick_thread {
    generation: u32,
    pub(crate) section: TimedSection,
    refused: Vec<CString>,
}

impl Handle for ontick_thread {
    fn generation(&self) -> u32 {
        self.generation
    }
}

/// Fills the options with what most loops want; `size` is sizeof(ontick_thread_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_thread_options_init(options: *mut ontick_thread_options, size: usize) -> c_int {
    guard(|| {
        // SAFETY: the caller's structure has that size.
        unsafe { initialise(options, size) }?;
        Ok(ONTICK_OK)
    })
}

/// Sets the calling thread up: CPU, priority, memory. Options may be NULL for the defaults. Threads and
/// processes that it starts afterwards get normal scheduling (SCHED_RESET_ON_FORK, which
/// sched_getscheduler(2) shows as a bit of the policy) on its CPU; a child made by fork(2) has again
/// what the thread had before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_thread_setup(
    options: *const ontick_thread_options,
    thread: *mut *mut ontick_thread,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        open(thread, || {
            let options = input::options(options, "ontick_thread_options_init()")?;
            let policy = match options.policy {
                policy if policy.is_null() => None,
                policy => Some(text(policy, "the policy")?.parse::<Policy>().map_err(Failure::argument)?),
            };
            ontick_thread::setup(&options, policy)
        })
    }
}

impl ontick_thread_options {
    fn check(&self) -> Result<(), Failure> {
        unused(self.reserved)?;
        match self.cpu_latency_us {
            -1.. => Ok(()),
            us => Err(Failure::argument(format!("cpu_latency_us is {us}: it must be a time, or -1 to ask for none"))),
        }
    }
}

impl ontick_thread {
    fn setup(options: &ontick_thread_options, policy: Option<Policy>) -> Result<Self, Failure> {
        options.check()?;
        if fork::gives_children() {
            return Err(Failure::argument("this thread is set up already: call ontick_thread_restore() first"));
        }
        let cpu = match options.cpu {
            ONTICK_CPU_KEEP => SectionCpu::Keep,
            ONTICK_CPU_AUTO => SectionCpu::Auto,
            number => SectionCpu::One(u32::try_from(number).map_err(|_| Failure::argument(no_cpu(number)))?),
        };
        let setup = if options.lock_memory != 0 { Setup::new().lock_memory() } else { Setup::new() };
        let setup = policy.map_or(setup, |policy| setup.policy(policy)).keep_policy_from_children();
        let setup = if options.cpu_latency_us >= 0 { setup.cpu_latency_us(options.cpu_latency_us) } else { setup };
        let begun = match options.strict {
            0 => TimedSection::begin(cpu, setup),
            _ => TimedSection::begin_strict(cpu, setup),
        };
        let section = begun.map_err(|error| not_begun(&error, options.cpu))?;
        // From here on a child must not inherit what the thread has.
        fork::give_children(Some(section.before()));
        let refused = section.refused().map(status::c_string).collect();
        Ok(Self { generation: fork::generation(), section, refused })
    }
}

fn not_begun(error: &SectionError, asked: i32) -> Failure {
    match error {
        SectionError::NotOnline { .. } => Failure::new(ONTICK_ERROR_NOT_FOUND, no_cpu(asked)),
        SectionError::InUse(_) => Failure::new(ONTICK_ERROR_IN_USE, error),
        SectionError::Refused(_) => Failure::new(ONTICK_ERROR_REFUSED, error),
        _ => Failure::new(ONTICK_ERROR_SYSTEM, error),
    }
}

fn no_cpu(number: i32) -> String {
    let online: Vec<String> = cpus::online().iter().map(u32::to_string).collect();
    format!("CPU {number} is not online: choose one of CPU {}, ONTICK_CPU_AUTO or ONTICK_CPU_KEEP", online.join(", "))
}

fn give_back(section: TimedSection) -> Result<(), Failure> {
    fork::give_children(None);
    section.end().map_err(|error| {
        Failure::new(ONTICK_ERROR_SYSTEM, format!("the thread's former policy or CPUs cannot be restored: {error}"))
    })
}

/// How many of the things that were asked for the system refused; negative for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_thread_refusals(thread: *const ontick_thread) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let thread = unsafe { look_at(thread) }?;
        Ok(c_int::try_from(thread.refused.len()).unwrap_or(c_int::MAX))
    })
}

/// A refusal, from 0: what was asked, why it was refused, and what to do; NULL past the last. It
/// stays valid until the thread is given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_thread_refusal(thread: *const ontick_thread, index: c_int) -> *const c_char {
    let mut sentence = null();
    guard(|| {
        // SAFETY: as the header asks.
        let thread = unsafe { look_at(thread) }?;
        let refused = usize::try_from(index).ok().and_then(|index| thread.refused.get(index));
        sentence = refused.map_or(null(), |refused| refused.as_ptr());
        Ok(ONTICK_OK)
    });
    sentence
}

/// The CPU that the thread is pinned to; ONTICK_NONE where it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_thread_cpu(thread: *const ontick_thread, cpu: *mut u32) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (thread, place) = unsafe { (look_at(thread)?, cpu.as_mut()) };
        let place = place.ok_or_else(|| Failure::argument("the place for the CPU is NULL"))?;
        let Some(cpu) = thread.section.cpu() else { return Ok(ONTICK_NONE) };
        *place = cpu;
        Ok(ONTICK_OK)
    })
}

/// Gives the thread back what it had before: policy, priority, CPUs; memory is unlocked when the last
/// thread is given back, unless the program had locked some itself before set-up. Sets *thread to NULL;
/// only the thread itself can do it. One that ends without it takes its priority with it, and memory
/// stays locked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_thread_restore(thread: *mut *mut ontick_thread) -> c_int {
    let mut restored = Ok(());
    // SAFETY: as the header asks.
    let status = unsafe {
        let others = guard(|| match thread.as_ref().map(|thread| borrow(*thread)) {
            Some(Ok(thread)) if !thread.section.is_of_this_thread() => Err(Failure::fixed(
                ONTICK_ERROR_WRONG_THREAD,
                c"only the thread that was set up can be given back by itself: call this there, before it ends",
            )),
            _ => Ok(ONTICK_OK),
        });
        if others != ONTICK_OK {
            return others;
        }
        close(thread, |thread| restored = give_back(thread.section))
    };
    if status == ONTICK_OK { guard(|| restored.map(|()| ONTICK_OK)) } else { status }
}
