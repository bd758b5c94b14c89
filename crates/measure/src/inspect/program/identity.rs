//! Which program it is: what it is called, and by which of its threads `/proc` shows it.

use ontick_rt::kernel_text;

use super::threads::{ThreadState, numbers};

/// The first thread of a program that has not ended, by which `/proc` shows its memory and its files: of one whose first
/// thread has (pthread_exit(3)), nothing is shown by that.
pub fn living(pid: i32) -> Option<ThreadState> {
    ThreadState::read(pid, pid).or_else(|| numbers(pid).into_iter().find_map(|tid| ThreadState::read(pid, tid)))
}

/// A program's name, which its first thread keeps when it ends.
pub fn name_of(pid: i32) -> Option<String> {
    Some(kernel_text::read(format!("/proc/{pid}/comm")).ok()?.trim_end_matches('\n').to_owned())
}

/// Whether it is a thread of the kernel: those have no memory of their own.
pub fn is_of_the_kernel(tid: i32) -> bool {
    let status = kernel_text::read(format!("/proc/{tid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("\nVmSize:")
}
